"""Whether a certificate of `output-mean-square` is true, and whether its method shows it: a second opinion.

Reads the certificate as `certificate_truth` does and computes in doubles. For Gaussian tokens at a query the
mean square comes from its definition: with u the standardised score and A_k = E[(u w)^k e^(-lambda w)],

    E sum p_i u_i = int L A_1 phi^(L-1),   E (sum p_i u_i)^2 = int lambda [L A_2 phi^(L-1) + L (L-1) A_1^2 phi^(L-2)],

which uses neither Stein's identity nor power sums. Elsewhere it simulates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.interpolate import CubicSpline

from tools.truth import random_prompts
from tools.truth.finite_means import MARGIN, finite_means, is_finite
from tools.truth.judgement import Judgement, Truth
from tools.truth.laws import Gaussian, read_gaussian, read_law
from tools.truth.output_tail import law_in_doubles
from tools.truth.prompt import largest_over, read_lengths, read_random_prompt, read_starts, read_weights
from tools.truth.reading import (
    Table,
    Vector,
    in_doubles,
    read_bounds,
    read_number,
    read_scale,
    read_vector,
    require,
    require_mapping,
    require_record,
    root_of,
)

Array = np.ndarray[Any, Any]
# What doubles and quadrature are trusted with, relative to the sizes that cancel.
_MARGIN = 1e-9
_WIDEST = 6.0
_LONGEST = 10**9
_TOKENS = 400_000
_METHODS = {
    "exact": set(),
    "logistic": set(),
    "moments": set(),
    "general": {"t", "lambda"},
    "integral": set(),
}


Ends = tuple[float | None, float | None]


@dataclass(frozen=True)
class Found:
    """A number is between the ends `true`; a method shows that it is between `shown`, up to `slack` of doubles."""

    true: tuple[float, float]
    shown: Ends
    slack: float

    def at_most(self, bound: float) -> tuple[Truth, bool]:
        """Whether the number is at most the bound, and whether the method may show it."""
        upper = self.shown[1]
        if self.true[0] > bound:
            return Truth.FALSE, upper is not None and upper - self.slack <= bound
        if upper is None:
            return Truth.OPEN, False
        return Truth.TRUE if upper + self.slack < bound else Truth.OPEN, upper - self.slack <= bound

    def negative(self) -> Found:
        low, high = self.shown
        turned = (None if high is None else -high, None if low is None else -low)
        return Found((-self.true[1], -self.true[0]), turned, self.slack)


def judge_mean_square(given: Any, asserts: Any, witness: Any, folder: Path) -> Judgement:
    """False where a number is outside the stated range, true where it is inside."""
    averaged = "queries" in require_mapping(given, "given")
    if averaged:
        named = {"U"} if "U" in given else {"K", "Q"}
        require_record(given, "given", {"law", "length", "queries"} | (named & {"U"}), (named - {"U"}) | {"V", "scale"})
        law, (length, onwards) = read_law(given["law"], folder), read_lengths(given["length"])
    else:
        prompt = read_random_prompt(given, folder)
        law, length, onwards = prompt.law, prompt.length, prompt.onwards
    method, parameters = _method(witness, averaged, law)
    starts = read_starts(witness["from"], length, onwards) if "from" in witness else []
    ranges, mean = _stated(asserts, folder)
    if averaged:
        require(isinstance(law, Gaussian), "averages of other laws")
        assert isinstance(law, Gaussian)
        found = _averaged(given, law, length, method, parameters, folder)
        if starts and found:
            last = _averaged(given, law, starts[-1], "integral", {}, folder)["mean_square"].shown[1]
            exact = {n: _averaged(given, law, n, "exact", {}, folder)["mean_square"].shown[1] for n in starts[:-1]}
            _, most = largest_over(starts, lambda n: (exact[n], exact[n]), (last, last))
            found = {"mean_square": replace(found["mean_square"], shown=(None, most))}
        outputs = len(read_weights(given, law.dimension, folder)[1])
    else:
        outputs = len(prompt.V)
        found = _at_a_query(law, np.array(prompt.tilt), prompt.V, length, method, parameters)
        if starts:
            found |= _over_ranges(law, np.array(prompt.tilt), prompt.V, starts, found)
    require(mean is None or len(mean[0]) == outputs, "a mean of another dimension")
    judged = _judged(found, ranges, mean)
    if onwards:
        # Mean squares tend to 0, and no lower bound above it holds for ever; the exact one is not known to fall.
        low = [stated["at_least"] > 0 for stated in ranges.values() if "at_least" in stated]
        if any(low):
            return Judgement(Truth.FALSE, 1e-12, "a lower bound", provable=False)
        if low or mean is not None or (method == "exact" and not starts):
            truth = Truth.FALSE if judged.truth is Truth.FALSE else Truth.OPEN
            return replace(judged, truth=truth, provable=False)
    if judged.truth is not Truth.FALSE and parameters.get("t", 0) >= 1:
        return Judgement(Truth.OPEN, 0.0, "a parameter that the bound is not proved for", provable=False)
    return judged


def _method(witness: Any, averaged: bool, law: Any) -> tuple[str, dict[str, float]]:
    if isinstance(law, Gaussian):
        fitting = ["exact", "integral"] if averaged else ["exact", "logistic", "general"]
    else:
        finite = not averaged and is_finite(law_in_doubles(law, 1.0))
        fitting = ["exact", "moments", "general"] if finite else ["general"]
    if witness == {}:
        require(fitting[0] != "general", "no method")
        return fitting[0], {}
    name = require_mapping(witness, "witness").get("method")
    require(isinstance(name, str) and name in fitting, "another method")
    require_record(witness, "witness", {"method"} | _METHODS[name], {"from"} if name == "exact" else set())
    parameters = {key: read_number(witness[key]) for key in _METHODS[name]}
    require(all(value > 0 for value in parameters.values()), "a parameter that is not positive")
    return name, {key: float(value) for key, value in parameters.items()}


def _over_ranges(law: Any, tilt: Array, V: Table, starts: list[int], first: dict[str, Any]) -> dict[str, Any]:
    """The ranges, with upper bounds for every length from the first on."""
    last = _at_a_query(law, tilt, V, starts[-1], "logistic" if isinstance(law, Gaussian) else "moments", {})
    exact = {n: _at_a_query(law, tilt, V, n, "exact", {}) for n in starts[:-1]}
    found = {}
    for name in ("mean_square", "collision"):

        def upper(at: dict[str, Any], name: str = name) -> tuple[float, float]:
            value = at[name].shown[1] if name in at else None
            return (math.inf, math.inf) if value is None else (value, value)

        if name in first:
            _, most = largest_over(starts, lambda n: upper(exact[n]), upper(last))
            found[name] = replace(first[name], shown=(None, most))
    return found


def _stated(asserts: Any, folder: Path) -> tuple[dict[str, dict[str, Any]], tuple[Vector, Any] | None]:
    require_record(asserts, "asserts", set(), {"mean_square", "mean", "collision"})
    require(asserts != {}, "nothing is stated")
    ranges = {}
    for name in ("mean_square", "collision"):
        if name in asserts:
            ranges[name] = read_bounds(asserts[name], name)
    if "mean" not in asserts:
        return ranges, None
    require_record(asserts["mean"], "mean", {"value", "radius"})
    value, radius = read_vector(asserts["mean"]["value"], folder), read_number(asserts["mean"]["radius"])
    require(radius >= 0, "a negative radius")
    return ranges, (value, radius)


def _judged(found: dict[str, Any], ranges: dict[str, dict[str, Any]], mean: tuple[Vector, Any] | None) -> Judgement:
    if not found:
        # Beyond what doubles can say.
        return Judgement(Truth.OPEN)
    each = []
    for name, stated in ranges.items():
        number: Found = found.get(name, NOTHING)
        for side, bound in stated.items():
            value = float(bound)
            each.append(number.at_most(value) if side == "at_most" else number.negative().at_most(-value))
    if mean is not None:
        each.append(_judged_mean(found["mean"], mean) if "mean" in found else (Truth.OPEN, False))
    truths = [truth for truth, _ in each]
    provable = all(possible for _, possible in each)
    for truth in (Truth.FALSE, Truth.OPEN):
        if truth in truths:
            return Judgement(truth, 0.0, "a range or the mean", provable)
    return Judgement(Truth.TRUE, 1e-12, "a range or the mean", provable)


# No method has a bound of it.
NOTHING = Found((-np.inf, np.inf), (None, None), 0.0)


def _judged_mean(found: tuple[Array, float, bool] | None, stated: tuple[Vector, Any]) -> tuple[Truth, bool]:
    if found is None:
        return Truth.OPEN, False
    value, error, known = found
    gap = max(abs(float(s) - v) for s, v in zip(stated[0], value, strict=True)) - float(stated[1])
    return Truth.FALSE if gap > error else Truth.TRUE if gap < -error and known else Truth.OPEN, known


# -- Gaussian tokens at one query


@cache
def weight_integrals(s: float, length: int, nodes: int) -> tuple[float, float, float]:
    """q, E t and E t^2 for t = sum p_i u_i, u_i standard normal and p the softmax of s u."""
    u, du = np.linspace(-12, 12 + s, nodes, retstep=True)
    mass = np.exp(-u * u / 2) / np.sqrt(2 * np.pi) * du
    w = np.exp(s * u - s * s / 2)
    # From where the integrands are below 10^-17: what is small is a difference of numbers of size 1.
    x, dx = np.linspace(-np.log(length) - 40 - s * s, 6 + 13 * s + s * s / 2, nodes // 2, retstep=True)
    lam = np.exp(x)
    with np.errstate(under="ignore", over="ignore", invalid="ignore"):
        e = np.exp(-np.outer(lam, w))
        phi = e @ mass
        A1, A2, psi = e @ (mass * u * w), e @ (mass * (u * w) ** 2), e @ (mass * w * w)
        one = length * phi ** (length - 1)
        two = length * (length - 1) * phi ** max(length - 2, 0)
    q = np.sum(lam**2 * psi * one) * dx
    first = np.sum(lam * A1 * one) * dx
    second = np.sum(lam**2 * (A2 * one + A1**2 * two)) * dx
    return float(q), float(first), float(second)


def moments(s: float, length: int, nodes: int = 2401) -> tuple[float, float, float]:
    """q, E t and E (t - s)^2; exact where all scores agree or there is one token."""
    if length == 1:
        return 1.0, 0.0, 1 + s * s
    if s < 1e-7:
        return 1 / length, 0.0, 1 / length
    q, first, second = weight_integrals(s, length, nodes)
    return q, first, second - 2 * s * first + s * s


def _at_a_query(
    law: Any, tilt: Array, V: Table, length: int, method: str, parameters: dict[str, float]
) -> dict[str, Any]:
    values = in_doubles(V)
    if not isinstance(law, Gaussian):
        return _of_other_laws(law, tilt, values, length, method, parameters)
    Gamma = in_doubles(law.covariance)
    moved = values @ Gamma @ tilt
    variance, spread = float(tilt @ Gamma @ tilt), float(np.trace(values @ Gamma @ values.T))
    shift = float(moved @ moved)
    s = np.sqrt(max(variance, 0.0))
    if s > _WIDEST or length > _LONGEST:
        return _wide(moved, spread, shift, length) if method == "exact" else {}
    q, first, square = moments(s, length)
    along = shift / variance if s > 1e-7 else 0.0
    value = along * square + (spread - along) * q
    # Numbers of size 1 + s^2 cancel, and each has lost the digits that a power of the length takes.
    error = _MARGIN * (spread + shift) * (q + _MARGIN * length**0.5)
    error += (1e-11 + length * 2.0**-50) * along * (1 + s * s)
    direction = moved / s if s > 1e-7 else 0 * moved
    known = method == "exact"
    logistic = 1 / (1 + (length - 1) * np.exp(-variance))
    shown: dict[str, Ends] = {"mean_square": (None, None), "collision": (None, None)}
    if known:
        shown = {"mean_square": (value, value), "collision": (q, q)}
    elif method == "logistic":
        shown = {"mean_square": ((spread - shift / 2) / length, logistic * (spread + shift))}
        shown["collision"] = (1 / length, logistic)
    else:
        shown["mean_square"] = (None, _general(law, tilt, values, length, parameters))
    found: dict[str, Any] = {
        "mean_square": _found(value, error, shown["mean_square"]),
        "collision": _found(q, 1e-11 * max(q, 1e-3), shown["collision"]),
    }
    # E t - s is small beside s, from which it is subtracted.
    found["mean"] = ((first - s) * direction if length > 1 else -moved, 1e-11 * (1 + abs(moved).max()) + error, known)
    if s <= 1e-7:
        found["mean"] = (-moved / length, 1e-11 * (1 + abs(moved).max()), known)
    return found


def _of_other_laws(
    law: Any, tilt: Array, values: Array, length: int, method: str, parameters: dict[str, float]
) -> dict[str, Any]:
    plain = law_in_doubles(law, 1.0)
    known = finite_means(plain, tilt, values, length)
    if known is None:
        return {"mean_square": _simulated(law, tilt, values, length, parameters)} if method == "general" else {}
    value, q, error = known.mean_square(), known.collision(), MARGIN * known.size()
    shown: dict[str, Ends] = {"mean_square": (value, value), "collision": (q, q)}
    if method == "moments":
        shown = {name: (None, bound) for name, bound in zip(shown, known.falling(), strict=True)}
    if method == "general":
        shown = {"mean_square": (None, _general(law, tilt, values, length, parameters)), "collision": (None, None)}
    mean = np.array(known.mean()), error, method == "exact"
    return {
        "mean_square": _found(value, error, shown["mean_square"]),
        "collision": _found(q, MARGIN * known.size(), shown["collision"]),
        "mean": mean,
    }


def _wide(moved: Array, spread: float, shift: float, length: int) -> dict[str, Any]:
    """Where quadrature in doubles is no help: 1/L <= q <= 1 and 0 <= kappa <= q/4 are left."""
    open_ends, everything = (0.0, 0.0), float("inf")
    low = max(spread - shift / 2, 0.0) / length
    # The mean is -q V Gamma a for some such q: around the middle, half the range is the error.
    middle, half = (1 + 1 / length) / 2, (1 - 1 / length) / 2
    return {
        "mean_square": Found((low * (1 - 1e-9), (spread + shift) * (1 + 1e-9)), open_ends, everything),
        "collision": Found(((1 - 1e-9) / length, 1 + 1e-9), open_ends, everything),
        "mean": (-middle * moved, half * abs(moved).max() * (1 + 1e-9), True),
    }


def _found(value: float, error: float, shown: Ends) -> Found:
    largest = max((abs(end) for end in shown if end is not None and np.isfinite(end)), default=0.0)
    exact = shown == (value, value)
    return Found((value - error, value + error), shown, error if exact else 1e-7 * largest)


# -- other laws, and averages


def _general(law: Any, tilt: Array, values: Array, length: int, parameters: dict[str, float]) -> float:
    if parameters["t"] >= 1:
        return float("inf")
    """The bound for any law, from quadrature nodes of it."""
    plain = law_in_doubles(law, 1.0)
    masses, tokens = random_prompts._all_nodes(plain)
    with np.errstate(all="ignore"):
        w = np.exp(tokens @ tilt - random_prompts.log_mgf(plain, tuple(tilt)))
        away = (tokens - random_prompts.tilted_mean(plain, tuple(tilt))) @ values.T
        size = (away**2).sum(axis=1)
        doubled, t, rate = float(masses @ w**2), parameters["t"], parameters["lambda"]
        tail = np.exp(length * (rate * (1 - t) + np.log(1 - rate + rate**2 * doubled / 2)))
        rest = np.sqrt(length * float(masses @ size**2) * min(tail, 1.0))
        return float(masses @ (w**2 * size)) / (length * (1 - t) ** 2) + float(rest)


@cache
def _squares(law: Any, tilt: tuple[float, ...], values: tuple[tuple[float, ...], ...], length: int) -> Array:
    """|T_L - T|^2 of some random prompts."""
    count = _TOKENS // length
    tokens = random_prompts._draw(law, count * length, np.random.default_rng(41)).reshape(count, length, -1)
    scores = tokens @ np.array(tilt)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    means = np.einsum("nl,nld->nd", weights, tokens) / weights.sum(axis=1)[:, None]
    return np.asarray((((means - random_prompts.tilted_mean(law, tilt)) @ np.array(values).T) ** 2).sum(axis=1))


def _simulated(law: Any, tilt: Array, values: Array, length: int, parameters: dict[str, float]) -> Found:
    plain = law_in_doubles(law, 1.0)
    shown: Ends = (None, _general(law, tilt, values, length, parameters))
    if length > _TOKENS // 100 or not np.isfinite(tilt).all() or abs(tilt).max() > 50:
        return Found((0.0, np.inf), shown, 1e-7 * abs(shown[1] or 0.0))
    squares = _squares(plain, tuple(tilt), tuple(map(tuple, values)), length)
    error = 6 * squares.std() / len(squares) ** 0.5 + 1e-12
    return Found((float(squares.mean() - error), np.inf), shown, 1e-7 * abs(shown[1] or 0.0))


# Of splines through the nodes, relative to the mean square.
_CLOSE, _NODES = 2e-5, 121


def _closely(variance: Array, shift: Array, spread: float, length: int) -> Array:
    """E|T_L - T|^2 at so many variances of the scores, by splines through q and E (t - s)^2."""
    nodes = np.linspace(0, _WIDEST, _NODES)
    table = np.array([moments(float(s), length, 1201) for s in nodes])
    s = np.sqrt(variance.clip(0))
    q, square = (np.exp(CubicSpline(nodes, np.log(table[:, k]))(s)) for k in (0, 2))
    along = np.where(s > 1e-6, shift / np.maximum(variance, 1e-12), 0.0)
    return np.asarray(along * square + (spread - along) * q)


def _averaged(
    given: Any, law: Gaussian, length: int, method: str, parameters: dict[str, float], folder: Path
) -> dict[str, Any]:
    queries = read_gaussian(given["queries"], folder, "queries")
    U, V = read_weights(given, law.dimension, folder)
    require(len(U[0]) == queries.dimension, "queries of another dimension")
    u, v, Gamma, S = map(in_doubles, (U, V, law.covariance, queries.covariance))
    scale, mean = float(root_of(read_scale(given))), np.array([float(x) for x in queries.mean])
    spread = float(np.trace(v @ Gamma @ v.T))
    squares, frame = np.linalg.eigh(S)
    factor = frame * np.sqrt(squares.clip(0))
    N, outer = scale**2 * u.T @ Gamma @ u, scale * v @ Gamma @ u
    if queries.dimension > 2 or length > 10**7 or abs(N).max() > 50:
        return {}
    x, w = np.polynomial.hermite_e.hermegauss(120)
    grid = np.stack(np.meshgrid(*[x] * queries.dimension, indexing="ij"), -1).reshape(-1, queries.dimension)
    mass = np.prod(np.stack(np.meshgrid(*[w / w.sum()] * queries.dimension, indexing="ij"), -1), -1).ravel()
    z = mean + grid @ factor.T
    variance, shift = np.einsum("ni,ij,nj->n", z, N, z), ((z @ outer.T) ** 2).sum(axis=1)
    one = length == 1
    logistic = 1 / (1 + (length - 1) * np.exp(-np.minimum(variance, 700)))
    middle = float(mass @ ((spread + shift) * logistic))
    near = variance <= _WIDEST**2
    if method == "exact" and not one:
        beyond = float(mass[~near] @ ((spread + shift) * logistic)[~near])
        value = float(mass[near] @ _closely(variance[near], shift[near], spread, length))
        return {"mean_square": Found((value, value + beyond), (value, value + beyond), _CLOSE * value)}
    nodes = np.linspace(0, min(_WIDEST, float(np.sqrt(variance[near].max())) + 1e-3 if near.any() else 0.0), 13)
    table = np.array([moments(float(s), length, 601) for s in nodes])
    s = np.sqrt(variance[near].clip(0))
    q, square = (np.exp(np.interp(s, nodes, np.log(table[:, k].clip(1e-300)))) for k in (0, 2))
    along = np.where(s > 1e-6, shift[near] / np.maximum(variance[near], 1e-12), 0.0)
    low = 0.97 * float(mass[near] @ (along * square + (spread - along).clip(0) * q))
    if one:
        return {"mean_square": _found(middle, 1e-10 * middle, (middle, middle))}
    return {"mean_square": Found((low, middle), (None, middle), 1e-7 * middle)}
