"""What a theorem on the direction of descent offers to the claim `selection-direction`.

The claim encloses p(K) and hands it over as a `Situation`; the theorem answers with a `Conclusion`: its conditions as
obligations, all of them the witness's, and bounds of 1 - cos angle(p(k), p_mm) for later k. The bounds are used only
where all conditions are proved.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from flint import arb, fmpq

from certattn.kernel.decide.verdict import Obligation, Outcome, Part, at_least, at_most
from certattn.kernel.document.fields import Field, Rational, Record, Values
from certattn.kernel.document.forms import Variant
from certattn.kernel.mathematics.balls import l2_norm
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.mathematics.selection_landscape import Landscape
from certattn.kernel.mathematics.token_selection import Selection
from certattn.kernel.theorems.selection.descent_inputs import ENCLOSED, Rule, Start
from certattn.kernel.theorems.selection.mathematics.selection_constants import SelectionConstants

# -- rates: bounds for all later steps, in one formula

FROM = Field("from", Rational(minimum=0), "the step (or time) k0 from which on the rate holds")
NUMERATOR = Field("numerator", Rational(minimum=0), "A in A / log(B + C (k - k0))")
OFFSET = Field("offset", Rational(above=1), "B > 1")
SLOPE = Field("slope", Rational(above=0), "C > 0")
LOGARITHM = "logarithm"
LATERAL = Field("lateral", Rational(minimum=0), "A in ((A + sqrt(S + G l)) / l)^2 / 2 with l = log(B + C (k - k0))")
SQUARE = Field("square", Rational(minimum=0), "S")
GROWTH = Field("growth", Rational(minimum=0), "G")
ROOT = "root"
RATE = Field(
    "rate",
    Variant(
        "form",
        {
            LOGARITHM: Record(FROM, NUMERATOR, OFFSET, SLOPE),
            ROOT: Record(FROM, LATERAL, SQUARE, GROWTH, OFFSET, SLOPE),
        },
    ),
    "a bound of 1 - cos angle(p(k), p_mm) for all k >= k0",
    required=False,
)
# What is compared of a rate, in the order of the obligations.
RATE_PARTS = {
    LOGARITHM: ("numerator", "offset", "slope"),
    ROOT: ("lateral", "square", "growth", "offset", "slope"),
}


class AngleRate(Protocol):
    """Bounds of 1 - cos angle(p(k), p_mm) for all k from some point of descent on."""

    def at(self, elapsed: fmpq) -> arb:
        """The bound so many steps (or so long) after that point."""

    def obligations(self, stated: Values, elapsed: fmpq, bits: int) -> list[Obligation]:
        """That a stated rate, from so many steps after that point on, is implied."""


@dataclass(frozen=True)
class Range:
    """A number that a proof uses: its value at the end of a ball where it proves least, and at the other end.

    The first is what is proved. It gets better as the ball gets narrower, with more bits, but not beyond the other
    one: what is not proved is therefore false only where the other end does not prove it either.
    """

    worst: arb
    best: arb

    def ball(self) -> arb:
        """Everything between; not finite where an end is not."""
        return self.worst.union(self.best)

    def decide(self, obligation: Callable[[arb], Obligation]) -> Obligation:
        """An obligation of this number: proved by the worst value, or else about all values."""
        found = obligation(self.worst)
        return found if found.outcome is Outcome.PROVED else obligation(self.ball())


@dataclass(frozen=True)
class LogarithmicRate:
    """1 - cos angle(p(k), p_mm) <= numerator / log(offset + slope (k - K)) for k >= K with a positive logarithm."""

    numerator: Range
    offset: Range
    slope: Range

    def at(self, elapsed: fmpq) -> arb:
        """The bound so many steps after K; from 0 where nothing is known of the other end."""
        numerator, offset, slope = self.numerator, self.offset, self.slope
        worst = _logarithmic(numerator.worst, offset.worst + slope.worst * elapsed)
        best = _logarithmic(numerator.best, offset.best + slope.best * elapsed)
        return worst.union(best if best.is_finite() is True else arb(0))

    def obligations(self, stated: Values, elapsed: fmpq, bits: int) -> list[Obligation]:
        """That a stated rate, from so many steps after K on, is implied."""
        part, names = Part.WITNESS, rate_names(LOGARITHM)
        first = "A >= the numerator of the rate proved"
        second, third = "B <= the offset proved at k0", "C <= the slope proved"
        offset = Range(
            self.offset.worst + self.slope.worst * elapsed,
            self.offset.best + self.slope.best * elapsed,
        )
        return [
            self.numerator.decide(lambda ball: at_least(names[0], first, stated[NUMERATOR], ball, bits, part=part)),
            offset.decide(lambda ball: at_most(names[1], second, stated[OFFSET], ball, bits, part=part)),
            self.slope.decide(lambda ball: at_most(names[2], third, stated[SLOPE], ball, bits, part=part)),
        ]


def _logarithmic(numerator: arb, argument: arb) -> arb:
    """numerator / log(argument); 2, the largest value of all, where the logarithm is not positive."""
    if (argument <= 1) is True:
        return arb(2)
    return (numerator / argument.log()).min(arb(2))


def rate_names(form: str) -> list[str]:
    """The names of the obligations of a rate of that form."""
    return [f"rate.{part}" for part in RATE_PARTS[form]]


def rate_words(form: str, stated: Values, k: str) -> str:
    """The formula with its numbers; k is "k" or "t"."""
    argument = f"{describe(stated[OFFSET])} + {describe(stated[SLOPE])} ({k} - {describe(stated[FROM])})"
    if form == LOGARITHM:
        return f"{describe(stated[NUMERATOR])} / log({argument})"
    root = f"sqrt({describe(stated[SQUARE])} + {describe(stated[GROWTH])} l)"
    return f"(({describe(stated[LATERAL])} + {root}) / l)^2 / 2 with l = log({argument})"


# -- theorems


@dataclass(frozen=True)
class Situation:
    """What a theorem is applied to: p(K) lies in the box `point`, at the working precision; None for every start."""

    constants: SelectionConstants
    landscape: Landscape
    rule: Rule
    point: list[arb] | None
    bits: int

    def norm(self) -> arb:
        """|p(K)|."""
        assert self.point is not None
        return l2_norm(self.point)

    def excess(self) -> arb:
        """F(p(K)), which is not negative where every g_j > 0."""
        assert self.point is not None
        excess: arb = self.landscape.excess(self.point)
        return excess


@dataclass(frozen=True)
class Conclusion:
    """The conditions, and the rate that they imply after K steps and the theorem's delay; None for none.

    `rate` has `at(elapsed)`, an upper bound of 1 - cos angle, and `obligations(stated, elapsed, bits)`. It is
    computed when asked for: where a condition fails it may not exist.
    """

    conditions: list[Obligation]
    rate: Callable[[], AngleRate] | None


class Theorem(ABC):
    """A theorem that gives the direction of descent.

    `rules` are the rules of descent that it is proved for, `record` its fields in the witness, `rate_form` the form
    of its rate, `starts` the kinds of start that it is about.
    """

    name: str
    rules: tuple[str, ...]
    record: Record
    rate_form: str
    starts: tuple[str, ...] = (ENCLOSED,)

    @abstractmethod
    def read(self, values: Values, start: Start, selection: Selection, rule: Rule) -> Any:
        """Its parameters, ranges checked as far as they are exact. Raises MalformedError."""

    @abstractmethod
    def names(self, parameters: Any, selection: Selection) -> list[str]:
        """The names of its conditions, all beginning with that of the theorem."""

    @abstractmethod
    def apply(self, situation: Situation, parameters: Any) -> Conclusion:
        """At the working precision."""

    def delay(self, parameters: Any) -> fmpq | None:
        """How long after K its rate begins to hold; None where it gives none."""
        return fmpq(0)
