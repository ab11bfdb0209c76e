"""What figures of spectra share: bars of singular values, and the curves of quarter circle laws."""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import arb

from certattn.kernel.arithmetic.quarter_circle import quarter_circle_density
from certattn.kernel.claims.matrix_inputs import StatedMatrix
from certattn.kernel.claims.singular_values import Hint
from certattn.kernel.errors import NotProvedError
from certattn.provers.singular_values import spectra

Floats = np.ndarray[Any, np.dtype[np.float64]]
FILL, LAW, CIRCLE, POINT = "#c9d9e8", "#1f4e79", "#b5502b", "#111111"
# Curves at this precision have no error that could be seen.
BITS = 64
_POINTS, _FEWEST, _MOST = 400, 8, 60


def drawn_values(matrix: StatedMatrix, hint: Hint | None) -> Floats:
    """Middles of enclosures of all singular values, from the largest on. Raises NotProvedError."""
    for _, spectrum in spectra(matrix, hint):
        values = np.array([float(value.mid()) for value in spectrum.singular.values()])
        if np.isfinite(values).all():
            return values
    raise NotProvedError("the singular values could not be enclosed: the inputs are too extreme")


def draw_bars(axes: Any, values: Floats, right: float) -> float:
    """A histogram of those up to `right`, as a share of all; the height of its highest bar."""
    bins = np.linspace(0, right, max(_FEWEST, min(_MOST, int(2 * np.sqrt(len(values))))))
    counts, _ = np.histogram(values, bins)
    heights = counts / (len(values) * np.diff(bins))
    axes.bar(bins[:-1], heights, np.diff(bins), align="edge", color=FILL, lw=0, label="singular values")
    return float(heights.max())


def circle_curve(variance: arb) -> Floats:
    """Points of the density of a quarter circle law, a row each."""
    ends = np.linspace(0, float(2 * variance.sqrt()), _POINTS)
    return np.array([(x, float(quarter_circle_density(arb(x), variance))) for x in ends])
