"""What the claims about training in context share: the covariance of a regression task, and where training starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from certattn.kernel.document.matrices import Matrix, MatrixInput
from certattn.kernel.document.quoting import counted
from certattn.kernel.document.schema import Count, Field, Rational, Reading, Record, Values
from certattn.kernel.document.tree import Node
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.training.mathematics.regression import Parameters, is_positive_definite

T = TypeVar("T")


@dataclass(frozen=True)
class CountUpTo(Count):
    """A plain integer that is no larger than `most`, of something: more would take a check too long."""

    most: int
    noun: str = ""
    hint: str = ""

    def read(self, node: Node, reading: Reading) -> int:
        value = super().read(node, reading)
        if value > self.most:
            most, found = (counted(number, self.noun) if self.noun else str(number) for number in (self.most, value))
            raise node.malformed(f"at most {most}", found, self.hint)
        return value


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
