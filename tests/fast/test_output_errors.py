"""Bounds of the errors of an output, against exact numbers that lie anywhere in the balls of the means."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb, fmpq

from certattn.fast import output_errors
from certattn.fast.balls import Ball
from certattn.fast.output_errors import Interval, OutputErrors
from certattn.kernel.errors import RefusedError
from certattn.kernel.mathematics.balls import working_precision

Floats = np.ndarray[Any, Any]
Table = list[list[Fraction]]
# Bits, and the exponent of the least normal number.
TYPES = {
    "float8_e4m3fn": (4, -6), "float8_e5m2": (3, -14), "bfloat16": (8, -126), "float16": (11, -14),
    "float32": (24, -126), "float64": (53, -1022),
}  # fmt: skip


def exact(table: Floats) -> Table:
    return [[Fraction(x) for x in row] for row in table.tolist()]


def inside(ball: Ball) -> Iterator[Table]:
    """Means that a ball may stand for: its middle, its ends, and numbers between."""
    middles, radii = exact(ball.middle), exact(ball.radius)
    rng = np.random.default_rng(1)
    for side in (0, 1, -1, None, None, None):
        yield [
            [
                x + r * (Fraction(int(rng.integers(-64, 65)), 64) if side is None else side)
                for x, r in zip(*rows, strict=True)
            ]
            for rows in zip(middles, radii, strict=True)
        ]


def ulp(size: Fraction, precision: int, least: int) -> Fraction:
    exponent = size.numerator.bit_length() - size.denominator.bit_length() if size else least
    exponent -= size < Fraction(2) ** exponent
    return Fraction(2) ** (max(exponent, least) - precision + 1)


def cases() -> Iterator[tuple[str, Floats, Ball]]:
    rng = np.random.default_rng(0)
    normal = rng.standard_normal
    for rows, columns in ((1, 1), (3, 5), (40, 8)):
        means = normal((rows, columns))
        for radius in (0.0, 1e-15, 1e-3):
            # Outputs as float16 has them, so that some errors lie below the radius, and some far above it.
            yield (
                f"{rows} x {columns}, radius {radius}",
                means.astype(np.float16).astype(float),
                Ball(means, np.full_like(means, radius) * rng.uniform(0, 1, means.shape)),
            )
    powers = np.ldexp(1.0, np.arange(-30, 30))[None] * np.array([[1.0], [-1.0]])
    for name, factor in (("on", 1.0), ("above", 1 + 2.0**-52), ("below", 1 - 2.0**-53)):
        for radius in (0.0, 2.0**-54, 2.0**-20):
            yield (
                f"{name} powers of two, radius {radius}",
                powers * (1 + 2.0**-9),
                Ball(powers * factor, np.abs(powers) * radius),
            )
    zeros = np.zeros((2, 3))
    yield "all is 0", zeros, Ball(zeros, zeros)
    yield "means of 0", np.full((2, 3), 2.0**-24), Ball(zeros, zeros)
    yield "means around 0", np.full((2, 3), 2.0**-24), Ball(zeros, zeros + 2.0**-25)
    yield "an output of 0", zeros, Ball(zeros + 1.5, zeros)
    for exponent in (-1074, -1060, -1023, -1022, -600, -537, -512):
        tiny = np.full((2, 3), math.ldexp(1.0, exponent)) * np.array([[1, 3, 5], [1.3, 1.7, 1.9]])
        yield f"errors of 2^{exponent}", zeros, Ball(tiny, zeros)
        yield f"errors of 2^{exponent} beside 1", zeros + 1, Ball(zeros + 1, tiny)
        yield f"errors of 2^{exponent} and 1", zeros, Ball(np.where(tiny > 2 * tiny[0, 0], tiny, 1.0), zeros)
    huge = normal((2, 3)) * 2.0**390
    yield "huge numbers", huge, Ball(huge * (1 + 2.0**-30), np.abs(huge) * 2.0**-40)
    yield "huge means, tiny outputs", zeros + 2.0**-300, Ball(huge, zeros)
    yield (
        "sizes of all kinds",
        np.array([[2.0**390, 1.0, 2.0**-1074]]),
        Ball(np.array([[2.0**389, 1 + 2.0**-52, 2.0**-1070]]), np.array([[0.0, 2.0**-53, 2.0**-1074]])),
    )


CASES = {name: (output, ball) for name, output, ball in cases()}


def holds(found: Interval, low: Fraction, high: Fraction) -> bool:
    """Whether an interval has all numbers from one to another; an end that is infinite, or none, says nothing."""
    below = not math.isfinite(found.low) or Fraction(found.low) <= low
    return below and (not math.isfinite(found.high) or high <= Fraction(found.high))


def wrong(output: Floats, ball: Ball) -> list[str]:
    """What the bounds say that is not so of means in the ball."""
    errors, stated, found = OutputErrors.of(output, ball), exact(output), []
    rows, columns = output.shape
    for means in inside(ball):
        off = [[abs(o - t) for o, t in zip(*pair, strict=True)] for pair in zip(stated, means, strict=True)]
        flat = [x for row in off for x in row]
        largest = max(flat)
        if not holds(errors.largest(), largest, largest):
            found.append("largest")
        row, column = errors.worst()
        assert 0 <= row < rows
        assert 0 <= column < columns
        square = sum(x * x for x in flat) / (rows * columns)
        if not holds(errors.mean_square(), square, square):
            found.append("mean square")
        squares = [(sum(x * x for x in e), sum(t * t for t in m)) for e, m in zip(off, means, strict=True)]
        relative = errors.relative()
        # A row without any error has the relative error 0.
        squares = [pair for pair in squares if any(pair)]
        if all(size for _, size in squares):
            quotient = max((e / size for e, size in squares), default=Fraction(0))
            if not (
                Fraction(relative.low) ** 2 <= quotient
                and (math.isinf(relative.high) or quotient <= Fraction(relative.high) ** 2)
            ):
                found.append("relative")
        elif math.isfinite(relative.high):
            found.append("relative to 0")
        for name, (precision, least) in TYPES.items():
            sizes = [abs(t) for row in means for t in row]
            units = max(x / ulp(size, precision, least) for x, size in zip(flat, sizes, strict=True))
            if not holds(errors.ulps(precision, least), units, units):
                found.append(name)
        for radius in {
            Fraction(0),
            largest,
            largest / 2,
            min(flat),
            Fraction(1, 10**400),
            sorted(flat)[len(flat) // 2],
        }:
            count = sum(x > radius for x in flat)
            if not holds(errors.beyond(fmpq(radius.numerator, radius.denominator)), Fraction(count), Fraction(count)):
                found.append(f"beyond {float(radius)}")
    return found


@pytest.mark.parametrize("name", CASES)
def test_the_bounds_hold(name: str) -> None:
    assert wrong(*CASES[name]) == []


def test_the_bounds_are_sharp() -> None:
    output, ball = CASES["40 x 8, radius 1e-15"]
    errors = OutputErrors.of(output, ball)
    for found in (errors.largest(), errors.relative(), errors.mean_square(), errors.ulps(11, -14)):
        assert 0 < found.low < found.high < found.low * (1 + 1e-9)
    assert errors.beyond(fmpq(1, 10**4)).low == errors.beyond(fmpq(1, 10**4)).high > 0


def test_intervals_as_balls() -> None:
    with working_precision(96):
        ball = Interval(1.0, 1 + 2.0**-52).ball()
        assert ball.contains(arb(1))
        assert ball.contains(arb(1) + arb(2) ** -52)
        root = Interval(2.0, 3.0).root()
        assert root.contains(arb(2).sqrt())
        assert root.contains(arb(3).sqrt())
        assert not Interval(1.0, math.inf).ball().is_finite()
        assert not Interval(math.inf, math.inf).ball().is_finite()
        assert not Interval(math.nan, 1.0).ball().is_finite()


def test_a_radius_between_doubles() -> None:
    found = Interval.around(fmpq(1, 3))
    assert Fraction(found.low) < Fraction(1, 3) < Fraction(found.high)
    assert Interval.around(fmpq(0)).low < 0 < Interval.around(fmpq(0)).high
    assert Interval.around(fmpq(1, 10**400)).high > 0
    with pytest.raises(RefusedError, match="beyond the range"):
        Interval.around(fmpq(10) ** 400)


def test_what_is_no_number_bounds_nothing() -> None:
    output, ball = np.ones((1, 2)), Ball(np.array([[1.0, np.nan]]), np.zeros((1, 2)))
    errors = OutputErrors.of(output, ball)
    assert errors.beyond(fmpq(1)).high >= 1
    for found in (errors.largest(), errors.relative(), errors.ulps(11, -14), errors.mean_square()):
        assert not math.isfinite(found.high)
        assert found.low == 0 or not math.isfinite(found.low)


# -- each bound is needed

true_unit, norms = output_errors._unit, np.linalg.norm
SABOTAGES: dict[str, tuple[str, Any]] = {
    "upper bounds go down": ("UP", 1 - 2.0**-40),
    "nothing is rounded down": ("DOWN", 1.0),
    "lower bounds go up": ("DOWN", 1 + 2.0**-40),
    "nothing underflows": ("UNDERFLOW", 0.0),
    "sums are less than they are": ("gamma", lambda terms: -(2.0**-30)),
    "one unit for all": ("_unit", lambda size, precision, least: np.full_like(size, 2.0 ** (least - precision + 1))),
    "units one bit too large": ("_unit", lambda size, *given: 2 * true_unit(size, *given)),
    "units one bit too small": ("_unit", lambda size, *given: true_unit(size, *given) / 2),
    "no number is subnormal": ("_unit", lambda size, precision, least: true_unit(size, precision, -1000)),
    "means are exact": ("difference", lambda left, right: Ball(left.middle - right.middle, 0 * right.radius)),
    "norms are exact": ("row_l2_norms", lambda rows: Ball(norms(rows.middle, axis=1), norms(rows.middle, axis=1) * 0)),
    "below 0 is below": ("_above_zero", lambda numbers: np.abs(numbers)),
}  # fmt: skip


@pytest.mark.parametrize("name", SABOTAGES)
def test_a_broken_part_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output_errors, *SABOTAGES[name])
    assert any(wrong(*case) for case in CASES.values())
