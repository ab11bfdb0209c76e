"""Every length from one on, by ranges.

For a convex f >= 0, E f(T_n - T) <= n/(n - 1) E f(T_(n-1) - T): "One token fewer" of output-mean-square.md. So a mean
at n bounds those at n + 1, n + 2, .., m by m/n times it; after the last range a bound is needed that falls.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

from fields import listed, refuse
from intervals import I, iv, largest
from scalars import natural


def starts_of(node: Any, first: int, onwards: bool) -> list[int]:
    """The first length of each range."""
    starts = [natural(x, "from", 1) for x in listed(node, "from")]
    refuse(not onwards, "from: for lengths from one on")
    refuse(starts != sorted(set(starts)) or starts[0] != first, "from: lengths that rise from the first")
    return starts


def worst(starts: list[int], mean_at: Callable[[int], Any], falling: Callable[[int], Any]) -> I:
    """The largest bound of all ranges."""
    ranged = [iv(mean_at(n)) * Fraction(after - 1, n) for n, after in pairwise(starts)]
    return largest([*ranged, iv(falling(starts[-1]))])
