"""Claim `universality-bound`: the exponential scores of softmax attention act like Gaussian columns, with constants.

T is the matrix of `normalizer-bound`; given the queries X its columns have the covariance Sigma / d, and N is a matrix
with independent Gaussian columns of the same covariance. s_M(-eta) = (1/d) tr (MM' + eta)^-1. For given queries, or for
random ones, a certificate asserts

    universality    |E[s_T(-eta) | X] - E[s_N(-eta) | X]| <= at_most; of random queries, its mean
    concentration   P(|s_T(-eta) - E s_T(-eta)| >= deviation) <= at_most, of given queries given them

and for random queries only

    linearisation   bounds of E |Sigma - Sigma_lin|_F^2, Sigma_lin = alpha^2 I + beta^2 XX'/p
    equivalence     |E s_M(-eta) - E s_Y(-eta)| <= at_most, M = sqrt(d) (A - 11'/d) of softmax attention A and
                    Y = alpha Z / sqrt(d) + beta S / sqrt(d), Z with independent N(0, 1) entries

`mathematics.gaussian_equivalence` has the bounds. The witness for random queries has theta, cut and excess: how far a
normaliser may fall below its mean, how long a query may be, and how much larger than usual their matrix.
"""

from __future__ import annotations

from collections.abc import Collection

from certattn.kernel.decide.claim import Claim, Statement
from certattn.kernel.decide.verdict import Obligation
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.fields import Record, Values
from certattn.kernel.document.forms import ByKey
from certattn.kernel.mathematics.balls import ARB
from certattn.kernel.theorems.spectrum.score_matrix_inputs import BETA, CUT, LAMBDA, SIZE, THETA
from certattn.kernel.theorems.spectrum.universality_assertions import (
    ASSERTS,
    ETA,
    EXCESS,
    QUERIES,
    Problem,
    read_given,
    read_problem,
)
from certattn.kernel.theorems.spectrum.universality_proof import names_of, obligations

GIVEN = ByKey({"queries": Record(BETA, ETA, QUERIES), "d": Record(BETA, ETA, LAMBDA, SIZE)})


class UniversalityBound(Claim[Problem]):
    name = "universality-bound"
    title = "the exponential scores of softmax attention beside Gaussian columns, with constants"
    arithmetic = ARB
    given = GIVEN
    asserts = ASSERTS
    witness = Record(THETA, CUT, EXCESS)

    def read(self, certificate: Certificate) -> Problem:
        given = self.read_given(certificate)
        asserts = ASSERTS.read(certificate.asserts, certificate.reading)
        witness = None
        if certificate.witness is not None:
            witness = self.witness.read(certificate.witness, certificate.reading)
        return read_problem(given, asserts, witness)

    def read_given(self, certificate: Certificate) -> Values:
        """The section `given` alone. Raises MalformedError."""
        _, values = GIVEN.read(certificate.given, certificate.reading)
        read_given(values)
        return values

    def statement(self, problem: Problem) -> Statement:
        return Statement(f"{problem.words}.", r",\qquad ".join(problem.latex()))

    def names(self, problem: Problem) -> list[str]:
        return names_of(problem)

    def prove(self, problem: Problem, names: Collection[str], bits: int) -> list[Obligation]:
        return obligations(problem, names, bits)


CLAIM = UniversalityBound()
