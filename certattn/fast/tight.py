"""One softmax mean to the last place: scores and weighted sums without rounding errors of their own.

For one query a = head + tail, and blocks of tokens with keys x and values v, cut as in `splitting`,

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

from certattn.fast.enclosures import LARGEST_SCORE_ERROR, beta
from certattn.fast.exponential import exp_shifted
from certattn.fast.exponential_bound import relative_error
from certattn.fast.rows import Block, Floats, norm_bound
from certattn.fast.scratch import Scratch
from certattn.fast.splitting import (
    Cut,
    SplitQuery,
    add_exactly,
    add_low,
    score_error,
    sizes,
    split,
)
from certattn.fast.sums import DEPTH, LN2, require_reach
from certattn.fast.units import UP, gamma
from certattn.kernel.errors import RefusedError

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
