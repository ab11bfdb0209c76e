"""The limit law mu of the singular values of softmax attention, by its numbers."""

from __future__ import annotations

from dataclasses import dataclass

from flint import arb, fmpq

from certattn.kernel.document.fields import Field, Rational, Values
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.spectrum.mathematics.equivalent_formulas import LawNumbers
from certattn.kernel.theorems.spectrum.mathematics.equivalent_law import EquivalentLaw

# Beyond, alpha^2 has more digits than can be handled.
LARGEST_BETA = 1000

BETA = Field("beta", Rational(above=0), "the inverse temperature of softmax(beta S)")
LAMBDA = Field("lambda", Rational(above=0), "d_qk/d, the dimension of queries and keys over the number of tokens")
ALPHA2 = Field("alpha2", Rational(above=0), "alpha^2, the variance that is not linear in the scores")
BETA2 = Field("beta2", Rational(above=0), "beta^2, the variance that is")


def definition(alpha2: str = "alpha^2", beta2: str = "beta^2") -> str:
    """What follows the numbers of a law, by what two of them are called."""
    return (
        "which is that of |x| for x of the symmetric law whose Stieltjes transform G has the inverse "
        f"K(w) = 1/w + {alpha2} w + {beta2} w/(1 - {beta2} w^2/lambda)"
    )


DEFINITION = definition()


@dataclass(frozen=True)
class SpectralLaw:
    """The law mu, exact. `alpha2` is None where alpha^2 = e^(beta^2) - 1 - beta^2; `beta` where only beta^2 is known.

    unit: where beta^2 and lambda are those of weights, their standard deviation. tau: where the weights of softmax are
    cut off at it, which changes what stands for alpha^2 and beta^2 in the law; else None.
    """

    beta: fmpq | None
    alpha2: fmpq | None
    beta2: fmpq
    lambda_: fmpq
    unit: fmpq | None = None
    tau: fmpq | None = None

    def at_precision(self) -> EquivalentLaw:
        """Enclosures at the working precision."""
        if self.tau is not None:
            return EquivalentLaw.truncated(self.beta2, self.lambda_, self.tau)
        if self.alpha2 is None:
            return EquivalentLaw.from_square(self.beta2, self.lambda_)
        return EquivalentLaw(arb(self.alpha2), arb(self.beta2), arb(self.lambda_))

    @property
    def exact(self) -> LawNumbers | None:
        """Its numbers as rationals, where alpha^2 is one."""
        return None if self.alpha2 is None else LawNumbers(self.alpha2, self.beta2, self.lambda_)

    def words(self) -> str:
        """Which law it is, every number in it."""
        if self.alpha2 is not None:
            numbers = f"alpha^2 = {describe(self.alpha2)}, beta^2 = {describe(self.beta2)}, "
            return f"the law mu of {numbers}lambda = {describe(self.lambda_)}, {DEFINITION}"
        beta = f"beta^2 = {describe(self.beta2)}" if self.beta is None else f"beta = {describe(self.beta)}"
        size = f"lambda = d_qk/d = {describe(self.lambda_)}"
        source = ""
        if self.unit is not None:
            source = f" (those of queries and keys whose entries have the standard deviation {describe(self.unit)})"
        law = f"the law mu of softmax attention at {beta}, {size}{source}"
        if self.tau is None:
            return f"{law}, alpha^2 = e^(beta^2) - 1 - beta^2, {DEFINITION}"
        return (
            f"{law}, truncated at tau = {describe(self.tau)}: with f = min(e^(beta g - beta^2/2), tau), g a standard "
            "normal number, beta_tau = E[g f]/E[f] and alpha_tau^2 = E[f^2]/E[f]^2 - 1 - beta_tau^2, "
            f"{definition('alpha_tau^2', 'beta_tau^2')}"
        )

    @property
    def variance_words(self) -> str:
        """What m_2 is, by the names of `words`."""
        return "alpha^2 + beta^2" if self.tau is None else "alpha_tau^2 + beta_tau^2"

    @property
    def variance_latex(self) -> str:
        """The same as a formula."""
        return r"\alpha^2 + \beta^2" if self.tau is None else r"\alpha_\tau^2 + \beta_\tau^2"


def read_law(form: str, values: Values, tau: fmpq | None = None) -> SpectralLaw:
    """By beta and lambda, or by alpha^2, beta^2 and lambda. Raises MalformedError."""
    if form != BETA.name:
        return SpectralLaw(None, values[ALPHA2], values[BETA2], values[LAMBDA], tau=tau)
    beta = values[BETA]
    if beta > LARGEST_BETA:
        raise values.node(BETA).malformed(f"a number of at most {LARGEST_BETA}")
    return SpectralLaw(beta, None, beta * beta, values[LAMBDA], tau=tau)
