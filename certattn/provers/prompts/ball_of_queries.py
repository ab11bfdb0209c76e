"""Tails of the norm over every query of a ball, as a search sees them: shells of tilts, chosen in floats."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from flint import fmpq

from certattn.extras import require_extras
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import UsageError
from certattn.kernel.mathematics.balls import scale_ball
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.laws import Gaussian
from certattn.kernel.mathematics.reals import format_rational
from certattn.kernel.theorems.prompts.ball_of_queries import (
    LAMBDA,
    OUTPUTS,
    SHELLS,
    TILT_NORM,
    TILTS,
    TO,
    VALUE_NORM,
    WITHIN,
    BallOfQueries,
    is_norm,
)
from certattn.kernel.theorems.prompts.small_balls import CELLS_ABOVE, CELLS_ACROSS, CELLS_BELOW
from certattn.provers.prompts.normal_tails import Array
from certattn.provers.prompts.tail_rules import Candidate, few_digits
from certattn.provers.rounding import as_float, doubles, last_place, round_nearest, round_up

# Shells for a unit of |alpha|^2, and at most.
_SHELLS, _MOST_SHELLS = 6, 24
_RARE, _FASTER, _ROUNDS, _NEGLIGIBLE = math.log(2.5e-3), 1.6, 5, 3.0
# Logarithms of h and k, and of lambda beside what makes f about 1 where it is largest.
_START = np.zeros(3)
_TILTS, _OUTPUTS, _STEEPNESS = (-4.2, -3.0), (-1.8,), (-1.0, 0.5, 1.5, 2.2, 2.9)
_HIGHEST = 300.0
_LEAST, _MOST = (-12.0, -12.0, -_HIGHEST), (0.0, 1.0, 5.0)
_OPTIONS = {"maxiter": 100, "xatol": 1e-2, "fatol": 1e-3}
_DIGITS, _SLACK = 7, fmpq(1, 10**9)
_WORST = 1e9


def _scipy() -> tuple[Any, Any]:
    """Minimisation and special functions, which this search alone needs. Raises UsageError where they are missing."""
    require_extras("certificates for every query of a ball", "search")
    from scipy import optimize, special

    return optimize, special


@dataclass(frozen=True)
class OverBall:
    """The bound for every query of a ball of Gaussian tokens: a family of one."""

    dimension: int
    outputs: int
    norm: fmpq
    tilt_norm: fmpq
    centre: float
    reach: float

    @property
    def deviation(self) -> float:
        return as_float(self.norm) * math.exp(min((self.centre + self.reach) ** 2, _HIGHEST) / 2)

    @cached_property
    def ends(self) -> list[float]:
        """|alpha| where the shells begin and end: squares in equal steps."""
        low, high = max(self.centre - self.reach, 0.0), self.centre + self.reach
        count = min(max(math.ceil(_SHELLS * (high**2 - low**2)), 1), _MOST_SHELLS)
        return [math.sqrt(low**2 + (high**2 - low**2) * i / count) for i in range(count + 1)]

    def best(self, eps: float, length: float) -> Candidate:
        """With the number r chosen so that both sources of the bound are of one size."""
        rare, best = _RARE, Candidate(math.inf, {})
        for _ in range(_ROUNDS):
            within = _quantile(self.dimension, rare - math.log(length))
            found = self._at(eps, length, within)
            total = float(np.logaddexp(found.log_bound, rare))
            best = min(best, Candidate(total, found.rule), key=lambda candidate: candidate.log_bound)
            aim = min(found.log_bound - 1, _RARE / 4)
            if abs(aim - rare) < 1:
                break
            rare = max((rare + aim) / 2, _FASTER * rare)
        return replace(best, log_bound=min(best.log_bound, 0.0))

    def _at(self, eps: float, length: float, within: float) -> Candidate:
        """The bound by the shells, from the outmost on, which matters most; the others are tuned where they matter."""
        cells, total, at = _Cells(self.dimension, within), -math.inf, _START
        stated: list[Plain] = []
        # Where tokens count most, f is about lambda e^(|alpha| r) r: a few at most.
        steepest = -min(self.ends[-1] * within, _HIGHEST) - math.log(within * as_float(self.norm))
        guesses = [np.array([h, k, steepest + more]) for h in _TILTS for k in _OUTPUTS for more in _STEEPNESS]
        for start, to in reversed(list(pairwise(self.ends))):

            def bound(at: Array, start: float = start, to: float = to) -> float:
                return self._shell(cells, eps, length, (start, to), np.exp(np.clip(at, _LEAST, _MOST)))

            at = min(guesses, key=bound)
            if bound(at) > total - _NEGLIGIBLE:
                found = _scipy()[0].minimize(bound, at, method="Nelder-Mead", options=_OPTIONS)
                at = found.x
            total = float(np.logaddexp(total, bound(at)))
            names = (TILTS.name, OUTPUTS.name, LAMBDA.name)
            parameters = {
                name: few_digits(value) for name, value in zip(names, np.exp(np.clip(at, _LEAST, _MOST)), strict=True)
            }
            stated.append({TO.name: _up(to), **parameters})
            if total >= 0:
                # Nothing is proved at that length, whatever the inner shells are.
                break
            guesses = [at, at + np.array([0, 0, 0.5]), at + np.array([0, 0, 1.0])]
        rule: dict[str, Plain] = {
            WITHIN.name: few_digits(within, 4),
            TILT_NORM.name: format_rational(self.tilt_norm),
            VALUE_NORM.name: format_rational(self.norm),
            SHELLS.name: stated[::-1],
        }
        return Candidate(total, rule)

    def _shell(self, cells: _Cells, eps: float, length: float, ends: tuple[float, float], at: Array) -> float:
        """log of volumes e^(-gamma L), as the kernel has it."""
        (start, to), (h, k, slope), d = ends, at, self.dimension
        norm, room = as_float(self.norm), cells.within - to
        if room <= 0:
            return _WORST
        drift = eps * (1 - _chi_tail(d, room)) - norm * _chi_mean(d) * _chi_tail(d + 1, room)
        if drift <= 0:
            return _WORST
        low, high, s = max(start - h, 0.0), to + h, h**2 / (d + 2)
        size = np.where(cells.left >= 0, high, low)
        mass = np.exp(np.minimum(2 * size**2, _HIGHEST)) * (
            _scipy()[1].ndtr(cells.right - 2 * size) - _scipy()[1].ndtr(cells.left - 2 * size)
        )
        gaps = [abs(end - at) for end in (cells.left, cells.right) for at in (low, high)]
        farthest = np.max(gaps, axis=0)
        square = norm**2 * (1 + k**2 * self.outputs / (self.outputs + 2))
        along = farthest + s * np.maximum(abs(cells.left), abs(cells.right))
        rest = 2 * eps * math.sqrt(square) * along + eps**2
        weight = slope * np.exp(np.minimum(size * cells.right, _HIGHEST))

        def height(across: Array) -> Array:
            far = np.sqrt(farthest[:, None] ** 2 + across**2) + s * cells.within
            return np.asarray(weight[:, None] * np.maximum(norm * (1 + k) * far - eps, 0))

        def squared(across: Array) -> Array:
            return np.asarray(square * np.maximum(along[:, None] ** 2, (1 + s) ** 2 * across) + rest[:, None])

        if d == 1:
            given = _psi(height(np.zeros(1)))[:, 0] * squared(np.zeros(1))[:, 0]
        else:
            most = height(np.array([cells.within]))
            fine = (_psi(height(cells.far)) * squared(cells.far**2 / (d - 1)) * cells.chances * cells.inside).sum(1)
            coarse = (_psi(most) * squared(np.ones(1)))[:, 0]
            given = np.where(most[:, 0] < 0.25, coarse, fine)
        rate = slope * math.exp(min(start**2 / 2, _HIGHEST)) * drift - slope**2 * float(
            np.sum(mass * np.minimum(given, 1e100))
        )
        outer, inner = d * math.log((to + h) / h), d * math.log((self.reach + h) / h)
        if start > h:
            outer += math.log1p(-(((start - h) / (to + h)) ** d))
        volumes = min(outer, inner) + self.outputs * math.log((1 + k) / k)
        return float(min(volumes - rate * length, _WORST / 2))


class _Cells:
    """The cells of the kernel's sum."""

    def __init__(self, dimension: int, within: float) -> None:
        above = np.linspace(0, within, CELLS_ABOVE + 1)
        below = np.linspace(-within, 0, CELLS_BELOW + 1)
        self.within = within
        self.left, self.right = np.r_[below[:-1], above[:-1]], np.r_[below[1:], above[1:]]
        if dimension > 1:
            ends = np.linspace(0, within, CELLS_ACROSS + 1)
            self.far = ends[1:]
            self.chances = -np.diff(_scipy()[1].gammaincc((dimension - 1) / 2, ends**2 / 2))
            least = np.minimum(abs(self.left), abs(self.right))
            self.inside = ends[:-1] ** 2 <= within**2 - least[:, None] ** 2


def over_ball(prompt: BallOfQueries) -> OverBall:
    """The search for a prompt with a ball of queries. Raises UsageError."""
    law = prompt.law.law
    if not isinstance(law, Gaussian):
        raise UsageError(f"every query of a ball is for Gaussian tokens so far, not for kind: {prompt.law.kind}")
    covariance, scale = ExactMatrix.rational(law.covariance), float(abs(scale_ball(prompt.scale)))
    tilt_norm = _norm(prompt.weights.bilinear().T, covariance)
    centre = scale * math.sqrt(as_float((prompt.base @ covariance @ prompt.base.T).entry(0, 0)))
    reach = scale * as_float(prompt.radius) * as_float(tilt_norm)
    norm = _norm(prompt.values(), covariance)
    return OverBall(prompt.dimension, prompt.output_dimension, norm, tilt_norm, centre, reach)


def _norm(matrix: ExactMatrix, covariance: ExactMatrix) -> fmpq:
    """A little above the root of the largest eigenvalue of M Gamma M', or that itself where it has few digits."""
    square = matrix @ covariance @ matrix.T
    found = math.sqrt(max(np.linalg.eigvalsh(doubles(square))[-1], 1e-30))
    exact = fmpq(*found.as_integer_ratio())
    near = round_nearest(exact, last_place(exact, _DIGITS))
    return near if is_norm(near, matrix, covariance) else round_up(exact * (1 + _SLACK), _DIGITS)


def _up(value: float) -> str:
    return format_rational(round_up(fmpq(*(value * (1 + 1e-9)).as_integer_ratio()), _DIGITS))


def _quantile(d: int, log_chance: float) -> float:
    """r with P(chi_d > r) of about that logarithm."""
    return math.sqrt(2 * float(_scipy()[1].gammainccinv(d / 2, math.exp(max(log_chance, -600.0)))))


def _chi_tail(d: int, x: float) -> float:
    return float(_scipy()[1].gammaincc(d / 2, x**2 / 2))


def _chi_mean(d: int) -> float:
    return math.sqrt(2) * math.exp(math.lgamma((d + 1) / 2) - math.lgamma(d / 2))


def _psi(x: Array) -> Array:
    """As the kernel bounds it."""
    capped = np.minimum(x, _HIGHEST)
    small = 1 / (2 * (1 - np.minimum(x, 1.0) / 3))
    return np.asarray(np.where(x < 0.25, small, (np.expm1(capped) - capped) / np.maximum(capped, 0.1) ** 2))
