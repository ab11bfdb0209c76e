"""The part of `risk-gap` about a ball of parameters: how long prompts are long enough.

For every length from L on and all A, b with |A|_F^2 <= rho_A^2, b^2 <= rho_b^2, R_L - R is at most an excess, and
R - R_L at most a shortfall. Proved by a majorant of q: `mathematics.softmax_power_majorants`, `mathematics.risk_gap`.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from flint import arb, arb_mat, fmpq

from certattn.kernel.decide.verdict import Obligation, Part, at_least, at_most, unproved
from certattn.kernel.mathematics.balls import scale_ball
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.functions import BALLS
from certattn.kernel.mathematics.reals import Real, Surd, describe
from certattn.kernel.mathematics.spectrum import largest_eigenvalue
from certattn.kernel.theorems.training.mathematics.definiteness import is_positive_definite
from certattn.kernel.theorems.training.mathematics.risk_gap import Ball
from certattn.kernel.theorems.training.mathematics.softmax_power_majorants import Majorant, Power, Tabulated

# Nodes of a table are known better than their values are ever stated.
_MOST_NODE_BITS = 128


@dataclass(frozen=True)
class GapOverBall:
    """Bounds over a ball, None where there is none; `covariance_words` say what Sigma is."""

    covariance: ExactMatrix
    covariance_words: str
    A_squared: Real
    b_squared: Real
    length: int
    bounds: dict[str, fmpq]
    majorant: Majorant

    def words(self) -> str:
        stated = {
            "excess": "the risk R_L of a prompt is at most {} above the risk R of the infinite prompt",
            "shortfall": "R_L is at most {} below R",
        }
        parts = [stated[name].format(describe(bound)) for name, bound in self.bounds.items()]
        return (
            f"For in-context linear regression with covariance {self.covariance_words} of tokens and query, "
            f"prompts of L tokens for every L >= {self.length}, and all parameters with "
            f"|A|_F^2 <= {describe(self.A_squared)} and b^2 <= {describe(self.b_squared)}: {' and '.join(parts)}."
        )

    def latex(self) -> str:
        sides = {"excess": "R_L - R_\\infty", "shortfall": "R_\\infty - R_L"}
        lines = [rf"{sides[name]} \le \text{{{describe(bound)}}}" for name, bound in self.bounds.items()]
        region = rf"\|A\|_F^2 \le \text{{{describe(self.A_squared)}}},\ b^2 \le \text{{{describe(self.b_squared)}}}"
        return r",\qquad ".join(lines) + rf" \qquad ({region},\ L \ge {self.length})"

    def names(self) -> list[str]:
        tables = ["majorant.convex", "majorant.end", "majorant.above"] if isinstance(self.majorant, Tabulated) else []
        return [*tables, *self.bounds]

    def prove(self, names: Collection[str], bits: int) -> list[Obligation]:
        found = self._table_obligations(self.majorant, names, bits) if isinstance(self.majorant, Tabulated) else []
        if any(name in names for name in self.bounds):
            found += self._bound_obligations(bits)
        return [obligation for obligation in found if obligation.name in names]

    def _table_obligations(self, table: Tabulated, names: Collection[str], bits: int) -> list[Obligation]:
        part, zero = Part.WITNESS, fmpq(0)
        convex = "the first slope of the table and every growth of its slopes are >= 0"
        found = [
            at_least("majorant.convex", convex, table.least_bend(), zero, part=part),
            at_least(
                "majorant.end",
                "the last value of the table is >= 1, as E sum p_i^2 may be",
                table.values[-1],
                fmpq(1),
                part=part,
            ),
        ]
        if "majorant.above" in names:
            excess = table.least_excess(self.length, min(bits // 2, _MOST_NODE_BITS))
            above = f"the table less E sum p_i^2 at length {self.length} is >= 0, between the nodes too"
            found.append(at_least("majorant.above", above, excess, zero, bits, part=part))
        return found

    def _bound_obligations(self, bits: int) -> list[Obligation]:
        if isinstance(self.majorant, Power) and self._has_average(self.majorant) is not True:
            theta = describe(self.majorant.theta)
            condition = "2 theta lambda^2 A_squared >= 1, lambda the largest eigenvalue of the covariance"
            reason = f"averages of e^(theta v) are infinite for theta = {theta}: {condition}. Take a smaller theta"
            return [unproved(name, _sentence(name), reason) for name in self.bounds]
        ball = self.ball(bits)
        plain, weighted = (self.majorant.average(k, ball.scale(), bits) for k in (0, 1))
        found = []
        for name, bound in self.bounds.items():
            value = ball.excess(plain, weighted) if name == "excess" else ball.shortfall(plain, weighted, BALLS)
            found.append(at_most(name, _sentence(name), value, bound, bits, part=Part.WITNESS))
        return found

    def _has_average(self, majorant: Power) -> bool:
        """Whether 2 theta lam^2 rho_A^2 < 1, exactly: s I - Sigma^2 is positive definite for s = 1/(2 theta rho_A^2).

        Where rho_A^2 is a root, s^2 is rational, and so is s^2 I - Sigma^4.
        """
        power, square, factor = self.covariance @ self.covariance, self.A_squared, 2 * majorant.theta
        if isinstance(square, Surd):
            power, square, factor = power @ power, square.radicand, factor * factor
        return is_positive_definite(ExactMatrix.identity(power.rows).scaled(1 / (factor * square)) - power)

    def ball(self, bits: int) -> Ball:
        """Its numbers as balls at the working precision `bits`."""
        Sigma = arb_mat(self.covariance.numerators) * (1 / arb(self.covariance.denominator))
        largest = largest_eigenvalue(Sigma, bits)
        return Ball(scale_ball(self.A_squared), scale_ball(self.b_squared), arb(self.covariance.trace()), largest)


def _sentence(name: str) -> str:
    difference = "R_L - R" if name == "excess" else "R - R_L"
    return f"an upper bound of {difference} over the ball is <= the stated {name}"
