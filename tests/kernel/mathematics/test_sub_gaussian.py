"""Means, covariances and sub-Gaussian constants of laws, against sums over their atoms and against MGFs."""

from __future__ import annotations

import numpy as np
import pytest
from flint import arb, fmpq

from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.laws import Atoms, Box, Gaussian, Law, Mixture, Rademacher, Radial, Shifted
from certattn.kernel.mathematics.sub_gaussian import is_centred, is_sub_gaussian, mean_and_covariance

half, third = fmpq(1, 2), fmpq(1, 3)
SIGNS, BOX = Rademacher([fmpq(1), fmpq(2)]), Box([fmpq(3), half])
NORMAL = Gaussian([fmpq(0), fmpq(0)], [[fmpq(2), fmpq(1)], [fmpq(1), fmpq(1)]])
ATOMS = Atoms([[fmpq(1), fmpq(0)], [fmpq(0), fmpq(1)], [fmpq(-1), fmpq(-1)]], [third, third, third])
POINT = Atoms([[fmpq(5), fmpq(7)]], [fmpq(1)])
MIXED = Mixture([NORMAL, POINT, SIGNS], [half, fmpq(1, 4), fmpq(1, 4)])
# The largest s^2 that is needed, where it is known.
VARIANCES: list[tuple[Law, fmpq]] = [
    (Radial(fmpq(9), 2, solid=False), fmpq(9, 2)), (Radial(fmpq(9), 4, solid=True), fmpq(3, 2)),
    (SIGNS, fmpq(4)), (BOX, fmpq(3)), (ATOMS, fmpq(2)), (Gaussian([fmpq(0)], [[fmpq(5)]]), fmpq(5)),
    (Mixture([SIGNS, BOX], [half, half]), fmpq(4)),
]  # fmt: skip


def entries(matrix: ExactMatrix) -> list[list[fmpq]]:
    return matrix.to_rows()


def test_covariances_of_the_simple_laws() -> None:
    assert entries(mean_and_covariance(SIGNS)[1]) == [[1, 0], [0, 4]]
    assert entries(mean_and_covariance(BOX)[1]) == [[3, 0], [0, fmpq(1, 12)]]
    assert entries(mean_and_covariance(ATOMS)[1]) == [[fmpq(2, 3), third], [third, fmpq(2, 3)]]
    assert entries(mean_and_covariance(POINT)[0]) == [[5, 7]]
    assert mean_and_covariance(POINT)[1].is_zero()


def test_a_centre_moves_the_mean_alone() -> None:
    far = Shifted(BOX, [fmpq(3), half])
    assert mean_and_covariance(far) == (ExactMatrix.row_vector([fmpq(3), half]), mean_and_covariance(BOX)[1])
    assert is_centred(far) is False
    assert is_sub_gaussian(far, fmpq(100)) is False
    balanced = Mixture([far, Shifted(BOX, [fmpq(-3), -half])], [half, half])
    assert is_centred(balanced) is True
    # Its components are not, and nothing else is known of such a mixture.
    assert is_sub_gaussian(balanced, fmpq(100)) is False


def test_a_mixture_adds_the_spread_of_the_means() -> None:
    mean, covariance = mean_and_covariance(MIXED)
    rng = np.random.default_rng(5)
    parts = [
        rng.multivariate_normal([0, 0], [[2, 1], [1, 1]], 200000), np.tile([5.0, 7.0], (100000, 1)),
        rng.choice([-1.0, 1.0], (100000, 2)) * [1, 2],
    ]  # fmt: skip
    tokens = np.concatenate(parts)
    assert [float(x.p) / float(x.q) for x in mean.row(0)] == pytest.approx(tokens.mean(axis=0), abs=0.02)
    found = [float(x.p) / float(x.q) for row in covariance.to_rows() for x in row]
    assert found == pytest.approx(np.cov(tokens.T).ravel(), rel=0.02)


@pytest.mark.parametrize(("law", "variance"), VARIANCES)
def test_sub_gaussian_constants_hold_and_are_the_smallest_that_are_taken(law: Law, variance: fmpq) -> None:
    assert is_sub_gaussian(law, variance)
    assert not is_sub_gaussian(law, variance - fmpq(1, 10**9))
    lifted = law.map(arb)
    rng = np.random.default_rng(6)
    for size in (0.01, 1.0, 10.0):
        tilt = [arb(float(x)) for x in size * rng.normal(size=law.dimension)]
        bound = arb(variance) * sum((a * a for a in tilt), arb(0)) / 2
        # Equal for a Gaussian, so only what is proved the other way round would be wrong.
        assert not lifted.log_mgf(tilt) > bound


def test_a_mixture_of_parts_that_are_not_centred_is_left_open() -> None:
    apart = Mixture([Atoms([[fmpq(1)]], [fmpq(1)]), Atoms([[fmpq(-1)]], [fmpq(1)])], [half, half])
    assert is_centred(apart)
    assert not is_sub_gaussian(apart, fmpq(100))


@pytest.mark.parametrize(
    ("law", "centred"), [(SIGNS, True), (BOX, True), (ATOMS, True), (POINT, False), (MIXED, False)]
)
def test_which_laws_are_centred(law: Law, centred: bool) -> None:
    assert is_centred(law) is centred
