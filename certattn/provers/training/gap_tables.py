"""Tables of a convex function above E sum p_i^2, for `risk-gap`: the curve up to a node, then a line up to 1.

The collision probability q grows first faster, then slower. The least convex function above it depends on what it is
averaged with: it follows q up to some node and goes on as the line that touches q farther out. All such nodes are
tried. Values lie above q by what q may exceed its chords by.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import ceil, log

from flint import arb, fmpq

from certattn.kernel.errors import NotProvedError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.softmax_powers import PowerSums
from certattn.kernel.mathematics.weight_growth import MOST_CONCAVE
from certattn.kernel.theorems.training.risk_gap import Tabulated, outer_moment, ramp_average
from certattn.provers.rounding import as_float

# Nodes are so far apart; beyond the last of the curve up to 2^_DOUBLINGS times that.
STEP = fmpq(1, 4)
_DOUBLINGS = 5
# q at the nodes, to about 1e-9 of it, and how far values stay above it.
_BITS = 32
_ROOM = 1e-7
_MOST_NODES = 2000

# An objective of M_0 = E Q and M_1 = E[Q g^2].
Objective = Callable[[float, float], float]


@cache
def collision(length: int, variance: fmpq) -> float:
    """An upper bound of q, by a hair."""
    found: float = float(PowerSums(length, variance, 2, _BITS).mean(2).upper())
    return found


@dataclass(frozen=True)
class _Curve:
    """Integer values over the nodes k STEP, in units of `unit`; above q, with convex growth."""

    unit: fmpq
    values: list[int]

    def growths(self) -> list[int]:
        return [b - a for a, b in pairwise(self.values)]


def tabulated(length: int, scale: arb, objective: Objective) -> Tabulated:
    """A table for prompts of this length, with a small objective of its averages for r^2 = `scale`."""
    unit = fmpq(1, 10 ** (9 + len(str(length))))
    needed = _needed(length, unit)
    curve = _Curve(unit, _convex(needed))
    last, growth = _best(curve, needed, scale, objective)
    return _with_line(length, curve, last, growth)


def _needed(length: int, unit: fmpq) -> list[int]:
    """At the nodes: q, and by how much it may exceed a chord on either side."""
    count = ceil((2.2 * log(length) + 2) / as_float(STEP))
    q = [collision(length, k * STEP) for k in range(count + 1)]
    bend = as_float(MOST_CONCAVE * STEP * STEP / 8)
    right = [*q[1:], q[-1]]
    return [ceil((here + bend * there) * (1 + _ROOM) / as_float(unit)) for here, there in zip(q, right, strict=True)]


def _convex(needed: list[int]) -> list[int]:
    """The least values at or above, growing ever faster, from left to right."""
    values, growth = needed[:1], 0
    for value in needed[1:]:
        growth = max(growth, value - values[-1])
        values.append(values[-1] + growth)
    return values


def _best(curve: _Curve, needed: list[int], scale: arb, objective: Objective) -> tuple[int, int]:
    """The last node of the curve, and what the line grows by on every step."""
    with working_precision(64):
        ramps = [[_ramp(j, k * STEP, scale) for k in range(len(needed))] for j in (0, 1)]
        plain = [float(outer_moment(j, arb(0))) for j in (0, 1)]
    unit, growths = as_float(curve.unit), [0, *curve.growths()]
    averages = [curve.values[0] * unit * moment for moment in plain]
    found: tuple[float, int, int] | None = None
    for t in range(len(needed) - 1):
        ahead = max(-(-(value - curve.values[t]) // k) for k, value in enumerate(needed[t + 1 :], 1))
        line = max(growths[t], ahead)
        bends = (line - growths[t]) * unit / as_float(STEP)
        value = objective(*(average + bends * ramp[t] for average, ramp in zip(averages, ramps, strict=True)))
        if found is None or value < found[0]:
            found = (value, t, line)
        bends = (growths[t + 1] - growths[t]) * unit / as_float(STEP)
        averages = [average + bends * ramp[t] for average, ramp in zip(averages, ramps, strict=True)]
    assert found is not None
    return found[1], found[2]


def _ramp(k: int, start: fmpq, scale: arb) -> float:
    return float(ramp_average(k, arb(start), scale))


def _with_line(length: int, curve: _Curve, last: int, growth: int) -> Tabulated:
    """The curve up to its last node, and nodes on the line, as few as show that it is above q."""
    nodes = [k * STEP for k in range(last + 1)]
    values = [value * curve.unit for value in curve.values[: last + 1]]
    slope = growth * curve.unit / STEP
    while values[-1] < 1:
        if len(nodes) > _MOST_NODES:
            raise NotProvedError(
                f"a table for prompts of {length} tokens would have more than {_MOST_NODES} rows; take another "
                "majorant (--majorant logistic or power)"
            )
        step = _longest_step(length, nodes[-1], values[-1], slope)
        nodes.append(nodes[-1] + step)
        values.append(values[-1] + step * slope)
    return Tabulated(tuple(nodes), tuple(values))


def _longest_step(length: int, node: fmpq, value: fmpq, slope: fmpq) -> fmpq:
    here = as_float(value) - collision(length, node)
    for doubling in range(_DOUBLINGS, 0, -1):
        step: fmpq = STEP * 2**doubling
        there = collision(length, node + step)
        bend = as_float(MOST_CONCAVE * step * step / 8) * there * (1 + _ROOM)
        if min(here, as_float(value + step * slope) - there) > bend:
            return step
    return STEP
