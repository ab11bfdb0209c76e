"""Numbers cut into parts on grids so coarse that sums of their products are exact, in any order.

    x = x1 + x2,   x1 a multiple of 2^-q,   |x2| <= 2^(-q - 1)

by x1 = fl(fl(x + sigma) - sigma), x2 = x - x1 with sigma = 1.5 * 2^(52 - q), for |x| <= 2^(51 - q): no
operation but the first rounds. For a = a1 + a2 on a grid 2^-p, all products x1 a1, and all their
partial sums, are multiples of 2^-(q + p): exact as long as |x1| |a1| <= 2^(53 - q - p) (Euclidean norms).
S. M. Rump, T. Ogita, S. Oishi, Accurate floating-point summation, SIAM J. Sci. Comput. 31 (2008).
Docs: binary64.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from certattn.fast.rows import Floats, computed_squares, larger, norm_bound, norm_bounds
from certattn.fast.units import LARGEST, UNDERFLOW, UNIT, UP, gamma
from certattn.kernel.errors import RefusedError

# Vectors whose norms are bounded together: the first to read them is faster with long ones.
_GROUP = 16
# |x1| 2^q <= 2^26 and |a1| 2^p <= 2^27.
_KEY_BITS = 26
_QUERY_BITS = 27
# e^(t + e) 2^-K (1 + eps) for t <= (K + 1) ln 2 and a little.
HEAVIEST = 2 * (1 + 2.0**-20)
# Numbers up to HEAVIEST are split on no finer grid.
_MOST_BITS = 49
# No grid is finer: far from underflow, also of products on two grids.
_FINEST = 400


def sizes(rows: Floats) -> tuple[float, float]:
    """Bounds of norms: of every single row, and of all together. Raises RefusedError if not finite."""
    count, dimension = rows.shape
    whole = count // _GROUP * _GROUP
    squares = computed_squares(rows[:whole].reshape(-1, _GROUP * dimension))
    one, total = float(squares.max(initial=0)), float(squares.sum())
    if whole < count:
        rest = float(computed_squares(rows[whole:].reshape(1, -1))[0])
        one, total = larger(one, rest), total + rest
    # Written so that a NaN refuses.
    if not one <= LARGEST * LARGEST:
        raise RefusedError("numbers that are too large, or not finite")
    return norm_bound(one, _GROUP * dimension), norm_bound(total, count * dimension)


def grid(norm: float, terms: int, bits: int) -> int:
    """q such that |x1| <= 2^(bits - q) for every vector x with `terms` entries and |x| <= norm.

    |x1| <= |x| + sqrt(terms) 2^(-q - 1), and |x_j| <= norm <= 2^(51 - q) for bits <= 51.
    """
    half = math.sqrt(terms) * UP / 2
    q = min(_FINEST, bits - math.frexp(norm)[1]) if norm > 0 else _FINEST
    while not (math.ldexp(norm, q) + half) * UP <= 2.0**bits:
        q -= 1
    return q


def split(rows: Floats, q: int, high: Floats, low: Floats) -> None:
    """rows = high + low exactly, high on the grid 2^-q; `low` may be `rows`."""
    sigma = 1.5 * 2.0 ** (52 - q)
    np.add(rows, sigma, out=high)
    np.subtract(high, sigma, out=high)
    np.subtract(rows, high, out=low)


@dataclass(frozen=True)
class SplitQuery:
    """A query a = head + tail + an error of norm at most `radius`, cut for exact products.

    columns   d x 2: head rounded to the grid 2^-p, called high, and low = fl(head - high + tail)
    norm, low_norm, tail_norm: upper bounds of |head|, |low| and |tail|
    """

    head: Floats
    columns: Floats
    p: int
    norm: float
    low_norm: float
    tail_norm: float
    radius: float

    @classmethod
    def of(cls, head: Floats, tail: Floats, radius: float) -> SplitQuery:
        """Raises RefusedError for numbers too large or not finite, or a tail that is not a tail."""
        for part in (head, tail):
            if part.dtype != np.float64 or part.shape != (len(head),):
                raise TypeError(f"{len(head)} numbers in float64 are needed, not {part.dtype} of shape {part.shape}")
        with np.errstate(over="ignore"):
            norm, tail_norm = norm_bounds(np.stack([head, tail])).tolist()
        # Written so that a NaN refuses.
        if not (norm <= LARGEST and tail_norm <= LARGEST and 0 <= radius <= LARGEST):
            raise RefusedError("a query that is too large, or not finite")
        p = grid(norm, len(head), _QUERY_BITS)
        high, low = np.empty_like(head), np.empty_like(head)
        split(head, p, high, low)
        low += tail
        low_norm = float(norm_bounds(low[None])[0])
        # Low parts of scores stay below 2^(53 - q - p): high parts are multiples of their last places.
        if not math.ldexp(low_norm, p) <= 2.0**25:
            raise RefusedError("a second double of a query that is not small beside the first")
        return cls(head, np.stack([high, low], axis=1), p, norm, low_norm, tail_norm, radius)


def score_error(query: SplitQuery, q: int, size: float) -> float:
    """A bound on |t + e - <a, x>| for |x| <= size, split on the grid 2^-q.

    t + e = <x1, high> + fl(fl<x1, low> + fl<x2, head>) exactly, and <a, x> has also
    <x1, head - high + tail - low>, <x2, tail> and <x, error>.
    """
    terms = len(query.head)
    rest = math.ldexp(math.sqrt(terms) * UP, -q - 1)
    near = size + rest
    products = near * query.low_norm + rest * query.norm
    underflow = 8 * terms * UNDERFLOW * (1 + near + query.norm + query.low_norm)
    left = near * UNIT * query.low_norm + rest * query.tail_norm + size * query.radius
    return (gamma(terms + 2) * products + left + underflow) * UP


def weight_grids(tokens: int, reach: float, q: int) -> tuple[int, int]:
    """q1, q2 such that sum w1 v1 and sum w2 v1 are exact for so many weights 0 <= w <= HEAVIEST.

    w1 is w on the grid 2^-q1, w2 is w - w1 on the grid 2^-q2; v1 is on 2^-q and at most `reach`:
    no sum of |w1 v1|, and none of |w1|, exceeds 2^53 steps of its grid.
    """
    room = tokens * max(math.ldexp(reach, q), 1.0) * UP
    q1 = _finest(HEAVIEST, room, _MOST_BITS)
    return q1, _finest(math.ldexp(0.5, -q1), room, q1 + _MOST_BITS)


def _finest(largest: float, room: float, limit: int) -> int:
    """About the largest q <= limit with room (largest + 2^(-q - 1)) <= 2^(53 - q)."""
    q = min(limit, 53 - math.frexp(room * largest)[1])
    while not room * (math.ldexp(largest, q) + 0.5) * UP <= 2.0**53:
        q -= 1
    return q


@dataclass(frozen=True)
class Cut:
    """How vectors of norm at most `size` are split, and weights that multiply them.

    q, q1, q2    the grids of v1, w1 and w2          reach    at least |v1|, coordinate by coordinate
    lost         at least how far rounding takes sum w3 away; lost_moment: the same of sum w3 v1
    lost_per_mass  sum w times this: the same of sum w v2
    coarse       at least the sum of | |w1| - w | + |w2| + |w3|
    """

    size: float
    q: int
    q1: int
    q2: int
    reach: float
    lost: float
    lost_moment: float
    lost_per_mass: float
    coarse: float

    @classmethod
    def of(cls, columns: int, tokens: int, size: float) -> Cut:
        q = grid(size, columns, _KEY_BITS)
        half = math.ldexp(0.5, -q)
        reach = size + half
        q1, q2 = weight_grids(tokens, reach, q)
        g, third = gamma(tokens) * UP, math.ldexp(0.5 * tokens, -q2)
        return cls(size, q, q1, q2, reach, g * third, g * third * reach, g * half, math.ldexp(2.0 * tokens, -q1))


def add_low(high: Floats, low: Floats, total: Floats) -> None:
    """total + low = high + low as it was, exactly: total is the rounded sum, low what it lacks (Fast2Sum).

    For numbers of which high is a multiple of the unit in the last place of low, or at least as
    large. `high` is overwritten.
    """
    np.add(high, low, out=total)
    np.subtract(total, high, out=high)
    np.subtract(low, high, out=low)


def add_exactly(total: Floats, error: Floats, term: Floats) -> None:
    """total += term, and what is rounded away is added to `error` (TwoSum, D. E. Knuth)."""
    new = total + term
    part = new - total
    error += (total - (new - part)) + (term - part)
    total[...] = new
