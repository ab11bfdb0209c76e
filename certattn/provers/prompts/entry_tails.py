"""Entries of a softmax covariance's error, and outputs beside them, as a search sees them.

A tail is that of a sum of L independent copies of Y = w (h - E w h - eps), where h is a product of two outputs of one
token, or one output, and w its weight. The table E w^k h^j of the kernel is computed once and serves every
height, every length and both signs. Everything is in floats; the kernel proves what is stated in the end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from flint import arb, fmpq

from certattn.kernel.mathematics.balls import row_of_balls, working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.laws import Atoms
from certattn.kernel.theorems.prompts.mathematics.series import weighted_moments
from certattn.kernel.theorems.prompts.mathematics.weighted_sums import (
    ProductMoments,
    bound_of_summands,
    bounded_parts,
    product_summand,
)
from certattn.kernel.theorems.prompts.random_prompts import RandomPrompt
from certattn.kernel.theorems.prompts.tail_rules import is_constant
from certattn.provers.prompts.exp_remainders import scaled_exp_remainder
from certattn.provers.prompts.normal_tails import Array
from certattn.provers.prompts.tail_rules import NOTHING, Candidate, Constant, Family, best_rate, few_digits

_BITS = 128
# Orders of moments that are tried.
ORDERS = (4, 6, 8)
# Exponents beyond this are no use.
_HIGHEST = 600.0


@dataclass(frozen=True)
class MomentTable:
    """`moments[k][j]` = E w^k h^j for j <= k <= 8; `largest` bounds w h - w E w h + eps - eps where that is bounded."""

    moments: Sequence[Sequence[float]]
    largest: tuple[float, float] = (math.inf, math.inf)
    atoms: tuple[Array, Array, Array] | None = None

    @cached_property
    def variance(self) -> float:
        """E (w (h - E w h))^2."""
        m = self.moments
        return max(m[2][2] - 2 * m[1][1] * m[2][1] + m[1][1] ** 2 * m[2][0], 0.0)

    def centred(self, eps: float, sign: int) -> Array:
        """E D^j / j! for D = Y + eps, h with the sign."""
        order = len(self.moments) - 1
        powers = np.zeros(order + 1)
        for k, row in enumerate(self.moments):
            shift = -(sign * self.moments[1][1] + eps)
            terms = [
                sign**j * row[j] * shift ** (k - j) / (math.factorial(j) * math.factorial(k - j)) for j in range(k + 1)
            ]
            # Moments beyond the range of floats are of no use.
            powers[k] = math.fsum(terms) if all(map(math.isfinite, terms)) else math.inf
        return np.asarray(np.convolve(powers, [eps**j / math.factorial(j) for j in range(order + 1)])[: order + 1])


@dataclass(frozen=True)
class Signed:
    """The rules for one sign of an entry or output."""

    table: MomentTable
    sign: int

    @property
    def deviation(self) -> float:
        return math.sqrt(self.table.variance)

    @np.errstate(all="ignore")
    def best(self, eps: float, length: float) -> Candidate:
        series = self.table.centred(eps, self.sign)
        ratio = 2 * series[2] / (length * eps * eps)
        found = [Candidate(math.log(ratio / (1 + ratio)), {"rule": "cantelli"}) if 0 < ratio < math.inf else NOTHING]
        for order in ORDERS:
            value = _log_moment(series[: order + 1], eps, length)
            if value < 0:
                found.append(Candidate(value, {"rule": "moment", "order": str(order)}))
        return min([*found, *self._chernoff(series, eps, length)], key=lambda candidate: candidate.log_bound)

    def _chernoff(self, series: Array, eps: float, length: float) -> list[Candidate]:
        start = eps / (2 * series[2])
        if not 0 < start < math.inf:
            return []
        if self.table.atoms is not None:
            rate, value = best_rate(lambda rates: self._summed(rates, eps), start)
            return [Candidate(min(length * value, 0.0), {"rule": "chernoff", "lambda": few_digits(rate)})]
        largest = self.table.largest[0 if self.sign > 0 else 1]
        if not math.isfinite(largest):
            return []
        found = []
        for order in ORDERS:
            cut = series[: order + 1]
            rate, value = best_rate(partial(_exponential, cut, eps, largest + eps), start)
            rule = {"rule": "chernoff", "lambda": few_digits(rate), "order": str(order)}
            found.append(Candidate(min(length * value, 0.0), {**rule}))
        return found

    def _summed(self, rates: Array, eps: float) -> Array:
        """log E e^{lambda Y} of atoms."""
        assert self.table.atoms is not None
        shares, weights, products = self.table.atoms
        y = weights * (self.sign * (products - self.table.moments[1][1]) - eps)
        return np.asarray(np.logaddexp.reduce(np.log(shares) + np.outer(rates, y), axis=1))


def _exponential(series: Array, eps: float, largest: float, rates: Array) -> Array:
    """log of the bound of E e^{lambda Y} by moments."""
    order = len(series) - 1
    heights = rates * largest
    total = 1 + sum(rates**j * series[j] for j in range(2, order))
    total = total + rates**order * series[order] * scaled_exp_remainder(order, np.minimum(heights, _HIGHEST))
    return np.where(heights < _HIGHEST, np.log(np.maximum(total, 1e-300)) - rates * eps, np.inf)


def _log_moment(series: Array, eps: float, length: float) -> float:
    """log E (sum D)^p / (L eps)^p: the series of a power n f_n = sum ((L + 1) k - n) c_k f_{n-k}, in units of L eps."""
    order = len(series) - 1
    if not np.isfinite(series).all():
        return math.inf
    scaled = series / (length * eps) ** np.arange(order + 1)
    powers = [1.0]
    for n in range(1, order + 1):
        powers.append(math.fsum(((length + 1) * k - n) * scaled[k] * powers[n - k] for k in range(1, n + 1)) / n)
    value = powers[order] * math.factorial(order)
    return math.log(value) if 0 < value < math.inf else math.inf


# -- from a prompt


def entry_families(prompt: RandomPrompt, u: ExactMatrix, v: ExactMatrix) -> list[Family]:
    """Both signs of the entry <u, S v> / Z."""
    law = prompt.law.law
    if is_constant(law, u) or is_constant(law, v):
        return [Constant(), Constant()]
    with working_precision(_BITS):
        moments = ProductMoments(law.map(arb), prompt.tilt(), row_of_balls(u.row(0)), row_of_balls(v.row(0)))
        rows = [[float(entry) for entry in moments.powers(k)] for k in range(max(ORDERS) + 1)]
        table, parts = MomentTable(rows), bounded_parts(moments.law)
        if isinstance(law, Atoms):
            table = MomentTable(rows, atoms=_atoms(prompt, u, v))
        elif parts is not None:
            ends = [float(bound_of_summands(product_summand(moments, sign, arb(0)), parts)) for sign in (1, -1)]
            table = MomentTable(rows, (ends[0], ends[1]))
    return [Signed(table, 1), Signed(table, -1)]


def _atoms(prompt: RandomPrompt, u: ExactMatrix, v: ExactMatrix) -> tuple[Array, Array, Array]:
    """Probabilities, weights w and products <u, y> <v, y> of atoms."""
    law = prompt.law.law
    assert isinstance(law, Atoms)
    points = np.array([[_float(x) for x in point] for point in law.points])
    shares = np.array([_float(w) for w in law.weights])
    weights = np.exp(points @ np.array([float(a) for a in prompt.tilt()]))
    weights /= shares @ weights
    y = points - (shares * weights) @ points
    left, right = (y @ np.array([_float(x) for x in d.row(0)]) for d in (u, v))
    return shares, weights, left * right


def output_families(prompt: RandomPrompt, direction: ExactMatrix) -> list[Family]:
    """Both signs of <v, tau_L - tau>, by moments only."""
    law = prompt.law.law
    if is_constant(law, direction):
        return [Constant(), Constant()]
    with working_precision(_BITS):
        exact, tilt = law.map(arb), prompt.tilt()
        centre, v = exact.tilted_mean(tilt), row_of_balls(direction.row(0))
        rows = []
        for k in range(max(ORDERS) + 1):
            series = weighted_moments(exact, tilt, centre, k, v, [arb(0)] * len(v), k)
            rows.append([math.factorial(j) * float(row[0]) for j, row in enumerate(series)])
    table = MomentTable(rows)
    return [Signed(table, 1), Signed(table, -1)]


def _float(value: fmpq) -> float:
    return float(value.p) / float(value.q)
