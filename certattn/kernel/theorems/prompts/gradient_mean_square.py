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

from collections.abc import Iterator
from dataclasses import dataclass

from flint import arb, ctx, fmpq

from certattn.kernel.decide.obligation import Obligation, Part, Relation, Shared
from certattn.kernel.decide.theorem import Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.schema import Choice, Field, Record, Values
from certattn.kernel.given.bounds import AT_LEAST, AT_MOST, NONNEGATIVE, Range, read_range
from certattn.kernel.mathematics.balls import row_of_balls
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.functions import BALLS
from certattn.kernel.mathematics.laws import Gaussian
from certattn.kernel.mathematics.reals import square
from certattn.kernel.mathematics.softmax_powers import PowerSums
from certattn.kernel.theorems.prompts.gradient_inputs import (
    GIVEN,
    GRADIENT,
    GradientError,
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

MEAN_SQUARE = Field("mean_square", NONNEGATIVE, "bounds of the mean square of the norm")
METHOD = Field("method", Choice(("exact", "logistic", "general")), "how the mean square is enclosed or bounded")
ASSERTS = Record(GRADIENT, MEAN_SQUARE)
WITNESS = Record(METHOD, SHARE, RATE)

_RELATIONS: dict[str, Relation] = {AT_LEAST.name: ">=", AT_MOST.name: "<="}


@dataclass(frozen=True)
class Way:
    """The method and its parameters: t and lambda of the method `general`."""

    method: str
    share: fmpq | None = None
    rate: fmpq | None = None

    @property
    def exact(self) -> bool:
        """Whether the enclosed number is the mean square, and not only a bound of it."""
        return self.method == "exact"


@dataclass(frozen=True)
class StatedGradientError:
    """A gradient's error, bounds of its mean square, and the way to prove them."""

    error: GradientError
    bounds: Range
    way: Way


def read(certificate: Certificate) -> StatedGradientError:
    given = read_given(certificate)
    asserts = ASSERTS.read(certificate.asserts, certificate.reading)
    error = read_gradient(asserts, given)
    bounds = asserts[MEAN_SQUARE]
    stated = read_range(bounds)
    if certificate.witness is None:
        raise asserts.at.malformed("a witness that names the method", "no witness")
    parameters = WITNESS.read(certificate.witness, certificate.reading)
    method = parameters[METHOD]
    if stated.at_least is not None and not _bounds_below(method, error):
        raise bounds.node(AT_LEAST).malformed("at_most only, for this method", f"a lower bound by {method}")
    if method != "general" and error.gaussian() is None:
        raise parameters.node(METHOD).malformed(
            f"Gaussian tokens for the method {method}", "another law", "use general"
        )
    return StatedGradientError(error, stated, _read_way(parameters, method))


def _bounds_below(method: str, error: GradientError) -> bool:
    """Whether the method has a lower bound."""
    return method == "exact" or (method == "logistic" and error.gradient == "V")


def _read_way(values: Values, method: str) -> Way:
    """Threshold and rate of the method `general`, which no other method has."""
    if method != "general":
        for field in (SHARE, RATE):
            if field in values:
                raise values.node(field).malformed(f"no {field.name} for the method {method}")
        return Way(method)
    if SHARE not in values or RATE not in values:
        raise values.at.malformed("t and lambda, for the method general")
    return Way(method, values[SHARE], values[RATE])


def obligations(stated: StatedGradientError) -> Iterator[Obligation]:
    way, enclosure = stated.way, enclosure_by(stated.way, stated.error)
    needs = []
    if way.share is not None:
        yield Obligation(SHARE.name, way.share, "<", fmpq(1), Part.WITNESS)
        needs = [SHARE.name]
    part = Part.STATEMENT if way.exact else Part.WITNESS
    for side, bound in stated.bounds.bounds.items():
        value = enclosure.side(side)
        assert value is not None
        yield Obligation(f"{MEAN_SQUARE.name}.{side}", value, _RELATIONS[side], bound, part, needs)


def enclosure_by(way: Way, error: GradientError) -> Enclosure:
    """The mean square, or the method's bounds of it."""
    law = error.gaussian()
    if way.share is not None or law is None:
        return Enclosure(None, lambda: _general(way, error))
    if error.gradient == "V":
        prompt = error.prompt_without_values
        known = exact_bounds(prompt, law, [MEAN_SQUARE.name]) if way.exact else logistic_bounds(prompt, law)
        return known.ranges[MEAN_SQUARE.name]
    return _in_U(error, law, way.exact)


def _general(way: Way, error: GradientError) -> arb:
    return arb(error.factor * square_parts(error).bound(arb(way.share), arb(way.rate), error.prompt.length, BALLS))


def _in_U(error: GradientError, law: Gaussian, exact: bool) -> Enclosure:  # noqa: N802 - U is a matrix
    """s^2 |z|^2 E |V (C_L - Gamma)|_F^2, or its bound by the logistic form of q."""
    prompt, covariance = error.prompt, ExactMatrix.rational(law.covariance)
    factor = square(prompt.scale)
    shape = covariance_shape(covariance, prompt.values(), prompt.base, factor)
    variance = factor * (prompt.base @ covariance @ prompt.base.T).entry(0, 0)

    def mean_square() -> arb:
        powers = PowerSums(prompt.length, variance, DEGREE, ctx.prec)
        return arb(error.factor * covariance_mean_square(shape, powers.mean))

    def bound() -> arb:
        q = logistic(prompt.length, arb(variance), BALLS)
        return arb(error.factor * covariance_square_bound(shape) * q)

    return Enclosure.of(Shared(mean_square)) if exact else Enclosure(None, bound)


def square_parts(error: GradientError) -> SquareParts:
    """What the method `general` needs to know of the law, at the working precision."""
    prompt = error.prompt
    unit = [row_of_balls(row) for row in ExactMatrix.identity(prompt.dimension).to_rows()]
    values = [row_of_balls(row) for row in error.values.to_rows()]
    moments = TiltedMoments(prompt.law.law.map(arb), prompt.tilt(), unit, values, BALLS)
    return (covariance_parts if error.gradient == "U" else mean_parts)(moments, prompt.length)


THEOREM = Theorem(
    name="gradient-mean-square",
    title="the mean square error of attention's gradients over a random prompt",
    given=GIVEN,
    asserts=ASSERTS,
    witness=WITNESS,
    read=read,
    obligations=obligations,
)
