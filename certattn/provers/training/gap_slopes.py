"""Lines above what a direction of the query adds to the risk's gap over a ball, for `risk-gap`: nodes and slopes.

What a line costs is m r^2 / d and the largest of F(w) - m w, convex in m. Nodes lie close where F is near its line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from flint import fmpq

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.training.gap_lines import Gap, Known, Lines, added, product
from certattn.provers.rounding import as_float, upper_rational

BITS = 64
# b is a multiple of rho_b / _PARTS.
_PARTS = 24
# Nodes of the first look.
_COARSE = 64
# What F may lie above chords, in parts of its mean, where it is at its line; and of the distance to it elsewhere.
_LOOSE, _ROOM = 0.0005, 0.1
_SLOPE_DIGITS = 10**6
# Of the slopes that are left, a third is left out so many times.
_THIRDS = 40


def lines(length: int, gap: Gap) -> Lines:
    """Nodes and slopes with a small bound of the excess for prompts of this length."""
    with working_precision(BITS):
        scale = upper_rational(gap.scale)
        coarse = _empty(length, _rounded([k / _COARSE for k in range(1, _COARSE)], scale))
        nodes = _rounded(_places(gap, [added(gap, cell) for cell in coarse.cells(gap, BITS // 2)]), scale)
        found = _empty(length, nodes)
        cells = found.cells(gap, BITS // 2)
        slopes = tuple(_slope(gap, [added(part, cell) for cell in cells]) for part in found.parts(gap))
        return Lines(length, nodes, _slope(gap, [product(gap, cell) for cell in cells]), slopes)


def _empty(length: int, nodes: tuple[fmpq, ...]) -> Lines:
    return Lines(length, nodes, fmpq(0), (fmpq(0),) * _PARTS)


def _rounded(parts: Sequence[float], scale: fmpq) -> tuple[fmpq, ...]:
    """Nodes from 0 to the first multiple of 2^-k that is at least r^2, about at these parts of it."""
    unit = fmpq(1)
    while unit * 2**14 > scale:
        unit /= 2
    inner = {round(part * as_float(scale / unit)) for part in parts}
    last = int((scale / unit).ceil())
    return (fmpq(0), *(k * unit for k in sorted(inner) if 0 < k < last), last * unit)


def _arrays(known: Sequence[Known]) -> tuple[np.ndarray, ...]:
    """Left and right nodes, F at both, and how much it bends."""
    rows = [
        (as_float(k.cell.left), as_float(k.cell.right), float(k.first), float(k.last), float(k.bend)) for k in known
    ]
    return tuple(np.array(rows).T)


def _places(gap: Gap, coarse: Sequence[Known]) -> list[float]:
    """Parts of r^2, as close as what F may lie above a chord in between asks for."""
    left, right, first, last, bend = _arrays(coarse)
    slope, scale = as_float(_slope(gap, coarse, bends=0)), right[-1]
    heights = np.minimum(first - slope * left, last - slope * right)
    most = np.maximum(first - slope * left, last - slope * right).max()
    loose = _LOOSE * (most + slope * scale / gap.dimension) + _ROOM * (most - heights)
    width = np.sqrt(8 * loose / np.maximum(bend, 1e-300))
    found, at = [0.0], 0.0
    while at < scale:
        cell = min(int(np.searchsorted(right, at, side="right")), len(right) - 1)
        # One nu is for a cell, and the best is like w^(1/2).
        at += float(min(width[max(0, cell - 1) : cell + 2].min(), max(at / 8, scale / 512)))
        found.append(at / scale)
    return found


def _slope(gap: Gap, known: Sequence[Known], bends: int = 1) -> fmpq:
    """Of the line that costs least, or without `bends` would: the cost is convex."""
    left, right, first, last, bend = _arrays(known)
    bent, mean = bends * bend * (right - left) ** 2 / 8, float(gap.scale) / gap.dimension

    def cost(slope: float) -> float:
        return float(np.max(np.maximum(first - slope * left, last - slope * right) + bent)) + slope * mean

    most = float(np.max(np.abs(last - first) / (right - left)))
    return fmpq(round(_least(cost, 0.0, most) * _SLOPE_DIGITS), _SLOPE_DIGITS)


def _least(cost: Callable[[float], float], low: float, high: float) -> float:
    """Where a convex function is least."""
    for _ in range(_THIRDS):
        third = (high - low) / 3
        low, high = (low, high - third) if cost(low + third) <= cost(high - third) else (low + third, high)
    return (low + high) / 2
