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

`mathematics.mean_square` and `mathematics.query_averages` hold the formulas.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from flint import fmpq

from certattn.kernel.decide.claim import Claim, Statement
from certattn.kernel.decide.verdict import Obligation, Part, at_least, at_most, unproved
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.fields import Choice, Field, Rational, Record, Values
from certattn.kernel.document.forms import ByKey
from certattn.kernel.document.matrices import Vector
from certattn.kernel.given.ranges import SIGNED, Range, range_names, read_range
from certattn.kernel.mathematics.balls import ARB, linf_norm
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.laws import Gaussian
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.prompts.averaged_prompts import (
    QUERY_LAW,
    AveragedPrompt,
    averaged_prompt_forms,
    read_averaged_prompt,
)
from certattn.kernel.theorems.prompts.mean_square_bounds import (
    Bounds,
    Enclosure,
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

QUANTITIES = {
    "mean_square": "E|T_L - T|^2",
    "collision": "q = E sum p_i^2",
}


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
class Problem:
    prompt: RandomPrompt | AveragedPrompt
    ranges: dict[str, Range]
    mean: StatedMean | None
    method: Method


class OutputMeanSquare(Claim[Problem]):
    name = "output-mean-square"
    title = "the mean square of what a random prompt's attention misses of the infinite prompt's"
    arithmetic = ARB
    given = GIVEN
    asserts = Record(MEAN_SQUARE, MEAN, COLLISION)
    witness = Record(METHOD, SHARE, RATE, THETA)

    def read(self, certificate: Certificate) -> Problem:
        prompt = self.read_given(certificate)
        asserts = self.asserts.read(certificate.asserts, certificate.reading)
        if not any(field in asserts for field in (MEAN_SQUARE, MEAN, COLLISION)):
            raise asserts.at.malformed("mean_square, mean or collision", "nothing that is asserted")
        ranges = {field.name: read_range(asserts[field]) for field in (MEAN_SQUARE, COLLISION) if field in asserts}
        mean = asserts.get(MEAN)
        stated = None
        if mean is not None:
            mean[VALUE].require_length(prompt.weights.output_dimension, "an output")
            stated = StatedMean(mean[VALUE].load(), mean[RADIUS])
        return Problem(prompt, ranges, stated, self._read_method(certificate, prompt))

    def read_given(self, certificate: Certificate) -> RandomPrompt | AveragedPrompt:
        """The section `given` alone. Raises MalformedError."""
        form, values = GIVEN.read(certificate.given, certificate.reading)
        return read_averaged_prompt(values) if QUERY_LAW in values else read_random_prompt(form, values)

    def _read_method(self, certificate: Certificate, prompt: RandomPrompt | AveragedPrompt) -> Method:
        fitting = methods_for(prompt)
        if certificate.witness is None:
            if fitting[0] in PARAMETERS:
                raise certificate.given.malformed(f"a witness with method: {fitting[0]}", "no witness")
            return Method(fitting[0], {})
        values = self.witness.read(certificate.witness, certificate.reading)
        method = values[METHOD]
        if method not in fitting:
            raise values.node(METHOD).malformed(" or ".join(map(repr, fitting)) + ", for what is given", repr(method))
        return Method(method, _read_parameters(method, values))

    def statement(self, problem: Problem) -> Statement:
        prompt = problem.prompt
        over = " and the query" if isinstance(prompt, AveragedPrompt) else ""
        words, latex = [], []
        if "mean_square" in problem.ranges:
            words.append(f"the mean of |T_L - T|^2 over the prompt{over} is {problem.ranges['mean_square'].words()}")
            latex.append(problem.ranges["mean_square"].latex(r"\mathbb E |T_L - T|^2"))
        if problem.mean is not None:
            radius = describe(problem.mean.radius)
            words.append(f"the mean of T_L - T is {problem.mean.value} up to {radius} in every coordinate")
            latex.append(r"\| \mathbb E(T_L - T) - y \|_\infty \le r")
        if "collision" in problem.ranges:
            words.append(f"the mean of sum p_i^2 is {problem.ranges['collision'].words()}")
            latex.append(problem.ranges["collision"].latex(r"\mathbb E \sum_i p_i^2"))
        return Statement(
            f"For {prompt.words()}: with p the softmax weights of the prompt, T_L = sum p_i V x_i and T = V tau its "
            f"infinite-prompt limit, {', and '.join(words)}.",
            r",\qquad ".join(latex),
        )

    def names(self, problem: Problem) -> list[str]:
        names = []
        for quantity, stated in problem.ranges.items():
            names += range_names(quantity, stated)
        return names + (["mean"] if problem.mean is not None else [])

    def prove(self, problem: Problem, names: Collection[str], bits: int) -> list[Obligation]:
        bounds = bounds_of(problem.prompt, problem.method, problem.ranges, bits)
        found = []
        for quantity, stated in problem.ranges.items():
            found += _range_obligations(quantity, stated, bounds, problem.method.name, bits)
        if problem.mean is not None:
            found.append(_mean_obligation(problem.mean, bounds, problem.method.name, bits))
        return [obligation for obligation in found if obligation.name in names]


def methods_for(prompt: RandomPrompt | AveragedPrompt) -> tuple[str, ...]:
    """The methods that can prove something of what is given; the first is the one without a witness."""
    if isinstance(prompt, AveragedPrompt):
        return OVER_QUERIES
    return ONE_QUERY if isinstance(prompt.law.law, Gaussian) else ("general",)


def bounds_of(prompt: RandomPrompt | AveragedPrompt, method: Method, wanted: Collection[str], bits: int) -> Bounds:
    """What the method encloses at the working precision `bits`; `wanted` are the ranges that are asked for."""
    if isinstance(prompt, AveragedPrompt):
        return averaged_bounds(prompt, method.parameters.get(THETA.name), bits)
    if isinstance(prompt.law.law, Gaussian) and method.name == "exact":
        return exact_bounds(prompt, prompt.law.law, wanted, bits)
    if isinstance(prompt.law.law, Gaussian) and method.name == "logistic":
        return logistic_bounds(prompt, prompt.law.law)
    return general_bounds(prompt, method.parameters[SHARE.name], method.parameters[RATE.name])


def _range_obligations(quantity: str, stated: Range, bounds: Bounds, method: str, bits: int) -> list[Obligation]:
    known = bounds.ranges.get(quantity, Enclosure(None, None, False))
    part = Part.STATEMENT if known.exact else Part.WITNESS
    found = []
    for side, bound, value, decide in (
        ("at_least", stated.at_least, known.lower, at_least),
        ("at_most", stated.at_most, known.upper, at_most),
    ):
        name = f"{quantity}.{side}"
        if bound is None:
            continue
        if value is None:
            found.append(unproved(name, f"{QUANTITIES[quantity]} is {_SIDES[side]}", _reason(method)))
        else:
            sentence = f"{_BOUNDS[side, known.exact]}{QUANTITIES[quantity]} ({method}) is {_SIDES[side]}"
            found.append(decide(name, sentence, value, bound, bits, part=part))
    return found


def _mean_obligation(stated: StatedMean, bounds: Bounds, method: str, bits: int) -> Obligation:
    sentence = "|E(T_L - T) - value|_linf <= radius"
    if bounds.mean is None:
        return unproved("mean", sentence, _reason(method))
    difference = [found - entry for found, entry in zip(bounds.mean, stated.value.row(0), strict=True)]
    return at_most("mean", sentence, linf_norm(difference), stated.radius, bits)


def _reason(method: str) -> str:
    return f"the method {method} with its parameters has no such bound here"


def _read_parameters(method: str, values: Values) -> dict[str, fmpq]:
    """Exactly the parameters of the method, each in its range."""
    wanted = PARAMETERS.get(method, ())
    for parameter in (SHARE, RATE, THETA):
        if (parameter in values) is not (parameter in wanted):
            names = " and ".join(field.name for field in wanted) or "no parameters"
            found = f"{parameter.name} too" if parameter in values else f"no {parameter.name}"
            raise values.at.malformed(f"{names} for the method {method}", found)
    if SHARE in values and (values[SHARE] < 1) is not True:
        raise values.node(SHARE).malformed("0 < t < 1")
    if THETA in values and (values[THETA] <= 1) is not True:
        raise values.node(THETA).malformed("0 < theta <= 1")
    return {field.name: values[field] for field in wanted}


_SIDES = {"at_least": ">= the stated bound", "at_most": "<= the stated bound"}
_BOUNDS = {
    ("at_least", True): "",
    ("at_most", True): "",
    ("at_least", False): "a lower bound of ",
    ("at_most", False): "an upper bound of ",
}

CLAIM = OutputMeanSquare()
