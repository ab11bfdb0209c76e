"""A figure of a certificate of `spectral-distance`: singular values, the equivalent density and a quarter circle."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.spectrum.spectral_distance import THEOREM, read_given
from certattn.provers.figures import Target, canvas
from certattn.provers.spectrum.equivalent_plot import density_curve, law_title
from certattn.provers.spectrum.spectrum_figures import (
    BITS,
    CIRCLE,
    LAW,
    circle_curve,
    draw_bars,
    drawn_values,
    show_whole,
)

_SHARE = 0.98


def draw_certificate(certificate: Certificate, path: Target) -> None:
    """Draw the figure into a file. The 2 % of singular values that are largest may be beyond its right end."""
    problem = THEOREM.read(certificate)
    values = drawn_values(read_given(certificate)[0], None)
    with working_precision(BITS):
        law = problem.law.at_precision()
        curve = density_curve(law)
        whole = None if problem.law.tau is None else replace(problem.law, tau=None).at_precision()
        uncut = None if whole is None else density_curve(whole)
        circle = circle_curve(law.numbers.variance)
        drawn = {"law": law} if whole is None else {"truncated law": law, "law without a cut": whole}
        others = max(float(circle[-1, 0]), float(np.quantile(values, _SHARE)))
        farthest = max(drawn, key=lambda name: float(drawn[name].right_edge))
    with canvas(path, (5.6, 3.8)) as (_, axes):
        with working_precision(BITS):
            right = show_whole(axes, drawn[farthest], others, farthest)
        highest = draw_bars(axes, values, right)
        axes.plot(*curve.T, color=LAW, lw=1.4, label="limit law" if uncut is None else "limit law, truncated")
        if uncut is not None:
            axes.plot(*uncut.T, color=LAW, lw=1.1, ls=":", label="limit law, not truncated")
        axes.plot(*circle.T, color=CIRCLE, lw=1.2, ls="--", label="quarter circle of its variance")
        axes.set_ylabel("density")
        axes.set_ylim(0, 1.15 * max(highest, curve[:, 1].max()))
        stated = problem.law
        which = law_title(stated.beta, stated.alpha2, stated.beta2, stated.lambda_, stated.tau)
        axes.set_title(f"{len(values)} singular values beside the limit law\n{which}")
        axes.legend()
