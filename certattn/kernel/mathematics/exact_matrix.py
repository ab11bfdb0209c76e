"""Matrices of rational numbers, exactly: an integer matrix over one positive denominator.

FLINT multiplies integer matrices far faster than rational ones, and the entries of a float array
share a power of two, so this form is both exact and fast.
"""

from __future__ import annotations

from collections.abc import Sequence

from flint import fmpq, fmpz, fmpz_mat

from certattn.kernel.mathematics.reals import describe, digest

_SHOWN_ENTRIES = 16
# Of more.
_FIRST_ENTRIES = 4


class ExactMatrix:
    """numerators / denominator, with `denominator` > 0. Immutable by convention.

    Rows are what a certificate lists: one token, key, value or query per row.
    """

    __slots__ = ("denominator", "numerators")

    def __init__(self, numerators: fmpz_mat, denominator: fmpz | int = 1) -> None:
        if denominator <= 0:
            raise ValueError("a denominator must be positive")
        self.numerators = numerators
        self.denominator = fmpz(denominator)

    # -- construction

    @classmethod
    def dyadic(cls, rows: int, columns: int, integers: list[int], exponent: int) -> ExactMatrix:
        """integers * 2^exponent, row by row."""
        numerators = fmpz_mat(rows, columns, integers)
        if exponent >= 0:
            return cls(numerators * (fmpz(1) << exponent))
        return cls(numerators, fmpz(1) << -exponent)

    @classmethod
    def rational(cls, rows: Sequence[Sequence[fmpq]]) -> ExactMatrix:
        """From equally long, nonempty rows of rationals."""
        denominator = fmpz(1)
        for row in rows:
            for entry in row:
                denominator = denominator.lcm(entry.q)
        flat = [entry.p * (denominator // entry.q) for row in rows for entry in row]
        return cls(fmpz_mat(len(rows), len(rows[0]), flat), denominator)

    @classmethod
    def row_vector(cls, entries: Sequence[fmpq]) -> ExactMatrix:
        return cls.rational([entries])

    @classmethod
    def stacked(cls, parts: Sequence[ExactMatrix]) -> ExactMatrix:
        """The rows of all parts, which have equally many columns, one below the other."""
        denominator = fmpz(1)
        for part in parts:
            denominator = denominator.lcm(part.denominator)
        flat = [entry * (denominator // part.denominator) for part in parts for entry in part.numerators.entries()]
        return cls(fmpz_mat(sum(part.rows for part in parts), parts[0].columns, flat), denominator)

    @classmethod
    def identity(cls, size: int) -> ExactMatrix:
        return cls(fmpz_mat(size, size, [int(i == j) for i in range(size) for j in range(size)]))

    @classmethod
    def zero(cls, rows: int, columns: int) -> ExactMatrix:
        return cls(fmpz_mat(rows, columns))

    # -- reading

    @property
    def rows(self) -> int:
        return self.numerators.nrows()

    @property
    def columns(self) -> int:
        return self.numerators.ncols()

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows, self.columns

    def entry(self, row: int, column: int) -> fmpq:
        return fmpq(self.numerators[row, column], self.denominator)

    def row(self, index: int) -> list[fmpq]:
        return [self.entry(index, column) for column in range(self.columns)]

    def to_rows(self) -> list[list[fmpq]]:
        return [[fmpq(entry, self.denominator) for entry in row] for row in self.numerators.tolist()]

    def __str__(self) -> str:
        """The entries where there are few, else how many, the first, and a digest of all; one row is a vector."""
        if self.rows * self.columns > _SHOWN_ENTRIES:
            size = f"{self.columns} numbers" if self.rows == 1 else f"{self.rows} x {self.columns} numbers"
            numbers = [fmpq(entry, self.denominator) for entry in self.numerators.entries()]
            first = ", ".join(map(describe, numbers[:_FIRST_ENTRIES]))
            return f"{size} ({first}, ..., {digest([size, *map(str, numbers)])})"
        rows = [f"({', '.join(describe(entry) for entry in row)})" for row in self.to_rows()]
        return rows[0] if self.rows == 1 else f"({', '.join(rows)})"

    def is_zero(self) -> bool:
        return self.numerators == fmpz_mat(self.rows, self.columns)

    def is_symmetric(self) -> bool:
        return self.rows == self.columns and self.numerators == self.numerators.transpose()

    def is_positive_semidefinite(self) -> bool:
        """Whether a symmetric matrix has no negative eigenvalue; False where not symmetric."""
        return self.is_symmetric() is True and self.negative_signs() == 0

    def negative_signs(self) -> int:
        """Of a symmetric matrix: how many coefficients of the characteristic polynomial show a negative eigenvalue.

        Its roots are real, so by Descartes' rule none is negative if and only if its coefficients alternate in sign
        or vanish.
        """
        coefficients = self.numerators.charpoly().coeffs()
        degree = len(coefficients) - 1
        return sum((-1) ** (degree - k) * c < 0 for k, c in enumerate(coefficients))

    # -- arithmetic

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ExactMatrix):
            return NotImplemented
        if self.shape != other.shape:
            return False
        return self.numerators * other.denominator == other.numerators * self.denominator

    __hash__ = None  # type: ignore[assignment]  # equal matrices may carry different denominators

    def __add__(self, other: ExactMatrix) -> ExactMatrix:
        common = self.denominator.lcm(other.denominator)
        left = self.numerators * (common // self.denominator)
        right = other.numerators * (common // other.denominator)
        return ExactMatrix(left + right, common)

    def __neg__(self) -> ExactMatrix:
        return ExactMatrix(-self.numerators, self.denominator)

    def __sub__(self, other: ExactMatrix) -> ExactMatrix:
        return self + (-other)

    def __matmul__(self, other: ExactMatrix) -> ExactMatrix:
        return ExactMatrix(self.numerators * other.numerators, self.denominator * other.denominator)

    def scaled(self, factor: fmpq) -> ExactMatrix:
        return ExactMatrix(self.numerators * factor.p, self.denominator * factor.q)

    @property
    def T(self) -> ExactMatrix:  # noqa: N802 - the mathematical name
        return ExactMatrix(self.numerators.transpose(), self.denominator)

    def trace(self) -> fmpq:
        """The sum of the diagonal."""
        return sum((self.entry(i, i) for i in range(self.rows)), fmpq(0))

    def inner(self, other: ExactMatrix) -> fmpq:
        """tr(M'N) = sum_ij M_ij N_ij."""
        pairs = zip(self.numerators.entries(), other.numerators.entries(), strict=True)
        return fmpq(sum((x * y for x, y in pairs), fmpz(0)), self.denominator * other.denominator)

    def take_rows(self, indices: Sequence[int]) -> ExactMatrix:
        # Entry by entry: the work must not grow with the rows that are not taken.
        flat = [self.numerators[index, column] for index in indices for column in range(self.columns)]
        return ExactMatrix(fmpz_mat(len(indices), self.columns, flat), self.denominator)

    # -- moments of the rows

    def mean_row(self) -> ExactMatrix:
        """The average of the rows, 1 x columns."""
        ones = fmpz_mat(1, self.rows, [1] * self.rows)
        return ExactMatrix(ones * self.numerators, self.denominator * self.rows)

    def centred(self, centre: ExactMatrix) -> ExactMatrix:
        """Every row minus the 1 x columns matrix `centre`."""
        ones = ExactMatrix(fmpz_mat(self.rows, 1, [1] * self.rows))
        return self - ones @ centre


def covariance(left: ExactMatrix, right: ExactMatrix) -> ExactMatrix:
    """Cov(left, right) of paired rows, divided by their number: the moments of the empirical law."""
    centred = left.centred(left.mean_row())
    return (centred.T @ right).scaled(fmpq(1, left.rows))
