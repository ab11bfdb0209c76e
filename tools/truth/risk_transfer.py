"""Whether a certificate of `risk-transfer` may be true: flows in dimension 1, and on given prompts, in doubles.

With one dimension everything is a function of two numbers (A, b): q and kappa come from the integrals over the Laplace
transform of a lognormal weight, the gap from one more integral over the query, its gradient by differences, and both
flows by Runge and Kutta. What they contradict is false; all else is open. Shares no code with the kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from tools.truth.judgement import Judgement, Truth
from tools.truth.reading import (
    read_count,
    read_covariance,
    read_lengths,
    read_number,
    read_positive,
    read_table,
    require,
    require_record,
    split,
)

Array = np.ndarray[Any, Any]
Function = Callable[[Array], Array]

# Errors of the simulation, relatively and absolutely.
_LOOSE, _TINY = 1e-2, 1e-5
_STEPS = 60
_LARGEST_SCORES = 60.0
_LONGEST = 10**12
_CLOSE = 1e-4
_MOST_STEPS = 1500
_SHORT = 0.02
# The normal law on a grid: the trapezoid rule is exact to many digits.
_NODES = np.linspace(-9, 9, 181)
_WEIGHTS = np.exp(-(_NODES**2) / 2) / np.sqrt(2 * np.pi) * (_NODES[1] - _NODES[0])


def judge_transfer(given: Any, asserts: Any, witness: Any, folder: Path) -> Judgement:
    """False where the flows say so; else open."""
    empirical = isinstance(given, dict) and "tokens" in given
    prompts = {"tokens", "labels", "queries", "targets"}
    require_record(
        given, "given", {"covariance", "start", *(prompts if empirical else {"length"})}, {"lengths"} & set(given)
    )
    covariance = read_covariance(given["covariance"], folder)
    size = len(covariance)
    require_record(given["start"], "start", {"A", "b"})
    A, b = read_table(given["start"]["A"], folder), read_number(given["start"]["b"])
    require((len(A), len(A[0])) == (size, size), "A of another shape")
    require_record(asserts, "asserts", {"risk", "time"}, set() if empirical else {"tube"})
    risk, time = read_number(asserts["risk"]), read_positive(asserts["time"])
    require(risk >= 0, "a negative risk")
    tube = read_positive(asserts["tube"]) if "tube" in asserts else None
    require_record(witness, "witness", set(), {"order", "pieces", "travel"})
    read_positive(witness.get("travel", "1"))
    for name, least, most in (("order", 2, 60), ("pieces", 1, 10_000)):
        require(least <= read_count(witness.get(name, str(least))) <= most, name)
    if empirical:
        found = Prompts(given, size, folder).followed(np.array(A, float), float(b), float(time))
        return Judgement(Truth.FALSE if found > float(risk) * (1 + _CLOSE) + _TINY * _TINY else Truth.OPEN)
    require("lengths" not in given, "lengths")
    length = read_number(given["length"])
    require(length.denominator == 1 and length >= 2, "the length")
    if size > 1 or length > _LONGEST:
        return Judgement(Truth.OPEN)
    found, distance = simulated(covariance[0][0], A[0][0], b, int(length), time)
    if found > float(risk) * (1 + _LOOSE) + _TINY:
        return Judgement(Truth.FALSE, 0.0, "the risk")
    if tube is not None and distance > float(tube) * (1 + _LOOSE) + _TINY:
        return Judgement(Truth.FALSE, 0.0, "the tube")
    return Judgement(Truth.OPEN)


class Prompts:
    """Given prompts with a query and a target each."""

    def __init__(self, given: Any, size: int, folder: Path) -> None:
        tokens, labels, queries, targets = (
            read_table(given[name], folder) for name in ("tokens", "labels", "queries", "targets")
        )
        require(all(len(row) == size for row in [*tokens, *queries]), "tokens and queries")
        require(all(len(row) == 1 for row in [*labels, *targets]), "labels and targets")
        require(len(labels) == len(tokens) and len(targets) == len(queries), "how many")
        lengths = read_lengths(given, len(tokens), len(queries))
        parts = zip(split(tokens, lengths), split(labels, lengths), strict=True)
        self._prompts = [(np.array(x, float), np.array(y, float)[:, 0]) for x, y in parts]
        self._queries, self._targets = np.array(queries, float), np.array(targets, float)[:, 0]

    def followed(self, A: Array, b: float, time: float) -> float:
        """The loss at a time; 0 where the steps are too long to say anything."""
        point, left = np.append(A.ravel(), b), time
        for _ in range(_MOST_STEPS):
            slope = self.loss(point)[1]
            h = min(left, _SHORT / (1 + float(np.linalg.norm(slope))))
            point, left = _moved(lambda at: self.loss(at)[1], point, h), left - h
            if left <= 0:
                return self.loss(point)[0]
        return 0.0

    def loss(self, point: Array) -> tuple[float, Array]:
        """1/(2N) sum_n (b <p, y> - t)^2 and its gradient."""
        A, b, share = point[:-1].reshape(self._queries.shape[1], -1), point[-1], 1 / len(self._prompts)
        total, slope, factor = 0.0, np.zeros_like(A), 0.0
        for (tokens, labels), query, target in zip(self._prompts, self._queries, self._targets, strict=True):
            scores = tokens @ (A @ query)
            p = np.exp(scores - scores.max())
            p /= p.sum()
            mean = p @ labels
            off = b * mean - target
            total += off**2 * share / 2
            slope += np.outer(off * b * ((p * (labels - mean)) @ tokens), query) * share
            factor += off * mean * share
        return total, np.append(slope.ravel(), factor)


@lru_cache(maxsize=512)
def simulated(covariance: Fraction, A: Fraction, b: Fraction, length: int, time: Fraction) -> tuple[float, float]:
    """R_L at the time, and the largest distance of the two flows until then, for Sigma = (covariance)."""
    task = Line(float(covariance), length)
    finite = infinite = np.array([float(A), float(b)])
    distance, h = 0.0, float(time) / _STEPS
    for _ in range(_STEPS):
        if h * float(covariance) ** 3 * max(finite @ finite, infinite @ infinite) > 1:
            # Such steps are too long to say anything.
            return 0.0, 0.0
        finite, infinite = _moved(task.finite_slope, finite, h), _moved(task.slope, infinite, h)
        distance = max(distance, float(np.linalg.norm(finite - infinite)))
    return task.risk(finite) + task.gap(finite), distance


def _moved(slope: Function, point: Array, h: float) -> Array:
    """A step of Runge and Kutta down the slope."""
    k1 = slope(point)
    k2 = slope(point - h / 2 * k1)
    k3 = slope(point - h / 2 * k2)
    found: Array = point - h / 6 * (k1 + 2 * k2 + 2 * k3 + slope(point - h * k3))
    return found


class Line:
    """The task in one dimension with tokens of this variance, over prompts of this length."""

    def __init__(self, variance: float, length: int) -> None:
        self._variance = variance
        self._spread = spread(length)

    def risk(self, point: Array) -> float:
        A, b = point
        return float(self._variance * (b * self._variance * A - 1) ** 2 / 2)

    def slope(self, point: Array) -> Array:
        A, b = point
        error = (b * self._variance * A - 1) * self._variance**2
        found: Array = np.array([b * error, A * error])
        return found

    def gap(self, point: Array) -> float:
        """R_L - R = 1/2 E[q W - 6 b^2 kappa tau^2]."""
        A, b = point
        x = np.sqrt(self._variance) * _NODES
        tau = self._variance * A * x
        q, kappa = self._spread((self._variance * A * _NODES) ** 2)
        W = b**2 * self._variance - b**2 * tau**2 + 2 * b * tau * x
        return float(((q * W - 6 * b**2 * kappa * tau**2) * _WEIGHTS).sum() / 2)

    def finite_slope(self, point: Array) -> Array:
        """By central differences."""
        steps = [np.array([1e-4, 0]), np.array([0, 1e-4])]
        found: Array = self.slope(point) + np.array([(self.gap(point + h) - self.gap(point - h)) / 2e-4 for h in steps])
        return found


@lru_cache(maxsize=64)
def spread(length: int) -> Callable[[Array], tuple[Array, Array]]:
    """q and kappa as functions of the variance of the scores, between nodes in the root of it."""
    roots = np.linspace(0, np.sqrt(_LARGEST_SCORES), 60)
    table = np.array([_moments(length, float(root)) for root in roots])

    def at(variances: Array) -> tuple[Array, Array]:
        size = np.sqrt(variances)
        return _smooth(size, roots, table[:, 0]), _smooth(size, roots, table[:, 1])

    return at


def _smooth(x: Array, nodes: Array, values: Array) -> Array:
    """Cubic (Hermite) interpolation with slopes by differences."""
    slopes, h = np.gradient(values, nodes), nodes[1] - nodes[0]
    index = np.clip((x / h).astype(int), 0, len(nodes) - 2)
    u = np.clip(x / h - index, 0, 1)
    left, right = values[index], values[index + 1]
    rise, fall = slopes[index] * h, slopes[index + 1] * h
    found: Array = left + u * (
        rise + u * (3 * (right - left) - 2 * rise - fall + u * (2 * (left - right) + rise + fall))
    )
    return found


def _moments(length: int, root: float) -> tuple[float, float]:
    """E P_2 and E[P_3 - P_2^2] by the integrals of docs/claims/prompts/output-mean-square.md."""
    if root == 0:
        return 1 / length, 0.0
    t = np.linspace(-np.log(length) - 14 - 8 * root, root**2 / 2 + 9 * root + 6, 400)
    weight = np.exp(t[:, None] + root * _NODES[None, :] - root**2 / 2)
    phi, second, third, fourth = ((weight**k * np.exp(-weight)) @ _WEIGHTS for k in (0, 2, 3, 4))
    step, log_phi = t[1] - t[0], np.log(np.maximum(phi, 1e-300))
    others, fewer = np.exp((length - 1) * log_phi), np.exp((length - 2) * log_phi)
    q = length * step * (second * others).sum()
    cube = length * step * (third * others).sum() / 2
    square = length * step * (fourth * others).sum() / 6 + length * (length - 1) * step * (second**2 * fewer).sum() / 6
    return float(q), float(cube - square)
