"""Whether a repaired form for every law of a class is true: a second opinion.

The bound that the witness names is computed in doubles from singular values, every length of a step at once. Gaussian
tokens and queries, which belong to the class, show a display to be false.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from mpmath import mp

from tools.truth.judgement import Judgement, Truth
from tools.truth.prompt import read_weights
from tools.truth.reading import (
    in_doubles,
    read_count,
    read_number,
    read_scale,
    require,
    require_record,
    root_of,
)

Array = np.ndarray[Any, Any]
_MARGIN = 1e-9
_MOST_LENGTHS = 100000
_PROMPTS = 3000


@dataclass(frozen=True)
class _Setting:
    """sigma, rho, d and k; the radius of a ball, if there is one; singular values of scale U.

    |V| and |V|_F, and matrices to simulate.
    """

    sigma: float
    rho: float
    radius: float | None
    d: int
    k: int
    scored: Array
    norm: float
    frobenius: float
    scale: float
    error: str
    U: Array
    V: Array


def judge_class(first: bool, given: Any, asserts: Any, witness: Any, folder: Path) -> Judgement:
    """`first`: proposition 3.1, and 3.4 otherwise."""
    matrices = "norms" not in given
    named = {"U"} if "U" in given else {"K", "Q"}
    require_record(
        given,
        "given",
        {"class"} | (set() if matrices else {"norms"}),
        {"scale"} | (named | {"V"} if matrices else set()),
    )
    require_record(asserts, "asserts", {"repaired"} if first else {"gradient", "repaired"}, set())
    error = "output" if first else asserts["gradient"]
    require(error in ("output", "V", "U"), "the gradient")
    about = given["class"]
    require_record(about, "class", {"dimension", "sigma", "query_dimension", "query_sigma"}, {"radius"})
    d, k = read_count(about["dimension"], 1), read_count(about["query_dimension"], 1)
    sigma, rho = read_number(about["sigma"]), read_number(about["query_sigma"])
    radius = read_number(about["radius"]) if "radius" in about else None
    require(sigma >= 1 and rho > 0 and (radius is None or radius > 0), "sigma")
    with mp.workdps(40):
        scale = abs(float(root_of(read_scale(given))))
    if matrices:
        U, V = (in_doubles(table) for table in read_weights(given, d, folder))
        require(U.shape == (d, k), "shapes")
    else:
        require_record(given["norms"], "norms", {"U", "V"}, set())
        sizes = {name: read_number(given["norms"][name]) for name in ("U", "V")}
        require(min(sizes.values()) > 0, "norms")
        U, V = np.eye(d, k) * float(sizes["U"]), np.eye(d) * float(sizes["V"])
    V = np.eye(d) if error == "V" else V
    require_record(witness, "witness", {"steps"}, {"norm"} if matrices and error != "V" else set())
    norm = float(np.linalg.norm(V, 2))
    if matrices and error != "V":
        said = float(read_number(witness["norm"])) if "norm" in witness else float(np.linalg.norm(V))
        require(said >= 0 and norm <= said * (1 + _MARGIN), "a norm that V exceeds")
        norm = said
    # The class is larger than its Gaussian laws, with V as it is: the gradient in U is only measured by |V|.
    scored = scale * np.linalg.svd(U, compute_uv=False)
    setting = _Setting(
        float(sigma), float(rho), None if radius is None else float(radius), d, k, scored,
        norm, float(np.linalg.norm(V)), scale, error, U, V
    )  # fmt: skip
    stated = asserts["repaired"]
    require_record(stated, "repaired", {"c1", "c2"}, set())
    c1, c2 = read_number(stated["c1"]), read_number(stated["c2"])
    require(c1 > 0 and c2 > 0, "constants")
    power, exponent = 2 if error == "U" else 1, c2 / sigma**2
    size = float(c1) * setting.sigma ** (6 * power)
    worst = _worst(setting, witness["steps"], exponent, power)
    with np.errstate(over="ignore"):
        ratio = worst / size
    if ratio < 1 - _MARGIN:
        return Judgement(Truth.TRUE, 1 - ratio, "the bound")
    provable = not ratio > 1 + _MARGIN
    for length in (2, 6) if radius is None else ():
        squares = _squares(setting, length)
        display = size * np.log(length) ** power * length ** -float(exponent)
        if squares.mean() - 8 * squares.std() / math.sqrt(_PROMPTS) > display:
            return Judgement(Truth.FALSE, 0.0, "simulation", provable=provable)
    return Judgement(Truth.OPEN, 0.0, "the bound", provable=provable)


def _worst(setting: _Setting, steps: Any, exponent: Any, power: int) -> float:
    """The largest bound * L^exponent / (ln L)^power over all lengths; infinite where there is no proof."""
    require(isinstance(steps, list) and steps != [], "steps")
    proof = ["eta", "gap"] if setting.radius is None else ["slope"]
    names = ["theta", "t", *proof] + (["delta"] if setting.error == "U" else [])
    below_one = 3 if setting.radius is None else 2
    read = []
    for item in steps:
        require_record(item, "a step", {"from", *names}, set())
        numbers = [read_number(item[name]) for name in names]
        require(0 <= numbers[0] <= 1 and min(numbers[1:]) > 0 and max(numbers[1:below_one]) < 1, "a step")
        read.append((read_count(item["from"], 1), numbers))
    starts = [start for start, _ in read]
    require(starts[0] == 2 and starts == sorted(set(starts)) and starts[-1] <= _MOST_LENGTHS, "steps")
    if read[-1][1][0] < exponent:
        return math.inf
    worst = 0.0
    bound = _bound if setting.radius is None else _bound_on_ball
    for i, (start, numbers) in enumerate(read):
        lengths = np.arange(start, read[i + 1][0] if i + 1 < len(read) else start + 1, dtype=float)
        with np.errstate(all="ignore"):
            ratio = (
                bound(setting, lengths, *map(float, numbers)) * lengths ** float(exponent) / np.log(lengths) ** power
            )
        worst = max(worst, float(ratio.max()))
    return worst


def _bound(
    setting: _Setting, lengths: Array, theta: float, t: float, eta: float, gap: float, delta: float = 0.0
) -> Array:
    values = np.zeros(setting.k)
    values[: len(setting.scored)] = (setting.sigma * setting.scored) ** 2

    def weight(rate: float) -> float:
        factors = 1 - 2 * setting.rho**2 * (rate * values + delta)
        return math.exp(-np.log(factors).sum() / 2) if factors.min() > 0 else math.inf

    moments = [weight(2 * theta), *((j / (math.e * gap)) ** j * weight(2 * theta + gap) for j in (1, 2))]
    if math.inf in moments:
        return np.full_like(lengths, math.inf)
    v, f, d, logs = setting.norm**2, setting.frobenius**2, setting.d, np.log(lengths)
    m0, m1, m2 = moments
    if setting.error != "U":
        kept = (f + 2 * v) * m0 + 4 * v * m1
        always = (2 * v * (logs + t) / eta + f / (1 - eta)) * m0 + 4 * v / (1 - eta) * m1
        factor = setting.sigma**2
    else:
        # Both from their factors: (d + 4 + 4q)^2 + 4 (1 + q) (d + q) + 4 (1 + q) (d + 2 + 4q), X^2 + 4 (1 + q) (d + q).
        limit = np.polymul([4, 4], [1, d])
        square = np.polymul([4, d + 4], [4, d + 4])
        kept = float(np.dot(square + limit + np.polymul([4, 4], [4, d + 2]), [m2, m1, m0]))
        always = (2 * (1 + t + logs) / eta - d / eta * math.log1p(-eta)) ** 2 * m0 + float(np.dot(limit, [m2, m1, m0]))
        factor = setting.sigma**4 * v * setting.scale**2 / (math.e * delta)
    apart = kept / (1 - t) ** 2 + 2 * always / (math.e * t * t)
    return np.asarray(factor * always ** (1 - theta) * (apart / lengths) ** theta)


def _bound_on_ball(
    setting: _Setting, lengths: Array, theta: float, t: float, slope: float, delta: float = 0.0
) -> Array:
    """Hoelder's bound from the largest error b and, of a mean normaliser, (a / (1-t)^2 + 2b / (e t^2)) e^(2s) / L."""
    R = setting.radius or 0.0
    values = np.zeros(setting.k)
    values[: len(setting.scored)] = (R * setting.scored) ** 2
    factors = 1 - 2 * setting.rho**2 * (theta * slope * values + delta)
    if not factors.min() > 0:
        return np.full_like(lengths, math.inf)
    largest, kept = (2 * R**4, 6 * R**4) if setting.error == "U" else ((2 * R) ** 2, R**2)
    factor = setting.norm**2 * (setting.scale**2 / (math.e * delta) if setting.error == "U" else 1)
    apart = kept / (1 - t) ** 2 + 2 * largest / (math.e * t * t)
    mean = math.exp(theta / slope - np.log(factors).sum() / 2)
    return np.asarray(factor * mean * largest ** (1 - theta) * (apart / lengths) ** theta)


def _squares(setting: _Setting, length: int) -> Array:
    """Of Gaussian tokens and queries with covariances sigma^2 I and rho^2 I."""
    rng = np.random.default_rng(length)
    x = setting.sigma * rng.standard_normal((_PROMPTS, length, setting.d))
    z = setting.rho * rng.standard_normal((_PROMPTS, setting.k))
    a = setting.scale * z @ setting.U.T
    scores = np.einsum("nld,nd->nl", x, a)
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    mean = np.einsum("nl,nld->nd", p, x)
    if setting.error != "U":
        return np.asarray((((mean - setting.sigma**2 * a) @ setting.V.T) ** 2).sum(axis=1))
    second = np.einsum("nl,nli,nlj->nij", p, x, x) - np.einsum("ni,nj->nij", mean, mean)
    apart = setting.V @ (second - setting.sigma**2 * np.eye(setting.d))
    return np.asarray(setting.scale**2 * (apart**2).sum(axis=(1, 2)) * (z**2).sum(axis=1))
