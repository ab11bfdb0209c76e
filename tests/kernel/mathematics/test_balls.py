"""Balls: precision that is put back, exact numbers lifted, norms that never turn nothing into something."""

from __future__ import annotations

import itertools

import pytest
from flint import arb, ctx, fmpq
from hypothesis import given, settings
from hypothesis import strategies as st
from independent_means import contains, is_sharp
from mpmath import mp, mpf

from certattn.kernel.mathematics.balls import (
    NORMS,
    l2_norm,
    linf_norm,
    row_of_balls,
    scale_ball,
    table_of_balls,
    working_precision,
)
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import real_root

NAN, INFINITY, LINE = arb("nan"), arb("+inf"), arb("[0 +/- inf]")


def test_the_precision_is_put_back() -> None:
    before = ctx.prec
    with working_precision(777):
        assert ctx.prec == 777
        with working_precision(64):
            assert ctx.prec == 64
        assert ctx.prec == 777
    assert ctx.prec == before


def test_the_precision_is_put_back_after_an_exception() -> None:
    before = ctx.prec
    with pytest.raises(RuntimeError), working_precision(777):
        raise RuntimeError
    assert ctx.prec == before


def test_the_comparison_that_other_tests_rely_on_notices_an_error() -> None:
    with mp.workprec(1000):
        third = mpf(1) / 3
        with working_precision(300):
            assert contains(arb(fmpq(1, 3)), third)
            assert not contains(arb(fmpq(1, 3)) + arb((1, -290)), third)
            assert not contains(arb((1, -1000)), mpf(0))
            assert contains(arb(0), mpf(0))
            assert not contains(arb(0), mpf(2) ** -1000)
        assert contains(NAN, third)
        assert not any(is_sharp(ball, 1) for ball in (NAN, INFINITY, LINE, arb(1, 1)))


def test_scales_are_enclosed() -> None:
    for bits in (20, 64, 333):
        with working_precision(bits), mp.workprec(1000):
            assert contains(scale_ball(fmpq(1, 3)), mpf(1) / 3)
            assert contains(scale_ball(real_root(fmpq(1, 32))), 1 / mp.sqrt(32))
            assert is_sharp(scale_ball(real_root(fmpq(1, 32))), bits - 3)
            quarter = scale_ball(real_root(fmpq(1, 4)))
            assert quarter.is_exact()
            assert quarter == fmpq(1, 2)


def test_rows_and_tables_are_enclosed_and_zeros_stay_exact() -> None:
    matrix = ExactMatrix.rational([[fmpq(1, 3), fmpq(0)], [fmpq(10) ** 50 + 1, fmpq(-1, 7)]])
    with working_precision(64), mp.workprec(1000):
        for row, text in zip(row_of_balls(matrix.row(1)), (mpf(10) ** 50 + 1, -mpf(1) / 7), strict=True):
            assert contains(row, text)
        table = table_of_balls(matrix, scale_ball(real_root(fmpq(2))))
        assert contains(table[0][0], mp.sqrt(2) / 3)
        assert contains(table[1][0], mp.sqrt(2) * (mpf(10) ** 50 + 1))
        assert contains(table[1][1], -mp.sqrt(2) / 7)
        assert table[0][1].is_exact()
        assert table[0][1] == 0


# -- norms


def test_norms_by_hand() -> None:
    with working_precision(64):
        vector = [arb(3), arb(-4)]
        assert l2_norm(vector) == 5
        assert linf_norm(vector) == 4
        assert l2_norm([arb(0), arb(0)]) == 0
        assert linf_norm([arb(0)]) == 0


@pytest.mark.parametrize("norm", NORMS.values(), ids=NORMS.keys())
@pytest.mark.parametrize("nothing", [NAN, INFINITY, -INFINITY, LINE], ids=["nan", "+inf", "-inf", "the line"])
def test_a_vector_with_an_entry_that_says_nothing_has_no_norm(norm: object, nothing: arb) -> None:
    others = [arb(0), arb(2), arb(0, 1)]
    with working_precision(64):
        for position in range(4):
            vector = [*others[:position], nothing, *others[position:]]
            found = norm(vector)  # type: ignore[operator]
            assert found.is_finite() is not True
            assert not (found <= 10**9)
        found = norm([nothing])  # type: ignore[operator]
        assert found.is_finite() is not True


@pytest.mark.parametrize("norm", NORMS.values(), ids=NORMS.keys())
@pytest.mark.parametrize("bits", [2, 30, 31, 53, 64, 65, 333])
def test_a_norm_is_proved_not_to_be_negative(norm: object, bits: int) -> None:
    for radius in ((1, -900), (3, -77), (2**40 - 1, 3)):
        for middle in (arb(0), arb((1, -1000)), arb((-5, -81)), arb(-7)):
            with working_precision(bits):
                found = norm([arb(middle, arb(radius))] * 3)  # type: ignore[operator]
                assert (found >= 0) is True
                # The radius of a ball has 30 bits, so that with fewer its other end is rounded.
                assert bits < 30 or (-found <= fmpq(0)) is True
            assert found.upper() >= arb(radius).mid() - abs(middle)


numbers = st.fractions(-9, 9, max_denominator=30)
balls = st.tuples(numbers, st.fractions(0, 2, max_denominator=30))


@pytest.mark.heavy
@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(balls, min_size=1, max_size=4))
def test_norms_contain_the_norm_of_every_corner_and_the_middle(entries: list[tuple[object, object]]) -> None:
    with mp.workprec(600):
        pairs = [(as_fmpq(middle), as_fmpq(radius)) for middle, radius in entries]
        with working_precision(64):
            vector = [arb(middle, arb(radius).upper()) for middle, radius in pairs]
            l2, linf = l2_norm(vector), linf_norm(vector)
        for signs in itertools.product((-1, 0, 1), repeat=len(pairs)):
            exact = [middle + sign * radius for (middle, radius), sign in zip(pairs, signs, strict=True)]
            corner = [mpf(int(x.p)) / int(x.q) for x in exact]
            assert contains(l2, mp.sqrt(mp.fsum(x * x for x in corner)))
            assert contains(linf, max(abs(x) for x in corner))


def as_fmpq(value: object) -> fmpq:
    return fmpq(value.numerator, value.denominator)  # type: ignore[attr-defined]
