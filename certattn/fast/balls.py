"""Arrays of balls: differences, products and norms, and what stands between them, exact numbers and Arb.

Every rounding is accounted for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from flint import arb

from certattn.fast.units import LARGEST, UNDERFLOW, UNIT, UP, Floats, gamma
from certattn.kernel.errors import RefusedError
from certattn.kernel.mathematics.balls import l2_norm, scale_ball, table_of_balls, working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import Real

# `UP` covers the roundings of the bounds themselves up to this many terms.
_MOST_TERMS = 2**11


@dataclass(frozen=True)
class Ball:
    """An array of intervals: |truth - middle| <= radius, entry by entry."""

    middle: Floats
    radius: Floats


def difference(left: Ball, right: Ball) -> Ball:
    """left - right, entry by entry."""
    middle = left.middle - right.middle
    radius = left.radius + right.radius + 2 * UNIT * np.abs(middle) + UNDERFLOW
    return Ball(middle, radius * UP)


def product(left: Ball, right: Ball) -> Ball:
    """The matrix product, m x k times k x n."""
    terms = left.middle.shape[1]
    _require_terms(terms)
    sizes, others = np.abs(left.middle), np.abs(right.middle)
    radius = sizes @ right.radius + left.radius @ (others + right.radius) + gamma(terms + 2) * (sizes @ others)
    underflow = 8 * terms * UNDERFLOW * float(1 + sizes.max() + others.max())
    return Ball(left.middle @ right.middle, (radius + underflow) * UP)


def row_l2_norms(rows: Ball) -> Ball:
    """The Euclidean norm of every row: norms differ by at most the norm of the difference."""
    _require_terms(rows.middle.shape[1])
    middle, error = _computed_l2_norms(rows.middle)
    off, more = _computed_l2_norms(rows.radius)
    return Ball(middle, (off + more + error) * UP)


def _computed_l2_norms(rows: Floats) -> tuple[Floats, Floats]:
    """Euclidean norms of the rows, and bounds on their errors."""
    terms = rows.shape[1]
    largest = float(np.abs(rows).max())
    # Scaled by a power of two, so that no square overflows, and none vanishes beside a larger one.
    exponent = int(np.frexp(largest)[1]) if 0 < largest < np.inf else 0
    factor = 2.0 ** -max(-900, min(900, exponent))
    scaled = rows * factor
    norms = np.sqrt((scaled * scaled).sum(axis=1)) / factor
    # A square underflows only below 2^-500 of the largest entry, or among subnormal numbers.
    return norms, gamma(terms + 4) * norms + terms * (largest * 2.0**-500 + UNDERFLOW)


def row_linf_norms(rows: Ball) -> Ball:
    """The largest absolute value of every row."""
    return Ball(np.abs(rows.middle).max(axis=1), rows.radius.max(axis=1) * UP)


NORMS = {"l2": row_l2_norms, "linf": row_linf_norms}


def _require_terms(terms: int) -> None:
    if terms > _MOST_TERMS:
        raise RefusedError(f"products of {terms} terms; the bounds of bounds go up to {_MOST_TERMS}")


# -- from and to exact numbers and Arb balls

# More than two doubles hold, so that what is left is the second one's rounding.
_TWO_DOUBLES = 256


def rounded(matrix: ExactMatrix) -> Floats:
    """The doubles nearest to the entries: |entry - double| <= u |double| + UNDERFLOW."""
    denominator = int(matrix.denominator)
    try:
        # Division of Python's integers is correctly rounded.
        rows = [[int(entry) / denominator for entry in row] for row in matrix.numerators.tolist()]
    except OverflowError:
        raise RefusedError("a number beyond the range of binary64") from None
    return np.array(rows, np.float64).reshape(matrix.shape)


def rounded_scale(scale: Real) -> float:
    """A double within 2 u of the scale, relatively."""
    with working_precision(128):
        exact = scale_ball(scale)
        near = float(exact.mid())
        if not 2.0**-500 <= abs(near) <= LARGEST:
            raise RefusedError("a scale beyond the range of binary64")
        if (abs(exact - near) <= 2 * UNIT * abs(arb(near))) is not True:
            raise RefusedError("a scale that is not near a double")
    return near


def in_two_doubles(matrix: ExactMatrix, scale: Real) -> list[tuple[Floats, Floats, float]]:
    """scale * matrix, row by row, as head + tail, with an upper bound on the norm of what is left."""
    with working_precision(_TWO_DOUBLES):
        rows = table_of_balls(matrix, scale_ball(scale))
        found = []
        for row in rows:
            head = [float(entry.mid()) for entry in row]
            rests = [entry - near for entry, near in zip(row, head, strict=True)]
            tail = [float(rest.mid()) for rest in rests]
            left = l2_norm([rest - near for rest, near in zip(rests, tail, strict=True)])
            # NaN and infinities make a radius that refuses.
            radius = float(left.abs_upper()) * UP + UNDERFLOW
            found.append((np.array(head), np.array(tail), radius))
    return found


def enclose(rows: Sequence[Sequence[arb]]) -> Ball:
    """Arb balls as an array of middles and radii."""
    middle = np.array([[float(entry.mid()) for entry in row] for row in rows], np.float64)
    off = [[abs(entry - near).upper() for entry, near in zip(row, nears, strict=True)]
           for row, nears in zip(rows, middle.tolist(), strict=True)]  # fmt: skip
    radius = np.array([[float(entry) for entry in row] for row in off], np.float64)
    return Ball(middle, radius * UP + UNDERFLOW)


def arb_table(ball: Ball) -> list[list[arb]]:
    """A matrix of balls in Arb, row by row, as `arb_balls` makes them."""
    return [arb_balls(Ball(*row)) for row in zip(ball.middle, ball.radius, strict=True)]


def arb_balls(ball: Ball) -> list[arb]:
    """A vector of balls in Arb; the middles are exact, the radii rounded up. NaN gives a ball that decides nothing."""
    return [arb(middle, radius) for middle, radius in zip(ball.middle.tolist(), ball.radius.tolist(), strict=True)]
