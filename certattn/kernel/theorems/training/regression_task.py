"""What the claims about training in context share: the covariance of a regression task, and where training starts."""

from __future__ import annotations

from certattn.kernel.document.matrices import Matrix, MatrixInput
from certattn.kernel.document.schema import Field, Rational, Record, Values
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.training.mathematics.regression import (
    Parameters,
    is_positive_definite,
)

COVARIANCE = Field("covariance", Matrix(), "covariance Sigma of tokens and query: d x d, positive definite")
A = Field("A", Matrix(), "the matrix A of the scores <x_i, A x>, d x d")
B = Field("b", Rational(), "the factor b of the values b y_i")
PARAMETERS = Record(A, B)
START = Field("start", PARAMETERS, "where training starts")


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


def parameters_words(values: Values) -> str:
    """For statements: the numbers where few are written out."""
    return f"A = {values[A].words()} and b = {describe(values[B])}"
