"""Claim `output-mean-square`: how far a random prompt's attention is from the infinite prompt's, on average.

Given L independent tokens of a law, a tilt a and values V (see `random_prompts`), T_L = V sum p_i x_i and
T = V tau(a); or Gaussian tokens and a Gaussian query z, a = s U z. A certificate asserts one or more of

    mean_square   at_least <= E|T_L - T|^2 <= at_most          over the queries too where they have a law
    mean          |E(T_L - T) - value|_linf <= radius
    collision     at_least <= q <= at_most, q = E sum_i p_i^2, the inverse of an effective number of tokens

The witness names the method. For Gaussian tokens and a = s U z or a tilt

    exact     q and kappa by quadrature: the numbers themselves, to any accuracy
    logistic  1/L <= q <= 1/(1 + (L-1) e^(-v)) and 0 <= kappa <= q/4, v = a'Gamma a: closed bounds

for any law

    general   R_2 (S + B) / (L (1-t)^2) + (L M_4 P)^(1/2): an upper bound, with 0 < t < 1 and lambda > 0

and over queries

    integral  the mean of the logistic bound, by one integral
    closed    theta^theta (1-theta)^(1-theta) (L-1)^(-theta) H(theta), an upper bound, 0 < theta <= 1, 2 theta |M| < 1

That t and theta lie there is proved first. `mathematics.mean_square` and `mathematics.query_averages` hold the
formulas.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cached_property, partial

from flint import arb, fmpq

from certattn.kernel.decide.obligation import NoProof, Obligation, Part, Relation
from certattn.kernel.decide.theorem import Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.matrices import Vector
from certattn.kernel.document.schema import ByKey, Choice, Field, Rational, Record, Values, some_of
from certattn.kernel.given.bounds import AT_LEAST, AT_MOST, SIGNED, Range, read_range
from certattn.kernel.mathematics.balls import linf_norm
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.laws import Gaussian
from certattn.kernel.theorems.prompts.averaged_prompts import (
    QUERY_LAW,
    AveragedPrompt,
    averaged_prompt_forms,
    read_averaged_prompt,
)
from certattn.kernel.theorems.prompts.mean_square_bounds import (
    NOTHING,
    Bounds,
    averaged_bounds,
    exact_bounds,
    general_bounds,
    logistic_bounds,
)
from certattn.kernel.theorems.prompts.random_prompts import RandomPrompt, random_prompt_forms, read_random_prompt

GIVEN = ByKey({"queries": averaged_prompt_forms(), "law": random_prompt_forms()})

MEAN_SQUARE = Field("mean_square", SIGNED, "bounds on E|T_L - T|^2", required=False)
COLLISION = Field("collision", SIGNED, "bounds on q = E sum_i p_i^2", required=False)
VALUE = Field("value", Vector(), "E(T_L - T), up to the radius in every coordinate")
RADIUS = Field("radius", Rational(minimum=0), "largest error of a coordinate")
MEAN = Field("mean", Record(VALUE, RADIUS), "the mean error E(T_L - T)", required=False)

ONE_QUERY = ("exact", "logistic", "general")
OVER_QUERIES = ("integral", "closed")
METHOD = Field("method", Choice(ONE_QUERY + OVER_QUERIES), "how the bounds are proved")
SHARE = Field("t", Rational(above=0), "general: 0 < t < 1, prompts with Z < 1 - t are told apart", required=False)
RATE = Field("lambda", Rational(above=0), "general: lambda > 0 of the Chernoff bound", required=False)
THETA = Field("theta", Rational(above=0), "closed: 0 < theta <= 1, the exponent of 1/(L - 1)", required=False)
PARAMETERS: dict[str, tuple[Field[fmpq], ...]] = {"general": (SHARE, RATE), "closed": (THETA,)}

ASSERTS = Record(MEAN_SQUARE, MEAN, COLLISION, rules=[some_of(MEAN_SQUARE, MEAN, COLLISION)])
WITNESS = Record(METHOD, SHARE, RATE, THETA)

_RELATIONS: dict[str, Relation] = {AT_LEAST.name: ">=", AT_MOST.name: "<="}


@dataclass(frozen=True)
class StatedMean:
    """|E(T_L - T) - value|_linf <= radius; `value` is 1 x d_v."""

    value: ExactMatrix
    radius: fmpq


@dataclass(frozen=True)
class Method:
    """The way of proof and its parameters."""

    name: str
    parameters: dict[str, fmpq]


@dataclass(frozen=True)
class StatedMeanSquare:
    """A random prompt, what is asserted of its error on average, and the method."""

    prompt: RandomPrompt | AveragedPrompt
    ranges: dict[str, Range]
    mean: StatedMean | None
    method: Method

    @cached_property
    def bounds(self) -> Bounds:
        """What the method says."""
        return bounds_of(self.prompt, self.method, self.ranges)


def read(certificate: Certificate) -> StatedMeanSquare:
    prompt = read_given(certificate)
    asserts = ASSERTS.read(certificate.asserts, certificate.reading)
    ranges = {field.name: read_range(asserts[field]) for field in (MEAN_SQUARE, COLLISION) if field in asserts}
    mean, stated = asserts.get(MEAN), None
    if mean is not None:
        mean[VALUE].require_length(prompt.weights.output_dimension, "an output")
        stated = StatedMean(mean[VALUE].load(), mean[RADIUS])
    return StatedMeanSquare(prompt, ranges, stated, _read_method(certificate, prompt))


def read_given(certificate: Certificate) -> RandomPrompt | AveragedPrompt:
    """The section `given` alone. Raises MalformedError."""
    form, values = GIVEN.read(certificate.given, certificate.reading)
    return read_averaged_prompt(values) if QUERY_LAW in values else read_random_prompt(form, values)


def _read_method(certificate: Certificate, prompt: RandomPrompt | AveragedPrompt) -> Method:
    fitting = methods_for(prompt)
    if certificate.witness is None:
        if fitting[0] in PARAMETERS:
            raise certificate.given.malformed(f"a witness with method: {fitting[0]}", "no witness")
        return Method(fitting[0], {})
    values = WITNESS.read(certificate.witness, certificate.reading)
    method = values[METHOD]
    if method not in fitting:
        raise values.node(METHOD).malformed(" or ".join(map(repr, fitting)) + ", for what is given", repr(method))
    return Method(method, _read_parameters(method, values))


def _read_parameters(method: str, values: Values) -> dict[str, fmpq]:
    """Exactly the parameters of the method."""
    wanted = PARAMETERS.get(method, ())
    for parameter in (SHARE, RATE, THETA):
        if (parameter in values) is not (parameter in wanted):
            names = " and ".join(field.name for field in wanted) or "no parameters"
            found = f"{parameter.name} too" if parameter in values else f"no {parameter.name}"
            raise values.at.malformed(f"{names} for the method {method}", found)
    return {field.name: values[field] for field in wanted}


def methods_for(prompt: RandomPrompt | AveragedPrompt) -> tuple[str, ...]:
    """The methods that can prove something of what is given; the first is the one without a witness."""
    if isinstance(prompt, AveragedPrompt):
        return OVER_QUERIES
    return ONE_QUERY if isinstance(prompt.law.law, Gaussian) else ("general",)


def bounds_of(prompt: RandomPrompt | AveragedPrompt, method: Method, wanted: Collection[str]) -> Bounds:
    """What the method encloses; `wanted` are the ranges that are asked for."""
    if isinstance(prompt, AveragedPrompt):
        return averaged_bounds(prompt, method.parameters.get(THETA.name))
    if isinstance(prompt.law.law, Gaussian) and method.name == "exact":
        return exact_bounds(prompt, prompt.law.law, wanted)
    if isinstance(prompt.law.law, Gaussian) and method.name == "logistic":
        return logistic_bounds(prompt, prompt.law.law)
    return general_bounds(prompt, method.parameters[SHARE.name], method.parameters[RATE.name])


def obligations(stated: StatedMeanSquare) -> Iterator[Obligation | NoProof]:
    method, bounds = stated.method, stated.bounds
    no_bound = f"the method {method.name} with its parameters has no such bound here"
    parameters = [field.name for field in (SHARE, THETA) if field.name in method.parameters]
    if SHARE.name in parameters:
        yield Obligation(SHARE.name, method.parameters[SHARE.name], "<", fmpq(1), Part.WITNESS)
    if THETA.name in parameters:
        yield Obligation(THETA.name, method.parameters[THETA.name], "<=", fmpq(1), Part.WITNESS)
    for quantity, range_ in stated.ranges.items():
        enclosure = bounds.ranges.get(quantity, NOTHING)
        part = Part.STATEMENT if enclosure.exact else Part.WITNESS
        for side, bound in range_.bounds.items():
            name, value = f"{quantity}.{side}", enclosure.side(side)
            if value is None:
                yield NoProof(name, no_bound)
            else:
                yield Obligation(name, value, _RELATIONS[side], bound, part, parameters)
    mean, known = stated.mean, bounds.mean
    if mean is not None and known is None:
        yield NoProof("mean", no_bound)
    elif mean is not None and known is not None:
        yield Obligation("mean", partial(_distance, mean, known), "<=", mean.radius)


def _distance(stated: StatedMean, mean: Callable[[], list[arb]]) -> arb:
    """|E(T_L - T) - value|_linf."""
    return linf_norm([found - entry for found, entry in zip(mean(), stated.value.row(0), strict=True)])


THEOREM = Theorem(
    name="output-mean-square",
    title="the mean square of what a random prompt's attention misses of the infinite prompt's",
    given=GIVEN,
    asserts=ASSERTS,
    witness=WITNESS,
    read=read,
    obligations=obligations,
)
