"""What theorems about random score matrices are given: beta, lambda = p / d, and the size d; and what is typical."""

from __future__ import annotations

from collections.abc import Iterator

from flint import fmpq

from certattn.kernel.decide.obligation import Obligation, Part
from certattn.kernel.document.schema import Count, Field, Rational, Values
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.spectrum.mathematics.finite_moments import ScoreMatrix

BETA = Field("beta", Rational(above=0), "beta > 0, the inverse temperature of the scores")
LAMBDA = Field("lambda", Rational(above=0), "lambda = p / d > 0, the width p of queries and keys over the number d")
SIZE = Field("d", Count(2), "the number d of queries and of keys; lambda d is a whole number")
MOST = Field("at_most", Rational(), "it is at most this")
THETA = Field("theta", Rational(), "0 < theta < 1: normalisers of at least 1 - theta of their mean are typical")
CUT = Field("cut", Rational(), "cut > 1: queries with |x|^2 <= cut p are typical")


def score_matrix(given: Values) -> ScoreMatrix:
    """d, p = lambda d and beta^2. Raises MalformedError where lambda d is no whole number."""
    d, width = given[SIZE], given[LAMBDA] * given[SIZE]
    if width.q != 1:
        expected = f"d with lambda d a whole number: a multiple of {given[LAMBDA].q}"
        raise given.node(SIZE).malformed(expected, f"lambda d = {describe(width)}")
    return ScoreMatrix(d, int(width.p), given[BETA] * given[BETA])


def typical(witness: Values) -> Iterator[Obligation]:
    """That theta and cut are what the bounds are proved for."""
    theta, cut = witness[THETA], witness[CUT]
    yield Obligation("theta.above", theta, ">", fmpq(0), Part.WITNESS)
    yield Obligation("theta.below", theta, "<", fmpq(1), Part.WITNESS)
    yield Obligation("cut", cut, ">", fmpq(1), Part.WITNESS)


TYPICAL = ("theta.above", "theta.below", "cut")
