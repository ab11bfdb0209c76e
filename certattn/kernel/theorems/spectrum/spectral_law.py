"""The limit law that singular values are compared with: by its numbers, or by the size of queries and keys."""

from __future__ import annotations

from flint import fmpq

from certattn.kernel.document.schema import Choice, EitherKey, Field, Kind, Rational, Record, Values
from certattn.kernel.mathematics.reals import describe, square
from certattn.kernel.theorems.spectrum.law_numbers import ALPHA2, BETA, BETA2, LAMBDA, LARGEST_BETA
from certattn.kernel.theorems.spectrum.limit_law import SpectralLaw, read_law
from certattn.kernel.theorems.spectrum.stated_matrix import AttentionMatrix, StatedMatrix

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


def read_spectral_law(stated: tuple[str, Values], matrix: StatedMatrix | None) -> SpectralLaw:
    """One form of LAW_FORMS; the matrix is for the form that takes its size. Raises MalformedError."""
    form, values = stated
    tau = values.get(TRUNCATED_AT)
    if form != FROM.name:
        return read_law(form, values, tau)
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
