"""A figure of a regularisation path: the points found, the max-margin ray, the certified arcs and angles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from flint import fmpq

from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.provers.figures import BOUND, MARK, RUN, Target, canvas, standing
from certattn.provers.rounding import as_float

_PLANE, _ROUNDING = 2, 1e-28

Array = np.ndarray[Any, Any]


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
    points, stated = np.array([*path]), [as_float(radius) for radius in radii]
    plane = len(ray) == _PLANE
    ratios = [5, 3] if plane else [1]
    with canvas(file, (5.6, 8.0 if plane else 3.8), len(ratios), squeeze=False, height_ratios=ratios) as (_, axes):
        axes[0, 0].set_title(title)
        if plane:
            _draw_plane(axes[0, 0], stated, cosines, ray, points)
        below = axes[-1, 0]
        units = points / np.linalg.norm(points, axis=1, keepdims=True)
        gaps = ((units - ray / np.linalg.norm(ray)) ** 2).sum(1) / 2
        shown = np.where(gaps > _ROUNDING, gaps, np.nan)
        below.loglog(np.linalg.norm(points, axis=1), shown, color=RUN, lw=1.6, label="minimisers, computed")
        bounds = [as_float(1 - cosine) for cosine in cosines]
        below.loglog(stated, bounds, color=BOUND, ls="", marker="v", label=f"{standing()}, at most")
        below.set_xlabel("radius $R$")
        below.set_ylabel(r"$1 - \cos\angle(p_R, p_{mm})$")
        below.grid(True)
        below.legend()


def _draw_plane(axes: Any, radii: Sequence[float], cosines: Sequence[fmpq], ray: Array, points: Array) -> None:
    angle = float(np.arctan2(ray[1], ray[0]))
    for k, (radius, cosine) in enumerate(zip(radii, cosines, strict=True)):
        label = f"{standing()}: $p_R$ lies here" if k == 0 else None
        _draw_arc(axes, radius, angle, float(np.arccos(as_float(cosine))), label)
    tip = 1.06 * max(radii) * ray / np.linalg.norm(ray)
    axes.plot([0, tip[0]], [0, tip[1]], color=MARK, ls="--", lw=1, label=r"direction of $p_{mm}$")
    axes.plot(points[:, 0], points[:, 1], color=RUN, lw=1.6, label=r"minimisers $p_R$, computed")
    axes.plot([0], [0], marker="o", ms=3, color=MARK)
    axes.set_aspect("equal", adjustable="datalim")
    axes.margins(0.08)
    axes.set_xlabel("$p_1$")
    axes.set_ylabel("$p_2$")
    axes.legend()


def _draw_arc(axes: Any, radius: float, angle: float, width: float, label: str | None) -> None:
    """A part of the circle, the certified arc of it, and the cone that it spans."""
    part = angle + np.linspace(-1, 1, 200) * min(np.pi, 3 * width + np.pi / 12)
    axes.plot(radius * np.cos(part), radius * np.sin(part), color="0.75", lw=0.7, zorder=0)
    arc = np.linspace(angle - width, angle + width, 60)
    x, y = radius * np.cos(arc), radius * np.sin(arc)
    axes.fill(np.append(0, x), np.append(0, y), color=BOUND, alpha=0.12, lw=0, zorder=1)
    axes.plot(x, y, color=BOUND, lw=3, solid_capstyle="butt", label=label, zorder=3)
