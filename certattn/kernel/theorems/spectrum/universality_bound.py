"""Theorem `universality-bound`: the exponential scores of softmax attention act like Gaussian columns, with constants.

T is the matrix of `normalizer-bound`; given the queries X its columns have the covariance Sigma / d, and N is a matrix
with independent Gaussian columns of the same covariance. s_M(-eta) = (1/d) tr (MM' + eta)^-1. For given queries, or for
random ones, a certificate asserts

    universality    |E[s_T(-eta) | X] - E[s_N(-eta) | X]| <= at_most; of random queries, its mean
    concentration   P(|s_T(-eta) - E s_T(-eta)| >= deviation) <= at_most, of given queries given them

and for random queries only

    linearisation   bounds of E |Sigma - Sigma_lin|_F^2, Sigma_lin = alpha^2 I + beta^2 XX'/p
    equivalence     |E s_M(-eta) - E s_Y(-eta)| <= at_most, M = sqrt(d) (A - 11'/d) of softmax attention A and
                    Y = alpha Z / sqrt(d) + beta S / sqrt(d), Z with independent N(0, 1) entries

`gaussian_equivalence` has the bounds. The witness for random queries has theta, cut, coherence and excess: how far a
normaliser may fall below its mean, how long a query may be, how large a product of two, and how much larger than usual
their matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from flint import arb, ctx, fmpq

from certattn.kernel.decide.obligation import Obligation, Part
from certattn.kernel.decide.theorem import Sections, Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.matrices import Matrix
from certattn.kernel.document.schema import ByKey, Field, Rational, Record, Values, some_of
from certattn.kernel.given.bounds import SIGNED, within
from certattn.kernel.theorems.spectrum import gaussian_equivalence as equivalence
from certattn.kernel.theorems.spectrum import score_matrix as matrix
from certattn.kernel.theorems.spectrum import typical_queries as typical
from certattn.kernel.theorems.spectrum.quadratic_forms import sizes_of

ETA = Field("eta", Rational(above=0), "eta > 0: resolvents are taken at -eta")
QUERIES = Field("queries", Matrix(), "the queries, d x p: one a row")
UNIVERSALITY = Field("universality", Record(matrix.MOST), "bound of what Gaussian columns change", required=False)
DEVIATION = Field("deviation", Rational(above=0), "how far from its mean")
CONCENTRATION = Field("concentration", Record(DEVIATION, matrix.MOST), "bound of a probability", required=False)
LINEARISATION = Field("linearisation", SIGNED, "bounds of E |Sigma - Sigma_lin|_F^2", required=False)
EQUIVALENCE = Field("equivalence", Record(matrix.MOST), "bound of the whole way from attention to Y", required=False)

GIVEN = ByKey({"queries": Record(matrix.BETA, ETA, QUERIES), "d": Record(matrix.BETA, ETA, matrix.LAMBDA, matrix.SIZE)})
_ASSERTED = (UNIVERSALITY, CONCENTRATION, LINEARISATION, EQUIVALENCE)
ASSERTS = Record(*_ASSERTED, rules=[some_of(*_ASSERTED)])
WITNESS = Record(matrix.THETA, *typical.FIELDS)


def read_given(certificate: Certificate) -> Values:
    """The section `given` alone. Raises MalformedError."""
    _, given = GIVEN.read(certificate.given, certificate.reading)
    random_scores(given)
    return given


def random_scores(given: Values) -> matrix.ScoreMatrix | None:
    """The sizes of random queries; None for given ones, whose shape is looked at. Raises MalformedError."""
    if QUERIES not in given:
        return matrix.score_matrix(given)
    if given[QUERIES].shape[0] < 2:
        raise given.node(QUERIES).malformed("at least 2 queries", "1 query")
    return None


def read(certificate: Certificate) -> Sections:
    """Everything stated. Raises MalformedError."""
    given, asserts = read_given(certificate), ASSERTS.read(certificate.asserts, certificate.reading)
    random, hint = QUERIES not in given, certificate.witness
    for field in (LINEARISATION, EQUIVALENCE):
        if not random and field in asserts:
            raise asserts.node(field).malformed(f"no {field.name}, which is about random queries", field.name)
    stated = Sections(given, asserts, None if hint is None else WITNESS.read(hint, certificate.reading))
    if random and (UNIVERSALITY in asserts or EQUIVALENCE in asserts):
        return replace(stated, witness=stated.hint)
    if hint is not None:
        raise hint.malformed("no witness, as none is needed here", "a witness")
    return stated


def obligations(stated: Sections) -> Iterator[Obligation]:
    """Of random queries a condition on p before every mean over them, which is infinite otherwise."""
    given, asserts, hint, eta = stated.given, stated.asserts, stated.witness, stated.given[ETA]
    scores = random_scores(given)
    if hint is not None:
        yield from typical.conditions(hint)
    if UNIVERSALITY in asserts and scores is None:
        yield _bounded("universality", lambda: _bound_of_given(given), asserts[UNIVERSALITY])
    if UNIVERSALITY in asserts and scores is not None:
        yield _finite("universality", scores, 12, Part.WITNESS)
        mean = lambda: equivalence.mean_universality(scores, eta, typical.typical_queries(stated.hint))  # noqa: E731
        yield _bounded("universality", mean, asserts[UNIVERSALITY], ("universality.finite", *typical.CONDITIONS))
    if CONCENTRATION in asserts:
        d, deviation = given[QUERIES].shape[0] if scores is None else scores.d, asserts[CONCENTRATION][DEVIATION]
        tail = lambda: equivalence.deviation_bound(d, eta, deviation, scores is None)  # noqa: E731
        yield _bounded("concentration", tail, asserts[CONCENTRATION])
    if LINEARISATION in asserts and scores is not None:
        yield _finite("linearisation", scores, 4, Part.STATEMENT)
        squares = lambda: equivalence.linearisation(scores)  # noqa: E731
        yield from within("linearisation", squares, asserts[LINEARISATION], needs=["linearisation.finite"])
    if EQUIVALENCE in asserts and scores is not None:
        yield _finite("equivalence", scores, 12, Part.WITNESS)
        yield _bounded(
            "equivalence",
            lambda: equivalence.equivalence_bound(
                scores, eta, stated.hint[matrix.THETA], typical.typical_queries(stated.hint)
            ),
            asserts[EQUIVALENCE],
            ("equivalence.finite", *typical.CONDITIONS),
        )


def _bounded(name: str, bound: Callable[[], arb], stated: Values, needs: Sequence[str] = ()) -> Obligation:
    return Obligation(name, bound, "<=", stated[matrix.MOST], Part.WITNESS, needs)


def _finite(name: str, scores: matrix.ScoreMatrix, factor: int, part: Part) -> Obligation:
    """p > factor beta^2."""
    return Obligation(f"{name}.finite", fmpq(scores.p), ">", factor * scores.beta2, part)


def _bound_of_given(given: Values) -> arb:
    queries, beta2 = given[QUERIES].load(), given[matrix.BETA] * given[matrix.BETA]
    sizes = sizes_of(queries, beta2, ctx.prec)
    return equivalence.universality_bound(sizes, queries.rows, beta2, given[ETA])


_TITLE = "the exponential scores of softmax attention beside Gaussian columns, with constants"
THEOREM = Theorem("universality-bound", _TITLE, GIVEN, ASSERTS, WITNESS, read, obligations)
