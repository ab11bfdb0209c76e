"""The weights of attention, K, Q or U and V, and the scale of its scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flint import fmpq

from certattn.kernel.document.matrices import Matrix, MatrixInput
from certattn.kernel.document.schema import ByKey, Field, Record, Scale, Values
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import Real

SCALE = Field("scale", Scale(), "factor of the scores, such as 1/sqrt(32); 1 if left out", required=False)
KEY_WEIGHTS = Field("K", Matrix(), "key matrix; the identity if left out", required=False)
QUERY_WEIGHTS = Field("Q", Matrix(), "query matrix; the identity if left out", required=False)
VALUE_WEIGHTS = Field("V", Matrix(), "value matrix; the identity if left out", required=False)
BILINEAR = Field("U", Matrix(), "U = K'Q: scores are <x, U z>")


def weighted_forms(otherwise: str, *shared: Field[Any]) -> ByKey:
    """Records of these fields with the weights of scores: U, or K and Q, where there is the key `otherwise`."""
    return ByKey({"U": Record(BILINEAR, *shared), otherwise: Record(KEY_WEIGHTS, QUERY_WEIGHTS, *shared)})


def read_scale(values: Values) -> Real:
    return values[SCALE] if SCALE in values else fmpq(1)


@dataclass(frozen=True)
class Weights:
    """K, Q and V (or U and V) for tokens of dimension d; None stands for the identity."""

    dimension: int
    K: MatrixInput | None
    Q: MatrixInput | None
    V: MatrixInput | None
    U: MatrixInput | None

    @property
    def query_dimension(self) -> int:
        """The dimension of the queries z."""
        if self.U is not None:
            return self.U.shape[1]
        if self.Q is not None:
            return self.Q.shape[1]
        return self.key_dimension

    @property
    def key_dimension(self) -> int:
        return self.K.shape[0] if self.K is not None else self.dimension

    @property
    def output_dimension(self) -> int:
        return self.V.shape[0] if self.V is not None else self.dimension

    def bilinear(self) -> ExactMatrix:
        """U = K'Q, d x d_z."""
        if self.U is not None:
            return self.U.load()
        return _or_identity(self.K, self.dimension).T @ _or_identity(self.Q, self.key_dimension)

    def values(self) -> ExactMatrix:
        """V, d_v x d."""
        return _or_identity(self.V, self.dimension)


def _or_identity(matrix: MatrixInput | None, size: int) -> ExactMatrix:
    return matrix.load() if matrix is not None else ExactMatrix.identity(size)


def read_weights(values: Values, dimension: int) -> Weights:
    """K, Q, V or U, V for tokens of that dimension, shapes checked against each other."""
    K, Q, V, U = map(values.get, (KEY_WEIGHTS, QUERY_WEIGHTS, VALUE_WEIGHTS, BILINEAR))
    weights = Weights(dimension, K, Q, V, U)
    if U is not None:
        U.require_shape(dimension, None, "for tokens of that dimension")
    if K is not None:
        K.require_shape(None, dimension, "for tokens of that dimension")
    if Q is not None:
        Q.require_shape(weights.key_dimension, None, "so that K'Q is defined")
    if V is not None:
        V.require_shape(None, dimension, "for tokens of that dimension")
    return weights
