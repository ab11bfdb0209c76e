"""A figure of a certificate of `max-margin` in the plane: the rows z_j, the solution, and where <z, p> = 1.

Rows of tight constraints are filled: they lie on the line, at the distance of the margin 1/|p| from 0.
"""

from __future__ import annotations

import numpy as np

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.errors import UsageError
from certattn.kernel.theorems.selection.max_margin import THEOREM
from certattn.provers.figures import Target, canvas
from certattn.provers.rounding import as_float

_LINE, _SOLUTION, _ROW = "#c0562f", "#1f4e79", "#6b6b6b"


def draw_certificate(certificate: Certificate, target: Target) -> None:
    """Draw the figure. Raises UsageError where there is no exact solution, or none in the plane."""
    stated = THEOREM.read(certificate)
    if stated.problem.rows.columns != 2:
        raise UsageError(f"a figure shows the plane; these points have {stated.problem.rows.columns} entries")
    if stated.form != "exactly":
        raise UsageError("a figure shows an exact solution; this certificate states none")
    point = stated.point if stated.point is not None else stated.solved.solution
    solution = np.array([as_float(entry) for entry in point.row(0)])
    rows = np.array([[as_float(entry) for entry in row] for row in stated.problem.rows.to_rows()])
    tight = set(stated.solved.tight)
    norm = float(np.linalg.norm(solution))
    foot, along = solution / norm**2, np.array([-solution[1], solution[0]]) / norm
    reach = 1.1 * max(float(np.linalg.norm(rows, axis=1).max()), 1 / norm)
    with canvas(target, (5.0, 4.5)) as (_, axes):
        ends = np.array([foot - reach * along, foot + reach * along])
        axes.plot(*ends.T, color=_LINE, lw=1.2, ls="--", label=rf"$\langle z, p \rangle = 1$, margin {1 / norm:.4g}")
        ray = np.array([np.zeros(2), reach * solution / norm])
        axes.plot(*ray.T, color=_SOLUTION, lw=1.6, label="direction of the solution $p$")
        for filled, label in ((True, "tight constraints"), (False, "other constraints")):
            chosen = np.array([row for j, row in enumerate(rows) if (j in tight) is filled])
            if len(chosen):
                face = _ROW if filled else "white"
                axes.plot(*chosen.T, ls="", marker="s", ms=6, mfc=face, mec=_ROW, label=label)
        axes.plot([0], [0], marker="o", ms=3, color="#111111")
        axes.set_aspect("equal", adjustable="datalim")
        axes.set_title(f"{len(rows)} constraints", fontsize=10)
        axes.legend(frameon=False, fontsize=9)
