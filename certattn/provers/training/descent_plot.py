"""The figure of a certificate of `descent-trajectory`: certified bounds of the distance and of the gaps, by step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.schema import Values
from certattn.kernel.errors import UsageError
from certattn.kernel.theorems.training.descent_trajectory import (
    AT_LEAST,
    BOUNDS,
    CHECKPOINT_STEP,
    CHECKPOINTS,
    DISTANCE,
    GAP,
    GRADIENT_GAP,
    GRONWALL,
    RATE,
    RISK_GAP,
    STEP,
    TUBE,
    Descents,
    growth,
    read,
    tube_steps,
)
from certattn.provers.figures import BOUND, RUN, THIRD, Target, canvas, standing
from certattn.provers.rounding import as_float

_LOOK = {
    "distance": (RUN, r"of parameters, $\|\theta^L_k - \theta^\infty_k\|$"),
    "risk_gap": (BOUND, r"of risks, $|R_L - R_\infty|$"),
    "gradient_gap": (THIRD, r"of gradients, $\|\nabla R_L - \nabla R_\infty\|$"),
}


def draw_certificate(certificate: Certificate, path: Target) -> None:
    """Draw what is stated of every step into a file. Raises UsageError where nothing is."""
    problem = read(certificate)
    asserts, steps = problem.asserts, np.arange(problem.descents.steps + 1)
    curves = [field for field in (TUBE, RISK_GAP, GRADIENT_GAP) if field in asserts]
    if not curves:
        raise UsageError("nothing to draw: the certificate has no bounds for every step")
    with canvas(path, (5.6, 5.0)) as (_, axes):
        for curve in curves:
            colour, label = _LOOK[curve.name]
            stated = np.array([as_float(bound) for bound in asserts[curve][BOUNDS].load().row(0)])
            bounds = np.broadcast_to(stated, steps.shape)
            axes.plot(steps, np.where(bounds > 0, bounds, np.nan), color=colour, lw=1.6, label=label)
        _draw_lower(axes, asserts.items(CHECKPOINTS))
        if GRONWALL in asserts:
            _draw_gronwall(axes, asserts[GRONWALL], problem.descents)
        axes.set_yscale("log")
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.set_xlabel("step $k$")
        axes.set_title(f"{problem.descents.prompts.count} prompts against infinite ones")
        axes.set_ylabel(f"difference, {standing()} at most")
        axes.grid(True)
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18))


def _draw_lower(axes: Any, checkpoints: Sequence[Values]) -> None:
    """Lower bounds of the distance, where there are some above 0."""
    points = [
        (checkpoint[CHECKPOINT_STEP], as_float(checkpoint[DISTANCE][AT_LEAST]))
        for checkpoint in checkpoints
        if DISTANCE in checkpoint and AT_LEAST in checkpoint[DISTANCE] and checkpoint[DISTANCE][AT_LEAST] > 0
    ]
    if points:
        colour, symbol = _LOOK["distance"]
        steps, bounds = zip(*points, strict=True)
        axes.plot(steps, bounds, ls="", marker="^", ms=4, color=colour, label=f"{symbol}, at least")


def _draw_gronwall(axes: Any, stated: Values, descents: Descents) -> None:
    steps = np.arange(1, tube_steps(stated, descents) + 1)
    bounds = [as_float(growth(stated[GAP], stated[RATE], descents.given[STEP], int(k))) for k in steps]
    axes.plot(steps, bounds, color="0.4", lw=1, ls="--", label="of parameters, by Grönwall alone")
