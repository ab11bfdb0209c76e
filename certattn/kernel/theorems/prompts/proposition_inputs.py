"""What a claim about Boursier and Boyer's propositions 3.1 and 3.4 is given: laws, weights, and sigma.

Tokens x of a centred law mu, queries z of a centred law nu, both sigma-sub-Gaussian; the tilt of z is
s U z, tau the tilted mean and C the tilted covariance of mu. A hat marks the same over L independent tokens.
The errors that the propositions bound, in the mean over prompts and queries:

    output        |V (tau_hat - tau)|^2                    proposition 3.1
    gradient in V |tau_hat - tau|^2                        proposition 3.4, operator norm
    gradient in U s^2 |V (C_hat - C)|_F^2 |z|^2            proposition 3.4, Hilbert-Schmidt norm
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from functools import cached_property

from flint import fmpq

from certattn.kernel.document.schema import ByKey, Count, Field, Rational, Record, Values
from certattn.kernel.given.attention import (
    BILINEAR,
    KEY_WEIGHTS,
    LAW,
    QUERY_WEIGHTS,
    SCALE,
    VALUE_WEIGHTS,
    StatedLaw,
    Weights,
    read_scale,
    read_weights,
)
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.laws import Gaussian
from certattn.kernel.mathematics.reals import Real, describe, square
from certattn.kernel.theorems.prompts.mathematics.sub_gaussian import is_centred, is_sub_gaussian, mean_and_covariance

TOKEN_LAW = Field("law", LAW, "law of the tokens, of mean 0")
QUERY_LAW = Field("queries", LAW, "law of the queries, of mean 0")
SIGMA = Field("sigma", Rational(above=0), "both laws are sigma-sub-Gaussian", required=False)
LENGTH = Field("length", Count(1), "number L of tokens, for the published form at one length", required=False)
C1 = Field("c1", Rational(above=0), "the constant c1")
C2 = Field("c2", Rational(above=0), "the constant c2")
CONSTANTS = Field(
    "constants", Record(C1, C2), "c1 and c2, for the published form; all of them if left out", required=False
)
_SHARED = (TOKEN_LAW, QUERY_LAW, VALUE_WEIGHTS, SCALE, SIGMA, LENGTH, CONSTANTS)
GIVEN = ByKey({"U": Record(BILINEAR, *_SHARED), "law": Record(KEY_WEIGHTS, QUERY_WEIGHTS, *_SHARED)})


class Error(enum.Enum):
    """Whose error is bounded."""

    OUTPUT = "output"
    GRADIENT_V = "V"
    GRADIENT_U = "U"

    @property
    def words(self) -> str:
        return _WORDS[self]

    @property
    def latex(self) -> str:
        return _LATEX[self]


_GRADIENT = "the gradient of attention with respect to {} at a prompt of L independent tokens and at their law"
_WORDS = {
    Error.OUTPUT: "the l2 distance between attention over L independent tokens and attention over their law",
    Error.GRADIENT_V: f"the operator norm of the difference between {_GRADIENT.format('V')}",
    Error.GRADIENT_U: f"the Hilbert-Schmidt norm of the difference between {_GRADIENT.format('U')}",
}
_LATEX = {
    Error.OUTPUT: r"T[\hat\mu_L] - T[\mu]",
    Error.GRADIENT_V: r"\nabla_V T[\hat\mu_L] - \nabla_V T[\mu]",
    Error.GRADIENT_U: r"\nabla_U T[\hat\mu_L] - \nabla_U T[\mu]",
}


@dataclass(frozen=True)
class Setting:
    """Laws and weights, all exact; what is not stated is None."""

    values: Values
    law: StatedLaw
    queries: StatedLaw
    weights: Weights
    scale: Real
    sigma: fmpq | None
    length: int | None
    constants: tuple[fmpq, fmpq] | None

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

    def words(self) -> str:
        sigma = "" if self.sigma is None else f" and sigma = {describe(self.sigma)}"
        return (
            f"{self.law.words}, {self.queries.worded('queries')}, scores "
            f"{describe(self.scale)} * <x, U z> and outputs V x with {self.weights.words()}{sigma}"
        )


def read_setting(values: Values) -> Setting:
    """The section `given`; shapes, means and sigma checked. Raises MalformedError."""
    law, queries = values[TOKEN_LAW], values[QUERY_LAW]
    weights = read_weights(values, law.dimension)
    if queries.dimension != weights.query_dimension:
        expected = f"a law in dimension {weights.query_dimension}, that of the queries that U or Q takes"
        raise queries.node.malformed(expected, f"one in dimension {queries.dimension}")
    for stated in (law, queries):
        if is_centred(stated.law) is not True:
            raise stated.node.malformed("a law of mean 0, as the proposition supposes", stated.words)
    sigma = values.get(SIGMA)
    if sigma is not None:
        for stated in (law, queries):
            if is_sub_gaussian(stated.law, sigma * sigma) is not True:
                raise values.node(SIGMA).malformed(
                    f"a sigma for which this law is known to be sigma-sub-Gaussian: {stated.words}",
                    describe(sigma),
                    "for a Gaussian, covariance <= sigma^2 I",
                )
    constants = values.get(CONSTANTS)
    pair = None if constants is None else (constants[C1], constants[C2])
    return Setting(values, law, queries, weights, read_scale(values), sigma, values.get(LENGTH), pair)


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


def require_exact_left_side(setting: Setting, error: Error, length: int) -> None:
    """Refuse an instance whose left side is not known exactly. Raises MalformedError."""
    gaussian = isinstance(setting.law.law, Gaussian)
    if setting.U.is_zero() is True:
        if error is Error.GRADIENT_U and length > 1 and gaussian is not True:
            expected = "Gaussian tokens: only for them is the left side known exactly at a length above 1"
            raise setting.law.node.malformed(expected, setting.law.words)
    elif length > 1:
        raise setting.values.node(LENGTH).malformed("length 1, or U = 0: there the left side is known exactly")
    elif gaussian is not True:
        expected = "Gaussian tokens, or U = 0: for them the left side is known exactly"
        raise setting.law.node.malformed(expected, setting.law.words)
