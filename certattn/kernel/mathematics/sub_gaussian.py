"""The mean and the covariance of a law of tokens, exactly, and how sub-Gaussian it is.

A centred law is sigma-sub-Gaussian where E e^{<u, x>} <= e^{sigma^2 |u|^2 / 2} for every u. What is
used here is sufficient, with the exact constant for a Gaussian:

    Gaussian      Gamma <= sigma^2 I
    signs c_j     c_j^2 <= sigma^2              cosh t <= e^{t^2/2}
    box c_j       c_j^2 / 3 <= sigma^2          sinh t / t <= e^{t^2/6}
    sphere, ball  R^2 / (2b) <= sigma^2         0F1(; b; z) <= e^{z/b}, as (b)_k >= b^k; b = d/2 or d/2 + 1
    atoms y_k     |y_k|^2 <= sigma^2            Hoeffding's lemma, |<u, y_k>| <= |u| |y_k|
    mixture       every component centred and sigma-sub-Gaussian
"""

from __future__ import annotations

from collections.abc import Sequence

from flint import fmpq

from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.laws import (
    Atoms,
    Box,
    Gaussian,
    Law,
    Mixture,
    Rademacher,
    Radial,
    Shifted,
    TruncatedGaussian,
    leaves,
)


def has_rational_moments(law: Law[fmpq]) -> bool:
    """Whether mean and covariance are rational numbers, as all but those of truncated Gaussians are."""
    parts = (part.law if isinstance(part, Shifted) else part for _, part in leaves(law, fmpq(1)))
    return not any(isinstance(part, TruncatedGaussian) for part in parts)


def mean_and_covariance(law: Law[fmpq]) -> tuple[ExactMatrix, ExactMatrix]:
    """E x (1 x d) and Cov x of a law that `has_rational_moments`."""
    if isinstance(law, Gaussian):
        return ExactMatrix.row_vector(law.mean), ExactMatrix.rational(law.covariance)
    if isinstance(law, Rademacher):
        return ExactMatrix.zero(1, law.dimension), _diagonal([c * c for c in law.sizes])
    if isinstance(law, Box):
        return ExactMatrix.zero(1, law.dimension), _diagonal([c * c / 3 for c in law.sizes])
    if isinstance(law, Radial):
        return ExactMatrix.zero(1, law.dimension), _diagonal([law.squared_radius / (2 * law.shape)] * law.dimension)
    if isinstance(law, Shifted):
        return ExactMatrix.row_vector(law.centre), mean_and_covariance(law.law)[1]
    if isinstance(law, Atoms):
        points = ExactMatrix.rational(law.points)
        return _mixed(law.weights, [points.take_rows([k]) for k in range(points.rows)], None)
    if isinstance(law, Mixture):
        means, spreads = zip(*map(mean_and_covariance, law.components), strict=True)
        return _mixed(law.weights, list(means), list(spreads))
    raise TypeError(f"no moments of {type(law).__name__}")


def is_sub_gaussian(law: Law[fmpq], variance: fmpq) -> bool:
    """Whether the conditions above show a centred law to be sigma-sub-Gaussian, sigma^2 = `variance`."""
    if isinstance(law, Gaussian):
        excess = ExactMatrix.identity(law.dimension).scaled(variance) - ExactMatrix.rational(law.covariance)
        return excess.is_positive_semidefinite()
    if isinstance(law, Rademacher):
        return all((c * c <= variance) is True for c in law.sizes)
    if isinstance(law, Box):
        return all((c * c <= 3 * variance) is True for c in law.sizes)
    if isinstance(law, Radial):
        return (law.squared_radius <= 2 * law.shape * variance) is True
    if isinstance(law, Atoms):
        return all((_squared(point) <= variance) is True for point in law.points)
    if isinstance(law, Mixture):
        return all(is_centred(part) and is_sub_gaussian(part, variance) for part in law.components)
    return False


def is_centred(law: Law[fmpq]) -> bool:
    """Whether E x = 0."""
    mean, _ = mean_and_covariance(law)
    return mean.is_zero()


def _mixed(
    weights: Sequence[fmpq], means: list[ExactMatrix], spreads: list[ExactMatrix] | None
) -> tuple[ExactMatrix, ExactMatrix]:
    """The law of total covariance: sum pi_r (C_r + m_r m_r') - m m', C_r = 0 where there are none."""
    size = means[0].columns
    mean, second = ExactMatrix.zero(1, size), ExactMatrix.zero(size, size)
    for r, weight in enumerate(weights):
        mean += means[r].scaled(weight)
        second += (means[r].T @ means[r]).scaled(weight)
        if spreads is not None:
            second += spreads[r].scaled(weight)
    return mean, second - mean.T @ mean


def _squared(point: Sequence[fmpq]) -> fmpq:
    return sum((x * x for x in point), fmpq(0))


def _diagonal(entries: list[fmpq]) -> ExactMatrix:
    size = len(entries)
    return ExactMatrix.rational([[entries[i] if i == j else fmpq(0) for j in range(size)] for i in range(size)])
