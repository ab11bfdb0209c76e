"""The figure of a certificate of `descent-trajectory`: certified bounds of the distance and of the gaps, by step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.errors import UsageError
from certattn.kernel.theorems.training.descent_trajectory import read
from certattn.kernel.theorems.training.gronwall_bound import Gronwall
from certattn.kernel.theorems.training.mathematics.context_descent import growth
from certattn.kernel.theorems.training.trajectory_assertions import EveryStep, Range
from certattn.provers.figures import Target, canvas, standing
from certattn.provers.rounding import as_float

_LOOK = {
    "distance": ("#1f4e79", r"$\|\theta^L_k - \theta^\infty_k\|$"),
    "risk_gap": ("#c0562f", r"$|R_L - R_\infty|$"),
    "gradient_gap": ("#4a7c3a", r"$\|\nabla R_L - \nabla R_\infty\|$"),
}


def draw_certificate(certificate: Certificate, path: Target) -> None:
    """Draw what is stated of every step into a file. Raises UsageError where nothing is."""
    problem = read(certificate)
    curves = [assertion for assertion in problem.assertions if isinstance(assertion, EveryStep)]
    if not curves:
        raise UsageError("nothing to draw: the certificate has no bounds for every step")
    with canvas(path, (6.0, 4.2)) as (_, axes):
        for curve in curves:
            colour, label = _LOOK[curve.quantity.name]
            bounds = np.array([as_float(bound) for bound in curve.bounds])
            axes.plot(np.arange(len(bounds)), np.where(bounds > 0, bounds, np.nan), color=colour, lw=1.6, label=label)
        _draw_lower(axes, [stated for stated in problem.assertions if isinstance(stated, Range)])
        for assertion in problem.assertions:
            if isinstance(assertion, Gronwall):
                _draw_gronwall(axes, assertion)
        axes.set_yscale("log")
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.set_xlabel("step $k$")
        axes.set_title(f"{standing()} bounds, {problem.setting.prompts.count} prompts", fontsize=10)
        axes.grid(True, color="0.9", lw=0.6)
        axes.legend(frameon=False, fontsize=9)


def _draw_lower(axes: Any, stated: Sequence[Range]) -> None:
    """Lower bounds of the distance, where there are some above 0."""
    points = [
        (bound.step, as_float(bound.at_least))
        for bound in stated
        if bound.quantity.name.endswith(".distance") and bound.at_least is not None and bound.at_least > 0
    ]
    if points:
        colour, symbol = _LOOK["distance"]
        steps, bounds = zip(*points, strict=True)
        axes.plot(steps, bounds, ls="", marker="^", ms=4, color=colour, label=f"{symbol}, at least")


def _draw_gronwall(axes: Any, stated: Gronwall) -> None:
    steps = np.arange(1, stated.steps + 1)
    bounds = [as_float(growth(stated.gap, stated.rate, stated.step, int(k))) for k in steps]
    axes.plot(steps, bounds, color="0.4", lw=1, ls="--", label="Gronwall")
