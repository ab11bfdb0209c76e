"""A figure of a certificate of `selection-direction`: the run, the direction of p_mm, what is certified of their angle.

The run is computed in doubles, many steps at once where the point hardly moves, and shown as it is. Beside it stands
what the certificate says of its angle with p_mm: the tube of all later points (at the computed distance from 0), from
the rate, as far as it is less than a right angle; and an arc for each bound at a single step. The plane is drawn for
keys in it, the angle by step in every dimension.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from flint import fmpq

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.schema import Values
from certattn.kernel.errors import UsageError
from certattn.kernel.mathematics.selection_landscape import landscape
from certattn.kernel.theorems.selection.direction_bounds import ANGLES, StatedBound
from certattn.kernel.theorems.selection.direction_theorems import (
    FROM,
    GROWTH,
    LATERAL,
    LOGARITHM,
    NUMERATOR,
    OFFSET,
    RATE,
    SLOPE,
    SQUARE,
)
from certattn.kernel.theorems.selection.mathematics.selection_constants import NORMALISED
from certattn.kernel.theorems.selection.selection_direction import THEOREM, DescentProblem
from certattn.provers.figures import BOUND, MARK, RUN, Target, canvas, power, standing, thinned
from certattn.provers.rounding import as_float

_TOKEN, _PLANE, _ROUNDING = "#6b6b6b", 2, 1e-28
# The run is followed until the certified angle is so small, or for so many steps, in so many moves of such a length.
_NARROW, _LAST, _MOST_MOVES, _MOVE = 0.3, 1e60, 20_000, 0.02

Array = np.ndarray[Any, Any]


def require_run(certificate: Certificate) -> DescentProblem:
    """The problem of a certificate that can be drawn. Raises UsageError."""
    problem = THEOREM.read(certificate)
    if problem.start.box is None:
        raise UsageError("a figure shows runs from a point or a box; this certificate is about other starts")
    return problem


def draw_certificate(certificate: Certificate, path: Target) -> None:
    """Draw the run and what is certified of it into a file."""
    draw_problem(require_run(certificate), path)


def draw_problem(problem: DescentProblem, path: Target) -> None:
    """The angle with p_mm by step; above it, for keys in the plane, the plane itself."""
    runs = [Run.of(problem, start) for start in _starts(problem)]
    plane = problem.selection.tokens.dimension == _PLANE
    size = (5.6, 9.2 if plane else 3.8)
    ratios = [5, 3] if plane else [1]
    with canvas(path, size, len(ratios), squeeze=False, height_ratios=ratios) as (figure, axes):
        chosen = ", ".join(map(str, problem.selection.indices))
        figure.suptitle(f"{problem.rule.kind} descent, {problem.loss.name} loss, tokens ({chosen})", fontsize=11)
        if plane:
            _draw_plane(axes[0, 0], problem, runs)
        _draw_angles(axes[-1, 0], problem, runs)


def _draw_plane(axes: Any, problem: DescentProblem, runs: list[Run]) -> None:
    ray = _floats(problem.solution.solution.row(0))
    turn = math.atan2(ray[1], ray[0])
    reach = 1.1 * max(float(np.linalg.norm(run.points, axis=1).max()) for run in runs)
    _draw_keys(axes, problem)
    tip = reach * np.array([math.cos(turn), math.sin(turn)])
    axes.plot([0, tip[0]], [0, tip[1]], color=MARK, ls="--", lw=1.2, label=r"direction of $p_{mm}$", zorder=3)
    for number, run in enumerate(runs):
        label = f"descent, computed to {_unit(problem)} {power(run.at[-1])}" if number == 0 else None
        axes.plot(*run.points[thinned(len(run.at))].T, color=RUN, lw=1.5, label=label, zorder=4)
        axes.plot(*run.points[0], marker="o", ms=4, color=RUN, zorder=5)
    rate = problem.asserts.get(RATE)
    if rate is not None:
        # The runs from the corners of a box are at nearly the same distances: one tube stands for all.
        _draw_tube(axes, runs[0], rate, turn, f"{standing()} for all later {_unit(problem)}s")
    for stated in _single(problem):
        opening, radius = _opening(as_float(stated.bound)), runs[0].radius_at(as_float(stated.at))
        axes.plot(*_arc(radius, turn - opening, turn + opening).T, color=BOUND, lw=3, zorder=3)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xlabel("$p_1$")
    axes.set_ylabel("$p_2$")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12))


def _draw_angles(axes: Any, problem: DescentProblem, runs: list[Run]) -> None:
    """1 - cos of the angle with p_mm, by step."""
    ray = _floats(problem.solution.solution.row(0))
    rate = problem.asserts.get(RATE)
    for number, run in enumerate(runs):
        sizes = np.linalg.norm(run.points, axis=1)
        shown = thinned(len(run.at))
        seen = shown[(run.at[shown] > 0) & (sizes[shown] > 0)]
        gaps = _gaps(run.points[seen], ray)
        axes.loglog(run.at[seen], np.where(gaps > _ROUNDING, gaps, np.nan), color=RUN, lw=1.5,
                    label="computed" if number == 0 else None)  # fmt: skip
    if rate is not None:
        begins, last = as_float(rate[1][FROM]), float(runs[0].at[-1])
        later = np.geomspace(1.0, max(last - begins, 2.0), 200)
        bounds = [min(_bound(rate, float(elapsed)), 2.0) for elapsed in later]
        axes.loglog(begins + later, bounds, color=BOUND, lw=1.4, ls="--", label=f"{standing()}, at most")
    if _single(problem):
        at = [max(as_float(stated.at), 1.0) for stated in _single(problem)]
        label = f"{standing()} at this {_unit(problem)}"
        axes.loglog(at, [as_float(s.bound) for s in _single(problem)], color=BOUND, ls="", marker="v", label=label)
    axes.set_xlabel(f"{_unit(problem)}")
    axes.set_ylabel(r"$1 - \cos\angle(p, p_{mm})$")
    axes.grid(True)
    axes.legend()


def _single(problem: DescentProblem) -> list[StatedBound]:
    return [bound for bound in problem.bounds if bound.kind == ANGLES.name and not bound.ever]


def _gaps(points: Array, ray: Array) -> Array:
    """1 - cos of the angles of points with a ray, without cancellation: |u - v|^2 / 2 of unit vectors."""
    units = points / np.linalg.norm(points, axis=1, keepdims=True)
    return np.asarray(((units - ray / np.linalg.norm(ray)) ** 2).sum(1) / 2)


def _unit(problem: DescentProblem) -> str:
    return "step" if problem.rule.discrete else "time"


# -- the run, in doubles


class Run:
    """Points of a run, and at which steps (or times) they are."""

    def __init__(self, at: Array, points: Array) -> None:
        self.at, self.points = at, points

    @classmethod
    def of(cls, problem: DescentProblem, start: Array) -> Run:
        """From a start to where what is certified has become narrow, as far as there is patience."""
        end, downhill, step = _end(problem), _gradients(problem), _step(problem)
        point, k, at, points = start, 0.0, [0.0], [start]
        while k < end and len(at) < _MOST_MOVES:
            slope = downhill(point)
            length = float(np.linalg.norm(slope))
            move = step if problem.rule.kind == NORMALISED else step * length
            if not (move > 0 and length > 0):
                break
            together = max(1.0, math.floor((_MOVE + 0.002 * float(np.linalg.norm(point))) / move))
            point, k = point + min(together, max(1.0, end - k)) * move / length * slope, k + together
            at.append(k)
            points.append(point)
        return cls(np.array(at), np.array(points))

    def radius_at(self, at: float) -> float:
        """|p| there; of what was not computed, at the end of the run."""
        radii = np.linalg.norm(self.points, axis=1)
        return float(np.interp(at, self.at, radii))


def _end(problem: DescentProblem) -> float:
    """The last step that is shown."""
    end = max([1000.0, *(min(as_float(angle.at), _LAST) for angle in _single(problem))])
    rate = problem.asserts.get(RATE)
    if rate is not None:
        begins = as_float(rate[1][FROM])
        end = max(end, 10 * begins)
        while end < _LAST and _opening(_bound(rate, end - begins)) > _NARROW:
            end *= 10
    return end


def _gradients(problem: DescentProblem) -> Callable[[Array], Array]:
    """-grad F in doubles, F the sum of the losses."""
    inputs = []
    for contrasts in landscape(problem.selection, problem.loss).inputs:
        rows = np.array([[float(x) for x in z] for z, _ in contrasts.rows])
        inputs.append((float(contrasts.score), rows, np.array([float(g) for _, g in contrasts.rows])))
    slope = _SLOPES[problem.loss.name]

    def downhill(point: Array) -> Array:
        total = np.zeros(len(point))
        for score, rows, gaps in inputs:
            exponents = np.append(-(rows @ point), 0.0)
            masses = np.exp(exponents - exponents.max())
            shares = masses[:-1] / masses.sum()
            gap = float(shares @ gaps)
            total += slope(score - gap) * ((shares * (gaps - gap)) @ rows)
        return total

    return downhill


_SLOPES: dict[str, Callable[[float], float]] = {
    "linear": lambda x: 1.0,
    "logistic": lambda x: 1 / (1 + math.exp(min(x, 700.0))),
    "exponential": lambda x: math.exp(min(-x, 700.0)),
}


def _step(problem: DescentProblem) -> float:
    """The factor of -grad F in one step, or in a unit of time of the flow; or the length of a normalised step."""
    if problem.rule.step is None:
        return 1 / problem.rule.inputs
    return as_float(problem.rule.step) / (1 if problem.rule.kind == NORMALISED else problem.rule.inputs)


def _starts(problem: DescentProblem) -> list[Array]:
    """The corners of the box: one where it is a point; of a box with many, two opposite ones."""
    assert problem.start.box is not None
    low, high = (_floats(end.row(0)) for end in problem.start.box)
    if len(low) > _PLANE:
        return [low] if np.array_equal(low, high) else [low, high]
    corners = {tuple(corner) for corner in product(*zip(low, high, strict=True))}
    return [np.array(corner) for corner in sorted(corners)]


def _floats(row: list[fmpq]) -> Array:
    return np.array([as_float(entry) for entry in row])


# -- what is certified


def _bound(rate: tuple[str, Values], elapsed: float) -> float:
    """The stated bound of 1 - cos so many steps after the rate begins."""
    form, values = rate
    log = math.log(as_float(values[OFFSET]) + as_float(values[SLOPE]) * elapsed)
    if form == LOGARITHM:
        return as_float(values[NUMERATOR]) / log
    root = math.sqrt(as_float(values[SQUARE]) + as_float(values[GROWTH]) * log)
    return ((as_float(values[LATERAL]) + root) / log) ** 2 / 2


def _opening(bound: float) -> float:
    """The angle whose 1 - cos is the bound."""
    return math.acos(max(-1.0, 1 - bound))


def _draw_tube(axes: Any, run: Run, rate: tuple[str, Values], turn: float, words: str | None) -> None:
    """Where all later points lie, from where it is less than a right angle."""
    begins, radii = as_float(rate[1][FROM]), np.linalg.norm(run.points, axis=1)
    later = [
        (float(r), _opening(_bound(rate, at - begins))) for at, r in zip(run.at, radii, strict=True) if at >= begins
    ]
    shown = np.array([(radius, opening) for radius, opening in later if opening < math.pi / 2])
    shown = shown[thinned(len(shown))]
    if len(shown) < 2:
        return
    left, right = (_polar(shown[:, 0], turn + sign * shown[:, 1]) for sign in (1, -1))
    (first, width), (last, narrow) = shown[0], shown[-1]
    far, near = _arc(last, turn + narrow, turn - narrow), _arc(first, turn - width, turn + width)
    axes.fill(*np.concatenate([left, far, right[::-1], near]).T, color=BOUND, alpha=0.18, lw=0, zorder=1)
    for side, label in ((left, words), (right, None)):
        axes.plot(*side.T, color=BOUND, lw=1.2, label=label, zorder=2)


def _polar(radii: Array | float, angles: Array) -> Array:
    return np.stack([radii * np.cos(angles), radii * np.sin(angles)], 1)


def _arc(radius: float, begin: float, end: float) -> Array:
    return _polar(radius, np.linspace(begin, end, 60))


def _draw_keys(axes: Any, problem: DescentProblem) -> None:
    """The keys, the chosen ones filled."""
    tokens = problem.selection.tokens
    for i, index in enumerate(problem.selection.indices):
        for t, key in enumerate(tokens.keys_of(i).to_rows()):
            face = _TOKEN if t == index else "white"
            axes.plot(*_floats(key), marker="s", ms=6, mfc=face, mec=_TOKEN, ls="", zorder=6)
