"""Theorem `regression-risk`: the risk that training in context descends, at a point.

Tokens x_i ~ N(0, Sigma) have labels <w, x_i>, w ~ N(0, I), and the query is x ~ N(0, Sigma). Over an infinite prompt,
attention with the parameters (A, b) predicts b w'Sigma A x for <w, x> (Boursier and Boyer 2026, section 4). Of

    R(A, b) = 1/2 E (b w'Sigma A x - <w, x>)^2 = 1/2 tr(E Sigma E'),      E = b Sigma A - I,

a certificate asserts at given parameters, each an identity of rational numbers,

    risk               R(A, b)
    gradient           dR/dA = b Sigma E Sigma,  dR/db = tr(A'Sigma E Sigma)
    invariant          |A|_F^2 - b^2, which gradient flow conserves
    second_derivative  of R along a direction (H, h)
    predictions        b w'Sigma A x at stated w and x
    stationary         bayes: b Sigma A = I, so that <w, x> is predicted for every w and x and R = 0;
                       saddle: b = 0 and tr(Sigma^2 A) = 0, the only other points where the gradient vanishes
    endpoint           the Bayes point with the invariant and the sign of b of the given parameters, up to a radius
    shift              the risk at test time, where tokens, query or w have another covariance
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flint import fmpq

from certattn.kernel.decide.obligation import Obligation, Shared
from certattn.kernel.decide.theorem import Theorem, sections
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.matrices import Vector
from certattn.kernel.document.schema import Choice, Field, Listing, Rational, Record, Values, some_of
from certattn.kernel.mathematics.balls import linf_norm
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.training import regression as task
from certattn.kernel.theorems.training import shifted_risk

BAYES, SADDLE = "bayes", "saddle"

AT = Field("parameters", task.PARAMETERS, "A and b, where the risk is looked at")
RISK = Field("risk", Rational(), "R(A, b)", required=False)
GRADIENT = Field("gradient", task.PARAMETERS, "dR/dA and dR/db", required=False)
INVARIANT = Field("invariant", Rational(), "|A|_F^2 - b^2", required=False)
ALONG = Field("along", task.PARAMETERS, "the direction (H, h), as A and b")
SECOND = Field("value", Rational(), "the second derivative of R along (H, h)")
SECOND_DERIVATIVE = Field("second_derivative", Record(ALONG, SECOND), "of R along a direction", required=False)
STATIONARY = Field("stationary", Choice((BAYES, SADDLE)), "a point where the gradient vanishes", required=False)
TASK = Field("w", Vector(), "the w of the labels <w, x_i>")
QUERY = Field("query", Vector(), "the query x")
PREDICTION = Field("value", Rational(), "b w'Sigma A x")
PREDICTIONS = Field("predictions", Listing(Record(TASK, QUERY, PREDICTION)), "at stated w and x", required=False)
RADIUS = Field("radius", Rational(minimum=0), "largest error of b and of an entry of A")
TRACE = Field("trace", Rational(), "tr(Sigma^-2), which is b^4 + invariant * b^2", required=False)
BAYES_POINT = Record(task.A, task.B, RADIUS, TRACE)
ENDPOINT = Field("endpoint", BAYES_POINT, "the Bayes point with this invariant and sign of b", required=False)

GIVEN = Record(task.COVARIANCE, AT)
_ASSERTED = (RISK, GRADIENT, INVARIANT, SECOND_DERIVATIVE, STATIONARY, PREDICTIONS, ENDPOINT, shifted_risk.SHIFT)
ASSERTS = Record(*_ASSERTED, rules=[some_of(*_ASSERTED)])
WITNESS = Record()
READ = sections(GIVEN, ASSERTS, WITNESS)


@dataclass(frozen=True)
class RiskAtPoint:
    """What is stated: Sigma and (A, b) exactly, and the sections that say the rest."""

    given: Values
    asserts: Values
    covariance: ExactMatrix
    at: task.Parameters
    shift: shifted_risk.Shift | None


def read(certificate: Certificate) -> RiskAtPoint:
    """Every dimension checked. Raises MalformedError."""
    found = READ(certificate)
    asserts = found.asserts
    covariance, at = task.read_task(found.given, AT)
    points = [asserts[field] for field in (GRADIENT, ENDPOINT) if field in asserts]
    points += [asserts[SECOND_DERIVATIVE][ALONG]] if SECOND_DERIVATIVE in asserts else []
    for point in points:
        task.read_parameters(point, covariance.rows)
    for stated in asserts.items(PREDICTIONS):
        for vector in (stated[TASK], stated[QUERY]):
            vector.require_length(covariance.rows, "a token")
            vector.load()
    if ENDPOINT in asserts and at.b == 0:
        expected = "given.parameters with b other than 0, whose sign that of the endpoint is"
        raise asserts[ENDPOINT].at.malformed(expected, "b = 0")
    shift = shifted_risk.read_shift(asserts[shifted_risk.SHIFT], covariance) if shifted_risk.SHIFT in asserts else None
    return RiskAtPoint(found.given, asserts, covariance, at, shift)


def obligations(stated: RiskAtPoint) -> Iterator[Obligation]:
    Sigma, at, asserts = stated.covariance, stated.at, stated.asserts
    regression = task.exact_regression(Sigma)
    if RISK in asserts:
        yield Obligation("risk", asserts[RISK], "=", lambda: regression.risk(at))
    if GRADIENT in asserts:
        slope = task.read_parameters(asserts[GRADIENT], Sigma.rows)
        truth = Shared[task.Parameters](lambda: regression.gradient(at))
        yield Obligation("gradient.A", slope.A, "=", lambda: truth().A)
        yield Obligation("gradient.b", slope.b, "=", lambda: truth().b)
    if INVARIANT in asserts:
        yield Obligation("invariant", asserts[INVARIANT], "=", at.invariant)
    if SECOND_DERIVATIVE in asserts:
        second = asserts[SECOND_DERIVATIVE]
        along = task.read_parameters(second[ALONG], Sigma.rows)
        yield Obligation("second_derivative", second[SECOND], "=", lambda: regression.second_derivative(at, along))
    if STATIONARY in asserts and asserts[STATIONARY] == BAYES:
        yield Obligation("stationary", lambda: (Sigma @ at.A).scaled(at.b), "=", ExactMatrix.identity(Sigma.rows))
    elif STATIONARY in asserts:
        yield Obligation("stationary.A", lambda: (Sigma @ Sigma).inner(at.A), "=", fmpq(0))
        yield Obligation("stationary.b", at.b, "=", fmpq(0))
    for index, one in enumerate(asserts.items(PREDICTIONS)):
        yield _prediction(f"predictions[{index}]", one, Sigma, at)
    if ENDPOINT in asserts:
        yield from _endpoint(asserts[ENDPOINT], Sigma, at)
    if stated.shift is not None:
        shift, expected = stated.shift, asserts[shifted_risk.SHIFT][shifted_risk.RISK]
        yield Obligation("shift", expected, "=", lambda: shift.risk(at.A.scaled(at.b)))


def _prediction(name: str, stated: Values, Sigma: ExactMatrix, at: task.Parameters) -> Obligation:
    w, query = stated[TASK].load(), stated[QUERY].load()
    return Obligation(name, stated[PREDICTION], "=", lambda: (w @ Sigma @ at.A @ query.T).entry(0, 0) * at.b)


def _bayes_point(Sigma: ExactMatrix, at: task.Parameters) -> task.Parameters:
    return task.bayes_point(Sigma, at.invariant(), (at.b > 0) is True)


def _endpoint(stated: Values, Sigma: ExactMatrix, at: task.Parameters) -> Iterator[Obligation]:
    """The Bayes point with the invariant and the sign of the given parameters, beside what is stated of it."""
    point, radius = task.read_parameters(stated, Sigma.rows), stated[RADIUS]
    off = Shared[task.Parameters](lambda: _bayes_point(Sigma, at) - task.balls_around(point))
    yield Obligation("endpoint.A", lambda: linf_norm(off().A.entries()), "<=", radius)
    yield Obligation("endpoint.b", lambda: abs(off().b), "<=", radius)
    if TRACE in stated:
        yield Obligation("endpoint.trace", stated[TRACE], "=", lambda: task.inverse_squares(Sigma))


TITLE = "the risk of in-context regression at a point: its value, its gradient, and where it vanishes"
THEOREM = Theorem("regression-risk", TITLE, GIVEN, ASSERTS, WITNESS, read, obligations)
