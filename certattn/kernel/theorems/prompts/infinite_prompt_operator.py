"""Claim `infinite-prompt-operator`: what attention computes when the prompt is a whole law.

Given a law mu of tokens with log-MGF Lambda, matrices K, Q, V (or U = K'Q and V) and a scale s,

    T[mu](z) = E[V x e^{s <Kx, Qz>}] / E[e^{s <Kx, Qz>}] = V tau(s U z),   tau = grad Lambda.

A certificate asserts one or more of

    operator     T[mu](z) = offset + s * matrix z for every z        exactly
    pushforward  z ~ N(m_z, S_z) is mapped to N(mean, covariance)     exactly
    values       |T[mu](z) - value|_linf <= radius at stated queries

For Gaussian tokens N(m, Gamma), any rank: matrix = V Gamma U and offset = V m (Boursier and Boyer
2026, Lemma 2.1). Other laws are affine only in degenerate cases, which the checker decides by exact
conditions; for the rest it looks for a query at which the stated affine map is provably wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from flint import arb, fmpq

from certattn.kernel.decide.obligation import NoProof, Obligation
from certattn.kernel.decide.theorem import Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.matrices import Matrix, Vector
from certattn.kernel.document.schema import Field, Listing, Rational, Record, Values, some_of
from certattn.kernel.given.attention import SCALE, VALUE_WEIGHTS, Weights, read_scale, read_weights, weighted_forms
from certattn.kernel.given.token_laws import COVARIANCE, GAUSSIAN, LAW, MEAN, StatedLaw, read_gaussian
from certattn.kernel.mathematics.balls import linf_norm
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.laws import Gaussian
from certattn.kernel.mathematics.operator import AffineMap, Operator
from certattn.kernel.mathematics.reals import square

TOKEN_LAW = Field("law", LAW, "law of the tokens")
QUERY_LAW = Field("queries", GAUSSIAN, "Gaussian law of the queries, for the pushforward", required=False)
_SHARED = (TOKEN_LAW, VALUE_WEIGHTS, SCALE, QUERY_LAW)
GIVEN = weighted_forms("law", *_SHARED)

MATRIX = Field("matrix", Matrix(), "T(z) = offset + scale * matrix z")
OFFSET = Field("offset", Vector(), "T(0)")
OPERATOR = Field("operator", Record(MATRIX, OFFSET), "the operator as an affine map", required=False)
PUSHFORWARD = Field("pushforward", GAUSSIAN, "the law of T(z) for the given law of z", required=False)
QUERY = Field("query", Vector(), "a query z")
VALUE = Field("value", Vector(), "T(z), up to the radius in every coordinate")
RADIUS = Field("radius", Rational(minimum=0), "largest error of a coordinate")
VALUES = Field("values", Listing(Record(QUERY, VALUE, RADIUS)), "values of T at queries", required=False)

SUSPECTS = Field("queries", Matrix(), "queries at which to test a stated affine map, one per row", required=False)

ASSERTS = Record(OPERATOR, PUSHFORWARD, VALUES, rules=[some_of(OPERATOR, PUSHFORWARD, VALUES)])
WITNESS = Record(SUSPECTS)

# Standard test queries for a law that is not known to be affine: 0, +-e_j and 2 e_j.
_MOST_AXES = 16


@dataclass(frozen=True)
class GivenOperator:
    """What a certificate is about, all exact; `affine` is T as an affine map where that is proved."""

    law: StatedLaw
    weights: Weights
    query_law: Gaussian[fmpq] | None
    stated_queries: Values | None
    truth: Operator
    affine: AffineMap | None


@dataclass(frozen=True)
class StatedOperator:
    """What is given and asserted; `suspects` are queries at which to test an affine map."""

    given: GivenOperator
    asserts: Values
    suspects: ExactMatrix


def read(certificate: Certificate) -> StatedOperator:
    given = read_given(certificate)
    asserts = ASSERTS.read(certificate.asserts, certificate.reading)
    outputs, queries = given.weights.output_dimension, given.weights.query_dimension
    if OPERATOR in asserts:
        asserts[OPERATOR][MATRIX].require_shape(outputs, queries, "(outputs x queries)")
        asserts[OPERATOR][OFFSET].require_length(outputs, "an output")
    if PUSHFORWARD in asserts:
        image = asserts[PUSHFORWARD]
        if given.query_law is None:
            raise image.at.malformed("given.queries, the law that is pushed forward", "no law of queries")
        image[MEAN].require_length(outputs, "an output")
        image[COVARIANCE].require_shape(outputs, outputs, "for outputs of that dimension")
    for item in asserts.items(VALUES):
        item[QUERY].require_length(queries, "a query")
        item[VALUE].require_length(outputs, "an output")
    return StatedOperator(given, asserts, _read_suspects(certificate, queries))


def read_given(certificate: Certificate) -> GivenOperator:
    """The section `given` alone. Raises MalformedError."""
    _, values = GIVEN.read(certificate.given, certificate.reading)
    law, queries = values[TOKEN_LAW], values.get(QUERY_LAW)
    weights = read_weights(values, law.dimension)
    truth = Operator(law.law, weights.bilinear(), weights.values(), read_scale(values))
    if queries is not None:
        queries[MEAN].require_length(weights.query_dimension, "a query")
    query_law = read_gaussian(queries) if queries is not None else None
    return GivenOperator(law, weights, query_law, queries, truth, truth.affine())


def _read_suspects(certificate: Certificate, dimension: int) -> ExactMatrix:
    queries = [[fmpq(0)] * dimension]
    for axis in range(min(dimension, _MOST_AXES)):
        for length in (1, -1, 2):
            queries.append([fmpq(length) if j == axis else fmpq(0) for j in range(dimension)])
    if certificate.witness is not None:
        hinted = WITNESS.read(certificate.witness, certificate.reading).get(SUSPECTS)
        if hinted is not None:
            hinted.require_shape(None, dimension, "for queries of that dimension")
            queries += hinted.load().to_rows()
    return ExactMatrix.rational(queries)


def obligations(stated: StatedOperator) -> Iterator[Obligation | NoProof]:
    given, asserts = stated.given, stated.asserts
    if OPERATOR in asserts:
        yield from _affine(asserts[OPERATOR], stated)
    if PUSHFORWARD in asserts and given.query_law is not None:
        if given.affine is None:
            yield NoProof("pushforward", "no proof")
        else:
            yield from _image(asserts[PUSHFORWARD], given.query_law, given.affine)
    for index, item in enumerate(asserts.items(VALUES)):
        distance = partial(_distance, given.truth, item[QUERY].load(), item[VALUE].load())
        yield Obligation(f"values[{index}]", distance, "<=", item[RADIUS])


def _distance(truth: Operator, query: ExactMatrix, value: ExactMatrix) -> arb:
    """|T(z) - value|_linf."""
    (difference,) = truth.from_point(value, query)
    return linf_norm(difference)


def _affine(claimed: Values, stated: StatedOperator) -> Iterator[Obligation | NoProof]:
    """That T is this map; where nothing proves it affine, a query may show that it is another."""
    affine, truth = stated.given.affine, stated.given.truth
    matrix, offset = claimed[MATRIX].load(), claimed[OFFSET].load()
    if affine is not None:
        yield Obligation("operator.matrix", matrix, "=", affine.matrix)
        yield Obligation("operator.offset", offset, "=", affine.offset)
        return
    yield NoProof("operator", "no exact proof that this law makes T affine")
    for index in range(stated.suspects.rows):
        gap = partial(_gap, truth, AffineMap(matrix, offset, truth.scale), stated.suspects.take_rows([index]))
        yield Obligation(f"operator.at[{index}]", gap, "<=", fmpq(0))


def _gap(truth: Operator, claimed: AffineMap, query: ExactMatrix) -> arb:
    """How far T is from the map at a query, in linf."""
    (found,) = truth.from_point(claimed.offset, query)
    (expected,) = claimed.from_point(claimed.offset, query)
    return linf_norm([t - c for t, c in zip(found, expected, strict=True)])


def _image(image: Values, law: Gaussian[fmpq], affine: AffineMap) -> Iterator[Obligation]:
    """That `image` is that of N(m_z, S_z) under z -> b + s A z: N(b + s A m_z, s^2 A S_z A')."""
    name, mean = "pushforward.mean", image[MEAN].load()
    linear = ExactMatrix.row_vector(law.mean) @ affine.matrix.T
    if isinstance(affine.scale, fmpq):
        yield Obligation(name, mean, "=", affine.offset + linear.scaled(affine.scale))
    elif linear.is_zero():
        yield Obligation(name, mean, "=", affine.offset)
    else:
        # The stated mean is rational and the true one is not: its irrational part must vanish.
        yield Obligation(name, ExactMatrix.zero(linear.rows, linear.columns), "=", linear)
    covariance = affine.matrix @ ExactMatrix.rational(law.covariance) @ affine.matrix.T
    stated = image[COVARIANCE].load()
    yield Obligation("pushforward.covariance", stated, "=", covariance.scaled(square(affine.scale)))


THEOREM = Theorem(
    name="infinite-prompt-operator",
    title="the operator that attention becomes when the prompt is a law of tokens",
    given=GIVEN,
    asserts=ASSERTS,
    witness=WITNESS,
    read=read,
    obligations=obligations,
)
