"""How exact a table-based exponential is, by the machine's own floats and mpmath: for `certificate_truth`.

The operations are Python's float operations, one by one. What they should give comes from mpmath. The
largest error found at some hundred scores is a lower bound of the largest error; an upper bound adds up
the parts of a textbook analysis, with the approximation error taken from a fine grid. Neither is a
proof. Nothing here comes from the kernel.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from mpmath import inf, mp, mpf

SIZE = 2048
# Scores and tails of the checker's own exponential.
OWN_SCORES, OWN_TAIL = Fraction(11000), Fraction(1, 2**39)
_UNIT = mpf(2) ** -53
_DIGITS = 60


@dataclass(frozen=True)
class Function:
    """The constants, all doubles, and the ranges of scores and tails."""

    high: float
    low: float
    inverse: float
    square: float
    cube: float
    table: tuple[float, ...]
    scores: Fraction
    tail: Fraction

    @property
    def constants(self) -> tuple[float, ...]:
        return self.high, self.low, self.inverse, self.square, self.cube


def own_constants() -> tuple[float, ...]:
    """What the checker's own constants are meant to be, from their definitions."""
    with mp.workdps(_DIGITS):
        step = mp.ln2 / SIZE
        high = mp.floor(step * 2**39) / 2**39
        moved = 2 * (mp.sqrt(2) - 1) * (step / 2) ** 2
        meant = (high, step - high, 1 / step, mpf(1) / 2 + moved / 24, mpf(1) / 6 + moved / 120)
        return tuple(float(constant) for constant in meant)


@cache
def own_table() -> tuple[float, ...]:
    with mp.workdps(_DIGITS):
        return tuple(float(mpf(2) ** (mpf(j) / SIZE)) for j in range(SIZE))


def error_at(function: Function, score: float, tail: float = 0.0) -> mpf:
    """The relative error at one score."""
    with mp.workdps(_DIGITS):
        try:
            k, value = _compute(function, score, tail)
        except (OverflowError, ValueError):
            return inf
        if not math.isfinite(value):
            return inf
        target = mp.exp(mpf(score) + mpf(tail) - (k // SIZE) * mp.ln2)
        return abs(mpf(value) / target - 1)


def _compute(function: Function, score: float, tail: float) -> tuple[int, float]:
    # Python's round is to even, as adding 1.5 * 2^52 is.
    k = round(score * function.inverse)
    r = (score - k * function.high) - k * function.low + tail
    cubic = (1.0 + (function.square + function.cube * r) * r) * r
    entry = function.table[k % SIZE]
    return k, entry + cubic * entry


def largest_error_found(function: Function, others: list[float]) -> mpf:
    """The largest relative error at many scores and tails, and at `others`."""
    tail = _inside(function.tail)
    errors = (
        error_at(function, score, x)
        for score in [*_scores(function), *others]
        for x in ((0.0, tail, -tail) if tail else (0.0,))
    )
    return max(errors)


def _scores(function: Function) -> Iterator[float]:
    limit, step = _inside(function.scores), math.log(2) / SIZE
    wanted = [i / 37 * limit for i in range(-37, 38)]
    wanted += [(j + offset) * step for j in range(0, SIZE, 16) for offset in (0, 0.4)]
    wanted += [(j + i / 60) * step for j in _worst_entries(function.table) for i in range(-29, 30)]
    wanted += [step / 2, -step / 2, 5e-324, 0.0, 1.0]
    return (score for score in wanted if abs(score) <= limit)


@cache
def _table_errors(table: tuple[float, ...]) -> list[mpf]:
    with mp.workdps(_DIGITS):
        return [abs(entry / mpf(2) ** (mpf(j) / SIZE) - 1) for j, entry in enumerate(table)]


def _worst_entries(table: tuple[float, ...]) -> list[int]:
    errors = _table_errors(table)
    return sorted(range(SIZE), key=errors.__getitem__)[-3:]


def _inside(limit: Fraction) -> float:
    """The largest double that is not above the limit."""
    nearest = float(limit)
    return nearest if Fraction(nearest) <= limit else math.nextafter(nearest, -math.inf)


def largest_error_possible(function: Function) -> mpf:
    """A bound on every relative error; infinite where the textbook analysis does not go through."""
    with mp.workdps(_DIGITS):
        step, limit = mp.ln2 / SIZE, _real(function.scores)
        high, low, inverse, c2, c3 = (mpf(constant) for constant in function.constants)
        largest = limit / step + 1
        drift = limit / step * (abs(inverse * step - 1) + 3 * _UNIT)
        grid = high * 2**39
        if drift > 0.1 or grid != mp.floor(grid) or abs(grid) * largest > 2**53:
            return inf
        if step + largest * abs(step - high) > mpf(2) ** -12:
            return inf
        reach = step * (mpf(1) / 2 + drift) + _real(function.tail)
        lost = largest * (abs(step - high - low) + abs(low) * _UNIT) + 3 * _UNIT * reach
        if reach + lost > 0.1:
            return inf
        radius = reach + lost
        approximation = mpf(0)
        for i in range(-200, 201):
            r = radius * i / 200
            approximation = max(approximation, abs(r * (1 + r * (c2 + c3 * r)) - mp.expm1(r)))
        rounding = 4 * _UNIT * radius * (1 + abs(c2) + abs(c3))
        inner = (1 + max(_table_errors(function.table))) * (
            1 + (1.01 * approximation + rounding + lost) * (1 + 2 * radius)
        )
        return inner * (1 + _UNIT) - 1


def _real(value: Fraction) -> mpf:
    return mpf(value.numerator) / mpf(value.denominator)
