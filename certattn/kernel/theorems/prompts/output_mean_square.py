"""Claim `output-mean-square`: how far a random prompt's attention is from the infinite prompt's, on average.

Given L independent tokens of a law, a tilt a and values V (see `random_prompts`), T_L = V sum p_i x_i and
T = V tau(a); or Gaussian tokens and a Gaussian query z, a = s U z. A certificate asserts one or more of

    mean_square   at_least <= E|T_L - T|^2 <= at_most          over the queries too where they have a law
    mean          |E(T_L - T) - value|_linf <= radius
    collision     at_least <= q <= at_most, q = E sum_i p_i^2, the inverse of an effective number of tokens

The witness names the method. For Gaussian tokens and a = s U z or a tilt

    exact     q and kappa by quadrature: the numbers themselves, to any accuracy
    logistic  1/L <= q <= 1/(1 + (L-1) e^(-v)) and 0 <= kappa <= q/4, v = a'Gamma a: closed bounds

for atoms, signs and mixtures of them, whose scores take finitely many values (`finite_scores`)

    exact     the numbers themselves, by quadrature
    moments   q <= L E w^2 E Z_(L-1)^(-2) and a bound of the mean square like it, Z_n the sum of n weights w

for any law

    general   R_2 (S + B) / (L (1-t)^2) + (L M_4 P)^(1/2): an upper bound, with 0 < t < 1 and lambda > 0

With `length: {at_least: L}` upper bounds hold for every length from L on: of all methods but exact, as they fall, and
of exact with a list `from` of lengths, by `length_ranges`.

and over queries

    exact     the number itself, by quadrature over the variance of the scores (`weight_averages`)
    integral  the mean of the logistic bound, by one integral: an upper bound that falls with the length

That t lies there is proved first. `mathematics.mean_square` and `mathematics.query_averages` hold the formulas.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from flint import arb, ctx, fmpq

from certattn.kernel.decide.obligation import NoBound, NoProof, Obligation, Shared
from certattn.kernel.decide.theorem import Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.matrices import Vector
from certattn.kernel.document.schema import ByKey, Choice, Field, Rational, Record, Values, some_of
from certattn.kernel.given.attention import SCALE, VALUE_WEIGHTS, Weights, read_scale, read_weights, weighted_forms
from certattn.kernel.given.bounds import SIGNED
from certattn.kernel.given.token_laws import GAUSSIAN, StatedLaw, read_gaussian
from certattn.kernel.given.token_laws import MEAN as LAW_MEAN
from certattn.kernel.mathematics.balls import linf_norm
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.laws import Gaussian
from certattn.kernel.mathematics.query_averages import QueryAverage
from certattn.kernel.mathematics.reals import Real, square
from certattn.kernel.mathematics.weight_averages import WeightAverage
from certattn.kernel.theorems.prompts.length_ranges import STARTS, worst
from certattn.kernel.theorems.prompts.mathematics.mean_square import gaussian_mean_square
from certattn.kernel.theorems.prompts.mean_squares import (
    NOTHING,
    RATE,
    SHARE,
    Bounds,
    Enclosure,
    Method,
    closed_bounds,
    exact_onwards,
    for_every_length,
    general_bounds,
    keeps,
    methods_of,
    no_bound,
    read_method,
)
from certattn.kernel.theorems.prompts.random_prompts import (
    LENGTH,
    RANDOM_PROMPT,
    TOKEN_LAW,
    Lengths,
    RandomPrompt,
    read_random_prompt,
)

QUERY_LAW = Field("queries", GAUSSIAN, "Gaussian law of the query z, independent of the tokens")
_SHARED = (TOKEN_LAW, VALUE_WEIGHTS, LENGTH, SCALE, QUERY_LAW)
GIVEN = ByKey({"queries": weighted_forms("law", *_SHARED), "law": RANDOM_PROMPT})

MEAN_SQUARE = Field("mean_square", SIGNED, "bounds on E|T_L - T|^2", required=False)
COLLISION = Field("collision", SIGNED, "bounds on q = E sum_i p_i^2", required=False)
VALUE = Field("value", Vector(), "E(T_L - T), up to the radius in every coordinate")
RADIUS = Field("radius", Rational(minimum=0), "largest error of a coordinate")
MEAN = Field("mean", Record(VALUE, RADIUS), "the mean error E(T_L - T)", required=False)
RANGES = (MEAN_SQUARE, COLLISION)

ONE_QUERY = ("exact", "logistic", "moments", "general")
OVER_QUERIES = ("exact", "integral")
METHOD = Field("method", Choice((*ONE_QUERY, "integral")), "how the bounds are proved")

ASSERTS = Record(MEAN_SQUARE, MEAN, COLLISION, rules=[some_of(MEAN_SQUARE, MEAN, COLLISION)])
WITNESS = Record(METHOD, SHARE, RATE, STARTS)


@dataclass(frozen=True)
class AveragedPrompt:
    """L independent Gaussian tokens x ~ N(m, Gamma) and, independent of them, a query z ~ N(m_z, S_z), all exact.

    The tilt is a = s U z, so that the variance of the scores is v = a'Gamma a = z'N z with N = s^2 U'Gamma U.
    """

    law: StatedLaw
    tokens: Gaussian[fmpq]
    queries: Gaussian[fmpq]
    weights: Weights
    scale: Real
    length: int
    given: Values
    onwards: bool = False

    def logistic(self) -> QueryAverage:
        """E_z of (S + B) times a function of v, S = tr V Gamma V' and B = |V Gamma a|^2."""
        return self._weighted(fmpq(1), fmpq(0))

    def exact(self, length: int) -> WeightAverage:
        """E_z of q (S + B) - 6 kappa B, at that length."""
        return WeightAverage(length, self._weighted(fmpq(1), fmpq(0)), self._weighted(fmpq(0), fmpq(1)))

    def _weighted(self, q: fmpq, kappa: fmpq) -> QueryAverage:
        """What stands beside these multiples of q and kappa: with q = 1, say, and kappa = 0 what multiplies q."""
        of_spread, of_shift = (gaussian_mean_square(q, kappa, fmpq(k), fmpq(1 - k)) for k in (1, 0))
        V, Gamma = self.weights.values(), ExactMatrix.rational(self.tokens.covariance)
        U = self.weights.bilinear()
        outer, factor = V @ Gamma @ U, square(self.scale)
        spread = (V @ Gamma @ V.T).trace()
        return QueryAverage(
            ExactMatrix.row_vector(self.queries.mean),
            ExactMatrix.rational(self.queries.covariance),
            of_spread * spread,
            (outer.T @ outer).scaled(of_shift * factor),
            (U.T @ Gamma @ U).scaled(factor),
        )


AnyPrompt = RandomPrompt | AveragedPrompt


@dataclass(frozen=True)
class StatedMeanSquare:
    """A random prompt, what is asserted of its error on average, and the method."""

    prompt: AnyPrompt
    asserts: Values
    method: Method

    @cached_property
    def bounds(self) -> Bounds:
        """What the method says."""
        wanted = [stated.name for stated in RANGES if stated in self.asserts]
        return bounds_of(self.prompt, self.method, wanted)


def read(certificate: Certificate) -> StatedMeanSquare:
    prompt = read_given(certificate)
    asserts = ASSERTS.read(certificate.asserts, certificate.reading)
    if MEAN in asserts:
        asserts[MEAN][VALUE].require_length(prompt.weights.output_dimension, "an output")
    return StatedMeanSquare(prompt, asserts, _read_method(certificate, prompt))


def read_given(certificate: Certificate) -> AnyPrompt:
    """The section `given` alone. Raises MalformedError."""
    form, values = GIVEN.read(certificate.given, certificate.reading)
    return _read_averaged_prompt(values) if QUERY_LAW in values else read_random_prompt(form, values)


def _read_averaged_prompt(values: Values) -> AveragedPrompt:
    law, queries = values[TOKEN_LAW], values[QUERY_LAW]
    if not isinstance(law.law, Gaussian):
        raise law.node.malformed("kind: gaussian, for averages over queries", "another law")
    weights = read_weights(values, law.dimension)
    queries[LAW_MEAN].require_length(weights.query_dimension, "what U or Q acts on")
    scale, lengths = read_scale(values), values[LENGTH]
    return AveragedPrompt(law, law.law, read_gaussian(queries), weights, scale, lengths.first, values, lengths.onwards)


def _read_method(certificate: Certificate, prompt: AnyPrompt) -> Method:
    fitting = methods_for(prompt)
    if certificate.witness is None:
        if fitting == ("general",):
            raise certificate.given.malformed("a witness with method: general", "no witness")
        return Method(fitting[0])
    values = WITNESS.read(certificate.witness, certificate.reading)
    if values[METHOD] not in fitting:
        expected = " or ".join(map(repr, fitting))
        raise values.node(METHOD).malformed(f"{expected}, for what is given", repr(values[METHOD]))
    return read_method(METHOD, values, Lengths(prompt.length, prompt.onwards))


def methods_for(prompt: AnyPrompt) -> tuple[str, ...]:
    """The methods that can prove something of what is given; the first is the one without a witness."""
    if isinstance(prompt, AveragedPrompt):
        return OVER_QUERIES
    return methods_of(prompt.law.law)


def bounds_of(prompt: AnyPrompt, method: Method, wanted: Collection[str]) -> Bounds:
    """What the method encloses; `wanted` are the ranges that are asked for.

    All upper bounds but the numbers themselves are known to fall with the length; of those a few make a bound.
    """
    if not prompt.onwards:
        return _bounds_at(prompt, method, wanted)
    if method.name == "exact":
        if not method.starts:
            return Bounds()
        if isinstance(prompt, AveragedPrompt):
            return Bounds({"mean_square": Enclosure(None, averaged_onwards(prompt, method.starts))})
        return exact_onwards(prompt, method.starts, wanted)
    ranges = _bounds_at(prompt, method, wanted).ranges
    return Bounds({name: for_every_length(enclosure) for name, enclosure in ranges.items()})


def _bounds_at(prompt: AnyPrompt, method: Method, wanted: Collection[str]) -> Bounds:
    if isinstance(prompt, AveragedPrompt):
        if prompt.length == 1:
            return Bounds({"mean_square": Enclosure.of(partial(_of_one_token, prompt))})
        if method.name == "exact":
            return Bounds({"mean_square": Enclosure.of(partial(_averaged, prompt, prompt.length))})
        return Bounds({"mean_square": Enclosure(None, partial(_by_integral, prompt, prompt.length))})
    if method.name == "general":
        return general_bounds(prompt, method.parameters[SHARE.name], method.parameters[RATE.name])
    return closed_bounds(method.name, prompt, wanted)


def _averaged(prompt: AveragedPrompt, length: int, *most_bits: int) -> arb:
    """The number itself. Raises NoBound."""
    average = prompt.exact(length)
    value = average.value(*most_bits)
    if value.is_finite() is not True:
        raise NoBound(f"{average.unknown()}; use the method integral")
    return value


def _of_one_token(prompt: AveragedPrompt) -> arb:
    return arb(prompt.logistic().plain())


def _by_integral(prompt: AveragedPrompt, length: int) -> arb:
    return prompt.logistic().integral(length, ctx.prec) if length > 1 else _of_one_token(prompt)


# A bound by ranges of lengths is not met closely: each number costs less with fewer bits.
_RANGE_BITS = 20


def averaged_onwards(prompt: AveragedPrompt, starts: Sequence[int]) -> Callable[[], arb]:
    """E f(T_L - T)/L falls with L at every query, so it does on average over queries."""
    values = {first: Shared(partial(averaged_at, prompt, first)) for first in starts[:-1]}
    return lambda: worst(starts, lambda first: values[first](), partial(_by_integral, prompt))


def averaged_at(prompt: AveragedPrompt, length: int) -> arb:
    """The number itself at a length, with few bits."""
    return _averaged(prompt, length, _RANGE_BITS) if length > 1 else _of_one_token(prompt)


def obligations(stated: StatedMeanSquare) -> Iterator[Obligation | NoProof]:
    asserts, method, bounds = stated.asserts, stated.method, stated.bounds
    yield from method.conditions()
    for quantity in RANGES:
        if quantity in asserts:
            yield from keeps(quantity.name, bounds.ranges.get(quantity.name, NOTHING), asserts[quantity], method)
    if MEAN in asserts:
        mean, (value, radius) = bounds.mean, (asserts[MEAN][VALUE].load(), asserts[MEAN][RADIUS])
        if mean is None:
            yield NoProof(MEAN.name, no_bound(method, "the mean itself"))
        else:
            yield Obligation(MEAN.name, partial(_distance, value, mean), "<=", radius)


def _distance(value: ExactMatrix, mean: Callable[[], list[arb]]) -> arb:
    """|E(T_L - T) - value|_linf; `value` is 1 x d_v."""
    return linf_norm([found - entry for found, entry in zip(mean(), value.row(0), strict=True)])


THEOREM = Theorem(
    name="output-mean-square",
    title="the mean square of what a random prompt's attention misses of the infinite prompt's",
    given=GIVEN,
    asserts=ASSERTS,
    witness=WITNESS,
    read=read,
    obligations=obligations,
)
