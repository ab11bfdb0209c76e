"""Powers of balls, where those of the library find nothing."""

from __future__ import annotations

import pytest
from flint import arb, fmpq

from certattn.kernel.mathematics.functions import natural_power


@pytest.mark.parametrize("exponent", range(12))
def test_a_natural_power_of_a_ball_holds_the_powers_of_its_points(exponent: int) -> None:
    for ball in (arb(0, 1e-3), arb(1) / 3 - arb(1) / 3, arb(-2, 0.5), arb(0.1, 0.2), arb(0)):
        power = arb(natural_power(ball, exponent))
        assert power.is_finite()
        for point in (ball.lower(), ball.mid(), ball.upper()):
            assert power.contains(arb(natural_power(point.mid(), exponent)).mid())


def test_a_natural_power_of_a_rational_is_exact() -> None:
    assert [natural_power(fmpq(-2, 3), n) for n in range(4)] == [1, fmpq(-2, 3), fmpq(4, 9), fmpq(-8, 27)]
