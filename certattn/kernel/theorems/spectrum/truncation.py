"""That the cut of a truncated law is the one that the number of tokens asks for: tau^2 = d m(tau), up to a radius.

m(t) is the variance of softmax weights that are cut off at t and scaled to the mean 1. Stated is a change of sign of
t^2 - d m(t) around tau, and of the solution that this shows, if wanted, that no solution is larger.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flint import fmpq

from certattn.kernel.decide.verdict import Obligation, Part, at_least, at_most
from certattn.kernel.document.fields import Choice, Field, Rational, Record, Values
from certattn.kernel.mathematics.balls import ARB
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.spectrum.limit_law import SpectralLaw
from certattn.kernel.theorems.spectrum.mathematics.truncated_weights import TruncatedWeights
from certattn.kernel.theorems.spectrum.spectral_law import TRUNCATED_AT

SOME, LARGEST = "some", "largest"
RADIUS = Field("radius", Rational(above=0), "r: a solution lies between tau - r and tau + r")
WHICH = Field("which", Choice((SOME, LARGEST)), "whether that solution is the largest one")
FIXED_POINT = Field(
    "fixed_point", Record(RADIUS, WHICH), "that tau^2 = d m(tau) has a solution near truncated_at", required=False
)
_NAME = FIXED_POINT.name
_BELOW, _ABOVE, _GROWTH = f"{_NAME}.below", f"{_NAME}.above", f"{_NAME}.growth"


@dataclass(frozen=True)
class FixedPoint:
    """A solution of t^2 = d m(t) between tau - radius > 0 and tau + radius; the largest one, or some."""

    beta2: fmpq
    tau: fmpq
    tokens: int
    radius: fmpq
    largest: bool

    def words(self) -> str:
        found = (
            f"t^2 - d m(t), d = {self.tokens} and m(t) = alpha_t^2 + beta_t^2, is at most 0 at tau - r and at least 0 "
            f"at tau + r, r = {describe(self.radius)}, so that tau is within r of a solution t of t^2 = d m(t)"
        )
        return f"{found}, which is the largest one" if self.largest else found

    @property
    def latex(self) -> str:
        found = rf"\lvert t - \tau \rvert \le {describe(self.radius)}, \quad t^2 = {self.tokens}\, m(t)"
        least = rf"\max\{{t : t^2 = {self.tokens}\, m(t)\}}"
        return rf"\lvert \tau - {least} \rvert \le {describe(self.radius)}" if self.largest else found

    @property
    def names(self) -> list[str]:
        """Those of its obligations."""
        return [_BELOW, _ABOVE, *([_GROWTH] if self.largest else [])]

    def proved(self, bits: int) -> Iterator[Obligation]:
        """The obligations, at the working precision, which is `bits`."""
        first, last = self.tau - self.radius, self.tau + self.radius
        below, above = TruncatedWeights(self.beta2, first), TruncatedWeights(self.beta2, last)
        sentence = "(tau - r)^2 <= d m(tau - r)"
        yield at_most(_BELOW, sentence, first * first, self.tokens * below.variance, bits)
        yield at_least(_ABOVE, "(tau + r)^2 >= d m(tau + r)", last * last, self.tokens * above.variance, bits)
        if self.largest:
            tokens_cut, square = below.growth(self.tokens)
            sentence = "d Q(c) <= (E f)^2 at tau - r, from where t^2 - d m(t) then grows"
            yield at_most(_GROWTH, sentence, tokens_cut, square, bits, ARB, part=Part.WITNESS)


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
