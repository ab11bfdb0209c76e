"""That the cut of a truncated law is the one that the number of tokens asks for: tau^2 = d m(tau), up to a radius.

m(t) is the variance of softmax weights that are cut off at t and scaled to the mean 1. Stated is a change of sign of
t^2 - d m(t) around tau, and of the solution that this shows, if wanted, that no solution is larger.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flint import fmpq

from certattn.kernel.decide.obligation import Obligation, Part, Shared
from certattn.kernel.document.schema import Choice, Field, Rational, Record, Values
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.spectrum.limit_law import SpectralLaw
from certattn.kernel.theorems.spectrum.mathematics.equivalent_law import TruncatedWeights
from certattn.kernel.theorems.spectrum.spectral_law import TRUNCATED_AT

SOME, LARGEST = "some", "largest"
RADIUS = Field("radius", Rational(above=0), "r: a solution lies between tau - r and tau + r")
WHICH = Field("which", Choice((SOME, LARGEST)), "whether that solution is the largest one")
FIXED_POINT = Field(
    "fixed_point", Record(RADIUS, WHICH), "that tau^2 = d m(tau) has a solution near truncated_at", required=False
)
_NAME = FIXED_POINT.name
BELOW, ABOVE, GROWTH = f"{_NAME}.below", f"{_NAME}.above", f"{_NAME}.growth"


@dataclass(frozen=True)
class FixedPoint:
    """A solution of t^2 = d m(t) between tau - radius > 0 and tau + radius; the largest one, or some."""

    beta2: fmpq
    tau: fmpq
    tokens: int
    radius: fmpq
    largest: bool

    def obligations(self) -> Iterator[Obligation]:
        first, last = self.tau - self.radius, self.tau + self.radius
        before = Shared(lambda: TruncatedWeights(self.beta2, first))
        growth = Shared(lambda: before().growth(self.tokens))
        yield Obligation(BELOW, first * first, "<=", lambda: self.tokens * before().variance)
        after = lambda: self.tokens * TruncatedWeights(self.beta2, last).variance  # noqa: E731
        yield Obligation(ABOVE, last * last, ">=", after)
        if self.largest:
            # From tau - r on, t^2 - d m(t) then grows.
            yield Obligation(GROWTH, lambda: growth()[0], "<=", lambda: growth()[1], Part.WITNESS)


def read_fixed_point(asserts: Values, law: SpectralLaw, tokens: int) -> FixedPoint | None:
    """None where none is stated. Raises MalformedError."""
    stated = asserts.get(FIXED_POINT)
    if stated is None:
        return None
    if law.tau is None:
        expected = f"{TRUNCATED_AT.name} in given.law, which this is about"
        raise asserts.node(FIXED_POINT).malformed(expected, f"{_NAME} and no given.law.{TRUNCATED_AT.name}")
    if stated[RADIUS] >= law.tau:
        raise stated.node(RADIUS).malformed(f"a radius below {TRUNCATED_AT.name} = {describe(law.tau)}")
    return FixedPoint(law.beta2, law.tau, tokens, stated[RADIUS], stated[WHICH] == LARGEST)
