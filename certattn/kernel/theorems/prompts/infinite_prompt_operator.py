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

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from flint import fmpq

from certattn.kernel.decide.claim import Claim, Statement
from certattn.kernel.decide.verdict import Obligation, Outcome, at_most, identical, show, unproved
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.fields import Field, Listing, Rational, Record, Values
from certattn.kernel.document.forms import ByKey
from certattn.kernel.document.matrices import Matrix, Vector
from certattn.kernel.given.attention_inputs import (
    BILINEAR,
    COVARIANCE,
    GAUSSIAN,
    KEY_WEIGHTS,
    LAW,
    MEAN,
    QUERY_WEIGHTS,
    SCALE,
    VALUE_WEIGHTS,
    StatedLaw,
    Weights,
    read_gaussian,
    read_scale,
    read_weights,
)
from certattn.kernel.mathematics.balls import ARB, linf_norm
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.laws import Gaussian
from certattn.kernel.mathematics.operator import AffineMap, Operator
from certattn.kernel.mathematics.reals import Real, describe
from certattn.kernel.theorems.prompts.gaussian_image import pushforward_obligations

TOKEN_LAW = Field("law", LAW, "law of the tokens")
QUERY_LAW = Field("queries", GAUSSIAN, "Gaussian law of the queries, for the pushforward", required=False)
_SHARED = (TOKEN_LAW, VALUE_WEIGHTS, SCALE, QUERY_LAW)
GIVEN = ByKey({"U": Record(BILINEAR, *_SHARED), "law": Record(KEY_WEIGHTS, QUERY_WEIGHTS, *_SHARED)})

MATRIX = Field("matrix", Matrix(), "T(z) = offset + scale * matrix z")
OFFSET = Field("offset", Vector(), "T(0)")
OPERATOR = Field("operator", Record(MATRIX, OFFSET), "the operator as an affine map", required=False)
PUSHFORWARD = Field("pushforward", GAUSSIAN, "the law of T(z) for the given law of z", required=False)
QUERY = Field("query", Vector(), "a query z")
VALUE = Field("value", Vector(), "T(z), up to the radius in every coordinate")
RADIUS = Field("radius", Rational(minimum=0), "largest error of a coordinate")
VALUES = Field("values", Listing(Record(QUERY, VALUE, RADIUS)), "values of T at queries", required=False)

SUSPECTS = Field("queries", Matrix(), "queries at which to test a stated affine map, one per row", required=False)

# Standard test queries for a law that is not known to be affine: 0, +-e_j and 2 e_j.
_MOST_AXES = 16
_SHOWN_VALUES = 4


@dataclass(frozen=True)
class Given:
    """What a certificate is about, all exact; `affine` is T as an affine map where that is proved."""

    law: StatedLaw
    weights: Weights
    query_law: Gaussian | None
    stated_queries: Values | None
    truth: Operator
    affine: AffineMap | None


@dataclass(frozen=True)
class StatedValue:
    """|T(query) - value|_linf <= radius; both are 1 x d matrices."""

    query: ExactMatrix
    value: ExactMatrix
    radius: fmpq

    def __str__(self) -> str:
        return f"{self.value} at z = {self.query} up to {describe(self.radius)}"


@dataclass(frozen=True)
class Problem:
    """What is given and asserted; `suspects` are queries at which to test an affine map, `words` what is said of T."""

    given: Given
    operator: AffineMap | None
    pushforward: Gaussian | None
    values: list[StatedValue]
    suspects: ExactMatrix
    words: list[str]


class InfinitePromptOperator(Claim[Problem]):
    name = "infinite-prompt-operator"
    title = "the operator that attention becomes when the prompt is a law of tokens"
    arithmetic = ARB
    given = GIVEN
    asserts = Record(OPERATOR, PUSHFORWARD, VALUES)
    witness = Record(SUSPECTS)

    def read(self, certificate: Certificate) -> Problem:
        given = self.read_given(certificate)
        asserts = self.asserts.read(certificate.asserts, certificate.reading)
        if not any(field in asserts for field in (OPERATOR, PUSHFORWARD, VALUES)):
            raise asserts.at.malformed("operator, pushforward or values", "nothing that is asserted")
        weights = given.weights
        operator = _read_operator(asserts.get(OPERATOR), weights, given.truth.scale)
        return Problem(
            given,
            operator,
            _read_pushforward(asserts, weights, given.query_law),
            [_read_value(item, weights) for item in asserts.get(VALUES) or []],
            self._suspects(certificate, weights.query_dimension),
            _words(given.stated_queries, operator, asserts),
        )

    def read_given(self, certificate: Certificate) -> Given:
        """The section `given` alone. Raises MalformedError."""
        _, values = GIVEN.read(certificate.given, certificate.reading)
        law = values[TOKEN_LAW]
        weights = read_weights(values, law.dimension)
        truth = Operator(law.law, weights.bilinear(), weights.values(), read_scale(values))
        query_law = _read_query_law(values, weights)
        return Given(law, weights, query_law, values.get(QUERY_LAW), truth, truth.affine())

    def _suspects(self, certificate: Certificate, dimension: int) -> ExactMatrix:
        zero = [fmpq(0)] * dimension
        queries = [zero]
        for axis in range(min(dimension, _MOST_AXES)):
            for length in (1, -1, 2):
                queries.append([fmpq(length) if j == axis else fmpq(0) for j in range(dimension)])
        if certificate.witness is not None:
            hinted = self.witness.read(certificate.witness, certificate.reading).get(SUSPECTS)
            if hinted is not None:
                hinted.require_shape(None, dimension, "for queries of that dimension")
                queries += hinted.load().to_rows()
        return ExactMatrix.rational(queries)

    def statement(self, problem: Problem) -> Statement:
        given = problem.given
        words = [
            f"For {given.law.words}, with {given.weights.words()} and scale {describe(given.truth.scale)}, "
            "attention over the whole law, T(z) = V tau(scale * U z) with U = K'Q and tau the tilted mean,",
            *problem.words,
        ]
        latex = []
        if problem.operator is not None:
            latex.append(r"T[\mu](z) = b + s A z \quad \forall z")
        if problem.pushforward is not None:
            latex.append(r"T[\mu]_\# \mathcal N(m_z, S_z) = \mathcal N(m, S)")
        if problem.values:
            words += [f"is {stated} in every coordinate" for stated in problem.values[:_SHOWN_VALUES]]
            if len(problem.values) > _SHOWN_VALUES:
                words.append(f"has {len(problem.values) - _SHOWN_VALUES} more values as stated")
            latex.append(rf"\| T[\mu](z_i) - y_i \|_\infty \le r_i, \quad i = 1, \dots, {len(problem.values)}")
        head, *rest = words
        return Statement(f"{head} {' and '.join(rest)}.", r",\qquad ".join(latex))

    def names(self, problem: Problem) -> list[str]:
        names: list[str] = []
        if problem.operator is not None:
            names += ["operator.matrix", "operator.offset"] if problem.given.affine else self._suspect_names(problem)
        if problem.pushforward is not None:
            names += ["pushforward.mean", "pushforward.covariance"] if problem.given.affine else ["pushforward"]
        return names + [f"values[{index}]" for index in range(len(problem.values))]

    def _suspect_names(self, problem: Problem) -> list[str]:
        return ["operator", *(f"operator.at[{index}]" for index in range(problem.suspects.rows))]

    def prove(self, problem: Problem, names: Collection[str], bits: int) -> list[Obligation]:
        found = self._operator(problem, names, bits) + self._pushforward(problem)
        for index, stated in enumerate(problem.values):
            name = f"values[{index}]"
            if name in names:
                (difference,) = problem.given.truth.from_point(stated.value, stated.query)
                sentence = f"|T(z) - value|_linf <= radius at query {index}"
                found.append(at_most(name, sentence, linf_norm(difference), stated.radius, bits))
        return [obligation for obligation in found if obligation.name in names]

    def _operator(self, problem: Problem, names: Collection[str], bits: int) -> list[Obligation]:
        stated, affine = problem.operator, problem.given.affine
        if stated is None:
            return []
        if affine is not None:
            return [
                identical("operator.matrix", "matrix = V Gamma U", stated.matrix, affine.matrix),
                identical("operator.offset", "offset = T(0)", stated.offset, affine.offset),
            ]
        reason = "no exact proof that this law makes T affine"
        found = [unproved("operator", "T is affine", reason)]
        for index, query in enumerate(problem.suspects.to_rows()):
            name = f"operator.at[{index}]"
            if name in names:
                z = ExactMatrix.row_vector(query)
                (truth,) = problem.given.truth.from_point(stated.offset, z)
                (claimed,) = stated.from_point(stated.offset, z)
                gap = linf_norm([t - c for t, c in zip(truth, claimed, strict=True)])
                shown = ", ".join(describe(entry) for entry in query)
                sentence = f"T(z) = offset + scale * matrix z at z = ({shown})"
                found.append(at_most(name, sentence, gap, fmpq(0), bits))
        return found

    def _pushforward(self, problem: Problem) -> list[Obligation]:
        stated, law, affine = problem.pushforward, problem.given.query_law, problem.given.affine
        if stated is None or law is None:
            return []
        if affine is None:
            return [unproved("pushforward", "T is affine, so z's Gaussian law is mapped to a Gaussian", "no proof")]
        return pushforward_obligations(stated, law, affine)

    def findings(self, problem: Problem, obligations: Sequence[Obligation]) -> list[str]:
        for o in obligations:
            if o.name.startswith("operator.at[") and o.outcome is Outcome.REFUTED:
                return [f"not linear as stated, shown by a query: {o.sentence} is off by {show(o.left)}"]
        return []


def _words(queries: Values | None, operator: AffineMap | None, asserts: Values) -> list[str]:
    """What is asserted of T as a map: the numbers where few are written out, else their shape and source."""
    words = []
    if operator is not None:
        stated = asserts[OPERATOR]
        offset, matrix = stated[OFFSET].words(), stated[MATRIX].words()
        words.append(f"is the affine map {offset} + {operator.factor}A z with A = {matrix}")
    if queries is not None and PUSHFORWARD in asserts:
        words.append(f"maps {_normal(queries)} to {_normal(asserts[PUSHFORWARD])}")
    return words


def _normal(law: Values) -> str:
    return f"N({law[MEAN].words()}, {law[COVARIANCE].words()})"


def _read_operator(stated: Values | None, weights: Weights, scale: Real) -> AffineMap | None:
    if stated is None:
        return None
    matrix, offset = stated[MATRIX], stated[OFFSET]
    matrix.require_shape(weights.output_dimension, weights.query_dimension, "(outputs x queries)")
    offset.require_length(weights.output_dimension, "an output")
    return AffineMap(matrix.load(), offset.load(), scale)


def _read_query_law(given: Values, weights: Weights) -> Gaussian | None:
    stated = given.get(QUERY_LAW)
    if stated is None:
        return None
    stated[MEAN].require_length(weights.query_dimension, "a query")
    return read_gaussian(stated)


def _read_pushforward(asserts: Values, weights: Weights, query_law: Gaussian | None) -> Gaussian | None:
    stated = asserts.get(PUSHFORWARD)
    if stated is None:
        return None
    if query_law is None:
        raise stated.at.malformed("given.queries, the law that is pushed forward", "no law of queries")
    size = weights.output_dimension
    stated[MEAN].require_length(size, "an output")
    stated[COVARIANCE].require_shape(size, size, "for outputs of that dimension")
    return Gaussian(stated[MEAN].load().row(0), stated[COVARIANCE].load().to_rows())


def _read_value(item: Values, weights: Weights) -> StatedValue:
    item[QUERY].require_length(weights.query_dimension, "a query")
    item[VALUE].require_length(weights.output_dimension, "an output")
    return StatedValue(item[QUERY].load(), item[VALUE].load(), item[RADIUS])


CLAIM = InfinitePromptOperator()
