"""The norm of `output-tail` at every query of a ball: what its witness shows, and simulated prompts, in doubles.

The sum over cells is taken finer and coarser than the checker takes it: its bound is in between.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from tools.truth.laws import Gaussian, read_law
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

# Cells: of scores above and below 0, and across. The checker has 160, 40 and 24.
_FINE, _COARSE = (640, 160, 96), (80, 20, 12)
_NUMBERS = 4_000_000


def judge_ball(given: Any, hint: Any, eps: float, norm: str, folder: Path) -> tuple[Interval, Interval]:
    """Between which numbers the bound is, and the probability."""
    require_record(given, "given", {"law", "length", "queries"}, {"K", "Q", "U", "V", "scale"})
    require_record(given["queries"], "the ball", {"centre", "radius"})
    require_record(hint, "the witness of the norm", {"within", "tilt_norm", "value_norm", "shells"})
    law, (length, onwards) = read_law(given["law"], folder), read_lengths(given["length"])
    U, V = read_weights(given, law.dimension, folder)
    centre, radius = read_vector(given["queries"]["centre"], folder), read_positive(given["queries"]["radius"])
    require(len(centre) == len(U[0]), "a query of another dimension")
    scale, within = read_scale(given), float(read_positive(hint["within"]))
    kappa, nu = (read_number(hint[name]) for name in ("tilt_norm", "value_norm"))
    require(kappa >= 0 and nu >= 0, "norms")
    require(isinstance(hint["shells"], list) and hint["shells"] != [], "shells")
    for shell in hint["shells"]:
        require_record(shell, "a shell", {"to", "tilts", "outputs", "lambda"})
    shells = [
        [float(read_positive(one[key])) for key in ("to", "tilts", "outputs", "lambda")] for one in hint["shells"]
    ]
    require(all(a[0] < b[0] for a, b in pairwise(shells)), "shells that rise")
    if not isinstance(law, Gaussian) or onwards:
        return (math.inf, math.inf), (0.0, 1.0)
    gamma = np.array([[float(x) for x in row] for row in law.covariance])
    u, v, z = (np.array([[float(x) for x in row] for row in table]) for table in (U, V, [centre]))
    s = math.sqrt(float(scale.square)) * (1 if scale.is_root or scale.value > 0 else -1)
    happened = _simulated(gamma, s * u, v, z[0], float(radius), length, eps, norm)
    columns = [list(column) for column in zip(*U, strict=True)]
    if not (_below(columns, law.covariance, kappa**2) and _below(V, law.covariance, nu**2)):
        return (math.inf, math.inf), happened
    middle = abs(s) * math.sqrt(max(float(z[0] @ u.T @ gamma @ u @ z[0]), 0.0))
    reach = abs(s) * float(radius) * float(kappa)
    if middle + reach > shells[-1][0] * (1 + 1e-12):
        return (math.inf, math.inf), happened
    problem = _Problem(law.dimension, len(V), eps, float(nu), within)
    bounds = [problem.bound(shells, max(middle - reach, 0.0), reach, length, cells) for cells in (_FINE, _COARSE)]
    return (bounds[0], bounds[1]), happened


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
    outputs: int
    eps: float
    nu: float
    r: float

    def bound(
        self, shells: Sequence[Sequence[float]], start: float, reach: float, length: int, cells: tuple[int, int, int]
    ) -> float:
        total = length * stats.chi.sf(self.r, self.d)
        for to, h, k, slope in shells:
            x, d = self.r - to, self.d
            if x <= 0:
                return math.inf
            lost = self.eps * stats.chi.sf(x, d) + self.nu * stats.chi.mean(d) * stats.chi.sf(x, d + 1)
            if lost >= self.eps:
                return math.inf
            rate = slope * math.exp(start**2 / 2) * (self.eps - lost) - slope**2 * self._rest(
                start, to, h, k, slope, cells
            )
            volume = min((to + h) ** d - max(start - h, 0.0) ** d, (reach + h) ** d) / h**d
            total += volume * (1 + 1 / k) ** self.outputs * math.exp(min(-rate * length, 600.0))
            start = to
        return float(total)

    def _rest(self, start: float, to: float, h: float, k: float, slope: float, cells: tuple[int, int, int]) -> float:
        """E f^2 psi(f) / lambda^2, over cells of the score and of what is perpendicular to it."""
        above, below, across = cells
        least, most, s = max(start - h, 0.0), to + h, h**2 / (self.d + 2)
        ends = [(np.linspace(0, self.r, above + 1), most), (np.linspace(-self.r, 0, below + 1), least)]
        p = np.linspace(0, self.r, across + 1) if self.d > 1 else np.zeros(2)
        chance = np.diff(stats.chi.cdf(p, self.d - 1)) if self.d > 1 else np.ones(1)
        size2 = self.nu**2 * (1 + k**2 * self.outputs / (self.outputs + 2))
        total = 0.0
        for edges, beta in ends:
            low, high = edges[:-1, None], edges[1:, None]
            mass = stats.norm.cdf(high, 2 * beta) - stats.norm.cdf(low, 2 * beta)
            gap = np.maximum.reduce([abs(edge - b) for edge in (low, high) for b in (least, most)])
            far = self.nu * (1 + k) * (np.sqrt(gap**2 + p[1:] ** 2) + s * self.r) - self.eps
            f = slope * np.exp(np.minimum(beta * high, 300.0)) * np.maximum(far, 0.0)
            psi = np.where(f < 1e-3, 0.5 + f / 5, (np.expm1(np.minimum(f, 300.0)) - f) / np.maximum(f, 1e-3) ** 2)
            c = gap + s * np.maximum(abs(low), abs(high))
            share = p[1:] ** 2 / max(self.d - 1, 1) * (1 + s) ** 2
            inner = size2 * np.maximum(c**2, share) + 2 * self.eps * math.sqrt(size2) * c + self.eps**2
            inside = np.minimum(abs(low), abs(high)) ** 2 + p[:-1] ** 2 <= self.r**2
            total += float(math.exp(min(2 * beta**2, 300.0)) * (mass * chance * inside * psi * inner).sum())
        return total


def _simulated(
    gamma: Array, tilts: Array, V: Array, centre: Array, radius: float, length: int, eps: float, norm: str
) -> Interval:
    """At some queries of the ball: how often one of them is off is at most how often any is."""
    draw, d = np.random.default_rng(0), len(gamma)
    count = min(400, _NUMBERS // (length * d))
    if count < 50:
        return 0.0, 1.0
    variances, basis = np.linalg.eigh(gamma)
    root = basis * np.sqrt(np.maximum(variances, 0.0))
    axes = np.eye(len(centre))
    queries = np.vstack([centre, centre + radius * axes, centre - radius * axes])
    a, off = queries @ tilts.T, 0
    for _ in range(count):
        x = draw.standard_normal((length, d)) @ root.T
        weights = np.exp(x @ a.T - (x @ a.T).max(0))
        errors = ((weights / weights.sum(0)).T @ x - a @ gamma) @ V.T
        sizes = np.linalg.norm(errors, axis=1) if norm == "l2" else abs(errors).max(axis=1)
        off += bool((sizes > eps).any())
    found = off / count
    return max(found - 6 * math.sqrt(found * (1 - found) / count) - 20 / count, 0.0), 1.0
