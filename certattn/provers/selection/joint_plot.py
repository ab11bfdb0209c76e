"""A figure of a certificate of `joint-max-margin` in the plane: tokens, v_mm and p_mm, and the certified angles.

A run of normalised gradient descent on v and p is drawn beside them, in doubles; nothing is certified of it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.errors import UsageError
from certattn.kernel.theorems.selection.joint_max_margin import JointSolution, read
from certattn.provers.figures import Target, canvas, standing
from certattn.provers.rounding import as_float
from certattn.provers.selection.joint_multipliers import Array, floats

_HEAD, _ATTENTION, _RUN = "#1f4e79", "#c0562f", 600


def require_plane(certificate: Certificate) -> JointSolution:
    """The problem of a certificate that can be drawn. Raises UsageError."""
    problem = read(certificate)
    if problem.v.columns != 2 or problem.p.columns != 2:
        raise UsageError("a figure shows tokens and keys in the plane; both need dimension 2")
    return problem


def draw_certificate(certificate: Certificate, path: Target) -> None:
    """Draw the figure into a file."""
    problem = require_plane(certificate)
    with canvas(path, (5.0, 4.5)) as (_, axes):
        _draw(axes, problem)


def _draw(axes: Any, problem: JointSolution) -> None:
    rows, chosen = floats(problem.given.stated.rows), set(problem.given.selection.rows)
    reach = 1.6 * max(float(np.linalg.norm(rows, axis=1).max()), 1e-9)
    heads, attentions = _run(problem)
    parts = (
        ("v", floats(problem.v)[0], "head_cosine", _HEAD, heads),
        ("p", floats(problem.p)[0], "attention_cosine", _ATTENTION, attentions),
    )
    for name, vector, bound, color, run in parts:
        unit = vector / np.linalg.norm(vector)
        cosines = [as_float(stated.bounds[bound]) for stated in problem.path if bound in stated.bounds]
        if cosines:
            _wedge(axes, unit, math.acos(min(1.0, max(cosines))), reach, color)
        axes.plot([0, reach * unit[0]], [0, reach * unit[1]], color=color, lw=1.8, ls="--", label=rf"${name}_{{mm}}$")
        shown = run * reach / max(float(np.linalg.norm(run[-1])), 1e-300)
        axes.plot(shown[:, 0], shown[:, 1], color=color, lw=1.2, label=f"${name}$ in a run of descent, scaled")
    labels, lengths = problem.given.labels, problem.given.selection.tokens.lengths
    signs = [as_float(label) for label, length in zip(labels, lengths, strict=True) for _ in range(length)]
    for row, (point, sign) in enumerate(zip(rows, signs, strict=True)):
        marker, face = ("o" if sign > 0 else "s"), ("#111111" if row in chosen else "white")
        axes.plot(*point, marker=marker, ms=7, mfc=face, mec="#111111", ls="", zorder=5)
    axes.set_aspect("equal")
    axes.set_title(f"{len(labels)} inputs; chosen tokens filled, label -1 square", fontsize=9)
    axes.legend(frameon=False, fontsize=8)


def _wedge(axes: Any, unit: Array, angle: float, reach: float, color: str) -> None:
    middle = math.atan2(unit[1], unit[0])
    turns = np.linspace(middle - angle, middle + angle, 60)
    x, y = np.append(0, reach * np.cos(turns)), np.append(0, reach * np.sin(turns))
    axes.fill(x, y, color=color, alpha=0.15, lw=0, label=f"{standing()}, within {math.degrees(angle):.2g} degrees")


def _run(problem: JointSolution, step: float = 0.1) -> tuple[Array, Array]:
    """v and p along normalised gradient descent of the logistic loss from (0, 0)."""
    rows, keys = floats(problem.given.stated.rows), floats(problem.given.selection.tokens.keys)
    labels = [as_float(label) for label in problem.given.labels]
    tokens = problem.given.selection.tokens
    inputs = [(rows[list(tokens.rows_of(i))], keys[list(tokens.rows_of(i))], y) for i, y in enumerate(labels)]
    v, p = np.zeros(rows.shape[1]), np.zeros(keys.shape[1])
    heads, attentions = [v], [p]
    for _ in range(_RUN):
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
