"""Averages over the queries of a class: centred and sigma_nu-sub-Gaussian in R^k, of stated U or of a stated norm.

Of the tilt a = scale U z of a query only s = sigma |a| matters. What an error leaves to the average over queries
(`class_errors`) are means of powers of s^2 under weights e^{rate s^2 + size |z|^2}.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from flint import arb, fmpq

from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.prompts.mathematics.over_queries import determinant, has_positive_eigenvalues

# A product of rational powers: bases > 0, and how often each occurs. Dimensions can be too large to multiply it out.
Product = Sequence[tuple[fmpq, int]]


class Queries(Protocol):
    """The centred sigma_nu-sub-Gaussian queries, and how they are scored."""

    def factors(self, rate: fmpq, size: fmpq) -> Product | None:
        """det(I - 2 sigma_nu^2 (rate sigma^2 scale^2 U'U + size I)), or less; None where an eigenvalue is not seen > 0.

        Its power -1/2 bounds E e^{rate s^2 + size |z|^2}: E_z E_g e^{<Bg, z>} is at most E_g e^{sigma_nu^2 |Bg|^2 / 2},
        g standard normal and BB' = 2 (rate sigma^2 scale^2 U'U + size I).
        """


@dataclass(frozen=True)
class QueriesOfMatrix:
    """`scores` = sigma^2 scale^2 U'U, exactly."""

    scores: ExactMatrix
    variance: fmpq

    def factors(self, rate: fmpq, size: fmpq) -> Product | None:
        left = ExactMatrix.identity(self.scores.rows).scaled(1 - 2 * self.variance * size)
        left -= self.scores.scaled(2 * self.variance * rate)
        return [(determinant(left), 1)] if has_positive_eigenvalues(left) is True else None


@dataclass(frozen=True)
class QueriesOfNorm:
    """`square` >= sigma^2 scale^2 |U|^2; U'U has at most `rank` eigenvalues that are not 0."""

    square: fmpq
    variance: fmpq
    dimension: int
    rank: int

    def factors(self, rate: fmpq, size: fmpq) -> Product | None:
        others = 1 - 2 * self.variance * size
        scored = others - 2 * self.variance * rate * self.square
        if (scored > 0) is not True:
            return None
        return [(scored, self.rank), (others, self.dimension - self.rank)]


@dataclass(frozen=True)
class Weighted:
    """Means over queries under the weight e^{rate s^2 + size |z|^2}; `gap` takes up powers of s^2."""

    plain: Product
    raised: Product
    gap: fmpq

    @classmethod
    def of(cls, queries: Queries, rate: fmpq, gap: fmpq, size: fmpq) -> Weighted | None:
        """None where the mean of the raised weight e^{(rate + gap) s^2 + size |z|^2} may be infinite."""
        raised, plain = queries.factors(rate + gap, size), queries.factors(rate, size)
        return None if raised is None or plain is None else cls(plain, raised, gap)

    def mean(self, polynomial: Sequence[arb]) -> arb:
        """At least the mean of sum_j c_j s^{2j}, c_j >= 0: s^{2j} <= (j / (e gap))^j e^{gap s^2}."""
        found = polynomial[0] * _inverse_root(self.plain)
        raised = _inverse_root(self.raised)
        for j, coefficient in enumerate(polynomial[1:], start=1):
            found += coefficient * (arb(j) / (self.gap * arb(1).exp())) ** j * raised
        return found


def _inverse_root(product: Product) -> arb:
    """product^{-1/2}."""
    return (-sum((arb(base).log() * count for base, count in product), arb(0)) / 2).exp()
