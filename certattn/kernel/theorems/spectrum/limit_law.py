"""The limit law mu of the singular values of softmax attention, by its numbers."""

from __future__ import annotations

from dataclasses import dataclass

from flint import arb, fmpq

from certattn.kernel.document.schema import Values
from certattn.kernel.theorems.spectrum.law_numbers import ALPHA2, BETA, BETA2, LAMBDA, LARGEST_BETA
from certattn.kernel.theorems.spectrum.mathematics.equivalent_formulas import LawNumbers
from certattn.kernel.theorems.spectrum.mathematics.equivalent_law import EquivalentLaw


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
