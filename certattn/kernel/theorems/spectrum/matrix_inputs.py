"""A matrix whose singular values are asked for: given exactly, or the attention matrix of given queries and keys."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from flint import arb, fmpq

from certattn.kernel.decide.obligation import Tier
from certattn.kernel.document.matrices import Matrix, MatrixInput
from certattn.kernel.document.schema import ByKey, Field, Flag, Record, Values
from certattn.kernel.given.attention import SCALE, read_scale
from certattn.kernel.mathematics.attention_matrix import attention_matrix, is_uniform
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import Real, describe
from certattn.kernel.mathematics.singular_values import FixedPoint, SingularValues, enclose
from certattn.kernel.theorems.spectrum.mathematics.jacobi import jacobi_factors

# Up to this size factors are found to any number of bits, and the rank of an exact matrix is computed.
_SMALL = 24
# Larger ones have factors of LAPACK's, which more bits than these make no better.
_LARGE_BITS = 64

# A matrix of attention of so many tokens has 2 GiB.
MOST_TOKENS = 2**14

TIER = "binary64"


def _of_doubles() -> str:
    from certattn.fast.units import BINARY64

    return BINARY64


# Of theorems about matrices.
IN_DOUBLES = Tier(TIER, _of_doubles)

MATRIX = Field("matrix", Matrix(), "the matrix M, m x n")
QUERIES = Field("queries", Matrix(), "d queries, a row for each token")
KEYS = Field("keys", Matrix(), "d keys of the same dimension, a row for each token")
CENTRED = Field("centred", Flag(), "true for M = sqrt(d) (A - 11'/d), false for M = sqrt(d) A")
ATTENTION_FORM, MATRIX_FORM = QUERIES.name, MATRIX.name
MATRIX_FORMS = ByKey({ATTENTION_FORM: Record(QUERIES, KEYS, SCALE, CENTRED), MATRIX_FORM: Record(MATRIX)})


@dataclass(frozen=True)
class Spectrum:
    """The singular values of a matrix, and |M|_F^2, which is exact where the matrix is."""

    singular: SingularValues
    energy: arb | fmpq


class StatedMatrix(ABC):
    """A matrix M, m x n, of a certificate."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """m and n."""

    @property
    @abstractmethod
    def inputs(self) -> Sequence[MatrixInput]:
        """The matrices of the certificate that M is made of."""

    @property
    def count(self) -> int:
        """How many singular values it has."""
        return min(self.shape)

    @property
    def tiers(self) -> tuple[str, ...]:
        """Binary64 where all numbers stand in array files of doubles."""
        return (TIER,) if all(self.holds_doubles(part) for part in self.inputs) else ()

    @staticmethod
    def holds_doubles(part: MatrixInput) -> bool:
        """Whether a matrix comes from an array file whose numbers are doubles."""
        if part.stored is None:
            return False
        # Imported where there are arrays, which need numpy anyway.
        from certattn.kernel.given.stored_arrays import holds_doubles

        return holds_doubles(part)

    @abstractmethod
    def words(self) -> str:
        """What M is, every number in it."""

    @property
    @abstractmethod
    def latex(self) -> str:
        """The definition of M as a formula; empty where it is given."""

    @abstractmethod
    def fixed_point(self, bits: int) -> FixedPoint | None:
        """M rounded to about so many bits; None where an enclosure is not finite."""

    @property
    @abstractmethod
    def rank_bound(self) -> int:
        """A number that is proved to be at least the rank."""

    @property
    @abstractmethod
    def is_zero(self) -> bool:
        """Whether M is proved to be 0."""

    @property
    def exact_energy(self) -> fmpq | None:
        """|M|_F^2 where it is a rational number that is known."""
        return None

    def spectrum(self, bits: int) -> Spectrum:
        """Enclosures at the working precision, which is `bits`; of a large matrix the same from 64 bits on."""
        own = self.own_bits(bits)
        if own not in self._found:
            self._found[own] = self._enclosed(own)
        return self._found[own]

    def own_bits(self, bits: int) -> int:
        """The precision beyond which nothing gets better, or `bits`."""
        return bits if self._is_small else min(bits, _LARGE_BITS)

    @property
    def _is_small(self) -> bool:
        return self.count <= _SMALL

    @cached_property
    def _found(self) -> dict[int, Spectrum]:
        """What has been enclosed, by precision."""
        return {}

    def _enclosed(self, bits: int) -> Spectrum:
        matrix = self.fixed_point(bits)
        if matrix is None:
            nothing = SingularValues([], arb.pos_inf(), arb(0), self.count, self.rank_bound)
            return Spectrum(nothing, arb.pos_inf())
        if self._is_small:
            factors = jacobi_factors(matrix, bits)
        else:
            from certattn.fast.singular_values import lapack_factors

            factors = lapack_factors(matrix)
        norm = matrix.frobenius()
        energy = norm * norm if self.exact_energy is None else self.exact_energy
        return Spectrum(enclose(matrix, factors, self.rank_bound), energy)


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

    @cached_property
    def exact(self) -> ExactMatrix:
        return self.matrix.load()

    def words(self) -> str:
        return f"the {by(self.shape)} matrix M = {self.matrix.words()}"

    @property
    def latex(self) -> str:
        return ""

    def fixed_point(self, bits: int) -> FixedPoint | None:
        return FixedPoint.exact(self.exact, bits)

    @property
    def rank_bound(self) -> int:
        return int(self.exact.numerators.rank()) if max(self.shape) <= _SMALL else self.count

    @property
    def is_zero(self) -> bool:
        return self.exact.is_zero()

    @cached_property
    def _energy(self) -> fmpq:
        return self.exact.inner(self.exact)

    @property
    def exact_energy(self) -> fmpq | None:
        return self._energy


@dataclass(frozen=True)
class SoftmaxMatrix(StatedMatrix):
    """sqrt(d) times the attention matrix of queries and keys, less the one of equal scores where it is centred."""

    queries: MatrixInput
    keys: MatrixInput
    scale: Real
    centred: bool

    # Whether query i sees the first i tokens alone.
    causal: ClassVar[bool]

    @property
    def shape(self) -> tuple[int, int]:
        return self.keys.shape[0], self.keys.shape[0]

    @property
    def inputs(self) -> Sequence[MatrixInput]:
        return [self.queries, self.keys]

    @property
    def inputs_words(self) -> str:
        """Scale, queries and keys."""
        return f"s = {describe(self.scale)}, queries q = {self.queries.words()}, keys k = {self.keys.words()}"

    @cached_property
    def exact(self) -> tuple[ExactMatrix, ExactMatrix]:
        """Queries and keys."""
        return self.queries.load(), self.keys.load()

    def fixed_point(self, bits: int) -> FixedPoint | None:
        entries = attention_matrix(*self.exact, self.scale, centred=self.centred, causal=self.causal)
        return FixedPoint.rounded(entries, bits)

    @property
    def rank_bound(self) -> int:
        # Centred, M 1 = 0, as the rows of A sum to 1 and so do those of what is taken off.
        return self.count - 1 if self.centred else self.count


class AttentionMatrix(SoftmaxMatrix):
    """That of queries which all see all tokens: less 1/d in every entry where it is centred."""

    causal = False

    def words(self) -> str:
        defined = "sqrt(d) (A - 11'/d)" if self.centred else "sqrt(d) A"
        return (
            f"the {by(self.shape)} matrix M = {defined}, d = {self.count}, where row i of A is the softmax of "
            f"s <q_i, k_j> over j, {self.inputs_words}"
        )

    @property
    def latex(self) -> str:
        centre = r" - \tfrac1d \mathbf 1 \mathbf 1^\top" if self.centred else ""
        return rf"M = \sqrt d\,(A{centre})" if centre else r"M = \sqrt d\,A"

    @property
    def is_zero(self) -> bool:
        return self.centred and is_uniform(*self.exact)


def read_matrix(form: str, values: Values) -> StatedMatrix:
    """The matrix of one form of MATRIX_FORMS, its shapes checked. Raises MalformedError."""
    if form == MATRIX_FORM:
        return GivenMatrix(values[MATRIX])
    queries, keys = values[QUERIES], values[KEYS]
    require_tokens(queries, keys)
    return AttentionMatrix(queries, keys, read_scale(values), values[CENTRED])


def require_tokens(queries: MatrixInput, keys: MatrixInput) -> None:
    """Shapes that fit, and no more tokens than a matrix of attention has room for. Raises MalformedError."""
    queries.require_shape(keys.shape[0], keys.shape[1], "like the keys: as many, and of the same dimension")
    if keys.shape[0] > MOST_TOKENS:
        raise keys.node.malformed(
            f"at most {MOST_TOKENS} tokens, as the matrix has an entry for each two", f"{keys.shape[0]}"
        )


def by(shape: tuple[int, int]) -> str:
    """A shape in words."""
    return f"{shape[0]} x {shape[1]}"
