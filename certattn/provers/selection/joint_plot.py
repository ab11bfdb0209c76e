"""A figure of a certificate of `joint-max-margin`: v_mm, p_mm and the certified angles.

A run of normalised gradient descent on v and p is drawn beside them, in doubles; nothing is certified of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.theorems.selection.joint_max_margin import JointSolution, read
from certattn.provers.figures import BOUND, MARK, RUN, Target, canvas, standing, thinned
from certattn.provers.rounding import as_float
from certattn.provers.selection.joint_multipliers import Array, floats

_STEPS, _PLANE = 600, 2


def draw_certificate(certificate: Certificate, path: Target) -> None:
    """Draw the figure into a file: the angles along the run, and above them the plane where there is one."""
    problem = read(certificate)
    plane = problem.v.columns == _PLANE and problem.p.columns == _PLANE
    ratios = [5, 3] if plane else [1]
    parts = _parts(problem)
    with canvas(path, (5.6, 7.6 if plane else 4.2), len(ratios), squeeze=False, height_ratios=ratios) as (_, axes):
        axes[0, 0].set_title(f"{len(problem.given.labels)} inputs: head $v$ and attention $p$, trained together")
        if plane:
            _draw_plane(axes[0, 0], problem, parts)
        _draw_angles(axes[-1, 0], parts)


@dataclass(frozen=True)
class _Part:
    """v or p: what it tends to, a run of it, and the least angle that is certified, in radians."""

    name: str
    vector: Array
    color: str
    run: Array
    angle: float | None


def _parts(problem: JointSolution) -> list[_Part]:
    heads, attentions = _run(problem)
    found = []
    for name, vector, bound, color, run in (
        ("v", floats(problem.v)[0], "head_cosine", RUN, heads),
        ("p", floats(problem.p)[0], "attention_cosine", BOUND, attentions),
    ):
        cosines = [as_float(stated.bounds[bound]) for stated in problem.path if bound in stated.bounds]
        found.append(_Part(name, vector, color, run, math.acos(min(1.0, max(cosines))) if cosines else None))
    return found


def _draw_plane(axes: Any, problem: JointSolution, parts: Sequence[_Part]) -> None:
    rows, chosen = floats(problem.given.stated.rows), set(problem.given.selection.rows)
    reach = 1.6 * max(float(np.linalg.norm(rows, axis=1).max()), 1e-9)
    for part in parts:
        unit = part.vector / np.linalg.norm(part.vector)
        if part.angle is not None:
            _wedge(axes, unit, part.angle, reach, part.color)
        ray = [[0, reach * unit[0]], [0, reach * unit[1]]]
        axes.plot(*ray, color=part.color, lw=1.8, ls="--", label=rf"${part.name}_{{mm}}$")
        shown = part.run[thinned(len(part.run))] * reach / max(float(np.linalg.norm(part.run[-1])), 1e-300)
        axes.plot(shown[:, 0], shown[:, 1], color=part.color, lw=1.2, label=f"${part.name}$ in a run, scaled")
    labels, lengths = problem.given.labels, problem.given.selection.tokens.lengths
    signs = [as_float(label) for label, length in zip(labels, lengths, strict=True) for _ in range(length)]
    for row, (point, sign) in enumerate(zip(rows, signs, strict=True)):
        marker, face = ("o" if sign > 0 else "s"), (MARK if row in chosen else "white")
        axes.plot(*point, marker=marker, ms=7, mfc=face, mec=MARK, ls="", zorder=5)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xlabel("chosen tokens filled; label 1 a circle, -1 a square")
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))


def _draw_angles(axes: Any, parts: Sequence[_Part]) -> None:
    """The angle of v with v_mm and of p with p_mm along a run, and the stated bounds for minimisers."""
    for part in parts:
        moved = part.run[1:][np.linalg.norm(part.run[1:], axis=1) > 0]
        cosines = moved @ part.vector / np.linalg.norm(moved, axis=1) / np.linalg.norm(part.vector)
        angles = np.degrees(np.arccos(np.clip(cosines, -1, 1)))
        at = thinned(len(angles))
        axes.semilogx(at + 1, angles[at], color=part.color, lw=1.4, label=f"${part.name}$ in a run")
        if part.angle is not None:
            words = f"${part.name}$ of every minimiser, {standing()}"
            axes.axhline(math.degrees(part.angle), color=part.color, ls="--", lw=1.2, label=words)
    axes.set_ylim(0, 1.6 * axes.get_ylim()[1])
    axes.set_xlabel("step of the run")
    axes.set_ylabel("angle to max margin, degrees")
    axes.grid(True)
    axes.legend()


def _wedge(axes: Any, unit: Array, angle: float, reach: float, color: str) -> None:
    middle = math.atan2(unit[1], unit[0])
    turns = np.linspace(middle - angle, middle + angle, 60)
    x, y = np.append(0, reach * np.cos(turns)), np.append(0, reach * np.sin(turns))
    axes.fill(x, y, color=color, alpha=0.15, lw=0, label=f"{standing()}, {math.degrees(angle):.2g}°")


def _run(problem: JointSolution, step: float = 0.1) -> tuple[Array, Array]:
    """v and p along normalised gradient descent of the logistic loss from (0, 0)."""
    rows, keys = floats(problem.given.stated.rows), floats(problem.given.selection.tokens.keys)
    labels = [as_float(label) for label in problem.given.labels]
    tokens = problem.given.selection.tokens
    inputs = [(rows[list(tokens.rows_of(i))], keys[list(tokens.rows_of(i))], y) for i, y in enumerate(labels)]
    v, p = np.zeros(rows.shape[1]), np.zeros(keys.shape[1])
    heads, attentions = [v], [p]
    for _ in range(_STEPS):
        slope_v, slope_p = np.zeros_like(v), np.zeros_like(p)
        for x, k, y in inputs:
            s = np.exp(k @ p - np.max(k @ p))
            s /= s.sum()
            scores = y * (x @ v)
            slope = 1 / (1 + np.exp(min(float(s @ scores), 700.0)))
            slope_v += slope * y * (s @ x)
            slope_p += slope * ((s * (scores - s @ scores)) @ k)
        v = v + step * slope_v / max(float(np.linalg.norm(slope_v)), 1e-300)
        p = p + step * slope_p / max(float(np.linalg.norm(slope_p)), 1e-300)
        heads.append(v)
        attentions.append(p)
    return np.array(heads), np.array(attentions)
