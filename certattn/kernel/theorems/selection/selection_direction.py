"""Theorem `selection-direction`: where descent on the loss of token selection goes.

Keys k_it and scores gamma_it of the tokens of n inputs, a loss l, and

    L(p) = (1/n) sum_i l( sum_t gamma_it s_it ),     s_i = softmax of <k_it, p> over t.

A certificate asserts that descent by a stated rule from a stated p(0) (or every p(0) of a box, or every p(0)) has
|p(k)| -> infinity and p(k) / |p(k)| -> p_mm / |p_mm|, p_mm being the one point of least norm with
<k_i alpha_i - k_it, p> >= 1 for all t != alpha_i; and it may assert p_mm itself, bounds of 1 - cos angle(p(k), p_mm)
at some k, and one for all k >= k0.

Proof: p_mm by its KKT conditions; p(K) is enclosed by K steps; a theorem whose conditions are proved at p(K) says the
rest (Ataee Tarzanagh, Li, Zhang and Oymak 2023, theorems 1 to 3, in explicit form:
docs/claims/selection/selection-direction.md).

    descent: {rule: gradient, step: eta}      p(k+1) = p(k) - eta grad L(p(k))
    descent: {rule: normalised, step: s}      p(k+1) = p(k) - s grad L(p(k)) / |grad L(p(k))|
    descent: {rule: flow}                     dp/dt = -grad L(p)

    start: VECTOR                             one point
    start: {lower: VECTOR, upper: VECTOR}     every point of a box
    start: every                              every point
    start: {cone: {opening: mu, norm: R}}     every p with cos angle(p, p_mm) >= 1 - mu and |p| >= R
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from flint import fmpq

from certattn.kernel.decide.obligation import Obligation, Part, Shared
from certattn.kernel.decide.theorem import BITS, Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.matrices import MatrixInput, Vector
from certattn.kernel.document.quoting import counted
from certattn.kernel.document.schema import (
    ByKey,
    Choice,
    Count,
    Field,
    Kind,
    Listing,
    Rational,
    Reading,
    Record,
    Values,
    Variant,
)
from certattn.kernel.document.tree import Node
from certattn.kernel.mathematics.enclosure import Enclosure, around
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.losses import LOSSES, Loss
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.mathematics.selection_descent import descend, shortfall
from certattn.kernel.mathematics.selection_landscape import landscape
from certattn.kernel.mathematics.token_selection import Selection
from certattn.kernel.theorems.selection.direction_theorems import (
    FROM,
    RATE,
    THEOREMS,
    Conclusion,
    DescentTheorem,
    Situation,
    rate_obligations,
)
from certattn.kernel.theorems.selection.kkt import MULTIPLIERS, kkt_names, optimal, point_of
from certattn.kernel.theorems.selection.mathematics.descents import (
    CONE,
    ENCLOSED,
    EVERY,
    FLOW,
    GRADIENT,
    NORMALISED,
    Cone,
    Rule,
    Start,
)
from certattn.kernel.theorems.selection.mathematics.margin_points import MaxMargin
from certattn.kernel.theorems.selection.mathematics.selection_constants import SelectionConstants
from certattn.kernel.theorems.selection.stated_tokens import (
    INDICES,
    LOSS,
    StatedTokens,
    read_selection,
    read_tokens,
    scored_token_forms,
)

STEP = Field("step", Rational(above=0), "the step eta on L, the average over the inputs")
LENGTH = Field("step", Rational(above=0), "the length s of every step")
_RULES = Variant("rule", {GRADIENT: Record(STEP), NORMALISED: Record(LENGTH), FLOW: Record()})
DESCENT = Field("descent", _RULES, "the rule of descent, and its step")

LOWER = Field("lower", Vector(), "the lower ends of the box")
UPPER = Field("upper", Vector(), "the upper ends of the box")
OPENING = Field("opening", Rational(minimum=0), "mu < 1: the cosine of the angle with p_mm is at least 1 - mu")
NORM = Field("norm", Rational(above=0), "R: the least norm")
CONE_FIELD = Field(CONE, Record(OPENING, NORM), "the cone around p_mm")


class Starts(Kind[MatrixInput | Values | None]):
    """A vector, a box, a cone, or the word `every`, which is None."""

    _box = Record(LOWER, UPPER)
    _cone = Record(CONE_FIELD)
    written = (Vector(), _box, _cone, Choice((EVERY,)))

    def read(self, node: Node, reading: Reading) -> MatrixInput | Values | None:
        if node.value == EVERY:
            return None
        if isinstance(node.value, str):
            raise node.malformed(f"a vector, a box (lower, upper), a cone, or {EVERY!r}")
        if isinstance(node.value, dict) and any(key in node.value for key in self._box.fields):
            return self._box.read(node, reading)
        if isinstance(node.value, dict) and CONE in node.value:
            return self._cone.read(node, reading)
        return Vector().read(node, reading)


START = Field("start", Starts(), "p(0), or a box or a cone of all p(0), or every")
GIVEN = scored_token_forms(LOSS, DESCENT, START)

LIMIT = Field("limit", Vector(), "p_mm, exactly", required=False)
ANGLE_STEP = Field("step", Count(0), "a step k")
ANGLE_TIME = Field("time", Rational(minimum=0), "a time of the flow")
AT_MOST = Field("at_most", Rational(minimum=0), "bound of 1 - cos angle(p(k), p_mm)")
_ANGLES = Listing(ByKey({"time": Record(ANGLE_TIME, AT_MOST), "step": Record(ANGLE_STEP, AT_MOST)}))
ANGLES = Field("angles", _ANGLES, "bounds of 1 - cos angle at some steps or times", required=False)

_NAMED = Variant("name", {name: theorem.record for name, theorem in THEOREMS.items()})
APPLIED = Field("theorem", _NAMED, "the theorem that is applied at p(K), with its parameters")
STEPS = Field("steps", Count(0), "K, the steps that are enclosed before the theorem is applied; 0 if left out", False)

ASSERTS = Record(INDICES, LIMIT, ANGLES, RATE)
WITNESS = Record(MULTIPLIERS, STEPS, APPLIED, BITS)

# So many steps are enclosed in a minute or two.
MOST_STEPS = 1_000_000


# -- what is stated


class StatedAngle(NamedTuple):
    """1 - cos angle(p(k), p_mm) <= at_most at k = `at`."""

    at: fmpq
    at_most: fmpq


class StatedRate(NamedTuple):
    """A bound for all later steps: its form, its numbers, and where it begins."""

    form: str
    values: Values


@dataclass(frozen=True)
class DescentProblem:
    """What is given and asserted, and how it is to be proved."""

    stated: StatedTokens
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


def read(certificate: Certificate) -> DescentProblem:
    """The problem of a certificate; every dimension checked. Raises MalformedError."""
    _, given = GIVEN.read(certificate.given, certificate.reading)
    asserts = ASSERTS.read(certificate.asserts, certificate.reading)
    if certificate.witness is None:
        raise certificate.asserts.malformed("a witness with multipliers and a theorem", "no witness")
    return problem_of(given, asserts, WITNESS.read(certificate.witness, certificate.reading))


def problem_of(given: Values, asserts: Values, witness: Values) -> DescentProblem:
    """The problem in records with at least the required fields of `GIVEN`, `ASSERTS` and `WITNESS`."""
    stated = read_tokens(given)
    selection = read_selection(stated, asserts)
    rule = read_rule(given[DESCENT], selection.tokens.count)
    start = read_start(given[START], selection.tokens.dimension)
    name, values = witness[APPLIED]
    problem = DescentProblem(
        stated,
        selection,
        LOSSES[given[LOSS]],
        rule,
        start,
        parameters=THEOREMS[name].read(values, start, selection, rule),
        solution=point_of(selection, witness[MULTIPLIERS]),
        limit=_read_limit(asserts, selection),
        angles=_read_angles(asserts, rule),
        rate=StatedRate(*asserts[RATE]) if RATE in asserts else None,
        steps=witness.get(STEPS) or 0,
        theorem=THEOREMS[name],
    )
    _require_fit(problem, asserts, witness)
    return problem


def read_rule(stated: tuple[str, Values], inputs: int) -> Rule:
    """The rule of descent for so many inputs."""
    kind, values = stated
    return Rule(kind, None if kind == FLOW else values[STEP], inputs)


def read_start(stated: MatrixInput | Values | None, dimension: int) -> Start:
    """The start, of the dimension of the keys. Raises MalformedError."""
    if stated is None:
        return Start()
    if isinstance(stated, MatrixInput):
        stated.require_length(dimension, "a key")
        point = stated.load()
        return Start((point, point))
    if CONE_FIELD in stated:
        return Start(cone=_read_cone(stated[CONE_FIELD]))
    for end in (stated[LOWER], stated[UPPER]):
        end.require_length(dimension, "a key")
    lower, upper = stated[LOWER].load(), stated[UPPER].load()
    for axis, (low, high) in enumerate(zip(lower.row(0), upper.row(0), strict=True)):
        if low > high:
            raise stated.at.malformed("lower <= upper in every coordinate", f"coordinate {axis} turned round")
    return Start((lower, upper))


def _read_cone(stated: Values) -> Cone:
    if stated[OPENING] >= 1:
        expected = "an opening mu < 1, where the cosine is at least 1 - mu"
        raise stated.node(OPENING).malformed(expected, describe(stated[OPENING]))
    return Cone(stated[OPENING], stated[NORM])


def _read_limit(asserts: Values, selection: Selection) -> ExactMatrix | None:
    if LIMIT not in asserts:
        return None
    asserts[LIMIT].require_length(selection.tokens.dimension, "a key")
    return asserts[LIMIT].load()


def _read_angles(asserts: Values, rule: Rule) -> list[StatedAngle]:
    found = []
    for form, values in asserts.items(ANGLES):
        if (form == "step") is not rule.discrete:
            expected = "a step, as descent goes in steps" if rule.discrete else "a time, as the flow has no steps"
            raise values.at.malformed(expected, f"a {form}")
        at = fmpq(values[ANGLE_STEP]) if form == "step" else values[ANGLE_TIME]
        found.append(StatedAngle(at, values[AT_MOST]))
    return found


def _require_fit(problem: DescentProblem, asserts: Values, witness: Values) -> None:
    """That rule, start, steps, theorem, angles and rate fit each other."""
    theorem, rule, start, steps = problem.theorem, problem.rule, problem.start, problem.steps
    if rule.kind not in theorem.rules:
        expected = f"a theorem about the rule {rule.kind}; {theorem.name!r} is about {' and '.join(theorem.rules)}"
        raise witness.node(APPLIED).malformed(expected, f"the theorem {theorem.name!r}")
    if steps > MOST_STEPS:
        raise witness.node(STEPS).malformed(f"at most {MOST_STEPS} steps", counted(steps, "step"))
    if steps > 0 and not rule.discrete:
        raise witness.node(STEPS).malformed("no steps, as the flow is not enclosed", counted(steps, "step"))
    delay = theorem.delay(problem.parameters)
    if rule.discrete and delay is not None and delay.q != 1:
        raise witness.node(APPLIED).malformed("a whole number of steps", describe(delay))
    if start.kind not in theorem.starts:
        able = ", ".join(repr(name) for name, other in THEOREMS.items() if start.kind in other.starts)
        expected = f"a theorem about a start of the kind {start.kind!r}: {able}"
        raise witness.node(APPLIED).malformed(expected, f"the theorem {theorem.name!r}")
    if start.kind != ENCLOSED and steps > 0:
        raise witness.node(STEPS).malformed("no steps, as none is enclosed from such a start")
    for field in (ANGLES, RATE):
        if start.kind != ENCLOSED and field in asserts:
            raise asserts.node(field).malformed("no bounds of angles from such a start: none holds for all of it")
    if start.is_origin() and any(angle.at == 0 for angle in problem.angles):
        raise asserts.node(ANGLES).malformed("angles after the start, which is 0 and has no direction")
    _require_later(problem, asserts)


def _require_later(problem: DescentProblem, asserts: Values) -> None:
    """Later angles and rates must lie where the theorem speaks."""
    begins, theorem = problem.rate_begins, problem.theorem
    later = [angle.at for angle in problem.angles if not problem.is_direct(angle)]
    if problem.rate is not None:
        if problem.rate.form != theorem.rate_form:
            expected = f"a rate of the form {theorem.rate_form}, as the theorem {theorem.name!r} has"
            raise asserts.node(RATE).malformed(expected, f"the form {problem.rate.form}")
        later.append(problem.rate.values[FROM])
    for at in later:
        if begins is None:
            expected = f"bounds of angles up to {problem.steps} only, as the witness leads to no rate"
            raise asserts.at.malformed(expected, describe(at))
        if at < begins:
            expected = f"later bounds of angles from {describe(begins)} on, where the rate begins"
            raise asserts.at.malformed(expected, describe(at))


# -- what proves it


class _Descent:
    """What is enclosed of a descent, at the working precision at which it is made."""

    def __init__(self, problem: DescentProblem) -> None:
        self.constants = SelectionConstants(problem.selection, problem.loss, problem.solution)
        self.enclosures: dict[int, Enclosure] = {}
        surface = landscape(problem.selection, problem.loss)
        if problem.start.kind == ENCLOSED:
            stops = [int(angle.at.p) for angle in problem.angles if problem.is_direct(angle)]
            step = problem.rule.on(surface)
            self.enclosures = descend(step, around(problem.start.balls()), problem.steps, stops)
        last = self.enclosures.get(problem.steps)
        self.situation = Situation(self.constants, surface, problem.rule, last.box if last is not None else None)


def obligations(problem: DescentProblem) -> Iterator[Obligation]:
    """The conditions of the max-margin point first: everything else rests on them."""
    needs = kkt_names("p_mm")
    yield from optimal("p_mm", lambda: problem.solution.conditions)
    if problem.limit is not None:
        yield Obligation("limit", problem.limit, "=", lambda: problem.solution.solution, needs=needs)
    descent = Shared(lambda: _Descent(problem))
    conclusion = problem.theorem.apply(lambda: descent().situation, problem.parameters, problem.selection, needs)
    yield from conclusion.conditions
    later = [each.name for each in conclusion.conditions]
    for index, angle in enumerate(problem.angles):
        if problem.is_direct(angle):
            yield _direct(f"angles[{index}]", angle, descent, needs)
        else:
            yield _later(f"angles[{index}]", angle, problem, conclusion)
    if problem.rate is not None:
        assert conclusion.rate is not None
        assert problem.rate_begins is not None
        form, values = problem.rate
        yield from rate_obligations(form, values, conclusion.rate, values[FROM] - problem.rate_begins, later)


def _direct(name: str, angle: StatedAngle, descent: Shared[_Descent], needs: list[str]) -> Obligation:
    """Where p(k) is enclosed: what is compared is the stated quantity itself."""
    at = int(angle.at.p)
    value = lambda: shortfall(descent().enclosures[at], descent().constants.direction)  # noqa: E731
    return Obligation(name, value, "<=", angle.at_most, needs=needs)


def _later(name: str, angle: StatedAngle, problem: DescentProblem, conclusion: Conclusion) -> Obligation:
    """What the theorem says of later steps: nothing where one of its conditions is false."""
    rate, begins, needs = conclusion.rate, problem.rate_begins, [each.name for each in conclusion.conditions]
    assert rate is not None
    assert begins is not None
    elapsed: fmpq = angle.at - begins
    return Obligation(name, lambda: rate().at(elapsed), "<=", angle.at_most, Part.WITNESS, needs)


_TITLE = "the direction that descent on the loss of token selection converges to"
THEOREM = Theorem("selection-direction", _TITLE, GIVEN, ASSERTS, WITNESS, read, obligations)
