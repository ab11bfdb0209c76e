"""What the patterns of eight bits stand for, by counting: numbers follow each other in steps that double."""

from __future__ import annotations

import math


def _sizes(steps: int, first: float, finite: int) -> list[float]:
    """Of the patterns without a sign: `steps` numbers of a binade, the least number, and how many are finite."""
    sizes, step = [0.0], first
    for pattern in range(1, finite):
        sizes.append(sizes[-1] + step)
        # The binade of the least normal numbers has the steps of the subnormal ones.
        if pattern % steps == 0 and pattern >= 2 * steps:
            step *= 2
    return sizes


def _signed(sizes: list[float], others: list[float]) -> list[float]:
    positive = sizes + others
    return positive + [-size for size in positive]


FLOAT8 = {
    "float8_e4m3fn": _signed(_sizes(8, 2.0**-9, 127), [math.nan]),
    "float8_e5m2": _signed(_sizes(4, 2.0**-16, 124), [math.inf, math.nan, math.nan, math.nan]),
}
assert [max(size for size in FLOAT8[name] if math.isfinite(size)) for name in FLOAT8] == [448, 57344]
