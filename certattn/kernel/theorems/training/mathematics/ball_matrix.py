"""Matrices of Arb balls with the vocabulary of `ExactMatrix`: one formula reads both."""

from __future__ import annotations

from flint import arb, arb_mat

from certattn.kernel.mathematics.exact_matrix import ExactMatrix


class BallMatrix:
    """A matrix of balls, at the working precision. Immutable by convention."""

    __slots__ = ("balls",)

    def __init__(self, balls: arb_mat) -> None:
        self.balls = balls

    @classmethod
    def around(cls, matrix: ExactMatrix) -> BallMatrix:
        """The exact matrix, rounded outward to the working precision."""
        return cls(arb_mat(matrix.numerators) * (1 / arb(matrix.denominator)))

    @classmethod
    def identity(cls, size: int) -> BallMatrix:
        return cls.around(ExactMatrix.identity(size))

    @property
    def rows(self) -> int:
        return self.balls.nrows()

    @property
    def columns(self) -> int:
        return self.balls.ncols()

    def entries(self) -> list[arb]:
        """Row by row."""
        return self.balls.entries()

    def __add__(self, other: BallMatrix) -> BallMatrix:
        return BallMatrix(self.balls + other.balls)

    def __neg__(self) -> BallMatrix:
        return BallMatrix(-self.balls)

    def __sub__(self, other: BallMatrix) -> BallMatrix:
        return BallMatrix(self.balls - other.balls)

    def __matmul__(self, other: BallMatrix) -> BallMatrix:
        return BallMatrix(self.balls * other.balls)

    def scaled(self, factor: arb) -> BallMatrix:
        return BallMatrix(self.balls * factor)

    @property
    def T(self) -> BallMatrix:  # noqa: N802 - the mathematical name
        return BallMatrix(self.balls.transpose())

    def trace(self) -> arb:
        """The sum of the diagonal."""
        return self.balls.trace()

    def inner(self, other: BallMatrix) -> arb:
        """tr(M'N) = sum_ij M_ij N_ij."""
        return sum((x * y for x, y in zip(self.entries(), other.entries(), strict=True)), arb(0))
