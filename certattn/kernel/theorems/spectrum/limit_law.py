"""The limit law mu of the singular values of softmax attention, by its numbers: beta and lambda, or alpha^2 too."""

from __future__ import annotations

from dataclasses import dataclass

from flint import arb, fmpq

from certattn.kernel.document.schema import Field, Rational, Values
from certattn.kernel.theorems.spectrum.mathematics.equivalent_formulas import LARGEST_BETA, LawNumbers
from certattn.kernel.theorems.spectrum.mathematics.equivalent_law import EquivalentLaw

BETA = Field("beta", Rational(above=0), "the inverse temperature of softmax(beta S)")
LAMBDA = Field("lambda", Rational(above=0), "d_qk/d, the dimension of queries and keys over the number of tokens")
ALPHA2 = Field("alpha2", Rational(above=0), "alpha^2, the variance that is not linear in the scores")
BETA2 = Field("beta2", Rational(above=0), "beta^2, the variance that is")


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


def read_law(form: str, values: Values, tau: fmpq | None = None) -> SpectralLaw:
    """By beta and lambda, or by alpha^2, beta^2 and lambda. Raises MalformedError."""
    if form != BETA.name:
        return SpectralLaw(None, values[ALPHA2], values[BETA2], values[LAMBDA], tau=tau)
    beta = values[BETA]
    if beta > LARGEST_BETA:
        raise values.node(BETA).malformed(f"a number of at most {LARGEST_BETA}")
    return SpectralLaw(beta, None, beta * beta, values[LAMBDA], tau=tau)
