"""Whether a certificate of `risk-transfer` may be true: flows from at most five eigenvalues, and on given prompts.

Where Sigma and A have the same eigenvectors everything is a function of their eigenvalues and b: q and kappa come from
the integrals over the Laplace transform of a lognormal weight, the gap from one more integral over chi-squared laws,
its gradient by differences, and both flows by an implicit method, in doubles. What they contradict is false; all else
is open. Shares no code with the kernel.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline
from scipy.special import roots_genlaguerre

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
    times,
    transposed,
)

Array = np.ndarray[Any, Any]
Function = Callable[[Array], Array]

# Errors of the simulation, relatively and absolutely.
_LOOSE, _TINY = 1e-3, 1e-5
_STEPS, _STEP_ERROR = 60, 1e-7
_LARGEST_SCORES = 60.0
_LEAST_SPACING = Fraction(1, 64)
_LONGEST = 10**9
_MIXED, _SAME = math.sqrt(math.pi), 1e-9
# Of a rule for each law, by how many laws there are; and the weights that are left out.
_NODES_EACH, _NEGLIGIBLE = {1: 60, 2: 24, 3: 16, 4: 11, 5: 8}, 1e-13
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
    require_record(witness, "witness", set(), {"spacing", "reach", "lengths", "ranges", "pieces", "travel"})
    read_positive(witness.get("travel", "1"))
    require(1 <= read_count(witness.get("pieces", "1")) <= 10_000, "pieces")
    if empirical:
        require(not {"spacing", "reach", "lengths", "ranges"} & set(witness), "ranges of lengths beside prompts")
        found = Prompts(given, size, folder).followed(np.array(A, float), float(b), float(time))
        return Judgement(Truth.FALSE if found > float(risk) * (1 + _CLOSE) + _TINY * _TINY else Truth.OPEN)
    require("lengths" not in given, "lengths")
    length = read_number(given["length"])
    require(length.denominator == 1 and length >= 2, "the length")
    require(transposed(A) == A, "A that is not symmetric")
    both = [times(A, row) for row in covariance]
    require(transposed(both) == both, "A that does not commute")
    _require_ranges(witness, int(length), time, folder)
    spectrum = shared(np.array(covariance, float), np.array(A, float))
    if len(spectrum) not in _NODES_EACH:
        return Judgement(Truth.OPEN)
    for each in (int(length), int(read_number(witness["ranges"][-2]["until"])) if witness["ranges"][1:] else _LONGEST):
        found, distance = followed(spectrum, float(b), each, float(time))
        if found > float(risk) * (1 + _LOOSE) + _TINY:
            return Judgement(Truth.FALSE, 0.0, "the risk")
        if tube is not None and distance > float(tube) * (1 + _LOOSE) + _TINY:
            return Judgement(Truth.FALSE, 0.0, "the tube")
    return Judgement(Truth.OPEN)


def _require_ranges(witness: Any, first: int, time: Fraction, folder: Path) -> None:
    """Ranges that cover all lengths from the first on, as long as their form goes."""
    require({"spacing", "lengths", "ranges"} <= set(witness), "a witness without ranges")
    require(_LEAST_SPACING <= read_number(witness["spacing"]) <= 1, "the spacing")
    require(1 <= read_count(witness.get("reach", "8")) <= 64, "the reach")
    require(isinstance(witness["lengths"], list), "no list of lengths")
    lengths = [read_number(each) for each in witness["lengths"]]
    require(all(x.denominator == 1 and 2 <= x <= _LONGEST for x in lengths), "the lengths")
    require(all(x < y for x, y in pairwise(lengths)), "lengths that do not increase")
    ranges = witness["ranges"]
    require(isinstance(ranges, list) and ranges != [], "no ranges")
    for k, each in enumerate(ranges, start=1):
        last = k == len(ranges)
        fields = {"time", "pieces", "sums", "errors"} | (set() if last else {"until"})
        require_record(each, "a range", fields, {"later"})
        begins = Fraction(0)
        for stage in (each, *([each["later"]] if "later" in each else [])):
            require("time" in stage and begins < read_positive(stage["time"]) <= time, "a time after the stated one")
            require(1 <= read_count(stage["pieces"]) <= 10_000, "pieces")
            begins = read_positive(stage["time"])
        if "later" in each:
            require_record(each["later"], "later", {"time", "pieces"})
        sums, errors = read_table(each["sums"], folder), read_table(each["errors"], folder)
        require(all(len(row) == 5 for row in sums), "sums of another length")
        require(all(len(row) == 3 for row in errors), "errors of another length")
        require(first in lengths, "a range that begins at no known length")
        require(all(row[0] <= 0 for row in sums) and len({row[0] for row in sums}) == len(sums), "rates")
        require(all(entry >= 0 for row in errors for entry in row), "errors")
        if not last:
            until = read_number(each["until"])
            require(until.denominator == 1 and until > first, "lengths that are left out")
            require(until in lengths, "a range that ends at no known length")
            require(lengths[0] < first and sum(x > until for x in lengths) > 1, "lengths beside a range")
            first = int(until)


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


# sigma, a, and how often the two are.
Eigenvalues = tuple[tuple[float, float, int], ...]


def shared(covariance: Array, A: Array) -> Eigenvalues:
    """Of both on their common eigenspaces: of the eigenvectors of a sum that almost surely tells these apart."""
    vectors = np.linalg.eigh(A + _MIXED * covariance)[1]
    sigma, a = (np.diag(vectors.T @ matrix @ vectors) for matrix in (covariance, A))
    found: list[tuple[float, float, int]] = []
    for s, x in zip(sigma, a, strict=True):
        near = [i for i, (t, y, _) in enumerate(found) if abs(s - t) + abs(x - y) < _SAME]
        if near:
            t, y, n = found[near[0]]
            found[near[0]] = (t, y, n + 1)
        else:
            found.append((float(s), float(x), 1))
    return tuple(found)


@lru_cache(maxsize=512)
def followed(spectrum: Eigenvalues, b: float, length: int, time: float) -> tuple[float, float]:
    """R_L at the time, and the largest distance of the two flows until then."""
    sigma, a, counts = zip(*spectrum, strict=True)
    task, times = Task(sigma, counts, length), np.linspace(0, time, _STEPS)
    finite, infinite = (_run(slope, np.array([*a, b]), times) for slope in (task.finite_slope, task.slope))
    distance = max(task.distance(one, other) for one, other in zip(finite, infinite, strict=True))
    return task.finite_risk(finite[-1]), distance


def _run(slope: Function, start: Array, times: Array) -> Array:
    """Down the slope, at these times; as flows are stiff, by an implicit method."""
    run = solve_ivp(lambda _, at: -slope(at), (0, times[-1]), start, "LSODA", times, rtol=_STEP_ERROR, atol=_STEP_ERROR)
    found: Array = run.y.T
    return found


def _moved(slope: Function, point: Array, h: float) -> Array:
    """A step of Runge and Kutta down the slope."""
    k1 = slope(point)
    k2 = slope(point - h / 2 * k1)
    k3 = slope(point - h / 2 * k2)
    found: Array = point - h / 6 * (k1 + 2 * k2 + 2 * k3 + slope(point - h * k3))
    return found


class Task:
    """The task where Sigma and A = sum a_i P_i have the same eigenspaces, of these dimensions; at (a_1, ..., b)."""

    def __init__(self, sigma: Sequence[float], counts: Sequence[int], length: int) -> None:
        self._sigma, self._counts = np.array(sigma), np.array(counts)
        self._weighted = np.append(self._counts, 1)
        self._trace = float(self._sigma @ self._counts)
        self._chi, self._weights = _chi_squared(tuple(counts))
        self._spread = spread(length)

    def distance(self, one: Array, other: Array) -> float:
        """Of (A, b)."""
        return float(np.sqrt((one - other) ** 2 @ self._weighted))

    def risk(self, point: Array) -> float:
        """R."""
        return float(self._counts @ (self._sigma * (point[-1] * self._sigma * point[:-1] - 1) ** 2) / 2)

    def finite_risk(self, point: Array) -> float:
        """R_L."""
        return self.risk(point) + self.gap(point)

    def slope(self, point: Array) -> Array:
        """Of R, as a_i and b change along it."""
        a, b = point[:-1], point[-1]
        error = (b * self._sigma * a - 1) * self._sigma**2
        return np.append(b * error, self._counts @ (a * error))

    def gap(self, point: Array) -> float:
        """R_L - R = 1/2 E[q W - 6 b^2 kappa |tau|^2]."""
        a, b = point[:-1], point[-1]
        q, kappa = self._spread(self._chi @ (self._sigma * a) ** 2)
        tau = self._chi @ (self._sigma**3 * a**2)
        W = b**2 * self._trace - b**2 * tau + 2 * b * (self._chi @ (self._sigma**2 * a))
        return float(((q * W - 6 * b**2 * kappa * tau) * self._weights).sum() / 2)

    def finite_slope(self, point: Array) -> Array:
        """By central differences."""
        steps = 1e-4 * np.eye(len(point))
        gaps = [(self.gap(point + h) - self.gap(point - h)) / 2e-4 for h in steps]
        found: Array = self.slope(point) + np.array(gaps) / self._weighted
        return found


@lru_cache(maxsize=16)
def _chi_squared(counts: tuple[int, ...]) -> tuple[Array, Array]:
    """Nodes (chi_1, ..., chi_p) and weights of independent chi-squared laws, by Gauss and Laguerre's rule."""
    rules = [roots_genlaguerre(_NODES_EACH[len(counts)], n / 2 - 1) for n in counts]
    chi = np.stack(np.meshgrid(*[2 * x for x, _ in rules], indexing="ij"), -1).reshape(-1, len(counts))
    weights = reduce(np.multiply.outer, [w / w.sum() for _, w in rules]).ravel()
    kept = weights > _NEGLIGIBLE
    return chi[kept], weights[kept]


@lru_cache(maxsize=512)
def spread(length: int) -> Function:
    """(q, kappa) as a function of the scores' variance, by splines in the root of it."""
    roots = np.linspace(0, np.sqrt(_LARGEST_SCORES), 60)
    spline = CubicSpline(roots, np.array([_moments(length, float(root)) for root in roots]))

    def at(variances: Array) -> Array:
        found: Array = spline(np.sqrt(np.minimum(variances, _LARGEST_SCORES))).T
        return found

    return at


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
