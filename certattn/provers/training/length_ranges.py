"""Ranges of lengths for `risk-transfer`: sums of exponentials near the softmax weights' moments, and how far they do.

Everything here is a guess that the kernel's own tube and fits are asked about.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import repeat

import numpy as np
from flint import arb, fmpq
from numpy.typing import NDArray

from certattn.kernel.mathematics.weight_fits import (
    AFTER,
    BEFORE,
    BENDS,
    ExponentialSum,
    Fit,
    WeightFit,
    WeightTable,
    room,
)
from certattn.kernel.theorems.training.length_tube import Flow, Piece, follow, risk_bound
from certattn.kernel.theorems.training.risk_transfer import Range, Stage
from certattn.provers.rounding import last_place, round_up

Floats = NDArray[np.float64]

# Rates of the sums, for variances of the scores of about 1: the same near q and k, as they cost once then.
_RATES = (
    (0, *(2 ** (-5 + k * 3 / 4) for k in range(9))),
    (0, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2),
    (0, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2),
)
_SCALES = (1.0, 0.5, 0.25, 2.0)
# Shares of laws that are so many times wider: what is above the distance is a mean over them.
_WIDER = ((0.3, 1.8), (0.05, 3.0))
# So many are looked at closely.
_TRIED = 3
# Rates of what is above the distance, as parts of what would make its mean infinite.
_GROWTHS = (0.08, 0.14, 0.2)
# A flow may go on to variances that are so many times larger than those seen.
_FARTHER = 1.15
_GRID, _ZOOMS = 24, 4
# A path is at least so long: what comes soon after its end is met as well.
_LEAST_TIME = 0.25
# No tube is followed for so long: a flow that is still next to a saddle then is given up.
_LONGEST_TIME = 100
# Of the fit of the sums: errors are wanted in proportion to the spread and a share of the mean.
_SHARE, _FLOOR, _LAWSON, _SLOW = 0.05, 1.0, 10, 0.1
_RIDGE, _RIDGE_OF_MANY = 0.2, 0.02
# Of the largest rate times the largest distance of nodes, half.
_STEEPEST = 0.4
# A little more than is needed, as factors are rounded.
_ROOM = 1.02
_BITS = 20
# Of moments, between two computations for other ranges of lengths.
_CLOSE, _CLOSE_OF_MANY = (1e-5,), (6e-6, 3e-5)
# Variances of the scores up to so many times their mean along a direction matter.
_LIKELY, _LEAST_REACH, _MOST_REACH = 8, 4, 32
# So many different eigenvalues are many: a piece costs far more, and one variance is large for a short time only. What
# is above the distances has to be small at once where scores usually are and where they are then.
_MANY, _LIKELY_OF_MANY = 4, 12
# Nodes are closer where they need not reach as far.
_NARROW, _SPACINGS = 5, (fmpq(1, 32), fmpq(1, 16))
# A piece is no longer than this over the largest second derivative of the risk; 1 over one of these. Of what comes with
# b^2 a part counts, as the flow contracts there.
_CONTRACTING = 0.6
_STEP, _STEP_OF_MANY = 1 / 8, 1 / 6
_FINENESS = (10, 20, 25, 40, 50, 60, 80, 100, 125, 200, 250, 400, 500, 800, 1000)
# The risk is looked at after so many pieces.
_LOOK = 3
_MOST_PIECES = 600
# Where it falls too slowly for these, so many pieces that are so many times longer follow.
_LONGER, _MOST_LONGER = fmpq(6), 480
# Of many eigenvalues, longer ones follow when so many times the time has passed at which a variance is largest: this
# over the rate at which the fastest a_i contracts in the end, so many of them.
_CALM, _RELAXING, _MOST_RELAXING = 2, 0.85, 720
# A length over the one before, from which multiples of the first on the share is squared and so on, and from which on
# the last range is tried.
_NEXT, _FAR, _LAST = 1.1, (5, 10**6), 12
# How many of them the first range takes, how many more every later one does, and by how much later ranges begin where
# those before are given up.
_FIRST, _MORE, _LATER = 1, 2, 1.015
# How many the range takes of which a first length is judged.
_SHORT = 1
# Digits of a risk that is sought, as multiples of the least one that is seen: between the first two, all are tried.
_DIGITS, _ABOVE = 2, (1.01, 1.05, 1.2, 1.5, 2)
# The first length is sought with this part of the risk: those after it may do a little worse.
_SPARE = fmpq(99, 100)
# A tube is given up if the risk would not be reached at the end, falling as fast as over this last share of it.
_RECENT = 1 / 3
# A run of fewer pieces says nothing of where the flow goes.
_LEAST_POINTS = 6


def decimal(value: fmpq) -> float:
    """The nearest binary64, about."""
    return int(value.p) / int(value.q)


def rounded(value: float, bits: int = _BITS) -> fmpq:
    """A rational of a few bits near a number."""
    if value == 0:
        return fmpq(0)
    exponent = math.floor(math.log2(abs(value))) - bits
    return fmpq(round(value / 2.0**exponent)) * fmpq(2) ** exponent


@dataclass(frozen=True)
class Path:
    """The flow over infinite prompts in binary64: sigma_i, n_i, rows (a_1, ..., a_p, b), and the time at the end.

    `highest` is when a variance is largest.
    """

    values: Floats
    counts: Floats
    points: Floats
    time: fmpq
    highest: float

    @classmethod
    def of(cls, flow: Flow, until: Callable[[float], bool]) -> Path:
        """From the start, until the risk is said to be small enough, or nothing moves."""
        values = np.array([float(x.mid()) for x in flow.spectrum.values])
        counts = np.array([float(n) for n in flow.spectrum.counts])
        point = np.array([float(x.mid()) for x in flow.start])
        points, times = [point], [0.0]
        for _ in range(200_000):
            left = point[-1] * values * point[:-1] - 1
            risk = float((counts * values * left**2).sum() / 2)
            if (until(risk) and times[-1] >= _LEAST_TIME) or times[-1] > _LONGEST_TIME:
                break
            slope = -(values**2) * point[-1] * left, -(counts * values**2 * point[:-1] * left).sum()
            step = min(1 / 64, 0.2 / _stiffness(values, counts, point))
            point = point + step * np.append(*slope)
            points.append(point)
            times.append(times[-1] + step)
        found = np.array(points)
        highest = times[int(((values * found[:, :-1]) ** 2).max(axis=1).argmax())]
        return cls(values, counts, found, rounded(times[-1], 8), highest)

    @property
    def many(self) -> bool:
        """Whether there are many eigenvalues."""
        return len(self.values) >= _MANY

    @property
    def risk(self) -> float:
        """At its end."""
        left = self.points[-1][-1] * self.values * self.points[-1][:-1] - 1
        return float((self.counts * self.values * left**2).sum() / 2)

    @cached_property
    def stiffness(self) -> float:
        """The largest second derivative of the risk along it, about."""
        return max(
            _stiffness(self.values, self.counts, point) for point in self.points[:: max(1, len(self.points) // 50)]
        )

    @property
    def reach(self) -> int:
        """Up to where variances of the scores are likely."""
        likely = _LIKELY_OF_MANY if self.many else _LIKELY
        return min(_MOST_REACH, max(_LEAST_REACH, math.ceil(likely * self.largest)))

    @property
    def spacing(self) -> fmpq:
        """Of nodes up to there."""
        return _SPACINGS[self.reach > _NARROW]

    @cached_property
    def largest(self) -> float:
        """Of sigma_i^2 a_i^2."""
        return float(((self.values * self.points[:, :-1]) ** 2).max())

    @property
    def duration(self) -> fmpq:
        """That a piece may have."""
        step = _STEP_OF_MANY if self.many else _STEP
        return fmpq(1, next((n for n in _FINENESS if n >= self.stiffness / step), _FINENESS[-1]))

    @property
    def stages(self) -> tuple[tuple[fmpq, int], tuple[fmpq, int]]:
        """How many times longer pieces of both stages are, and how many there may be."""
        if not self.many:
            return (fmpq(1), _MOST_PIECES), (_LONGER, _MOST_LONGER)
        first = math.ceil(_CALM * self.highest / decimal(self.duration))
        contracts = float((self.values**3).max() * self.points[-1][-1] ** 2)
        longer = rounded(max(1.0, _RELAXING / (contracts * decimal(self.duration))), 4)
        return (fmpq(1), min(max(_LOOK, first), _MOST_PIECES)), (longer, _MOST_RELAXING)

    def variances(self) -> Floats:
        """Rows of sigma_i^2 a_i^2 at some times of it, and where each of them is largest, which may not be for long."""
        found = (self.values * self.points[:, :-1]) ** 2
        chosen = np.linspace(0, len(found) - 1, 9).astype(int)
        return np.asarray(found[[*chosen, *found.argmax(axis=0)]])


def _stiffness(values: Floats, counts: Floats, point: Floats) -> float:
    """How fast the field changes, about: what contracts counts less."""
    a, b = point[:-1], point[-1]
    bends = float((counts * values**3 * a**2).sum() + np.abs(2 * values**3 * a * b - values**2).max())
    return max(bends, float((values**3).max() * b**2) * _CONTRACTING, 1e-3)


@dataclass(frozen=True)
class _Targets:
    """Bounds of a function at all nodes, a row for each mu, and how it bends."""

    shares: Floats
    low: Floats
    high: Floats
    concave: Floats
    convex: Floats

    def linear(self) -> tuple[Floats, Floats, Floats]:
        """In mu: the middle, the half of how it grows, and how far the bounds are from that."""
        middle = (self.low + self.high) / 2
        grows = (middle[self.shares.argmax()] - middle[self.shares.argmin()]) / 2
        off = middle - np.outer(self.places(), grows)
        wide = (np.ptp(off, axis=0) + (self.high - self.low).max(axis=0)) / 2
        return (off.max(axis=0) + off.min(axis=0)) / 2, grows, wide

    def places(self) -> Floats:
        """From -1 to 1 for the shares from the least to the largest."""
        least, width = self.shares.min(), float(np.ptp(self.shares))
        return np.asarray(2 * (self.shares - least) / width - 1)


@dataclass(frozen=True)
class _Near:
    """Sums, the distance from them at every node, and what large factors cost."""

    near: ExponentialSum
    share: ExponentialSum
    need: Floats
    roughness: float


class Fitter:
    """Sums near q and q - 9/2 kappa for ranges of lengths, on a path."""

    def __init__(self, path: Path, table: WeightTable) -> None:
        self._table, self._path = table, path
        self._v = np.array([decimal(v) for v in table.nodes])
        gaps = np.diff(self._v)
        self._gaps = np.maximum(np.append(gaps, 0), np.append(0, gaps))
        self._bend = self._gaps**2 / 8
        self._weights = self._law(path)
        self._largest = _FARTHER * path.largest
        self._likely = decimal(fmpq(path.reach))
        self._ridge = _RIDGE_OF_MANY if path.many else _RIDGE
        self._closes: Sequence[float] = _CLOSE_OF_MANY if path.many else _CLOSE

    def _law(self, path: Path) -> Floats:
        """How much each node matters: densities of v along the path, of gamma laws with its mean and variance."""
        total = np.full(len(self._v), 1e-12)
        width = np.gradient(self._v)
        for row in path.variances():
            mean, spread = float((path.counts * row).sum()), float(2 * (path.counts * row**2).sum())
            mean, spread = max(mean, 1e-3), max(spread, 2e-6)
            shape, scale = mean**2 / spread + 1, spread / mean
            for part, wider in ((1.0, 1.0), *_WIDER):
                with np.errstate(divide="ignore"):
                    log = (shape - 1) * np.log(np.maximum(self._v, 1e-9)) - self._v / (wider * scale)
                density = np.exp(log - log.max()) * width
                total += part * density / density.sum()
        return np.asarray(total / total.sum())

    def fit(self, table: WeightTable, first: int, last: int | None) -> WeightFit | None:
        """For these lengths, as close as the kernel takes it; None where it does not."""
        for close in self._closes:
            fit = self._closely(table, first, last, close)
            if (room(fit, table) >= 0) is True:
                return fit
        return None

    def _closely(self, table: WeightTable, first: int, last: int | None, close: float) -> WeightFit:
        pairs = self._targets(table, first, last)
        found = []
        for scale in _SCALES:
            for rates in _RATES:
                found.append([self._near(scale * np.array(rates), of, close) for of in pairs])
        found.sort(key=lambda both: sum(float(self._weights @ one.need) + one.roughness for one in both))
        closely = [[self._with_error(one) for one in both] for both in found[:_TRIED]]
        (_, q), (_, w) = min(closely, key=lambda both: both[0][0] + both[1][0])
        return WeightFit(first, last, q, w)

    def _targets(self, table: WeightTable, first: int, last: int | None) -> list[_Targets]:
        """Of q and of q - 9/2 kappa."""
        largest = _ends(table.column(first), 0)[1]
        bend = self._bend * np.append(largest[1:], largest[-1])
        known = table.known(first, last)
        shares = np.array([decimal(each.share) for each in known])
        found = []
        for rows, (concave, convex) in zip(([x.q for x in known], [x.w for x in known]), BENDS, strict=True):
            low, high = (np.array([_ends(row, j)[j] for row in rows]) for j in (0, 1))
            found.append(_Targets(shares, low, high, bend * decimal(concave), bend * decimal(convex)))
        return found

    def _near(self, rates: Floats, of: _Targets, close: float) -> _Near:
        basis = np.exp(-np.outer(self._v, rates))
        middle, grows, spread = of.linear()
        scale = spread + _SHARE * float(self._weights @ middle)
        along = self._balanced(basis, grows, scale)
        flat = self._balanced(basis, middle, scale)
        # As a function of mu itself.
        least, width = of.shares.min(), float(np.ptp(of.shares))
        share = [rounded(x) for x in 2 * along / width]
        near = [rounded(x) for x in flat - along * (1 + 2 * least / width)]
        factors, steep = (np.array([decimal(x) for x in each]) for each in (near, share))
        sums = basis @ factors + np.outer(of.shares, basis @ steep)
        ends = [basis * ((factors + mu * steep) * rates**2) for mu in (least, 1.0)]
        above = (of.high - sums).max(axis=0) + of.concave
        below = (sums - of.low).max(axis=0) + of.convex
        above += self._bend * np.maximum(np.max([_at_most(x) for x in ends], axis=0), 0)
        below += self._bend * np.maximum(np.max([_at_most(-x) for x in ends], axis=0), 0)
        need = np.maximum(above, below) * _ROOM + close
        size = np.abs(factors) + np.abs(steep)
        need[-1] = max(need[-1], (1 + float(np.abs(basis[-1]) @ size)) * _ROOM)
        terms = [[(c, -rounded(float(rate))) for c, rate in zip(exact, rates, strict=True)] for exact in (near, share)]
        return _Near(ExponentialSum(terms[0]), ExponentialSum(terms[1]), need, 2e-4 * float(size @ (rates + 0.1)))

    def _with_error(self, near: _Near) -> tuple[float, Fit]:
        """What it costs, and the fit."""
        cost, growths, heights = min((self._above(near.need, part) for part in _GROWTHS), key=lambda found: found[0])
        error = [(rounded(c), rounded(g)) for c, g in zip(heights, growths, strict=True) if c > 0]
        return cost + near.roughness, Fit(near.near, near.share, ExponentialSum(error))

    def _balanced(self, basis: Floats, values: Floats, scale: Floats) -> Floats:
        """Factors of sums near the values: errors in proportion to the scale where the law is, by Lawson's weights."""
        weights = self._weights + _FLOOR / len(self._v) * (self._v <= self._likely)
        for _ in range(_LAWSON):
            roots = np.sqrt(weights) / scale
            ridge = self._ridge * np.eye(basis.shape[1])
            stacked = np.vstack([basis * roots[:, None], ridge])
            factors = np.linalg.lstsq(stacked, np.append(values * roots, np.zeros(len(ridge))), rcond=None)[0]
            off = np.abs(basis @ factors - values) / scale
            weights = weights * (off / (off.max() or 1) + _SLOW)
            weights /= weights.sum()
        return np.asarray(factors)

    def _mean(self, growth: float) -> float:
        """Of e^(g v) v^2, about, in units of v^2."""
        total = 0.0
        for row in self._path.variances():
            tilts = 1 / np.maximum(1 - 2 * growth * _FARTHER * row, 1e-3)
            total += float(np.prod(tilts ** (self._path.counts / 2)) * tilts.max() ** 2)
        return total

    def _above(self, need: Floats, part: float) -> tuple[float, list[float], list[float]]:
        """Factors >= 0 of e^(g v) that are nowhere below what is needed, with about the least mean."""
        # Not steeper than the distance of nodes admits.
        largest = decimal(rounded(min(part / max(self._largest, 0.1), _STEEPEST / float(self._gaps.max())), 8))
        growths = [0.0, largest, 2 * largest]
        basis = np.exp(np.outer(self._v, growths))
        # The kernel bounds the second derivative between two nodes by that at the second one.
        kept = basis * (1 - self._bend[:, None] * np.array(growths) ** 2 * np.exp(np.outer(self._gaps, growths)))
        costs = np.array([self._mean(g) for g in growths])
        tops = [float((need / kept[:, j]).max()) for j in range(3)]
        spans = [np.append(0, np.geomspace(top * 1e-9, top, _GRID)) for top in tops[1:]]
        best = (math.inf, [0.0, 0.0, 0.0])
        for _ in range(_ZOOMS):
            one, two = (x.ravel() for x in np.meshgrid(*spans))
            zero = (need[:, None] - np.outer(kept[:, 1], one) - np.outer(kept[:, 2], two)).max(axis=0)
            zero = np.maximum(zero, 0)
            total = costs[0] * zero + costs[1] * one + costs[2] * two
            at = int(total.argmin())
            if total[at] < best[0]:
                best = float(total[at]), [float(zero[at]), float(one[at]), float(two[at])]
            spans = [_around(span, value) for span, value in zip(spans, best[1][1:], strict=True)]
        return best[0], growths, [x * 1.0005 for x in best[1]]


def _ends(column: Sequence[tuple[arb, ...]], j: int) -> tuple[Floats, Floats]:
    """Lower and upper ends of the j-th balls."""
    return np.array([float(row[j].lower()) for row in column]), np.array([float(row[j].upper()) for row in column])


def _at_most(terms: Floats) -> Floats:
    """Of the sum of falling or growing terms next to each node: those > 0 at the node before, the others after it."""
    before, after = np.vstack([terms[:1], terms[:-1]]), np.vstack([terms[1:], terms[-1:]])
    return np.asarray(np.maximum(before, 0).sum(axis=1) + np.minimum(after, 0).sum(axis=1))


def _around(span: Floats, value: float) -> Floats:
    """A finer grid about the value."""
    at = int(np.abs(span - value).argmin())
    low, high = span[max(at - 1, 0)], span[min(at + 1, len(span) - 1)]
    return np.linspace(low, high, _GRID)


def _falls_too_slowly(seen: list[float], goal: float, most: int) -> bool:
    """Whether the risk, falling as it has of late, is above the goal when it is looked at for the last time."""
    since = max(1, round(len(seen) * _RECENT))
    if since >= len(seen):
        return False
    slope = (seen[-1 - since] - seen[-1]) / since
    return seen[-1] - slope * (most - len(seen)) > goal


@dataclass(frozen=True)
class Reached:
    """A range that is proved to have a risk at its end."""

    range: Range
    risk: arb


@dataclass(frozen=True)
class Covered:
    """Ranges of lengths without an end, and lengths for which moments are needed."""

    lengths: Sequence[int]
    ranges: list[Reached]

    @property
    def first(self) -> int:
        """The shortest of them all."""
        return self.ranges[0].range.fit.first


class Ranges:
    """What can be proved of the lengths from one on, by the kernel's own tube."""

    def __init__(
        self,
        flow: Callable[[WeightFit], Flow],
        path: Path,
        table: WeightTable,
        most: int,
        horizon: fmpq,
        longest: fmpq,
        duration: fmpq,
    ) -> None:
        self._flow, self.path, self._horizon, self._longest = flow, path, horizon, longest
        self._table, self._most, self.duration = table, most, duration
        self._fitter = Fitter(path, table)

    def _learn(self, points: list[list[float]]) -> None:
        """Fits are wanted where the flow of the last range was: it may go far from that over infinite prompts."""
        if len(points) >= _LEAST_POINTS:
            self.path = replace(self.path, points=np.array(points))
            self._fitter = Fitter(self.path, self._table)

    def table(self, first: int, most: int) -> WeightTable:
        """For lengths from the first on, each a share longer than the one before."""
        lengths = [max(2, min(first - 1, round(first / _NEXT))), first]
        while len(lengths) <= BEFORE + _SHORT + AFTER or lengths[-1] < most:
            wider = sum(lengths[-1] >= first * far for far in _FAR)
            lengths.append(max(lengths[-1] + 1, round(lengths[-1] * _NEXT ** (1 + wider))))
        # Of transforms that serve all of them.
        found = copy(self._table)
        found.lengths = lengths
        return found

    def over(
        self, table: WeightTable, first: int, last: int | None, goal: fmpq, learns: bool = False
    ) -> Reached | None:
        """The first time with the risk, or None; what `learns` fits later ones to its flow even then."""
        fit = self._fitter.fit(table, first, last)
        if fit is None:
            return None
        flow = self._flow(fit)
        points, found = [[float(x.mid()) for x in flow.start[:-1]]], None
        for stages, piece, risk in self._pieces(flow, goal):
            points.append([float(x.mid()) for x in piece.end[:-1]])
            if risk is not None and (risk <= goal) is True:
                found = Reached(Range(fit, stages), risk)
                break
        if learns or found is not None:
            self._learn(points)
        return found

    def _pieces(self, flow: Flow, goal: fmpq) -> Iterator[tuple[list[Stage], Piece, arb | None]]:
        """Proved ones, what they make up, and some risks, as long as the goal is within reach: at last longer ones."""
        durations = [self.duration]
        pieces, done = follow(flow, iter(lambda: durations[-1], None)), list[Stage]()
        for longer, most in self.path.stages:
            durations.append(self.duration * longer)
            left = (self._longest if done else self._horizon) - sum((each.time for each in done), fmpq(0))
            count, seen = min(most, int((left / durations[-1]).ceil())), list[float]()
            stage = Stage(fmpq(0), 0)
            for k in range(1, count + 1):
                piece = next(pieces)
                if not piece.is_proved:
                    return
                stage = Stage(k * durations[-1], k)
                risk = risk_bound(flow, piece) if k % _LOOK == 0 else None
                yield [*done, stage], piece, risk
                if risk is not None:
                    seen.append(float(risk.upper()))
                    if piece.last > self.path.time and _falls_too_slowly(seen, decimal(goal), count // _LOOK):
                        break
            done.append(stage)

    def risks(self, first: int) -> Iterator[fmpq]:
        """Goals to try, of two digits, from the least risk that the shortest range is seen to have, or a little above.

        Those next to it are tried one by one: what does not do is soon seen in the first range. What is still nearer is
        reached much later.
        """
        table = self.table(first, self._most)
        fit = self._fitter.fit(table, first, table.lengths[BEFORE + 1])
        if fit is None:
            return
        flow, least = self._flow(fit), math.inf
        for piece in follow(flow, repeat(self.duration, max(1, int((self._horizon / self.duration).ceil())))):
            if not piece.is_proved:
                break
            least = min(least, float(risk_bound(flow, piece).upper()))
        if least == math.inf:
            return
        nearest, near, *farther = _ABOVE
        goal = round_up(rounded(least * nearest), _DIGITS)
        while goal < rounded(least * near):
            yield goal
            goal += last_place(goal, _DIGITS)
        for factor in (near, *farther):
            yield round_up(rounded(least * factor), _DIGITS)

    def at_first(self, first: int, goal: fmpq) -> Reached | None:
        """Whether a short range does, with some room."""
        table = self.table(first, first)
        return self.over(table, first, table.lengths[BEFORE + _SHORT], goal * _SPARE, learns=True)

    def ends(self, goal: fmpq) -> bool:
        """Whether a last range, of the longest lengths, does."""
        table, path = self.table(self._most, self._most), self.path
        found = self.over(table, self._most, None, goal)
        self._learn([list(point) for point in path.points])
        return found is not None

    def from_on(self, first: int, goal: fmpq, latest: int | None = None) -> Covered | None:
        """Every one from the first on.

        They may begin later, up to the latest.
        """
        while True:
            table = self.table(first, self._most)
            found = self._covered(table, goal)
            if found is not None:
                used = max(
                    [table.lengths.index(x.range.fit.last) + AFTER for x in found if x.range.fit.last], default=1
                )
                return Covered(table.lengths[: used + 1], found)
            first = max(first + 1, round(first * _LATER))
            if latest is None or first > latest:
                return None

    def _covered(self, table: WeightTable, goal: fmpq) -> list[Reached] | None:
        lengths, at, size, more = table.lengths, BEFORE, _FIRST, _MORE
        found: list[Reached] = []
        while True:
            if lengths[at] >= _LAST * lengths[BEFORE] or at + AFTER >= len(lengths) - 1:
                last = self.over(table, lengths[at], None, goal)
                if last is not None:
                    return [*found, last]
            most = len(lengths) - 1 - AFTER - at
            if most < 1:
                return None
            size = min(size, most)
            step = self.over(table, lengths[at], lengths[at + size], goal)
            if step is not None:
                found.append(step)
                at, size, more = at + size, size + more, _MORE
            elif size > 1:
                # What did not do now may not do next time either.
                size, more = size // 2, 0
            else:
                return None
