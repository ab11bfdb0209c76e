"""Theorem `risk-gap`: what a finite prompt adds to the risk of in-context linear regression.

Tokens (x_i, y_i) with x_i ~ N(0, Sigma), y_i = <w, x_i>, w ~ N(0, I), a query x ~ N(0, Sigma), attention with
parameters (A, b). R_L(A, b) is the mean of half the squared error over prompts of L tokens, R(A, b) the risk of the
infinite prompt (`mathematics.regression`). A certificate asserts one of

    gap                         at_least <= R_L - R <= at_most, for given L, A and b
    length, excess, shortfall   R_L - R <= excess and R - R_L <= shortfall, for every L >= length and every A, b with
                                |A|_F^2 <= A_squared, b^2 <= b_squared; one of the two bounds may be left out

The witness of the first has sums of exponentials close to q and kappa, of the second a majorant of q.
Boursier and Boyer 2026, section 4; `mathematics.risk_gap` has the formulas.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flint import fmpq

from certattn.kernel.decide.theorem import Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.matrices import Matrix, Vector
from certattn.kernel.document.schema import ByKey, Choice, Count, Field, Listing, Rational, Record, Scale, Values
from certattn.kernel.theorems.training.gap_at_parameters import Fits, GapAtParameters
from certattn.kernel.theorems.training.gap_over_ball import GapOverBall
from certattn.kernel.theorems.training.mathematics.exponential_fits import ExponentialSum
from certattn.kernel.theorems.training.mathematics.softmax_power_majorants import Logistic, Majorant, Power, Tabulated
from certattn.kernel.theorems.training.regression_task import COVARIANCE, PARAMETERS, read_covariance, read_parameters

PROMPT_LENGTH = Field("length", Count(2), "number L of tokens of a prompt")
POINT = Field("parameters", PARAMETERS, "the parameters A and b of attention")
A_SQUARED = Field("A_squared", Scale(), "the largest |A|_F^2, > 0: a rational or the root of one")
B_SQUARED = Field("b_squared", Scale(), "the largest b^2, > 0: a rational or the root of one")
BALL = Field("ball", Record(A_SQUARED, B_SQUARED), "the parameters that are meant")
GIVEN = ByKey({"ball": Record(COVARIANCE, BALL), "parameters": Record(COVARIANCE, PROMPT_LENGTH, POINT)})

AT_LEAST = Field("at_least", Rational(), "R_L - R is at least this", required=False)
AT_MOST = Field("at_most", Rational(), "R_L - R is at most this", required=False)
GAP = Field("gap", Record(AT_LEAST, AT_MOST), "bounds on R_L - R, for given parameters", required=False)
LENGTH = Field("length", Count(2), "the length from which on prompts are meant, over a ball", required=False)
EXCESS = Field("excess", Rational(), "R_L - R is at most this over the ball", required=False)
SHORTFALL = Field("shortfall", Rational(), "R - R_L is at most this over the ball", required=False)

MAJORANT = Field("majorant", Choice(("logistic", "power", "table")), "what lies above E sum p_i^2", required=False)
THETA = Field("theta", Rational(), "the exponent of a power, 0 < theta <= 1", required=False)
TABLE = Field("table", Matrix(), "rows [variance of the scores, value], from variance 0 on", required=False)
RATE = Field("rate", Rational(), "d > 0: the fits are sums of c_k e^(-k d v)", required=False)
GROWTH = Field("growth", Rational(), "theta >= 0: misses are weighed by e^(theta v)", required=False)
Q_FIT = Field("q", Vector(), "coefficients c_k of the fit of q = E sum p_i^2", required=False)
KAPPA_FIT = Field("kappa", Vector(), "coefficients of the fit of E[sum p_i^3 - (sum p_i^2)^2]", required=False)
NODES = Field("nodes", Vector(), "variances from 0 on: ends of the pieces on which fits are compared", required=False)
MOST_ORDER = 1000
ORDERS = Field(
    "orders",
    Listing(Count(1)),
    f"of every piece but the first: compared at order + 1 points; at most {MOST_ORDER}",
    required=False,
)

_OF_POINT = (RATE, GROWTH, Q_FIT, KAPPA_FIT, NODES, ORDERS)
_OF_MAJORANT: dict[str, tuple[Field[Any], ...]] = {"logistic": (), "power": (THETA,), "table": (TABLE,)}

ASSERTS = Record(GAP, LENGTH, EXCESS, SHORTFALL)
WITNESS = Record(MAJORANT, THETA, TABLE, *_OF_POINT)


@dataclass(frozen=True)
class StatedGap:
    """One of the two forms, beside the section `given`."""

    given: Values
    gap: GapAtParameters | GapOverBall


def read_given(certificate: Certificate) -> Values:
    """The section `given` alone. Raises MalformedError."""
    _, values = GIVEN.read(certificate.given, certificate.reading)
    if BALL in values:
        _require_positive(values[BALL])
    return values


def read(certificate: Certificate) -> StatedGap:
    given = read_given(certificate)
    asserts = ASSERTS.read(certificate.asserts, certificate.reading)
    if certificate.witness is None:
        raise certificate.asserts.malformed("a witness, which this is proved with", "no witness")
    witness = WITNESS.read(certificate.witness, certificate.reading)
    form = _over_ball if BALL in given else _at_parameters
    return StatedGap(given, form(given, asserts, witness))


def _over_ball(given: Values, asserts: Values, witness: Values) -> GapOverBall:
    _require(asserts, (LENGTH,), (EXCESS, SHORTFALL), "for a ball of parameters")
    bounds = {field.name: asserts[field] for field in (EXCESS, SHORTFALL) if field in asserts}
    if not bounds:
        raise asserts.at.malformed("excess, shortfall or both", "no bound")
    length, ball = asserts[LENGTH], given[BALL]
    covariance = read_covariance(given[COVARIANCE])
    return GapOverBall(covariance, ball[A_SQUARED], ball[B_SQUARED], length, bounds, _read_majorant(witness, length))


def _read_majorant(witness: Values, length: int) -> Majorant:
    if MAJORANT not in witness:
        raise witness.at.malformed("a majorant: logistic, power or table", "no majorant")
    kind = witness[MAJORANT]
    _require(witness, (MAJORANT, *_OF_MAJORANT[kind]), (), f"for majorant: {kind}")
    if kind == "logistic":
        return Logistic(length)
    if kind == "power":
        return Power(length, witness[THETA])
    table = witness[TABLE]
    table.require_shape(None, 2, "for a table: rows [variance, value]")
    columns = table.load().T
    _require_nodes(columns.columns, witness, TABLE, 2)
    return Tabulated(tuple(columns.row(0)), tuple(columns.row(1)))


def _at_parameters(given: Values, asserts: Values, witness: Values) -> GapAtParameters:
    _require(asserts, (GAP,), (), "for given parameters")
    stated = asserts[GAP]
    if AT_LEAST not in stated and AT_MOST not in stated:
        raise stated.at.malformed("at_least, at_most or both", "no bound")
    _require(witness, _OF_POINT, (), "for given parameters")
    covariance = read_covariance(given[COVARIANCE])
    nodes = witness[NODES].load().row(0)
    _require_nodes(len(nodes), witness, NODES, 3)
    orders: list[int] = witness[ORDERS]
    if len(orders) != len(nodes) - 2:
        raise witness.node(ORDERS).malformed(
            f"{len(nodes) - 2} orders, one of every piece but the first", f"{len(orders)}"
        )
    if max(orders) > MOST_ORDER:
        raise witness.node(ORDERS).malformed(f"orders of at most {MOST_ORDER}", str(max(orders)), "use more nodes")
    q, kappa = (ExponentialSum(witness[RATE], tuple(witness[field].load().row(0))) for field in (Q_FIT, KAPPA_FIT))
    return GapAtParameters(
        covariance,
        read_parameters(given[POINT], covariance.rows),
        given[PROMPT_LENGTH],
        stated.get(AT_LEAST),
        stated.get(AT_MOST),
        Fits(tuple(nodes), tuple(orders), q, kappa, witness[GROWTH]),
    )


def _require_positive(ball: Values) -> None:
    for field in (A_SQUARED, B_SQUARED):
        bound = ball[field]
        if isinstance(bound, fmpq) and (bound > 0) is not True:
            raise ball.node(field).malformed("a number > 0")


def _require(values: Values, needed: Sequence[Field[Any]], allowed: Sequence[Field[Any]], why: str) -> None:
    """Refuse a record without a needed field, or with one that is neither needed nor allowed."""
    expected = f"{', '.join(field.name for field in (*needed, *allowed))}, {why}" if needed else f"nothing {why}"
    for field in needed:
        if field not in values:
            raise values.at.malformed(f"{field.name}, {why} ({field.doc})", f"no {field.name}")
    known = {field.name for field in (*needed, *allowed)}
    assert isinstance(values.at.value, dict)
    for name, node in values.at.value.items():
        if name not in known:
            raise node.malformed(f"only {expected}", f"{name!r}")


def _require_nodes(count: int, witness: Values, field: Field[Any], least: int) -> None:
    if count < least:
        raise witness.node(field).malformed(f"at least {least} variances, from 0 on and increasing")


THEOREM = Theorem(
    name="risk-gap",
    title="what a finite prompt adds to the risk of in-context regression, and how long is long enough",
    given=GIVEN,
    asserts=ASSERTS,
    witness=WITNESS,
    read=read,
    obligations=lambda stated: stated.gap.obligations(),
)
