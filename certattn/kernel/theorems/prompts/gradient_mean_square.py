"""Claim `gradient-mean-square`: the mean square of the error of attention's gradients over a random prompt.

Given a law of tokens, a query (for the gradient in V a tilt is enough), values V and a length L, the claim is
about the gradients of attention in V or in U at that query, over L independent tokens and over their law:

    V    E |tau_L - tau|^2                        the operator norm of the difference, squared
    U    s^2 |z|^2 E |V (C_L - C)|_F^2            its Hilbert-Schmidt norm, squared

The witness names the method:

    exact      Gaussian tokens: the mean itself, from moments of softmax weights (`covariance_error`,
               `softmax_powers`); bounds from above and from below
    logistic   Gaussian tokens: a polynomial times q <= e^v / (e^v + L - 1), v = a'Gamma a; from above
    general    any law: `gradient_bounds`, with a share t and a rate; from above
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from flint import arb, fmpq

from certattn.kernel.decide.claim import Claim, Statement
from certattn.kernel.decide.verdict import Obligation, Part, at_least, at_most, show
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.fields import Choice, Field, Rational, Record, Values
from certattn.kernel.mathematics.balls import ARB, row_of_balls
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.functions import BALLS
from certattn.kernel.mathematics.laws import Gaussian
from certattn.kernel.mathematics.reals import describe, square
from certattn.kernel.mathematics.softmax_powers import PowerSums
from certattn.kernel.theorems.prompts.gradient_inputs import (
    GIVEN,
    GRADIENT,
    GradientError,
    RandomPromptAtQuery,
    read_given,
    read_gradient,
)
from certattn.kernel.theorems.prompts.mathematics.covariance_error import (
    DEGREE,
    covariance_mean_square,
    covariance_shape,
    covariance_square_bound,
)
from certattn.kernel.theorems.prompts.mathematics.gradient_bounds import (
    SquareParts,
    TiltedMoments,
    covariance_parts,
    mean_parts,
)
from certattn.kernel.theorems.prompts.mathematics.mean_square import logistic
from certattn.kernel.theorems.prompts.mean_square_bounds import Enclosure, exact_bounds, logistic_bounds
from certattn.kernel.theorems.prompts.output_mean_square import RATE, SHARE

AT_LEAST = Field("at_least", Rational(minimum=0), "a lower bound of the mean square", required=False)
AT_MOST = Field("at_most", Rational(minimum=0), "an upper bound of the mean square", required=False)
MEAN_SQUARE = Field("mean_square", Record(AT_LEAST, AT_MOST), "bounds of the mean square of the norm")

METHOD = Field("method", Choice(("exact", "logistic", "general")), "how the mean square is enclosed or bounded")

_NAME = "mean_square"
_SENTENCES = {
    ("at_least", True): "the mean square is at least",
    ("at_most", True): "the mean square is at most",
    ("at_least", False): "the {} lower bound of the mean square is at least",
    ("at_most", False): "the {} bound of the mean square is at most",
}


@dataclass(frozen=True)
class Problem:
    """A gradient's error, bounds of its mean square, and the method."""

    error: GradientError
    at_least: fmpq | None
    at_most: fmpq | None
    method: str
    share: fmpq
    rate: fmpq

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
    witness = Record(METHOD, SHARE, RATE)

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
        if least is not None and not _bounds_below(method, error):
            raise bounds.node(AT_LEAST).malformed("at_most only, for this method", f"a lower bound by {method}")
        if method != "general" and error.gaussian() is None:
            raise parameters.node(METHOD).malformed(
                f"Gaussian tokens for the method {method}", "another law", "use general"
            )
        share, rate = _read_parameters(parameters, method)
        return Problem(error, least, most, method, share, rate)

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
        return Statement(f"{error.words()} the mean of D^2 is {' and '.join(stated)}.", " ".join(latex))

    def names(self, problem: Problem) -> list[str]:
        bounds = {f"{_NAME}.at_least": problem.at_least, f"{_NAME}.at_most": problem.at_most}
        return [name for name, bound in bounds.items() if bound is not None]

    def prove(self, problem: Problem, names: Collection[str], bits: int) -> list[Obligation]:
        enclosure = mean_square_enclosure(problem, bits)
        part = Part.STATEMENT if problem.exact else Part.WITNESS
        found = []
        for side, value, compare, bound in (
            ("at_least", enclosure.lower, at_least, problem.at_least),
            ("at_most", enclosure.upper, at_most, problem.at_most),
        ):
            name = f"{_NAME}.{side}"
            if name in names and bound is not None and value is not None:
                sentence = f"{_SENTENCES[side, problem.exact].format(problem.method)} the stated bound"
                found.append(compare(name, sentence, value, bound, bits, part=part))
        return found

    def findings(self, problem: Problem, obligations: Sequence[Obligation]) -> list[str]:
        found = [o.left for o in obligations[:1] if problem.exact and isinstance(o.left, arb)]
        return [f"mean square: {show(value)}" for value in found if value.is_finite() is True]


def _bounds_below(method: str, error: GradientError) -> bool:
    """Whether the method has a lower bound."""
    return method == "exact" or (method == "logistic" and error.gradient == "V")


def mean_square_enclosure(problem: Problem, bits: int) -> Enclosure:
    """The mean square, or the method's bounds of it, at the working precision."""
    error, law = problem.error, problem.error.gaussian()
    if problem.method == "general" or law is None:
        bound = square_parts(error).bound(arb(problem.share), arb(problem.rate), error.prompt.length, BALLS)
        return Enclosure(None, arb(error.factor * bound), False)
    if error.gradient == "V":
        prompt = error.prompt_without_values
        found = exact_bounds(prompt, law, [_NAME], bits) if problem.exact else logistic_bounds(prompt, law)
        return found.ranges[_NAME]
    return _in_U(error, law, problem.exact, bits)


def _in_U(error: GradientError, law: Gaussian, exact: bool, bits: int) -> Enclosure:  # noqa: N802 - U is a matrix
    """s^2 |z|^2 E |V (C_L - Gamma)|_F^2, or its bound by the logistic form of q."""
    prompt, covariance = error.prompt, ExactMatrix.rational(law.covariance)
    factor = square(prompt.scale)
    shape = covariance_shape(covariance, prompt.values(), prompt.base, factor)
    variance = factor * (prompt.base @ covariance @ prompt.base.T).entry(0, 0)
    if exact:
        powers = PowerSums(prompt.length, variance, DEGREE, bits)
        return Enclosure.of(arb(error.factor * covariance_mean_square(shape, powers.mean)))
    q = logistic(prompt.length, arb(variance), BALLS)
    return Enclosure(None, arb(error.factor * covariance_square_bound(shape) * q), False)


def square_parts(error: GradientError) -> SquareParts:
    """What the method `general` needs to know of the law, at the working precision."""
    prompt = error.prompt
    unit = [row_of_balls(row) for row in ExactMatrix.identity(prompt.dimension).to_rows()]
    values = [row_of_balls(row) for row in error.values.to_rows()]
    moments = TiltedMoments(prompt.law.law.map(arb), prompt.tilt(), unit, values, BALLS)
    return (covariance_parts if error.gradient == "U" else mean_parts)(moments, prompt.length)


def _read_parameters(values: Values, method: str) -> tuple[fmpq, fmpq]:
    """Threshold and rate of the method `general`, which no other method has."""
    if method != "general":
        for field in (SHARE, RATE):
            if field in values:
                raise values.node(field).malformed(f"no {field.name} for the method {method}")
        return fmpq(0), fmpq(0)
    if SHARE not in values or RATE not in values:
        raise values.at.malformed("t and lambda, for the method general")
    share = values[SHARE]
    if (share < 1) is not True:
        raise values.node(SHARE).malformed("0 < t < 1", describe(share))
    return share, values[RATE]


CLAIM = GradientMeanSquare()
