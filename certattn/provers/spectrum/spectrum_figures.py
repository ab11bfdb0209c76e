"""What figures of spectra share: bars of singular values, and the curves of quarter circle laws."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

import numpy as np
from flint import arb

from certattn.kernel.errors import Binary64Error, NotProvedError
from certattn.kernel.mathematics.reals import Real, describe
from certattn.kernel.theorems.spectrum.limit_law import EquivalentLaw
from certattn.kernel.theorems.spectrum.stated_matrix import Hint, StatedMatrix
from certattn.provers.figures import BOUND, MARK, RUN
from certattn.provers.spectrum.singular_values import spectra

Floats = np.ndarray[Any, np.dtype[np.float64]]
FILL, LAW, CIRCLE, POINT = "#c9d9e8", RUN, BOUND, MARK
# Curves at this precision have no error that could be seen.
BITS = 64
_POINTS, _FEWEST, _MOST = 400, 8, 60
# A law that ends so many times farther than all but a little of it would leave the rest no room on a linear axis.
_FAR, _LITTLE, _STEPS = 4.0, 0.02, 60
_ROOTS, _ROOM = {2: "square", 4: "fourth", 8: "eighth", 16: "sixteenth"}, 0.25
_TICKS = 5


def drawn_values(matrix: StatedMatrix, hint: Hint | None) -> Floats:
    """All singular values, from the largest on: in doubles, or else middles of enclosures. Raises NotProvedError."""
    if matrix.stands_in_doubles:
        # An error of a double cannot be seen, and factors, which an enclosure needs, take four times as long.
        with suppress(Binary64Error, np.linalg.LinAlgError):
            return np.asarray(np.linalg.svd(matrix.dense().values, compute_uv=False))
    for _, spectrum in spectra(matrix, hint):
        values = np.array([float(value.mid()) for value in spectrum.singular.values()])
        if np.isfinite(values).all():
            return values
    raise NotProvedError("the singular values could not be enclosed: the inputs are too extreme")


def draw_bars(axes: Any, values: Floats, right: float) -> float:
    """A histogram of those up to `right`, as a share of all; the height of its highest bar."""
    end = min(right, 1.05 * float(values[0]) or right)
    bins = np.linspace(0, end, max(_FEWEST, min(_MOST, int(2 * np.sqrt(len(values))))))
    counts, _ = np.histogram(values, bins)
    heights = counts / (len(values) * np.diff(bins))
    axes.bar(bins[:-1], heights, np.diff(bins), align="edge", color=FILL, lw=0, label="singular values")
    return float(heights.max())


def show_whole(axes: Any, law: EquivalentLaw, others: float, name: str = "law") -> float:
    """The axis of singular values, from 0 to the end of a law and of the others; its right end.

    Where the law ends far off, the axis is one of roots, and how little lies there is written into the figure.
    At the working precision.
    """
    edge = float(law.right_edge)
    low, high = 0.0, edge
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if float(law.tail(arb(middle))) > _LITTLE else (low, middle)
    seen, right = max(others, high), 1.05 * max(edge, others)
    label = "singular value"
    if edge > _FAR * seen:
        root = next((k for k in _ROOTS if (seen / right) ** (1 / k) >= _ROOM), max(_ROOTS))
        axes.set_xscale("function", functions=(lambda x: np.abs(x) ** (1 / root), lambda y: np.abs(y) ** root))
        axes.set_xticks(sorted({float(f"{right * (k / _TICKS) ** root:.1g}") for k in range(_TICKS + 1)}))
        label = f"singular value (axis of {_ROOTS[root]} roots)"
        share = 100 * float(law.tail(arb(seen)))
        text = f"{share:.2g} % of the {name} beyond {seen:.3g},\nup to {edge:.4g}"
        axes.annotate(text, (0.99, 0.5), xycoords="axes fraction", ha="right", fontsize=9.5, color=LAW)
    axes.set_xlim(0, right)
    axes.set_xlabel(label)
    return right


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
