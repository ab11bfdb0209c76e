"""A figure of a certificate of `spectral-distance`: singular values, the equivalent density and a quarter circle."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from flint import arb

from certattn.kernel.arithmetic.balls import working_precision
from certattn.kernel.arithmetic.quarter_circle import quarter_circle_density
from certattn.kernel.claims.spectral_distance import CLAIM
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.errors import NotProvedError
from certattn.provers.equivalent_plot import CIRCLE, FILL, LAW, density_curve
from certattn.provers.figures import canvas
from certattn.provers.singular_values import spectra

_BITS, _POINTS, _SHARE = 64, 400, 0.98


def draw_certificate(certificate: Certificate, path: Path) -> None:
    """Draw the figure into a file. The 2 % of singular values that are largest may be beyond its right end."""
    problem = CLAIM.read(certificate)
    values = _values(certificate)
    with working_precision(_BITS):
        law = problem.law.at_precision()
        curve = density_curve(law)
        uncut = None if problem.law.tau is None else density_curve(replace(problem.law, tau=None).at_precision())
        variance = law.numbers.variance
        ends = np.linspace(0, float(2 * variance.sqrt()), _POINTS)
        circle = [float(quarter_circle_density(arb(x), variance)) for x in ends]
        edge = float(law.right_edge())
    right = 1.05 * max(edge, float(np.quantile(values, _SHARE)))
    bins = np.linspace(0, right, max(8, min(60, int(2 * np.sqrt(len(values))))))
    counts, _ = np.histogram(values, bins)
    heights = counts / (len(values) * np.diff(bins))
    with canvas(path, (6.4, 3.6)) as (_, axes):
        axes.bar(bins[:-1], heights, np.diff(bins), align="edge", color=FILL, lw=0, label="singular values")
        axes.plot(*curve.T, color=LAW, lw=1.4, label=r"$\mu$" if uncut is None else r"$\mu$, truncated")
        if uncut is not None:
            axes.plot(*uncut.T, color=LAW, lw=1.1, ls=":", label="the law without a cut")
        axes.plot(ends, circle, color=CIRCLE, lw=1.2, ls="--", label="quarter circle of the same variance")
        axes.set_xlabel("singular value")
        axes.set_ylabel("density")
        axes.set_xlim(0, right)
        axes.set_ylim(0, 1.15 * max(heights.max(), curve[:, 1].max()))
        axes.set_title(f"{len(values)} singular values", fontsize=10)
        axes.legend(frameon=False, fontsize=9)


def _values(certificate: Certificate) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    matrix, _ = CLAIM.read_given(certificate)
    for _, spectrum in spectra(matrix, None):
        values = np.array([float(value.mid()) for value in spectrum.singular.values()])
        if np.isfinite(values).all():
            return values
    raise NotProvedError("the singular values could not be enclosed: the inputs are too extreme")
