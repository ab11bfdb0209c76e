"""Theorem `selection-direction`: where descent on the loss of token selection goes.

Keys k_it and scores gamma_it of the tokens of n inputs, a loss l, and

    L(p) = (1/n) sum_i l( sum_t gamma_it s_it ),     s_i = softmax of <k_it, p> over t.

A certificate asserts that descent by a stated rule from a stated p(0) (or every p(0) of a box, or every p(0)) has
|p(k)| -> infinity and p(k) / |p(k)| -> p_mm / |p_mm|, p_mm being the one point of least norm with
<k_i alpha_i - k_it, p> >= 1 for all t != alpha_i; and it may assert p_mm itself, a rate for 1 - cos angle(p(k), p_mm),
and bounds of that, of the chosen tokens' weights, of the loss and of |p(k)| at some k or all k >= k0
(`direction_bounds`).

With queries q_i, all of this is about a matrix W in the place of p, |W| of Frobenius, and k_it' W q_i = <k_it q_i', W>
in the place of <k_it, p>.

Proof: p_mm by its KKT conditions; p(K) is enclosed, by K steps or by Taylor polynomials up to the time K; a theorem
whose conditions are proved at p(K) says the rest (Ataee Tarzanagh, Li, Zhang and Oymak 2023, theorems 1 to 3, in
explicit form: docs/claims/selection/selection-direction.md).

    descent: {rule: gradient, step: eta}      p(k+1) = p(k) - eta grad L(p(k))
    descent: {rule: normalised, step: s}      p(k+1) = p(k) - s grad L(p(k)) / |grad L(p(k))|
    descent: {rule: flow}                     dp/dt = -grad L(p)

    start: VECTOR                             one point
    start: {lower: VECTOR, upper: VECTOR}     every point of a box; matrices in the place of vectors, of W
    start: every                              every point
    start: {cone: {opening: mu, norm: R}}     every p with cos angle(p, p_mm) >= 1 - mu and |p| >= R
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from flint import arb, fmpq

from certattn.kernel.decide.obligation import NoProof, Obligation, Part, Range, Relation, Shared
from certattn.kernel.decide.theorem import BITS, Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.matrices import MatrixInput
from certattn.kernel.document.schema import (
    Choice,
    Count,
    Field,
    Kind,
    Rational,
    Reading,
    Record,
    Values,
    Variant,
)
from certattn.kernel.document.tree import Node
from certattn.kernel.mathematics.bundled_descent import carried_along, every_one
from certattn.kernel.mathematics.enclosure import Enclosure, around
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.leaping_descent import leap_along
from certattn.kernel.mathematics.losses import LOSSES, Loss
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.mathematics.selection_flow import SelectionFlow, flow
from certattn.kernel.mathematics.selection_landscape import GradientStep, landscape
from certattn.kernel.mathematics.token_selection import Selection
from certattn.kernel.theorems.selection.direction_bounds import (
    ANGLES,
    GAPS,
    NORMS,
    WEIGHTS,
    StatedBound,
    read_bounds,
)
from certattn.kernel.theorems.selection.direction_theorems import (
    FROM,
    OFFSET,
    RATE,
    RATE_FIELDS,
    SLOPE,
    THEOREMS,
    Conclusion,
    DescentTheorem,
    Situation,
    rate_at,
)
from certattn.kernel.theorems.selection.mathematics.margin_points import MaxMargin
from certattn.kernel.theorems.selection.mathematics.selection_constants import (
    CONE,
    ENCLOSED,
    EVERY,
    FLOW,
    GRADIENT,
    NORMALISED,
    Cone,
    Rule,
    SelectionConstants,
    Start,
    largest,
)
from certattn.kernel.theorems.selection.stated_tokens import (
    INDICES,
    LIMIT,
    LOSS,
    MULTIPLIERS,
    PointKind,
    StatedTokens,
    kkt_names,
    optimal,
    point_of,
    read_point,
    read_sections,
    read_selection,
    read_tokens,
    scored_token_forms,
)

STEP = Field("step", Rational(above=0), "the step eta on L, the average over the inputs")
LENGTH = Field("step", Rational(above=0), "the length s of every step")
_RULES = Variant("rule", {GRADIENT: Record(STEP), NORMALISED: Record(LENGTH), FLOW: Record()})
DESCENT = Field("descent", _RULES, "the rule of descent, and its step")

LOWER = Field("lower", PointKind(), "the lower ends of the box")
UPPER = Field("upper", PointKind(), "the upper ends of the box")
OPENING = Field("opening", Rational(minimum=0), "mu < 1: the cosine of the angle with p_mm is at least 1 - mu")
NORM = Field("norm", Rational(above=0), "R: the least norm")
CONE_FIELD = Field(CONE, Record(OPENING, NORM), "the cone around p_mm")


class Starts(Kind[MatrixInput | Values | None]):
    """A point, a box, a cone, or the word `every`, which is None."""

    _box = Record(LOWER, UPPER)
    _cone = Record(CONE_FIELD)
    written = (PointKind(), _box, _cone, Choice((EVERY,)))

    def read(self, node: Node, reading: Reading) -> MatrixInput | Values | None:
        if node.value == EVERY:
            return None
        if isinstance(node.value, str):
            raise node.malformed(f"a vector, a box (lower, upper), a cone, or {EVERY!r}")
        for form in (self._box, self._cone):
            if isinstance(node.value, dict) and any(key in node.value for key in form.fields):
                return form.read(node, reading)
        return PointKind().read(node, reading)


START = Field("start", Starts(), "p(0), or a box or a cone of all p(0), or every")
GIVEN = scored_token_forms(LOSS, DESCENT, START)

_NAMED = Variant("name", {name: theorem.record for name, theorem in THEOREMS.items()})
APPLIED = Field("theorem", _NAMED, "the theorem that is applied at p(K), with its parameters")
TIME = Field("time", Rational(minimum=0), "of the flow: K, up to which it is enclosed first; 0 if left out", False)
STEPS = Field("steps", Count(0), "K, the steps that are enclosed before the theorem is applied; 0 if left out", False)

_LEAPS = "many gradient steps are enclosed at once, where that adds at most this times a few log K to the error"
LEAPS = Field("leaps", Rational(above=0), _LEAPS, required=False)

ASSERTS = Record(INDICES, LIMIT, ANGLES, RATE, WEIGHTS, GAPS, NORMS)
WITNESS = Record(MULTIPLIERS, STEPS, LEAPS, TIME, APPLIED, BITS)

# So many steps are enclosed in a minute or two: one by one, and in leaps.
MOST_STEPS, MOST_IN_LEAPS = 10**6, 10**12

# So long after its beginning a rate is compared with the least angle that is proved.
_LOOKED_AT = tuple(fmpq(k) for k in (0, *(10**e for e in range(31))))
_OF = {ANGLES.name: "an angle", WEIGHTS.name: "a weight", GAPS.name: "a loss", NORMS.name: "a norm"}


# -- what is stated


@dataclass(frozen=True)
class DescentProblem:
    """What is given and asserted, and how it is to be proved: the theorem is applied after `steps` steps, at `time`."""

    stated: StatedTokens
    selection: Selection
    loss: Loss
    rule: Rule
    start: Start
    solution: MaxMargin
    limit: ExactMatrix | None
    asserts: Values
    bounds: list[StatedBound]
    steps: int
    time: fmpq
    leaps: fmpq | None
    theorem: DescentTheorem
    parameters: Any

    @cached_property
    def descent(self) -> Shared[Descent]:
        """What is enclosed, at the working precision."""
        return Shared(lambda: Descent(self))

    @cached_property
    def conclusion(self) -> Conclusion:
        """What the theorem says, where its parameters fit."""
        situated = lambda: self.descent().situation  # noqa: E731
        return self.theorem.apply(situated, self.parameters, self.selection, kkt_names("p_mm"))

    @property
    def enclosed(self) -> fmpq:
        """K: the step or the time up to which descent is enclosed."""
        return fmpq(self.steps) if self.rule.discrete else self.time

    @property
    def rate_form(self) -> str:
        """Of the theorem's rate for this rule."""
        return self.theorem.rules[self.rule.kind]

    @property
    def rate_begins(self) -> fmpq | None:
        """From when on the theorem's rate holds; None where it gives none."""
        return None if self.conclusion.rate is None else self.enclosed + self.conclusion.delay

    def is_direct(self, bound: StatedBound) -> bool:
        """Whether it is about one p(k) that is enclosed itself: at k <= K."""
        return not bound.ever and self.start.kind == ENCLOSED and bound.at <= self.enclosed


def read(certificate: Certificate) -> DescentProblem:
    """The problem of a certificate; every dimension checked. Raises MalformedError."""
    return problem_of(*read_sections(certificate, GIVEN, ASSERTS, WITNESS, "multipliers and a theorem"))


def problem_of(given: Values, asserts: Values, witness: Values) -> DescentProblem:
    """The problem in records with at least the required fields of `GIVEN`, `ASSERTS` and `WITNESS`."""
    stated = read_tokens(given)
    selection = read_selection(stated, asserts)
    rule = read_rule(given[DESCENT], selection.tokens.count)
    start = read_start(given[START], stated)
    bounds = read_bounds(asserts, rule)
    limit = read_point(asserts[LIMIT], stated.shape, stated.variable) if LIMIT in asserts else None
    solution, (name, values) = point_of(selection, witness[MULTIPLIERS]), witness[APPLIED]
    theorem, loss, steps = THEOREMS[name], LOSSES[given[LOSS]], witness.get(STEPS) or 0
    time = witness.get(TIME) or fmpq(0)
    parameters = theorem.read(values, start, selection, rule)
    return DescentProblem(
        stated,
        selection,
        loss,
        rule,
        start,
        solution,
        limit,
        asserts,
        bounds,
        steps,
        time,
        witness.get(LEAPS),
        theorem,
        parameters,
    )


def read_rule(stated: tuple[str, Values], inputs: int) -> Rule:
    """The rule of descent for so many inputs."""
    kind, values = stated
    return Rule(kind, None if kind == FLOW else values[STEP], inputs)


def read_start(stated: MatrixInput | Values | None, tokens: StatedTokens) -> Start:
    """The start, of the shape of p or W. Raises MalformedError."""
    if stated is None:
        return Start()
    if isinstance(stated, MatrixInput):
        return Start((read_point(stated, tokens.shape, tokens.variable),) * 2)
    if CONE_FIELD in stated:
        cone = stated[CONE_FIELD]
        if cone[OPENING] >= 1:
            expected = "an opening mu < 1, where the cosine is at least 1 - mu"
            raise cone.node(OPENING).malformed(expected, describe(cone[OPENING]))
        return Start(cone=Cone(cone[OPENING], cone[NORM]))
    lower, upper = (read_point(stated[end], tokens.shape, tokens.variable) for end in (LOWER, UPPER))
    for axis, (low, high) in enumerate(zip(lower.row(0), upper.row(0), strict=True)):
        if low > high:
            raise stated.at.malformed("lower <= upper in every coordinate", f"coordinate {axis} turned round")
    return Start((lower, upper))


# -- what proves it


class Descent:
    """What is enclosed of a descent, at the working precision at which it is made."""

    def __init__(self, problem: DescentProblem) -> None:
        constants = SelectionConstants(problem.selection, problem.loss, problem.solution)
        surface = landscape(problem.selection, problem.loss)
        last = None
        if problem.start.kind == ENCLOSED:
            start = around(problem.start.balls())
            # Those that bounds are about, or begin at.
            stops = [bound.at for bound in problem.bounds if bound.at <= problem.enclosed]
            found: Mapping[int, Enclosure] | Mapping[fmpq, Enclosure]
            if problem.rule.discrete:
                step, steps = problem.rule.on(surface), [int(stop.p) for stop in stops]
                if problem.leaps is not None and isinstance(step, GradientStep):
                    found = leap_along(step, start, problem.steps, steps, problem.leaps)
                else:
                    found = carried_along(step, problem.start.enclosed(step), problem.steps, steps)
            else:
                found = flow(SelectionFlow(surface, arb(problem.rule.unit)), start, {*stops, problem.time})
            self._found = {fmpq(stop): each for stop, each in found.items()}
            last = self._found[problem.enclosed].box
        self.situation = Situation(constants, surface, problem.rule, last)
        self.problem = problem

    def at(self, bound: StatedBound) -> arb:
        """What is bounded, where it is enclosed."""
        return bound.quantity.of(self.situation, self._found[bound.at])

    @cached_property
    def extremes(self) -> dict[StatedBound, arb]:
        """Of every bound that begins before K, the worst value at its steps before K: not finite if one is unknown."""
        early = [bound for bound in self.problem.bounds if bound.ever and bound.at < self.problem.steps]
        first = min(bound.at for bound in early)
        step, found = self.problem.rule.on(self.situation.landscape), dict[StatedBound, arb]()
        run = every_one(step, self._found[first], self.problem.steps - int(first.p))
        for k, here in enumerate(run, int(first.p)):
            for bound in early:
                if bound.at <= k:
                    value = bound.quantity.of(self.situation, here)
                    found[bound] = bound.worse(found[bound], value) if bound in found else value
        # A run that is lost ends early.
        return {bound: found.get(bound, arb.nan()) for bound in early}


def unfit(problem: DescentProblem) -> str | None:
    """Why the theorem of the witness says nothing of this descent, whatever the numbers."""
    theorem, rule, start, steps = problem.theorem, problem.rule, problem.start, problem.steps
    if isinstance(problem.parameters, str):
        return problem.parameters
    if rule.kind not in theorem.rules:
        return f"it is about the rule {' and '.join(theorem.rules)}, not about {rule.kind} descent"
    if start.kind not in theorem.starts:
        able = ", ".join(repr(name) for name, other in THEOREMS.items() if start.kind in other.starts)
        return f"it is not about a start of the kind {start.kind!r}, as {able} is"
    if steps > 0 and not (rule.discrete and start.kind == ENCLOSED):
        return "only descent in steps from a point or a box is enclosed: here the witness may have no steps"
    if problem.time > 0 and (rule.discrete or start.kind != ENCLOSED):
        return "only the flow from a point or a box is enclosed up to a time: here the witness may have none"
    if problem.leaps is not None and rule.kind != GRADIENT:
        return "only gradient steps are enclosed in leaps: here the witness may have no leaps"
    most, how = (MOST_STEPS, "one by one") if problem.leaps is None else (MOST_IN_LEAPS, "in leaps")
    if steps > most:
        return f"at most {most} steps are enclosed {how}, and these are {steps}"
    return None


def obligations(problem: DescentProblem) -> Iterator[Obligation | NoProof]:
    """The conditions of the max-margin point first: everything else rests on them."""
    needs, asserts = kkt_names("p_mm"), problem.asserts
    yield from optimal("p_mm", lambda: problem.solution.conditions)
    if problem.limit is not None:
        yield Obligation("limit", problem.limit, "=", lambda: problem.solution.solution, needs=needs)
    reason = unfit(problem)
    if reason is not None:
        yield NoProof(problem.theorem.name, reason)
        return
    yield from problem.conclusion.conditions
    for bound in problem.bounds:
        yield from _bound(bound, problem)
    if RATE in asserts:
        yield from _rate(*asserts[RATE], problem)


def _bound(bound: StatedBound, problem: DescentProblem) -> Iterator[Obligation | NoProof]:
    """Of p(k) as it is enclosed, and what the theorem says of later ones: nothing where a condition is false."""
    name, at, box, conclusion, descent = bound.name, bound.at, problem.start.box, problem.conclusion, problem.descent
    needs, later = kkt_names("p_mm"), f"{name}.later" if bound.ever else name
    if bound.kind == ANGLES.name and box is not None and at == 0 and all(end.is_zero() for end in box):
        yield NoProof(name, "the start is 0, and has no direction")
        return
    # Where p(k) is enclosed, what is compared is the stated quantity itself.
    if problem.is_direct(bound):
        yield Obligation(name, lambda: descent().at(bound), bound.relation, bound.bound, needs=needs)
        return
    rate, begins = conclusion.rate, problem.rate_begins
    # From an earlier one on every step is looked at, one by one; between its stops the flow is not enclosed.
    early = bound.ever and problem.rule.discrete and begins == problem.enclosed and begins - at <= MOST_STEPS
    follows = begins is not None and (at >= begins or early)
    if rate is None or begins is None or not follows:
        remedy = f": expected `from` of at least {describe(begins)}" if bound.ever and begins is not None else ""
        yield NoProof(later, _no_rate(problem) + remedy)
        return
    both = conclusion.both
    if both is None and not bound.is_usual:
        side = "upper" if bound.relation == "<=" else "lower"
        yield NoProof(
            later,
            f"no {side} bound of {_OF[bound.kind]} is proved after {describe(problem.enclosed)}, where nothing is "
            f"enclosed, by the theorem {problem.theorem.name!r}",
        )
        return
    if at < begins:
        yield Obligation(
            f"{name}.enclosed", lambda: descent().extremes[bound], bound.relation, bound.bound, needs=needs
        )
    elapsed, conditions = max(at - begins, fmpq(0)), [each.name for each in conclusion.conditions]
    if both is not None:
        # From both sides: what is beyond the other end is false.
        between = lambda: bound.between(both(), elapsed)  # noqa: E731
        yield Obligation(later, between, bound.relation, bound.bound, Part.STATEMENT, conditions)
        return
    number = lambda: bound.quantity.later(rate(), elapsed)  # noqa: E731
    yield Obligation(later, number, bound.relation, bound.bound, Part.WITNESS, conditions)


def _rate(form: str, stated: Values, problem: DescentProblem) -> Iterator[Obligation | NoProof]:
    """That a stated rate is implied by the one that is proved."""
    conclusion, begins, theorem = problem.conclusion, problem.rate_begins, problem.theorem
    if conclusion.rate is None or begins is None or stated[FROM] < begins:
        yield NoProof(RATE.name, _no_rate(problem))
    elif form != problem.rate_form:
        yield NoProof(RATE.name, f"the theorem {theorem.name!r} has a rate of the form {problem.rate_form} here")
    else:
        rate, elapsed, needs = conclusion.rate, stated[FROM] - begins, [each.name for each in conclusion.conditions]
        proved = Shared[Sequence[arb | Range]](lambda: rate().proved(elapsed))
        if (both := conclusion.both) is not None:
            # A rate that the angle at some step is proved to exceed is false, whatever its numbers are compared with.
            first = stated[FROM].ceil() - stated[FROM] if problem.rule.discrete else 0
            excess = lambda: largest(  # noqa: E731
                both().least_angle(elapsed + later).lower() - rate_at(form, stated, later)
                for later in (first + k for k in _LOOKED_AT)
            )
            yield Obligation("rate.exceeded", excess, "<=", fmpq(0), Part.STATEMENT, needs)
        for k, field in enumerate(RATE_FIELDS[form]):
            # The logarithm's argument is to be no larger, all other numbers no smaller.
            relation: Relation = "<=" if field in (OFFSET, SLOPE) else ">="
            number = lambda k=k: proved()[k]  # noqa: E731
            yield Obligation(f"rate.{field.name}", stated[field], relation, number, Part.WITNESS, needs)


def _no_rate(problem: DescentProblem) -> str:
    begins, last = problem.rate_begins, describe(problem.enclosed)
    if begins is None:
        return f"the witness leads to no rate: bounds hold up to {last} from a point or a box, and not later"
    return f"later bounds hold from {describe(begins)} on, where the rate begins"


_TITLE = "the direction that descent on the loss of token selection converges to"
THEOREM = Theorem("selection-direction", _TITLE, GIVEN, ASSERTS, WITNESS, read, obligations)
