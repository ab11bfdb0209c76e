"""What a theorem on the direction of descent offers to the claim `selection-direction`.

The claim encloses p(K) and hands it over as a `Situation`; the theorem answers with a `Conclusion`: its conditions as
obligations, all of them the witness's, and bounds of 1 - cos angle(p(k), p_mm) for later k. The bounds are used only
where all conditions are proved.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from flint import arb, fmpq

from certattn.kernel.decide.obligation import Obligation, Part, Range, Relation, Shared
from certattn.kernel.document.schema import Field, Rational, Record, Values, Variant
from certattn.kernel.mathematics.balls import l2_norm
from certattn.kernel.mathematics.selection_landscape import Landscape
from certattn.kernel.mathematics.token_selection import Selection
from certattn.kernel.theorems.selection.descent import ENCLOSED, Rule, Start
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
RATE_FIELDS: Mapping[str, tuple[Field[fmpq], ...]] = {
    LOGARITHM: (NUMERATOR, OFFSET, SLOPE),
    ROOT: (LATERAL, SQUARE, GROWTH, OFFSET, SLOPE),
}


class AngleRate(Protocol):
    """Bounds of 1 - cos angle(p(k), p_mm) for all k from some point of descent on."""

    def at(self, elapsed: fmpq) -> arb:
        """The bound so many steps (or so long) after that point."""

    def proved(self, elapsed: fmpq) -> Mapping[str, arb | Range]:
        """The numbers of the rate from so many steps after that point on, by the names of its fields."""


def rate_obligations(
    form: str, stated: Values, rate: Callable[[], AngleRate], elapsed: fmpq, needs: Sequence[str]
) -> Iterator[Obligation]:
    """That a stated rate, from so many steps after the point on, is implied by the one that is proved."""
    proved = Shared(lambda: rate().proved(elapsed))
    for field in RATE_FIELDS[form]:
        # The logarithm's argument is to be no larger, all other numbers no smaller.
        relation: Relation = "<=" if field.name in (OFFSET.name, SLOPE.name) else ">="
        yield Obligation(f"rate.{field.name}", stated[field], relation, _of(proved, field), Part.WITNESS, needs)


def _of(proved: Shared[Mapping[str, arb | Range]], field: Field[fmpq]) -> Callable[[], arb | Range]:
    return lambda: proved()[field.name]


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

    def proved(self, elapsed: fmpq) -> Mapping[str, arb | Range]:
        offset = Range(
            self.offset.worst + self.slope.worst * elapsed,
            self.offset.best + self.slope.best * elapsed,
        )
        return {NUMERATOR.name: self.numerator, OFFSET.name: offset, SLOPE.name: self.slope}


def _logarithmic(numerator: arb, argument: arb) -> arb:
    """numerator / log(argument); 2, the largest value of all, where the logarithm is not positive."""
    if (argument <= 1) is True:
        return arb(2)
    return (numerator / argument.log()).min(arb(2))


# -- theorems


@dataclass(frozen=True)
class Situation:
    """What a theorem is applied to: p(K) lies in the box `point`, at the working precision; None for every start."""

    constants: SelectionConstants
    landscape: Landscape
    rule: Rule
    point: list[arb] | None

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

    The rate is computed when asked for: where a condition fails it may not exist.
    """

    conditions: list[Obligation]
    rate: Callable[[], AngleRate] | None


class DescentTheorem(ABC):
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
    def apply(
        self, situation: Callable[[], Situation], parameters: Any, selection: Selection, needs: Sequence[str] = ()
    ) -> Conclusion:
        """Its conditions, all named after it, which are asked where all of `needs` is proved."""

    def delay(self, parameters: Any) -> fmpq | None:
        """How long after K its rate begins to hold; None where it gives none."""
        return fmpq(0)
