"""The bounds that a certificate of `selection-direction` states of a run, rounded to the safe side.

The checker's own obligations tell what is proved: the bounds are read off those of a draft.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from flint import arb, fmpq, fmpz

from certattn.kernel.decide.obligation import Number, Range
from certattn.kernel.decide.proof import Proof
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import NotProvedError, UsageError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.bundled_descent import every_one
from certattn.kernel.mathematics.reals import format_rational
from certattn.kernel.mathematics.selection_landscape import shortfall
from certattn.kernel.theorems.selection.direction_bounds import (
    ANGLES,
    AT_LEAST,
    AT_MOST,
    EVER_FROM,
    GAPS,
    NORMS,
    QUANTITIES,
    STEP,
    TIME,
    WEIGHTS,
)
from certattn.kernel.theorems.selection.direction_theorems import (
    FROM,
    GROWTH,
    LATERAL,
    LINEAR,
    LOGARITHM,
    NUMERATOR,
    OFFSET,
    RATE_FIELDS,
    SLOPE,
    SQUARE,
    LaterRun,
)
from certattn.kernel.theorems.selection.selection_direction import MOST_STEPS, THEOREM, DescentProblem
from certattn.provers.exact_inputs import exact_rational
from certattn.provers.output import Draft
from certattn.provers.rounding import lower_rational, round_down, round_up, upper_rational

_DIGITS = 4
# Nobody waits so long for a rate to say something.
LATE = fmpq(10) ** 30
# The largest 1 - cos there is, and bounds that are true of all others, as far as runs go.
_LARGEST = fmpq(2)
_TRUE = {ANGLES.name: "2", WEIGHTS.name: "1", GAPS.name: "1e30", NORMS.name: "1e30"}
# A weight next to 1 is told from it with more bits, to some hundred digits.
_MORE_BITS = (512,)
# After a step, where a bound is asked for of all later ones too.
_EVER = "+"


@dataclass(frozen=True)
class Asked:
    """A bound that is asked for: of which list, at which step (or time), and whether of all later ones too.

    `other` is one from the side on which nothing holds for good.
    """

    kind: str
    text: str
    other: bool = False

    @property
    def ever(self) -> bool:
        return self.text.endswith(_EVER)

    @property
    def place(self) -> str:
        return self.text.removesuffix(_EVER)

    @property
    def at(self) -> fmpq:
        return exact_rational(self.place, self.kind)

    @property
    def option(self) -> str:
        """As it is asked for on the command line."""
        return f"--{OPTIONS[self.kind]} {self.text}"

    def stated(self, discrete: bool, bound: str) -> dict[str, Plain]:
        """As certificates write it."""
        key = EVER_FROM.name if self.ever else STEP if discrete else TIME
        return {key: self.place, self.end: bound}

    @property
    def end(self) -> str:
        """`at_most` or `at_least`."""
        return AT_MOST.name if self.is_upper else AT_LEAST.name

    @property
    def is_upper(self) -> bool:
        return (QUANTITIES[self.kind].relation == "<=") is not self.other

    @property
    def key(self) -> tuple[str, fmpq, bool, bool]:
        """What tells it from others."""
        return self.kind, self.at, self.ever, self.is_upper

    @property
    def vacuous(self) -> str:
        """A bound that is true of all there is."""
        return _TRUE[self.kind] if self.is_upper else "0"


OPTIONS = {ANGLES.name: "angle", WEIGHTS.name: "weight", GAPS.name: "loss-gap", NORMS.name: "norm"}


@dataclass(frozen=True)
class StatedBounds:
    """Bounds for the draft of a certificate with this witness, at a precision of so many bits."""

    draft: Draft
    witness: dict[str, Plain]
    bits: int

    def added(
        self, asserts: dict[str, Plain], asked: Sequence[Asked], below: Sequence[str], late_rate: bool
    ) -> dict[str, Plain]:
        """The asserts with the bounds that are asked for, and a rate if the theorem has one.

        `below` are bounds of angles, each of all steps from the first on of which it is proved. Bounds that say
        nothing are left out, as of 1 - cos those that are not below 1, a right angle; and without `late_rate` so is a
        rate that is not after LATE steps (or so long).
        """
        problem = self._problem(asserts)
        for each in asked:
            _require_bounded(problem, each)
        # After what is enclosed not every theorem bounds from this side.
        asked = [each for each in asked if not each.other or problem.conclusion.both or each.at <= problem.enclosed]
        if asked:
            discrete, drafted = problem.rule.discrete, dict[str, list[Plain]]()
            for each in asked:
                drafted.setdefault(each.kind, []).append(each.stated(discrete, each.vacuous))
            # The same problem serves the rate: its steps are enclosed once.
            problem = self._problem({**asserts, **drafted})
            found = dict[str, list[Plain]]()
            for each, bound in zip(asked, self._bounded(problem, asked), strict=True):
                if _says_something(each, bound):
                    found.setdefault(each.kind, []).append(each.stated(discrete, format_rational(bound)))
            asserts = {**asserts, **found}
        if below:
            narrow: list[Plain] = []
            for text, at in self._first_below(problem, below):
                narrow.append({EVER_FROM.name: format_rational(at), AT_MOST.name: text})
            angles = asserts.get(ANGLES.name, [])
            assert isinstance(angles, list)
            asserts = {**asserts, ANGLES.name: [*angles, *narrow]} if narrow else asserts
        rate = self._rate(problem) if problem.rate_begins is not None else None
        return {**asserts, "rate": rate} if rate is not None and (late_rate or not _is_late(rate)) else asserts

    def _bounded(self, problem: DescentProblem, asked: Sequence[Asked]) -> list[fmpq]:
        """What is proved of each, in the order of the draft's lists; with more bits where a weight is all but 1."""
        for bits in (self.bits, *(more for more in _MORE_BITS if more > self.bits)):
            proof, places, found = self._proof(problem, bits), dict.fromkeys(QUANTITIES, 0), list[fmpq]()
            with working_precision(bits):
                for each in asked:
                    name, places[each.kind] = f"{each.kind}[{places[each.kind]}]", places[each.kind] + 1
                    most = _LARGEST if each.kind == ANGLES.name else LATE
                    found.append(min(_safe(each, _worst(proof, name, each)), most))
            near = fmpq(1, fmpz(2) ** (bits // 2))
            if not any(each.kind == WEIGHTS.name and 1 - x < near for each, x in zip(asked, found, strict=True)):
                break
        return found

    def _first_below(self, problem: DescentProblem, below: Sequence[str]) -> Iterator[tuple[str, fmpq]]:
        """With each of these bounds of 1 - cos the first step (or time) from which on it is proved, if there is one."""
        rate, begins = problem.conclusion.rate, problem.rate_begins
        if rate is None or begins is None:
            return
        with working_precision(self.bits):
            later, gaps = rate(), []
            if begins == problem.steps and problem.steps > 0 and problem.leaps is None:
                situation = problem.descent().situation
                step = problem.rule.on(situation.landscape)
                run = every_one(step, problem.start.enclosed(step), problem.steps)
                gaps = [shortfall(here, situation.constants.direction).upper() for here in run]
            for text in below:
                bound = exact_rational(text, "below")
                if (later.at(fmpq(0)) <= bound) is not True:
                    elapsed = _first_within(later, bound)
                    if elapsed is not None:
                        yield text, begins + elapsed
                    continue
                first = begins
                while first > 0 and len(gaps) >= first and (gaps[int(first.p) - 1] <= bound) is True:
                    first -= 1
                yield text, first

    def _rate(self, problem: DescentProblem) -> dict[str, Plain] | None:
        """From when the theorem applies or the logarithm is clearly positive; None where it does not grow."""
        begins, offset, slope = problem.rate_begins, OFFSET.name, SLOPE.name
        assert begins is not None
        found = self._coefficients(problem, begins)
        if found[slope] <= 0:
            return None
        if found[offset] < 2:
            begins += fmpq(((2 - found[offset]) / found[slope]).ceil())
            found = self._coefficients(problem, begins)
        shown = {name: round_down(value, _DIGITS) if name in (offset, slope) else round_up(value, _DIGITS)
                 for name, value in found.items()}  # fmt: skip
        numbers = {"from": begins, **shown}
        return {"form": problem.rate_form, **{name: format_rational(value) for name, value in numbers.items()}}

    def _coefficients(self, problem: DescentProblem, begins: fmpq) -> dict[str, fmpq]:
        """What the theorem says of the rate from there on: bounds to the safe side, none but the offset negative."""
        rate, first = problem.conclusion.rate, problem.rate_begins
        assert rate is not None
        assert first is not None
        bounds = {}
        with working_precision(self.bits):
            proved: Sequence[arb | Range] = rate().proved(begins - first)
            for field, value in zip(RATE_FIELDS[problem.rate_form], proved, strict=True):
                ball = _ball(value)
                if not ball.is_finite():
                    raise NotProvedError("no rate is proved there")
                bound = lower_rational(ball) if field in (OFFSET, SLOPE) else upper_rational(ball)
                # How far below 0 an offset is tells how much later the rate begins.
                bounds[field.name] = bound if field is OFFSET else max(bound, fmpq(0))
        return bounds

    def _problem(self, asserts: dict[str, Plain]) -> DescentProblem:
        return self.draft.read(THEOREM.read, asserts, self.witness)

    def _proof(self, problem: DescentProblem, bits: int) -> Proof:
        proof = Proof(list(THEOREM.obligations(problem)))
        proof.ask(proof.obligations, bits)
        return proof


def _require_bounded(problem: DescentProblem, asked: Asked) -> None:
    """That something is proved there. Raises UsageError."""
    at, begins, name = asked.at, problem.rate_begins, problem.theorem.name
    follows = at <= problem.enclosed
    if asked.ever:
        follows = begins == problem.enclosed and problem.rule.discrete and begins - at <= MOST_STEPS
    if follows or (begins is not None and at >= begins):
        return
    unit, of = "step" if problem.rule.discrete else "time", "angles" if asked.kind == ANGLES.name else asked.kind
    if begins is None:
        last = format_rational(problem.enclosed)
        raise UsageError(f"{asked.option}: the theorem {name!r} gives no bounds of {of} after {unit} {last}")
    first = format_rational(begins)
    expected = replace(asked, text=f"{first}{_EVER if asked.ever else ''}").option
    raise UsageError(
        f"{asked.option}: the theorem {name!r} bounds {of} from {unit} {first} on; expected {expected} or more"
    )


def _first_within(later: LaterRun, bound: fmpq) -> int | None:
    """After how many steps, up to LATE, the theorem's bound of 1 - cos is no larger than this; None for none."""

    def holds(elapsed: int) -> bool:
        return (later.at(fmpq(elapsed)) <= bound) is True

    low, high = 0, 1
    while not holds(high):
        low, high = high, 2 * high
        if high > LATE:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _is_late(rate: dict[str, Plain]) -> bool:
    """Whether a rate is not proved to be below 1 after LATE."""
    values = {name: arb(exact_rational(value, name)) for name, value in rate.items() if name != "form"}
    argument = values[OFFSET.name] + values[SLOPE.name] * (LATE - values[FROM.name])
    log = argument.log()
    if rate["form"] == LOGARITHM:
        bound = values[NUMERATOR.name] / log
    elif rate["form"] == LINEAR:
        bound = (values[LATERAL.name] / argument) ** 2 / 2
    else:
        root = (values[SQUARE.name] + values[GROWTH.name] * log).sqrt()
        bound = ((values[LATERAL.name] + root) / log) ** 2 / 2
    return (bound < 1) is not True


def _worst(proof: Proof, name: str, asked: Asked) -> arb:
    """What is proved of it: of all steps from one on, at those that are enclosed and later."""
    names = (f"{name}.enclosed", f"{name}.later") if asked.ever else (name,)
    found = [_ball(proof.answers[each].left) for each in names if each in proof.answers]
    return reduce(arb.max if asked.is_upper else arb.min, found)


def _safe(asked: Asked, proved: arb) -> fmpq:
    """To a few digits; of a weight next to 1, of what it lacks."""
    if asked.is_upper:
        most = max(upper_rational(proved), fmpq(0))
        rounded = round_up(most, _DIGITS)
        return min(rounded, 1 - round_down(1 - most, _DIGITS)) if asked.kind == WEIGHTS.name and most < 1 else rounded
    least = max(lower_rational(proved), fmpq(0))
    rounded = round_down(least, _DIGITS)
    return max(rounded, 1 - round_up(1 - least, _DIGITS)) if asked.kind == WEIGHTS.name and least < 1 else rounded


def _says_something(asked: Asked, bound: fmpq) -> bool:
    """Whether it excludes anything: an angle that is not acute, a weight of 1, or what is 0."""
    if asked.is_upper and asked.kind in (ANGLES.name, WEIGHTS.name):
        return bound < 1
    return bound > 0 or (asked.is_upper and asked.kind == GAPS.name)


def _ball(value: Number | None) -> arb:
    if isinstance(value, Range):
        return value.worst
    if not isinstance(value, arb):
        raise NotProvedError("no bound is proved there")
    return value
