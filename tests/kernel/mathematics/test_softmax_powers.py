"""Moments of softmax weights: power sums of softmax over Gaussian scores."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from flint import arb, fmpq

from certattn.kernel.mathematics import softmax_powers
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.lognormal_laplace import lattice
from certattn.kernel.mathematics.softmax_powers import MOST_VARIANCE, PowerSums, Transforms, block_sums, placements

# E P_2 and E P_3 by mpmath double integrals over plain quadrature, 15 digits.
BY_MPMATH = [(3, fmpq(1), (2,), "0.481565720777222"), (50, fmpq(4), (2,), "0.182727368012853")]
MONOMIALS = [(2,), (3,), (2, 2), (4,), (2, 3), (2, 2, 2), (2, 4), (3, 3), (6,)]


def _close(ball: arb, text: str) -> bool:
    with working_precision(128):
        digits = len(text.split(".")[1])
        return bool(ball.overlaps(arb(text) + arb(0, 1) * arb(10) ** -digits))


def _width(ball: arb) -> arb:
    return ball.rad() / ball.mid()


@pytest.mark.parametrize(("length", "variance", "exponents", "truth"), BY_MPMATH)
def test_double_integrals(length: int, variance: fmpq, exponents: tuple[int, ...], truth: str) -> None:
    assert _close(PowerSums(length, variance, sum(exponents), 64).mean(*exponents), truth)


@pytest.mark.parametrize(("length", "deviation"), [(2, fmpq(2)), (5, fmpq(1)), (40, fmpq(3, 2))])
def test_simulation(length: int, deviation: fmpq) -> None:
    """Within 5 standard errors of 30,000 softmax vectors; several monomials of one table."""
    rng = np.random.default_rng(length)
    scores = np.exp(float(deviation.p) / float(deviation.q) * rng.normal(size=(30_000, length)))
    weights = scores / scores.sum(axis=1, keepdims=True)
    table = PowerSums(length, deviation**2, 6, 64)
    for exponents in MONOMIALS:
        sample = np.prod([(weights**k).sum(axis=1) for k in exponents], axis=0)
        error = 5 * sample.std() / len(sample) ** 0.5
        assert abs(float(table.mean(*exponents)) - sample.mean()) < error, exponents


def test_two_tokens_by_one_integral() -> None:
    """L = 2: P_2 = (1 + tanh(D/2)^2) / 2 with D ~ N(0, 2 v), a single integral."""
    mpmath.mp.dps = 25
    for text in ("1/9", "1", "4"):
        variance = fmpq(*(int(part) for part in (text + "/1").split("/")[:2]))
        spread = mpmath.sqrt(2 * mpmath.mpf(int(variance.p)) / int(variance.q))
        truth = mpmath.quad(
            lambda g, spread=spread: mpmath.npdf(g) * (1 + mpmath.tanh(spread * g / 2) ** 2) / 2, range(-14, 15, 2)
        )
        assert _close(PowerSums(2, variance, 2, 80).mean(2), mpmath.nstr(truth, 17))


@pytest.mark.parametrize("length", [2, 100, 10**6])
@pytest.mark.parametrize("variance", [fmpq(1, 10**6), fmpq(1), fmpq(4), fmpq(9)])
def test_narrow_and_narrower(length: int, variance: fmpq) -> None:
    low, high = (PowerSums(length, variance, 4, bits) for bits in (64, 96))
    for exponents in [(2,), (3,), (2, 2), (4,)]:
        coarse, fine = low.mean(*exponents), high.mean(*exponents)
        assert coarse.overlaps(fine)
        assert _width(coarse) < arb(10) ** -10
        assert _width(fine) < arb(10) ** -18


@pytest.mark.parametrize("variance", [fmpq(1, 100), fmpq(1), fmpq(16), fmpq(MOST_VARIANCE)])
@pytest.mark.parametrize("lengths", [(2, 9), (3, 10_000), (50, 10**9)])
def test_lengths_that_share_their_transforms(lengths: tuple[int, int], variance: fmpq) -> None:
    """From the first to the last length, and beyond both: the same as on a lattice of its own, and not much wider."""
    shared = Transforms(lengths, variance, 4, 24, 4)
    for length in (lengths[0], sum(lengths) // 2, lengths[1], 2, 100 * lengths[1]):
        alone, one = PowerSums(length, variance, 4, 48), PowerSums(length, variance, 4, 24, shared=shared)
        for exponents in [(2,), (3,), (2, 2)]:
            ball = one.mean(*exponents)
            assert ball.overlaps(alone.mean(*exponents)), exponents
            if lengths[0] <= length <= lengths[1]:
                assert ball.rad() < arb(2) ** -14 * ball.mid(), exponents


@pytest.mark.parametrize("bits", [53, 64, 200])
def test_accuracy_follows_the_precision(bits: int) -> None:
    width = _width(PowerSums(1000, fmpq(1), 2, bits).mean(2))
    assert width < arb(2) ** -(bits // 2)


@pytest.mark.parametrize("steps", [1, 3])
@pytest.mark.parametrize("length", [2, 50])
def test_bad_nodes_cost_width_and_never_the_truth(monkeypatch: pytest.MonkeyPatch, length: int, steps: int) -> None:
    """Too large steps, and nodes cut off on every side: still around the sharp value, and not useless."""
    for variance in (fmpq(1, 100), fmpq(1), fmpq(4)):
        sharp = PowerSums(length, variance, 4, 96)
        good = lattice((length, length), variance, 4, 24, 4)
        cut = (len(good.outer) // 8, len(good.inner) // 8)
        bad = [
            replace(lattice((length, length), variance, 4, 8 * steps, 4)),
            replace(good, steps=steps),
            replace(good, outer=good.outer[cut[0] :]),
            replace(good, outer=good.outer[: -cut[0]]),
            replace(good, inner=good.inner[cut[1] :]),
            replace(good, inner=good.inner[: -cut[1]]),
            replace(good, ceiling=good.ceiling // 2),
            replace(good, finer=1),
        ]
        for grid in bad:
            monkeypatch.setattr(softmax_powers, "lattice", lambda *_, grid=grid: grid)
            table = PowerSums(length, variance, 4, 64)
            for exponents in [(2,), (3,), (2, 2)]:
                assert table.mean(*exponents).overlaps(sharp.mean(*exponents)), (variance, grid)
        monkeypatch.undo()


@pytest.mark.parametrize("variance", [fmpq(1, 10**6), fmpq(1, 100), fmpq(1), fmpq(9)])
@pytest.mark.parametrize("cut", [1, 2])
def test_the_sums_of_all_nodes_are_those_of_each(variance: fmpq, cut: int) -> None:
    """As products of polynomials and one by one: the same to 10 digits, of themselves, from the first t to the last.

    With the ceiling lowered, what a product has more than the single sum is within the error of that.
    """
    with working_precision(96):
        grid = lattice((100, 100), variance, 2, 40, 2)
        grid = replace(grid, ceiling=grid.ceiling // cut)
        found = grid.transforms(0)[0]
        for j, together in zip(grid.outer, found, strict=True):
            alone = grid.transform(j)
            assert together.overlaps(alone)
            if cut == 1:
                assert abs(together.mid() - alone.mid()) < arb(10) ** -10 * alone.mid()
                assert together.rad() < arb(10) ** -10 * alone.mid() + 2 * alone.rad()


def test_exact_ends() -> None:
    for length in (1, 2, 10**6):
        equal = PowerSums(length, fmpq(0), 4, 64)
        assert equal.mean(2).overlaps(arb(fmpq(1, length)))
        assert _width(equal.mean(2, 2)) < arb(2) ** -60
    assert PowerSums(1, fmpq(3), 4, 64).mean(2, 2) == 1
    assert PowerSums(7, fmpq(3), 4, 64).mean() == 1
    assert PowerSums(7, fmpq(3), 2, 64).mean(1, 2, 1).overlaps(PowerSums(7, fmpq(3), 2, 64).mean(2))


def test_a_variance_beyond_the_lattice_leaves_what_always_holds() -> None:
    ball = PowerSums(10, fmpq(MOST_VARIANCE + 1), 2, 64).mean(2)
    assert ball.contains(arb(fmpq(1, 10)))
    assert ball.contains(arb(1))


def test_more_than_prepared() -> None:
    with pytest.raises(ValueError, match="prepared for degree 2"):
        PowerSums(10, fmpq(1), 2, 64).mean(2, 2)


def test_partitions_are_counted() -> None:
    """n indices agree in Bell(n) ways."""
    assert [sum(block_sums([2] * n).values()) for n in range(6)] == [1, 1, 2, 5, 15, 52]
    assert block_sums([2, 2, 3]) == Counter({(7,): 1, (3, 4): 1, (2, 5): 2, (2, 2, 3): 1})
    assert [placements(4, blocks) for blocks in range(6)] == [1, 4, 12, 24, 24, 0]


def test_identities_between_moments() -> None:
    """sum_i p_i = 1: P_2 falls with every power, and Cauchy-Schwarz and Jensen hold as they must."""
    table = PowerSums(20, fmpq(9, 4), 4, 64)
    assert table.mean(3) > table.mean(2, 2) > table.mean(2) ** 2
    assert table.mean(2) > table.mean(3) > table.mean(4)


@pytest.mark.parametrize("sums", [(2, 4), (4, 2), (3, 3), (2, 2, 2)])
@pytest.mark.parametrize("variance", [fmpq(1, 100), fmpq(1)])
def test_what_the_last_nodes_weigh_is_within_the_bound(
    monkeypatch: pytest.MonkeyPatch, variance: fmpq, sums: tuple[int, ...]
) -> None:
    """With the nodes cut off where the integrand is largest, and for the sums of blocks in either order."""
    length = len(sums)
    whole = PowerSums(length, variance, 6, 64)
    grid = lattice((length, length), variance, 6, 48, 6)
    for kept in (1, len(grid.outer) // 2, len(grid.outer) * 3 // 4):
        cut = replace(grid, outer=grid.outer[:kept])
        monkeypatch.setattr(softmax_powers, "lattice", lambda *_, cut=cut: cut)
        short = PowerSums(length, variance, 6, 64)
        with working_precision(128):
            rest = whole._partition(sums) - short._partition(sums)
            assert rest < short._right_tail(sums)
