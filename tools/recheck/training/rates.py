"""The rate at which training in context converges, from a place that is enclosed on."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import intervals
from decisions import at_most, below, within
from fields import fields, items, one_of, optional, refuse, witness_of
from functions import exp, log
from intervals import I, absolute, clip, falling, iv, largest, middle, root, smallest, square, summed
from matrices import flat, frobenius, matmul, trace
from outcomes import NotCovered, Undecided
from scalars import natural, positive, rational
from training.flows import Flow
from training.in_context import Point, Task, apart, bayes, length, shifted

LEVELS = 100


def squared_b(delta: Any, p: Any) -> I:
    """z with z (z + delta) = p^2, which is not negative: (sqrt(delta^2 + 4 p^2) - delta)/2. It grows with p, and falls
    with delta."""

    def at(x: I) -> I:
        """At one delta; by the root of whichever sign does not cancel."""
        r = root(square(x) + 4 * square(p))
        return (r - x) / 2 if x.b <= 0 else 2 * square(p) / (r + x) if x.a > 0 else clip((r - x) / 2, 0)

    return falling(at, delta)


class Rate:
    """What is known of R at a place, of b from there on, and how fast R falls; of descent with a step."""

    def __init__(self, task: Task, delta: Any, risk: Any, step: Fraction | None) -> None:
        """The invariant and the risk at the place."""
        self.task, self.step = task, step
        S, S2, inverse = task.exact, matmul(task.exact, task.exact), task.inverse
        half = matmul(inverse, inverse)
        self.t1, self.t4 = iv(trace(S)), root(iv(frobenius(S2)))
        self.t2 = root(iv(frobenius(inverse)))
        self.t5 = root(iv(frobenius(half, matmul(half, inverse))))
        self.least, self.most = iv(task.least), iv(task.most)
        self.spread = 2 * step * iv(risk) if step is not None else iv(0)
        self.delta = iv(delta)

    def product_least(self, R: I) -> I:
        """m <= |bA|"""
        r = root(2 * R)
        one = (self.t1 - r * root(self.t1)) / self.t4
        return largest([0, one, (square(self.t2) - r * self.t5) / self.t2])

    def product_most(self, R: I) -> I:
        """M >= |bA|"""
        return self.t2 + root(2 * R / self.least**3)

    def curvature(self, R: I) -> I:
        """beta(R), of descent."""
        r, size = root(2 * R), absolute(self.delta) + self.spread
        norms = self.most**3 * root(square(size) + 4 * square(self.product_most(R)))
        low = squared_b(self.delta + self.spread, self.product_least(R))
        high = squared_b(self.delta - self.spread, self.product_most(R))
        if low.a > 0:
            top = square(root(self.t1) + r)
            norms = smallest([norms, largest([self.most**3 * x + top / x for x in (low, high)])])
        return norms + root(self.most**3) * r

    def kappa(self, R: I) -> I:
        """1 - eta beta/2, which is 1 for the flow."""
        return iv(1) if self.step is None else 1 - self.step * self.curvature(R) / 2

    def __call__(self, R: I) -> I:
        """c(R)"""
        return self.kappa(R) * self.least**3 * squared_b(self.delta + self.spread, self.product_least(R))

    def length(self, R: I) -> I:
        """A bound of the path from a place of this risk on; that of the flow by levels (3/4)^j R."""
        if self.step is not None:
            return root(2 * R / (self.kappa(R) * self(R)))
        total, here = iv(0), root(R)
        for _ in range(LEVELS):
            there = root(square(here) * Fraction(3, 4))
            total += root(2 / self(square(here))) * (here - there)
            here = there
        return total + root(2 / self(square(here))) * here

    def decay(self, R: I) -> I:
        """How fast log R falls, at least, in a unit of time or a step."""
        c = self(R)
        return 2 * c if self.step is None else -log(1 - 2 * self.step * c)

    def later(self, R: I, time: Fraction) -> tuple[I, I]:
        """A bound of R so much later, and of its logarithm: from level to level."""
        total, ratio = iv(0), log(iv(Fraction(4, 3)))
        level, logarithm = R, log(R)
        while True:
            speed = self.decay(level)
            span = ratio / speed
            if self.step is not None:
                span = iv(-(-span.b >> intervals.P))
            left = time - total
            if left.b < span.b or level.b < 1 << (intervals.P // 2):
                logarithm = logarithm - speed * clip(left, 0)
                return exp(logarithm), logarithm
            total += I(span.b, span.b)
            level, logarithm = level * Fraction(3, 4), logarithm - ratio


class Descent:
    """Gradient descent: within a radius of centres without error but for rounding."""

    def __init__(self, task: Task, start: Point, step: Fraction) -> None:
        self.task, self.at, self.step, self.radius, self.time = task, start, step, iv(0), Fraction(0)

    def to(self, time: Fraction) -> None:
        """Go on to a step. |I - eta R''| is the larger of 1 + eta |K| and eta (lambda^3 |theta|^2 + |K|) - 1."""
        cube = iv(self.task.most) ** 3
        while self.time < time:
            size, r = length(self.at), self.radius
            K = root(frobenius(self.task.slope(self.at))) + cube * (size * r + square(r) / 2)
            factor = largest([1 + self.step * K, self.step * (cube * square(size + r) + K) - 1])
            A, b = self.task.descended(self.at, self.step)
            rounding = root(summed(square(x - middle(x)) for x in [*flat(A), b]))
            self.at = [[middle(x) for x in row] for row in A], middle(b)
            self.radius = I(0, (r * factor + rounding).b)
            self.time += 1

    def box(self) -> Point:
        """Intervals around the place."""
        r = self.radius.b
        A, b = self.at
        if r == 0:
            return self.at
        return [[I(iv(x).a - r, iv(x).b + r) for x in row] for row in A], I(iv(b).a - r, iv(b).b + r)

    def sign(self) -> int:
        """That of b."""
        b = iv(self.box()[1])
        if b.a <= 0 <= b.b:
            raise Undecided("the sign of b")
        return 1 if b.a > 0 else -1


def training_convergence(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/training/training-convergence.md"""
    given = fields(g, "given", "covariance start training")
    asserts = fields(a, "asserts", "risk rate", "from length limit risks")
    hint = witness_of(w, "", "enclosed order")
    optional(natural, hint["order"], "witness.order", 1, 60)
    task = Task(given["covariance"])
    start = task.point(given["start"], "start")
    rule = fields(given["training"], "training", "rule", "step")
    flows = one_of(rule["rule"], "training.rule", "flow", "descent") == "flow"
    refuse(flows == (rule["step"] is not None), "training: a step belongs to descent alone")
    step = None if flows else positive(rule["step"], "training.step")

    def time(node: Any, where: str) -> Fraction:
        """A time, or a number of steps."""
        found = Fraction(0) if node is None else rational(node, where)
        refuse(found < 0 or (not flows and found.denominator > 1), f"{where}: no time, or no whole number of steps")
        return found

    t0 = time(asserts["from"], "from")
    t1 = t0 if hint["enclosed"] is None else time(hint["enclosed"], "enclosed")
    refuse(not flows and t1 > 100_000, "enclosed: more steps than a check takes")
    at_most(t1, t0, "witness.enclosed, against asserts.from")
    risk, rate = rational(asserts["risk"], "risk"), positive(asserts["rate"], "rate")
    refuse(risk < 0, "risk: negative")
    risks = [(time((f := fields(x, "risks", "at at_most"))["at"], "risks.at"), rational(f["at_most"], "risks.at_most"))
             for x in items(asserts["risks"], "risks")]  # fmt: skip
    refuse(any(x < 0 for _, x in risks), "risks: a negative bound")

    run = Flow(task, start) if flows else Descent(task, start, step or Fraction(1))
    for at, most in sorted(x for x in risks if x[0] <= t1):
        run.to(at)
        at_most(task.exact_risk(start) if at == 0 else enclosed(run), most, f"R at {at}")
    run.to(t1)
    first = task.exact_risk(start) if t1 == 0 else enclosed(run)
    top = iv(first)
    top = I(top.b, top.b)
    delta = invariant(run, start)
    of = Rate(task, delta, top, step)
    if top.b == 0:
        raise NotCovered("a start at a Bayes point")
    near_enough = of.delta + of.spread
    if near_enough.b >= 0:
        below(2 * iv(first), trace(task.exact), "2R, below tr Sigma")
    if step is not None:
        at_most(step * of.curvature(top), 1, "eta beta, at most 1")
    if t0 == t1:
        at_most(first, risk, f"R at {t0}")
        then = top
    else:
        then, exponent = of.later(top, t0 - t1)
        small(then, exponent, risk, f"the bound on R at {t0}")
    at_most(rate, of(then), "the rate that is proved")
    for at, most in risks:
        if at > t1:
            small(*of.later(top, at - t1), most, f"R at {at}")
    if asserts["length"] is not None:
        at_most(of.length(then), rational(asserts["length"], "length"), "the bound on the length")
    if asserts["limit"] is not None:
        limit_of(asserts["limit"], of, run.sign(), top)


def enclosed(run: Flow | Descent) -> I:
    """The risk where a run is."""
    return run.place()[2] if isinstance(run, Flow) else clip(run.task.risk(run.box()), 0)


def invariant(run: Flow | Descent, start: Point) -> Any:
    """|A|^2 - b^2 where a run is, which the flow conserves."""
    if isinstance(run, Flow) or run.time == 0:
        return frobenius(start[0]) - start[1] ** 2
    A, b = run.box()
    return summed(map(square, flat(A))) - square(b)


def small(value: I, logarithm: I, most: Fraction, what: str) -> None:
    """Prove that a positive number is at most a stated one, by logarithms where it is very small."""
    if 0 < most < Fraction(1, 2**40):
        at_most(logarithm, log(iv(most.numerator)) - log(iv(most.denominator)), what)
    else:
        at_most(value, most, what)


def limit_of(node: Any, of: Rate, sign: int, risk: I) -> None:
    """What is stated of the limit."""
    f, task = fields(node, "limit", "sign", "A b radius invariant shift"), of.task
    stated = 1 if one_of(f["sign"], "limit.sign", "positive", "negative") == "positive" else -1
    if stated != sign:
        at_most(1, 0, "limit.sign")
    reach = of.step * risk / of.kappa(risk) if of.step is not None else iv(0)
    delta = I((of.delta - reach).a, (of.delta + reach).b)
    if f["invariant"] is not None:
        b = fields(f["invariant"], "invariant", "lower upper")
        within(delta, rational(b["lower"], "lower"), rational(b["upper"], "upper"), "the invariant of the limit")
    if f["shift"] is not None:
        shifted(f["shift"], task.exact, task.inverse)
    parts = [f[k] is not None for k in ("A", "b", "radius")]
    refuse(any(parts) and not all(parts), "limit: A, b and radius belong together")
    if all(parts):
        radius = rational(f["radius"], "radius")
        refuse(radius < 0, "limit.radius: negative")
        end = falling(lambda x: bayes(x, frobenius(task.inverse)), delta) * sign
        at = task.point({k: f[k] for k in ("A", "b")}, "limit")
        at_most(apart(([[x / end for x in row] for row in task.inverse], end), at), radius, "the limit")
