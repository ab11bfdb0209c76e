"""What the claims about random score matrices are given: beta, lambda = p / d, and the size d."""

from __future__ import annotations

from flint import fmpq

from certattn.kernel.document.fields import Count, Field, Rational, Values
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.spectrum.mathematics.finite_moments import ScoreMatrix

BETA = Field("beta", Rational(above=0), "beta > 0, the inverse temperature of the scores")
LAMBDA = Field("lambda", Rational(above=0), "lambda = p / d > 0, the width p of queries and keys over the number d")
SIZE = Field("d", Count(2), "the number d of queries and of keys; lambda d is a whole number")
MOST = Field("at_most", Rational(), "it is at most this")
THETA = Field("theta", Rational(above=0), "0 < theta < 1: normalisers of at least 1 - theta of their mean are typical")
CUT = Field("cut", Rational(above=1), "cut > 1: queries with |x|^2 <= cut p are typical")


def read_score_matrix(given: Values) -> ScoreMatrix:
    """d, p = lambda d and beta^2. Raises MalformedError where lambda d is no whole number."""
    d, width = given[SIZE], given[LAMBDA] * given[SIZE]
    if width.q != 1:
        raise given.node(SIZE).malformed(
            f"d with lambda d a whole number: a multiple of {given[LAMBDA].q}", f"lambda d = {describe(width)}"
        )
    return ScoreMatrix(d, int(width.p), given[BETA] * given[BETA])


def score_matrix_words(given: Values, scores: ScoreMatrix) -> str:
    """The matrix T, with its numbers."""
    return (
        f"For d = {scores.d} queries x_i and as many keys k_j, all independent N(0, I_p), p = lambda d = "
        f"{describe(fmpq(scores.p))} (lambda = {describe(given[LAMBDA])}), scores S_ij = "
        f"x_i.k_j/sqrt(p), beta = {describe(given[BETA])} and the matrix T of the entries "
        "(exp(beta S_ij - beta^2 |x_i|^2/(2p)) - 1)/sqrt(d)"
    )


def random_attention_words(given: Values, scores: ScoreMatrix) -> str:
    """The matrix T and softmax attention, with their numbers."""
    return f"{score_matrix_words(given, scores)}, A = softmax(beta S) by rows and Pi = I - 11'/d"


def read_theta(witness: Values) -> fmpq:
    """0 < theta < 1. Raises MalformedError."""
    theta: fmpq = witness[THETA]
    if (theta < 1) is not True:
        raise witness.node(THETA).malformed("0 < theta < 1", describe(theta))
    return theta
