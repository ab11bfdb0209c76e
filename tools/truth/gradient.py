"""Whether a certificate about gradients' errors is true, and whether its witness shows it: a second opinion.

Reads the certificates of `gradient-mean-square` and `gradient-tail` as `certificate_truth` does, and computes
in doubles: the mean square of Gaussian tokens from means of products of sums T(k, m) = sum p_i^k u_i^m, each an
integral, without Stein's identity; bounds from their definitions, by sums over quadrature nodes; probabilities by
simulated prompts. Doubles prove nothing: whoever compares leaves a margin.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from tools.truth import output_tail as tails
from tools.truth import random_prompts
from tools.truth.finite_means import MARGIN, FiniteMeans, finite_means, is_finite
from tools.truth.judgement import Judgement, Truth
from tools.truth.laws import Gaussian, Law, Points
from tools.truth.prompt import largest_over, read_random_prompt, read_starts
from tools.truth.random_prompts import Array
from tools.truth.reading import (
    NothingShown,
    Table,
    applies,
    dot,
    identity_matrix,
    in_doubles,
    is_semidefinite,
    read_count,
    read_number,
    read_table,
    read_vector,
    require,
    require_mapping,
    require_record,
)

# How far two numbers in doubles have to be apart to count.
_MARGIN = 1e-11
# What rules say of a norm that they do not bound by eps.
_NOTHING = (math.inf, math.inf)
_LOOSE = {"exact": 1e-10, "logistic": 1e-10, "moments": 1e-8, "general": 1e-6}
_PROMPTS = 6_000
_MOST_TOKENS = 1_000_000
# The grid of log lambda, and steps of the scores.
_FIRST, _LAST, _STEP, _SCORE_STEP = -45.0, 9.0, 0.05, 0.04


@dataclass(frozen=True)
class Prompt:
    """What is given, exactly, and in doubles."""

    law: Law
    base: list[Fraction]
    square: Fraction
    positive: bool
    tilt: tuple[float, ...]
    values: Table
    norm_square: Fraction
    length: int
    onwards: bool

    @property
    def factor(self) -> float:
        """s^2 |z|^2."""
        return float(self.norm_square)

    @property
    def plain(self) -> random_prompts.Law:
        return tails.law_in_doubles(self.law, 1.0)


def _read(given: Any, gradient: Any, folder: Path) -> Prompt:
    found = read_random_prompt(given, folder)
    require(gradient in ("U", "V"), "the gradient")
    require(gradient == "V" or found.query is not None, "a gradient in U needs a query")
    law, scale, V, norm_square = found.law, found.scale, found.V, Fraction(1)
    if gradient == "V":
        V = identity_matrix(law.dimension)
    elif found.query is not None:
        norm_square = scale.square * dot(found.query, found.query)
    positive = scale.is_root or scale.value > 0
    return Prompt(law, found.base, scale.square, positive, found.tilt, V, norm_square, found.length, found.onwards)


# -- mean squares


def judge_mean_square(given: Any, asserts: Any, witness: Any, folder: Path) -> Judgement:
    require_record(asserts, "asserts", {"gradient", "mean_square"})
    stated, method = asserts["mean_square"], require_mapping(witness, "witness").get("method")
    require_record(stated, "mean_square", set(), {"at_least", "at_most"})
    require(len(stated) > 0, "nothing is stated")
    may = {"from"} if method == "exact" else set()
    require_record(witness, "the witness", {"method"} | ({"t", "lambda"} if method == "general" else set()), may)
    prompt = _read(given, asserts["gradient"], folder)
    starts = read_starts(witness["from"], prompt.length, prompt.onwards) if "from" in witness else []
    require(method in ("exact", "logistic", "moments", "general"), "the method")
    bounds = {side: float(read_number(stated[side])) for side in stated}
    require(all(bound >= 0 for bound in bounds.values()), "a negative bound")
    low, high = _mean_square(prompt, asserts["gradient"])
    shown = {"at_least": (-math.inf, -math.inf), "at_most": _NOTHING}
    finite = is_finite(prompt.plain) if not isinstance(prompt.law, Gaussian) else False
    if method == "exact" and (finite or isinstance(prompt.law, Gaussian)):
        shown = dict.fromkeys(("at_least", "at_most"), (low, high))
    if method == "logistic" and isinstance(prompt.law, Gaussian):
        shown |= _logistic(prompt, asserts["gradient"])
    if method == "moments" and finite and asserts["gradient"] == "V":
        means = _finite(prompt)
        shown["at_most"] = (0.0, math.inf) if means is None else (means.falling()[0],) * 2
    if method == "general":
        t, rate = read_number(witness["t"]), read_number(witness["lambda"])
        require(t > 0 and rate > 0, "t and lambda")
        bound = _general(prompt, asserts["gradient"], float(t), float(rate)) if t < 1 else math.inf
        shown["at_most"] = bound, bound
    if prompt.onwards:
        # Mean squares tend to 0; of the methods, one alone has a bound that is known to fall.
        shown["at_least"] = (-math.inf, -math.inf)
        if method not in ("logistic", "moments"):
            shown["at_most"] = _NOTHING
        if starts and asserts["gradient"] == "V" and (finite or isinstance(prompt.law, Gaussian)):
            falling = _falling(prompt, starts[-1])
            shown["at_most"] = largest_over(starts, lambda n: _mean_square(replace(prompt, length=n), "V"), falling)
        if bounds.get("at_least", 0) > 0:
            return Judgement(Truth.FALSE, 1e-12, "a lower bound", provable=False)
    found = []
    for side, bound in bounds.items():
        sign = 1 if side == "at_most" else -1
        worst, best = (low, high) if sign > 0 else (high, low)
        size = max(x for x in (bound, low, high, 1e-300) if x < math.inf)
        if sign * (bound - worst) < -_MARGIN * size:
            found.append(Judgement(Truth.FALSE, 0.0, side))
            continue
        gap = sign * (bound - shown[side][1 if sign > 0 else 0]) / size
        certain = method != "exact" or sign * (bound - best) > 0
        if gap > _LOOSE[method] and certain:
            found.append(Judgement(Truth.TRUE, gap, side))
        else:
            at_best = sign * (bound - shown[side][0 if sign > 0 else 1]) / size
            found.append(Judgement(Truth.OPEN, 0.0, side, provable=at_best > -_LOOSE[method]))
    order = (Truth.FALSE, Truth.OPEN, Truth.TRUE)
    return min(found, key=lambda judgement: (order.index(judgement.truth), judgement.provable, judgement.slack))


def _falling(prompt: Prompt, length: int) -> tuple[float, float]:
    """The bound of |tau_L - tau|^2 for every length from that one on."""
    at = replace(prompt, length=length)
    if isinstance(prompt.law, Gaussian):
        return _logistic(at, "V")["at_most"]
    means = _finite(at)
    return (0.0, math.inf) if means is None else (means.falling()[0],) * 2


def _mean_square(prompt: Prompt, gradient: str) -> tuple[float, float]:
    """Ends of an interval: a point for Gaussian tokens, six standard errors of simulated prompts for others."""
    if isinstance(prompt.law, Gaussian):
        variance = float(prompt.square * tails._form(prompt.law, prompt.base))
        if variance <= 25:
            found = _gaussian(prompt, gradient, variance)
            error = _cancelled(prompt, gradient, variance)
            return found - error, found + error
    means = None if isinstance(prompt.law, Gaussian) else _finite(prompt)
    if means is not None:
        found = prompt.factor * means.covariance_error() if gradient == "U" else means.mean_square()
        error = MARGIN * means.size() ** 2 * max(prompt.factor, 1.0)
        return found - error, found + error
    squares = _simulated(prompt, gradient) ** 2
    if len(squares) < 100:
        return 0.0, math.inf
    error = 6 * float(squares.std()) / math.sqrt(len(squares)) + 1e-9
    # Heavy tails: what the sample has not met is above its mean, never below 0.
    return max(float(squares.mean()) - error, 0.0), math.inf


def _finite(prompt: Prompt) -> FiniteMeans | None:
    return finite_means(prompt.plain, prompt.tilt, in_doubles(prompt.values), prompt.length)


def _cancelled(prompt: Prompt, gradient: str, variance: float) -> float:
    """How far off doubles may be: powers of the length lose its digits, and terms of size 1 cancel to 1/length."""
    assert isinstance(prompt.law, Gaussian)
    spread = float(sum(prompt.law.covariance[i][i] for i in range(prompt.law.dimension)))
    size = (1 + variance) * spread
    if gradient == "U":
        size *= prompt.factor * (1 + variance) * spread * float(sum(x * x for row in prompt.values for x in row))
    return prompt.length * 2.0**-52 * size


def _gaussian(prompt: Prompt, gradient: str, variance: float) -> float:
    """From the law of the error in coordinates where the tilt is the first axis."""
    assert isinstance(prompt.law, Gaussian)
    G = in_doubles(prompt.law.covariance)
    V = in_doubles(prompt.values)
    s, length = math.sqrt(variance), prompt.length
    values, frame = np.linalg.eigh(G)
    B = frame * np.sqrt(np.maximum(values, 0))
    alpha = B.T @ np.array(prompt.tilt)
    first = alpha / s if s > 1e-12 else np.eye(len(G))[0]
    turn = np.linalg.qr(np.column_stack([first, np.eye(len(G))]))[0]
    B = B @ turn

    def mean(*factors: tuple[int, int]) -> float:
        return _product_mean(tuple(sorted(factors)), length, s)

    if gradient == "V":
        # E (t - s)^2 along the tilt, E P_2 in each other direction.
        along = mean((1, 1), (1, 1)) - 2 * s * mean((1, 1)) + variance
        rest = mean((2, 0))
        return float(along * (B[:, 0] @ B[:, 0]) + rest * np.sum(B[:, 1:] ** 2))
    dd = mean((1, 2), (1, 2)) + mean(*[(1, 1)] * 4) + 1 - 2 * mean((1, 2), (1, 1), (1, 1))
    dd += -2 * mean((1, 2)) + 2 * mean((1, 1), (1, 1))
    spread = mean((2, 2)) - 2 * mean((1, 1), (2, 1)) + mean((1, 1), (1, 1), (2, 0))
    d_two = mean((1, 2), (2, 0)) - mean((1, 1), (1, 1), (2, 0)) - mean((2, 0))
    square = mean((2, 0), (2, 0))
    entries = mean((2, 0)) - 2 * mean((3, 0)) + square
    N, W = B.T @ V.T @ V @ B, B.T @ B
    n, w, N1, W1 = N[0, 0], W[0, 0], N[1:, 1:], W[1:, 1:]
    total = n * (w * dd + spread * np.trace(W1)) + 2 * N[0, 1:] @ W[1:, 0] * (spread - d_two)
    total += spread * w * np.trace(N1) + (square + entries) * np.trace(N1 @ W1)
    total += entries * np.trace(N1) * np.trace(W1)
    return float(prompt.factor * total)


@cache
def _product_mean(factors: tuple[tuple[int, int], ...], length: int, s: float) -> float:
    """E prod_j sum_i p_i^k_j u_i^m_j: indices agree in blocks, and Z^-K is an integral over lambda = e^t."""
    K = sum(k for k, _ in factors)
    t = np.arange(_FIRST, _LAST, _STEP)
    total = np.zeros_like(t)
    for blocks in _partitions(list(factors)):
        if len(blocks) > length:
            continue
        term = np.full_like(t, float(math.perm(length, len(blocks))))
        for block in blocks:
            term = term * _transform(sum(k for k, _ in block), sum(m for _, m in block), s)
        total += term * _transform(0, 0, s) ** (length - len(blocks))
    return float(total.sum() * _STEP / math.factorial(K - 1))


@cache
def _transform(k: int, m: int, s: float) -> Array:
    """E (lambda w)^k u^m e^{-lambda w} on the grid of t."""
    u = np.arange(-12.0, 12.0 + 8 * s, _SCORE_STEP / max(1.0, s))
    mass = np.exp(-u * u / 2) / math.sqrt(2 * math.pi) * (u[1] - u[0])
    x = np.arange(_FIRST, _LAST, _STEP)[:, None] + s * u[None, :] - s * s / 2
    return np.asarray((np.exp(k * x - np.exp(np.minimum(x, 50.0))) * (mass * u**m)).sum(axis=1))


def _partitions(items: list[Any]) -> Iterator[list[list[Any]]]:
    if not items:
        yield []
        return
    for rest in _partitions(items[1:]):
        yield [[items[0]], *rest]
        for i in range(len(rest)):
            yield [*rest[:i], [items[0], *rest[i]], *rest[i + 1 :]]


def _logistic(prompt: Prompt, gradient: str) -> dict[str, tuple[float, float]]:
    assert isinstance(prompt.law, Gaussian)
    G = in_doubles(prompt.law.covariance)
    V = in_doubles(prompt.values)
    a = np.array(prompt.tilt)
    b, variance = G @ a, float(a @ G @ a)
    q = 1 / (1 + (prompt.length - 1) * math.exp(-min(variance, 700)))
    if gradient == "V":
        upper = q * (np.trace(G) + b @ b)
        lower = max(np.trace(G) - (b @ b) / 2, 0) / prompt.length
        return {"at_most": (float(upper), float(upper)), "at_least": (float(lower), float(lower))}
    Vb, VG, spread = V @ b, V @ G, np.trace(V @ G @ V.T)
    bound = np.sum(VG**2) + spread * np.trace(G) + (Vb @ Vb) * np.trace(G) + (b @ b) * spread
    bound += 2.5 * abs(Vb @ (VG @ b)) + 13 * (Vb @ Vb) * (b @ b)
    found = float(prompt.factor * q * bound)
    return {"at_most": (found, found)}


def _token(prompt: Prompt) -> tuple[Array, Array, Array]:
    """Probabilities, weights w and deviations y = x - tau at the nodes."""
    masses, tokens = random_prompts._all_nodes(prompt.plain)
    weights = np.exp(tokens @ np.array(prompt.tilt) - random_prompts.log_mgf(prompt.plain, prompt.tilt))
    return masses, weights, tokens - random_prompts.tilted_mean(prompt.plain, prompt.tilt)


def _general(prompt: Prompt, gradient: str, t: float, rate: float) -> float:
    p, w, y = _token(prompt)
    length, R = prompt.length, float(p @ w**2)
    exponent = rate * length * (1 - t) + (length - 1) * math.log(1 - rate + rate**2 * R / 2)
    rho = math.exp(exponent) if exponent < 700 else math.inf
    size = (y**2).sum(axis=1)
    if gradient == "V":
        return float(p @ (w**2 * size) / (length * (1 - t) ** 2) + length * (p @ size) * rho)
    V = in_doubles(prompt.values)
    C = np.einsum("n,ni,nj->ij", p * w, y, y)
    Vy = y @ V.T
    errors = np.einsum("no,ni->noi", Vy, y) - V @ C
    first = p @ (w**2 * (errors**2).sum(axis=(1, 2))) / length
    M = np.einsum("n,ni,nj->ij", p * w**2, y, y)
    pairs = np.trace(V @ M @ V.T) * np.trace(M) + 2 * np.sum((V @ M) ** 2)
    inner = (Vy**2).sum(axis=1)
    second = (p @ (w**4 * inner * size) + (length - 1) * pairs) / length**3
    likely = (math.sqrt(first) / (1 - t) + math.sqrt(second) / (1 - t) ** 2) ** 2
    unlikely = np.linalg.norm(V @ C) + math.sqrt(length * math.sqrt((p @ inner**2) * (p @ size**2)))
    return float(prompt.factor * (likely + rho * unlikely**2))


def _simulated(prompt: Prompt, gradient: str) -> Array:
    """The norm of the error over random prompts; none where prompts are long."""
    values = tuple(tuple(map(float, row)) for row in prompt.values)
    return math.sqrt(prompt.factor) * _errors(prompt.plain, prompt.tilt, values, prompt.length, gradient)


@cache
def _errors(
    law: random_prompts.Law, tilt: tuple[float, ...], values: tuple[tuple[float, ...], ...], length: int, gradient: str
) -> Array:
    count = min(_PROMPTS, _MOST_TOKENS // length)
    if count < 100:
        return np.zeros(0)
    tokens = random_prompts._draw(law, count * length, np.random.default_rng(20260802)).reshape(count, length, -1)
    scores = tokens @ np.array(tilt)
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    y = tokens - random_prompts.tilted_mean(law, tilt)
    mean = np.einsum("nl,nld->nd", p, y)
    if gradient == "V":
        return np.asarray(np.linalg.norm(mean, axis=1))
    masses, nodes = random_prompts._all_nodes(law)
    weights = masses * np.exp(nodes @ np.array(tilt) - random_prompts.log_mgf(law, tilt))
    z = nodes - random_prompts.tilted_mean(law, tilt)
    C = np.einsum("n,ni,nj->ij", weights, z, z)
    errors = np.einsum("nld,nle->nde", p[:, :, None] * y, y) - mean[:, :, None] * mean[:, None, :] - C
    return np.asarray(np.sqrt((np.einsum("oi,nij->noj", np.array(values), errors) ** 2).sum(axis=(1, 2))))


# -- tails


def judge_tail(given: Any, asserts: Any, witness: Any, folder: Path) -> Judgement:
    require_record(asserts, "asserts", {"gradient", "exceeds", "probability"})
    gradient = asserts["gradient"]
    prompt = _read(given, gradient, folder)
    eps, delta = read_number(asserts["exceeds"]), read_number(asserts["probability"])
    require(eps > 0 and 0 < delta < 1, "exceeds and probability")
    size = prompt.law.dimension
    if "method" in witness:
        require_record(witness, "the witness", {"method", "order"}, {"from"})
        require(witness["method"] == "moment", "the method")
        starts = read_starts(witness["from"], prompt.length, prompt.onwards) if "from" in witness else []
        require(not starts or gradient == "V", "ranges, which are for V")
        order, bounds = tails.read_moment_order(witness["order"], 8 if gradient == "V" else 4), [_NOTHING]
        if isinstance(prompt.law, Gaussian) and not prompt.onwards:
            bounds = [tails.simulated_moment(_simulated(prompt, gradient), float(eps), order)]
        if isinstance(prompt.law, Gaussian) and starts:
            low, high = _falling(prompt, starts[-1])

            def mean_at(n: int) -> tuple[float, float]:
                return tails.simulated_moment(_simulated(replace(prompt, length=n), "V"), float(eps), order)

            bounds = [largest_over(starts, mean_at, (low / float(eps) ** 2, high / float(eps) ** 2))]
    elif gradient == "V":
        require_record(witness, "the witness", {"tokens"})
        _, levels, bounds = _framed(witness["tokens"], identity_matrix(size), prompt, folder)
        if sum(x * x for x in levels) > eps**2:
            bounds.append(_NOTHING)
    else:
        bounds = _entries(witness, prompt, Fraction(eps), folder)
    total = (sum(low for low, _ in bounds), sum(high for _, high in bounds))
    happened = random_prompts.frequency(_simulated(prompt, gradient) > float(eps))
    return tails._tail_judgement(total, float(delta), happened)


def _framed(hint: Any, map_: Table, prompt: Prompt, folder: Path) -> tuple[Table, list[Fraction], list[Any]]:
    require_record(hint, "a frame", {"frame", "levels", "bounds"})
    frame, levels, rules = read_table(hint["frame"], folder), read_vector(hint["levels"], folder), hint["bounds"]
    require(len(frame[0]) == len(map_) and len(levels) == len(frame), "a frame")
    columns = list(zip(*frame, strict=True))
    gram = [[dot(x, y) - (i == j) for j, y in enumerate(columns)] for i, x in enumerate(columns)]
    require(isinstance(rules, list) and len(rules) == 2 * len(frame), "two rules for every vector of the frame")
    if not is_semidefinite(gram) or min(levels) < 0:
        return frame, levels, [_NOTHING]
    bounds = []
    for index, (row, level) in enumerate(zip(frame, levels, strict=True)):
        for sign, rule in zip((1, -1), rules[2 * index : 2 * index + 2], strict=True):
            v = [sign * dot(row, column) for column in zip(*map_, strict=True)]
            bounds.append(tails.over_ranges(rule, prompt, partial(_of_mean, prompt, v, float(level))))
    return frame, levels, bounds


def _of_mean(prompt: Prompt, v: list[Fraction], level: float, first: int, last: float, rule: Any) -> Any:
    """What a rule gives for the softmax mean in a direction, for lengths from the first to the last."""
    try:
        read = tails._tail_rule(rule, prompt.law, prompt.base, prompt.positive, prompt.square, v, level)
    except NothingShown:
        return _NOTHING
    if rule["rule"] == "truncated" and math.isinf(last):
        return _NOTHING
    return random_prompts.Tail(prompt.plain, prompt.tilt, tuple(map(float, v)), level, first, last).bound(read)


def _entries(witness: Any, prompt: Prompt, eps: Fraction, folder: Path) -> list[Any]:
    size = prompt.law.dimension
    plain = prompt.values == identity_matrix(size)
    require_record(witness, "the witness", {"tokens", "entries"} | (set() if plain else {"outputs"}),
            {"outputs"} if plain else set())  # fmt: skip
    tokens, b, bounds = _framed(witness["tokens"], identity_matrix(size), prompt, folder)
    outputs, a, symmetric = tokens, b, "outputs" not in witness
    if not symmetric:
        outputs, a, more = _framed(witness["outputs"], prompt.values, prompt, folder)
        bounds = bounds + more
    entries = witness["entries"]
    require_record(entries, "entries", {"levels", "bounds"})
    levels, rules = read_table(entries["levels"], folder), entries["bounds"]
    require((len(levels), len(levels[0])) == (len(outputs), len(tokens)), "levels of another shape")
    require(not symmetric or levels == [list(row) for row in zip(*levels, strict=True)], "levels not symmetric")
    total = sum((e + x * y) ** 2 for row, x in zip(levels, a, strict=True) for e, y in zip(row, b, strict=True))
    if total * prompt.norm_square > eps**2 or min(min(row) for row in levels) < 0:
        return [_NOTHING]
    pairs = [(i, j) for i in range(len(outputs)) for j in range(i if symmetric else 0, len(tokens))]
    require(isinstance(rules, list) and len(rules) == 2 * len(pairs), "two rules for every entry")
    for index, (i, j) in enumerate(pairs):
        u = [dot(outputs[i], column) for column in zip(*prompt.values, strict=True)]
        for sign, rule in zip((1, -1), rules[2 * index : 2 * index + 2], strict=True):
            bounds.append(tails.over_ranges(rule, prompt, partial(_of_entry, prompt, u, tokens[j], sign, levels[i][j])))
    return bounds


def _of_entry(
    prompt: Prompt, u: list[Fraction], v: list[Fraction], sign: int, level: Fraction, first: int, last: float, rule: Any
) -> Any:
    try:
        return _entry(rule, replace(prompt, length=first, onwards=last > first), u, v, sign, level)
    except NothingShown:
        return _NOTHING


def _entry(rule: Any, prompt: Prompt, u: list[Fraction], v: list[Fraction], sign: int, level: Fraction) -> Any:
    """Ends of what a rule gives for an entry, and of what the checker may make of it."""
    name = require_mapping(rule, "a rule").get("rule")
    atoms = isinstance(prompt.law, Points)
    needed = {"cantelli": set(), "moment": {"order"}, "exact": set(), "chernoff": {"lambda"}}
    require(isinstance(name, str) and name in needed, "the rule")
    require_record(rule, "a rule", {"rule"} | needed[name], {"order"} if name == "chernoff" else set())
    applies(name != "chernoff" or ("order" in rule) is not atoms, "an order where the exponential is no finite sum")
    applies(level > 0 or name == "exact", "a level of 0")
    order = read_count(rule["order"]) if "order" in rule else 2
    require(order % 2 == 0 and 2 <= order <= 24, "an even order")
    slope = read_number(rule["lambda"]) if "lambda" in rule else Fraction(1)
    require(slope > 0, "lambda must be positive")
    parts = tails._parts(prompt.law)
    constant = any(all(tails._constant(part, x) is not None for part in parts)
                   and len({tails._constant(part, x) for part in parts}) == 1 for x in (u, v))  # fmt: skip
    applies(name != "exact" or constant, "nothing is constant")
    applies(name != "chernoff" or not any(isinstance(part, Gaussian) for part in parts), "unbounded products")
    if name == "exact":
        return 0.0, 0.0
    p, w, y = _token(prompt)
    left, right = y @ np.array([float(x) for x in u]), y @ np.array([float(x) for x in v])
    h, eps, length = sign * left * right, float(level), prompt.length
    Y = w * (h - float(p @ (w * h)) - eps)
    D = Y + eps
    if max(eps, float(slope), float(w.max())) > random_prompts._LARGE or w.min() == 0:
        return 0.0, math.inf
    if name == "cantelli":
        found = float(p @ D**2)
        return (found / (found + length * eps**2),) * 2
    if name == "moment" and prompt.onwards:
        a = [float(p @ D**j) / math.factorial(j) for j in range(order + 1)]
        return (random_prompts.falling_moment(a, eps, length),) * 2
    if name == "moment":
        return (_moment([float(p @ D**j) for j in range(order + 1)], eps, length),) * 2
    if atoms:
        found = float(p @ np.exp(np.minimum(float(slope) * Y, 600)))
        both = (_power(found, length),) * 2
    else:
        low = _by_moments(p, D, eps, float(slope), order, float(D.max()), length)
        reach = 1.05 * _reach(prompt, left, right, sign, eps)
        both = (low, _by_moments(p, D, eps, float(slope), order, reach, length))
    return (min(both[0], 1.0), min(both[1], 1.0)) if prompt.onwards else both


def _moment(moments: list[float], eps: float, length: int) -> float:
    a = [moment / math.factorial(j) / (length * eps) ** j for j, moment in enumerate(moments)]
    c = [1.0]
    for n in range(1, len(a)):
        c.append(sum((k * (length + 1) - n) * a[k] * c[n - k] for k in range(1, n + 1)) / n)
    return c[-1] * math.factorial(len(a) - 1)


def _power(base: float, length: int) -> float:
    exponent = length * math.log(base) if base > 0 else -math.inf
    return math.exp(exponent) if exponent < 700 else math.inf


def _by_moments(p: Array, D: Array, eps: float, slope: float, order: int, largest: float, length: int) -> float:
    y = slope * largest
    if y > 200:
        return math.inf
    y = max(y, 1e-300)
    remainder = sum(math.exp(j * math.log(y) - math.lgamma(j + order + 1)) for j in range(200))
    head = sum(slope**j * float(p @ D**j) / math.factorial(j) for j in range(order))
    return _power(math.exp(-slope * eps) * (head + slope**order * float(p @ D**order) * remainder), length)


def _reach(prompt: Prompt, left: Array, right: Array, sign: int, eps: float) -> float:
    """The kernel's bound of D, from the nodes: corners of a box are not among them, so it is widened."""
    _, w, _ = _token(prompt)
    c, kappa = np.abs(left + sign * right), float(_token(prompt)[0] @ (w * sign * left * right))

    def bound(log_slope: float) -> float:
        slope = math.exp(log_slope)
        return float((w * np.exp(np.minimum(slope * c * 1.01 - 2, 600))).max()) / slope**2

    rest = max(0.0, -(kappa + eps)) * float(w.max())
    return 1.05 * float(minimize_scalar(bound, bounds=(-8, 8), method="bounded").fun) + rest * 1.05 + eps
