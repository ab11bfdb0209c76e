"""Claim `normalizer-bound`: what the normaliser of softmax attention changes in its singular values, on average.

d queries x_i and d keys k_j, independent N(0, I_p), p = lambda d, S_ij = x_i.k_j / sqrt(p), A = softmax(beta S) by
rows, t_ij = exp(beta S_ij - beta^2 |x_i|^2 / (2p)) - 1, T = (t_ij) / sqrt(d), Pi = I - 11'/d. A certificate asserts

    mean_square   E W_2^2 <= at_most
    distance      E W_2 <= at_most

of the empirical laws of the singular values of sqrt(d) (A - 11'/d) and of T Pi. The witness has 0 < theta < 1, how far
a normaliser may fall below its mean, and cut > 1, how long queries may be. `arithmetic.gaussian_equivalence` has the
bound.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from flint import arb, fmpq

from certattn.kernel.arithmetic.balls import ARB
from certattn.kernel.arithmetic.finite_moments import ScoreMatrix, moment_condition
from certattn.kernel.arithmetic.gaussian_equivalence import normalizer_bound
from certattn.kernel.arithmetic.reals import describe
from certattn.kernel.claims.claim import Claim, Statement
from certattn.kernel.claims.score_matrix_inputs import (
    BETA,
    CUT,
    LAMBDA,
    MOST,
    SIZE,
    THETA,
    random_attention_words,
    read_score_matrix,
    read_theta,
)
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.fields import Field, Record
from certattn.kernel.verdict import Obligation, Part, above, at_most

GIVEN = Record(BETA, LAMBDA, SIZE)
MEAN_SQUARE = Field("mean_square", Record(MOST), "bound of E W_2^2", required=False)
DISTANCE = Field("distance", Record(MOST), "bound of E W_2", required=False)
# E t^4 has to be finite.
_FOURTH = 4


@dataclass(frozen=True)
class Problem:
    """What is given and asserted, all exact; None where a bound is not asserted."""

    scores: ScoreMatrix
    mean_square: fmpq | None
    distance: fmpq | None
    theta: fmpq
    cut: fmpq
    words: str


class NormalizerBound(Claim[Problem]):
    name = "normalizer-bound"
    title = "what the normaliser of softmax attention changes in its singular values, on average"
    arithmetic = ARB
    given = GIVEN
    asserts = Record(MEAN_SQUARE, DISTANCE)
    witness = Record(THETA, CUT)

    def read(self, certificate: Certificate) -> Problem:
        given = GIVEN.read(certificate.given, certificate.reading)
        scores = read_score_matrix(given)
        asserts = self.asserts.read(certificate.asserts, certificate.reading)
        if certificate.witness is None:
            raise certificate.asserts.malformed("a witness, which this is proved with", "no witness")
        witness = self.witness.read(certificate.witness, certificate.reading)
        bounds = [asserts[field][MOST] if field in asserts else None for field in (MEAN_SQUARE, DISTANCE)]
        if bounds == [None, None]:
            raise asserts.at.malformed("mean_square, distance or both", "nothing that is asserted")
        words = (
            f"{random_attention_words(given, scores)}: for the distance W_2 between the empirical laws of the singular "
            f"values of sqrt(d) (A - 11'/d) and of T Pi, {_bounds_words(bounds[0], bounds[1])}"
        )
        return Problem(scores, bounds[0], bounds[1], read_theta(witness), witness[CUT], words)

    def read_given(self, certificate: Certificate) -> ScoreMatrix:
        """The section `given` alone. Raises MalformedError."""
        return read_score_matrix(GIVEN.read(certificate.given, certificate.reading))

    def statement(self, problem: Problem) -> Statement:
        latex = [r"\mathbb E\, W_2^2 \le u"] if problem.mean_square is not None else []
        latex += [r"\mathbb E\, W_2 \le u"] if problem.distance is not None else []
        return Statement(f"{problem.words}.", r",\qquad ".join(latex))

    def names(self, problem: Problem) -> list[str]:
        names = ["finite"]
        names += ["mean_square"] if problem.mean_square is not None else []
        return names + (["distance"] if problem.distance is not None else [])

    def prove(self, problem: Problem, names: Collection[str], bits: int) -> list[Obligation]:
        scores = problem.scores
        sentence = "p > 12 beta^2, so E t^4 is finite"
        # The bound is infinite otherwise; the distance itself is finite all the same.
        bound = moment_condition(_FOURTH, scores.beta2)
        found = [above("finite", sentence, fmpq(scores.p), bound, part=Part.WITNESS)]
        if scores.has_moment(_FOURTH):
            square = normalizer_bound(scores, problem.theta, problem.cut)
            found += _below("mean_square", "E W_2^2 <= bound", square, problem.mean_square, bits)
            found += _below("distance", "E W_2 <= bound^(1/2)", square.sqrt(), problem.distance, bits)
        return [obligation for obligation in found if obligation.name in names]


def _below(name: str, sentence: str, value: arb, most: fmpq | None, bits: int) -> list[Obligation]:
    return [at_most(name, f"{sentence} <= at_most", value, most, bits, part=Part.WITNESS)] if most is not None else []


def _bounds_words(mean_square: fmpq | None, distance: fmpq | None) -> str:
    words = [f"E W_2^2 <= {describe(mean_square)}"] if mean_square is not None else []
    return " and ".join(words + ([f"E W_2 <= {describe(distance)}"] if distance is not None else []))


CLAIM = NormalizerBound()
