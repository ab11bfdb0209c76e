"""Theorem `normalizer-bound`: what the normaliser of softmax attention changes in its singular values, on average.

d queries x_i and d keys k_j, independent N(0, I_p), p = lambda d, S_ij = x_i.k_j / sqrt(p), A = softmax(beta S) by
rows, t_ij = exp(beta S_ij - beta^2 |x_i|^2 / (2p)) - 1, T = (t_ij) / sqrt(d), Pi = I - 11'/d. A certificate asserts

    mean_square   E W_2^2 <= at_most
    distance      E W_2 <= at_most

of the empirical laws of the singular values of sqrt(d) (A - 11'/d) and of T Pi. The witness has 0 < theta < 1, how far
a normaliser may fall below its mean, and cut > 1, how long queries may be. `gaussian_equivalence` has the
bound; docs/claims/spectrum/normalizer-bound.md its proof.
"""

from __future__ import annotations

from collections.abc import Iterator

from flint import arb, fmpq

from certattn.kernel.decide.obligation import Obligation, Part, Shared
from certattn.kernel.decide.theorem import Sections, Theorem, sections
from certattn.kernel.document.schema import Field, Record, some_of
from certattn.kernel.theorems.spectrum import score_matrix as matrix
from certattn.kernel.theorems.spectrum.gaussian_equivalence import normalizer_bound

MEAN_SQUARE = Field("mean_square", Record(matrix.MOST), "bound of E W_2^2", required=False)
DISTANCE = Field("distance", Record(matrix.MOST), "bound of E W_2", required=False)

GIVEN = Record(matrix.BETA, matrix.LAMBDA, matrix.SIZE)
ASSERTS = Record(MEAN_SQUARE, DISTANCE, rules=[some_of(MEAN_SQUARE, DISTANCE)])
WITNESS = Record(matrix.THETA, matrix.CUT)


def obligations(stated: Sections) -> Iterator[Obligation]:
    scores, asserts, hint = matrix.score_matrix(stated.given), stated.asserts, stated.hint
    square = Shared[arb](lambda: normalizer_bound(scores, hint[matrix.THETA], hint[matrix.CUT]))
    needs = ("finite", *matrix.TYPICAL)
    # E t^4 is finite. The bound is infinite otherwise; the distance itself is finite all the same.
    yield Obligation("finite", fmpq(scores.p), ">", matrix.moment_condition(4, scores.beta2), Part.WITNESS)
    yield from matrix.typical(hint)
    if MEAN_SQUARE in asserts:
        yield Obligation("mean_square", square, "<=", asserts[MEAN_SQUARE][matrix.MOST], Part.WITNESS, needs)
    if DISTANCE in asserts:
        yield Obligation("distance", lambda: square().sqrt(), "<=", asserts[DISTANCE][matrix.MOST], Part.WITNESS, needs)


_TITLE = "what the normaliser of softmax attention changes in its singular values, on average"
THEOREM = Theorem("normalizer-bound", _TITLE, GIVEN, ASSERTS, WITNESS, sections(GIVEN, ASSERTS, WITNESS), obligations)
