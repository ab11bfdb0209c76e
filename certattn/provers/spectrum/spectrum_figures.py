"""What figures of spectra share: bars of singular values, and the curves of quarter circle laws."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from flint import arb

from certattn.kernel.errors import NotProvedError
from certattn.kernel.mathematics.reals import Real, describe
from certattn.kernel.theorems.spectrum.limit_law import EquivalentLaw
from certattn.kernel.theorems.spectrum.stated_matrix import Hint, StatedMatrix
from certattn.provers.spectrum.singular_values import spectra

Floats = np.ndarray[Any, np.dtype[np.float64]]
FILL, LAW, CIRCLE, POINT = "#c9d9e8", "#1f4e79", "#b5502b", "#111111"
# Curves at this precision have no error that could be seen.
BITS = 64
_POINTS, _FEWEST, _MOST = 400, 8, 60
# A law that ends so many times farther than all but a little of it would leave the rest no room.
_FAR, _LITTLE, _STEPS = 4.0, 0.02, 60


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


def axis_end(law: EquivalentLaw, others: float) -> float:
    """Where an axis ends that reaches `others` and the end of a law, or only most of it where that is far off."""
    edge = float(law.right_edge)
    low, high = 0.0, edge
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if float(law.tail(arb(middle))) > _LITTLE else (low, middle)
    seen = max(others, high)
    return 1.05 * (max(edge, others) if edge <= _FAR * seen else seen)


def say_what_is_beyond(axes: Any, law: EquivalentLaw, right: float, name: str = r"$\mu$") -> None:
    """Write into a figure how much of a law lies beyond its right end, and how far; at the working precision."""
    edge = float(law.right_edge)
    if edge > right:
        share = float(law.tail(arb(right)))
        text = f"a share of {share:.2g} of {name} lies beyond,\nup to {edge:.4g} $\\rightarrow$"
        axes.annotate(text, (0.99, 0.55), xycoords="axes fraction", ha="right", fontsize=9, color=LAW)


def in_maths(value: Real) -> str:
    """A number for a formula, whose exponent is a power of ten and no difference."""
    power = re.sub(r"(\d)e(-?\d+)", r"\1 \\cdot 10^{\2}", describe(value))
    return re.sub(r"(?<![\d.])1 \\cdot ", "", power)


def quarter_circle_density(x: arb, variance: arb) -> arb:
    """At x >= 0."""
    return (4 * variance - x * x).nonnegative_part().sqrt() / (arb.pi() * variance)


def circle_curve(variance: arb) -> Floats:
    """Points of the density of a quarter circle law, a row each."""
    ends = np.linspace(0, float(2 * variance.sqrt()), _POINTS)
    return np.array([(x, float(quarter_circle_density(arb(x), variance))) for x in ends])
