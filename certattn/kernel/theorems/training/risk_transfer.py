"""Theorem `risk-transfer`: training on prompts that are long enough ends with a risk as small as stated.

In-context linear regression (Boursier and Boyer 2026, sections 4 and 5) with covariance Sigma. Let R_L(A, b) be the
population risk 1/2 E (b sum_i y_i p_i - <w, x>)^2 over prompts of L tokens x_i ~ N(0, Sigma), y_i = <w, x_i>, with
w ~ N(0, I), a query x ~ N(0, Sigma) and p the softmax of the scores <x_i, A x>; and R that of infinite prompts. Both
are trained by gradient flow from the same start (A, b). A certificate asserts for every length from the given one on

    R_L <= risk at all times t >= time, so that lim R_L <= risk, while lim R = 0,

and it may assert that up to that time the two runs are no further apart than `tube` (theorem 4.3 there, with numbers).
Or N prompts are given, as numbers, and R_L is their loss 1/(2N) sum_n (b sum_i y_i p_i - t_n)^2.

Proof: the infinite-prompt flow is enclosed; bounds of |grad R_L - grad R| keep the other flow beside it
(mathematics/finite_prompt_tube.py); at the end R and a bound of R_L - R say the rest, for R_L never grows. The flow on
given prompts is enclosed beside a polygon (mathematics/loss_flow.py).
"""

from __future__ import annotations

from dataclasses import dataclass

from flint import fmpq

from certattn.kernel.decide.theorem import Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.schema import ByKey, Count, Field, Rational, Record, Values
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.training.concrete_prompts import (
    LABELS,
    LENGTHS,
    QUERIES,
    TARGETS,
    TOKENS,
    read_regression_prompts,
)
from certattn.kernel.theorems.training.empirical_transfer import EmpiricalTransfer
from certattn.kernel.theorems.training.population_transfer import PopulationTransfer
from certattn.kernel.theorems.training.regression_task import COVARIANCE, START, read_covariance, read_parameters
from certattn.kernel.theorems.training.transfer_setting import Setting

LENGTH = Field("length", Rational(minimum=2), "the least length L of the prompts, an integer")
EMPIRICAL = Record(COVARIANCE, START, TOKENS, LABELS, LENGTHS, QUERIES, TARGETS)
GIVEN = ByKey({"tokens": EMPIRICAL, "length": Record(COVARIANCE, START, LENGTH)})

RISK = Field("risk", Rational(minimum=0), "bound of the risk R_L")
TIME = Field("time", Rational(above=0), "time from which it holds")
TUBE = Field("tube", Rational(above=0), "distance of the two runs up to that time, at most", required=False)
ASSERTS = Record(RISK, TIME, TUBE)

ORDER = Field("order", Count(2), "order of the Taylor polynomials that enclose the flow", required=False)
PIECES = Field("pieces", Count(1), "intervals into which the time is cut", required=False)
TRAVEL = Field("travel", Rational(above=0), "longest leg of the polygon beside a flow on given prompts", required=False)
WITNESS = Record(ORDER, PIECES, TRAVEL)

DEFAULT_ORDER = 20
MOST_ORDER = 60
DEFAULT_PIECES = 100
MOST_PIECES = 10_000
DEFAULT_TRAVEL = fmpq(1, 1000)


@dataclass(frozen=True)
class StatedTransfer:
    """One of the two forms, beside the section `given`."""

    given: Values
    transfer: PopulationTransfer | EmpiricalTransfer


def read(certificate: Certificate) -> StatedTransfer:
    form, given = GIVEN.read(certificate.given, certificate.reading)
    asserts = ASSERTS.read(certificate.asserts, certificate.reading)
    witness = certificate.witness
    hints = WITNESS.read(witness, certificate.reading) if witness is not None else None
    setting = _read_setting(given, asserts, hints)
    if form == "tokens":
        if TUBE in asserts:
            raise asserts.node(TUBE).malformed("no tube: it is of all prompts of a length, not of given ones")
        return StatedTransfer(
            given, EmpiricalTransfer(setting, read_regression_prompts(given, setting.covariance.rows))
        )
    if given[LENGTH].q != 1:
        raise given.node(LENGTH).malformed("an integer >= 2", describe(given[LENGTH]))
    return StatedTransfer(given, PopulationTransfer(setting, given[LENGTH], asserts.get(TUBE)))


def _read_setting(given: Values, asserts: Values, hints: Values | None) -> Setting:
    covariance = read_covariance(given[COVARIANCE])
    start = read_parameters(given[START], covariance.rows)
    travel = hints.get(TRAVEL) if hints is not None else None
    return Setting(
        covariance,
        start,
        risk=asserts[RISK],
        time=asserts[TIME],
        order=_hint(hints, ORDER, DEFAULT_ORDER, MOST_ORDER),
        pieces=_hint(hints, PIECES, DEFAULT_PIECES, MOST_PIECES),
        travel=DEFAULT_TRAVEL if travel is None else travel,
    )


def _hint(hints: Values | None, field: Field[int], default: int, most: int) -> int:
    """A count of the witness, or the default. Raises MalformedError."""
    value = hints.get(field) if hints is not None else None
    if hints is None or value is None:
        return default
    if value > most:
        raise hints.node(field).malformed(f"at most {most}", str(value))
    return value


THEOREM = Theorem(
    name="risk-transfer",
    title="training on long prompts ends with a small risk, and runs beside training on infinite ones",
    given=GIVEN,
    asserts=ASSERTS,
    witness=WITNESS,
    read=read,
    obligations=lambda stated: stated.transfer.obligations(),
)
