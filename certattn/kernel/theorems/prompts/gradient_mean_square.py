"""Claim `gradient-mean-square`: the mean square of the error of attention's gradients over a random prompt.

Given a law of tokens, a query (for the gradient in V a tilt is enough), values V and a length L, the claim is
about the gradients of attention in V or in U at that query, over L independent tokens and over their law:

    V    E |tau_L - tau|^2                        the operator norm of the difference, squared
    U    s^2 |z|^2 E |V (C_L - C)|_F^2            its Hilbert-Schmidt norm, squared

The witness names the method:

    exact      Gaussian tokens: the mean itself, from moments of softmax weights (`covariance_error`,
               `softmax_powers`); atoms, signs and mixtures of them (`finite_scores`, `finite_covariances`); bounds
               from above and from below
    moments    atoms, signs and mixtures of them, in V: by negative moments of the normaliser, from above
    logistic   Gaussian tokens: a polynomial times q <= e^v / (e^v + L - 1), v = a'Gamma a; from above
    general    any law: `gradient_bounds`, with a share t and a rate; from above
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from flint import arb, ctx, fmpq

from certattn.kernel.decide.obligation import NoProof, Obligation, Shared
from certattn.kernel.decide.theorem import Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.schema import Choice, Field, Record, Values
from certattn.kernel.given.bounds import NONNEGATIVE
from certattn.kernel.mathematics.balls import row_of_balls, scale_ball
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.laws import Gaussian
from certattn.kernel.mathematics.reals import square
from certattn.kernel.mathematics.softmax_powers import PowerSums
from certattn.kernel.theorems.prompts.length_ranges import STARTS
from certattn.kernel.theorems.prompts.mathematics.covariance_error import (
    DEGREE,
    covariance_mean_square,
    covariance_shape,
    covariance_square_bound,
)
from certattn.kernel.theorems.prompts.mathematics.finite_covariances import finite_covariance_error, tokens_by_score
from certattn.kernel.theorems.prompts.mathematics.gradient_bounds import (
    SquareParts,
    TiltedMoments,
    covariance_parts,
    mean_parts,
)
from certattn.kernel.theorems.prompts.mathematics.mean_square import logistic
from certattn.kernel.theorems.prompts.mean_squares import (
    NOTHING,
    RATE,
    SHARE,
    Enclosure,
    Method,
    all_listed,
    closed_bounds,
    exact_onwards,
    for_every_length,
    keeps,
    methods_of,
    read_method,
)
from certattn.kernel.theorems.prompts.random_prompts import GRADIENT, RANDOM_PROMPT, GradientError, read_gradient

MEAN_SQUARE = Field("mean_square", NONNEGATIVE, "bounds of the mean square of the norm")
METHOD = Field(
    "method", Choice(("exact", "logistic", "moments", "general")), "how the mean square is enclosed or bounded"
)
ASSERTS = Record(GRADIENT, MEAN_SQUARE)
WITNESS = Record(METHOD, SHARE, RATE, STARTS)


@dataclass(frozen=True)
class StatedGradientError:
    """A gradient's error, bounds of its mean square, and the way to prove them."""

    error: GradientError
    bounds: Values
    method: Method


def read(certificate: Certificate) -> StatedGradientError:
    error, asserts = read_gradient(certificate, ASSERTS)
    if certificate.witness is None:
        raise asserts.at.malformed("a witness that names the method", "no witness")
    witness = WITNESS.read(certificate.witness, certificate.reading)
    return StatedGradientError(error, asserts[MEAN_SQUARE], read_method(METHOD, witness, error.prompt.lengths))


def obligations(stated: StatedGradientError) -> Iterator[Obligation | NoProof]:
    yield from stated.method.conditions()
    yield from keeps(MEAN_SQUARE.name, enclosure_by(stated.method, stated.error), stated.bounds, stated.method)


def enclosure_by(method: Method, error: GradientError) -> Enclosure:
    """The mean square, or the method's bounds of it; for every length from one on those bounds that fall.

    Or in V, where the error is that of an output, the mean square at a few lengths.
    """
    if error.prompt.onwards:
        if method.starts and error.gradient == "V" and method.name in methods_of(error.prompt.law.law):
            known = exact_onwards(error.prompt_without_values, method.starts, [MEAN_SQUARE.name])
            return known.ranges.get(MEAN_SQUARE.name, NOTHING)
        falls = method.name in ("logistic", "moments")
        return for_every_length(_enclosure_at(method, error)) if falls else NOTHING
    return _enclosure_at(method, error)


def _enclosure_at(method: Method, error: GradientError) -> Enclosure:
    law, name = error.prompt.law.law, method.name
    if name == "general":
        return Enclosure(None, lambda: _general(method, error))
    if name not in methods_of(law):
        return NOTHING
    if error.gradient == "V":
        known = closed_bounds(name, error.prompt_without_values, [MEAN_SQUARE.name])
        return known.ranges.get(MEAN_SQUARE.name, NOTHING)
    if isinstance(law, Gaussian):
        return _in_U(error, law, name == "exact")
    return Enclosure.of(Shared(partial(_finite_in_U, error))) if name == "exact" else NOTHING


def _finite_in_U(error: GradientError) -> arb:  # noqa: N802 - U is a matrix
    """s^2 |z|^2 E |V (C_L - C)|_F^2 for tokens of finitely many scores."""
    prompt = error.prompt
    with all_listed():
        tokens = tokens_by_score(prompt.law.law, prompt.base)
    found = finite_covariance_error(tokens, scale_ball(prompt.scale), error.values, prompt.length)
    return error.factor * found


def _general(method: Method, error: GradientError) -> arb:
    share, rate = arb(method.parameters[SHARE.name]), arb(method.parameters[RATE.name])
    return error.factor * square_parts(error).bound(share, rate, error.prompt.length)


def _in_U(error: GradientError, law: Gaussian[fmpq], exact: bool) -> Enclosure:  # noqa: N802 - U is a matrix
    """s^2 |z|^2 E |V (C_L - Gamma)|_F^2, or its bound by the logistic form of q."""
    prompt, covariance = error.prompt, ExactMatrix.rational(law.covariance)
    factor = square(prompt.scale)
    shape = covariance_shape(covariance, prompt.values(), prompt.base, factor)
    variance = factor * (prompt.base @ covariance @ prompt.base.T).entry(0, 0)

    def mean_square() -> arb:
        powers = PowerSums(prompt.length, variance, DEGREE, ctx.prec)
        return arb(error.factor * covariance_mean_square(shape, powers.mean))

    def bound() -> arb:
        q = logistic(prompt.length, arb(variance))
        return arb(error.factor * covariance_square_bound(shape) * q)

    return Enclosure.of(Shared(mean_square)) if exact else Enclosure(None, bound)


def square_parts(error: GradientError) -> SquareParts:
    """What the method `general` needs to know of the law, at the working precision."""
    prompt = error.prompt
    unit = [row_of_balls(row) for row in ExactMatrix.identity(prompt.dimension).to_rows()]
    values = [row_of_balls(row) for row in error.values.to_rows()]
    moments = TiltedMoments(prompt.law.law.map(arb), prompt.tilt(), unit, values)
    return (covariance_parts if error.gradient == "U" else mean_parts)(moments, prompt.length)


THEOREM = Theorem(
    name="gradient-mean-square",
    title="the mean square error of attention's gradients over a random prompt",
    given=RANDOM_PROMPT,
    asserts=ASSERTS,
    witness=WITNESS,
    read=read,
    obligations=obligations,
)
