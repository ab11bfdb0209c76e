"""The image of a Gaussian law under an affine map, beside a stated one: obligations over the rationals.

z ~ N(m_z, S_z) is mapped by z -> b + s A z to N(b + s A m_z, s^2 A S_z A').
"""

from __future__ import annotations

from flint import fmpq

from certattn.kernel.decide.verdict import Obligation, identical
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.laws import Gaussian
from certattn.kernel.mathematics.operator import AffineMap
from certattn.kernel.mathematics.reals import square


def pushforward_obligations(stated: Gaussian, law: Gaussian, affine: AffineMap) -> list[Obligation]:
    """That `stated` is the image of `law`: mean and covariance."""
    covariance = ExactMatrix.rational(law.covariance)
    true_covariance = (affine.matrix @ covariance @ affine.matrix.T).scaled(square(affine.scale))
    return [
        _mean_obligation(stated, law, affine),
        identical(
            "pushforward.covariance",
            "covariance = s^2 V Gamma U S_z U' Gamma V'",
            ExactMatrix.rational(stated.covariance),
            true_covariance,
        ),
    ]


def _mean_obligation(stated: Gaussian, law: Gaussian, affine: AffineMap) -> Obligation:
    """mean = V m + s V Gamma U m_z, where an irrational s leaves only one way to be rational."""
    name, sentence = "pushforward.mean", "mean = V m + s V Gamma U m_z"
    mean = ExactMatrix.row_vector(stated.mean)
    linear = ExactMatrix.row_vector(law.mean) @ affine.matrix.T
    if isinstance(affine.scale, fmpq):
        return identical(name, sentence, mean, affine.offset + linear.scaled(affine.scale))
    if linear.is_zero():
        return identical(name, sentence, mean, affine.offset)
    # The stated mean is rational and the true one is not: its irrational part must vanish.
    zero = ExactMatrix.zero(linear.rows, linear.columns)
    return identical(name, f"{sentence}, irrational part", zero, linear)
