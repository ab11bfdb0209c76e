"""What is typical of random queries, and how improbable anything else is: what a witness names.

d queries x_i, independent N(0, I_p), are the rows of X.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flint import arb, fmpq

from certattn.kernel.decide.obligation import Obligation, Part
from certattn.kernel.document.schema import Field, Rational, Values
from certattn.kernel.theorems.spectrum import score_matrix as matrix

COHERENCE = Field("coherence", Rational(), "coherence > 0: queries with |x_i.x_j| <= coherence p are typical")
EXCESS = Field("excess", Rational(), "excess > 0: |X| <= sqrt(d) + sqrt(p) + excess is typical")

FIELDS = (matrix.CUT, COHERENCE, EXCESS)
CONDITIONS = (*matrix.TYPICAL, COHERENCE.name, EXCESS.name)


def long_query(p: fmpq, cut: fmpq) -> arb:
    """P(|x|^2 > cut p) <= (cut e^(1 - cut))^(p/2), for cut > 1 (Chernoff)."""
    return ((arb(cut).log() + 1 - arb(cut)) * arb(p) / 2).exp()


@dataclass(frozen=True)
class TypicalQueries:
    """Queries with |x_i|^2 <= cut p and sum_(j != i) (x_i.x_j)^2 <= cut^2 (d - 1) p for all i,

    |x_i.x_j| <= coherence p for all i != j, and |X| <= sqrt(d) + sqrt(p) + excess; for cut > 1, coherence > 0 and
    excess > 0.
    """

    cut: fmpq
    coherence: fmpq
    excess: fmpq

    def improbable(self, d: int, p: fmpq) -> arb:
        """The probability of others is at most this.

        Given x_i the sum over |x_i|^2 is a chi-square number of d - 1 degrees of freedom, and x_i.x_j is normal.
        """
        lengths = (long_query(p, self.cut) + long_query(fmpq(d - 1), self.cut)) * d
        products = (arb(-(self.coherence**2) * p / (2 * self.cut))).exp() * d * d
        return lengths + products + (arb(-(self.excess**2)) / 2).exp()

    def norm(self, d: int, p: fmpq) -> arb:
        """A bound of |XX'/p| (Davidson and Szarek)."""
        return (arb(d).sqrt() + arb(p).sqrt() + arb(self.excess)) ** 2 / arb(p)


def typical_queries(witness: Values) -> TypicalQueries:
    """What a witness says."""
    return TypicalQueries(*(witness[field] for field in FIELDS))


def conditions(witness: Values) -> Iterator[Obligation]:
    """That theta, cut, coherence and excess are what the bounds are proved for."""
    yield from matrix.typical(witness)
    for field in (COHERENCE, EXCESS):
        yield Obligation(field.name, witness[field], ">", fmpq(0), Part.WITNESS)
