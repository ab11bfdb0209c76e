"""A figure of a certificate of `linearization`: singular values of the remainder, and the quarter circle of alpha^2.

Bars are a histogram of all of them; the curve is the density of the law that they tend to.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.spectrum.linearization import THEOREM, alpha_square
from certattn.provers.figures import Target, canvas
from certattn.provers.spectrum.linearization import singular_values
from certattn.provers.spectrum.spectrum_figures import BITS, CIRCLE, FILL, POINT, circle_curve, in_maths
from certattn.provers.spectrum.spectrum_sources import is_uniform


def draw_certificate(certificate: Certificate, path: Target) -> None:
    """Draw the figure into a file."""
    problem = THEOREM.read(certificate)
    attention = problem.attention
    values = np.array(singular_values(problem))
    bins = int(np.clip(attention.size / 12, 5, 60))
    with canvas(path, (5.6, 3.8)) as (_, axes):
        if is_uniform(*attention.exact, causal=False):
            _draw_zeros(axes, attention.size)
        else:
            axes.hist(
                values, bins, density=True, color=FILL, edgecolor="white", lw=0.4, label=r"singular values of $M - L$"
            )
            axes.plot(values[0], 0, ls="", marker="|", ms=12, color=POINT, clip_on=False, label=r"$\|M - L\|$")
        title = rf"attention minus its linear part; $d = {attention.size}$, $d_{{qk}} = {attention.width}$"
        if attention.temperature is not None:
            with working_precision(BITS):
                circle = circle_curve(alpha_square(attention))
            label = r"quarter circle of variance $\alpha^2$"
            axes.plot(*circle.T, color=CIRCLE, lw=1.4, label=label)
            title += rf", $\beta = {in_maths(attention.temperature.beta)}$"
        axes.set_xlabel("singular value")
        axes.set_ylabel("density")
        axes.set_xlim(0, None)
        axes.set_ylim(0, None)
        axes.set_title(title)
        axes.legend()


def _draw_zeros(axes: Any, size: int) -> None:
    """Of keys that no query tells apart M and L are 0: no density, all mass at 0."""
    label = f"$M = L = 0$: all {size} singular values of $M - L$ are 0"
    axes.annotate(
        "", (0, 1), (0, 0), xycoords="axes fraction", arrowprops={"arrowstyle": "->", "color": POINT, "lw": 2}
    )
    axes.plot([0], [0], ls="", marker="o", ms=6, color=POINT, clip_on=False, label=label)
