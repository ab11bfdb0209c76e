"""Ranges of lengths for `risk-transfer`: sums of exponentials near the softmax weights' moments, and how far they do.

Everything here is a guess that the kernel's own tube and fits are asked about.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from flint import arb, fmpq
from numpy.typing import NDArray

from certattn.kernel.mathematics.weight_fits import (
    BENDS,
    SHARE,
    ExponentialSum,
    Fit,
    WeightFit,
    WeightTable,
    room,
)
from certattn.kernel.theorems.training.length_tube import Flow, follow, risk_bound
from certattn.kernel.theorems.training.risk_transfer import Range
from certattn.provers.rounding import round_up

Floats = NDArray[np.float64]

# Rates of the sums, for variances of the scores of about 1: the same near q and k, as they cost once then.
_RATES = (
    (0, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2),
    (0, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2),
    (0, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1),
)
_SCALES = (1.0, 0.5, 0.25, 2.0)
# Shares of laws that are so many times wider: what is above the distance is a mean over them.
_WIDER = ((0.3, 1.8), (0.05, 3.0))
# So many are looked at closely.
_TRIED = 3
# Rates of what is above the distance, as parts of what would make its mean infinite.
_GROWTHS = (0.08, 0.14, 0.2)
# A flow may go on to variances that are so many times larger than those seen.
_FARTHER = 1.3
_GRID, _ZOOMS = 24, 4
# A path is at least so long: what comes soon after its end is met as well.
_LEAST_TIME = 0.25
# No tube is followed for so long: a flow that is still next to a saddle then is given up.
_LONGEST_TIME = 100
# Of the fit of the sums: errors are wanted in proportion to the spread and a share of the mean.
_SHARE, _FLOOR, _LAWSON, _SLOW = 0.005, 1.0, 10, 0.1
# Of the largest rate times the largest distance of nodes, half.
_STEEPEST = 0.4
# A little more than is needed, as factors are rounded.
_ROOM = 1.02
_BITS = 20
# Of moments, between two computations for other ranges of lengths.
_CLOSE = 5e-6
# Variances of the scores up to so many times their mean along a direction matter.
_LIKELY, _LEAST_REACH, _MOST_REACH = 10, 2, 32
# Nodes are closer where they need not reach as far.
_NARROW, _SPACINGS = 5, (fmpq(1, 32), fmpq(1, 16))
# A piece is no longer than this over the largest second derivative of the risk; 1 over one of these. Of what comes with
# b^2 a part counts, as the flow contracts there.
_CONTRACTING = 0.25
_STEP = 1 / 11
_FINENESS = (10, 20, 25, 40, 50, 60, 80, 100, 125, 200, 250, 400, 500, 800, 1000)
# The risk is looked at after so many pieces.
_LOOK = 3
_MOST_PIECES = 600
# How much of 1/L the first range takes, how the others grow, at least and at most; from which multiple on the last is
# tried, and by how much later ranges begin where those before are given up.
_FIRST_SHARE, _WIDE_SHARE, _GROWING, _MOST_SHARE, _LAST, _NEXT = 1 / 40, 1 / 10, 2, 0.7, 12, 1.015
# The first length is sought with this part of the risk: those after it may do a little worse.
_SPARE = fmpq(19, 20)
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
    """The flow over infinite prompts in binary64: sigma_i, n_i, rows (a_1, ..., a_p, b), and the time at the end."""

    values: Floats
    counts: Floats
    points: Floats
    time: fmpq

    @classmethod
    def of(cls, flow: Flow, until: Callable[[float], bool]) -> Path:
        """From the start, until the risk is said to be small enough, or nothing moves."""
        values = np.array([float(x.mid()) for x in flow.spectrum.values])
        counts = np.array([float(n) for n in flow.spectrum.counts])
        point = np.array([float(x.mid()) for x in flow.start])
        points, time = [point], 0.0
        for _ in range(200_000):
            left = point[-1] * values * point[:-1] - 1
            risk = float((counts * values * left**2).sum() / 2)
            if (until(risk) and time >= _LEAST_TIME) or time > _LONGEST_TIME:
                break
            slope = -(values**2) * point[-1] * left, -(counts * values**2 * point[:-1] * left).sum()
            step = min(1 / 64, 0.2 / _stiffness(values, counts, point))
            point, time = point + step * np.append(*slope), time + step
            points.append(point)
        return cls(values, counts, np.array(points), rounded(time, 8))

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
        return min(_MOST_REACH, max(_LEAST_REACH, math.ceil(_LIKELY * self.largest)))

    @property
    def spacing(self) -> fmpq:
        """Of nodes up to there."""
        return _SPACINGS[self.reach > _NARROW]

    @cached_property
    def largest(self) -> float:
        """Of sigma_i^2 a_i^2."""
        return float(self.variances().max())

    @property
    def duration(self) -> fmpq:
        """That a piece may have."""
        return fmpq(1, next((n for n in _FINENESS if n >= self.stiffness / _STEP), _FINENESS[-1]))

    def variances(self) -> Floats:
        """Rows of sigma_i^2 a_i^2 at some times of it."""
        chosen = self.points[np.linspace(0, len(self.points) - 1, 9).astype(int)]
        return np.asarray((self.values * chosen[:, :-1]) ** 2)


def _stiffness(values: Floats, counts: Floats, point: Floats) -> float:
    """How fast the field changes, about: what contracts counts less."""
    a, b = point[:-1], point[-1]
    bends = float((counts * values**3 * a**2).sum() + np.abs(2 * values**3 * a * b - values**2).max())
    return max(bends, float((values**3).max() * b**2) * _CONTRACTING, 1e-3)


@dataclass(frozen=True)
class _Near:
    """Sums, the distance from them at every node, and what large factors cost."""

    sums: ExponentialSum
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

    def fit(self, first: int, last: int | None) -> WeightFit:
        """For these lengths."""
        q1, w1, rough, q2, w2, _ = (*self._columns(first), *self._columns(last))
        ends = (q2 - rough, q1 + rough), (w2 - rough, w1 + rough)
        after = np.append(q1[1:], q1[-1])
        pairs = []
        for (low, high), (concave, convex) in zip(ends, BENDS, strict=True):
            bend = self._bend * after
            pairs.append((low - bend * decimal(convex), high + bend * decimal(concave)))
        found = []
        for scale in _SCALES:
            for rates in _RATES:
                found.append([self._near(scale * np.array(rates), *pair) for pair in pairs])
        found.sort(key=lambda both: sum(float(self._weights @ one.need) for one in both))
        closely = [[self._with_error(one) for one in both] for both in found[:_TRIED]]
        (_, q), (_, w) = min(closely, key=lambda both: both[0][0] + both[1][0])
        return WeightFit(first, last, q, w)

    def _columns(self, length: int | None) -> tuple[Floats, Floats, Floats]:
        """q and w = q - 9/2 kappa, and how far they may be off."""
        column = self._table.column(length)
        q, kappa = (np.array([float(row[j].mid()) for row in column]) for j in (0, 1))
        return (
            q,
            q - decimal(SHARE) * kappa,
            np.array([_CLOSE + float(x.rad()) + 5 * float(y.rad()) for x, y in column]),
        )

    def _near(self, rates: Floats, low: Floats, high: Floats) -> _Near:
        basis = np.exp(-np.outer(self._v, rates))
        exact = [rounded(x) for x in self._balanced(basis, (low + high) / 2, (high - low) / 2)]
        factors = np.array([decimal(x) for x in exact])
        near, bends = basis @ factors, basis * (factors * rates**2)
        above = high - near + self._bend * np.maximum(_at_most(bends), 0)
        below = near - low + self._bend * np.maximum(_at_most(-bends), 0)
        need = np.maximum(above, below) * _ROOM + 1e-9
        need[-1] = max(need[-1], (1 + float(np.abs(basis[-1]) @ np.abs(factors))) * _ROOM)
        terms = [(c, -rounded(float(rate))) for c, rate in zip(exact, rates, strict=True)]
        return _Near(ExponentialSum(terms), need, 2e-4 * float(np.abs(factors) @ (rates + 0.1)))

    def _with_error(self, near: _Near) -> tuple[float, Fit]:
        """What it costs, and the fit."""
        cost, growths, heights = min((self._above(near.need, part) for part in _GROWTHS), key=lambda found: found[0])
        error = [(rounded(c), rounded(g)) for c, g in zip(heights, growths, strict=True) if c > 0]
        return cost + near.roughness, Fit(near.sums, ExponentialSum(error))

    def _balanced(self, basis: Floats, values: Floats, spread: Floats) -> Floats:
        """Factors of sums near the values: errors in proportion to the spread where the law is, by Lawson's weights."""
        scale = spread + _SHARE * float(self._weights @ values)
        weights = self._weights + _FLOOR / len(self._v) * (self._v <= self._likely)
        for _ in range(_LAWSON):
            roots = np.sqrt(weights) / scale
            ridge = 1e-5 * np.eye(basis.shape[1])
            stacked = np.vstack([basis * roots[:, None], ridge])
            factors = np.linalg.lstsq(stacked, np.append(values * roots, np.zeros(len(ridge))), rcond=None)[0]
            off = np.abs(basis @ factors - values) / scale
            weights = weights * (off / off.max() + _SLOW)
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


class Ranges:
    """What can be proved of the lengths from one on, by the kernel's own tube."""

    def __init__(self, flow: Flow, path: Path, lengths: tuple[int, int], horizon: fmpq, duration: fmpq) -> None:
        self._flow, self.path, self._horizon = flow, path, horizon
        self.table = WeightTable(path.spacing, path.reach, lengths)
        self._fitter = Fitter(path, self.table)
        self.duration = duration

    def _learn(self, points: list[list[float]]) -> None:
        """Fits are wanted where the flow of the last range was: it may go far from that over infinite prompts."""
        if len(points) >= _LEAST_POINTS:
            self.path = replace(self.path, points=np.array(points))
            self._fitter = Fitter(self.path, self.table)

    def over(self, first: int, last: int | None, goal: fmpq, learns: bool = False) -> Reached | None:
        """The first time with the risk, or None; what `learns` fits later ones to its flow even then."""
        fit = self._fitter.fit(first, last)
        if (room(fit, self.table) >= 0) is not True:
            return None
        flow = replace(self._flow, fit=fit)
        count = min(_MOST_PIECES, max(1, int((self._horizon / self.duration).ceil())))
        seen: list[float] = []
        points = [[float(x.mid()) for x in flow.start]]
        found = None
        for done, piece in enumerate(follow(flow, count * self.duration, count), start=1):
            if not piece.is_proved:
                break
            points.append([float(x.mid()) for x in piece.end])
            if done % _LOOK == 0:
                risk = risk_bound(flow, piece)
                if (risk <= goal) is True:
                    found = Reached(Range(fit, piece.last, done), risk)
                    break
                seen.append(float(risk.upper()))
                if piece.last > self.path.time and _falls_too_slowly(seen, decimal(goal), count // _LOOK):
                    break
        if learns or found is not None:
            self._learn(points)
        return found

    def risks(self, first: int) -> Iterator[fmpq]:
        """Goals to try, from a little more than the least risk that the shortest range is seen to have."""
        fit = self._fitter.fit(first, first + max(1, first // 60))
        if (room(fit, self.table) >= 0) is not True:
            return
        flow, least = replace(self._flow, fit=fit), math.inf
        for piece in follow(flow, self._horizon, max(1, int((self._horizon / self.duration).ceil()))):
            if not piece.is_proved:
                break
            least = min(least, float(risk_bound(flow, piece).upper()))
        for factor in (1.05, 1.2, 1.5, 2):
            if least < math.inf:
                yield round_up(rounded(least * factor), 2)

    def at_first(self, first: int, goal: fmpq) -> Reached | None:
        """Whether a short range does, with some room."""
        return self.over(first, first + int(first * _FIRST_SHARE), goal * _SPARE, learns=True)

    def from_on(self, first: int, goal: fmpq, most: int, latest: int | None = None) -> list[Reached] | None:
        """Ranges that cover every length from the first on, none of them longer than `most` before the last.

        They may begin later, up to the latest; a first length that is not about the least has wide ranges at once.
        """
        found: list[Reached] = []
        share = _FIRST_SHARE if latest is not None else _WIDE_SHARE
        while True:
            far = bool(found) and (share > 1 or first >= _LAST * found[0].range.fit.first)
            if far or first >= most:
                last = self.over(first, None, goal)
                if last is not None:
                    return [*found, last]
            if first >= most:
                return None
            until = min(most, int(first / (1 - min(share, _MOST_SHARE))))
            step = self.over(first, until, goal)
            if step is not None:
                found.append(step)
                # As the kernel reads them: the next one has the end of this one as well, unless that is all it has.
                first, share = until + (until == first), share * _GROWING
            elif until > first:
                share /= 2
            elif latest is not None and first < latest:
                # What is shorter is left: the next lengths may do.
                found, share, first = [], _FIRST_SHARE, max(first + 1, round(first * _NEXT))
            else:
                return None
