"""What multiplies the collision probability of the weights in the mean square error, as a function of the query.

For Gaussian tokens N(m, Gamma), the tilt a = s U z, b = Gamma a and q = E sum_i p_i^2,

    E |V (tau_hat - tau)|^2 <= q (tr(V Gamma V') + |V b|^2),
    s^2 |z|^2 E |V (C_hat - C)|_F^2 <= q s^2 |z|^2 B(a),      B of `covariance_error.covariance_square_bound`,

and q <= 1 / (1 + (L - 1) e^{-a'Gamma a}). Where <V b, V Gamma b> is not seen to be >= 0 for every b its absolute
value is replaced by (tr Gamma |V b|^2 + |V Gamma b|^2 / tr Gamma) / 2.
"""

from __future__ import annotations

from collections.abc import Callable

from flint import fmpq

from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.prompts.mathematics.covariance_error import CovarianceShape, covariance_square_bound
from certattn.kernel.theorems.prompts.mathematics.query_gaussians import QueryPolynomial, constant, quadratic
from certattn.kernel.theorems.prompts.proposition_inputs import Error, Setting

Mixed = Callable[[ExactMatrix, ExactMatrix, fmpq], ExactMatrix]


def error_polynomial(setting: Setting, error: Error) -> QueryPolynomial:
    """f with E |error|^2 <= q(z) f(z) at every query z."""
    V, Gamma = setting.read_out(error), setting.covariance
    if error is not Error.GRADIENT_U:
        slope = V @ Gamma @ setting.U
        return constant((V @ Gamma @ V.T).trace()) + quadratic(slope.T @ slope, setting.squared_scale)
    size = quadratic(ExactMatrix.identity(setting.U.columns), setting.squared_scale)
    bound: QueryPolynomial = covariance_square_bound(covariance_polynomials(setting, V, _size_of_mixed))
    return size * bound


def covariance_polynomials(setting: Setting, V: ExactMatrix, mixed: Mixed) -> CovarianceShape:
    """The six numbers of `CovarianceShape` as functions of the query; the last one as `mixed` gives it."""
    Gamma, factor = setting.covariance, setting.squared_scale
    shift = Gamma @ setting.U
    value_shift = V @ shift
    moved = V @ Gamma
    return CovarianceShape(
        cross=constant((moved @ moved.T).trace()),
        value_trace=constant((moved @ V.T).trace()),
        trace=constant(Gamma.trace()),
        value_shift=quadratic(value_shift.T @ value_shift, factor),
        shift=quadratic(shift.T @ shift, factor),
        mixed=quadratic(mixed(value_shift, moved @ shift, Gamma.trace()), factor),
    )


def _size_of_mixed(left: ExactMatrix, right: ExactMatrix, total: fmpq) -> ExactMatrix:
    """A matrix A with |<left z, right z>| <= z'Az; total = tr Gamma."""
    product = left.T @ right
    symmetric = (product + product.T).scaled(fmpq(1, 2))
    if symmetric.is_positive_semidefinite() or total == 0:
        return symmetric
    return balanced(left, right, total)


def balanced(left: ExactMatrix, right: ExactMatrix, total: fmpq) -> ExactMatrix:
    """(total |left z|^2 + |right z|^2 / total) / 2 as a form."""
    return (left.T @ left).scaled(total / 2) + (right.T @ right).scaled(1 / (2 * total))
