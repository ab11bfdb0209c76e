"""One softmax mean to the last place: scores and weighted sums without rounding errors of their own.

For one query a = head + tail, and blocks of tokens with keys x and values v, cut on grids,

    S = <x1, a1>                      exact, by one matrix product
    t + e = S + (<x1, a2> + <x2, a>)  the small products rounded, their sum with S not
    w = 2^-K e^(t + e)                the exponential takes e as its tail
    sum w v = sum (w1 + w2 + w3) v1 + sum w v2

with w = w1 + w2 + w3, w1 and w2 on grids on which sum w1 v1 and sum w2 v1 are exact. What is left, w3
and v2, is so small that ordinary sums do. Sums of blocks are added up with their rounding errors
(TwoSum). K, the range of scores and what is raised are read off t, never off S: where keys are long
and scores cancel, S may be far from the score. Docs: binary64.md has statements and proofs.
"""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass

import numpy as np

from certattn.fast.attention import Moments, StoredPrompt
from certattn.fast.balls import Ball, in_two_doubles
from certattn.fast.exponential import DEPTH, LARGEST_SCORE_ERROR, LN2, beta, exp_shifted, relative_error, require_reach
from certattn.fast.rows import Block, computed_squares, larger, norm_bound, norm_bounds
from certattn.fast.sums import Scratch, sweep
from certattn.fast.units import DOWN, LARGEST, UNDERFLOW, UNIT, UP, Floats, gamma, require_rounding_to_nearest
from certattn.kernel.errors import RefusedError
from certattn.kernel.mathematics.exact_matrix import ExactMatrix

# -- numbers cut into parts
#
# Numbers cut into parts on grids so coarse that sums of their products are exact, in any order.
#
#     x = x1 + x2,   x1 a multiple of 2^-q,   |x2| <= 2^(-q - 1)
#
# by x1 = fl(fl(x + sigma) - sigma), x2 = x - x1 with sigma = 1.5 * 2^(52 - q), for |x| <= 2^(51 - q): no
# operation but the first rounds. For a = a1 + a2 on a grid 2^-p, all products x1 a1, and all their
# partial sums, are multiples of 2^-(q + p): exact as long as |x1| |a1| <= 2^(53 - q - p) (Euclidean norms).
# S. M. Rump, T. Ogita, S. Oishi, Accurate floating-point summation, SIAM J. Sci. Comput. 31 (2008).
# Docs: binary64.md.

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


# -- the sums

# Doubles in a block of tokens: its high and low parts stay in the cache.
_BLOCK = 2**16
_MOST_ROWS = 4096
_FEWEST_ROWS = 256


@dataclass(frozen=True)
class TightlyWanted:
    """What to add up for one query; goes to `sweep`."""

    query: SplitQuery

    @property
    def multiplications(self) -> int:
        return 16

    def rows(self, columns: int) -> int:
        return max(_FEWEST_ROWS, min(_MOST_ROWS, _BLOCK // columns))

    def empty(self, outputs: int) -> TightSums:
        return TightSums(self.query, outputs)


class TightSums:
    """What has been added up for one query and values of dimension d_v.

    exponent   K, a whole number
    total      4 x (1 + d_v): sums of w1, w2, w3 times (1, v1), and of w times (0, v2)
    rest       what was rounded away where `total` was added up
    bounds     see `Bounds`
    reach      max |v1|;  key_size, value_size: max |x| and max |v|, or more
    depth      additions on the longest path from a block to `total`
    """

    def __init__(self, query: SplitQuery, outputs: int) -> None:
        self.query = query
        self.eps = relative_error(tail=True)
        self.exponent = -math.inf
        self.total = np.zeros((4, 1 + outputs))
        self.rest = np.zeros((4, 1 + outputs))
        self.bounds = Bounds()
        self._cuts: dict[tuple[int, int, int], Cut] = {}
        self._strays: dict[Cut, float] = {}
        self.reach = self.key_size = self.value_size = 0.0
        self.tokens = self.clamped = self.depth = 0

    def add(self, block: Block, scratch: Scratch) -> None:
        """Take a block of tokens in."""
        tokens, dimension = block.keys.shape
        largest, together = sizes(block.keys)
        cut = self._cut(dimension, tokens, largest)
        keys = values = scratch.array("keys", 2, tokens, dimension)
        split(block.keys, cut.q, *keys)
        stray = self._stray(cut)
        self.key_size = max(self.key_size, cut.size)
        weights = scratch.array("weights", 4, tokens)
        self._weigh(keys, weights, scratch)
        if block.values is not block.keys:
            outputs = block.values.shape[1]
            largest, together = sizes(block.values)
            cut = self._cut(outputs, tokens, largest)
            values = scratch.array("values", 2, tokens, outputs)
            split(block.values, cut.q, *values)
        self._add_products(weights, values, cut, stray, together, scratch.ones(tokens))
        self.value_size = max(self.value_size, cut.size)
        self.tokens += tokens
        self.depth += 1

    def _cut(self, columns: int, tokens: int, largest: float) -> Cut:
        """How to cut a block: the same for norms up to a power of two."""
        exponent = math.frexp(largest)[1]
        shape = columns, tokens, exponent
        if shape not in self._cuts:
            self._cuts[shape] = Cut.of(columns, tokens, math.ldexp(1.0, exponent))
        return self._cuts[shape]

    def _stray(self, cut: Cut) -> float:
        """beta(delta), which bounds |W / w - 1| for tokens whose keys are cut like this."""
        if cut not in self._strays:
            delta = score_error(self.query, cut.q, cut.size)
            if not delta <= LARGEST_SCORE_ERROR:
                raise RefusedError("scores that are too large for their rounding errors to be small")
            self._strays[cut] = beta(delta, self.eps)
        return self._strays[cut]

    def _weigh(self, keys: Floats, weights: Floats, scratch: Scratch) -> None:
        """The weights of the tokens, into the last row of `weights`; K grows if it has to."""
        tokens = keys.shape[1]
        both, low, total = (
            scratch.array("both", tokens, 2),
            scratch.array("low", tokens),
            scratch.array("total", tokens),
        )
        np.dot(keys[0], self.query.columns, out=both)
        np.dot(keys[1], self.query.head, out=low)
        low += both[:, 1]
        add_low(both[:, 0], low, total)
        largest, least = float(total.max()), float(total.min())
        require_reach(least, largest)
        self._rescale(math.floor(largest / LN2))
        floor = (self.exponent - DEPTH) * LN2
        if least < floor:
            np.maximum(total, floor, out=total)
            self.clamped += tokens
        exp_shifted(total, int(self.exponent), weights[3], scratch.work(tokens), tail=low)

    def _add_products(
        self, weights: Floats, values: Floats, cut: Cut, stray: float, together: float, ones: Floats
    ) -> None:
        """The sums of weights times values, and bounds on what they lack."""
        tokens = weights.shape[1]
        split(weights[3], cut.q1, weights[0], weights[2])
        split(weights[2], cut.q2, weights[1], weights[2])
        parts = np.empty_like(self.total)
        parts[:, :1] = weights @ ones
        parts[:, 1:] = weights @ values[0]
        parts[3, 1:] = weights[3] @ values[1]
        mass = float(parts[3, 0]) * (1 + gamma(tokens + 8)) * UP
        parts[3, 0] = 0
        add_exactly(self.total, self.rest, parts)
        # sum w |v|: by Cauchy and Schwarz, or as none is longer than the longest.
        norm = norm_bound(float(np.dot(weights[3], weights[3])), tokens)
        moment = min(norm * together, mass * cut.size)
        bounds = self.bounds
        bounds.mass += mass
        bounds.stray += stray * mass
        bounds.stray_moment += stray * moment
        bounds.lost += cut.lost
        bounds.lost_moment += cut.lost_moment + cut.lost_per_mass * mass
        bounds.coarse += cut.coarse
        self.reach = max(self.reach, cut.reach)

    def merge(self, other: TightSums) -> None:
        """Take in what another thread, or an earlier pass, has added up."""
        self._rescale(other.exponent)
        new = _power_of_two(other.exponent - self.exponent)
        add_exactly(self.total, self.rest, other.total * new)
        self.rest += other.rest * new
        self.bounds = self.bounds.plus(other.bounds.times(new))
        self.reach = max(self.reach, other.reach)
        self.key_size = max(self.key_size, other.key_size)
        self.value_size = max(self.value_size, other.value_size)
        self.tokens += other.tokens
        self.clamped += other.clamped
        self.depth = max(self.depth, other.depth) + 1

    def _rescale(self, exponent: float) -> None:
        """Bring the sums to the larger of both exponents."""
        if exponent > self.exponent:
            old = _power_of_two(self.exponent - exponent)
            self.total *= old
            self.rest *= old
            self.bounds = self.bounds.times(old)
            self.exponent = float(exponent)


@dataclass
class Bounds:
    """Sums over tokens of numbers that are at least what is said here, before they are added up.

    mass           sum w
    stray          sum beta(delta) w: how far the weights are from the true ones in all
    stray_moment   sum beta(delta) w |v|
    lost           how far rounding inside blocks took Z away; lost_moment: the same of a coordinate of M
    coarse         sum of | |w1| - w | + |w2| + |w3|
    """

    mass: float = 0.0
    stray: float = 0.0
    stray_moment: float = 0.0
    lost: float = 0.0
    lost_moment: float = 0.0
    coarse: float = 0.0

    def times(self, factor: float) -> Bounds:
        return Bounds(*(entry * factor for entry in astuple(self)))

    def plus(self, other: Bounds) -> Bounds:
        return Bounds(*(mine + its for mine, its in zip(astuple(self), astuple(other), strict=True)))


def _power_of_two(exponent: float) -> float:
    """2^exponent for a whole number <= 0, exactly, but not less than 2^-1000; sums that are zero have -inf."""
    return math.ldexp(1.0, int(max(exponent, -DEPTH)))


# -- enclosures
#
# From the sums of the tight tier to enclosures: what little was rounded, bounded a priori.
#
# The weights that were computed, w, and the true ones differ by at most beta(delta) w, as in
# `enclosures`, but delta is what score errors are for numbers that are cut. Docs: binary64.md has the statements
# and their proofs under the names that are used here.


class TightEnclosures:
    """Enclosures from `sums`. Raises RefusedError where the bounds say nothing."""

    def __init__(self, sums: TightSums) -> None:
        require_rounding_to_nearest()
        self.sums = sums
        query, outputs = sums.query, sums.total.shape[1] - 1
        tokens, dimension = sums.tokens + 1, len(query.head)
        self._size = sums.value_size
        scale = 1 + query.norm + query.low_norm + query.tail_norm + sums.key_size + self._size
        underflow = 64 * UNDERFLOW * tokens * (dimension + outputs) * scale
        omega = (2.0**-998 * sums.clamped + 2.0**-990 * tokens) * UP
        # They were computed and added up with roundings of their own.
        bounds = sums.bounds.times((1 + gamma(2 * sums.depth + 24)) * UP)
        self._sums: Floats = np.array([math.fsum(column) for column in np.vstack([sums.total, sums.rest]).T.tolist()])
        # `rest` adds up errors that are at most u times partial sums.
        count = 2 * sums.depth + 8
        added = 2 * count * UNIT * gamma(count) * (bounds.mass + bounds.coarse)
        normaliser = float(self._sums[0])
        self._lost = (bounds.lost + added + UNIT * normaliser + underflow + omega) * UP
        self._lost_moment = (bounds.lost_moment + 2 * added * sums.reach + underflow + omega * self._size) * UP
        self._stray_moment = bounds.stray_moment
        self._omega = 2 * omega + underflow
        self._stray = (bounds.stray + self._omega) * UP
        self._upper = (normaliser + self._lost) * UP
        self._lower = (normaliser - self._lost) * DOWN
        self._rest = (self._lower - self._stray) * DOWN
        # Written so that a NaN refuses.
        if not self._rest >= self._upper / 2:
            raise RefusedError("weights whose errors are as large as they are")

    def normaliser(self) -> tuple[float, Ball]:
        """(K, z): the normaliser is 2^K z."""
        return self.sums.exponent, Ball(self._sums[0], np.array((self._lost + self._stray) * UP))

    def mean(self) -> Ball:
        """sum p_i v_i for the true softmax weights p_i: |computed - truth| <= rho + shift."""
        moment = self._sums[1:]
        middle: Floats = moment / self._sums[0]
        size = np.abs(middle)
        lost = UNIT * np.abs(moment) + self._lost_moment
        rho = lost / self._lower + (1 + 2 * UNIT) * size * (self._lost / self._lower) + 2 * UNIT * size + UNDERFLOW
        # sum w |b| |v - m|, |m| <= |middle| + rho; and |v - m| <= 2 max |v| where a score was raised.
        moved = self._stray_moment + (size + rho) * self._stray + 2 * self._size * self._omega
        return Ball(middle, (rho + moved / self._rest) * UP)


# -- prompts


@np.errstate(all="ignore")
def tight_moments(prompt: StoredPrompt, stated: ExactMatrix) -> Moments:
    """Means and normalisers under the softmax weights of every row of `stated`, to the last places.

    Raises Binary64Error.
    """
    tilts = in_two_doubles(stated @ prompt.score_map.T, prompt.scale)
    found = [TightEnclosures(sweep(prompt.chunks(), TightlyWanted(SplitQuery.of(*tilt)))) for tilt in tilts]
    normalisers = [enclosures.normaliser() for enclosures in found]
    return Moments(
        np.array([exponent for exponent, _ in normalisers]),
        _stacked([ball for _, ball in normalisers]),
        prompt.mapped(_stacked([enclosures.mean() for enclosures in found])),
        [],
    )


def _stacked(balls: list[Ball]) -> Ball:
    return Ball(np.stack([ball.middle for ball in balls]), np.stack([ball.radius for ball in balls]))
