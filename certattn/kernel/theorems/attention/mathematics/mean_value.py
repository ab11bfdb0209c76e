"""How far T(q) is from an affine map over a whole cell of queries, as balls at the working precision.

A cell is the set of all q = c + sum_k x_k g_k with x in a unit set X. With the softmax weights w of
the query c, E the average under w, y = v - E v, a_k = s <k - E k, g_k> and u = <a, x> (so E y = E a = 0)

    T(q) - T_inf(q) = d + B x + (1 - theta) E[y phi(u)] - theta W x,      phi(u) = e^u - 1 - u,

where d = T(c) - T_inf(c), W = E[y a'], B = W less the slope of T_inf, and 1 - theta = 1 / E e^u with
E e^u = 1 + E phi(u) >= 1. Let t >= |u| over the cell and gamma(t) = (e^t - 1 - t) / t^2. Then

    0 <= phi(u) <= gamma(t) u^2      and      |phi(u) - u^2/2| <= (gamma(t) - 1/2) u^2,

which bounds theta by eta / (1 + eta), eta = sup x'E[gamma(t) a a'] x, and the entries of E[y phi(u)] by
rho_j = (sup |x'E[y_j a a'] x| + sup x'E[|y_j| (2 gamma(t) - 1) a a'] x) / 2. The norm of the sum is convex
in theta, so it is largest at one of its two ends. Proof: docs/claims/attention/output-deviation.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from flint import arb, arb_mat

from certattn.kernel.mathematics.balls import NORMS, scale_ball, table_of_balls
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.functions import BALLS, exp_tail
from certattn.kernel.mathematics.operator import AffineMap
from certattn.kernel.mathematics.softmax import Prompt
from certattn.kernel.theorems.attention.mathematics.regions import Cell

# Products of coordinates held in memory at once: about 100 bytes each.
_PRODUCTS_AT_ONCE = 2**18


@dataclass(frozen=True)
class CellBound:
    """`centre` encloses |T(c) - T_inf(c)|, `upper` a bound of |T(q) - T_inf(q)| for every q of the cell."""

    centre: arb
    upper: arb


@dataclass(frozen=True)
class Expansion:
    """T - T_inf around the centre c of a cell: d as `offset`, W as `slope`, that of T_inf as `limit_slope`.

    `weights` are the w; `tilts` has a row a for each token, `weighed` a row of the w y_j for each output.
    """

    weights: list[arb]
    tilts: list[list[arb]]
    weighed: list[list[arb]]
    offset: list[arb]
    slope: arb_mat
    limit_slope: arb_mat

    def moments(self, factors: Sequence[Sequence[arb]]) -> list[arb_mat]:
        """sum f a a' over the tokens, for each row of factors f, one number for each token."""
        size, count = len(self.tilts[0]), len(self.tilts)
        pairs = [(k, m) for k in range(size) for m in range(k, size)]
        found = arb_mat(len(factors), len(pairs))
        step = max(1, _PRODUCTS_AT_ONCE // len(pairs))
        for start in range(0, count, step):
            tilts = self.tilts[start : start + step]
            products = [row[k] * row[m] for row in tilts for k, m in pairs]
            some = [entry for factor in factors for entry in factor[start : start + step]]
            found = found + arb_mat(len(factors), len(tilts), some) * arb_mat(len(tilts), len(pairs), products)
        places = {pair: place for place, pair in enumerate(pairs)}
        order = [places[min(k, m), max(k, m)] for k in range(size) for m in range(size)]
        return [arb_mat(size, size, [row[place] for place in order]) for row in found.tolist()]


@dataclass(frozen=True)
class Deviation:
    """T - T_inf for a prompt whose keys are multiplied with the stated queries, and an affine T_inf."""

    prompt: Prompt
    limit: AffineMap

    @cached_property
    def _keys(self) -> ExactMatrix:
        return self.prompt.keys.centred(self.prompt.keys.take_rows([0]))

    @cached_property
    def _mean(self) -> ExactMatrix:
        return self.prompt.values.mean_row()

    @cached_property
    def _values(self) -> ExactMatrix:
        return self.prompt.values.centred(self._mean)

    def over(self, cell: Cell, norm: str) -> CellBound:
        """The deviation at the centre of a cell, and a bound of it over the cell."""
        unit, local = cell.unit, self.expand(cell)
        tails = [exp_tail(unit.reach(tilt), BALLS) for tilt in local.tilts]
        factors = [[w * tail for w, tail in zip(local.weights, tails, strict=True)]]
        for row in local.weighed:
            factors += [row, [abs(x) * (2 * tail - 1) for x, tail in zip(row, tails, strict=True)]]
        growth, *curves = local.moments(factors)
        rho = unit.forms(list(zip(curves[::2], curves[1::2], strict=True)), norm) / 2
        eta = unit.form(growth)
        theta = eta / (eta + 1)
        slopes = local.slope - local.limit_slope
        first = unit.affine(local.offset, slopes, norm) + rho
        last = unit.affine(local.offset, slopes - local.slope * theta, norm) + (1 - theta) * rho
        return CellBound(NORMS[norm](local.offset), first.max(last))

    def expand(self, cell: Cell) -> Expansion:
        """The prompt as the centre of a cell sees it."""
        scale = scale_ball(self.prompt.scale)
        weights = _softmax(_balls(self._keys @ cell.centre.T, scale).entries())
        tilts = _balls(self._keys @ cell.directions.T, scale)
        values = _balls(self._values, arb(1))
        average = arb_mat(1, len(weights), weights)
        mean_tilt, output = (average * tilts).entries(), (average * values).entries()
        around = [[x - mean for x, mean in zip(row, mean_tilt, strict=True)] for row in tilts.tolist()]
        weighed = [
            [w * (v - mean) for w, v in zip(weights, column, strict=True)]
            for column, mean in zip(values.transpose().tolist(), output, strict=True)
        ]
        (infinite,) = self.limit.from_point(self._mean, cell.centre)
        limit_slope = table_of_balls(self.limit.matrix @ cell.directions.T, scale_ball(self.limit.scale))
        return Expansion(
            weights,
            around,
            weighed,
            [x - y for x, y in zip(output, infinite, strict=True)],
            arb_mat(weighed) * arb_mat(around),
            arb_mat(limit_slope),
        )


def _balls(matrix: ExactMatrix, factor: arb) -> arb_mat:
    """factor * matrix."""
    return arb_mat(matrix.numerators) * (factor / matrix.denominator)


def _softmax(scores: Sequence[arb]) -> list[arb]:
    powers = [score.exp() for score in scores]
    total = sum(powers, arb(0))
    return [power / total for power in powers]
