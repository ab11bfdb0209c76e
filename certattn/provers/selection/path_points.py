"""Minimisers over spheres in doubles: the comparators of `regularization-path`.

The excess loss is about sum_j m_j e^{-<z_j, p>}. On the sphere |p| = R write p = rho u + B y with rho =
sqrt(R^2 - |y|^2), u the max-margin direction and B an orthonormal basis of what is orthogonal to it. As <z_j, u> > 0
for all j, the logarithm of the sum is convex in y: Newton's method with halved steps finds its minimum.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_MOST_STEPS = 200
_MOST_HALVINGS = 60
# Steps that predict a decrease of the logarithm by less than this are the last.
_FINEST = 1e-28


def orthogonal_basis(direction: Array) -> Array:
    """An orthonormal basis, one vector per column, of what is orthogonal to a unit vector."""
    full, _ = np.linalg.qr(np.column_stack([direction, np.eye(len(direction))]))
    return np.asarray(full[:, 1:])


def path_point(
    differences: Array, masses: Array, direction: Array, radius: float, most_halvings: int = _MOST_HALVINGS
) -> Array:
    """The p with |p| = R and the least sum_j m_j e^{-<z_j, p>} on the side of u, to about double precision.

    Where a step is halved so often in vain, nothing is left but rounding.
    """
    sphere = _Sphere(differences, masses, direction, radius)
    y = np.zeros(sphere.basis.shape[1])
    for _ in range(_MOST_STEPS):
        value, gradient, hessian = sphere.derivatives(y)
        step = -np.linalg.lstsq(hessian, gradient, rcond=None)[0]
        slope = float(gradient @ step)
        if -slope <= _FINEST:
            break
        factor = 1.0
        for _ in range(most_halvings):
            if sphere.value(y + factor * step) <= value + 1e-4 * factor * slope:
                break
            factor /= 2
        else:
            break
        y = y + factor * step
    return sphere.point(y)


class _Sphere:
    """log sum_j m_j e^{-<z_j, p>} as a function of y."""

    def __init__(self, differences: Array, masses: Array, direction: Array, radius: float) -> None:
        self.basis = orthogonal_basis(direction)
        self.along = differences @ direction
        self.across = differences @ self.basis
        self.logs = np.log(masses)
        self.direction = direction
        self.radius = radius

    def point(self, y: Array) -> Array:
        return np.asarray(self._height(y) * self.direction + self.basis @ y)

    def value(self, y: Array) -> float:
        if float(y @ y) >= self.radius**2:
            return math.inf
        exponents = self._exponents(y)
        largest = float(exponents.max())
        return largest + math.log(float(np.exp(exponents - largest).sum()))

    def derivatives(self, y: Array) -> tuple[float, Array, Array]:
        """Value, gradient and Hessian."""
        exponents, height = self._exponents(y), self._height(y)
        weights = np.exp(exponents - exponents.max())
        weights /= weights.sum()
        slopes = np.outer(self.along, y) / height - self.across
        mean = weights @ slopes
        centred = slopes - mean
        bend = np.eye(len(y)) / height + np.outer(y, y) / height**3
        hessian = centred.T @ (weights[:, None] * centred) + float(weights @ self.along) * bend
        return self.value(y), mean, hessian

    def _height(self, y: Array) -> float:
        return math.sqrt(self.radius**2 - float(y @ y))

    def _exponents(self, y: Array) -> Array:
        return np.asarray(self.logs - self.along * self._height(y) - self.across @ y)
