"""Theorem `singular-values`: singular values of a matrix, and what follows from them.

The matrix M is given exactly, m x n, or is that of softmax attention over given queries and keys,

    M = sqrt(d) (A - 1 1'/d)   or   M = sqrt(d) A,   A_ij = e^(s <q_i, k_j>) / sum_j e^(s <q_i, k_j>).

Under a causal mask query i sees the first i keys alone, and the attention of equal scores over these takes the place of
1 1'/d: `stated_matrix`.

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

For numbers x_1, ..., x_n >= 0 with sum T > 0 and p_i = x_i / T the entropy is H = -sum p_i log p_i, in nats, and the
effective rank e^H; x_i = sigma_i in O. Roy, M. Vetterli, The effective rank, EUSIPCO 2007, and x_i = sigma_i^2 where
the shares of the energy are meant. The stable rank is |M|_F^2 / sigma_1^2. All ranks lie between 1 and the rank.

For every a > 0

    H = log(T / a) - (1/T) sum x_i log(x_i / a),

and where log a is about the mean of log x_i with weights p_i, the sum is about 0: errors of T and of the x_i then enter
about as often as the derivatives of H say.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial

from flint import arb, ctx, fmpq

from certattn.kernel.decide.obligation import Obligation, Part
from certattn.kernel.decide.theorem import Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.matrices import Vector
from certattn.kernel.document.quoting import counted
from certattn.kernel.document.schema import Count, Field, Listing, Rational, Record, Values, some_of
from certattn.kernel.given.bounds import NONNEGATIVE
from certattn.kernel.given.each_query import Bounds
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.spectrum import stated_matrix as matrices

GIVEN = matrices.matrix_forms(masks=[matrices.CAUSAL])

VALUE = Field("value", Vector(), "the largest singular values, or all of them, from the largest on")
RADIUS = Field("radius", Bounds(minimum=0), "largest error: one number, or one per value")
VALUES = Field("values", Record(VALUE, RADIUS), "singular values", required=False)

ABOVE = Field("above", Rational(minimum=0), "the threshold t >= 0")
COUNT = Field("count", Count(0), "how many singular values are larger than t")
INSIDE = Field("at_least", Rational(minimum=0), "these are at least so large", required=False)
OUTSIDE = Field("at_most", Rational(minimum=0), "the others are at most so large", required=False)
COUNTS = Field("counts", Listing(Record(ABOVE, COUNT, INSIDE, OUTSIDE)), "how many are above a threshold", False)

OF_VALUES = Field("values", NONNEGATIVE, "with shares sigma_k / sum sigma", required=False)
OF_SQUARES = Field("squares", NONNEGATIVE, "with shares sigma_k^2 / sum sigma^2", required=False)


_SHARES = Record(OF_VALUES, OF_SQUARES, rules=[some_of(OF_VALUES, OF_SQUARES)])
NORM = Field("norm", NONNEGATIVE, "bounds of the spectral norm sigma_1", required=False)
ENERGY = Field("energy", NONNEGATIVE, "bounds of |M|_F^2 = sum sigma^2", required=False)
STABLE_RANK = Field("stable_rank", NONNEGATIVE, "bounds of |M|_F^2 / sigma_1^2", required=False)
ENTROPY = Field("entropy", _SHARES, "bounds of the entropy of the spectrum, in nats", required=False)
EFFECTIVE_RANK = Field("effective_rank", _SHARES, "bounds of e to the entropy", required=False)

_ASSERTED = (VALUES, COUNTS, NORM, ENERGY, STABLE_RANK, ENTROPY, EFFECTIVE_RANK)
ASSERTS = Record(*_ASSERTED, rules=[some_of(*_ASSERTED)])

WITNESS = Record(matrices.HINT)
# What has no meaning where M is 0, and that it is not.
_OF_A_SUM = ("stable_rank", "entropy", "effective_rank")
NONZERO = "nonzero"


Spectra = matrices.InTiers[matrices.Spectrum]


@dataclass(frozen=True)
class StatedSpectrum:
    """A matrix, what is asserted of it, and a hint."""

    matrix: matrices.StatedMatrix
    asserts: Values
    hint: matrices.Hint | None

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


def read(certificate: Certificate) -> StatedSpectrum:
    """Everything stated, of no more singular values than there are. Raises MalformedError."""
    reading, hint = certificate.reading, certificate.witness
    matrix = matrices.read_matrix(*GIVEN.read(certificate.given, reading))
    asserts = ASSERTS.read(certificate.asserts, reading)
    if VALUES in asserts:
        _require_values(asserts[VALUES], matrix.count)
    for item in asserts.items(COUNTS):
        _require_count(item, matrix.count)
    witness = None if hint is None else WITNESS.read(hint, reading)
    return StatedSpectrum(matrix, asserts, matrices.read_hint(witness, matrix))


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


def entropy(shares: Sequence[arb], most: int) -> arb:
    """H for nonnegative numbers of which at most so many are not 0; not finite where T > 0 is not proved."""
    total = _sum(shares)
    if (total > 0) is not True:
        return arb.nan()
    middle = _log_mean(shares)
    near = entropy_formula(shares, total, middle)
    if near.is_finite() is not True:
        return near
    # 0 <= H <= log n.
    return near.nonnegative_part().min(arb(most).log())


def entropy_formula(shares: Sequence[arb], total: arb, middle: arb) -> arb:
    """log T - log a - (1/T) sum x_i (log x_i - log a), from log a = `middle`."""
    return total.log() - middle - _sum([times_log(share, middle) for share in shares]) / total


def times_log(share: arb, middle: arb) -> arb:
    """x (log x - log a) for x >= 0, where 0 log 0 = 0."""
    if (share > 0) is True:
        return share * (share.log() - middle)
    # From 0 it falls to -a/e at x = a/e, and then rises.
    largest, bottom = share.abs_upper(), (middle - 1).exp()
    if largest == 0:
        return arb(0)
    end = largest * (largest.log() - middle)
    lowest = end if (largest <= bottom) is True else -bottom
    return arb(0).union(end).union(lowest)


def effective_rank(entropy_in_nats: arb) -> arb:
    """e^H."""
    return entropy_in_nats.exp()


def stable_rank(energy: arb, norm: arb, most: int) -> arb:
    """|M|_F^2 / sigma_1^2, which is at least 1, and at most the rank; not finite where sigma_1 > 0 is not proved."""
    ratio = energy_ratio(energy, norm)
    return ratio.max(arb(1)).min(arb(most)) if ratio.is_finite() is True else ratio


def energy_ratio(energy: arb, norm: arb) -> arb:
    """|M|_F^2 / sigma_1^2."""
    return energy / (norm * norm)


def _log_mean(shares: Sequence[arb]) -> arb:
    """About sum p_i log p_i + log T; any number would do."""
    weight = moment = arb(0)
    for share in shares:
        middle = share.mid()
        if (middle > 0) is True:
            weight, moment = weight + middle, moment + middle * middle.log()
    return (moment / weight).mid()


def _sum(terms: Sequence[arb]) -> arb:
    total = arb(0)
    for term in terms:
        total += term
    return total


def obligations(stated: StatedSpectrum) -> Iterator[Obligation]:
    asserts, matrix, hint = stated.asserts, stated.matrix, stated.hint
    in_doubles = partial(matrix.spectrum_in_doubles, hint) if matrix.stands_in_doubles else None
    spectrum = Spectra(lambda: matrix.spectrum(ctx.prec), in_doubles)
    if VALUES in asserts:
        yield from _near_values(spectrum, asserts[VALUES])
    for index, item in enumerate(asserts.items(COUNTS)):
        yield from _counted(spectrum, f"counts[{index}]", item, matrix.count)
    if any(name.startswith(_OF_A_SUM) for name in stated.ranges):
        yield spectrum.compared(NONZERO, partial(_sigma, 1), ">", fmpq(0), Part.WITNESS)
    for name, bounds in stated.ranges.items():
        needs = [NONZERO] if name.startswith(_OF_A_SUM) else []
        yield from spectrum.within(name, partial(quantity, name), bounds, needs)


def _near_values(spectrum: Spectra, stated: Values) -> Iterator[Obligation]:
    """|sigma_k - value_k| <= radius_k for k = 1, ..., as many as are stated."""
    values = cache(stated[VALUE].load)

    def off(index: int, known: matrices.Spectrum) -> arb:
        return abs(_sigma(index + 1, known) - values().entry(0, index))

    for index in range(stated[VALUE].shape[1]):
        yield spectrum.compared(f"values[{index}]", partial(off, index), "<=", stated[RADIUS].at(index))


def _counted(spectrum: Spectra, name: str, stated: Values, count: int) -> Iterator[Obligation]:
    """sigma_k > t for the k that are above, sigma_(k+1) <= t, and the bounds on either side."""
    k, t = stated[COUNT], stated[ABOVE]
    if k > 0:
        yield spectrum.compared(f"{name}.above", partial(_sigma, k), ">", t)
    if k < count:
        yield spectrum.compared(f"{name}.not_above", partial(_sigma, k + 1), "<=", t)
    if INSIDE in stated:
        yield spectrum.compared(f"{name}.at_least", partial(_sigma, k), ">=", stated[INSIDE])
    if OUTSIDE in stated:
        yield spectrum.compared(f"{name}.at_most", partial(_sigma, k + 1), "<=", stated[OUTSIDE])


def _sigma(k: int, spectrum: matrices.Spectrum) -> arb:
    return spectrum.singular.value(k)


def quantity(name: str, spectrum: matrices.Spectrum) -> arb | fmpq:
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


_TITLE = "singular values of a matrix or of softmax attention: values, counts, norms, effective rank"
THEOREM = Theorem("singular-values", _TITLE, GIVEN, ASSERTS, WITNESS, read, obligations)
