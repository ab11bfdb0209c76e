"""What `regression-risk` asserts of the risk at a point: the fields, and how they are read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from flint import fmpq

from certattn.kernel.document.fields import Choice, Field, Listing, Rational, Record, Values
from certattn.kernel.document.matrices import Vector
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.training.mathematics.regression import Parameters, Regression
from certattn.kernel.theorems.training.regression_inputs import (
    COVARIANCE,
    PARAMETERS,
    A,
    B,
    exact_regression,
    read_parameters,
)

BAYES, SADDLE = "bayes", "saddle"

AT = Field("parameters", PARAMETERS, "A and b, where the risk is looked at")
RISK = Field("risk", Rational(), "R(A, b)", required=False)
GRADIENT = Field("gradient", PARAMETERS, "dR/dA and dR/db", required=False)
INVARIANT = Field("invariant", Rational(), "|A|_F^2 - b^2", required=False)
ALONG = Field("along", PARAMETERS, "the direction (H, h), as A and b")
SECOND = Field("value", Rational(), "the second derivative of R along (H, h)")
SECOND_DERIVATIVE = Field("second_derivative", Record(ALONG, SECOND), "of R along a direction", required=False)
STATIONARY = Field("stationary", Choice((BAYES, SADDLE)), "a point where the gradient vanishes", required=False)
TASK = Field("w", Vector(), "the w of the labels <w, x_i>")
QUERY = Field("query", Vector(), "the query x")
PREDICTION = Field("value", Rational(), "b w'Sigma A x")
PREDICTIONS = Field("predictions", Listing(Record(TASK, QUERY, PREDICTION)), "at stated w and x", required=False)
RADIUS = Field("radius", Rational(minimum=0), "largest error of b and of an entry of A")
TRACE = Field("trace", Rational(), "tr(Sigma^-2), which is b^4 + invariant * b^2", required=False)
ENDPOINT = Field(
    "endpoint",
    Record(A, B, RADIUS, TRACE),
    "the Bayes point with the invariant and the sign of b of the given parameters",
    required=False,
)

GIVEN = Record(COVARIANCE, AT)
ASSERTS = Record(RISK, GRADIENT, INVARIANT, SECOND_DERIVATIVE, STATIONARY, PREDICTIONS, ENDPOINT)


@dataclass(frozen=True)
class Prediction:
    """b w'Sigma A x = value; w and x are 1 x d matrices."""

    w: ExactMatrix
    query: ExactMatrix
    value: fmpq


@dataclass(frozen=True)
class Endpoint:
    """|A* - A| <= radius in every entry, |b* - b| <= radius, and tr(Sigma^-2) = trace if that is stated."""

    point: Parameters
    radius: fmpq
    trace: fmpq | None


@dataclass(frozen=True)
class Problem:
    """What is given and asserted, all exact; `words` are the statement's pieces."""

    covariance: ExactMatrix
    at: Parameters
    risk: fmpq | None
    gradient: Parameters | None
    invariant: fmpq | None
    second_derivative: tuple[Parameters, fmpq] | None
    stationary: str | None
    predictions: list[Prediction]
    endpoint: Endpoint | None
    words: list[str]

    @cached_property
    def task(self) -> Regression:
        return exact_regression(self.covariance)


def read_second_derivative(stated: Values | None, dimension: int) -> tuple[Parameters, fmpq] | None:
    return None if stated is None else (read_parameters(stated[ALONG], dimension), stated[SECOND])


def read_prediction(stated: Values, dimension: int) -> Prediction:
    for field in (TASK, QUERY):
        stated[field].require_length(dimension, "a token")
    return Prediction(stated[TASK].load(), stated[QUERY].load(), stated[PREDICTION])


def read_endpoint(stated: Values | None, at: Parameters) -> Endpoint | None:
    if stated is None:
        return None
    if at.b == 0:
        raise stated.at.malformed("given.parameters with b other than 0, whose sign that of the endpoint is", "b = 0")
    return Endpoint(read_parameters(stated, at.A.rows), stated[RADIUS], stated.get(TRACE))
