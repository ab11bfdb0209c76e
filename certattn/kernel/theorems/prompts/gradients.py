"""What the claims about gradients share: which gradient is meant, of which random prompt, in which norm.

Attention at a query z, T(z) = V tau(s U z), has the gradients

    dT/dV [H] = H tau(a),      dT/dU [H] = s V C(a) H z,      a = s U z,

tau the tilted mean and C the tilted covariance of the law of tokens; over a prompt they are the softmax mean
tau_L and the softmax covariance C_L. The difference of the two gradients is a linear map of H. In V its operator
norm is |tau_L - tau|, in U its Hilbert-Schmidt norm is |s| |V (C_L - C)|_F |z|.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from flint import fmpq

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.schema import Choice, Field, Record, Values
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import square
from certattn.kernel.theorems.prompts.random_prompts import QUERY, RANDOM_PROMPT, RandomPrompt, read_random_prompt

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
