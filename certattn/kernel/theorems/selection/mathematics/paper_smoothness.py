"""The smoothness constant of Ataee Tarzanagh, Li, Zhang and Oymak 2023: gradient descent on p with steps up to 1/L_p.

    L_p = (1/n) sum_i ( M0 |v|^2 |W|^2 |X_i|^4 + 3 M1 |v| |W|^2 |X_i|^3 ),

with M0 a Lipschitz constant of l' and M1 the largest |l'| on the scores, and spectral norms. These are bounded here by
|A|^2 <= min( trace AA', largest absolute row sum of AA' ), so that what is computed is at least L_p.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flint import arb, fmpq

from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.functions import BALLS
from certattn.kernel.mathematics.losses import Loss


@dataclass(frozen=True)
class PaperData:
    """Tokens X_i (one per row) with keys W x and scores Y_i v'x."""

    tokens: tuple[ExactMatrix, ...]
    direction: ExactMatrix
    key_map: ExactMatrix


def data_of_keys(keys: Sequence[ExactMatrix], scores: Sequence[Sequence[fmpq]]) -> PaperData:
    """The data with given keys and scores: x = (key, score), W = [I 0] and v = (0, ..., 0, 1), all labels 1."""
    dimension = keys[0].columns
    rows = tuple(
        ExactMatrix.rational([[*row, score] for row, score in zip(part.to_rows(), gammas, strict=True)])
        for part, gammas in zip(keys, scores, strict=True)
    )
    identity = [[fmpq(int(a == b)) for b in range(dimension + 1)] for a in range(dimension + 1)]
    return PaperData(rows, ExactMatrix.rational(identity[-1:]), ExactMatrix.rational(identity[:-1]))


def smoothness_bound(data: PaperData, loss: Loss, scores: Sequence[Sequence[fmpq]]) -> arb:
    """An upper bound of L_p."""
    curvature, steepest = arb(0), arb(0)
    for gammas in scores:
        low, high = arb(min(gammas)), arb(max(gammas))
        curvature = curvature.max(loss.largest_curvature(low, high, BALLS))
        steepest = steepest.max(loss.slope(low, BALLS))
    direction, weights = _square(data.direction), _square(data.key_map)
    total = arb(0)
    for rows in data.tokens:
        size = _square(rows)
        total += curvature * direction * weights * size * size
        total += 3 * steepest * arb(direction).sqrt() * weights * size * arb(size).sqrt()
    return total / len(data.tokens)


def _square(matrix: ExactMatrix) -> fmpq:
    """A bound of the square of the spectral norm, the largest eigenvalue of AA'; exact for one row and for I."""
    gram = matrix @ matrix.T
    sums = [sum((abs(entry) for entry in row), fmpq(0)) for row in gram.to_rows()]
    return min(gram.trace(), max(sums))
