"""Differences, products and norms of balls against exact arithmetic."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb, fmpq

from certattn.fast import balls
from certattn.fast.attention import _as_ball
from certattn.fast.balls import (
    NORMS,
    Ball,
    arb_balls,
    difference,
    enclose,
    in_two_doubles,
    product,
    rounded,
    rounded_scale,
    row_l2_norms,
)
from certattn.kernel.errors import RefusedError
from certattn.kernel.mathematics.balls import l2_norm, scale_ball, table_of_balls, working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import Surd

Array = np.ndarray[Any, Any]
SIZES = (1.0, 1e-160, 1e150, 1e-310)


def some(rng: np.random.Generator, shape: tuple[int, ...], size: float, spread: float) -> Ball:
    """Middles of mixed sizes, so that sums cancel and vanish beside each other."""
    middle = rng.standard_normal(shape) * size * rng.choice([1, 1, 1e-8, -1e8 if size < 1e100 else -1], shape)
    return Ball(middle, np.abs(middle) * spread)


def corners(ball: Ball, rng: np.random.Generator) -> list[list[Fraction]]:
    """A point of the ball, exactly: each entry at an end of its interval, or in the middle."""
    sides = rng.integers(-1, 2, ball.middle.shape)
    rows = zip(ball.middle.tolist(), ball.radius.tolist(), sides.tolist(), strict=True)
    return [[Fraction(m) + Fraction(r) * s for m, r, s in zip(*row, strict=True)] for row in rows]


def holds(ball: Ball, exact: list[list[Fraction]]) -> bool:
    """Whether the ball contains an exact matrix, decided exactly."""
    rows = zip(ball.middle.tolist(), ball.radius.tolist(), exact, strict=True)
    return all(abs(Fraction(m) - e) <= Fraction(r) for row in rows for m, r, e in zip(*row, strict=True))


@pytest.mark.parametrize("spread", [0.0, 1e-12, 0.3])
@pytest.mark.parametrize("size", SIZES)
def test_differences_and_products(size: float, spread: float) -> None:
    rng = np.random.default_rng(7)
    for terms in (1, 2, 5, 40):
        left, other = some(rng, (3, terms), size, spread), some(rng, (3, terms), size, spread)
        right = some(rng, (terms, 4), 1.0, spread)
        for _ in range(5):
            a, b, c = corners(left, rng), corners(other, rng), corners(right, rng)
            assert holds(
                difference(left, other),
                [[x - y for x, y in zip(*rows, strict=True)] for rows in zip(a, b, strict=True)],
            )
            exact = [[sum(row[k] * c[k][j] for k in range(terms)) for j in range(4)] for row in a]
            assert holds(product(left, right), exact)


def test_a_product_near_its_bound() -> None:
    """Ties at every step: the bound of two terms is not three times too large."""
    tiny = 2.0**-53
    left = Ball(np.array([[1.0, tiny]]), np.zeros((1, 2)))
    right = Ball(np.array([[1.0], [1.0]]), np.zeros((2, 1)))
    found = product(left, right)
    assert holds(found, [[1 + Fraction(tiny)]])
    error = abs(Fraction(found.middle.item()) - 1 - Fraction(tiny))
    assert error * 5 > Fraction(found.radius.item())


@pytest.mark.parametrize("spread", [0.0, 1e-12, 0.3])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("norm", NORMS)
def test_norms(norm: str, size: float, spread: float) -> None:
    rng = np.random.default_rng(8)
    for terms in (1, 2, 7, 64):
        rows = some(rng, (4, terms), size, spread)
        found = NORMS[norm](rows)
        for _ in range(5):
            for index, row in enumerate(corners(rows, rng)):
                middle, radius = Fraction(found.middle[index].item()), Fraction(found.radius[index].item())
                low, high = max(middle - radius, Fraction(0)), middle + radius
                if norm == "linf":
                    assert low <= max(map(abs, row)) <= high
                else:
                    assert low**2 <= sum(x * x for x in row) <= high**2


def test_a_norm_is_sharp() -> None:
    rows = Ball(np.array([[3.0, 4.0], [3e-200, 4e-200], [3e200, 4e200]]), np.zeros((3, 2)))
    found = [row_l2_norms(Ball(rows.middle[i : i + 1], rows.radius[i : i + 1])) for i in range(3)]
    for ball, truth in zip(found, (5.0, 5e-200, 5e200), strict=True):
        assert abs(ball.middle[0] - truth) <= ball.radius[0] + 1e-15 * truth
        assert ball.radius[0] < 1e-14 * truth


def test_what_is_not_finite_gives_balls_that_decide_nothing() -> None:
    for bad in (np.nan, np.inf):
        rows = Ball(np.array([[1.0, bad]]), np.zeros((1, 2)))
        with np.errstate(invalid="ignore"):
            for norm in NORMS.values():
                (ball,) = arb_balls(norm(rows))
                assert ball.is_finite() is False


def test_too_many_terms_are_refused() -> None:
    count = balls._MOST_TERMS + 1
    wide = Ball(np.zeros((1, count)), np.zeros((1, count)))
    with pytest.raises(RefusedError):
        row_l2_norms(wide)


# -- conversions


@pytest.mark.parametrize("exponent", [0, -60, -300, -1000, -1073, -1080, 900])
def test_rational_numbers_are_rounded_to_the_nearest_double(exponent: int) -> None:
    numbers = [fmpq(n) * fmpq(2) ** exponent / 3 for n in (1, -2, 5, 10**18 + 1)]
    found = rounded(ExactMatrix.rational([numbers]))
    for number, double in zip(numbers, found[0].tolist(), strict=True):
        error = abs(Fraction(int(number.p), int(number.q)) - Fraction(double))
        assert error <= Fraction(2) ** -53 * abs(Fraction(double)) + Fraction(2) ** -1022


def test_what_is_no_double_is_refused() -> None:
    with pytest.raises(RefusedError):
        rounded(ExactMatrix.rational([[fmpq(10) ** 400]]))
    for scale in (fmpq(10) ** 400, fmpq(10) ** -400):
        with pytest.raises(RefusedError):
            rounded_scale(scale)


@pytest.mark.parametrize("scale", [fmpq(1), fmpq(-1, 3), Surd(fmpq(1, 32)), Surd(fmpq(2)), fmpq(1, 7 * 10**9)])
def test_a_scale_is_within_two_units(scale: Any) -> None:
    near = arb(rounded_scale(scale))
    with working_precision(300):
        exact = arb(scale.radicand).sqrt() if isinstance(scale, Surd) else arb(scale)
        assert abs(near - exact) <= arb(2) ** -52 * abs(exact)


@pytest.mark.parametrize("scale", [fmpq(1), Surd(fmpq(1, 32))])
@pytest.mark.parametrize("exponent", [0, -40, 300])
def test_two_doubles_hold_a_matrix_but_for_what_they_say_is_left(scale: Any, exponent: int) -> None:
    matrix = ExactMatrix.rational(
        [[fmpq(n) * fmpq(2) ** exponent / 3 for n in row] for row in ((1, -5, 7), (10, 0, 2))]
    )
    found = in_two_doubles(matrix, scale)
    with working_precision(600):
        for row, (head, tail, radius) in zip(table_of_balls(matrix, scale_ball(scale)), found, strict=True):
            left = l2_norm([x - arb(h) - arb(t) for x, h, t in zip(row, head.tolist(), tail.tolist(), strict=True)])
            assert left <= arb(radius)
            # No more is left than the rounding of the second double.
            assert arb(radius) <= arb(2) ** -104 * l2_norm(row)


def test_an_exact_matrix_is_in_its_ball_however_small() -> None:
    numbers = [fmpq(0), fmpq(1, 3), fmpq(-1, 3 * 2**1060), fmpq(1, 2**1080), fmpq(10) ** 300 / 7]
    ball = _as_ball(ExactMatrix.rational([numbers]))
    assert (ball.radius > 0).all()
    with working_precision(2000):
        for number, held in zip(numbers, arb_balls(Ball(ball.middle[0], ball.radius[0])), strict=True):
            assert held.contains(arb(number))


def test_arb_balls_there_and_back() -> None:
    with working_precision(200):
        rows = [[arb(2).sqrt(), arb(1) / 3, arb(0), arb("[1 +/- 0.25]"), arb(10) ** -400]]
    ball = enclose(rows)
    for entry, back in zip(rows[0], arb_balls(Ball(ball.middle[0], ball.radius[0])), strict=True):
        with working_precision(300):
            assert back.contains(entry)
