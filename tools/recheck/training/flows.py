"""The gradient flow of regression in context, enclosed by polynomials and their defect, and where it comes to rest."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from operator import mul
from typing import Any

import intervals
from decisions import at_most, within
from fields import fields, listed, optional, refuse, starting_bits
from functions import exp
from intervals import I, clip, iv, largest, root, square, summed
from matrices import flat, frobenius, matmul
from outcomes import Undecided
from scalars import natural, positive, rational
from training.in_context import Point, Task, apart
from vectors import integers


class Piece:
    """A polynomial in s = (t - begin)/size, 0 <= s <= 1, as columns of integers times 2^-P, one for each entry of A and
    one for b; the flow is nowhere farther from it than `off`."""

    def __init__(self, begin: Fraction, size: Fraction, columns: list[list[int]], off: int) -> None:
        self.begin, self.size, self.columns, self.off = begin, size, columns, off


class Flow:
    """Where the flow is: within `radius` (times 2^-P) of a centre of integers, at a time.

    With p' = size F(p) + defect, a solution z of z' = size F(z) has a distance e from p with e' <= mu e + |defect|,
    as long as e is below `wide`, where mu bounds the largest eigenvalue of -size R'' on the balls of this radius about
    p(s): if e^mu (e(0) + integral of |defect|) < wide, it is below that for all s.
    """

    def __init__(self, task: Task, start: tuple[Any, Any]) -> None:
        """At the start, at time 0, rounded down."""
        self.task, self.time, self.start, P = task, Fraction(0), start, intervals.P
        numbers = [Fraction(x) * 2**P for x in [*flat(start[0]), start[1]]]
        self.centre = [math.floor(x) for x in numbers]
        self.radius = 0 if all(x.denominator == 1 for x in numbers) else task.d + 1
        self.delta = frobenius(start[0]) - start[1] ** 2
        self.rests = start[1] == 0 and frobenius(matmul(task.exact, task.exact), start[0]) == 0
        self.order, self.size = max(12, P // 4), Fraction(1, 8)
        (self.S, self.unit) = integers(task.exact)
        self.S2 = matmul(self.S, self.S)
        self.cube = math.ceil(task.most**3 * 2**P)
        self.least = iv(task.least) ** 3
        # once it is known to stay near its limit: the time, and R and the rate from there on
        self.settled: tuple[Fraction, I, I] | None = None

    def to(self, time: Fraction, watch: Callable[[Piece], None] | None = None) -> None:
        """Go on to a time."""
        while self.time < time and not self.rests and self.settled is None:
            self.step(min(self.size, time - self.time), watch)
            if time - self.time > 16 * self.size:
                self.settle()
        self.time = max(self.time, time)

    def step(self, size: Fraction, watch: Callable[[Piece], None] | None) -> None:
        """The next step, of at most this size."""
        P, d, n, aim = intervals.P, self.task.d, self.order, size
        for _ in range(200):
            columns, slopes = self.expanded(size)
            norms = [norm(row) for row in zip(*columns[:-1], strict=True)]
            sizes = [x + abs(y) for x, y in zip(norms, columns[-1], strict=True)]
            rounding = (d * self.cube >> P) + 1 + d
            # |K_k|: of what has been computed, and by |b_j| |A_(k-j)| beyond
            slope = [norm(row) + rounding for row in slopes]
            whole = convolved([abs(x) for x in columns[-1]], norms)
            slope += [(x * self.cube >> P) + 1 for x in whole[n:]]
            # the defect from s^n on, and below by rounding
            tail = convolved(sizes, slope)
            low = sum((d + 1) + size * sum(sizes[: k + 1]) * rounding / ((k + 1) << P) for k in range(n))
            high = size * sum(Fraction(x, k + 1) for k, x in enumerate(tail) if k >= n)
            defect = math.ceil(low + high)
            wide = 2 * (self.radius + defect) + 1
            mu = (sum(slope) + (self.cube * (sum(sizes) * wide + wide * wide // 2 + 1) >> 2 * P) + 1) * size
            rate = math.ceil(mu)
            # the defect grows like the size to the power n + 1
            ideal = float(size) * min(2.0, float(2 * low / high) ** (1 / (n + 1)))
            if rate < 1 << P and high <= 4 * low + 64:
                off = exp(I(rate, rate)).b * (self.radius + defect) // (1 << P) + 1
                if off < wide:
                    break
            size = rounded(min(ideal, float(size) * 0.8))
        else:
            raise Undecided("a step of the flow")
        if watch:
            watch(Piece(self.time, size, columns, off))
        self.time += size
        self.centre, self.radius = [sum(column) for column in columns], off
        if size < aim or size == self.size:
            self.size = rounded(ideal * 0.95)

    def expanded(self, size: Fraction) -> tuple[list[list[int]], list[list[int]]]:
        """The coefficients of the solution from the centre, rounded, and those of K = S E S for them: with P_k the
        coefficients of b A, K_k = S^2 P_k S - [k = 0] S^2, (k + 1) A_(k+1) = -size sum b_j K_(k-j), and
        (k + 1) b_(k+1) = -size sum <A_j, K_(k-j)>. Each is off by less than one unit for those before it."""
        P, d, unit = intervals.P, self.task.d, self.unit**3
        columns, slopes, n, m = [[x] for x in self.centre], [[] for _ in range(d * d)], size.numerator, size.denominator
        b = columns[-1]
        for k in range(self.order):
            product = [sum(map(mul, b, column[::-1])) >> P for column in columns[:-1]]
            rows = matmul(self.S2, matmul([product[i * d : i * d + d] for i in range(d)], self.S))
            for i in range(d):
                for j in range(d):
                    free = (self.S2[i][j] * self.unit << P) if k == 0 else 0
                    slopes[i * d + j].append((rows[i][j] - free) // unit)
            below = m * (k + 1) << P
            turned = b[::-1]
            found = [-(n * sum(map(mul, turned, slope))) // below for slope in slopes]
            both = zip(columns[:-1], slopes, strict=True)
            last = -(n * sum(sum(map(mul, column[::-1], slope)) for column, slope in both)) // below
            for column, x in zip(columns, [*found, last], strict=True):
                column.append(x)
        return columns, [list(row) for row in zip(*slopes, strict=True)]

    def settle(self) -> None:
        """While |b| >= beta, |grad R|^2 >= l^3 b^2 2R: R falls at the rate 2c, c = l^3 beta^2, and what is left of the
        path is no longer than sqrt(2R/c). Where that does not lead to |b| < beta, it is so for ever."""
        at = self.box()
        b = I(at[1].a, at[1].b) if at[1].a > 0 else -at[1]
        risk = clip(self.task.risk(at), 0)
        beta = I(b.a, b.a) * Fraction(7, 8)
        if b.a <= 0 or risk.b >> intervals.P > 0:
            return
        c = self.least * square(beta)
        rest = root(2 * risk / c) if c.a > 0 else iv(1)
        if rest.b < (I(b.a, b.a) - beta).a and rest.b <= 1 << (intervals.P // 2 + 8):
            self.settled = self.time, I(0, risk.b), c

    def box(self) -> Point:
        """Intervals around the place."""
        found, d = [I(x - self.radius, x + self.radius) for x in self.centre], self.task.d
        return [found[i * d : i * d + d] for i in range(d)], found[-1]

    def middle(self) -> Point:
        """The centre, exactly."""
        found, d = [I(x, x) for x in self.centre], self.task.d
        return [found[i * d : i * d + d] for i in range(d)], found[-1]

    def sign(self) -> int:
        """That of b."""
        b = self.box()[1]
        if b.a <= 0 <= b.b:
            raise Undecided("the sign of b")
        return 1 if b.a > 0 else -1

    def place(self) -> tuple[Point, I, I]:
        """A point, how far from it the flow may be, and the risk."""
        if self.settled is None:
            at = self.box()
            return self.middle(), I(0, self.radius), clip(self.task.risk(at), 0)
        since, risk, c = self.settled
        gone = exp(-c * (self.time - since))
        return self.limit(), I(0, (root(2 * risk / c) * gone).b), I(0, (risk * square(gone)).b)

    def limit(self) -> Point:
        """The zero of R to which it tends once it has settled."""
        return self.task.bayes(self.delta, self.sign())


def norm(row: Any) -> int:
    """The Euclidean norm of integers, rounded up."""
    return math.isqrt(sum(x * x for x in row)) + 1


def convolved(u: list[int], v: list[int]) -> list[int]:
    """The product of two polynomials with coefficients >= 0 times 2^-P, rounded up."""
    w, n = v[::-1], len(v)
    found = []
    for k in range(len(u) + n - 1):
        low, high = max(0, k - n + 1), min(k, len(u) - 1)
        found.append((sum(map(mul, u[low : high + 1], w[n - 1 - k + low : n - k + high])) >> intervals.P) + 1)
    return found


def rounded(x: float) -> Fraction:
    """A step near this one, of twelve bits."""
    part, power = math.frexp(x)
    return Fraction(int(part * 4096), 4096) * Fraction(2) ** power


def near(distance: I, off: I) -> I:
    """A distance from a point that is off by so much."""
    return I(max(0, distance.a - off.b), distance.b + off.b)


class Tube:
    """The largest distance of the flow from a straight line between two points and times."""

    def __init__(self, one: tuple[Any, Any], two: tuple[Any, Any], begin: Fraction, end: Fraction) -> None:
        self.begin, self.end = begin, end
        self.one, self.two = ([*flat(x[0]), x[1]] for x in (one, two))
        self.found = iv(0)

    def at(self, time: Fraction) -> list[Fraction]:
        """The point of the line."""
        share = (time - self.begin) / (self.end - self.begin)
        return [x + share * (y - x) for x, y in zip(self.one, self.two, strict=True)]

    def watch(self, piece: Piece) -> None:
        """|p - line| on a grid; between two of its points it is by h^2 max|p''|/8 larger than there at most."""
        parts = intervals.P // 2
        low, high = ([iv(x) for x in self.at(t)] for t in (piece.begin, piece.begin + piece.size))
        bends = norm([sum(abs(x) * k * (k - 1) for k, x in enumerate(column)) for column in piece.columns])
        slack = bends // (8 * parts * parts) + 1 + piece.off
        for i in range(parts + 1):
            gaps = []
            for column, x, y in zip(piece.columns, low, high, strict=True):
                value = 0
                for c in reversed(column):
                    value = c + value * i // parts
                gaps.append(I(value, value + len(column)) - (x * (parts - i) + y * i) / parts)
            gap = root(summed(map(square, gaps)))
            self.include(I(max(0, gap.a - piece.off), gap.b + slack))

    def rest(self, flow: Flow, since: Fraction) -> None:
        """Of a flow that has settled: a ball, and a line whose ends are the farthest from it."""
        assert flow.settled is not None
        begin, risk, c = flow.settled
        limit, off = flow.limit(), root(2 * risk / c) * exp(-c * (since - begin))
        for time in (since, self.end):
            gaps = [iv(x) - y for x, y in zip([*flat(limit[0]), limit[1]], self.at(time), strict=True)]
            self.include(near(root(summed(map(square, gaps))), off))

    def include(self, distance: I) -> None:
        """One more of which the largest is meant."""
        self.found = largest([self.found, distance])


def flow_trajectory(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/training/flow-trajectory.md, by polynomials with a defect, and near the limit by the rate of R."""
    given, hint = fields(g, "given", "covariance start"), starting_bits(w, "order")
    optional(natural, hint["order"], "witness.order", 8, 100)
    task = Task(given["covariance"])
    before, time = task.point(given["start"], "start"), Fraction(0)
    flow = Flow(task, before)
    stated = []
    for node in listed(fields(a, "asserts", "points")["points"], "points"):
        f = fields(node, "points", "time A b radius", "risk bayes tube")
        at, later = task.point({k: f[k] for k in ("A", "b")}, "points"), positive(f["time"], "time")
        refuse(later <= time, "points: a time that is not after that of the point before")
        refuse(f["bayes"] is not None and flow.rests, "points.bayes: the flow rests at b = 0")
        sizes = {k: optional(rational, f[k], k) for k in ("radius", "bayes", "tube")}
        refuse(any(x is not None and x < 0 for x in sizes.values()), "points: a negative distance")
        risks = optional(lambda x: fields(x, "risk", "lower upper"), f["risk"])
        stated.append((later, at, sizes, optional(lambda x: [rational(x[k], k) for k in ("lower", "upper")], risks)))
        time = later
    time = Fraction(0)
    for later, at, sizes, risks in stated:
        tube = Tube(before, at, time, later)
        if sizes["tube"] is None:
            flow.to(later)
        elif flow.rests:
            tube.watch(Piece(time, later - time, [[x, 0] for x in flow.centre], flow.radius))
        else:
            since = time
            if flow.settled is None:
                flow.to(later, tube.watch)
                since = flow.settled[0] if flow.settled else later
            flow.to(later)
            if flow.settled:
                tube.rest(flow, max(since, time))
        if sizes["tube"] is not None:
            at_most(tube.found, sizes["tube"], f"the distance from the line that ends at {later}")
        centre, off, risk = flow.place()
        at_most(near(apart(centre, at), off), sizes["radius"], f"the distance at {later}")
        if risks:
            within(risk, *risks, f"R at {later}")
        if sizes["bayes"] is not None:
            gap = near(apart(centre, task.bayes(flow.delta, flow.sign())), off)
            at_most(gap, sizes["bayes"], f"the distance from the zero of R at {later}")
        before, time = at, later
