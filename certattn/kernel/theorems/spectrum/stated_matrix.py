"""A matrix whose singular values are asked for: given exactly, or the attention matrix of given queries and keys.

    A_ij = e^(s <q_i, k_j>) / sum_l e^(s <q_i, k_l>),   C_ij = 1/d,
    M = sqrt(d) (A - C)   where it is centred,   else   M = sqrt(d) A.

Under a causal mask query i sees the first i tokens alone: the sum is over l <= i, C_ij = 1/i for j <= i, and A_ij and
C_ij are 0 for j > i. C is what A is where all scores are equal: what is left says what the scores do. Laws of random
weights are known without a mask alone, so the claims about these take no such matrix.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from flint import arb, fmpq

from certattn.kernel.decide.obligation import Obligation, Part, Relation, Shared, Side, Tier
from certattn.kernel.document.matrices import Matrix, MatrixInput, Vector
from certattn.kernel.document.schema import ByKey, Field, Flag, Record, Scale, Values
from certattn.kernel.given.bounds import BOUNDS
from certattn.kernel.mathematics.attention_matrix import attention_matrix
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import Real
from certattn.kernel.mathematics.singular_values import Factors, FixedPoint, SingularValues, enclose, jacobi_factors

if TYPE_CHECKING:
    from certattn.fast.rows import Dense

T = TypeVar("T")

# Up to this size factors are found to any number of bits, and the rank of an exact matrix is computed.
_SMALL = 24
# Larger ones have factors of LAPACK's, which more bits than these make no better.
_LARGE_BITS = 64
_SHARP_BITS = 32
# A matrix of attention of so many tokens has 2 GiB.
MOST_TOKENS = 2**14

MATRIX = Field("matrix", Matrix(), "the matrix M, m x n")
QUERIES = Field("queries", Matrix(), "d queries, a row for each token")
KEYS = Field("keys", Matrix(), "d keys of the same dimension, a row for each token")
SCALE = Field("scale", Scale(), "factor of the scores, such as 1/sqrt(32); 1 if left out", required=False)
CENTRED = Field("centred", Flag(), "true for M = sqrt(d) (A - 11'/d), false for M = sqrt(d) A")
_MASK = "true where query i sees the first i tokens alone, C_ij = 1/i (j <= i) then takes the place of 11'/d; else all"
CAUSAL = Field("causal", Flag(), _MASK, required=False)


def matrix_forms(*beside: Field[Any], masks: Sequence[Field[bool]] = ()) -> ByKey:
    """Queries and keys, or the matrix itself, and what else is given."""
    attention = Record(QUERIES, KEYS, SCALE, CENTRED, *masks, *beside)
    return ByKey({QUERIES.name: attention, MATRIX.name: Record(MATRIX, *beside)})


LEFT = Field("U", Matrix(), "left singular vectors, a column for each value, m x r")
SINGULAR = Field("s", Vector(), "r singular values, from the largest on")
RIGHT = Field("V", Matrix(), "right singular vectors, a column for each value, n x r")
HINT = Field("hint", Record(LEFT, SINGULAR, RIGHT), "approximate factors of M in array files", required=False)


# -- matrices


@dataclass(frozen=True)
class Spectrum:
    """The singular values of a matrix, and |M|_F^2, which is exact where the matrix is."""

    singular: SingularValues
    energy: arb | fmpq


@dataclass(frozen=True)
class Hint:
    """U (m x r), s (1 x r, falling, not negative) and V (n x r), not trusted."""

    left: MatrixInput
    values: ExactMatrix
    right: MatrixInput


class StatedMatrix(ABC):
    """A matrix M, m x n, of a certificate."""

    @property
    def shape(self) -> tuple[int, int]:
        """m and n: d and d where M is made of queries and keys."""
        return self.inputs[-1].shape[0], self.inputs[-1].shape[0]

    @property
    @abstractmethod
    def inputs(self) -> Sequence[MatrixInput]:
        """The matrices of the certificate that M is made of."""

    @property
    @abstractmethod
    def rank_bound(self) -> int:
        """A number that is proved to be at least the rank."""

    @abstractmethod
    def fixed_point(self, bits: int) -> FixedPoint | None:
        """M rounded to about so many bits; None where an enclosure is not finite."""

    @abstractmethod
    def dense(self) -> Dense:
        """M in doubles, within a proved distance. Raises Binary64Error."""

    @property
    def count(self) -> int:
        """How many singular values it has."""
        return min(self.shape)

    @property
    def stands_in_doubles(self) -> bool:
        """Whether all its numbers stand in array files of doubles, so that binary64 is tried."""
        return all(holds_doubles(part) for part in self.inputs)

    def energy(self, norm: arb) -> arb | fmpq:
        """|M|_F^2, from an enclosure of |M|_F; exactly where M is exact."""
        return norm * norm

    def spectrum(self, bits: int) -> Spectrum:
        """Enclosures at the working precision, which is `bits`; of a large matrix mostly the same from 64 bits on."""
        found = self._spectra(self.own_bits(bits))
        # Factors of doubles leave far less than this: else it is the entries that take more bits, of huge scores.
        sharp = found.singular.residual < found.singular.centre(1) * arb(2) ** -_SHARP_BITS
        return found if sharp is True else self._spectra(bits)

    def own_bits(self, bits: int) -> int:
        """The precision beyond which nothing gets better, or `bits`."""
        return bits if self.count <= _SMALL else min(bits, _LARGE_BITS)

    @cached_property
    def _spectra(self) -> Callable[[int], Spectrum]:
        """What has been enclosed, by precision."""
        return cache(self._enclosed)

    def _enclosed(self, bits: int) -> Spectrum:
        matrix = self.fixed_point(bits)
        if matrix is None:
            nothing = SingularValues([], arb.pos_inf(), arb(0), self.count, self.rank_bound)
            return Spectrum(nothing, arb.pos_inf())
        norm = matrix.frobenius()
        # Of the matrix 0 the norm encloses all singular values, and is sharper than any factors.
        factors = None if norm == 0 else _factors(matrix, bits)
        return Spectrum(enclose(matrix, factors, self.rank_bound), self.energy(norm))

    def spectrum_in_doubles(self, hint: Hint | None) -> Spectrum:
        """The same in balls as wide as doubles make them, much faster. Raises Binary64Error."""
        return spectrum_of(self.dense(), hint, self.rank_bound)


@dataclass(frozen=True)
class GivenMatrix(StatedMatrix):
    """M as it stands in the certificate."""

    matrix: MatrixInput

    @property
    def shape(self) -> tuple[int, int]:
        return self.matrix.shape

    @property
    def inputs(self) -> Sequence[MatrixInput]:
        return [self.matrix]

    @property
    def rank_bound(self) -> int:
        return int(self.exact.numerators.rank()) if max(self.shape) <= _SMALL else self.count

    @cached_property
    def exact(self) -> ExactMatrix:
        return self.matrix.load()

    def fixed_point(self, bits: int) -> FixedPoint | None:
        return FixedPoint.exact(self.exact, bits)

    def energy(self, norm: arb) -> arb | fmpq:
        return self.exact.inner(self.exact)

    def dense(self) -> Dense:
        from certattn.fast.rows import Dense

        # Doubles are read as they are.
        return in_doubles(self.inputs, lambda matrix: Dense(matrix, 0))

    def spectrum_in_doubles(self, hint: Hint | None) -> Spectrum:
        # The rank would take exact arithmetic.
        return spectrum_of(self.dense(), hint, self.count)


@dataclass(frozen=True)
class SoftmaxMatrix(StatedMatrix):
    """The attention matrix of queries and keys, centred or not, under a causal mask or not."""

    queries: MatrixInput
    keys: MatrixInput
    scale: Real
    centred: bool
    causal: bool

    @property
    def inputs(self) -> Sequence[MatrixInput]:
        return [self.queries, self.keys]

    @property
    def rank_bound(self) -> int:
        # Centred, M 1 = 0, as the rows of A sum to 1 and so do those of what is taken off.
        return self.count - 1 if self.centred else self.count

    @cached_property
    def exact(self) -> tuple[ExactMatrix, ExactMatrix]:
        """Queries and keys."""
        return self.queries.load(), self.keys.load()

    def fixed_point(self, bits: int) -> FixedPoint | None:
        entries = attention_matrix(*self.exact, self.scale, centred=self.centred, causal=self.causal)
        return FixedPoint.rounded(entries, bits)

    def dense(self) -> Dense:
        from certattn.fast.attention_matrix import attention_matrix

        matrix = partial(attention_matrix, scale=self.scale, centred=self.centred, causal=self.causal)
        return in_doubles(self.inputs, matrix)


# -- reading


def read_matrix(form: str, values: Values) -> GivenMatrix | SoftmaxMatrix:
    """The matrix of one form of `matrix_forms`, its shapes checked. Raises MalformedError."""
    if form == MATRIX.name:
        return GivenMatrix(values[MATRIX])
    queries, keys = values[QUERIES], values[KEYS]
    require_tokens(queries, keys)
    scale = values[SCALE] if SCALE in values else fmpq(1)
    return SoftmaxMatrix(queries, keys, scale, values[CENTRED], values.get(CAUSAL) is True)


def require_tokens(queries: MatrixInput, keys: MatrixInput) -> None:
    """Shapes that fit, and no more tokens than a matrix of attention has room for. Raises MalformedError."""
    queries.require_shape(keys.shape[0], keys.shape[1], "like the keys: as many, and of the same dimension")
    if keys.shape[0] > MOST_TOKENS:
        expected = f"at most {MOST_TOKENS} tokens, as the matrix has an entry for each two"
        raise keys.node.malformed(expected, f"{keys.shape[0]}")


def read_hint(witness: Values | None, matrix: StatedMatrix) -> Hint | None:
    """Shapes that fit, and values in order; None where there is none. Raises MalformedError."""
    values = None if witness is None else witness.get(HINT)
    if values is None:
        return None
    left, stated, right = values[LEFT], values[SINGULAR], values[RIGHT]
    if not matrix.stands_in_doubles:
        where = "a matrix in array files of floats or of integers up to 32 bits; others need no hint"
        raise values.at.malformed(where, "a hint for another matrix", "leave the hint out")
    count = stated.shape[1]
    if count > matrix.count:
        raise stated.node.malformed(f"at most {matrix.count} values, as many as there are", f"{count}")
    for part, rows in ((left, matrix.shape[0]), (right, matrix.shape[1])):
        part.require_shape(rows, count, "(a column for each value)")
        if holds_doubles(part) is not True:
            raise part.node.malformed("an array file of floats", "other numbers")
    loaded = stated.load()
    entries = loaded.row(0)
    for k, entry in enumerate(entries):
        if (entry < 0) is True or (k > 0 and (entry > entries[k - 1]) is True):
            raise stated.node.malformed("values in falling order, none negative", f"another one at index {k}")
    return Hint(left, loaded, right)


# -- doubles: imported where there are array files, which need numpy anyway


def holds_doubles(part: MatrixInput) -> bool:
    """Whether a matrix comes from an array file whose numbers are doubles."""
    if part.stored is None:
        return False
    from certattn.kernel.given import stored_arrays

    return stored_arrays.holds_doubles(part)


def in_doubles(inputs: Sequence[MatrixInput], compute: Callable[..., T]) -> T:
    """What is computed of matrices in array files of doubles, which are read exactly.

    Where binary64 refuses numbers that are not finite, it is said where they stand.
    """
    from certattn.fast.rows import gathered
    from certattn.kernel.given.stored_arrays import naming_what_is_not_finite, stored_rows

    with naming_what_is_not_finite(inputs):
        return compute(*(gathered(stored_rows(part, part.shape[1]), part.shape) for part in inputs))


def spectrum_of(dense: Dense, hint: Hint | None, rank: int) -> Spectrum:
    """The spectrum of a matrix of at most so large a rank; factors are computed where there is no hint."""
    from certattn.fast import singular_values
    from certattn.fast.balls import rounded
    from certattn.fast.factors import FloatFactors

    factors = None
    if hint is not None:
        left, right = in_doubles([hint.left, hint.right], lambda *sides: sides)
        factors = FloatFactors(left, rounded(hint.values)[0], right)
    return Spectrum(singular_values.enclose(dense, factors, rank), singular_values.energy(dense))


def _factors(matrix: FixedPoint, bits: int) -> Factors | None:
    """A hint, which `enclose` does not believe."""
    if min(matrix.shape) <= _SMALL:
        return jacobi_factors(matrix, bits)
    from certattn.fast.singular_values import lapack_factors

    return lapack_factors(matrix)


def _of_doubles() -> str:
    from certattn.fast import binary64

    return binary64()


IN_DOUBLES = Tier("binary64", _of_doubles)


# -- obligations


class InTiers(Generic[T]):
    """What numbers are taken from, in Arb's balls and in doubles where these are tried: each computed once."""

    def __init__(self, in_arb: Callable[[], T], in_doubles: Callable[[], T] | None = None) -> None:
        self._in_arb = Shared(in_arb)
        self._fast = {} if in_doubles is None else {IN_DOUBLES: Shared(in_doubles)}

    def compared(
        self,
        name: str,
        number: Callable[[T], arb | fmpq],
        relation: Relation,
        bound: fmpq,
        part: Part = Part.STATEMENT,
        needs: Sequence[str] = (),
    ) -> Obligation:
        """A number beside a bound."""

        def side(known: Shared[T]) -> Side:
            return lambda: number(known())

        fast = {tier: (side(known), bound) for tier, known in self._fast.items()}
        return Obligation(name, side(self._in_arb), relation, bound, part, needs, fast)

    def within(
        self, name: str, number: Callable[[T], arb | fmpq], stated: Values, needs: Sequence[str] = ()
    ) -> Iterator[Obligation]:
        """That a number keeps the stated bounds."""
        for field, relation in BOUNDS:
            if field in stated:
                yield self.compared(f"{name}.{field.name}", number, relation, stated[field], needs=needs)
