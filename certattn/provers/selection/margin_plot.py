"""A figure of a certificate of `max-margin`: the rows z_j, the solution, and where <z, p> = 1.

Beyond the plane the products <z_j, p> are drawn.

Rows of tight constraints are filled: they lie on the line, at the distance of the margin 1/|p| from 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.errors import UsageError
from certattn.kernel.theorems.selection.max_margin import THEOREM
from certattn.provers.figures import BOUND, MARK, RUN, Target, canvas
from certattn.provers.rounding import as_float

_ROW, _PLANE = "#6b6b6b", 2

Array = np.ndarray[Any, Any]


def draw_certificate(certificate: Certificate, target: Target) -> None:
    """Draw the figure. Raises UsageError where there is no exact solution."""
    stated = THEOREM.read(certificate)
    if stated.form != "exactly":
        raise UsageError("a figure shows an exact solution; this certificate states none")
    point = stated.point if stated.point is not None else stated.solved.solution
    solution = np.array([as_float(entry) for entry in point.row(0)])
    rows = np.array([[as_float(entry) for entry in row] for row in stated.problem.rows.to_rows()])
    tight = set(stated.solved.tight)
    if stated.problem.rows.columns == _PLANE:
        _draw_plane(solution, rows, tight, target)
    else:
        _draw_products(solution, rows, tight, target)


def _draw_products(solution: Array, rows: Array, tight: set[int], target: Target) -> None:
    """<z_j, p> of each constraint, sorted: none is below 1, and the tight ones are 1."""
    order = sorted(range(len(rows)), key=lambda j: (j not in tight, rows[j] @ solution))
    products = rows[order] @ solution
    with canvas(target, (5.6, 3.6)) as (_, axes):
        norm = float(np.linalg.norm(solution))
        axes.axhline(1, color=BOUND, lw=1.2, ls="--", label=f"1, at margin {1 / norm:.4g}")
        for filled, label in ((True, f"tight, {len(tight)}"), (False, f"others, {len(rows) - len(tight)}")):
            at = [k for k, j in enumerate(order) if (j in tight) is filled]
            axes.plot(at, products[at], ls="", marker="s", ms=4, mfc=_ROW if filled else "white", mec=_ROW, label=label)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("constraints, tight ones first, sorted")
        axes.set_ylabel(r"$\langle z_j, p \rangle$")
        axes.set_title(f"{len(rows)} constraints in dimension {rows.shape[1]}")
        axes.legend(loc="upper left")


def _draw_plane(solution: Array, rows: Array, tight: set[int], target: Target) -> None:
    norm = float(np.linalg.norm(solution))
    foot, along = solution / norm**2, np.array([-solution[1], solution[0]]) / norm
    reach = 1.1 * max(float(np.linalg.norm(rows, axis=1).max()), 1 / norm)
    with canvas(target, (5.6, 4.8)) as (_, axes):
        ends = np.array([foot - reach * along, foot + reach * along])
        axes.plot(*ends.T, color=BOUND, lw=1.2, ls="--", label=rf"$\langle z, p \rangle = 1$, margin {1 / norm:.4g}")
        ray = np.array([np.zeros(2), reach * solution / norm])
        axes.plot(*ray.T, color=RUN, lw=1.6, label="direction of the solution $p$")
        for filled, label in ((True, "tight constraints"), (False, "other constraints")):
            chosen = np.array([row for j, row in enumerate(rows) if (j in tight) is filled])
            if len(chosen):
                face = _ROW if filled else "white"
                axes.plot(*chosen.T, ls="", marker="s", ms=6, mfc=face, mec=_ROW, label=label)
        axes.plot([0], [0], marker="o", ms=3, color=MARK)
        axes.set_aspect("equal", adjustable="datalim")
        axes.set_title(f"{len(rows)} constraints")
        axes.set_xlabel("$z_1$")
        axes.set_ylabel("$z_2$")
        axes.legend()
