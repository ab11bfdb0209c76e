"""Theorem `causal-law`: the limit law of the singular values of softmax attention under a causal mask, random weights.

d tokens, d_qk = lambda d, queries and keys of independent N(0, 1) entries; query i gives its weights A_ij to the first
i tokens. For alpha^2 = e^(beta^2) - 1 - beta^2 mu is the limit law of the singular values of the matrix with entries

    (i A_ij - 1)/sqrt(d)    for j <= i,    0 for j > i:

what a weight is over that of equal weights, less 1; where another alpha^2 is stated, it is that of the linear model
(alpha Z_ij + beta S_ij)/sqrt(d), j <= i, alone. That it is the limit is proved on the page, by no obligation. By
s(eta) = int mu(dx)/(x^2 + eta) for eta > 0 mu is determined, and s by the two equations of `causal_formulas`. A
certificate asserts

    moments      of even order; for rational alpha^2 and beta^2 as exact numbers
    transform    s(eta) at stated eta

each up to a radius, which may be 0 where the number is rational. The witness has numbers u and k for each eta, near
those at which the transform is known for this lambda and this eta: how far they are off is part of the enclosure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from flint import acb, arb, ctx, fmpq

from certattn.kernel.decide.obligation import Obligation, Part, Range, Shared
from certattn.kernel.decide.theorem import Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.schema import EitherKey, Field, Listing, Rational, Record, Values, some_of
from certattn.kernel.mathematics.functions import root
from certattn.kernel.mathematics.quadrature import integral
from certattn.kernel.theorems.spectrum import causal_formulas as formulas
from certattn.kernel.theorems.spectrum.equivalent_formulas import LawNumbers
from certattn.kernel.theorems.spectrum.limit_law import SpectralLaw, law_forms, moment_orders, read_law

LARGEST_ORDER = 40

GIVEN = EitherKey(law_forms())

ETA = Field("eta", Rational(above=0), "eta > 0: 1/(x^2 + eta) is averaged")
VALUE = Field("value", Rational(), "the number")
RADIUS = Field("radius", Rational(minimum=0), "how far it may be from the true one")
ORDER, _even = moment_orders(LARGEST_ORDER)
_OF_ORDERS = Listing(Record(ORDER, VALUE, RADIUS, rules=[_even]))
MOMENTS = Field("moments", _OF_ORDERS, "moments of mu of even order", required=False)
_AT_NUMBERS = Listing(Record(ETA, VALUE, RADIUS))
TRANSFORM = Field("transform", _AT_NUMBERS, "the mean of 1/(x^2 + eta) under mu, at numbers", required=False)
TURN = Field("turn", Rational(above=0), "u, between 0 and 1")
LEVEL = Field("level", Rational(), "k, above alpha^2")
SOLUTIONS = Field("solutions", Listing(Record(TURN, LEVEL)), "for each number at which the transform is stated")

ASSERTS = Record(MOMENTS, TRANSFORM, rules=[some_of(MOMENTS, TRANSFORM)])
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
    hint, count = certificate.witness, len(asserts.items(TRANSFORM))
    if hint is None:
        if count > 0:
            raise asserts.node(TRANSFORM).malformed("a witness, which this is proved with", "no witness")
        return StatedOfLaw(law, asserts, [])
    solutions = WITNESS.read(hint, certificate.reading)[SOLUTIONS]
    if len(solutions) != count:
        expected = f"{count} solutions, one for each number at which the transform is stated"
        raise hint.malformed(expected, f"{len(solutions)}")
    return StatedOfLaw(law, asserts, solutions)


def obligations(stated: StatedOfLaw) -> Iterator[Obligation]:
    law, wanted = stated.law, stated.asserts.items(MOMENTS)
    highest = max((item[ORDER] // 2 for item in wanted), default=0)
    moments = Shared(lambda: formulas.moments(law.enclosed().numbers if law.exact is None else law.exact, highest))
    for index, item in enumerate(wanted):
        off = partial(_off_moment, moments, item[ORDER], item[VALUE])
        yield Obligation(f"moments[{index}]", off, "<=", item[RADIUS])
    for index, (item, solution) in enumerate(zip(stated.asserts.items(TRANSFORM), stated.solutions, strict=True)):
        yield from _transform(law, index, item, solution)


def _off_moment(moments: Shared[list[Any]], order: int, value: fmpq) -> Any:
    """|m - value|, exactly where the moment is rational."""
    return abs(moments()[order // 2 - 1] - value)


def _transform(law: SpectralLaw, index: int, item: Values, solution: Values) -> Iterator[Obligation]:
    known = Shared(partial(Solution.at_precision, law, solution[TURN], solution[LEVEL]))
    needs = [f"{condition}[{index}]" for condition in ("turn", "level", "cubic")]
    yield Obligation(needs[0], solution[TURN], "<", fmpq(1), Part.WITNESS)
    yield Obligation(needs[1], solution[LEVEL], ">", lambda: known().numbers.alpha2, Part.WITNESS)
    yield Obligation(needs[2], lambda: known().least_cubic, ">", fmpq(0), Part.WITNESS, needs[:1])
    off = partial(_off_transform, known, item[ETA], item[VALUE])
    yield Obligation(f"transform[{index}]", off, "<=", item[RADIUS], needs=needs)


def _off_transform(known: Shared[Solution], eta: fmpq, value: fmpq) -> Range:
    """|s(eta) - value|, which more bits do not bring nearer than the solution is."""
    found, factor = known().near(eta)
    off, spread = abs(found - arb(value)), found * (factor - 1)
    return Range(off + spread, off - spread, is_final=True)


@dataclass(frozen=True)
class Solution:
    """The law's numbers and a turn, 0 < u < 1, at the working precision."""

    numbers: LawNumbers[arb]
    turn: formulas.Turn[arb]

    @classmethod
    def at_precision(cls, law: SpectralLaw, turn: fmpq, level: fmpq) -> Solution:
        numbers = law.enclosed().numbers
        return cls(numbers, formulas.Turn(numbers.alpha2, numbers.beta2, arb(turn), arb(level)))

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
            inverse: acb = 2 * root(width) / self.turn.cubic(v).sqrt(analytic=True)
            return inverse * v if power == 1 else inverse

        return integral(integrand, arb(0), arb(1), ctx.prec)


_TITLE = "the limit law of the singular values of causal softmax attention: moments, transform"
THEOREM = Theorem("causal-law", _TITLE, GIVEN, ASSERTS, WITNESS, read, obligations)
