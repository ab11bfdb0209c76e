"""Theorem `singular-values`: singular values of a matrix, and what follows from them.

The matrix M is given exactly, m x n, or is that of softmax attention over given queries and keys,

    M = sqrt(d) (A - 1 1'/d)   or   M = sqrt(d) A,   A_ij = e^(s <q_i, k_j>) / sum_j e^(s <q_i, k_j>).

Under a causal mask query i sees the first i keys alone, and the attention of equal scores over these takes the place of
1 1'/d: `causal_matrix`.

With sigma_1 >= sigma_2 >= ... its min(m, n) singular values, a certificate asserts one or more of

    values          |sigma_k - value_k| <= radius_k for the largest of them, or for all
    counts          exactly so many are larger than a threshold, and how far from it they and the others are
    norm            bounds of sigma_1
    energy          bounds of |M|_F^2 = sum sigma_k^2
    stable_rank     bounds of |M|_F^2 / sigma_1^2
    entropy         bounds of H = -sum p_k log p_k, p_k = sigma_k / sum sigma or sigma_k^2 / sum sigma^2
    effective_rank  bounds of e^H

Approximate factors of M, from the certificate or found while checking, are a hint; what is proved of them stands in
`mathematics.singular_values`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial

from flint import arb, ctx, fmpq

from certattn.kernel.decide.obligation import Obligation, Part, Relation, Shared
from certattn.kernel.decide.theorem import Theorem
from certattn.kernel.decide.verdict import Enclosure
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.matrices import Matrix, MatrixInput, Vector
from certattn.kernel.document.quoting import counted
from certattn.kernel.document.schema import Count, Field, Listing, Rational, Record, Values, some_of
from certattn.kernel.given.bounds import NONNEGATIVE, Bounds, within
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.spectrum.causal_matrix import HEAD_FORMS, read_head_matrix
from certattn.kernel.theorems.spectrum.mathematics.spectrum_shape import effective_rank, entropy, stable_rank
from certattn.kernel.theorems.spectrum.matrix_inputs import IN_DOUBLES, Spectrum, StatedMatrix

VALUE = Field("value", Vector(), "the largest singular values, or all of them, from the largest on")
RADIUS = Field("radius", Bounds(minimum=0), "largest error: one number, or one per value")
VALUES = Field("values", Record(VALUE, RADIUS), "singular values", required=False)

ABOVE = Field("above", Rational(minimum=0), "the threshold t >= 0")
COUNT = Field("count", Count(0), "how many singular values are larger than t")
INSIDE = Field("at_least", Rational(minimum=0), "these are at least so large", required=False)
OUTSIDE = Field("at_most", Rational(minimum=0), "the others are at most so large", required=False)
COUNTS = Field(
    "counts", Listing(Record(ABOVE, COUNT, INSIDE, OUTSIDE)), "how many are above a threshold", required=False
)

OF_VALUES = Field("values", NONNEGATIVE, "with shares sigma_k / sum sigma", required=False)
OF_SQUARES = Field("squares", NONNEGATIVE, "with shares sigma_k^2 / sum sigma^2", required=False)


def _some_shares(values: Values) -> None:
    if OF_VALUES not in values and OF_SQUARES not in values:
        raise values.at.malformed("values or squares", "no shares whose entropy is meant")


_SHARES = Record(OF_VALUES, OF_SQUARES, rules=[_some_shares])
NORM = Field("norm", NONNEGATIVE, "bounds of the spectral norm sigma_1", required=False)
ENERGY = Field("energy", NONNEGATIVE, "bounds of |M|_F^2 = sum sigma^2", required=False)
STABLE_RANK = Field("stable_rank", NONNEGATIVE, "bounds of |M|_F^2 / sigma_1^2", required=False)
ENTROPY = Field("entropy", _SHARES, "bounds of the entropy of the spectrum, in nats", required=False)
EFFECTIVE_RANK = Field("effective_rank", _SHARES, "bounds of e to the entropy", required=False)

_ASSERTED = (VALUES, COUNTS, NORM, ENERGY, STABLE_RANK, ENTROPY, EFFECTIVE_RANK)
ASSERTS = Record(*_ASSERTED, rules=[some_of(*_ASSERTED)])

LEFT = Field("U", Matrix(), "left singular vectors, a column for each value, m x r")
SINGULAR = Field("s", Vector(), "r singular values, from the largest on")
RIGHT = Field("V", Matrix(), "right singular vectors, a column for each value, n x r")
HINT = Field("hint", Record(LEFT, SINGULAR, RIGHT), "approximate factors of M in array files", required=False)
WITNESS = Record(HINT)
# What has no meaning where M is 0, and that it is not.
_OF_A_SUM = ("stable_rank", "entropy", "effective_rank")
NONZERO = "nonzero"


@dataclass(frozen=True)
class Hint:
    """U (m x r), s (1 x r, falling, not negative) and V (n x r), not trusted."""

    left: MatrixInput
    values: ExactMatrix
    right: MatrixInput


@dataclass(frozen=True)
class StatedSpectrum:
    """A matrix, what is asserted of it, and a hint."""

    matrix: StatedMatrix
    asserts: Values
    hint: Hint | None

    @property
    def ranges(self) -> dict[str, Values]:
        """The bounds of numbers that belong to the whole spectrum, by what obligations call these."""
        asserts = self.asserts
        found = {field.name: asserts[field] for field in (NORM, ENERGY, STABLE_RANK) if field in asserts}
        for field in (ENTROPY, EFFECTIVE_RANK):
            for of in (OF_VALUES, OF_SQUARES):
                if field in asserts and of in asserts[field]:
                    found[f"{field.name}.{of.name}"] = asserts[field][of]
        return found


def read_given(certificate: Certificate) -> StatedMatrix:
    """The section `given` alone. Raises MalformedError."""
    return read_head_matrix(*HEAD_FORMS.read(certificate.given, certificate.reading))


def read(certificate: Certificate) -> StatedSpectrum:
    """Everything stated, of no more singular values than there are. Raises MalformedError."""
    matrix, asserts = read_given(certificate), ASSERTS.read(certificate.asserts, certificate.reading)
    if VALUES in asserts:
        _require_values(asserts[VALUES], matrix.count)
    for item in asserts.items(COUNTS):
        _require_count(item, matrix.count)
    hint = None
    if certificate.witness is not None:
        witness = WITNESS.read(certificate.witness, certificate.reading)
        hint = read_hint(witness[HINT], matrix) if HINT in witness else None
    return StatedSpectrum(matrix, asserts, hint)


def _require_values(values: Values, count: int) -> None:
    value, radius = values[VALUE], values[RADIUS]
    if value.shape[1] > count:
        found = counted(value.shape[1], "number")
        raise value.node.malformed(f"at most {counted(count, 'singular value')}, as many as there are", found)
    if radius.each is not None:
        radius.each.require_length(value.shape[1], "the values")
        for k, entry in enumerate(radius.each.load().row(0)):
            if (entry >= 0) is not True:
                raise radius.each.node.malformed("numbers >= 0", f"a negative one at index {k}")


def _require_count(item: Values, count: int) -> None:
    if item[COUNT] > count:
        raise item.node(COUNT).malformed(f"at most {count}, as many as there are", str(item[COUNT]))
    if item[COUNT] == 0 and INSIDE in item:
        raise item.node(INSIDE).malformed(
            "no lower bound where no singular value is above", f"{describe(item[INSIDE])} beside a count of 0"
        )
    if item[COUNT] == count and OUTSIDE in item:
        raise item.node(OUTSIDE).malformed(
            "no upper bound where all singular values are above", f"{describe(item[OUTSIDE])} beside all {count}"
        )
    if INSIDE in item and (item[INSIDE] < item[ABOVE]) is True:
        raise item.node(INSIDE).malformed("a bound that is not below the threshold", "a smaller number")
    if OUTSIDE in item and (item[OUTSIDE] > item[ABOVE]) is True:
        raise item.node(OUTSIDE).malformed("a bound that is not above the threshold", "a larger number")


@dataclass(frozen=True)
class Spectra:
    """The spectrum of a matrix at the working precision, and in doubles where it has any; each is computed once."""

    in_arb: Shared[Spectrum]
    in_doubles: Shared[Spectrum] | None

    @classmethod
    def of(cls, matrix: StatedMatrix, hint: Hint | None) -> Spectra:
        def in_doubles() -> Spectrum:
            from certattn.kernel.theorems.spectrum.matrix_binary64 import spectrum_in_binary64

            return spectrum_in_binary64(matrix, hint)

        return cls(Shared(lambda: matrix.spectrum(ctx.prec)), Shared(in_doubles) if matrix.tiers else None)

    def compared(
        self,
        name: str,
        number: Callable[[Spectrum], Enclosure],
        relation: Relation,
        bound: fmpq,
        part: Part = Part.STATEMENT,
    ) -> Obligation:
        """A number of the spectrum beside a bound."""
        fast = {} if self.in_doubles is None else {IN_DOUBLES: (partial(_of, number, self.in_doubles), bound)}
        return Obligation(name, partial(_of, number, self.in_arb), relation, bound, part, fast=fast)


def _of(number: Callable[[Spectrum], Enclosure], spectrum: Shared[Spectrum]) -> Enclosure:
    return number(spectrum())


def obligations(stated: StatedSpectrum) -> Iterator[Obligation]:
    asserts, matrix = stated.asserts, stated.matrix
    spectra = Spectra.of(matrix, stated.hint)
    if VALUES in asserts:
        yield from _near_values(spectra, asserts[VALUES])
    for index, item in enumerate(asserts.items(COUNTS)):
        yield from _counted(spectra, f"counts[{index}]", item, matrix.count)
    if any(name.startswith(_OF_A_SUM) for name in stated.ranges):
        yield spectra.compared(NONZERO, partial(_largest, matrix), ">", fmpq(0), Part.WITNESS)
    for name, bounds in stated.ranges.items():
        known = Shared(partial(_quantity, spectra.in_arb, name))
        fast = {} if spectra.in_doubles is None else {IN_DOUBLES: Shared(partial(_quantity, spectra.in_doubles, name))}
        needs = [NONZERO] if name.startswith(_OF_A_SUM) else []
        yield from within(name, known, bounds, needs=needs, fast=fast)


def _near_values(spectra: Spectra, stated: Values) -> Iterator[Obligation]:
    """|sigma_k - value_k| <= radius_k for k = 1, ..., as many as are stated."""

    @cache
    def values() -> ExactMatrix:
        return stated[VALUE].load()

    def off(index: int, spectrum: Spectrum) -> arb:
        return abs(spectrum.singular.value(index + 1) - values().entry(0, index))

    for index in range(stated[VALUE].shape[1]):
        yield spectra.compared(f"values[{index}]", partial(off, index), "<=", stated[RADIUS].at(index))


def _counted(spectra: Spectra, name: str, stated: Values, count: int) -> Iterator[Obligation]:
    """sigma_k > t for the k that are above, sigma_(k+1) <= t, and the bounds on either side."""
    k, t = stated[COUNT], stated[ABOVE]
    if k > 0:
        yield spectra.compared(f"{name}.above", partial(_sigma, k), ">", t)
    if k < count:
        yield spectra.compared(f"{name}.not_above", partial(_sigma, k + 1), "<=", t)
    if INSIDE in stated:
        yield spectra.compared(f"{name}.at_least", partial(_sigma, k), ">=", stated[INSIDE])
    if OUTSIDE in stated:
        yield spectra.compared(f"{name}.at_most", partial(_sigma, k + 1), "<=", stated[OUTSIDE])


def _sigma(k: int, spectrum: Spectrum) -> arb:
    return spectrum.singular.value(k)


def _largest(matrix: StatedMatrix, spectrum: Spectrum) -> Enclosure:
    """sigma_1, which is 0 exactly where M is: no ball shows that."""
    value = spectrum.singular.value(1)
    return fmpq(0) if (value > 0) is not True and matrix.is_zero else value


def _quantity(spectrum: Shared[Spectrum], name: str) -> Enclosure:
    return quantity(spectrum(), name)


def quantity(spectrum: Spectrum, name: str) -> Enclosure:
    """What a range bounds, by its name, enclosed at the working precision; not finite where it may be undefined."""
    singular = spectrum.singular
    kind, _, of = name.partition(".")
    if kind == "norm":
        return singular.value(1)
    if kind == "energy":
        return spectrum.energy
    most = max(1, singular.rank)
    if kind == "stable_rank":
        return stable_rank(arb(spectrum.energy), singular.value(1), most)
    shares = singular.values() if of == "values" else [value * value for value in singular.values()]
    found = entropy(shares, most)
    return found if kind == "entropy" else effective_rank(found)


def read_hint(values: Values, matrix: StatedMatrix) -> Hint:
    """Shapes that fit, and values in order; raises MalformedError."""
    left, stated, right = values[LEFT], values[SINGULAR], values[RIGHT]
    if matrix.tiers == ():
        where = "a matrix in array files of floats or of integers up to 32 bits; others need no hint"
        raise values.at.malformed(where, "a hint for another matrix", "leave the hint out")
    count = stated.shape[1]
    if count > matrix.count:
        raise stated.node.malformed(f"at most {matrix.count} values, as many as there are", f"{count}")
    for part, rows in ((left, matrix.shape[0]), (right, matrix.shape[1])):
        part.require_shape(rows, count, "(a column for each value)")
        if StatedMatrix.holds_doubles(part) is not True:
            raise part.node.malformed("an array file of floats", "other numbers")
    loaded = stated.load()
    entries = loaded.row(0)
    for k, entry in enumerate(entries):
        if (entry < 0) is True or (k > 0 and (entry > entries[k - 1]) is True):
            raise stated.node.malformed("values in falling order, none negative", f"another one at index {k}")
    return Hint(left, loaded, right)


THEOREM = Theorem(
    name="singular-values",
    title="singular values of a matrix or of softmax attention: values, counts, norms, effective rank",
    given=HEAD_FORMS,
    asserts=ASSERTS,
    witness=WITNESS,
    read=read,
    obligations=obligations,
)
