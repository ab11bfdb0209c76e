"""A figure of a certificate of `flow-trajectory`: the tube around the path, and the risk between its certified bounds.

A point (A, b) is drawn at (|A|_F, b), or at an entry of A and b. Neither moves two points apart, so a ball of radius r
is drawn within a disc of radius r. The risk never increases: between two times it lies in the box that their bounds
span. The thin lines are the flow in doubles; nothing is certified of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.errors import UsageError
from certattn.kernel.theorems.training.flow_trajectory import RISK, TIME, TUBE, StatedFlow, read
from certattn.kernel.theorems.training.regression import LOWER, UPPER, exact_regression
from certattn.provers.figures import MARK, RUN, Target, canvas, fill_all, standing
from certattn.provers.rounding import as_float, doubles
from certattn.provers.training.training_runs import Array, FloatRun, Point

_LIGHT, _RUN, _POINT = "#eab9a3", RUN, MARK
# Discs of a tube between two points, and steps of the run in doubles.
_DISCS, _STEPS = 60, 20_000
_CORNERS = 48

Project = Callable[[Array, float], Array]


def draw_certificate(certificate: Certificate, path: Target, entry: tuple[int, int] | None = None) -> None:
    """Draw the figure into a file; `entry` of A, or its norm. Raises UsageError for an entry that is not there."""
    problem = read(certificate)
    size = problem.covariance.rows
    if entry is not None and max(entry) >= size:
        raise UsageError(f"A has no entry {entry[0]}, {entry[1]}: it is {size} x {size}, and counted from 0")

    def project(A: Array, b: float) -> Array:
        return np.array([np.linalg.norm(A) if entry is None else A[entry], b])

    last = as_float(problem.points[-1][TIME])
    run = list(_until(last, FloatRun(problem.covariance, problem.start, drawn=True)))
    with canvas(path, (5.6, 7.0), 2, height_ratios=[4, 3]) as (_, (left, right)):
        _draw_path(left, problem, project)
        left.plot(*np.array([project(point.A, point.b) for point in run]).T, color=_RUN, lw=0.8, zorder=3)
        left.set_xlabel("norm $|A|_F$" if entry is None else f"$A_{{{entry[0]}{entry[1]}}}$")
        left.set_ylabel("$b$")
        left.set_aspect("equal", adjustable="datalim")
        left.legend()
        _draw_risk(right, problem)
        right.semilogy([point.time for point in run], [point.risk for point in run], color=_RUN, lw=0.8, zorder=3)
        right.set_xlabel("time")
        right.set_ylabel("risk")
        right.set_xlim(0, last)
        right.legend()


def _until(last: float, flow: FloatRun) -> Iterator[Point]:
    """The flow with its first point beyond the last time, so that lines go on to the end of the axis."""
    for point in flow.points(_STEPS):
        yield point
        if point.time > last:
            return


def _draw_path(axes: Any, problem: StatedFlow, project: Project) -> None:
    """Stated points, and around the lines between them all that the tubes allow."""
    outlines: list[Array] = []
    corners = [(doubles(problem.start.A), as_float(problem.start.b))]
    for point, at in zip(problem.points, problem.places, strict=True):
        corners.append((doubles(at.A), as_float(at.b)))
        if TUBE not in point:
            continue
        line = np.array([project(*_between(corners[-2], corners[-1], s)) for s in np.linspace(0, 1, _DISCS)])
        outlines += _outlines(line, as_float(point[TUBE]))
    if outlines:
        label = f"{standing()}: the path lies here"
        fill_all(axes, outlines, color=_LIGHT, zorder=1, label=label, rasterized=True)
    stated = np.array([project(*corner) for corner in corners])
    axes.plot(*stated[1:].T, ls="", marker="o", ms=3, color=_POINT, zorder=4, label="stated points")
    axes.plot(*stated[:1].T, ls="", marker="s", ms=4, color=_POINT, zorder=4, label="start")


def _between(first: tuple[Array, float], last: tuple[Array, float], share: float) -> tuple[Array, float]:
    return first[0] + share * (last[0] - first[0]), first[1] + share * (last[1] - first[1])


def _outlines(line: Array, radius: float) -> list[Array]:
    """Convex hulls of the discs around neighbouring points of a line."""
    angles = np.linspace(0, 2 * np.pi, _CORNERS, endpoint=False)
    circle = radius * np.column_stack([np.cos(angles), np.sin(angles)])
    return [_capsule(first, last, circle) for first, last in pairwise(line)]


def _capsule(first: Array, last: Array, circle: Array) -> Array:
    """The hull of two circles of one radius: from each the half that looks away from the other."""
    ahead = circle @ (last - first) >= 0
    turned = np.roll(np.arange(len(circle)), -int(np.argmax(ahead & ~np.roll(ahead, 1))))
    half = len(circle) // 2
    return np.vstack([last + circle[turned[:half]], first + circle[turned[half:]]])


def _draw_risk(axes: Any, problem: StatedFlow) -> None:
    """Boxes between the times where the risk is bounded: it never increases."""
    first = as_float(exact_regression(problem.covariance).risk(problem.start))
    stated = [
        (as_float(p[TIME]), as_float(p[RISK][LOWER]), as_float(p[RISK][UPPER])) for p in problem.points if RISK in p
    ]
    bounded = [(0.0, first, first), *stated]
    label = f"{standing()}: the risk lies here"
    for (begins, _, upper), (ends, lower, _) in pairwise(bounded):
        axes.fill_between([begins, ends], lower, upper, color=_LIGHT, lw=0, zorder=1, label=label)
        label = ""
    axes.plot([b[0] for b in bounded], [b[2] for b in bounded], ls="", marker="o", ms=3, color=_POINT, zorder=4)
