"""The error of the kernel's exponential at given scores, against Arb at 400 bits."""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from certattn.fast.exponential import Work, exp_shifted
from certattn.kernel.mathematics.balls import working_precision

Floats = NDArray[np.float64]


def computed(scores: Floats, shift: Any, tails: Floats | None = None) -> Floats:
    """2^-K e^(s + tail) as the kernel computes it."""
    out = np.empty_like(scores)
    return exp_shifted(scores.copy(), shift, out, Work(scores.shape), tails)


def relative_errors(scores: Floats, shift: Any, tails: Floats | None = None) -> Floats:
    """|computed / (2^-K e^(s + tail)) - 1| at every score, rounded to a double."""
    values = computed(scores, shift, tails)
    shifts = np.broadcast_to(np.asarray(shift, np.float64), scores.shape)
    added = np.zeros_like(scores) if tails is None else tails
    flat = (array.ravel().tolist() for array in (values, scores, shifts, added))
    with working_precision(400):
        errors = [_error(*numbers) for numbers in zip(*flat, strict=True)]
    return np.array(errors).reshape(scores.shape)


def _error(value: float, score: float, shift: float, tail: float) -> float:
    exact = (arb(score) + arb(tail)).exp() / arb(2) ** int(shift)
    return float(abs(arb(value) / exact - 1))
