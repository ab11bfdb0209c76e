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
    axis_end,
    circle_curve,
    draw_bars,
    drawn_values,
    say_what_is_beyond,
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
        drawn = {r"$\mu$": law} if whole is None else {r"$\mu$, truncated,": law, "the law without a cut": whole}
        others = max(float(circle[-1, 0]), float(np.quantile(values, _SHARE)))
        right = max(axis_end(known, others) for known in drawn.values())
        farthest = max(drawn, key=lambda name: float(drawn[name].right_edge))
    with canvas(path, (6.4, 3.6)) as (_, axes):
        highest = draw_bars(axes, values, right)
        axes.plot(*curve.T, color=LAW, lw=1.4, label=r"$\mu$" if uncut is None else r"$\mu$, truncated")
        if uncut is not None:
            axes.plot(*uncut.T, color=LAW, lw=1.1, ls=":", label="the law without a cut")
        axes.plot(*circle.T, color=CIRCLE, lw=1.2, ls="--", label="quarter circle of the same variance")
        with working_precision(BITS):
            say_what_is_beyond(axes, drawn[farthest], right, farthest)
        axes.set_xlabel("singular value")
        axes.set_ylabel("density")
        axes.set_xlim(0, right)
        axes.set_ylim(0, 1.15 * max(highest, curve[:, 1].max()))
        stated = problem.law
        which = law_title(stated.beta, stated.alpha2, stated.beta2, stated.lambda_, stated.tau)
        axes.set_title(f"{len(values)} singular values; {which}", fontsize=10)
        axes.legend(frameon=False, fontsize=9)
