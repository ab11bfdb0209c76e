"""The bounds of angles that a certificate of `selection-direction` states, rounded to the safe side.

The checker's own obligations tell what is proved: the bounds are read off those of a draft.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flint import arb, fmpq

from certattn.kernel.decide.obligation import Number, Range
from certattn.kernel.decide.proof import Proof
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import NotProvedError, UsageError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.reals import format_rational
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
)
from certattn.kernel.theorems.selection.selection_direction import THEOREM, DescentProblem
from certattn.provers.exact_inputs import exact_rational
from certattn.provers.output import Draft
from certattn.provers.rounding import lower_rational, round_down, round_up, upper_rational

_DIGITS = 4
# Nobody waits so long for a rate to say something.
LATE = fmpq(10) ** 30
# The largest 1 - cos there is.
_LARGEST = fmpq(2)


@dataclass(frozen=True)
class StatedBounds:
    """Bounds for the draft of a certificate with this witness, at a precision of so many bits."""

    draft: Draft
    witness: dict[str, Plain]
    bits: int

    def added(self, asserts: dict[str, Plain], at: Sequence[str], late_rate: bool) -> dict[str, Plain]:
        """The asserts with bounds of 1 - cos angle at those steps (or times), and a rate if the theorem has one.

        Bounds that are not below 1, a right angle, are left out; and without `late_rate` so is a rate that is not after
        LATE steps (or so long).
        """
        problem = self._problem(asserts)
        for text in at:
            _require_bounded(problem, text)
        bounded, key = asserts, "step" if problem.rule.discrete else "time"
        if at:
            bounded = {**asserts, "angles": [{key: text, "at_most": "2"} for text in at]}
            # The same problem serves the rate: its steps are enclosed once.
            problem = self._problem(bounded)
            found = self._proof(problem).answers
            bounds = [found[f"angles[{index}]"].left for index in range(len(at))]
            shown = [(text, _up(bound)) for text, bound in zip(at, bounds, strict=True)]
            stated: list[Plain] = [{key: text, "at_most": format_rational(bound)} for text, bound in shown if bound < 1]
            bounded = {**asserts, "angles": stated} if stated else asserts
        rate = self._rate(problem) if problem.rate_begins is not None else None
        return {**bounded, "rate": rate} if rate is not None and (late_rate or not _is_late(rate)) else bounded

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

    def _proof(self, problem: DescentProblem) -> Proof:
        proof = Proof(list(THEOREM.obligations(problem)))
        proof.ask(proof.obligations, self.bits)
        return proof


def _require_bounded(problem: DescentProblem, text: str) -> None:
    """That something is proved of the angle at that step (or time). Raises UsageError."""
    at, begins, name = exact_rational(text, "angles"), problem.rate_begins, problem.theorem.name
    if at <= problem.enclosed or (begins is not None and at >= begins):
        return
    unit = "step" if problem.rule.discrete else "time"
    if begins is None:
        last = format_rational(problem.enclosed)
        raise UsageError(f"--angle {text}: the theorem {name!r} gives no bounds of angles after {unit} {last}")
    first = format_rational(begins)
    raise UsageError(
        f"--angle {text}: the theorem {name!r} bounds angles from {unit} {first} on; expected --angle {first} or more"
    )


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


def _up(bound: Number | None) -> fmpq:
    return min(round_up(upper_rational(_ball(bound)), _DIGITS), _LARGEST)


def _ball(value: Number | None) -> arb:
    if isinstance(value, Range):
        return value.worst
    if not isinstance(value, arb):
        raise NotProvedError("no bound on the angle is proved there")
    return value
