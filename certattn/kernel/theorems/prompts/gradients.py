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
from certattn.kernel.document.schema import Choice, Field, Values
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.laws import Gaussian
from certattn.kernel.mathematics.reals import square
from certattn.kernel.theorems.prompts.random_prompts import QUERY, RandomPrompt, random_prompt_forms, read_random_prompt

GIVEN = random_prompt_forms()
GRADIENT = Field("gradient", Choice(("V", "U")), "the gradient in V (operator norm) or in U (Hilbert-Schmidt norm)")

_NORMS = {"V": "operator norm", "U": "Hilbert-Schmidt norm"}
_VARIABLES = {"V": "the matrix of values", "U": "U, at that query z,"}
_FORMULAS = {
    "V": r"\| \partial_V T_L - \partial_V T \|_{\mathrm{op}}",
    "U": r"\| \partial_U T_L - \partial_U T \|_{\mathrm{HS}}",
}


@dataclass(frozen=True)
class RandomPromptAtQuery:
    """A random prompt, and s^2 |z|^2 exactly where a query z is given."""

    prompt: RandomPrompt
    query_square: fmpq | None


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

    @property
    def norm(self) -> str:
        return _NORMS[self.gradient]

    @property
    def latex(self) -> str:
        return _FORMULAS[self.gradient]

    def gaussian(self) -> Gaussian | None:
        """The law of the tokens, where it is Gaussian."""
        law = self.prompt.law.law
        return law if isinstance(law, Gaussian) else None

    def words(self) -> str:
        """The setting, and the norm D that something is stated of."""
        return (
            f"For a prompt of {self.prompt.words()}: the gradient of attention in {_VARIABLES[self.gradient]} over the "
            f"prompt and the gradient over the law of the tokens differ by a linear map whose {self.norm} is D, and"
        )


def read_given(certificate: Certificate) -> RandomPromptAtQuery:
    """The section `given` alone. Raises MalformedError."""
    form, values = GIVEN.read(certificate.given, certificate.reading)
    prompt = read_random_prompt(form, values)
    if form == "tilt":
        return RandomPromptAtQuery(prompt, None)
    query = values[QUERY].load()
    return RandomPromptAtQuery(prompt, square(prompt.scale) * (query @ query.T).entry(0, 0))


def read_gradient(asserts: Values, given: RandomPromptAtQuery) -> GradientError:
    """The gradient that a section `asserts` names. Raises MalformedError."""
    gradient = asserts[GRADIENT]
    if gradient == "V":
        return GradientError(given.prompt, gradient, fmpq(1))
    if given.query_square is None:
        raise asserts.node(GRADIENT).malformed(
            "a query with U, or with K and Q, for the gradient in U", "a tilt, which does not say what z is"
        )
    return GradientError(given.prompt, gradient, given.query_square)
