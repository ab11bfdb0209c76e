"""A figure of a certificate of `spectral-distance`: singular values, the equivalent density and a quarter circle."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from certattn.kernel.arithmetic.balls import working_precision
from certattn.kernel.claims.spectral_distance import CLAIM
from certattn.kernel.document.certificate import Certificate
from certattn.provers.equivalent_plot import density_curve
from certattn.provers.figures import canvas
from certattn.provers.spectrum_figures import BITS, CIRCLE, LAW, circle_curve, draw_bars, drawn_values

_SHARE = 0.98


def draw_certificate(certificate: Certificate, path: Path) -> None:
    """Draw the figure into a file. The 2 % of singular values that are largest may be beyond its right end."""
    problem = CLAIM.read(certificate)
    values = drawn_values(CLAIM.read_given(certificate)[0], None)
    with working_precision(BITS):
        law = problem.law.at_precision()
        curve = density_curve(law)
        uncut = None if problem.law.tau is None else density_curve(replace(problem.law, tau=None).at_precision())
        circle = circle_curve(law.numbers.variance)
        edge = float(law.right_edge())
    right = 1.05 * max(edge, float(np.quantile(values, _SHARE)))
    with canvas(path, (6.4, 3.6)) as (_, axes):
        highest = draw_bars(axes, values, right)
        axes.plot(*curve.T, color=LAW, lw=1.4, label=r"$\mu$" if uncut is None else r"$\mu$, truncated")
        if uncut is not None:
            axes.plot(*uncut.T, color=LAW, lw=1.1, ls=":", label="the law without a cut")
        axes.plot(*circle.T, color=CIRCLE, lw=1.2, ls="--", label="quarter circle of the same variance")
        axes.set_xlabel("singular value")
        axes.set_ylabel("density")
        axes.set_xlim(0, right)
        axes.set_ylim(0, 1.15 * max(highest, curve[:, 1].max()))
        axes.set_title(f"{len(values)} singular values", fontsize=10)
        axes.legend(frameon=False, fontsize=9)
