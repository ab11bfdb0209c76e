"""Boursier and Boyer's propositions 3.1 and 3.4 as claims: the published display at an instance, or a repaired form.

Tokens x of a centred sigma-sub-Gaussian law mu, sigma >= 1, queries z of a centred 1-sub-Gaussian law nu; the tilt of z
is s U z, tau the tilted mean and C the tilted covariance of mu. A hat marks the same over L independent tokens.
The errors that the propositions bound, in the mean over prompts and queries:

    output        |V (tau_hat - tau)|^2                    proposition 3.1
    gradient in V |tau_hat - tau|^2                        proposition 3.4, operator norm
    gradient in U s^2 |V (C_hat - C)|_F^2 |z|^2            proposition 3.4, Hilbert-Schmidt norm

The display is E |error|^2 in L2(nu) <= c1 (sigma^6 ln L)^n / L^rho, rho = c2 / sigma^2, with n = 2 for the gradient in
U and n = 1 else: section 3 of arXiv 2512.11784, as a public audit of it quotes them. A certificate asserts one of

    published    that it fails, or holds, at an instance whose left side is a rational number (`left_side`).
                 At L = 1 the right side is 0 whatever c1, c2 and sigma are, as ln 1 = 0. At L >= 2 they are given
    repaired     that it holds for every L >= 2 with stated c1 and c2, for the stated laws; the queries need not be
                 1-sub-Gaussian

The proof of a repaired form. Gaussian tokens and queries: by the logistic bound, for theta as the witness's steps say;
a step without theta takes its mean over queries at the first length, from which it falls. From the last step on,
which must have theta >= rho, the first length is the worst (`every_length`); of a step before it the first or the last.
Box tokens and queries: by the bound of `TokenBox`, with t of the witness; from the length
`from` on that one is the worst, and before it every length is looked at, with the least of this bound, the largest
error there is and, for the output and the gradient in V, the bound of `geometric_mean`. Of every law of a class see
`every_law`.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from flint import arb, ctx, fmpq

from certattn.kernel.decide.obligation import NoProof, Obligation, Part, Relation, Shared
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.schema import (
    Choice,
    Count,
    Field,
    Listing,
    Rational,
    Record,
    Values,
)
from certattn.kernel.given.attention import SCALE, VALUE_WEIGHTS, Weights, read_scale, read_weights, weighted_forms
from certattn.kernel.given.token_laws import LAW, StatedLaw
from certattn.kernel.mathematics.balls import row_of_balls, scale_ball, table_of_balls
from certattn.kernel.mathematics.every_length import display, logistic_bound
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.laws import Box, Gaussian
from certattn.kernel.mathematics.reals import Real, describe, square
from certattn.kernel.mathematics.sub_gaussian import (
    has_rational_moments,
    is_centred,
    is_sub_gaussian,
    mean_and_covariance,
)
from certattn.kernel.theorems.prompts.mathematics.covariance_error import CovarianceShape, covariance_square_bound
from certattn.kernel.theorems.prompts.mathematics.over_queries import (
    BoxBounds,
    QueryPolynomial,
    TokenBox,
    constant,
    quadratic,
    weighted_queries,
)

if TYPE_CHECKING:
    from certattn.kernel.mathematics.query_averages import QueryAverage

TOKEN_LAW = Field("law", LAW, "law of the tokens, of mean 0")
QUERY_LAW = Field("queries", LAW, "law of the queries, of mean 0")
SIGMA = Field("sigma", Rational(minimum=1), "the law of the tokens is sigma-sub-Gaussian", required=False)
LENGTH = Field("length", Count(1), "number L of tokens, for the published form at one length", required=False)
C1 = Field("c1", Rational(above=0), "the constant c1")
C2 = Field("c2", Rational(above=0), "the constant c2")
CONSTANTS = Field(
    "constants", Record(C1, C2), "c1 and c2, for the published form; all of them if left out", required=False
)
_SHARED = (TOKEN_LAW, QUERY_LAW, VALUE_WEIGHTS, SCALE, SIGMA, LENGTH, CONSTANTS)
GIVEN = weighted_forms("law", *_SHARED)

GRADIENT = Field("gradient", Choice(("V", "U")), "with respect to V or U")
PUBLISHED = Field(
    "published", Choice(("fails", "holds")), "whether the published display holds at this instance", required=False
)
REPAIRED = Field("repaired", Record(C1, C2), "constants with which the display holds for every L >= 2", required=False)

FROM = Field("from", Count(2), "the first length for which it is used")
THETA = Field(
    "theta",
    Rational(minimum=0),
    "the exponent of L - 1 in the bound, between 0 and 1; left out for Gaussian laws: the mean of the logistic bound",
    required=False,
)
FALL = Field("t", Rational(above=0), "for a class: how far the normaliser may fall below 1, below 1", required=False)
ETA = Field("eta", Rational(above=0), "for a class: the share of a square in an exponent, below 1", required=False)
GAP = Field("gap", Rational(above=0), "for a class: the exponent that powers of the score take", required=False)
SLOPE = Field("slope", Rational(above=0), "for a class on a ball: 2s <= slope s^2 + 1/slope", required=False)
DELTA = Field("delta", Rational(above=0), "for a class, gradient U: the exponent that |z|^2 takes", required=False)
STEPS = Field(
    "steps",
    Listing(Record(FROM, THETA, FALL, ETA, GAP, SLOPE, DELTA)),
    "for Gaussian laws and for a class: the exponents used, by length",
    required=False,
)
NORM = Field("norm", Rational(minimum=0), "for a class: the operator norm of V, or more", required=False)
T = Field("t", Rational(above=0), "for box laws: how far the normaliser may fall below 1, below 1", required=False)
START = Field("from", Count(2), "for box laws: the length from which the bound is monotone", required=False)

# Lengths that are looked at one by one.
_MOST_LENGTHS = 100000
# Up to which length the bound of short prompts, which no longer one needs, is looked at.
_SHORT = 200


def _of_one_kind(witness: Values) -> None:
    """Steps in their order, or t and a length: what Gaussian laws need, or boxes. Raises MalformedError."""
    there = [field.name for field in (STEPS, T, START, NORM) if field in witness]
    if there not in ([STEPS.name], [STEPS.name, NORM.name], [T.name, START.name]):
        found = " and ".join(there) or "nothing"
        expected = "steps alone, for Gaussian laws (for a class with norm), or t and from alone, for box laws"
        raise witness.at.malformed(expected, found)
    if START in witness and witness[START] > _MOST_LENGTHS:
        raise witness.node(START).malformed(f"a length of at most {_MOST_LENGTHS}", str(witness[START]))
    starts = [step[FROM] for step in witness.items(STEPS)]
    of_a_class = any(FALL in step for step in witness.items(STEPS))
    too_long = of_a_class and starts[-1] > _MOST_LENGTHS
    if starts and (starts[0] != 2 or any(b <= a for a, b in pairwise(starts)) or too_long):
        expected = f"steps from 2 on, each from a larger length than the one before, for a class up to {_MOST_LENGTHS}"
        raise witness.node(STEPS).malformed(expected, f"steps from {', '.join(map(str, starts[:5]))}")


WITNESS = Record(STEPS, T, START, NORM, rules=[_of_one_kind])


# -- what is stated


class Error(enum.Enum):
    """Whose error is bounded."""

    OUTPUT = "output"
    GRADIENT_V = "V"
    GRADIENT_U = "U"

    @property
    def power(self) -> int:
        """The power of sigma^6 ln L in the display of this error."""
        return 2 if self is Error.GRADIENT_U else 1


@dataclass(frozen=True)
class Setting:
    """The section `given`: laws and weights, all exact; what is not stated is None."""

    values: Values
    law: StatedLaw
    queries: StatedLaw
    weights: Weights
    scale: Real

    @property
    def sigma(self) -> fmpq | None:
        return self.values.get(SIGMA)

    @cached_property
    def U(self) -> ExactMatrix:  # noqa: N802 - the mathematical name
        return self.weights.bilinear()

    @cached_property
    def covariance(self) -> ExactMatrix:
        """Cov x."""
        return mean_and_covariance(self.law.law)[1]

    @cached_property
    def query_covariance(self) -> ExactMatrix:
        """E z z'."""
        return mean_and_covariance(self.queries.law)[1]

    @property
    def squared_scale(self) -> fmpq:
        return square(self.scale)

    def read_out(self, error: Error) -> ExactMatrix:
        """What multiplies the token in the error: V, or I for the gradient with respect to V."""
        return self.weights.values() if error is not Error.GRADIENT_V else ExactMatrix.identity(self.law.dimension)

    def are_both(self, kind: type[Gaussian[Any] | Box[Any]]) -> bool:
        """Whether tokens and queries have laws of this kind."""
        return isinstance(self.law.law, kind) and isinstance(self.queries.law, kind)


@dataclass(frozen=True)
class StatedDisplay:
    """A setting, whose error is bounded in it, and how; a witness stands beside a repaired form."""

    setting: Setting
    error: Error
    asserts: Values
    witness: Values | None


@dataclass(frozen=True)
class Display:
    """c1 (sigma^6 ln L)^power / L^rho."""

    c1: fmpq
    sigma: fmpq
    rho: fmpq
    power: int

    @classmethod
    def of(cls, constants: Values, sigma: fmpq, error: Error) -> Display:
        return cls(constants[C1], sigma, constants[C2] / (sigma * sigma), error.power)

    def at(self, length: int) -> arb:
        """Without c1, at the working precision."""
        return display(arb(length), arb(self.rho), arb(self.sigma), self.power)

    def worst(self, bound: Callable[[int], arb], lengths: Iterable[int]) -> arb:
        """The largest ratio of a bound to (sigma^6 ln L)^power / L^rho among these lengths."""
        return reduce(arb.max, (bound(length) / self.at(length) for length in lengths))


def read_given(certificate: Certificate) -> Setting:
    """The section `given` alone, its shapes checked. Raises MalformedError."""
    _, values = GIVEN.read(certificate.given, certificate.reading)
    law, queries = values[TOKEN_LAW], values[QUERY_LAW]
    weights = read_weights(values, law.dimension)
    queries.require_dimension(weights.query_dimension, "the queries that U or Q takes")
    for stated in (law, queries):
        if not has_rational_moments(stated.law):
            found = "a truncated Gaussian, whose covariance is not known exactly"
            raise stated.node.malformed("a law whose mean and covariance are rational numbers", found)
        if is_centred(stated.law) is not True:
            raise stated.node.malformed("a law of mean 0, as the proposition supposes", "one of another mean")
    return Setting(values, law, queries, weights, read_scale(values))


def read_display(record: Record, certificate: Certificate) -> StatedDisplay:
    """What is stated in one of the two forms. Raises MalformedError."""
    setting, reading, hint = read_given(certificate), certificate.reading, certificate.witness
    asserts, given = record.read(certificate.asserts, reading), setting.values
    error = Error(asserts[GRADIENT]) if GRADIENT in asserts else Error.OUTPUT
    if PUBLISHED in asserts:
        if hint is not None:
            raise hint.malformed("no witness: the published form needs none")
        _require_instance(given)
        return StatedDisplay(setting, error, asserts, None)
    for field in (LENGTH, CONSTANTS):
        if field in given:
            raise given.node(field).malformed(f"no '{field.name}' beside a repaired form: it holds for L >= 2")
    if SIGMA not in given:
        raise given.at.malformed("sigma, which the display is about", "no 'sigma'")
    if hint is None:
        raise asserts.at.malformed("a witness beside it, for a repaired form", "no witness")
    witness = WITNESS.read(hint, reading)
    _refuse_what_is_of_a_class(witness)
    return StatedDisplay(setting, error, asserts, witness)


def _refuse_what_is_of_a_class(witness: Values) -> None:
    """Raises MalformedError."""
    of_steps = [(step, field) for step in witness.items(STEPS) for field in (FALL, ETA, GAP, SLOPE, DELTA)]
    for values, field in [(witness, NORM), *of_steps]:
        if field in values:
            raise values.node(field).malformed(f"no '{field.name}' beside stated laws: it is for a class")


def _require_instance(given: Values) -> None:
    """An instance of the published display says what both sides depend on. Raises MalformedError."""
    if LENGTH not in given:
        raise given.at.malformed("a length, at which the published display is looked at", "no 'length'")
    length = given[LENGTH]
    for field in (CONSTANTS, SIGMA):
        if length > 1 and field not in given:
            expected = f"{field.name} at a length above 1, where the right side depends on it"
            raise given.at.malformed(expected, f"no '{field.name}' at length {length}")
    if CONSTANTS in given and SIGMA not in given:
        raise given.at.malformed("sigma beside the constants", "no 'sigma'")


# -- what proves it


def obligations(stated: StatedDisplay) -> Iterator[Obligation | NoProof]:
    setting, asserts = stated.setting, stated.asserts
    if setting.sigma is not None and is_sub_gaussian(setting.law.law, setting.sigma * setting.sigma) is not True:
        reason = f"the law of {setting.law.node.path} is not known to be sigma-sub-Gaussian for this sigma"
        yield NoProof(SIGMA.name, f"{reason} (a Gaussian is where covariance <= sigma^2 I)")
    elif PUBLISHED in asserts and is_sub_gaussian(setting.queries.law, fmpq(1)) is not True:
        reason = "is not known to be 1-sub-Gaussian, as the proposition supposes (a Gaussian is where covariance <= I)"
        yield NoProof(QUERY_LAW.name, f"the law of {setting.queries.node.path} {reason}")
    elif PUBLISHED in asserts:
        yield _published(setting, stated.error, asserts[PUBLISHED])
    elif stated.witness is not None and setting.sigma is not None:
        claimed = Display.of(asserts[REPAIRED], setting.sigma, stated.error)
        kind, prove = (Gaussian, _of_gaussians) if STEPS in stated.witness else (Box, _on_boxes)
        if setting.are_both(kind):
            yield from prove(claimed, setting, stated.error, stated.witness)
        else:
            yield NoProof(REPAIRED.name, "the witness is for Gaussian laws if it has steps, and else for laws on boxes")


def _published(setting: Setting, error: Error, word: str) -> Obligation | NoProof:
    """The display at the instance, where its left side is known exactly."""
    length, gaussian = setting.values[LENGTH], isinstance(setting.law.law, Gaussian)
    if setting.U.is_zero() is not True and (length > 1 or gaussian is not True):
        return NoProof(PUBLISHED.name, "the left side is known exactly where U = 0, or for one Gaussian token")
    if error is Error.GRADIENT_U and length > 1 and gaussian is not True:
        return NoProof(PUBLISHED.name, "at a length above 1 the left side is known exactly for Gaussian tokens alone")
    relation: Relation = "<" if word == "fails" else ">="
    return Obligation(PUBLISHED.name, partial(right_side, setting, error), relation, left_side(setting, error, length))


def left_side(setting: Setting, error: Error, length: int) -> fmpq:
    """The mean square of the error, exactly, where U = 0, or where L = 1 and the tokens are Gaussian.

    With weights 1/L, tau_hat is the mean of the tokens and C_hat their covariance: E |V tau_hat|^2 = tr(V C V') / L,
    and for Gaussian tokens E |V (C_hat - C)|_F^2 = |VC|_F^2 / L^2 + (L-1)/L^2 (|VC|_F^2 + tr(V C V') tr C).
    One token has tau_hat = x and C_hat = 0, so E |V (tau_hat - tau)|^2 = tr(V C V') + s^2 E |V C U z|^2.
    """
    V, C = setting.read_out(error), setting.covariance
    spread = (V @ C @ V.T).trace()
    if error is Error.GRADIENT_U:
        size = setting.squared_scale * setting.query_covariance.trace()
        square_norm = (V @ C @ C @ V.T).trace()
        several = (square_norm + spread * C.trace()) * fmpq(length - 1, length**2)
        return size * (square_norm / length**2 + several)
    shift = V @ C @ setting.U
    apart = (shift @ setting.query_covariance @ shift.T).trace() * setting.squared_scale if length == 1 else fmpq(0)
    return spread / length + apart


def right_side(setting: Setting, error: Error) -> arb:
    """c1 (sigma^6 ln L)^n / L^(c2 / sigma^2) with the constants that are given, at the working precision."""
    length, sigma, constants = setting.values[LENGTH], setting.sigma, setting.values.get(CONSTANTS)
    if length == 1 or sigma is None or constants is None:
        return arb(0)
    return arb(constants[C1]) * Display.of(constants, sigma, error).at(length)


def _of_gaussians(claimed: Display, setting: Setting, error: Error, witness: Values) -> Iterator[Obligation | NoProof]:
    """The logistic bound at the ends of a step, one of which is the worst; of the last step the first length is."""
    steps = witness[STEPS]
    stops = [step[FROM] for step in steps[1:]]
    for index, (step, stop) in enumerate(zip(steps, [*stops, None], strict=True)):
        name, start, theta = f"{STEPS.name}[{index}]", step[FROM], step.get(THETA)
        ends = [start] if stop is None else [start, stop - 1]
        if theta is None:
            yield _of_average(name, claimed, setting, error, ends if stop is not None else [])
            continue
        average = weighted_average(setting, error, theta)
        if (theta <= 1) is not True:
            yield NoProof(name, f"theta is {describe(theta)}, and the bound is proved for exponents up to 1")
        elif stop is None and (theta >= claimed.rho) is not True:
            yield NoProof(name, f"c2/sigma^2 = {describe(claimed.rho)} is more than the last theta, {describe(theta)}")
        elif average is None:
            yield NoProof(name, f"2 theta |M| >= 1 for theta = {describe(theta)}: an infinite bound")
        else:
            worst = partial(claimed.worst, partial(_logistic, theta, *average), ends)
            yield Obligation(name, worst, "<=", claimed.c1, Part.WITNESS)


def _of_average(
    name: str, claimed: Display, setting: Setting, error: Error, ends: Sequence[int]
) -> Obligation | NoProof:
    """The mean of the logistic bound at the first length, which is the largest one of a step between these ends."""
    if not ends:
        return NoProof(name, "the last step has no theta: without one a step is about finitely many lengths")
    if error is Error.GRADIENT_U:
        return NoProof(name, "no theta: the mean of the logistic bound is not known for the gradient in U")
    average = logistic_average(setting, error)

    def worst() -> arb:
        largest = average.integral(ends[0], ctx.prec)
        return claimed.worst(lambda length: largest, ends)

    return Obligation(name, worst, "<=", claimed.c1, Part.WITNESS)


def logistic_average(setting: Setting, error: Error) -> QueryAverage:
    """E_z f(z) / (1 + (L - 1) e^{-s2(z)}) for the f of `error_polynomial`, of the output or the gradient in V."""
    from certattn.kernel.mathematics.query_averages import QueryAverage

    (spread, _), (factor, (shift,)) = error_polynomial(setting, error).terms
    scores = (setting.U.T @ setting.covariance @ setting.U).scaled(setting.squared_scale)
    mean, covariance = ExactMatrix.zero(1, shift.rows), setting.query_covariance
    return QueryAverage(mean, covariance, spread, shift.scaled(factor), scores)


def _logistic(theta: fmpq, determinant: fmpq, mean: fmpq, length: int) -> arb:
    return logistic_bound(arb(length), arb(theta), arb(determinant), arb(mean))


def weighted_average(setting: Setting, error: Error, theta: fmpq) -> tuple[fmpq, fmpq] | None:
    """(D, A) with E_z[e^{theta s2(z)} f(z)] = D^{-1/2} A for the f of `error_polynomial`; None where it is infinite."""
    W = setting.U.T @ setting.covariance @ setting.U
    queries = weighted_queries(setting.query_covariance, W, theta * setting.squared_scale)
    return None if queries is None else (queries.determinant, queries.mean(error_polynomial(setting, error)))


def _on_boxes(claimed: Display, setting: Setting, error: Error, witness: Values) -> Iterator[Obligation | NoProof]:
    """Tokens and queries uniform on boxes."""
    t, start = witness[T], witness[START]
    if (t < 1) is not True:
        yield NoProof(T.name, f"t is {describe(t)}, and the bound is proved for t below 1")
        return
    bounds = Shared(partial(query_box_bounds, setting, error))
    short = short_prompts(setting, error)

    def bound(length: arb) -> arb:
        return bounds().mean_square(length, arb(t))

    def least(length: int) -> arb:
        return reduce(arb.min, [bound(arb(length)), bounds().largest, *short(length)])

    if start > 2:
        before = partial(claimed.worst, least, range(2, start))
        yield Obligation("before", before, "<=", claimed.c1, Part.WITNESS)
    if (claimed.rho <= 1) is not True:
        yield NoProof("monotone", "c2/sigma^2 is more than 1")
    else:
        yield Obligation("monotone", lambda: start * bounds().rate(arb(t)), ">=", claimed.rho, Part.WITNESS)
    onwards = partial(claimed.worst, lambda length: bound(arb(length)), [start])
    yield Obligation("onwards", onwards, "<=", claimed.c1, Part.WITNESS)


def short_prompts(setting: Setting, error: Error) -> Callable[[int], list[arb]]:
    """A bound for short prompts of the error of a mean, where there is one."""
    if error is Error.GRADIENT_U:
        return lambda length: []
    from certattn.kernel.theorems.prompts.mathematics.geometric_mean import UniformOnBoxes

    U, V = _sizes(setting.U), _sizes(setting.read_out(error))
    boxes = UniformOnBoxes(setting.covariance, setting.query_covariance, U, V, setting.squared_scale)

    def bound(length: int) -> list[arb]:
        found = boxes.mean_square(length) if length <= _SHORT else None
        return [] if found is None else [found]

    return bound


def query_box_bounds(setting: Setting, error: Error) -> BoxBounds:
    """The bounds over every query of the box, at the working precision; of |z|^2 the mean over queries."""
    law, queries = setting.law.law, setting.queries.law
    assert isinstance(law, Box)
    assert isinstance(queries, Box)
    scale = abs(scale_ball(setting.scale))
    (tilts,) = table_of_balls(ExactMatrix.row_vector(queries.sizes) @ _sizes(setting.U).T, scale)
    values = [row_of_balls(row) for row in _sizes(setting.read_out(error)).to_rows()]
    box = TokenBox(row_of_balls(law.sizes), tilts, values)
    if error is not Error.GRADIENT_U:
        return box.output()
    return box.covariance(arb(setting.query_covariance.trace()) * scale * scale)


def _sizes(matrix: ExactMatrix) -> ExactMatrix:
    """|entry|, entry by entry."""
    return ExactMatrix.rational([[abs(entry) for entry in row] for row in matrix.to_rows()])


# -- what multiplies the collision probability of the weights in the mean square error, as a function of the query
#
# For Gaussian tokens N(m, Gamma), the tilt a = s U z, b = Gamma a and q = E sum_i p_i^2,
#
#     E |V (tau_hat - tau)|^2 <= q (tr(V Gamma V') + |V b|^2),
#     s^2 |z|^2 E |V (C_hat - C)|_F^2 <= q s^2 |z|^2 B(a),      B of `covariance_error.covariance_square_bound`,
#
# and q <= 1 / (1 + (L - 1) e^{-a'Gamma a}). Where <V b, V Gamma b> is not seen to be >= 0 for every b its absolute
# value is replaced by (tr Gamma |V b|^2 + |V Gamma b|^2 / tr Gamma) / 2.


def error_polynomial(setting: Setting, error: Error) -> QueryPolynomial:
    """f with E |error|^2 <= q(z) f(z) at every query z."""
    V, Gamma = setting.read_out(error), setting.covariance
    if error is not Error.GRADIENT_U:
        slope = V @ Gamma @ setting.U
        return constant((V @ Gamma @ V.T).trace()) + quadratic(slope.T @ slope, setting.squared_scale)
    size = quadratic(ExactMatrix.identity(setting.U.columns), setting.squared_scale)
    return size * covariance_square_bound(covariance_polynomials(setting, V, _size_of_mixed))


def covariance_polynomials(
    setting: Setting, V: ExactMatrix, mixed: Callable[[ExactMatrix, ExactMatrix, fmpq], ExactMatrix]
) -> CovarianceShape[QueryPolynomial]:
    """The six numbers of `CovarianceShape` as functions of the query; the last one as `mixed` gives it."""
    Gamma, factor = setting.covariance, setting.squared_scale
    shift = Gamma @ setting.U
    value_shift = V @ shift
    moved = V @ Gamma
    return CovarianceShape(
        cross=constant((moved @ moved.T).trace()),
        value_trace=constant((moved @ V.T).trace()),
        trace=constant(Gamma.trace()),
        value_shift=quadratic(value_shift.T @ value_shift, factor),
        shift=quadratic(shift.T @ shift, factor),
        mixed=quadratic(mixed(value_shift, moved @ shift, Gamma.trace()), factor),
    )


def _size_of_mixed(left: ExactMatrix, right: ExactMatrix, total: fmpq) -> ExactMatrix:
    """A matrix A with |<left z, right z>| <= z'Az; total = tr Gamma."""
    product = left.T @ right
    symmetric = (product + product.T).scaled(fmpq(1, 2))
    if symmetric.is_positive_semidefinite() or total == 0:
        return symmetric
    return balanced(left, right, total)


def balanced(left: ExactMatrix, right: ExactMatrix, total: fmpq) -> ExactMatrix:
    """(total |left z|^2 + |right z|^2 / total) / 2 as a form."""
    return (left.T @ left).scaled(total / 2) + (right.T @ right).scaled(1 / (2 * total))
