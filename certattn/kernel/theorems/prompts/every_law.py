"""The repaired form of Boursier and Boyer's propositions 3.1 and 3.4 for every law of a class; none is stated.

Stated are dimensions, how sub-Gaussian tokens and queries are, and U, V (or K, Q, V) or what their norms are at most.
For every such law of tokens and of queries the display of `propositions` holds for every L >= 2 with the stated c1 and
c2. The proof is by `class_bounds`, with the numbers of a step of the witness for its lengths. Of the last step, whose
theta is at least c2 / sigma^2, the first length is the worst; before it every length is looked at. Where the class says
a radius too, its laws live on a ball, and of it alone the proof is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from flint import arb, fmpq

from certattn.kernel.decide.obligation import NoProof, Obligation, Part
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.schema import ByKey, Count, Field, Rational, Record, Values
from certattn.kernel.given.attention import (
    BILINEAR,
    KEY_WEIGHTS,
    QUERY_WEIGHTS,
    SCALE,
    VALUE_WEIGHTS,
    Weights,
    read_scale,
    read_weights,
)
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import Real, describe, square
from certattn.kernel.theorems.prompts.mathematics.class_bounds import Queries, QueriesOfMatrix, QueriesOfNorm, Weighted
from certattn.kernel.theorems.prompts.mathematics.class_errors import Covariance, Mean, OnBall, Tokens, class_bound
from certattn.kernel.theorems.prompts.propositions import (
    DELTA,
    ETA,
    FALL,
    FROM,
    GAP,
    GRADIENT,
    NORM,
    PUBLISHED,
    REPAIRED,
    SLOPE,
    STEPS,
    THETA,
    WITNESS,
    Display,
    Error,
)

DIMENSION = Field("dimension", Count(1), "dimension d of the tokens")
SIGMA = Field("sigma", Rational(minimum=1), "the tokens are centred and sigma-sub-Gaussian")
QUERY_DIMENSION = Field("query_dimension", Count(1), "dimension k of the queries")
QUERY_SIGMA = Field("query_sigma", Rational(above=0), "the queries are centred and sub-Gaussian with this number")
RADIUS = Field("radius", Rational(above=0), "all tokens lie in some ball of this radius", required=False)
CLASS = Field("class", Record(DIMENSION, SIGMA, RADIUS, QUERY_DIMENSION, QUERY_SIGMA), "the laws: all that are so")
U_NORM = Field("U", Rational(above=0), "the operator norm of U is at most this")
V_NORM = Field("V", Rational(above=0), "the operator norm of V is at most this")
NORMS = Field("norms", Record(U_NORM, V_NORM), "of U and V, in place of the matrices")

GIVEN = ByKey(
    {
        "norms": Record(CLASS, NORMS, SCALE),
        "U": Record(CLASS, BILINEAR, VALUE_WEIGHTS, SCALE),
        "class": Record(CLASS, KEY_WEIGHTS, QUERY_WEIGHTS, VALUE_WEIGHTS, SCALE),
    }
)


@dataclass(frozen=True)
class ClassSetting:
    """The section `given`: the class, and the weights or their norms, all exact."""

    values: Values
    weights: Weights | None
    scale: Real

    @property
    def about(self) -> Values:
        """Dimensions, and how sub-Gaussian the laws are."""
        return self.values[CLASS]

    @property
    def sigma(self) -> fmpq:
        return self.about[SIGMA]

    @property
    def squared_scale(self) -> fmpq:
        return square(self.scale)

    @property
    def rank(self) -> int:
        """U has at most so many singular values that are not 0."""
        about = self.about
        return int(min(about[DIMENSION], about[QUERY_DIMENSION]))

    @property
    def size(self) -> fmpq:
        """How large tokens are: what s is in units of |a|."""
        radius: fmpq | None = self.about.get(RADIUS)
        return self.sigma if radius is None else radius

    def queries(self) -> Queries:
        """How queries are scored."""
        about, square_of = self.about, self.squared_scale * self.size * self.size
        variance, size = about[QUERY_SIGMA] ** 2, about[QUERY_DIMENSION]
        if self.weights is not None:
            U = self.weights.bilinear()
            return QueriesOfMatrix((U.T @ U).scaled(square_of), variance)
        return QueriesOfNorm(square_of * self.values[NORMS][U_NORM] ** 2, variance, size, self.rank)

    def values_matrix(self, error: Error) -> ExactMatrix | None:
        """V where it matters and is stated."""
        return self.weights.values() if self.weights is not None and error is not Error.GRADIENT_V else None


@dataclass(frozen=True)
class StatedClass:
    """A class, whose error is bounded in it, and how it is proved."""

    setting: ClassSetting
    error: Error
    asserts: Values
    witness: Values


def read_given(certificate: Certificate) -> ClassSetting:
    """The section `given` alone, its shapes checked. Raises MalformedError."""
    _, values = GIVEN.read(certificate.given, certificate.reading)
    scale = read_scale(values)
    if NORMS in values:
        return ClassSetting(values, None, scale)
    about = values[CLASS]
    weights = read_weights(values, about[DIMENSION])
    if weights.query_dimension != about[QUERY_DIMENSION]:
        expected = f"query_dimension {weights.query_dimension}, of the queries that U or Q takes"
        raise about.node(QUERY_DIMENSION).malformed(expected, str(about[QUERY_DIMENSION]))
    return ClassSetting(values, weights, scale)


def read_class(record: Record, certificate: Certificate) -> StatedClass:
    """What is stated of a class. Raises MalformedError."""
    setting, reading, hint = read_given(certificate), certificate.reading, certificate.witness
    asserts = record.read(certificate.asserts, reading)
    if PUBLISHED in asserts:
        raise asserts.node(PUBLISHED).malformed("repaired, for a class: the published display is decided for laws")
    if hint is None:
        raise asserts.at.malformed("a witness beside it, for a repaired form", "no witness")
    error = Error(asserts[GRADIENT]) if GRADIENT in asserts else Error.OUTPUT
    witness = WITNESS.read(hint, reading)
    if STEPS not in witness:
        raise witness.at.malformed("steps, for a class", "t and from alone")
    proof = [SLOPE] if RADIUS in setting.about else [ETA, GAP]
    needed = [THETA, FALL, *proof, *([DELTA] if error is Error.GRADIENT_U else [])]
    for step in witness[STEPS]:
        found = [field.name for field in (THETA, FALL, ETA, GAP, SLOPE, DELTA) if field in step]
        expected = [field.name for field in needed]
        if found != expected:
            raise step.at.malformed(f"{', '.join(expected)} beside from", ", ".join(found) or "none of them")
    if NORM in witness and setting.values_matrix(error) is None:
        raise witness.node(NORM).malformed("no norm where V is not stated, or plays no role")
    return StatedClass(setting, error, asserts, witness)


# -- what proves it


def obligations(stated: StatedClass) -> Iterator[Obligation | NoProof]:
    """Every length of a step; of the last one the first, which is the worst."""
    setting, witness = stated.setting, stated.witness
    claimed = Display.of(stated.asserts[REPAIRED], setting.sigma, stated.error)
    V = setting.values_matrix(stated.error)
    if NORM in witness and V is not None and is_norm(V, witness[NORM]) is not True:
        yield NoProof(
            NORM.name, f"|V| <= {describe(witness[NORM])} is false: norm^2 I - V'V is not positive semidefinite"
        )
        return
    steps = witness[STEPS]
    queries, tokens = setting.queries(), tokens_of(setting, stated.error, witness.get(NORM))
    stops = [step[FROM] for step in steps[1:]]
    for index, (step, stop) in enumerate(zip(steps, [*stops, None], strict=True)):
        name, start = f"{STEPS.name}[{index}]", step[FROM]
        reason = _no_bound(step) or (_does_not_last(step, claimed) if stop is None else None)
        weighted = weighted_by(queries, step)
        if reason is not None:
            yield NoProof(name, reason)
        elif weighted is None:
            yield NoProof(name, f"theta = {describe(step[THETA])} is too large: an infinite bound")
        else:
            lengths = range(start, start + 1 if stop is None else stop)
            worst = partial(claimed.worst, partial(bound, stated, tokens, weighted, step), lengths)
            yield Obligation(name, worst, "<=", claimed.c1, Part.WITNESS)


def _no_bound(step: Values) -> str | None:
    """Why the numbers of a step give no bound."""
    if (step[THETA] <= 1) is not True:
        return f"theta is {describe(step[THETA])}, and the bound is proved for exponents up to 1"
    for field in (FALL, ETA):
        if field in step and (step[field] < 1) is not True:
            return f"{field.name} is {describe(step[field])}, and the bound is proved for {field.name} below 1"
    return None


def _does_not_last(step: Values, claimed: Display) -> str | None:
    if (step[THETA] >= claimed.rho) is True:
        return None
    return f"c2/sigma^2 = {describe(claimed.rho)} is more than the last theta, {describe(step[THETA])}"


def is_norm(V: ExactMatrix, norm: fmpq) -> bool:
    """Whether |V| <= norm, exactly."""
    gram = V @ V.T if V.rows < V.columns else V.T @ V
    return (ExactMatrix.identity(gram.rows).scaled(norm * norm) - gram).is_positive_semidefinite()


def weighted_by(queries: Queries, step: Values) -> Weighted | None:
    """The means over queries of a step: under e^{2 theta s^2}, of a ball under e^{theta slope s^2}."""
    slope, none = step.get(SLOPE) or fmpq(2), fmpq(0)
    return Weighted.of(queries, step[THETA] * slope, step.get(GAP) or none, step.get(DELTA) or none)


def tokens_of(setting: ClassSetting, error: Error, norm: fmpq | None) -> Tokens:
    """What the error says of tokens."""
    d, variance = setting.about[DIMENSION], setting.size * setting.size
    if RADIUS in setting.about:
        of_output = error is Error.OUTPUT
        squared_norm = squared_norm_of(setting, error, norm) if of_output else fmpq(1)
        return OnBall.covariance(variance) if error is Error.GRADIENT_U else OnBall.mean(variance, squared_norm)
    if error is Error.GRADIENT_U:
        return Covariance(variance, d)
    if error is Error.GRADIENT_V:
        return Mean(variance, fmpq(1), fmpq(d))
    V, squared_norm = setting.values_matrix(error), squared_norm_of(setting, error, norm)
    return Mean(variance, squared_norm, V.inner(V) if V is not None else d * squared_norm)


def squared_norm_of(setting: ClassSetting, error: Error, norm: fmpq | None) -> fmpq:
    """|V|^2, or more: by `norm` where V is stated, and by |V|_F if that is None."""
    V = setting.values_matrix(error)
    if V is None:
        return setting.values[NORMS][V_NORM] ** 2
    return V.inner(V) if norm is None else norm * norm


def bound(stated: StatedClass, tokens: Tokens, weighted: Weighted, step: Values, length: int) -> arb:
    """Of the mean square error; for the gradient in U scale^2 |V|^2 |z|^2 with |z|^2 <= e^{delta |z|^2} / (e delta)."""
    found = class_bound(arb(length), tokens, weighted, step[THETA], step[FALL], step.get(ETA) or fmpq(0))
    if SLOPE in step:
        found *= (arb(step[THETA]) / step[SLOPE]).exp()
    if stated.error is not Error.GRADIENT_U:
        return found
    squared_norm = squared_norm_of(stated.setting, stated.error, stated.witness.get(NORM))
    return found * stated.setting.squared_scale * squared_norm / (step[DELTA] * arb(1).exp())
