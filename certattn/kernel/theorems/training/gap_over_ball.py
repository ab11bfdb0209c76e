"""The part of `risk-gap` about a ball of parameters: how long prompts are long enough.

For every length from L on and all A, b with |A|_F^2 <= rho_A^2, b^2 <= rho_b^2, R_L - R is at most an excess, and
R - R_L at most a shortfall. Proved by a majorant of q: `mathematics.softmax_power_majorants`, `mathematics.risk_gap`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from flint import arb, arb_mat, ctx, fmpq

from certattn.kernel.decide.obligation import NoBound, Obligation, Part, Shared
from certattn.kernel.mathematics.balls import scale_ball
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.functions import BALLS
from certattn.kernel.mathematics.reals import Real, Surd, describe
from certattn.kernel.mathematics.spectrum import largest_eigenvalue
from certattn.kernel.theorems.training.gap_at_parameters import NODES_INCREASE, nodes_increase
from certattn.kernel.theorems.training.mathematics.regression import is_positive_definite
from certattn.kernel.theorems.training.mathematics.risk_gap import Ball
from certattn.kernel.theorems.training.mathematics.softmax_power_majorants import Majorant, Power, Tabulated

# Nodes of a table are known better than their values are ever stated.
_MOST_NODE_BITS = 128


@dataclass(frozen=True)
class GapOverBall:
    """Bounds over a ball, by what they bound."""

    covariance: ExactMatrix
    A_squared: Real
    b_squared: Real
    length: int
    bounds: dict[str, fmpq]
    majorant: Majorant

    def obligations(self) -> Iterator[Obligation]:
        needs: tuple[str, ...] = ()
        if isinstance(self.majorant, Power):
            needs = ("theta.above", "theta.below")
            yield Obligation("theta.above", self.majorant.theta, ">", fmpq(0), Part.WITNESS)
            yield Obligation("theta.below", self.majorant.theta, "<=", fmpq(1), Part.WITNESS)
        if isinstance(self.majorant, Tabulated):
            needs = NODES_INCREASE
            yield from nodes_increase(self.majorant.nodes)
            yield from self._of_table(self.majorant)
        bounds = Shared(self._bounds)
        for name, stated in self.bounds.items():
            yield Obligation(name, partial(_bound, bounds, name), "<=", stated, Part.WITNESS, needs)

    def _of_table(self, table: Tabulated) -> Iterator[Obligation]:
        """That it is a majorant: convex, at the end as large as E sum p_i^2 may be, and above it before."""
        part, zero = Part.WITNESS, fmpq(0)
        yield Obligation("majorant.convex", table.least_bend, ">=", zero, part, NODES_INCREASE)
        yield Obligation("majorant.end", table.values[-1], ">=", fmpq(1), part)
        yield Obligation("majorant.above", lambda: self._excess_of(table), ">=", zero, part, NODES_INCREASE)

    def _excess_of(self, table: Tabulated) -> arb:
        return table.least_excess(self.length, min(ctx.prec // 2, _MOST_NODE_BITS))

    def _bounds(self) -> dict[str, arb]:
        """Of R_L - R and of R - R_L."""
        if isinstance(self.majorant, Power) and self._has_average(self.majorant) is not True:
            theta = describe(self.majorant.theta)
            condition = "2 theta lambda^2 A_squared >= 1, lambda the largest eigenvalue of the covariance"
            raise NoBound(
                f"averages of e^(theta v) are infinite for theta = {theta}: {condition}. Take a smaller theta"
            )
        ball = self.ball()
        plain, weighted = (self.majorant.average(k, ball.scale(), ctx.prec) for k in (0, 1))
        return {"excess": ball.excess(plain, weighted), "shortfall": ball.shortfall(plain, weighted, BALLS)}

    def _has_average(self, majorant: Power) -> bool:
        """Whether 2 theta lam^2 rho_A^2 < 1, exactly: s I - Sigma^2 is positive definite for s = 1/(2 theta rho_A^2).

        Where rho_A^2 is a root, s^2 is rational, and so is s^2 I - Sigma^4.
        """
        power, square, factor = self.covariance @ self.covariance, self.A_squared, 2 * majorant.theta
        if isinstance(square, Surd):
            power, square, factor = power @ power, square.radicand, factor * factor
        return is_positive_definite(ExactMatrix.identity(power.rows).scaled(1 / (factor * square)) - power)

    def ball(self) -> Ball:
        """Its numbers as balls at the working precision."""
        Sigma = arb_mat(self.covariance.numerators) * (1 / arb(self.covariance.denominator))
        largest = largest_eigenvalue(Sigma, ctx.prec)
        return Ball(scale_ball(self.A_squared), scale_ball(self.b_squared), arb(self.covariance.trace()), largest)


def _bound(bounds: Shared[dict[str, arb]], name: str) -> arb:
    return bounds()[name]
