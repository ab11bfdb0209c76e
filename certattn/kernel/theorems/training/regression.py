"""In-context linear regression with an infinite prompt: the risk that training descends, and where it vanishes.

A prompt has tokens (x_i, y_i), x_i ~ N(0, Sigma), y_i = <w, x_i>, w ~ N(0, I), and a query x. Attention with
U = [[A, 0], [0, 0]] and V = (0, b) predicts b w'Sigma A x for <w, x> (Boursier and Boyer 2026, section 4). With
E = b Sigma A - I,

    R(A, b) = 1/2 E (prediction - <w, x>)^2 = 1/2 tr(E Sigma E')
    dR/dA   = b Sigma E Sigma,      dR/db = tr(A'Sigma E Sigma)
    Hess R [(H, h)] = |D Sigma^(1/2)|^2 + 2 h tr(H'Sigma E Sigma),      D = h Sigma A + b Sigma H.

Gradient flow conserves |A|_F^2 - b^2: <A, dR/dA> = b dR/db. R vanishes exactly where b Sigma A = I, at the Bayes
points A = Sigma^-1 / b, b != 0. There |A|_F^2 = tr(Sigma^-2) / b^2, and with delta = |A|_F^2 - b^2,

    b^2 (b^2 + delta) = tr(Sigma^-2),      b^2 = (sqrt(delta^2 + 4 tr(Sigma^-2)) - delta) / 2 :

one point of each sign of b for every delta. Where delta = 0, b^4 = tr(Sigma^-2).

The matrices are `ExactMatrix`, `BallMatrix` or symbols; the formulas are the same.

In the end stands how certificates state the task: its covariance, and where training starts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

from flint import arb, arb_mat, fmpq, fmpq_mat

from certattn.kernel.document.matrices import Matrix, MatrixInput
from certattn.kernel.document.schema import Field, Rational, Record, Values
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.functions import root

# A matrix with @, +, -, .T, .scaled(number), .trace() and .inner(matrix): ExactMatrix, or BallMatrix below.
AnyMatrix = Any
# The numbers of such a matrix: fmpq, or arb.
Number = Any


@dataclass(frozen=True)
class Parameters:
    """A, d x d, and b; or a direction (H, h) in which they move."""

    A: AnyMatrix
    b: Number

    def __add__(self, other: Parameters) -> Parameters:
        return Parameters(self.A + other.A, self.b + other.b)

    def __sub__(self, other: Parameters) -> Parameters:
        return Parameters(self.A - other.A, self.b - other.b)

    def scaled(self, factor: Number) -> Parameters:
        return Parameters(self.A.scaled(factor), self.b * factor)

    def inner(self, other: Parameters) -> Number:
        """tr(A'H) + b h."""
        return self.A.inner(other.A) + self.b * other.b

    def invariant(self) -> Number:
        """|A|_F^2 - b^2."""
        return self.A.inner(self.A) - self.b * self.b


@dataclass(frozen=True)
class Regression:
    """The task with the covariance Sigma of tokens and query, d x d; `identity` is I in the same kind of matrix."""

    covariance: AnyMatrix
    identity: AnyMatrix

    def error(self, at: Parameters) -> AnyMatrix:
        """E = b Sigma A - I."""
        return (self.covariance @ at.A).scaled(at.b) - self.identity

    def risk(self, at: Parameters) -> Number:
        """1/2 tr(E Sigma E')."""
        E = self.error(at)
        return (E @ self.covariance).inner(E) / 2

    def residual(self, at: Parameters) -> AnyMatrix:
        """Sigma E Sigma."""
        return self.covariance @ self.error(at) @ self.covariance

    def gradient(self, at: Parameters) -> Parameters:
        """(b Sigma E Sigma, tr(A'Sigma E Sigma))."""
        residual = self.residual(at)
        return Parameters(residual.scaled(at.b), at.A.inner(residual))

    def second_derivative(self, at: Parameters, along: Parameters) -> Number:
        """The second derivative of R along (H, h)."""
        D = (self.covariance @ at.A).scaled(along.b) + (self.covariance @ along.A).scaled(at.b)
        return (D @ self.covariance).inner(D) + 2 * along.b * along.A.inner(self.residual(at))


# -- over the rationals, and in balls


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

    def entries(self) -> list[arb]:
        """Row by row."""
        return self.balls.entries()

    def __add__(self, other: BallMatrix) -> BallMatrix:
        return BallMatrix(self.balls + other.balls)

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


def exact_regression(covariance: ExactMatrix) -> Regression:
    """The task over the rationals."""
    return Regression(covariance, ExactMatrix.identity(covariance.rows))


def regression_of_balls(covariance: ExactMatrix) -> Regression:
    """The task at the working precision."""
    return Regression(BallMatrix.around(covariance), BallMatrix.identity(covariance.rows))


def balls_around(exact: Parameters) -> Parameters:
    """The parameters at the working precision."""
    return Parameters(BallMatrix.around(exact.A), arb(exact.b))


def flat(parameters: Parameters) -> list[arb]:
    """(A, b) as one vector: A row by row, then b."""
    return [*parameters.A.entries(), parameters.b]


def shaped(vector: list[arb], size: int) -> Parameters:
    """The vector as (A, b), A size x size."""
    return Parameters(BallMatrix(arb_mat(size, size, vector[:-1])), vector[-1])


# -- where the risk vanishes


def squared_factor(invariant: arb, product: arb) -> arb:
    """z(delta, p) = (sqrt(delta^2 + 4p^2) - delta) / 2, which is b^2 where |A|_F^2 - b^2 = delta and |bA|_F = p."""
    return (root(invariant * invariant + 4 * product * product) - invariant) / 2


def bayes_point(covariance: ExactMatrix, invariant: fmpq, positive: bool) -> Parameters:
    """The Bayes point with that invariant and sign of b, in balls; not finite where the precision is too low."""
    inverse = BallMatrix(BallMatrix.around(covariance).balls.inv(nonstop=True))
    b = root(squared_factor(arb(invariant), root(inverse.inner(inverse))))
    b = b if positive else -b
    return Parameters(inverse.scaled(1 / b), b)


def inverse(covariance: ExactMatrix) -> ExactMatrix:
    """Sigma^-1, exactly."""
    numerators, denominator = fmpq_mat(covariance.numerators).inv().numer_denom()
    return ExactMatrix(numerators * covariance.denominator, denominator)


def inverse_squares(covariance: ExactMatrix) -> fmpq:
    """tr(Sigma^-2) of a symmetric Sigma, exactly."""
    inverted = inverse(covariance)
    return inverted.inner(inverted)


def is_positive_definite(matrix: ExactMatrix) -> bool:
    """Whether M is symmetric and x'M x > 0 for every x but 0, decided exactly."""
    return matrix.is_positive_semidefinite() and matrix.numerators.det() != 0


# -- as certificates state it

T = TypeVar("T")

COVARIANCE = Field("covariance", Matrix(), "covariance Sigma of tokens and query: d x d, positive definite")
A = Field("A", Matrix(), "the matrix A of the scores <x_i, A x>, d x d")
B = Field("b", Rational(), "the factor b of the values b y_i")
PARAMETERS = Record(A, B)
START = Field("start", PARAMETERS, "where training starts")

LOWER = Field("lower", Rational(), "lower bound")
UPPER = Field("upper", Rational(), "upper bound")
BOUNDS = Record(LOWER, UPPER)


def read_covariance(stated: MatrixInput) -> ExactMatrix:
    """Sigma, proved to be positive definite exactly. Raises MalformedError."""
    stated.require_shape(stated.shape[0], stated.shape[0], "for a covariance")
    covariance = stated.load()
    if covariance.is_symmetric() is not True:
        raise stated.node.malformed("a symmetric covariance", "a matrix that is not symmetric")
    if is_positive_definite(covariance) is not True:
        found = "a singular matrix" if covariance.numerators.det() == 0 else "a matrix with a negative eigenvalue"
        raise stated.node.malformed("a positive definite covariance", found)
    return covariance


def read_parameters(values: Values, dimension: int) -> Parameters:
    """A and b as exact numbers. Raises MalformedError."""
    values[A].require_shape(dimension, dimension, "like the covariance")
    return Parameters(values[A].load(), values[B])


def read_task(given: Values, point: Field[Values] = START) -> tuple[ExactMatrix, Parameters]:
    """Sigma, and a point (A, b). Raises MalformedError."""
    covariance = read_covariance(given[COVARIANCE])
    return covariance, read_parameters(given[point], covariance.rows)


def hinted(witness: Values | None, field: Field[T], default: T) -> T:
    """What the witness says, if there is one, or else the default."""
    stated = witness.get(field) if witness is not None else None
    return default if stated is None else stated
