"""Solutions of z' = F(z), enclosed: a Taylor method that proves its own error.

One step of size h from the points within r of a centre c without error. Let p be the Taylor polynomial of degree n of
the solution z_c from c; then |F(p(t)) - p'(t)| <= e_n t^n + e_(n+1) t^(n+1) + ... Write mu(K) for a bound of the
logarithmic norm of F over a convex set K, the largest eigenvalue of the symmetric part of F', and m = max(mu, 0). With

    K = Ball(c, R),     D = sum_{k >= n} e_k h^(k+1) / (k + 1),     e^(m h) (h |F(c)| + r + D) < R,

every solution z from a point within r of c exists on [0, h], stays in K, and

    |z(t) - p(t)| <= e^(m t) (r + D) on [0, h],     |z(h) - p(h)| <= e^(mu h) r + e^(m h) D.

Proof. Let x and y be differentiable with x, y in K up to a time t and |x' - F(x)| <= a, y' = F(y). The segment between
them lies in K, so |x - y| grows at most at the rate mu |x - y| + a, and |x(t) - y(t)| <= e^(mu t) |x(0) - y(0)| +
e^(m t) int a. For x = c, a = |F(c)|, this says that z_c is within e^(m t) t |F(c)| of c; for x = z, that z is within
e^(mu t) r of z_c; for x = p, that p is within e^(m t) D of it. So none of them is at the boundary of K at any time
up to h before which all were in K; and a solution that stays in a ball goes on. QED

Nothing is wrapped into boxes: where distances do not grow, neither does the error, but for D and rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from flint import arb, arb_poly, ctx, fmpq, fmpz

from certattn.kernel.mathematics.balls import l2_norm
from certattn.kernel.mathematics.enclosure import Enclosure, around

Vector = list[arb]

# Steps of a trajectory; a checker computes some hundreds in a second.
MOST_STEPS = 20_000
# K is a little larger than what has to be in it, and is tried so often before the step is halved.
_ROOM = fmpq(17, 16)
_TRIES = 4
# Near an equilibrium the solution may rest where that is so many times longer than a step, at most twice the error.
_FAR_LONGER = 64
# Halvings of a step before its start is given up.
_HALVINGS = 40
# Step sizes are written with so many bits, so that times stay short.
_SIZE_BITS = 8


class Field(Protocol):
    """F, as far as the method asks for it."""

    def coefficients(self, point: Vector, order: int) -> list[Vector]:
        """z_0, ..., z_order: the Taylor coefficients of the solution from a point."""

    def excess(self, coefficients: list[Vector], duration: arb) -> Vector:
        """Bounds e_n, e_(n+1), ... with |F(p(t)) - p'(t)| <= e_n t^n + e_(n+1) t^(n+1) + ... for 0 <= t <= duration."""

    def expansion(self, ball: Enclosure) -> arb:
        """A bound of the logarithmic norm of F over a ball."""


@dataclass(frozen=True)
class Arc:
    """A curve within `error` of the polynomial of these coefficients, where it is said to be."""

    coefficients: list[Vector]
    error: arb

    def at(self, t: arb) -> Enclosure:
        return _widened(value_at(self.coefficients, t), self.error)

    def over(self, middle: arb, half: arb) -> Enclosure:
        """All of it between middle - half and middle + half: the polynomial around the middle, term by term."""
        moved = moved_by(self.coefficients, middle)
        travel = sum((l2_norm(entry) * half**k for k, entry in enumerate(moved) if k > 0), arb(0))
        return _widened(moved[0], (self.error + travel).upper())

    def minus(self, point: Vector, slope: Vector) -> Arc:
        """Its difference from t -> point + t slope."""
        first, second, *rest = self.coefficients
        shifted = [[x - y for x, y in zip(*pair, strict=True)] for pair in ((first, point), (second, slope))]
        return Arc([*shifted, *rest], self.error)


@dataclass(frozen=True)
class Step:
    """For 0 <= t <= duration, z(first + t) is on the arc and in the ball `tube`; at last it is in `end`."""

    first: fmpq
    duration: fmpq
    arc: Arc
    tube: Enclosure
    end: Enclosure

    @property
    def last(self) -> fmpq:
        return self.first + self.duration

    def at(self, time: fmpq) -> Enclosure:
        """z at a time of the step."""
        return self.end if time == self.last else self.arc.at(arb(time - self.first))

    def over(self, first: fmpq, last: fmpq) -> Enclosure:
        """z at all times between two of the step."""
        return self.arc.over(arb((first + last) / 2 - self.first), arb((last - first) / 2))


@dataclass(frozen=True)
class Trajectory:
    """Enclosures at some times, as far as they were reached, and at the `end` of the last step.

    Later times were not reached because of the number of steps (`is_cut`), or as nothing more can be enclosed.
    """

    found: dict[fmpq, Enclosure]
    steps: int
    end: Enclosure
    is_cut: bool


def integrate(
    field: Field,
    start: Enclosure,
    times: Sequence[fmpq],
    order: int,
    most_steps: int = MOST_STEPS,
    watch: Callable[[Step], None] | None = None,
) -> Trajectory:
    """Enclosures of z at the times, which are >= 0, for every z(0) of `start`; `watch` is shown every step."""
    found = {time: start for time in times if time == 0}
    waiting = sorted(time for time in set(times) if time > 0)
    count, end = 0, start
    for step in steps(field, start, waiting[-1] if waiting else fmpq(0), order):
        if count == most_steps:
            return Trajectory(found, count, end, True)
        count, end = count + 1, step.end
        if watch is not None:
            watch(step)
        while waiting and waiting[0] <= step.last:
            time = waiting.pop(0)
            found[time] = step.at(time)
    return Trajectory(found, count, end, False)


def steps(field: Field, start: Enclosure, until: fmpq, order: int) -> Iterator[Step]:
    """Steps that follow each other from time 0 to `until`; fewer where nothing more can be enclosed."""
    time, current = fmpq(0), start
    while time < until:
        step = _step(field, current, time, until - time, order)
        if step is None:
            return
        yield step
        time, current = step.last, step.end


def _step(field: Field, start: Enclosure, time: fmpq, longest: fmpq, order: int) -> Step | None:
    """A step from an enclosure; None where none is proved."""
    taylor = _Taylor(field, start, order)
    duration = taylor.suggested(longest)
    if duration is None:
        return None
    patience = taylor.patience(longest)
    while patience is not None and patience >= _FAR_LONGER * duration:
        step = taylor.rest(time, patience)
        if step is not None:
            return step
        patience /= 2
    for _ in range(_HALVINGS):
        step = taylor.step(time, duration)
        if step is not None:
            return step
        duration /= 2
    return None


class _Taylor:
    """The Taylor polynomial at an enclosure, from which steps of any size begin."""

    def __init__(self, field: Field, start: Enclosure, order: int) -> None:
        self._field = field
        self._start = start
        self._coefficients = field.coefficients(start.centre, order)

    def suggested(self, longest: fmpq) -> fmpq | None:
        """A step after which the last terms are as small as rounding: any size is sound."""
        order = len(self._coefficients) - 1
        goal = l2_norm(self._start.centre).max(arb(1)) * arb(2) ** -ctx.prec
        lengths = {k: l2_norm(self._coefficients[k]).upper() for k in range(max(1, order - 1), order + 1)}
        if any(length.is_finite() is not True for length in lengths.values()):
            return None
        sizes = [(goal / length).root(k) for k, length in lengths.items() if (length > 0) is True]
        if all((size >= longest) is True for size in sizes):
            return longest
        return _shortened(min(size.lower() for size in sizes))

    def patience(self, longest: fmpq) -> fmpq | None:
        """How long it takes from the centre to move about as far as the error is large."""
        if (self._speed > 0) is not True:
            return longest
        size = self._start.error / self._speed
        return longest if (size >= longest) is True else _shortened(size)

    def step(self, time: fmpq, duration: fmpq) -> Step | None:
        """The step of this size; None where it is not proved."""
        excess = self._field.excess(self._coefficients, arb(duration))
        return self._proved(time, duration, self._coefficients, excess, len(self._coefficients) - 1)

    def rest(self, time: fmpq, duration: fmpq) -> Step | None:
        """The same with the constant polynomial, whose excess is F(c): near an equilibrium, and far longer."""
        constant = [self._start.centre, [arb(0)] * len(self._start.centre)]
        return self._proved(time, duration, constant, [self._speed], 0)

    @cached_property
    def _speed(self) -> arb:
        return l2_norm(self._coefficients[1]).upper()

    def _proved(
        self, time: fmpq, duration: fmpq, coefficients: list[Vector], excess: Vector, order: int
    ) -> Step | None:
        h = arb(duration)
        defect = accumulated(excess, order, h)
        found = self._confined(h, h * self._speed + self._start.error + defect)
        if found is None:
            return None
        tube, rate = found
        within, after = carried(self._start.error, defect, h, rate)
        end = _widened(value_at(coefficients, h), after)
        if end.error.is_finite() is not True:
            return None
        return Step(time, duration, Arc(coefficients, within.upper()), tube, end)

    def _confined(self, h: arb, travel: arb) -> tuple[Enclosure, arb] | None:
        """K and mu(K), with e^(m h) travel < R proved; None where none of a few R is."""
        rounding = arb(2) ** -ctx.prec
        radius = (travel * _ROOM + rounding).upper()
        for _ in range(_TRIES):
            if radius.is_finite() is not True:
                return None
            ball = Enclosure(self._start.centre, radius)
            rate = self._field.expansion(ball)
            reached = (h * rate.max(arb(0))).exp() * travel
            if (reached < radius) is True:
                return ball, rate
            radius = (reached * _ROOM + rounding).upper()
        return None


def accumulated(bounds: Vector, order: int, h: arb) -> arb:
    """D: the integral over [0, h] of sum_k e_k t^k, k from the order on."""
    return sum((bound * h ** (order + i + 1) / (order + i + 1) for i, bound in enumerate(bounds)), arb(0))


def carried(error: arb, defect: arb, h: arb, rate: arb) -> tuple[arb, arb]:
    """Bounds of the error r in a step: e^(m h) (r + D) all through it, and e^(mu h) r + e^(m h) D at its end."""
    growth = (h * rate.max(arb(0))).exp()
    return growth * (error + defect), (h * rate).exp() * error + growth * defect


def value_at(coefficients: list[Vector], t: arb) -> Vector:
    """p(t), by Horner's rule."""
    value = coefficients[-1]
    for entry in reversed(coefficients[:-1]):
        value = [x * t + y for x, y in zip(value, entry, strict=True)]
    return value


def moved_by(coefficients: list[Vector], t: arb) -> list[Vector]:
    """The coefficients of s -> p(t + s)."""
    entries = [arb_poly(list(entry))(arb_poly([t, 1])) for entry in zip(*coefficients, strict=True)]
    return [[entry[k] for entry in entries] for k in range(len(coefficients))]


def _widened(box: Vector, error: arb) -> Enclosure:
    """What is within the error of a point of the box."""
    found = around(box)
    return Enclosure(found.centre, (found.error + error).upper())


def _shortened(size: arb) -> fmpq | None:
    """A dyadic number of a few bits, a little below; None where that is not a positive number."""
    below = size.lower()
    if below.is_finite() is not True or (below > 0) is not True:
        return None
    mantissa, exponent = below.man_exp()
    surplus = max(0, mantissa.bit_length() - _SIZE_BITS)
    return fmpq(fmpz(mantissa) >> surplus) * fmpq(2) ** (int(exponent) + surplus)
