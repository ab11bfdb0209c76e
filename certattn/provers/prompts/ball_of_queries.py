"""Tails of the norm over every query of a ball, as a search sees them: shells of tilts, chosen in floats."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from flint import arb, fmpq

from certattn.extras import require_extras
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import UsageError
from certattn.kernel.mathematics.balls import scale_ball, working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import format_rational
from certattn.kernel.mathematics.spreads import Spread, spread_of
from certattn.kernel.theorems.prompts.ball_of_queries import (
    HEIGHTS,
    LAMBDA,
    OUTPUTS,
    SHELLS,
    TILT_NORM,
    TILTS,
    TO,
    VALUE_NORM,
    WITHIN,
    BallOfQueries,
    is_constant,
    is_norm,
)
from certattn.kernel.theorems.prompts.small_balls import HIGHEST, ORDERS, TERMS
from certattn.kernel.theorems.prompts.tilted_covariances import at_centre
from certattn.provers.prompts.normal_tails import Array
from certattn.provers.prompts.tail_rules import Candidate, Rule, few_digits
from certattn.provers.rounding import as_float, doubles, last_place, round_nearest, round_up

# Shells for a unit of |alpha|^2, and at most.
_SHELLS, _MOST_SHELLS = 6, 24
_RARE, _FASTER, _ROUNDS, _NEGLIGIBLE = math.log(2.5e-3), 1.6, 5, 3.0
# Logarithms of h, k and l, and of the largest f, where the search begins.
_TILTS, _OUTPUTS, _HEIGHTS, _STEEPNESS = -3.3, -1.5, -2.0, (-1.0, 0.5, 1.7, 2.7)
_FARTHEST = 300.0
_LEAST, _MOST = (-12.0, -12.0, -12.0, -_FARTHEST), (1.0, 1.0, 1.0, 5.0)
_OPTIONS = {"maxiter": 250, "xatol": 1e-2, "fatol": 1e-3}
_NAMES = (TILTS.name, OUTPUTS.name, HEIGHTS.name, LAMBDA.name)
_DIGITS, _SLACK, _BITS = 7, fmpq(1, 10**9), 64
_WORST = 1e9
# p = 2, 3, ... and p!; p + j and (p + j)!.
_P = np.arange(2, ORDERS + 1)
_FACTORIALS = np.array([math.factorial(p) for p in range(ORDERS + TERMS)], dtype=float)
# p!, (p + 1)!, ... in the row of p.
_LATER = np.array([_FACTORIALS[p : p + TERMS] for p in _P])


def _scipy() -> tuple[Any, Any]:
    """Minimisation and special functions, which this search alone needs. Raises UsageError where they are missing."""
    require_extras("certificates for every query of a ball", "search")
    from scipy import optimize, special

    return optimize, special


@dataclass(frozen=True)
class OverBall:
    """The bound for every query of a ball: a family of one. `reach` is how far tokens do, none for Gaussian ones."""

    dimension: int
    queries: int
    outputs: int
    norm: fmpq
    tilt_norm: fmpq
    centre: float
    around: float
    spread: Spread
    reach: float | None
    onwards_too: bool
    constant: bool = False
    # Of bounded tokens: see the kernel. For outputs of norm 1.
    least_at_centre: float = -math.inf
    at_centre: tuple[float, float, float, float] | None = None

    @property
    def deviation(self) -> float:
        return as_float(self.norm) * math.exp(min((self.centre + self.around) ** 2, _FARTHEST) / 2)

    @cached_property
    def ends(self) -> list[float]:
        """|alpha| where the shells begin and end: squares in equal steps."""
        low, high = max(self.centre - self.around, 0.0), self.centre + self.around
        count = min(max(math.ceil(_SHELLS * (high**2 - low**2)), 1), _MOST_SHELLS)
        return [math.sqrt(low**2 + (high**2 - low**2) * i / count) for i in range(count + 1)]

    @cached_property
    def least(self) -> list[float]:
        """log E e^<alpha,y> at the least, where shells begin."""
        with working_precision(_BITS):
            return [max(float(self.spread.least_log_mgf(arb(end))), self.least_at_centre) for end in self.ends]

    def best(self, eps: float, length: float) -> Candidate:
        """For Gaussian tokens with the number r chosen so that both sources of the bound are of one size."""
        if self.constant:
            shell: dict[str, Plain] = {TO.name: _up(max(self.ends[-1], 1.0)), **dict.fromkeys(_NAMES, "1")}
            return Candidate(-math.inf, self._rule([shell], 1.0))
        if self.reach is not None:
            found = self._at(eps, length, self.reach)
            return replace(found, log_bound=min(found.log_bound, 0.0))
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

    def onwards(self, eps: float, length: int, log_most: float) -> Rule:
        """The bound falls with the length as it is."""
        return self.best(eps, length).rule

    def _at(self, eps: float, length: float, within: float) -> Candidate:
        """The bound by the shells, from the outmost on, which matters most; the others are tuned where they matter."""
        total, norm = -math.inf, as_float(self.norm)
        # The search is in units of the norm of outputs: what tokens are measured in does not matter.
        eps, units = eps / norm, np.array([1, 1, norm, 1 / norm])
        stated: list[Plain] = []
        # Where tokens count most, f is about lambda e^(|alpha| r) r: a few, or less.
        steepest = -min(self.ends[-1] * within, _FARTHEST) - math.log(within)
        guesses = [np.array([_TILTS, _OUTPUTS, _HEIGHTS, steepest + more]) for more in _STEEPNESS]
        for (start, to), least in reversed(list(zip(pairwise(self.ends), self.least[:-1], strict=True))):

            def bound(at: Array, ends: tuple[float, float] = (start, to), least: float = least) -> float:
                return self._shell(eps, length, within, ends, least, np.exp(np.clip(at, _LEAST, _MOST)))

            at = min(guesses, key=bound)
            if bound(at) > total - _NEGLIGIBLE:
                at = _scipy()[0].minimize(bound, at, method="Nelder-Mead", options=_OPTIONS).x
            total = float(np.logaddexp(total, bound(at)))
            values = np.exp(np.clip(at, _LEAST, _MOST))
            stated.append({TO.name: _up(to), **dict(zip(_NAMES, map(few_digits, values * units), strict=True))})
            if total >= 0:
                # Nothing is proved at that length, whatever the inner shells are.
                break
            guesses = [at, at + np.array([0, 0, 0, 0.5]), at + np.array([0, 0, 0, 1.0])]
        return Candidate(total, self._rule(stated[::-1], within))

    def _rule(self, shells: list[Plain], within: float) -> Rule:
        rule: dict[str, Plain] = {WITHIN.name: few_digits(within, 4)} if self.reach is None else {}
        rule |= {TILT_NORM.name: format_rational(self.tilt_norm), VALUE_NORM.name: format_rational(self.norm)}
        return rule | {SHELLS.name: shells}

    def _shell(
        self, eps: float, length: float, within: float, ends: tuple[float, float], least: float, at: Array
    ) -> float:
        """log of volumes e^(-gamma L), as the kernel has it, for outputs of norm 1."""
        (start, size), (h, k, height, slope), d, d_v = ends, at, self.queries, self.outputs
        wider, bounded = size + h, self.reach is not None
        drift, highest = eps, slope * math.exp(min(wider * within, _FARTHEST))
        if bounded:
            highest *= max((1 + k) * (within + min(size, within)) + height - eps, 0.0)
        else:
            room, gap, more = within - size, within - wider, (1 + k) * h + height - eps
            if gap <= 0 or (1 + k) * (gap - 1 / gap) + more <= 0:
                return _WORST
            drift = eps * (1 - _chi_tail(self.dimension, room))
            drift -= _chi_mean(self.dimension) * _chi_tail(self.dimension + 1, room)
            highest *= (1 + k) * gap + more
            far = gap + more / (1 + k)
            if self.onwards_too and (far <= 0 or within / 2 <= wider + 1 / far or within**2 < 2 * (self.dimension - 2)):
                return _WORST
        if drift <= 0 or highest >= HIGHEST:
            return _WORST
        about = (_P - 1) * size - eps
        both = np.abs(about) + np.sqrt(about**2 + 4 * _P)
        x = np.where(about > 0, both / 2, 2 * _P / both)
        first, second = _P * (_P - 1) * size / x, (_P / x) ** 2 / 2
        factors = (h * _P**2 * (size + (1 + k) / x)) ** 2 / (2 * (d + 2)) + (_P * h) ** 2 / 2
        factors += first * (1 + k**2 / 2) + second * (1 + k**2) + (k * (first + 2 * second)) ** 2 / (2 * (d_v + 2))
        factors += (_P * height / x) ** 2 / 6 - _P * (1 + eps / x) + _P * np.log(slope * x)
        far = size + 2 * h
        mean_square = 1 + far**2 + 2 * eps * far + eps**2 + height**2 / 3
        mean_square += k**2 / (d_v + 2) * (min(self.dimension, d_v) + far**2)
        factors[0] = math.log(slope**2 * mean_square) + 2 * h**2 + 8 * (h * size) ** 2 / (d + 2)
        # The other bounds of E f^2: the logarithm, and which multiple of that of E e^<alpha,y> is in it.
        others: list[tuple[float, int]] = []
        if bounded:
            across, wide = k**2 / (d_v + 2), height**2 / 3
            common = 2 * math.log(slope) + 2 * (h * within) ** 2 / (d + 2)
            moment = 1 + across * min(self.dimension, d_v) + eps**2 + wide
            others.append((common + size * within + math.log(moment), 1))
            if self.at_centre is not None:
                log_mgf, covariance, trace, off = self.at_centre
                off += self.around
                moment = covariance + across * (trace + off**2) + (off + eps) ** 2 + wide
                others.append((common + log_mgf + 2 * self.around * within + math.log(moment), 0))
        powers = highest ** np.arange(TERMS)
        rest = (powers / _LATER).sum(axis=1)
        rates = []
        for log_mgf in (least, size**2 / 2):
            multiples = _P * log_mgf + (_P - 1) * _P * size**2 / 2
            if bounded:
                by_size = size**2 / 2 + _P * size**2 / 2 > size * within
                multiples = np.where(by_size, log_mgf + (_P - 1) * size * within, multiples)
            moments = np.exp(np.minimum(multiples + factors, _FARTHEST))
            # A row for every bound of the second moment.
            seconds = np.exp(np.minimum([multiples[0] + factors[0], *(c + n * log_mgf for c, n in others)], _FARTHEST))
            moments = np.hstack([seconds[:, None], np.tile(moments[1:], (len(seconds), 1))])
            terms = moments / _LATER[:, 0]
            before = np.cumsum(terms, axis=1) - terms
            rates.append(slope * math.exp(min(log_mgf, _FARTHEST)) * drift - before - rest * moments)
        outer, inner = d * math.log((size + h) / h), d * math.log((self.around + h) / h)
        if start > h:
            outer += math.log1p(-(((start - h) / (size + h)) ** d))
        directions = math.log((1 + k) ** d_v - max(1 - k, 0.0) ** d_v) - d_v * math.log(k)
        volumes = min(outer, inner) + directions + math.log1p((1 + k) * h / height)
        return float(min(volumes - np.max(np.minimum(*rates)) * length, _WORST / 2))


def over_ball(prompt: BallOfQueries) -> OverBall:
    """The search for a prompt with a ball of queries. Raises UsageError."""
    spread = spread_of(prompt.law.law)
    if spread is None:
        raise UsageError("every query of a ball is not for mixtures with Gaussian parts")
    covariance, scale = spread.covariance, float(abs(scale_ball(prompt.scale)))
    tilt_norm = _norm(prompt.weights.bilinear().T, covariance)
    centre = scale * math.sqrt(as_float((prompt.base @ covariance @ prompt.base.T).entry(0, 0)))
    around = scale * as_float(prompt.radius) * as_float(tilt_norm)
    norm = _norm(prompt.values(), covariance)
    tilts = min(prompt.dimension, prompt.weights.query_dimension)
    sizes = (prompt.dimension, tilts, prompt.output_dimension)
    numbers = (*sizes, norm, tilt_norm, centre, around, spread)
    constant = is_constant(prompt.values(), covariance)
    if constant or spread.squared_reach is None:
        return OverBall(*numbers, None if spread.squared_reach is None else 1.0, prompt.onwards, constant)
    with working_precision(_BITS):
        reach = float(spread.squared_reach().sqrt())
        found = at_centre(prompt, arb(centre), arb(around), arb(reach))
    if found is None:
        return OverBall(*numbers, reach, prompt.onwards)
    unit = as_float(norm)
    moments = (float(found.covariance) / unit**2, float(found.trace) / unit**2, float(found.off) / unit)
    return OverBall(*numbers, reach, prompt.onwards, False, float(found.least), (float(found.log_mgf), *moments))


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
