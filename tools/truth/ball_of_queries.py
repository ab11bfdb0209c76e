"""The norm of `output-tail` at every query of a ball: what its witness shows, and simulated prompts, in doubles.

For mixtures only simulations would say something, and none are made.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from mpmath import log as mp_log
from mpmath import mpf
from scipy import special, stats

from tools.truth import random_prompts
from tools.truth.laws import About, Gaussian, Independent, Law, Mixture, Points, Round, Signs, Truncated, read_law
from tools.truth.prompt import read_lengths, read_weights
from tools.truth.reading import (
    Table,
    is_semidefinite,
    read_number,
    read_positive,
    read_scale,
    read_vector,
    require,
    require_record,
    times,
)

Array = np.ndarray[Any, Any]
Interval = tuple[float, float]

_NUMBERS, _ORDERS, _LARGEST = 4_000_000, 16, 32.0


def judge_ball(
    given: Any, hint: Any, eps: float, norm: str, folder: Path, in_doubles: Callable[[Law, float], random_prompts.Law]
) -> tuple[Interval, Interval]:
    """Between which numbers the bound is, and the probability."""
    require_record(given, "given", {"law", "length", "queries"}, {"K", "Q", "U", "V", "scale"})
    require_record(given["queries"], "the ball", {"centre", "radius"})
    law, (length, onwards) = read_law(given["law"], folder), read_lengths(given["length"])
    gaussian = isinstance(law, Gaussian)
    require_record(hint, "the witness of the norm", {"tilt_norm", "value_norm", "shells"}, {"within"})
    require(("within" in hint) is gaussian, "a number within for Gaussian tokens alone")
    U, V = read_weights(given, law.dimension, folder)
    centre, radius = read_vector(given["queries"]["centre"], folder), read_positive(given["queries"]["radius"])
    require(len(centre) == len(U[0]), "a query of another dimension")
    scale, kappa, nu = read_scale(given), read_number(hint["tilt_norm"]), read_positive(hint["value_norm"])
    require(kappa >= 0, "norms")
    require(isinstance(hint["shells"], list) and hint["shells"] != [], "shells")
    names = ("to", "tilts", "outputs", "heights", "lambda")
    for shell in hint["shells"]:
        require_record(shell, "a shell", set(names))
    shells = [[float(read_positive(one[key])) for key in names] for one in hint["shells"]]
    require(all(a[0] < b[0] for a, b in pairwise(shells)), "shells that rise")
    within = float(read_positive(hint["within"])) if gaussian else 0.0
    nothing = (math.inf, math.inf)
    if isinstance(law, Mixture):
        # Their supports are not looked at here.
        return (0.0, math.inf), (0.0, 1.0)
    spread = _spread(law)
    u, v, z = (np.array([[float(x) for x in row] for row in table]) for table in (U, V, [centre]))
    s = math.sqrt(float(scale.square)) * (1 if scale.is_root or scale.value > 0 else -1)
    inner = law.law if isinstance(law, About) else law
    if isinstance(inner, Round) and law.dimension > 3:
        # Not drawn.
        happened = (0.0, 1.0)
    else:
        happened = _simulated(law, in_doubles(law, 1.0), s * u, v, z[0], float(radius), length, eps, norm)
    columns = [list(column) for column in zip(*U, strict=True)]
    if not (_below(columns, spread.covariance, kappa**2) and _below(V, spread.covariance, nu**2)):
        return nothing, happened
    gamma = np.array([[float(x) for x in row] for row in spread.covariance])
    middle = abs(s) * math.sqrt(max(float(z[0] @ u.T @ gamma @ u @ z[0]), 0.0))
    reach = abs(s) * float(radius) * float(kappa)
    if middle + reach > shells[-1][0] * (1 + 1e-12):
        return nothing, happened
    if not (v @ gamma @ v.T).any():
        return (0.0, 0.0), (0.0, 0.0)
    sizes = (law.dimension, min(law.dimension, len(centre)), len(V))
    r = within if gaussian else spread.reach
    centre = None if gaussian else _at_centre(law, s * u @ z[0], v, reach, min(middle, r))
    problem = _Problem(*sizes, eps, float(nu), r, gaussian, spread.shape, centre)
    bound = problem.bound(shells, max(middle - reach, 0.0), reach, length, onwards)
    return (bound, bound), happened


@dataclass(frozen=True)
class _Spread:
    """At least the covariance under every tilt, the largest |y|, and b if tokens are made of spheres."""

    covariance: Any
    reach: float
    shape: float | None = None


def _spread(law: Law) -> _Spread:
    if isinstance(law, Gaussian):
        return _Spread(law.covariance, math.inf)
    if isinstance(law, About):
        return _spread(law.law)
    d = law.dimension
    if isinstance(law, Independent):
        signs = isinstance(law, Signs)
        # The reach is that of a corner.
        return _Spread(_diagonal([c**2 / (1 if signs else 3) for c in law.sizes]), math.sqrt(d * (1 if signs else 3)),
                       0.5 if signs else 1.5)  # fmt: skip
    if isinstance(law, Round):
        # The variance of a coordinate: R^2/d on the sphere, R^2/(d + 2) in the ball.
        part = d + 2 * law.solid
        return _Spread(_diagonal([law.squared_radius / part] * d), math.sqrt(part), part / 2)
    if isinstance(law, Truncated):
        halves = [(high - low) / 2 for low, high in zip(law.lower, law.upper, strict=True)]
        variances = [min(v, c**2 / 3) for c, v in zip(halves, law.variances, strict=True)]
        means = [float(m) for m in law.tilted_mean([mpf(0)] * d)]
        rows = zip(law.lower, law.upper, means, variances, strict=True)
        squares = [max(high - m, m - low) ** 2 / float(v) for low, high, m, v in
                   ((float(low), float(high), m, v) for low, high, m, v in rows)]  # fmt: skip
        return _Spread(_diagonal(variances), math.sqrt(sum(squares)))
    assert isinstance(law, Points)
    mean = [sum(w * x for w, x in zip(law.weights, column, strict=True)) for column in zip(*law.points, strict=True)]
    squares = [sum((x - m) ** 2 for x, m in zip(point, mean, strict=True)) for point in law.points]
    return _Spread(_diagonal([max(squares)] * d), 1.0)


@dataclass(frozen=True)
class _AtCentre:
    """log E e^<alpha,y> at the least; at twice the tilt of the centre that, variances, and how far the mean is."""

    least: float
    log_mgf: float
    variance: float
    variances: float
    moved: float
    reach: float


def _at_centre(law: Law, tilt: Array, V: Array, reach: float, size: float) -> _AtCentre:
    def at(a: Array) -> tuple[float, Array]:
        mass, moments = law.moments([mpf(float(x)) for x in a])
        return float(mp_log(mass)), np.array([float(m / mass) for m in moments])

    (_, plain), (once, mean), (twice, far) = at(0 * tilt), at(tilt), at(2 * tilt)
    # Means under tilts nearby, differences of the fourth order.
    step, columns = 1e-3, []
    for axis in np.eye(len(tilt)):
        near, next_ = ((at(2 * tilt + n * step * axis)[1] - at(2 * tilt - n * step * axis)[1]) for n in (1, 2))
        columns.append((8 * near - next_) / (12 * step))
    variances = np.maximum(np.linalg.eigvalsh(V @ np.array(columns) @ V.T), 0.0)
    # The root of the order 16 of the sum of their powers.
    variance = float(np.max(variances) * np.sum((variances / max(np.max(variances), 1e-300)) ** 16) ** (1 / 16))
    moved = float(np.linalg.norm(V @ (far - mean)))
    least = once - float(tilt @ plain) - reach * size
    return _AtCentre(least, twice - 2 * float(tilt @ plain), variance, float(variances.sum()), moved, reach)


def _diagonal(entries: Any) -> Any:
    return [[x if i == j else x - x for j in range(len(entries))] for i, x in enumerate(entries)]


def _below(rows: Table, covariance: Any, most: Any) -> bool:
    """M Gamma M' <= most."""
    images = [times(covariance, row) for row in rows]
    room = [
        [
            (most if i == j else 0) - sum(a * b for a, b in zip(row, image, strict=True))
            for j, image in enumerate(images)
        ]
        for i, row in enumerate(rows)
    ]
    return is_semidefinite(room)


@dataclass(frozen=True)
class _Problem:
    d: int
    tilts: int
    outputs: int
    eps: float
    nu: float
    r: float
    gaussian: bool
    shape: float | None
    centre: _AtCentre | None

    def bound(self, shells: Sequence[Sequence[float]], start: float, reach: float, length: int, onwards: bool) -> float:
        total = length * stats.chi.sf(self.r, self.d) if self.gaussian else 0.0
        for to, h, k, height, slope in shells:
            if not to > start:
                return math.inf
            n, steep = self.tilts, self.nu * (1 + k)
            if (to + h + self.r) ** 2 >= 1000 or (self.gaussian and self.r - to - h <= 0):
                return math.inf
            kept, top = self.eps, steep * (self.r + min(to, self.r)) + height - self.eps
            if self.gaussian:
                x = self.r - to
                kept = self.eps * stats.chi.cdf(x, self.d)
                kept -= self.nu * stats.chi.mean(self.d) * stats.chi.sf(x, self.d + 1)
                gap = x - h
                top = steep * (gap + h) + height - self.eps
                if kept <= 0 or top <= steep / gap:
                    return math.inf
                far = top / steep
                if onwards and not (far > 0 and self.r / 2 > to + h + 1 / far and self.r**2 >= 2 * (self.d - 2)):
                    return math.inf
            top = slope * math.exp((to + h) * self.r) * max(top, 0.0)
            if top >= _LARGEST:
                return math.inf
            ends = []
            for log_mgf in (max(self._least(start), self.centre.least if self.centre else 0.0), to**2 / 2):
                moments, rates = self._moments(to, h, k, height, slope, log_mgf), []
                for square in [moments[0], *self._squares(to, h, k, height, slope, log_mgf)]:
                    before = 0.0
                    for p, moment in enumerate([square, *moments[1:]], 2):
                        # e^f - 1 - f ... - f^(p-1)/(p-1)! is f^p times an average of e^(t f), t of a beta law.
                        rest = float(special.hyp1f1(1, p + 1, top)) / math.factorial(p)
                        rates.append(slope * math.exp(log_mgf) * kept - before - rest * moment)
                        before += moment / math.factorial(p)
                ends.append(rates)
            rate = max(min(both) for both in zip(*ends, strict=True))
            volume = min((to + h) ** n - max(start - h, 0.0) ** n, (reach + h) ** n) / h**n
            volume *= ((1 + k) ** self.outputs - max(1 - k, 0.0) ** self.outputs) / k**self.outputs
            volume *= 1 + steep * h / height
            total += volume * math.exp(min(-rate * length, 600.0))
            start = to
        return float(total)

    def _least(self, size: float) -> float:
        if self.gaussian:
            return size**2 / 2
        return 0.0 if self.shape is None else math.log(special.hyp0f1(self.shape, self.shape * size**2 / 2))

    def _squares(self, to: float, h: float, k: float, height: float, slope: float, log_mgf: float) -> list[float]:
        """E f^2 of bounded tokens by their size, and by the centre."""
        if self.centre is None:
            return []
        across, at, n = k**2 / (self.outputs + 2), self.centre, self.tilts
        far = at.moved + self.nu * at.reach
        size = self.nu**2 * (1 + across * min(self.d, self.outputs)) + self.eps**2
        other = at.variance + across * (at.variances + far**2) + (far + self.eps) ** 2
        common = 2 * math.log(slope) + 2 * (h * self.r) ** 2 / (n + 2)
        logs = log_mgf + to * self.r, at.log_mgf + 2 * at.reach * self.r
        return [
            math.exp(min(common + log, 600.0)) * (found + height**2 / 3)
            for log, found in zip(logs, (size, other), strict=True)
        ]

    def _moments(self, to: float, h: float, k: float, height: float, slope: float, log_mgf: float) -> list[float]:
        """E f^2, and E f_+^p for p = 3, 4, ..."""
        found = []
        for p in range(2, _ORDERS + 1):
            log = p * log_mgf + p * (p - 1) / 2 * to**2
            if not self.gaussian and (p + 1) * to**2 / 2 > to * self.r:
                log = log_mgf + (p - 1) * to * self.r
            log += (p * h) ** 2 / 2
            if p == 2:
                far = to + 2 * h
                log += (h * 4 * to) ** 2 / (2 * (self.tilts + 2))
                square = self.nu**2 * (1 + far**2) + 2 * self.eps * self.nu * far + self.eps**2 + height**2 / 3
                square += (self.nu * k) ** 2 / (self.outputs + 2) * (min(self.d, self.outputs) + far**2)
                found.append(slope**2 * square * math.exp(min(log, 600.0)))
                continue
            middle = (p - 1) * to * self.nu - self.eps
            # The positive root, by whichever sum does not cancel.
            both = math.sqrt(middle**2 + 4 * p * self.nu**2) + abs(middle)
            x = both / 2 if middle > 0 else 2 * p * self.nu**2 / both
            one, two = p * (p - 1) * to * self.nu / x, (p * self.nu / x) ** 2 / 2
            log += (h * (p * p * to + p * p * self.nu * (1 + k) / x)) ** 2 / (2 * (self.tilts + 2))
            log += one * (1 + k**2 / 2) + two * (1 + k**2) + (k * (one + 2 * two)) ** 2 / (2 * (self.outputs + 2))
            log += (p * height / x) ** 2 / 6 - p - p * self.eps / x + p * math.log(slope * x)
            found.append(math.exp(min(log, 600.0)))
        return found


def _simulated(
    law: Law,
    plain: random_prompts.Law,
    tilts: Array,
    V: Array,
    centre: Array,
    radius: float,
    length: int,
    eps: float,
    norm: str,
) -> Interval:
    """At some queries of the ball: how often one of them is off is at most how often any is."""
    draw, d = np.random.default_rng(0), len(tilts)
    count = min(400, _NUMBERS // (length * d))
    if count < 50:
        return 0.0, 1.0
    axes = np.eye(len(centre))
    a, off = np.vstack([centre, centre + radius * axes, centre - radius * axes]) @ tilts.T, 0
    limits = np.array([[float(m) for m in law.tilted_mean([mpf(x) for x in row])] for row in a])
    for _ in range(count):
        x = random_prompts._draw(plain, length, draw)
        weights = np.exp(x @ a.T - (x @ a.T).max(0))
        errors = ((weights / weights.sum(0)).T @ x - limits) @ V.T
        sizes = np.linalg.norm(errors, axis=1) if norm == "l2" else abs(errors).max(axis=1)
        off += bool((sizes > eps).any())
    found = off / count
    return max(found - 6 * math.sqrt(found * (1 - found) / count) - 20 / count, 0.0), 1.0
