"""The limit law that singular values are compared with: by its numbers, or by the size of queries and keys."""

from __future__ import annotations

from dataclasses import dataclass

from flint import arb, fmpq

from certattn.kernel.document.fields import Choice, Field, Kind, Rational, Record, Values
from certattn.kernel.document.forms import EitherKey
from certattn.kernel.mathematics.reals import describe, square
from certattn.kernel.theorems.spectrum.equivalent_assertions import ALPHA2, BETA, BETA2, LAMBDA, LARGEST_BETA, read_law
from certattn.kernel.theorems.spectrum.equivalent_words import DEFINITION, definition
from certattn.kernel.theorems.spectrum.mathematics.equivalent_formulas import LawNumbers
from certattn.kernel.theorems.spectrum.mathematics.equivalent_law import EquivalentLaw
from certattn.kernel.theorems.spectrum.matrix_inputs import AttentionMatrix, StatedMatrix

WEIGHTS = "weights"
FROM = Field(
    "from", Choice((WEIGHTS,)), "lambda = p/d and beta^2 = scale^2 p unit^4, from d queries and keys in p dims"
)
UNIT = Field("unit", Rational(above=0), "the standard deviation of their entries; 1 if left out", required=False)
TRUNCATED_AT = Field(
    "truncated_at", Rational(above=0), "tau > 0: the weights of softmax are cut off there", required=False
)
LAW_FORMS: Kind[tuple[str, Values]] = EitherKey(
    {
        FROM.name: Record(FROM, UNIT, TRUNCATED_AT),
        BETA.name: Record(BETA, LAMBDA, TRUNCATED_AT),
        ALPHA2.name: Record(ALPHA2, BETA2, LAMBDA),
    }
)


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


def read_spectral_law(stated: tuple[str, Values], matrix: StatedMatrix | None) -> SpectralLaw:
    """One form of LAW_FORMS; the matrix is for the form that takes its size. Raises MalformedError."""
    form, values = stated
    tau = values.get(TRUNCATED_AT)
    if form != FROM.name:
        return SpectralLaw(*read_law(stated), tau=tau)
    if not isinstance(matrix, AttentionMatrix):
        raise values.node(FROM).malformed("beta and lambda, or alpha2, beta2 and lambda, beside a given matrix")
    law = law_of_weights(matrix, values[UNIT] if UNIT in values else fmpq(1), tau)
    if law.beta2 > LARGEST_BETA**2:
        raise values.at.malformed(
            f"weights with beta^2 = scale^2 p unit^4 of at most {LARGEST_BETA**2}", f"beta^2 = {describe(law.beta2)}"
        )
    return law


def law_of_weights(matrix: AttentionMatrix, unit: fmpq, tau: fmpq | None = None) -> SpectralLaw:
    """That of as many random queries and keys whose entries have this standard deviation, of any beta."""
    tokens, dimension = matrix.keys.shape
    beta2 = square(matrix.scale) * dimension * unit**4
    return SpectralLaw(None, None, beta2, fmpq(dimension, tokens), unit, tau)
