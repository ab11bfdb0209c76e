"""What a certificate of `selection-direction` states, read and checked: the problem of that claim.

Data, loss, rule of descent and start under `given`; the chosen tokens, p_mm and bounds of angles under `asserts`; the
multipliers of p_mm, the steps that are enclosed and the theorem that is applied after them under `witness`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flint import fmpq

from certattn.kernel.decide.theorem import BITS
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.matrices import Vector
from certattn.kernel.document.quoting import counted
from certattn.kernel.document.schema import ByKey, Count, Field, Listing, Rational, Record, Values, Variant
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.losses import LOSSES, Loss
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.mathematics.token_selection import Selection
from certattn.kernel.theorems.selection.descent import DESCENT, START, Rule, Start, read_rule, read_start
from certattn.kernel.theorems.selection.direction_theorems import FROM, RATE, DescentTheorem
from certattn.kernel.theorems.selection.global_selection_theorems import EVERY_START, GLOBAL
from certattn.kernel.theorems.selection.kkt import MULTIPLIERS, read_multipliers
from certattn.kernel.theorems.selection.local_selection_theorems import CONE_THEOREM, LOCAL
from certattn.kernel.theorems.selection.mathematics.max_margin import MaxMargin, hard_margin
from certattn.kernel.theorems.selection.stated_tokens import (
    INDICES,
    LOSS,
    read_selection,
    read_tokens,
    scored_token_forms,
)

THEOREMS: Mapping[str, DescentTheorem] = {
    theorem.name: theorem for theorem in (CONE_THEOREM, EVERY_START, GLOBAL, LOCAL)
}

GIVEN = scored_token_forms(LOSS, DESCENT, START)

LIMIT = Field("limit", Vector(), "p_mm, exactly", required=False)
ANGLE_STEP = Field("step", Count(0), "a step k")
ANGLE_TIME = Field("time", Rational(minimum=0), "a time of the flow")
AT_MOST = Field("at_most", Rational(minimum=0), "bound of 1 - cos angle(p(k), p_mm)")
ANGLES = Field(
    "angles",
    Listing(ByKey({"time": Record(ANGLE_TIME, AT_MOST), "step": Record(ANGLE_STEP, AT_MOST)})),
    "bounds of 1 - cos angle at some steps or times",
    required=False,
)

STEPS = Field("steps", Count(0), "K, the steps that are enclosed before the theorem is applied; 0 if left out", False)
THEOREM = Field(
    "theorem",
    Variant("name", {name: theorem.record for name, theorem in THEOREMS.items()}),
    "the theorem that is applied at p(K), with its parameters",
)

ASSERTS = Record(INDICES, LIMIT, ANGLES, RATE)
WITNESS = Record(MULTIPLIERS, STEPS, THEOREM, BITS)

# So many steps are enclosed in a minute or two.
MOST_STEPS = 1_000_000


@dataclass(frozen=True)
class StatedAngle:
    """1 - cos angle(p(k), p_mm) <= at_most at k = `at`."""

    at: fmpq
    at_most: fmpq


@dataclass(frozen=True)
class StatedRate:
    """A bound for all later steps: its form, its numbers, and where it begins."""

    form: str
    values: Values


@dataclass(frozen=True)
class DescentProblem:
    """What is given and asserted, and how it is to be proved."""

    words: str
    selection: Selection
    loss: Loss
    rule: Rule
    start: Start
    solution: MaxMargin
    limit: ExactMatrix | None
    angles: list[StatedAngle]
    rate: StatedRate | None
    steps: int
    theorem: DescentTheorem
    parameters: Any

    @property
    def rate_begins(self) -> fmpq | None:
        """From when on the theorem's rate holds; None where it gives none."""
        delay = self.theorem.delay(self.parameters)
        return None if delay is None else self.steps + delay

    def is_direct(self, angle: StatedAngle) -> bool:
        """Whether p(k) is enclosed itself: at k <= K, and at the start of the flow."""
        return angle.at <= self.steps


def read_problem(certificate: Certificate) -> DescentProblem:
    """The problem of a certificate; every dimension checked. Raises MalformedError."""
    given = GIVEN.read(certificate.given, certificate.reading)
    asserts = ASSERTS.read(certificate.asserts, certificate.reading)
    if certificate.witness is None:
        raise certificate.asserts.malformed("a witness with multipliers and a theorem", "no witness")
    return problem_of(given, asserts, WITNESS.read(certificate.witness, certificate.reading))


def problem_of(stated_given: tuple[str, Values], asserts: Values, witness: Values) -> DescentProblem:
    """The problem in records with at least the required fields of `GIVEN`, `ASSERTS` and `WITNESS`."""
    form, given = stated_given
    stated = read_tokens(form, given)
    selection = read_selection(stated, asserts[INDICES], asserts.node(INDICES))
    rule = read_rule(given[DESCENT], selection.tokens.count)
    start = read_start(given[START], selection.tokens.dimension)
    name, values = witness[THEOREM]
    theorem = THEOREMS[name]
    parameters = theorem.read(values, start, selection, rule)
    problem = DescentProblem(
        stated.words,
        selection,
        LOSSES[given[LOSS]],
        rule,
        start,
        hard_margin(selection.differences, read_multipliers(witness[MULTIPLIERS], selection)),
        _read_limit(asserts, selection),
        _read_angles(asserts, rule),
        StatedRate(*asserts[RATE]) if RATE in asserts else None,
        witness.get(STEPS) or 0,
        theorem,
        parameters,
    )
    _require_fit(problem, asserts, witness)
    return problem


def _read_limit(asserts: Values, selection: Selection) -> ExactMatrix | None:
    stated = asserts.get(LIMIT)
    if stated is None:
        return None
    stated.require_length(selection.tokens.dimension, "a key")
    return stated.load()


def _read_angles(asserts: Values, rule: Rule) -> list[StatedAngle]:
    found = []
    for form, values in asserts.get(ANGLES) or []:
        if (form == "step") is not rule.discrete:
            expected = "a step, as descent goes in steps" if rule.discrete else "a time, as the flow has no steps"
            raise values.at.malformed(expected, f"a {form}")
        at = fmpq(values[ANGLE_STEP]) if form == "step" else values[ANGLE_TIME]
        found.append(StatedAngle(at, values[AT_MOST]))
    return found


def _require_fit(problem: DescentProblem, asserts: Values, witness: Values) -> None:
    """That rule, start, steps, theorem, angles and rate fit each other."""
    theorem, rule, start = problem.theorem, problem.rule, problem.start
    if rule.kind not in theorem.rules:
        expected = f"a theorem about the rule {rule.kind}; {theorem.name!r} is about {' and '.join(theorem.rules)}"
        raise witness.node(THEOREM).malformed(expected, f"the theorem {theorem.name!r}")
    if problem.steps > MOST_STEPS:
        raise witness.node(STEPS).malformed(f"at most {MOST_STEPS} steps", counted(problem.steps, "step"))
    if problem.steps > 0 and not rule.discrete:
        raise witness.node(STEPS).malformed("no steps, as the flow is not enclosed", counted(problem.steps, "step"))
    delay = theorem.delay(problem.parameters)
    if rule.discrete and delay is not None and delay.q != 1:
        raise witness.node(THEOREM).malformed("a whole number of steps", describe(delay))
    if start.kind not in theorem.starts:
        able = ", ".join(repr(name) for name, other in THEOREMS.items() if start.kind in other.starts)
        expected = f"a theorem about a start of the kind {start.kind!r}: {able}"
        raise witness.node(THEOREM).malformed(expected, f"the theorem {theorem.name!r}")
    if start.everywhere:
        _require_fit_without_box(problem, asserts, witness)
    if start.is_origin() and any(angle.at == 0 for angle in problem.angles):
        raise asserts.node(ANGLES).malformed("angles after the start, which is 0 and has no direction")
    _require_later(problem, asserts)


def _require_fit_without_box(problem: DescentProblem, asserts: Values, witness: Values) -> None:
    if problem.steps > 0:
        raise witness.node(STEPS).malformed("no steps, as none is enclosed from such a start")
    for field in (ANGLES, RATE):
        if field in asserts:
            raise asserts.node(field).malformed("no bounds of angles from such a start: none holds for all of it")


def _require_later(problem: DescentProblem, asserts: Values) -> None:
    """Later angles and rates must lie where the theorem speaks."""
    begins = problem.rate_begins
    later = [angle.at for angle in problem.angles if not problem.is_direct(angle)]
    if problem.rate is not None:
        if problem.rate.form != problem.theorem.rate_form:
            expected = f"a rate of the form {problem.theorem.rate_form}, as the theorem {problem.theorem.name!r} has"
            raise asserts.node(RATE).malformed(expected, f"the form {problem.rate.form}")
        later.append(problem.rate.values[FROM])
    for at in later:
        if begins is None:
            expected = f"bounds of angles up to {problem.steps} only, as the witness leads to no rate"
            raise asserts.at.malformed(expected, describe(at))
        if at < begins:
            expected = f"later bounds of angles from {describe(begins)} on, where the rate begins"
            raise asserts.at.malformed(expected, describe(at))
