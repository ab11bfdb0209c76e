"""Eigenvalues of positive semidefinite matrices, enclosed by traces of their powers.

Let A be symmetric and positive semidefinite, l_1 >= ... >= l_d >= 0 its eigenvalues, t = tr A > 0,
m > 0 any number and B = (A / m)^2, whose eigenvalues are (l_i / m)^2. Then

    (1)  m^2 tr B / t <= l_1 <= t
    (2)  l_1 = m sqrt(l_1(B))
    (3)  l_d = 1 / l_1((A + c I)^-1) - c     for every c > 0

(1) holds because m^2 tr B = sum l_i^2 <= l_1 sum l_i = l_1 t. Its ends are no further apart than a
factor of d, and close where one eigenvalue dominates. B is positive semidefinite again: (1) for B,
put into (2), leaves the root of that factor, and after k squarings d^(2^-k) is left.

That the true matrix is semidefinite is for the caller to know: its balls hold other matrices too, but
every step encloses what it gives for the true one. No eigenvector is computed, and nothing has to
converge for an enclosure to be right.
"""

from __future__ import annotations

from flint import arb, arb_mat


def largest_eigenvalue(matrix: arb_mat, bits: int) -> arb:
    """l_1 of the positive semidefinite matrix in a matrix of balls, at the working precision `bits`."""
    if matrix.nrows() == 1:
        return matrix[0, 0].nonnegative_part()
    scales: list[arb] = []
    bounds: list[arb] = []
    for _ in range(bits):
        trace = matrix.trace()
        scale = trace.mid()
        scales.append(scale)
        if (trace > 0) is not True or (scale > 0) is not True:
            # The matrix is 0, or not to be told from it: 0 <= l_1 <= t.
            bounds.append(trace.union(arb(0)).nonnegative_part())
            break
        matrix = scaled_square(matrix, scale)
        lower = trace_ratio(trace, scale, matrix.trace())
        bounds.append(lower.union(trace))
        # Where rounding is as wide as the gap, more squarings add nothing else.
        if (4 * lower.rad() < (trace - lower).abs_upper()) is not True:
            break
    return _folded(scales, bounds)


def smallest_eigenvalue(matrix: arb_mat, bits: int) -> arb:
    """l_d of the positive semidefinite matrix in a matrix of balls, at the working precision `bits`.

    It lies between 0 and every diagonal entry; (3) is sharper. There c is about the root of the
    rounding: small beside t, but enough that A + c I is seen to be invertible where A is singular.
    """
    size = matrix.nrows()
    diagonal = matrix[0, 0].nonnegative_part()
    for i in range(1, size):
        diagonal = diagonal.min(matrix[i, i].nonnegative_part())
    if size == 1:
        return diagonal
    within = diagonal.union(arb(0)).nonnegative_part()
    c = (matrix.trace().upper() * arb(2) ** (-(bits // 2))).mid()
    if (c > 0) is not True:
        return within
    try:
        inverse = shifted(matrix, c).inv()
    except ZeroDivisionError:
        return within
    found = from_inverse(largest_eigenvalue(inverse, bits), c)
    return found.intersection(within).nonnegative_part() if found.is_finite() is True else within


def scaled_square(matrix: arb_mat, scale: arb) -> arb_mat:
    """B = (A / m)^2."""
    scaled = matrix * (1 / scale)
    return scaled * scaled


def trace_ratio(trace: arb, scale: arb, square_trace: arb) -> arb:
    """m^2 tr B / t: sum l_i^2 / sum l_i, the lower bound in (1)."""
    return scale * scale * square_trace / trace


def from_square(largest: arb, scale: arb) -> arb:
    """m sqrt(l_1(B)), which is l_1(A): (2)."""
    return scale * largest.nonnegative_part().sqrt()


def shifted(matrix: arb_mat, c: arb) -> arb_mat:
    """A + c I."""
    size = matrix.nrows()
    return matrix + arb_mat(size, size, [c if i == j else arb(0) for i in range(size) for j in range(size)])


def from_inverse(largest: arb, c: arb) -> arb:
    """1 / l_1((A + c I)^-1) - c, which is l_d(A): (3)."""
    return 1 / largest - c


def _folded(scales: list[arb], bounds: list[arb]) -> arb:
    """(2) from the last square back to the first matrix, within the bounds (1) of each."""
    *earlier, found = bounds
    for scale, bound in zip(reversed(scales[:-1]), reversed(earlier), strict=True):
        found = from_square(found, scale).intersection(bound)
    return found
