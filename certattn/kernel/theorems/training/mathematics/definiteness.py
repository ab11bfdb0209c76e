"""Whether an exact symmetric matrix is positive definite.

With M = [[P, Q], [Q', S]], M is positive definite if and only if P and S - Q'P^-1 Q are (Schur). Halving the
matrix until a single number is left needs a few products and inverses of balls; where M is positive definite,
enough bits prove it. A matrix that is not is decided over the integers: by its determinant, or by its
characteristic polynomial.
"""

from __future__ import annotations

from flint import arb_mat

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix

# Precisions to try, in bits, before the characteristic polynomial is computed.
_PRECISIONS = (128, 512, 2048)


def is_positive_definite(matrix: ExactMatrix) -> bool:
    """Whether x'M x > 0 for every x but 0, decided exactly; False where M is not symmetric."""
    if matrix.is_symmetric() is not True or matrix.numerators.det() == 0:
        return False
    if any(matrix.numerators[i, i] <= 0 for i in range(matrix.rows)):
        return False
    for bits in _PRECISIONS:
        with working_precision(bits):
            if proved_positive_definite(arb_mat(matrix.numerators)):
                return True
    return matrix.is_positive_semidefinite()


def proved_positive_definite(matrix: arb_mat) -> bool:
    """Whether every symmetric matrix within the balls is proved to be positive definite."""
    size = matrix.nrows()
    if size == 1:
        return (matrix[0, 0] > 0) is True
    half = size // 2
    rows = matrix.tolist()
    P, Q = arb_mat([row[:half] for row in rows[:half]]), arb_mat([row[half:] for row in rows[:half]])
    S = arb_mat([row[half:] for row in rows[half:]])
    if proved_positive_definite(P) is not True:
        return False
    try:
        rest = S - Q.transpose() * P.solve(Q)
    except ZeroDivisionError:
        return False
    return proved_positive_definite(rest)
