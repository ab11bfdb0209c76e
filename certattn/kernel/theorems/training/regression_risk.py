"""Claim `regression-risk`: the risk that training in context descends, at a point.

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
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from flint import fmpq

from certattn.kernel.decide.claim import Claim, Statement
from certattn.kernel.decide.verdict import Obligation, Outcome, at_most, identical
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.fields import Record, Values
from certattn.kernel.mathematics.balls import ARB, linf_norm
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.training.mathematics.bayes_points import bayes_point, inverse_squares
from certattn.kernel.theorems.training.mathematics.regression import Parameters
from certattn.kernel.theorems.training.regression_inputs import (
    COVARIANCE,
    balls_around,
    read_covariance,
    read_parameters,
)
from certattn.kernel.theorems.training.risk_assertions import (
    ASSERTS,
    AT,
    BAYES,
    ENDPOINT,
    GIVEN,
    GRADIENT,
    INVARIANT,
    PREDICTIONS,
    RISK,
    SADDLE,
    SECOND_DERIVATIVE,
    STATIONARY,
    Endpoint,
    Problem,
    read_endpoint,
    read_prediction,
    read_second_derivative,
)
from certattn.kernel.theorems.training.risk_words import latex_of, words_of


class RegressionRisk(Claim[Problem]):
    name = "regression-risk"
    title = "the risk of in-context regression at a point: its value, its gradient, and where it vanishes"
    arithmetic = ARB
    given = GIVEN
    asserts = ASSERTS
    witness = Record()

    def read(self, certificate: Certificate) -> Problem:
        given, covariance, at = self.read_given(certificate)
        asserts = self.asserts.read(certificate.asserts, certificate.reading)
        if certificate.witness is not None:
            self.witness.read(certificate.witness, certificate.reading)
        if not any(field in asserts for field in self.asserts.fields.values()):
            raise asserts.at.malformed(" or ".join(self.asserts.fields), "nothing that is asserted")
        return Problem(
            covariance,
            at,
            asserts.get(RISK),
            read_parameters(asserts[GRADIENT], covariance.rows) if GRADIENT in asserts else None,
            asserts.get(INVARIANT),
            read_second_derivative(asserts.get(SECOND_DERIVATIVE), covariance.rows),
            asserts.get(STATIONARY),
            [read_prediction(item, covariance.rows) for item in asserts.get(PREDICTIONS) or []],
            read_endpoint(asserts.get(ENDPOINT), at),
            words_of(given, asserts, at),
        )

    def read_given(self, certificate: Certificate) -> tuple[Values, ExactMatrix, Parameters]:
        """The section `given` alone: its fields, Sigma, and (A, b). Raises MalformedError."""
        given = GIVEN.read(certificate.given, certificate.reading)
        covariance = read_covariance(given[COVARIANCE])
        return given, covariance, read_parameters(given[AT], covariance.rows)

    def statement(self, problem: Problem) -> Statement:
        head, *rest = problem.words
        return Statement(f"{head} {'; '.join(rest)}.", r",\qquad ".join(latex_of(problem)))

    def names(self, problem: Problem) -> list[str]:
        names = ["risk"] if problem.risk is not None else []
        names += ["gradient.A", "gradient.b"] if problem.gradient is not None else []
        names += ["invariant"] if problem.invariant is not None else []
        names += ["second_derivative"] if problem.second_derivative is not None else []
        if problem.stationary is not None:
            names += ["stationary"] if problem.stationary == BAYES else ["stationary.A", "stationary.b"]
        names += [f"predictions[{index}]" for index in range(len(problem.predictions))]
        if problem.endpoint is not None:
            names += ["endpoint.A", "endpoint.b", *(["endpoint.trace"] if problem.endpoint.trace is not None else [])]
        return names

    def prove(self, problem: Problem, names: Collection[str], bits: int) -> list[Obligation]:
        found = _values(problem) + _stationary(problem) + _predictions(problem) if _any_exact(names) else []
        if problem.endpoint is not None:
            found += _endpoint(problem, problem.endpoint, bits)
        return [obligation for obligation in found if obligation.name in names]

    def findings(self, problem: Problem, obligations: Sequence[Obligation]) -> list[str]:
        if any(o.name == "stationary" and o.outcome is Outcome.REFUTED for o in obligations):
            return [f"no Bayes point: the risk there is {describe(problem.task.risk(problem.at))}"]
        return []


def _any_exact(names: Collection[str]) -> bool:
    """Whether more than enclosures of the endpoint is asked for; identities are decided at the first precision."""
    return any(name.startswith("endpoint.") is not True for name in names)


def _values(problem: Problem) -> list[Obligation]:
    """The risk, its derivatives and the invariant."""
    task, at, found = problem.task, problem.at, []
    if problem.risk is not None:
        found.append(_same("risk", "R = 1/2 tr(E Sigma E')", problem.risk, task.risk(at)))
    if problem.gradient is not None:
        truth = task.gradient(at)
        found.append(identical("gradient.A", "dR/dA = b Sigma E Sigma", problem.gradient.A, truth.A))
        found.append(_same("gradient.b", "dR/db = tr(A'Sigma E Sigma)", problem.gradient.b, truth.b))
    if problem.invariant is not None:
        found.append(_same("invariant", "invariant = |A|_F^2 - b^2", problem.invariant, at.invariant()))
    if problem.second_derivative is not None:
        along, value = problem.second_derivative
        sentence = "value = |D Sigma^(1/2)|_F^2 + 2 h tr(H'Sigma E Sigma), D = h Sigma A + b Sigma H"
        found.append(_same("second_derivative", sentence, value, task.second_derivative(at, along)))
    return found


def _stationary(problem: Problem) -> list[Obligation]:
    """What makes the point a Bayes point, or a saddle."""
    Sigma, at = problem.covariance, problem.at
    if problem.stationary == BAYES:
        return [identical("stationary", "b Sigma A = I", (Sigma @ at.A).scaled(at.b), problem.task.identity)]
    if problem.stationary == SADDLE:
        return [
            _same("stationary.A", "tr(Sigma^2 A) = 0", (Sigma @ Sigma).inner(at.A), fmpq(0)),
            _same("stationary.b", "b = 0", at.b, fmpq(0)),
        ]
    return []


def _predictions(problem: Problem) -> list[Obligation]:
    found = []
    for index, stated in enumerate(problem.predictions):
        truth = (stated.w @ problem.covariance @ problem.at.A @ stated.query.T).entry(0, 0) * problem.at.b
        found.append(_same(f"predictions[{index}]", f"value {index} = b w'Sigma A x", stated.value, truth))
    return found


def _endpoint(problem: Problem, stated: Endpoint, bits: int) -> list[Obligation]:
    """The Bayes point with the invariant and the sign of the given parameters, beside what is stated of it."""
    truth = bayes_point(problem.covariance, problem.at.invariant(), (problem.at.b > 0) is True)
    off = truth - balls_around(stated.point)
    found = [
        at_most("endpoint.A", "|A* - A| <= radius in every entry", linf_norm(off.A.entries()), stated.radius, bits),
        at_most("endpoint.b", "|b* - b| <= radius", abs(off.b), stated.radius, bits),
    ]
    if stated.trace is not None:
        found.append(_same("endpoint.trace", "trace = tr(Sigma^-2)", stated.trace, inverse_squares(problem.covariance)))
    return found


def _same(name: str, sentence: str, stated: fmpq, truth: fmpq) -> Obligation:
    """Two rational numbers are equal."""
    return identical(name, sentence, ExactMatrix.row_vector([stated]), ExactMatrix.row_vector([truth]))


CLAIM = RegressionRisk()
