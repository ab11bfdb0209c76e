"""A figure of a regularisation path in two dimensions: the points found, the max-margin ray, the certified arcs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from flint import fmpq

from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.provers.figures import Target, canvas, standing
from certattn.provers.rounding import as_float

_PATH, _CONE, _RAY = "#1f4e79", "#c0562f", "#111111"


def draw(
    radii: Sequence[fmpq],
    cosines: Sequence[fmpq],
    solution: ExactMatrix,
    path: Sequence[np.ndarray[Any, Any]],
    title: str,
    file: Target,
) -> None:
    """Arcs of the circles |p| = R on which every minimiser lies, and `path`, minimisers for many radii."""
    ray = np.array([as_float(entry) for entry in solution.row(0)])
    angle = float(np.arctan2(ray[1], ray[0]))
    with canvas(file, (5.2, 4.6)) as (_, axes):
        for k, (radius, cosine) in enumerate(zip(radii, cosines, strict=True)):
            label = f"{standing()}: $p_R$ lies here" if k == 0 else None
            _draw_arc(axes, as_float(radius), angle, float(np.arccos(as_float(cosine))), label)
        length = 1.06 * max(as_float(radius) for radius in radii)
        tip = length * ray / np.linalg.norm(ray)
        axes.plot([0, tip[0]], [0, tip[1]], color=_RAY, ls="--", lw=1, label=r"direction of $p_{mm}$")
        points = np.array([*path])
        axes.plot(points[:, 0], points[:, 1], color=_PATH, lw=1.6, label=r"minimisers $p_R$ (computed)")
        axes.plot([0], [0], marker="o", ms=3, color=_RAY)
        axes.set_aspect("equal", adjustable="datalim")
        axes.margins(0.08)
        axes.set_xlabel("$p_1$")
        axes.set_ylabel("$p_2$")
        axes.set_title(title, fontsize=10)
        axes.legend(frameon=False, fontsize=9)


def _draw_arc(axes: Any, radius: float, angle: float, width: float, label: str | None) -> None:
    """A part of the circle, the certified arc of it, and the cone that it spans."""
    part = angle + np.linspace(-1, 1, 200) * min(np.pi, 3 * width + np.pi / 12)
    axes.plot(radius * np.cos(part), radius * np.sin(part), color="0.75", lw=0.7, zorder=0)
    arc = np.linspace(angle - width, angle + width, 60)
    x, y = radius * np.cos(arc), radius * np.sin(arc)
    axes.fill(np.append(0, x), np.append(0, y), color=_CONE, alpha=0.12, lw=0, zorder=1)
    axes.plot(x, y, color=_CONE, lw=3, solid_capstyle="butt", label=label, zorder=3)
