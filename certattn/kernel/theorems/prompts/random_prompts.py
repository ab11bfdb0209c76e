"""What a claim about random prompts is given: a law of tokens, a tilt, values, and how many tokens are drawn.

`length: {at_least: L}` states it of L tokens and of every larger number of them.

The tokens x_1..x_L are independent and have the law mu. With a tilt a = s U z, weights p_i
proportional to e^{<a, x_i>} and tau the tilted mean of mu,

    T_L = V sum_i p_i x_i,     T = V tau(a).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from flint import arb, fmpq

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.matrices import Vector
from certattn.kernel.document.schema import ByKey, Choice, Count, Field, Kind, Reading, Record, Values
from certattn.kernel.document.tree import Node
from certattn.kernel.given.attention import SCALE, VALUE_WEIGHTS, Weights, read_scale, read_weights, weighted_forms
from certattn.kernel.given.token_laws import LAW, StatedLaw
from certattn.kernel.mathematics.balls import scale_ball, table_of_balls
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import Real, square

TOKEN_LAW = Field("law", LAW, "law of the tokens")


@dataclass(frozen=True)
class Lengths:
    """One number of tokens, or with `onwards` this and every larger one."""

    first: int
    onwards: bool = False


AT_LEAST = Field("at_least", Count(1), "the least number of tokens")


class LengthKind(Kind[Lengths]):
    """A number of tokens, or at_least: the least of all."""

    written = (Count(1), Record(AT_LEAST))

    def read(self, node: Node, reading: Reading) -> Lengths:
        if isinstance(node.value, dict):
            return Lengths(Record(AT_LEAST).read(node, reading)[AT_LEAST], onwards=True)
        return Lengths(Count(1).read(node, reading))


LENGTH = Field("length", LengthKind(), "number L of independent tokens, or at_least: L for every number from L on")
TILT = Field("tilt", Vector(), "the tilt a: token x has the score <a, x>")
QUERY = Field("query", Vector(), "the query z; the tilt is scale * U z with U = K'Q")

_SHARED = (TOKEN_LAW, VALUE_WEIGHTS, LENGTH)
# A tilt, or a query with U, or with K and Q.
RANDOM_PROMPT = ByKey({"tilt": Record(TILT, *_SHARED), **weighted_forms("law", QUERY, SCALE, *_SHARED).forms})


@dataclass(frozen=True)
class RandomPrompt:
    """L independent tokens of a law under a tilt, all exact; the tilt is scale * `base` (1 x d).

    With `onwards` L is any number from `length` on. `given` is the section that states it, where one does.
    """

    law: StatedLaw
    base: ExactMatrix
    scale: Real
    weights: Weights
    length: int
    given: Values | None = None
    onwards: bool = False

    @property
    def dimension(self) -> int:
        """The dimension d of the tokens."""
        return self.law.dimension

    @property
    def lengths(self) -> Lengths:
        return Lengths(self.length, self.onwards)

    @property
    def output_dimension(self) -> int:
        """The dimension d_v of V x."""
        return self.weights.output_dimension

    def values(self) -> ExactMatrix:
        """V, d_v x d."""
        return self.weights.values()

    def tilt(self) -> list[arb]:
        """a, at the working precision."""
        (row,) = table_of_balls(self.base, scale_ball(self.scale))
        return list(row)


def read_random_prompt(form: str, values: Values) -> RandomPrompt:
    """The random prompt that a section `given` states, shapes checked against each other."""
    law = values[TOKEN_LAW]
    weights, lengths = read_weights(values, law.dimension), values[LENGTH]
    if form == "tilt":
        values[TILT].require_length(law.dimension, "the tokens")
        return RandomPrompt(law, values[TILT].load(), fmpq(1), weights, lengths.first, values, lengths.onwards)
    values[QUERY].require_length(weights.query_dimension, "what U or Q acts on")
    base = values[QUERY].load() @ weights.bilinear().T
    return RandomPrompt(law, base, read_scale(values), weights, lengths.first, values, lengths.onwards)


# -- errors of gradients
#
# Attention at a query z, T(z) = V tau(s U z), has the gradients
#
#     dT/dV [H] = H tau(a),      dT/dU [H] = s V C(a) H z,      a = s U z,
#
# tau the tilted mean and C the tilted covariance of the law of tokens; over a prompt they are the softmax mean
# tau_L and the softmax covariance C_L. The difference of the two gradients is a linear map of H. In V its operator
# norm is |tau_L - tau|, in U its Hilbert-Schmidt norm is |s| |V (C_L - C)|_F |z|.

GRADIENT = Field("gradient", Choice(("V", "U")), "the gradient in V (operator norm) or in U (Hilbert-Schmidt norm)")


@dataclass(frozen=True)
class GradientError:
    """The difference of a gradient over a random prompt and over the law of its tokens.

    Its norm is sqrt(`factor`) |tau_L - tau| for V and sqrt(`factor`) |V (C_L - C)|_F for U.
    """

    prompt: RandomPrompt
    gradient: str
    factor: fmpq

    @property
    def values(self) -> ExactMatrix:
        """V; the gradient in V does not depend on it."""
        return self.prompt.values() if self.gradient == "U" else ExactMatrix.identity(self.prompt.dimension)

    @property
    def prompt_without_values(self) -> RandomPrompt:
        """The prompt with V = I: its output is the softmax mean of the tokens themselves."""
        return replace(self.prompt, weights=replace(self.prompt.weights, V=None))


def read_gradient(certificate: Certificate, record: Record) -> tuple[GradientError, Values]:
    """The sections `given` and `asserts`, the latter by its record. Raises MalformedError."""
    form, given = RANDOM_PROMPT.read(certificate.given, certificate.reading)
    prompt = read_random_prompt(form, given)
    asserts = record.read(certificate.asserts, certificate.reading)
    gradient = asserts[GRADIENT]
    if gradient == "V":
        return GradientError(prompt, gradient, fmpq(1)), asserts
    if form == "tilt":
        raise asserts.node(GRADIENT).malformed(
            "a query with U, or with K and Q, for the gradient in U", "a tilt, which does not say what z is"
        )
    query = given[QUERY].load()
    return GradientError(prompt, gradient, square(prompt.scale) * (query @ query.T).entry(0, 0)), asserts
