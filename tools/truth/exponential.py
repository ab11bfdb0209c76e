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
from pathlib import Path
from typing import Any

from mpmath import inf, mp, mpf

from tools.truth.judgement import Judgement, Truth
from tools.truth.reading import NotAStatement, read_number, read_vector, require, require_record, to_real

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


def judge_exponential(given: Any, asserts: Any, witness: Any, folder: Path) -> Judgement:
    """True or false where the errors that are found, and a textbook bound, say so; `EQUAL` in between."""
    require_record(given, "given", {"constants", "table", "scores_up_to"}, {"tail_up_to"})
    require_record(asserts, "asserts", {"relative_error"}, {"used_by"})
    require_record(witness, "witness", set())
    names = ("L1", "L2", "inverse", "C2", "C3")
    require_record(given["constants"], "constants", set(names))
    constants = [_double(read_number(given["constants"][name])) for name in names]
    table = tuple(_double(entry) for entry in read_vector(given["table"], folder))
    require(len(table) == SIZE, "another number of entries")
    scores, tail = read_number(given["scores_up_to"]), Fraction(0)
    require(scores > 0, "no scores")
    if "tail_up_to" in given:
        tail = read_number(given["tail_up_to"])
        require(tail > 0, "no tail")
    function = Function(*constants, table, scores, tail)
    stated = asserts["relative_error"]
    require_record(stated, "relative_error", set(), {"at_most", "at"})
    require(len(stated) > 0, "nothing is stated")
    found: list[Judgement] = []
    at: list[float] = []
    if "at" in stated:
        require_record(stated["at"], "at", {"score", "at_least"})
        score, least = read_number(stated["at"]["score"]), read_number(stated["at"]["at_least"])
        require(least >= 0 and abs(score) <= scores, "at")
        at = [_double(score)]
        error = error_at(function, *at)
        found.append(_in_order("at", (_precise(least), _precise(least), error, error)))
    if "at_most" in stated:
        bound = read_number(stated["at_most"])
        require(bound >= 0, "a negative bound")
        low = largest_error_found(function, at)
        high = largest_error_possible(function)
        found.append(_in_order("at_most", (low, high, _precise(bound), _precise(bound))))
    if "used_by" in asserts:
        require(asserts["used_by"] == "kernel", "used by another")
        own = tuple(constants) == own_constants() and table == own_table()
        own = own and scores >= OWN_SCORES and (tail == 0 or tail >= OWN_TAIL)
        found.append(Judgement(Truth.TRUE if own else Truth.FALSE, 1.0, "used_by"))
    for truth in (Truth.FALSE, Truth.EQUAL):
        for judgement in found:
            if judgement.truth is truth:
                return judgement
    return min(found, key=lambda judgement: judgement.slack)


def _in_order(name: str, ends: tuple[mpf, mpf, mpf, mpf]) -> Judgement:
    """Whether what lies between the first two ends is at most what lies between the last two."""
    low, high, least, most = ends
    # Numbers of 60 digits: what agrees to 30 is equal.
    with mp.workdps(60):
        if high < least * (1 - mpf(10) ** -30) or high == least == 0:
            return Judgement(Truth.TRUE, float(1 - high / least) if least else 0.0, name)
        return Judgement(Truth.FALSE if low > most * (1 + mpf(10) ** -30) else Truth.EQUAL, 0.0, name)


def _precise(value: Fraction) -> mpf:
    with mp.workdps(60):
        return to_real(value)


def _double(value: Fraction) -> float:
    """A number that a double holds exactly."""
    try:
        nearest = float(value)
    except OverflowError:
        raise NotAStatement("a number beyond all doubles") from None
    require(Fraction(nearest) == value, "a number that is no double")
    return nearest
