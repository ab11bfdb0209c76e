"""Frames for the l2 norm: rational vectors u_c with sum u_c u_c' - I positive semidefinite.

Then |y|^2 <= sum <u_c, y>^2 for every y. The tight frame is the eigenbasis of the covariance that the
output's error has for long prompts, V E[w^2 (x - tau)(x - tau)'] V'; rounded to a few digits it is
stretched until the difference is proved to be positive semidefinite.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import arb, fmpq

from certattn.kernel.arithmetic.balls import working_precision
from certattn.kernel.arithmetic.exact_matrix import ExactMatrix
from certattn.kernel.arithmetic.functions import BALLS
from certattn.kernel.claims.random_prompts import RandomPrompt

Array = np.ndarray[Any, Any]

_BITS = 128
_STEP_BITS = 40
_DIGITS = 9


def error_covariance(prompt: RandomPrompt) -> Array:
    """V ( C(2a) + (tau(2a) - tau(a)) (tau(2a) - tau(a))' ) V', which is E w^2 (x - tau)(x - tau)' up to a factor."""
    law, dimension = prompt.law.law, prompt.dimension
    with working_precision(_BITS):
        tilt, step = prompt.tilt(), arb(2) ** -_STEP_BITS
        double = [2 * a for a in tilt]

        def mean(point: list[arb]) -> Array:
            return np.array([float(entry) for entry in law.tilted_mean(point, BALLS)])

        def slope(axis: int) -> Array:
            ends = [[a + sign * step * (j == axis) for j, a in enumerate(double)] for sign in (1, -1)]
            up, down = (law.tilted_mean(point, BALLS) for point in ends)
            return np.array([float((x - y) / (2 * step)) for x, y in zip(up, down, strict=True)])

        covariance = np.array([slope(axis) for axis in range(dimension)])
        shift = mean(double) - mean(tilt)
    values = np.array([[float(entry.p) / float(entry.q) for entry in row] for row in prompt.values().to_rows()])
    return np.asarray(values @ (covariance + np.outer(shift, shift)) @ values.T)


def frame_of(prompt: RandomPrompt) -> tuple[ExactMatrix, Array]:
    """The frame, one vector per row, and the standard deviations of the error along it, up to a factor."""
    covariance = error_covariance(prompt)
    variances, basis = np.linalg.eigh((covariance + covariance.T) / 2)
    stretched, spare = basis.T, 0.5 * 10.0**-_DIGITS
    while True:
        rows = [[fmpq(round(float(entry) * 10**_DIGITS), 10**_DIGITS) for entry in row] for row in stretched]
        frame = ExactMatrix.rational(rows)
        if (frame.T @ frame - ExactMatrix.identity(frame.columns)).is_positive_semidefinite():
            return frame, np.sqrt(np.maximum(variances, 0.0))
        spare *= 2
        stretched = basis.T * (1 + spare)
