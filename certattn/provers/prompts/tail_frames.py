"""Frames for the l2 norm: rational vectors u_c with sum u_c u_c' - I positive semidefinite.

Then |y|^2 <= sum <u_c, y>^2 for every y. The tight frame is the eigenbasis of the covariance that the
output's error has for long prompts, V E[w^2 (x - tau)(x - tau)'] V'; rounded to a few digits it is
stretched until the difference is proved to be positive semidefinite.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import arb, fmpq

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.prompts.random_prompts import RandomPrompt
from certattn.provers.rounding import doubles

Array = np.ndarray[Any, Any]

_BITS = 128
_STEP_BITS = 40
_DIGITS = 9
# Floats that agree up to this are taken for equal.
_EQUAL = 1e-7


def error_covariance(prompt: RandomPrompt) -> Array:
    """V ( C(2a) + (tau(2a) - tau(a)) (tau(2a) - tau(a))' ) V', which is E w^2 (x - tau)(x - tau)' up to a factor."""
    law, dimension = prompt.law.law.map(arb), prompt.dimension
    with working_precision(_BITS):
        tilt, step = prompt.tilt(), arb(2) ** -_STEP_BITS
        double = [2 * a for a in tilt]

        def mean(point: list[arb]) -> Array:
            return np.array([float(entry) for entry in law.tilted_mean(point)])

        def slope(axis: int) -> Array:
            ends = [[a + sign * step * (j == axis) for j, a in enumerate(double)] for sign in (1, -1)]
            up, down = (law.tilted_mean(point) for point in ends)
            return np.array([float((x - y) / (2 * step)) for x, y in zip(up, down, strict=True)])

        covariance = np.array([slope(axis) for axis in range(dimension)])
        shift = mean(double) - mean(tilt)
    values = doubles(prompt.values())
    return np.asarray(values @ (covariance + np.outer(shift, shift)) @ values.T)


def frame_of(prompt: RandomPrompt) -> tuple[ExactMatrix, Array]:
    """The frame, one vector per row, and the standard deviations of the error along it, up to a factor."""
    covariance = error_covariance(prompt)
    variances, basis = eigenbasis((covariance + covariance.T) / 2)
    stretched, spare = basis, 0.5 * 10.0**-_DIGITS
    while True:
        rows = [[fmpq(round(float(entry) * 10**_DIGITS), 10**_DIGITS) for entry in row] for row in stretched]
        frame = ExactMatrix.rational(rows)
        if (frame.T @ frame - ExactMatrix.identity(frame.columns)).is_positive_semidefinite():
            return frame, np.sqrt(np.maximum(variances, 0.0))
        spare *= 2
        stretched = basis * (1 + spare)


def eigenbasis(matrix: Array) -> tuple[Array, Array]:
    """Eigenvalues of a symmetric matrix and orthonormal eigenvectors, one per row: the same on every machine.

    Where eigenvalues agree, the basis is that of Gram and Schmidt from the projections of the coordinate
    vectors, the longest first; signs make the first entry that is not about 0 positive.
    """
    values, vectors = np.linalg.eigh(matrix)
    basis: list[Array] = []
    first = 0
    while first < len(values):
        last = first + 1
        while last < len(values) and values[last] - values[first] <= _EQUAL * max(abs(values[-1]), 1e-300):
            last += 1
        basis += _spanning(vectors[:, first:last] @ vectors[:, first:last].T, last - first)
        first = last
    return values, np.array(basis)


def _spanning(projection: Array, size: int) -> list[Array]:
    """An orthonormal basis of what a projection maps to."""
    found: list[Array] = []
    for _ in range(size):
        lengths = np.linalg.norm(projection, axis=1)
        row = projection[np.flatnonzero(lengths >= lengths.max() - _EQUAL)[0]]
        row = row / np.linalg.norm(row)
        lead = row[np.flatnonzero(np.abs(row) > _EQUAL)[0]]
        found.append(row * np.sign(lead))
        projection = projection - np.outer(row, row @ projection)
        projection = projection - np.outer(projection @ row, row)
    return found
