"""A figure of a certificate of `regression-risk`: the risk around the stated point, along A and along b."""

from __future__ import annotations

from typing import Any

import numpy as np

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.theorems.training.regression_risk import read
from certattn.provers.figures import BOUND, Target, canvas, standing
from certattn.provers.rounding import as_float, doubles

Array = np.ndarray[Any, np.dtype[np.float64]]
_LEVELS, _SIDE, _FAR, _LEAST = 14, 61, 2.0, 1e-4


def draw_certificate(certificate: Certificate, target: Target) -> None:
    """Draw the figure: the risk at (s A, t b), by s and t; of a point that is 0, by multiples of I and 1."""
    stated = read(certificate)
    sigma, A, b = doubles(stated.covariance), doubles(stated.at.A), as_float(stated.at.b)
    still = not A.any() or b == 0
    if still:
        A, b = np.eye(len(sigma)), 1.0
    steps = np.linspace(-_FAR / 2, _FAR, _SIDE)
    unit = np.eye(len(sigma))
    risks = np.array([[_risk(sigma, (s * t * b) * sigma @ A - unit) for s in steps] for t in steps])
    with canvas(target, (5.6, 4.4)) as (figure, axes):
        shown = axes.contourf(steps, steps, np.log10(np.maximum(risks, _LEAST * risks.max())), _LEVELS, cmap="cividis")
        shown.set_rasterized(True)
        figure.colorbar(shown, ax=axes, label=r"$\log_{10}$ risk", pad=0.02)
        at = 0 if still else 1
        axes.plot([at], [at], marker="o", ms=10, mfc="white", mec=BOUND, mew=2, ls="", label=f"{standing()} here")
        axes.set_xlabel("multiple of $A$" if not still else "multiple of $I$, for $A$")
        axes.set_ylabel("multiple of $b$" if not still else "$b$")
        axes.set_title("risk of in-context regression")
        axes.legend(loc="lower left", frameon=True)


def _risk(sigma: Array, E: Array) -> float:
    return float(np.trace(E @ sigma @ E.T)) / 2
