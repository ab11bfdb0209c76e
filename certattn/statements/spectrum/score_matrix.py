"""Random score matrices and softmax attention in words, with their numbers."""

from __future__ import annotations

from flint import fmpq

from certattn.kernel.document.schema import Values
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.spectrum.score_matrix import BETA, LAMBDA, ScoreMatrix

TYPICAL = {
    "theta.above": "theta, how far a typical normaliser may fall below its mean",
    "theta.below": "theta, how far a typical normaliser may fall below its mean",
    "cut": "cut, how long a typical query may be",
}
TYPICAL_QUERIES = {
    **TYPICAL,
    "coherence": "coherence, how large products of typical queries may be",
    "excess": "excess, how much larger than usual a typical matrix of queries may be",
}


def score_matrix_words(given: Values, scores: ScoreMatrix) -> str:
    """The matrix T."""
    return (
        f"For d = {scores.d} queries x_i and as many keys k_j, all independent N(0, I_p), p = lambda d = "
        f"{describe(fmpq(scores.p))} (lambda = {describe(given[LAMBDA])}), scores S_ij = "
        f"x_i.k_j/sqrt(p), beta = {describe(given[BETA])} and the matrix T of the entries "
        "(exp(beta S_ij - beta^2 |x_i|^2/(2p)) - 1)/sqrt(d)"
    )


def random_attention_words(given: Values, scores: ScoreMatrix) -> str:
    """The matrix T and softmax attention."""
    return f"{score_matrix_words(given, scores)}, A = softmax(beta S) by rows and Pi = I - 11'/d"
