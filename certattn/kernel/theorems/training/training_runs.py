"""What a certificate of `training-convergence` states, read and checked: the problem of that claim.

Covariance, start and rule of training under `given`; risk, rate, length and limit under `asserts`; under `witness`
until when the run is enclosed step by step, before rates alone say the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from flint import fmpq

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.fields import Choice, Count, Field, Listing, Rational, Record, Values
from certattn.kernel.document.forms import Variant
from certattn.kernel.document.matrices import Matrix
from certattn.kernel.document.tree import Node
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.training.mathematics.regression import Parameters
from certattn.kernel.theorems.training.regression_inputs import (
    COVARIANCE,
    START,
    exact_regression,
    parameters_words,
    read_covariance,
    read_parameters,
)

FLOW, DESCENT = "flow", "descent"
STEP = Field("step", Rational(above=0), "the step eta")
TRAINING = Field(
    "training",
    Variant("rule", {FLOW: Record(), DESCENT: Record(STEP)}),
    "the gradient flow of R, or gradient descent on it",
)
GIVEN = Record(COVARIANCE, START, TRAINING)

FROM = Field("from", Rational(minimum=0), "time or step from which the rate holds; 0 if left out", required=False)
RISK = Field("risk", Rational(minimum=0), "bound of R at that time")
RATE = Field("rate", Rational(above=0), "the rate c")
LENGTH = Field("length", Rational(minimum=0), "bound of the length of the path from then on", required=False)
SIGNS = ("positive", "negative")
SIGN = Field("sign", Choice(SIGNS), "the sign of b")
LIMIT_A = Field("A", Matrix(), "A in the limit, up to the radius", required=False)
LIMIT_B = Field("b", Rational(), "b in the limit, up to the radius", required=False)
RADIUS = Field("radius", Rational(minimum=0), "Euclidean distance of (A, b) from the limit, at most", required=False)
LOWER = Field("lower", Rational(), "lower bound")
UPPER = Field("upper", Rational(), "upper bound")
INVARIANT = Field("invariant", Record(LOWER, UPPER), "bounds of |A|_F^2 - b^2 in the limit", required=False)
LIMIT = Field("limit", Record(SIGN, LIMIT_A, LIMIT_B, RADIUS, INVARIANT), "the point that training reaches", False)
AT = Field("at", Rational(minimum=0), "a time, or a step")
AT_MOST = Field("at_most", Rational(minimum=0), "bound of R there")
RISKS = Field("risks", Listing(Record(AT, AT_MOST)), "bounds of R at some times or steps", required=False)
ASSERTS = Record(FROM, RISK, RATE, LENGTH, LIMIT, RISKS)

ENCLOSED = Field(
    "enclosed",
    Rational(minimum=0),
    "the run is enclosed until then, and bounded by rates after it; `from` if left out",
    False,
)
ORDER = Field("order", Count(1), "order of the Taylor polynomials that enclose the flow", required=False)
WITNESS = Record(ENCLOSED, ORDER)

DEFAULT_ORDER = 20
MOST_ORDER = 60
# So many steps of descent are enclosed in some minutes, so many steps along the flow in some seconds.
MOST_STEPS = 100_000
MOST_FLOW_STEPS = 2_000


@dataclass(frozen=True)
class Rule:
    """The flow, or descent with the step `step`."""

    step: fmpq | None

    @property
    def discrete(self) -> bool:
        return self.step is not None

    @property
    def time(self) -> str:
        return "k" if self.discrete else "t"

    def words(self) -> str:
        if self.step is None:
            return "the gradient flow (A, b)' = -grad R(A, b)"
        return f"gradient descent (A, b) -> (A, b) - eta grad R(A, b) with eta = {describe(self.step)}"


@dataclass(frozen=True)
class StatedLimit:
    """What is said of the limit: the sign of b; (A, b) up to `radius`, and bounds of the invariant, where stated."""

    positive: bool
    point: tuple[Parameters, fmpq] | None
    invariant: tuple[fmpq, fmpq] | None
    point_words: str


@dataclass(frozen=True)
class StatedRisk:
    """R <= at_most at a time or step."""

    at: fmpq
    at_most: fmpq


@dataclass(frozen=True)
class Problem:
    """What is given and asserted, and how it is to be proved."""

    covariance: ExactMatrix
    covariance_words: str
    start: Parameters
    start_words: str
    rule: Rule
    begins: fmpq
    risk: fmpq
    rate: fmpq
    length: fmpq | None
    limit: StatedLimit | None
    risks: list[StatedRisk]
    enclosed: fmpq
    order: int

    @cached_property
    def start_risk(self) -> fmpq:
        """R at the start, exactly."""
        risk: fmpq = exact_regression(self.covariance).risk(self.start)
        return risk

    @property
    def trace(self) -> fmpq:
        """tr Sigma."""
        return self.covariance.trace()

    @cached_property
    def times(self) -> list[fmpq]:
        """The times at which the run is enclosed."""
        return sorted({self.enclosed, *(stated.at for stated in self.risks if stated.at <= self.enclosed)})


def read_problem(certificate: Certificate) -> Problem:
    """The problem of a certificate; every dimension checked. Raises MalformedError."""
    given = GIVEN.read(certificate.given, certificate.reading)
    asserts = ASSERTS.read(certificate.asserts, certificate.reading)
    witness = WITNESS.read(certificate.witness, certificate.reading) if certificate.witness is not None else None
    covariance = read_covariance(given[COVARIANCE])
    kind, stated = given[TRAINING]
    rule = Rule(stated[STEP] if kind == DESCENT else None)
    begins = _time(asserts, FROM, rule) or fmpq(0)
    return Problem(
        covariance=covariance,
        covariance_words=given[COVARIANCE].words(),
        start=read_parameters(given[START], covariance.rows),
        start_words=parameters_words(given[START]),
        rule=rule,
        begins=begins,
        risk=asserts[RISK],
        rate=asserts[RATE],
        length=asserts.get(LENGTH),
        limit=_limit(asserts.get(LIMIT), covariance.rows),
        risks=[_risk(item, rule) for item in asserts.get(RISKS) or []],
        enclosed=_enclosed(witness, begins, rule, asserts),
        order=_taylor_order(witness),
    )


def _time(values: Values, field: Field[fmpq], rule: Rule) -> fmpq | None:
    """A time of the flow, or a step of descent. Raises MalformedError."""
    time = values.get(field)
    if time is not None and rule.discrete and time.q != 1:
        raise values.node(field).malformed("a whole number of steps")
    return time


def _risk(item: Values, rule: Rule) -> StatedRisk:
    time = _time(item, AT, rule)
    assert time is not None
    return StatedRisk(time, item[AT_MOST])


def _enclosed(witness: Values | None, begins: fmpq, rule: Rule, asserts: Values) -> fmpq:
    """Until when the run is enclosed. Raises MalformedError."""
    stated = _time(witness, ENCLOSED, rule) if witness is not None else None
    enclosed = begins if stated is None else stated
    place: Node = asserts.at if witness is None or stated is None else witness.node(ENCLOSED)
    if enclosed > begins:
        raise place.malformed(f"a time that is not after asserts.from, which is {describe(begins)}", describe(enclosed))
    if rule.discrete and enclosed > MOST_STEPS:
        raise place.malformed(
            f"at most {MOST_STEPS} steps that are enclosed (witness.enclosed)", f"{describe(enclosed)} steps"
        )
    return enclosed


def _taylor_order(witness: Values | None) -> int:
    order = witness.get(ORDER) if witness is not None else None
    if order is None or witness is None:
        return DEFAULT_ORDER
    if order > MOST_ORDER:
        raise witness.node(ORDER).malformed(f"an order of at most {MOST_ORDER}")
    return order


def _limit(stated: Values | None, dimension: int) -> StatedLimit | None:
    if stated is None:
        return None
    parts = [field for field in (LIMIT_A, LIMIT_B, RADIUS) if field in stated]
    if parts and len(parts) < 3:
        raise stated.at.malformed("A, b and radius together, or none of them", f"only {parts[0].name}")
    point, words = None, ""
    if parts:
        stated[LIMIT_A].require_shape(dimension, dimension, "like the covariance")
        point = (Parameters(stated[LIMIT_A].load(), stated[LIMIT_B]), stated[RADIUS])
        words = f"A = {stated[LIMIT_A].words()} and b = {describe(stated[LIMIT_B])}"
    invariant = stated.get(INVARIANT)
    bounds = None
    if invariant is not None:
        bounds = (invariant[LOWER], invariant[UPPER])
        if bounds[0] > bounds[1]:
            raise invariant.at.malformed("a lower bound that is not above the upper one")
    return StatedLimit(stated[SIGN] == SIGNS[0], point, bounds, words)
