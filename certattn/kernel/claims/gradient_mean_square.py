"""Claim `gradient-mean-square`: the mean square of the error of attention's gradients over a random prompt.

Given a law of tokens, a query (for the gradient in V a tilt is enough), values V and a length L, the claim is
about the gradients of attention in V or in U at that query, over L independent tokens and over their law:

    V    E |tau_L - tau|^2                        the operator norm of the difference, squared
    U    s^2 |z|^2 E |V (C_L - C)|_F^2            its Hilbert-Schmidt norm, squared

The witness names the method:

    exact      Gaussian tokens: the mean itself, from moments of softmax weights (`covariance_error`,
               `softmax_powers`); bounds from above and from below
    logistic   Gaussian tokens: a polynomial times q <= e^v / (e^v + L - 1), v = a'Gamma a; from above
    general    any law: `gradient_bounds`, with a threshold t and a slope; from above
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from flint import arb, fmpq

from certattn.kernel.arithmetic.balls import ARB, row_of_balls
from certattn.kernel.arithmetic.covariance_error import (
    DEGREE,
    MEAN_DEGREE,
    covariance_mean_square,
    covariance_shape,
    covariance_square_bound,
    mean_error_bound,
    mean_error_square,
)
from certattn.kernel.arithmetic.exact_matrix import ExactMatrix
from certattn.kernel.arithmetic.functions import BALLS
from certattn.kernel.arithmetic.gradient_bounds import SquareParts, TiltedMoments, covariance_parts, mean_parts
from certattn.kernel.arithmetic.laws import Gaussian
from certattn.kernel.arithmetic.reals import describe, square
from certattn.kernel.arithmetic.softmax_powers import PowerSums
from certattn.kernel.claims.claim import Claim, Statement
from certattn.kernel.claims.gradient_inputs import (
    GIVEN,
    GRADIENT,
    GradientError,
    RandomPromptAtQuery,
    read_given,
    read_gradient,
)
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.fields import Choice, Field, Rational, Record, Values
from certattn.kernel.verdict import Obligation, Part, at_least, at_most, show

AT_LEAST = Field("at_least", Rational(minimum=0), "a lower bound of the mean square", required=False)
AT_MOST = Field("at_most", Rational(minimum=0), "an upper bound of the mean square", required=False)
MEAN_SQUARE = Field("mean_square", Record(AT_LEAST, AT_MOST), "bounds of the mean square of the norm")

METHOD = Field("method", Choice(("exact", "logistic", "general")), "how the mean square is enclosed or bounded")
THRESHOLD = Field(
    "threshold", Rational(above=0), "general: t < 1, where the normaliser is likely to be >= 1 - t", required=False
)
SLOPE = Field(
    "slope", Rational(above=0), "general: slope of the exponential that bounds how likely it is not", required=False
)


@dataclass(frozen=True)
class Problem:
    """A gradient's error, bounds of its mean square, and the method."""

    error: GradientError
    at_least: fmpq | None
    at_most: fmpq | None
    method: str
    threshold: fmpq
    slope: fmpq

    @property
    def exact(self) -> bool:
        """Whether the enclosed number is the mean square, and not only a bound of it."""
        return self.method == "exact"


class GradientMeanSquare(Claim[Problem]):
    name = "gradient-mean-square"
    title = "the mean square error of attention's gradients over a random prompt"
    arithmetic = ARB
    given = GIVEN
    asserts = Record(GRADIENT, MEAN_SQUARE)
    witness = Record(METHOD, THRESHOLD, SLOPE)

    def read(self, certificate: Certificate) -> Problem:
        given = self.read_given(certificate)
        asserts = self.asserts.read(certificate.asserts, certificate.reading)
        error = read_gradient(asserts, given)
        bounds = asserts[MEAN_SQUARE]
        least, most = bounds.get(AT_LEAST), bounds.get(AT_MOST)
        if least is None and most is None:
            raise bounds.at.malformed("at_least or at_most", "nothing that is asserted")
        if certificate.witness is None:
            raise asserts.at.malformed("a witness that names the method", "no witness")
        parameters = self.witness.read(certificate.witness, certificate.reading)
        method = parameters[METHOD]
        if method != "exact" and least is not None:
            raise bounds.node(AT_LEAST).malformed("at_most only, for this method", f"a lower bound by {method}")
        if method != "general" and error.gaussian() is None:
            raise parameters.node(METHOD).malformed(
                f"Gaussian tokens for the method {method}", "another law", "use general"
            )
        threshold, slope = _read_parameters(parameters, method)
        return Problem(error, least, most, method, threshold, slope)

    def read_given(self, certificate: Certificate) -> RandomPromptAtQuery:
        """The section `given` alone. Raises MalformedError."""
        return read_given(certificate)

    def statement(self, problem: Problem) -> Statement:
        error = problem.error
        stated = []
        latex = [rf"\mathbb E\, {error.latex}^2"]
        if problem.at_least is not None:
            stated.append(f"at least {describe(problem.at_least)}")
            latex.insert(0, r"x \le")
        if problem.at_most is not None:
            stated.append(f"at most {describe(problem.at_most)}")
            latex.append(r"\le y")
        return Statement(f"{error.words()} whose mean square is {' and '.join(stated)}.", " ".join(latex))

    def names(self, problem: Problem) -> list[str]:
        bounds = {"mean_square.at_least": problem.at_least, "mean_square.at_most": problem.at_most}
        return [name for name, bound in bounds.items() if bound is not None]

    def prove(self, problem: Problem, names: Collection[str], bits: int) -> list[Obligation]:
        value = mean_square_ball(problem, bits)
        what = "the mean square" if problem.exact else f"the {problem.method} bound of the mean square"
        part = Part.STATEMENT if problem.exact else Part.WITNESS
        found = []
        for name, compare, bound in (
            ("mean_square.at_least", at_least, problem.at_least),
            ("mean_square.at_most", at_most, problem.at_most),
        ):
            if name in names and bound is not None:
                relation = name.partition(".")[2]
                found.append(compare(name, f"{what} is {relation} what is stated", value, bound, bits, part=part))
        return found

    def findings(self, problem: Problem, obligations: Sequence[Obligation]) -> list[str]:
        what = "mean square" if problem.exact else "mean square at most"
        return [f"{what} {show(obligations[0].left)}"] if obligations else []


def mean_square_ball(problem: Problem, bits: int) -> arb:
    """The mean square, or the method's bound of it, at the working precision."""
    error = problem.error
    law = error.gaussian()
    if problem.method == "general" or law is None:
        parts = square_parts(error)
        bound = parts.bound(arb(problem.threshold), arb(problem.slope), error.prompt.length, BALLS)
        return arb(error.factor * bound)
    in_U, length = error.gradient == "U", error.prompt.length
    shape = covariance_shape(
        ExactMatrix.rational(law.covariance), error.values, error.prompt.base, square(error.prompt.scale)
    )
    variance = score_variance(error, law)
    if problem.method == "logistic":
        weight = arb(variance).exp()
        bound = covariance_square_bound(shape) if in_U else mean_error_bound(shape)
        return arb(error.factor * bound) * weight / (weight + (length - 1))
    powers = PowerSums(length, variance, DEGREE if in_U else MEAN_DEGREE, bits)
    mean = covariance_mean_square(shape, powers.mean) if in_U else mean_error_square(shape, powers.mean)
    return arb(error.factor * mean)


def score_variance(error: GradientError, law: Gaussian) -> fmpq:
    """a'Gamma a, exactly."""
    base = error.prompt.base
    return square(error.prompt.scale) * (base @ ExactMatrix.rational(law.covariance) @ base.T).entry(0, 0)


def square_parts(error: GradientError) -> SquareParts:
    """What the method `general` needs to know of the law, at the working precision."""
    prompt = error.prompt
    unit = [row_of_balls(row) for row in ExactMatrix.identity(prompt.dimension).to_rows()]
    values = [row_of_balls(row) for row in error.values.to_rows()]
    moments = TiltedMoments(prompt.law.law.map(arb), prompt.tilt(), unit, values, BALLS)
    return (covariance_parts if error.gradient == "U" else mean_parts)(moments, prompt.length)


def _read_parameters(values: Values, method: str) -> tuple[fmpq, fmpq]:
    """Threshold and slope of the method `general`, which no other method has."""
    if method != "general":
        for field in (THRESHOLD, SLOPE):
            if field in values:
                raise values.node(field).malformed(f"no {field.name} for the method {method}")
        return fmpq(0), fmpq(0)
    if THRESHOLD not in values or SLOPE not in values:
        raise values.at.malformed("a threshold and a slope, for the method general")
    threshold = values[THRESHOLD]
    if (threshold < 1) is not True:
        raise values.node(THRESHOLD).malformed("a threshold above 0 and below 1", describe(threshold))
    return threshold, values[SLOPE]


CLAIM = GradientMeanSquare()
