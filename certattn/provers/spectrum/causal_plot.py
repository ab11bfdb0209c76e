"""A figure of a certificate of `causal-law`: eta s(eta), which is between 0 and 1, beside that without a mask.

The curves are computed at 64 bits and not enclosed; numbers that the certificate states are marked.
"""

from __future__ import annotations

import numpy as np
from flint import acb, arb

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.spectrum.causal_law import ETA, THEOREM, TRANSFORM, VALUE
from certattn.kernel.theorems.spectrum.limit_law import EquivalentLaw
from certattn.provers.figures import Target, canvas, standing
from certattn.provers.rounding import as_float
from certattn.provers.spectrum.causal_law import transforms
from certattn.provers.spectrum.equivalent_plot import law_title
from certattn.provers.spectrum.spectrum_figures import BITS, CIRCLE, LAW, POINT

# Of the curves, and how far they go beyond the variance to both sides.
_POINTS, _FACTOR = 30, 200.0


def draw_certificate(certificate: Certificate, path: Target) -> None:
    """Draw the figure into a file."""
    stated = THEOREM.read(certificate)
    law, items = stated.law, stated.asserts.items(TRANSFORM)
    points = [(as_float(item[ETA]), as_float(item[ETA] * item[VALUE])) for item in items]
    with working_precision(BITS):
        plain = law.at_precision()
        variance = float(plain.numbers.variance)
        etas = np.geomspace(*_range(variance, [x for x, _ in points]), _POINTS)[::-1]
        masked = etas * transforms(plain.numbers, [float(x) for x in np.log(etas)])
        without = [eta * _without_mask(plain, float(eta)) for eta in etas]
    with canvas(path, (5.6, 3.8)) as (_, axes):
        axes.plot(etas, masked, color=LAW, lw=1.4, label="under a causal mask")
        axes.plot(etas, without, color=CIRCLE, lw=1.2, ls="--", label="without a mask")
        if points:
            axes.plot(*np.array(points).T, ls="", marker="o", ms=4, color=POINT, label=standing(), clip_on=False)
        axes.set_xscale("log")
        axes.set_xlabel(r"$\eta$")
        axes.set_ylabel(r"mean of $\eta/(x^2 + \eta)$")
        axes.set_ylim(0, 1)
        axes.set_title(law_title(law.beta, law.alpha2, law.beta2, law.lambda_))
        axes.legend()


def _range(variance: float, points: list[float]) -> tuple[float, float]:
    return min([variance / _FACTOR, *points]), max([variance * _FACTOR, *points])


def _without_mask(law: EquivalentLaw, eta: float) -> float:
    """i G(i sqrt(eta))/sqrt(eta)."""
    height = arb(eta).sqrt().mid()
    found = law.stieltjes(acb(0, height))
    return float("nan") if found is None else float((-found.imag / height).mid())
