"""What a certificate of `flow-trajectory` states, read and checked: the problem of that claim.

given:   covariance, start {A, b}
asserts: points, each {time, A, b, radius}, perhaps with risk {lower, upper}, bayes and tube
witness: order of the Taylor polynomials, bits to begin with
"""

from __future__ import annotations

from dataclasses import dataclass

from flint import fmpq

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.fields import Count, Field, Listing, Rational, Record, Values
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.training.mathematics.regression import Parameters
from certattn.kernel.theorems.training.regression_inputs import (
    COVARIANCE,
    PARAMETERS,
    START,
    parameters_words,
    read_covariance,
    read_parameters,
)

GIVEN = Record(COVARIANCE, START)

TIME = Field("time", Rational(above=0), "a time t of the flow")
RADIUS = Field("radius", Rational(minimum=0), "Euclidean distance of (A(t), b(t)) from the stated A and b, at most")
LOWER = Field("lower", Rational(), "lower bound")
UPPER = Field("upper", Rational(), "upper bound")
RISK = Field("risk", Record(LOWER, UPPER), "bounds of R at the time", required=False)
BAYES = Field(
    "bayes",
    Rational(minimum=0),
    "distance from the zero of R with the same |A|_F^2 - b^2 and sign of b, at most",
    required=False,
)
TUBE = Field(
    "tube",
    Rational(minimum=0),
    "distance from the straight line between the point before (the start) and this one, at most, at all times between",
    required=False,
)
POINT = Record(TIME, *PARAMETERS.fields.values(), RADIUS, RISK, BAYES, TUBE)
POINTS = Field("points", Listing(POINT), "where the flow is at some times, each after the one before")
ASSERTS = Record(POINTS)

LEAST_ORDER, MOST_ORDER = 8, 100
ORDER = Field("order", Count(LEAST_ORDER), f"order of the Taylor polynomials, at most {MOST_ORDER}", required=False)
BITS = Field("bits", Count(2), "working precision at which to begin", required=False)
WITNESS = Record(ORDER, BITS)


@dataclass(frozen=True)
class StatedPoint:
    """What is said of one time, and of the time since the point before."""

    time: fmpq
    parameters: Parameters
    words: str
    radius: fmpq
    risk: tuple[fmpq, fmpq] | None
    bayes: fmpq | None
    tube: fmpq | None


@dataclass(frozen=True)
class Problem:
    """What is given and asserted; `order` of the Taylor polynomials where the witness states one."""

    covariance: ExactMatrix
    covariance_words: str
    start: Parameters
    start_words: str
    points: list[StatedPoint]
    order: int | None


def read_problem(certificate: Certificate) -> Problem:
    """The problem of a certificate; every dimension checked. Raises MalformedError."""
    given = GIVEN.read(certificate.given, certificate.reading)
    asserts = ASSERTS.read(certificate.asserts, certificate.reading)
    covariance = read_covariance(given[COVARIANCE])
    start = read_parameters(given[START], covariance.rows)
    for values in asserts[POINTS]:
        if BAYES in values and is_at_rest(covariance, start):
            expected = "a start that moves: where b = 0 and tr(A'Sigma^2) = 0 the flow rests, and b has no sign"
            raise values.node(BAYES).malformed(expected, describe(values[BAYES]))
    return Problem(
        covariance,
        given[COVARIANCE].words(),
        start,
        parameters_words(given[START]),
        _read_points(asserts[POINTS], covariance.rows),
        _read_order(certificate),
    )


def is_at_rest(covariance: ExactMatrix, start: Parameters) -> bool:
    """Whether b is 0 for ever: b = 0, and b' = tr(A'Sigma^2) = 0."""
    return bool(start.b == 0 and start.A.inner(covariance @ covariance) == 0)


def _read_points(stated: list[Values], dimension: int) -> list[StatedPoint]:
    points: list[StatedPoint] = []
    for values in stated:
        if points and values[TIME] <= points[-1].time:
            expected = f"a time after that of the point before, {describe(points[-1].time)}"
            raise values.node(TIME).malformed(expected, describe(values[TIME]))
        points.append(
            StatedPoint(
                values[TIME],
                read_parameters(values, dimension),
                parameters_words(values),
                values[RADIUS],
                _read_risk(values),
                values.get(BAYES),
                values.get(TUBE),
            )
        )
    return points


def _read_risk(values: Values) -> tuple[fmpq, fmpq] | None:
    stated = values.get(RISK)
    if stated is None:
        return None
    if stated[LOWER] > stated[UPPER]:
        raise stated.at.malformed("a lower bound that is not above the upper one")
    return stated[LOWER], stated[UPPER]


def _read_order(certificate: Certificate) -> int | None:
    if certificate.witness is None:
        return None
    witness = WITNESS.read(certificate.witness, certificate.reading)
    order = witness.get(ORDER)
    if order is not None and order > MOST_ORDER:
        raise witness.node(ORDER).malformed(f"an order of at most {MOST_ORDER}", str(order))
    return order
