"""Theorem `causal-law`: the limit law of the singular values of softmax attention with random weights and a causal mask.

d tokens, d_qk = lambda d, queries and keys of independent N(0, 1) entries; query i gives its weights A_ij to the first i
tokens. mu is the limit law of the singular values of the matrix with the entries

    (i A_ij - 1)/sqrt(d)    for j <= i,    0 for j > i:

what a weight is over that of equal weights, less 1. alpha^2 = e^(beta^2) - 1 - beta^2, unless it is stated. By
s(eta) = int mu(dx)/(x^2 + eta) for eta > 0 mu is determined, and s by the two equations of `causal_formulas`. A
certificate asserts

    transform    s(eta) at stated eta, each up to a radius

and its witness has numbers u and k for each of these, near those at which the transform is known for this lambda and
this eta: how far they are off is part of the enclosure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial

from flint import acb, arb, ctx, fmpq

from certattn.kernel.decide.obligation import Obligation, Part, Range, Shared
from certattn.kernel.decide.theorem import Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.schema import EitherKey, Field, Listing, Rational, Record, Values
from certattn.kernel.mathematics.functions import root
from certattn.kernel.mathematics.quadrature import integral
from certattn.kernel.theorems.spectrum.causal_formulas import Turn
from certattn.kernel.theorems.spectrum.equivalent_formulas import LawNumbers
from certattn.kernel.theorems.spectrum.limit_law import SpectralLaw, law_forms, read_law

GIVEN = EitherKey(law_forms())

ETA = Field("eta", Rational(above=0), "eta > 0: 1/(x^2 + eta) is averaged")
VALUE = Field("value", Rational(), "s(eta)")
RADIUS = Field("radius", Rational(minimum=0), "how far it may be from the true one")
TRANSFORM = Field("transform", Listing(Record(ETA, VALUE, RADIUS)), "the mean of 1/(x^2 + eta) under mu, at numbers")
TURN = Field("turn", Rational(above=0), "u, between 0 and 1")
LEVEL = Field("level", Rational(), "k, above alpha^2")
SOLUTIONS = Field("solutions", Listing(Record(TURN, LEVEL)), "for each number at which the transform is stated")

ASSERTS = Record(TRANSFORM)
WITNESS = Record(SOLUTIONS)


@dataclass(frozen=True)
class StatedOfLaw:
    """A law, what is asserted of it, and as many solutions."""

    law: SpectralLaw
    asserts: Values
    solutions: list[Values]


def read(certificate: Certificate) -> StatedOfLaw:
    """Everything stated. Raises MalformedError."""
    law = read_law(*GIVEN.read(certificate.given, certificate.reading))
    asserts = ASSERTS.read(certificate.asserts, certificate.reading)
    if certificate.witness is None:
        raise asserts.at.malformed("a witness, which this is proved with", "no witness")
    witness = WITNESS.read(certificate.witness, certificate.reading)
    count = len(asserts[TRANSFORM])
    if len(witness[SOLUTIONS]) != count:
        expected = f"{count} solutions, one for each number at which the transform is stated"
        raise witness.node(SOLUTIONS).malformed(expected, f"{len(witness[SOLUTIONS])}")
    return StatedOfLaw(law, asserts, witness[SOLUTIONS])


def obligations(stated: StatedOfLaw) -> Iterator[Obligation]:
    for index, (item, solution) in enumerate(zip(stated.asserts[TRANSFORM], stated.solutions, strict=True)):
        known = Shared(partial(Solution.at_precision, stated.law, solution))
        needs = [f"{condition}[{index}]" for condition in ("turn", "level", "cubic")]
        yield Obligation(needs[0], solution[TURN], "<", fmpq(1), Part.WITNESS)
        yield Obligation(needs[1], solution[LEVEL], ">", lambda known=known: known().numbers.alpha2, Part.WITNESS)
        yield Obligation(needs[2], lambda known=known: known().least_cubic, ">", fmpq(0), Part.WITNESS, needs[:1])
        off = partial(_off, known, item)
        yield Obligation(f"transform[{index}]", off, "<=", item[RADIUS], needs=needs)


def _off(known: Shared[Solution], stated: Values) -> Range:
    """|s(eta) - value|, which more bits do not bring nearer than the solution is."""
    found, factor = known().near(stated[ETA])
    off, spread = abs(found - arb(stated[VALUE])), found * (factor - 1)
    return Range(off + spread, off - spread, is_final=True)


@dataclass(frozen=True)
class Solution:
    """The law's numbers and a turn, 0 < u < 1, at the working precision."""

    numbers: LawNumbers[arb]
    turn: Turn[arb]

    @classmethod
    def at_precision(cls, law: SpectralLaw, solution: Values) -> Solution:
        numbers = law.enclosed().numbers
        return cls(numbers, Turn(numbers.alpha2, numbers.beta2, arb(solution[TURN]), arb(solution[LEVEL])))

    @property
    def least_cubic(self) -> arb:
        """A lower bound of R on [u, 1]: no polynomial is below its coefficients in the Bernstein basis."""
        first, *others = self.turn.bernstein()
        for coefficient in others:
            first = first.min(coefficient)
        return first

    @cached_property
    def solved(self) -> tuple[arb, arb, arb]:
        """C, lambda and log eta of the pair that is known: where R > 0 on [u, 1] and k > alpha^2."""
        rate, mean = 2 * self._integral(0), self._integral(1)
        return rate, self.turn.lambda_(rate), self.turn.log_eta(rate, mean)

    def near(self, eta: fmpq) -> tuple[arb, arb]:
        """The transform at the solution, and a factor by which it is at most smaller or larger than that at eta."""
        rate, lambda_, log_eta = self.solved
        solved_eta = log_eta.exp()
        sensitivity = self.numbers.variance / solved_eta.min(arb(eta))
        off = abs(log_eta - arb(eta).log()) + sensitivity * abs((lambda_ / self.numbers.lambda_).log())
        return self.turn.transform(rate, solved_eta), off.exp()

    def _integral(self, power: int) -> arb:
        """I_j, with v = u + (1-u) y^2: int_0^1 2 sqrt(1-u) v^j/sqrt(R(v)) dy."""
        turn, width = self.turn.turn, 1 - self.turn.turn

        def integrand(y: acb) -> acb:
            v = turn + width * y * y
            inverse = 2 * root(width) / self.turn.cubic(v).sqrt(analytic=True)
            return inverse * v if power == 1 else inverse

        return integral(integrand, arb(0), arb(1), ctx.prec)


_TITLE = "the limit law of the singular values of causal softmax attention: transform"
THEOREM = Theorem("causal-law", _TITLE, GIVEN, ASSERTS, WITNESS, read, obligations)
