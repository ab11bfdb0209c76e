"""Weights that are cut off: moments, the law of their numbers over balls, and where the equation for the cut grows."""

from __future__ import annotations

import pytest
from flint import arb, fmpq

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.spectrum.limit_law import EquivalentLaw, TruncatedWeights
from certattn.provers.spectrum.equivalent_law import has_no_gap


def riemann(beta: float, tau: fmpq) -> tuple[arb, arb, arb]:
    """Bounds of E f, E g f and E f^2 by steps of the weight between g = -9 and 9 + 2 beta: f, g and f^2 grow."""
    steps, low, high = 4000, arb(-9), arb(9 + 2 * beta)
    total = [arb(0), arb(0), arb(0)]
    width = (high - low) / steps
    for k in range(steps):
        g = (low + width * k).union(low + width * (k + 1))
        # An enclosure of the density and of f on the step, by balls: wide, but around the truth.
        f = ((beta * g - beta * beta / 2).exp()).min(arb(tau))
        mass = width * (-g * g / 2).exp() / (2 * arb.pi()).sqrt()
        total = [total[0] + mass * f, total[1] + mass * g * f, total[2] + mass * f * f]
    # What lies beyond: below, f is less than e^-9 of a mass of 1e-18; above, at most tau^2 times g of one.
    rest = arb(0, 1e-14)
    return total[0] + rest, total[1] + rest, total[2] + rest


@pytest.mark.parametrize(("beta", "tau"), [(1.0, fmpq(5)), (1.5, fmpq(30)), (0.5, fmpq(1, 2)), (2.0, fmpq(3))])
def test_moments_lie_in_riemann_sums(beta: float, tau: fmpq) -> None:
    found = TruncatedWeights(fmpq(int(4 * beta * beta), 4), tau)
    sums = riemann(beta, tau)
    for moment, around in zip((found.mean, found.slope, found.second), sums, strict=True):
        assert around.contains(moment), (around, moment)
        assert around.rad() < 0.05 * (1 + abs(moment))


def test_a_high_cut_leaves_the_weights_as_they_are() -> None:
    cut, uncut = EquivalentLaw.truncated(fmpq(1), fmpq(1), fmpq(10) ** 40), EquivalentLaw.from_square(fmpq(1), fmpq(1))
    for x in ("1/10", "1", "29/10"):
        p, _, q = x.partition("/")
        at = arb(fmpq(int(p), int(q or 1)))
        assert cut.tail(at).overlaps(uncut.tail(at))
    assert cut.right_edge.overlaps(uncut.right_edge)


@pytest.mark.parametrize("tau", [fmpq(1, 10**200), fmpq(1, 10**6)])
def test_of_a_law_whose_numbers_may_not_be_positive_nothing_is_known(tau: fmpq) -> None:
    law = EquivalentLaw.truncated(fmpq(9, 4), fmpq(1, 2), tau)
    assert law.numbers.alpha2.is_finite() is not True
    tail = law.tail(arb(1))
    assert tail.contains(arb(0))
    assert tail.contains(arb(1))
    assert law.right_edge.is_finite() is not True
    assert law.gap is None
    assert not has_no_gap(law)


@pytest.mark.parametrize("lambda_", [fmpq(1), fmpq(1, 8)], ids=["no gap", "a gap"])
@pytest.mark.parametrize("spread", [1e-12, 1e-6, 1e-3], ids=str)
def test_a_law_of_balls_holds_every_law_of_their_points(lambda_: fmpq, spread: float) -> None:
    """Numbers of truncated laws come as balls: ends, tails and densities must hold those of the laws inside."""
    middle = TruncatedWeights(fmpq(1, 4), fmpq(4))
    alpha2, beta2 = middle.alpha2.mid(), middle.beta2.mid()
    wide = EquivalentLaw(arb(alpha2, spread * float(alpha2)), arb(beta2, spread * float(beta2)), arb(lambda_))
    places = [arb(fmpq(k, 16)) for k in range(30)] + [arb(fmpq(1, 2), 0.01)]
    for first in (-1, 0, 1):
        for second in (-1, 1):
            # Points of the balls, a hair inside of their ends.
            near = 0.999 * spread
            exact = EquivalentLaw(alpha2 * (1 + first * near), beta2 * (1 + second * near), arb(lambda_))
            for x in places:
                assert wide.tail(x).overlaps(exact.tail(x)), x
                assert wide.tail(x).contains(exact.tail(x.mid()).mid()), x
                assert wide.density(x).overlaps(exact.density(x.mid())), x
            assert wide.density_bound.overlaps(exact.density_bound)
            for known, other in ((wide.right_edge, exact.right_edge), *_ends(wide, exact)):
                assert known.is_finite() is not True or known.contains(other.mid()), (known, other)


def _ends(wide: EquivalentLaw, exact: EquivalentLaw) -> list[tuple[arb, arb]]:
    """The ends of a gap of both, where the wide one has proved ends; what it says of a gap is true of the other."""
    gap, other = wide.gap, exact.gap
    if has_no_gap(wide):
        assert has_no_gap(exact)
    if gap is None:
        return []
    assert other is not None
    return list(zip(gap, other, strict=True))


@pytest.mark.parametrize("tokens", [16, 200, 1000])
def test_from_where_growth_is_proved_it_grows(tokens: int) -> None:
    """t^2 - d m(t) on a grid, from the first t on at which d Q(c) <= (E f)^2; and before the largest zero it is < 0."""
    with working_precision(96):
        values, grows = [], []
        for k in range(1, 120):
            t = fmpq(k, 2)
            weights = TruncatedWeights(fmpq(9, 4), t)
            values.append(arb(t * t) - tokens * weights.variance)
            left, right = weights.growth(tokens)
            grows.append((left <= right) is True)
    start = grows.index(True)
    assert all(grows[start:])
    assert all(after > before for before, after in zip(values[start:], values[start + 1 :], strict=False))
    assert values[start] < 0
