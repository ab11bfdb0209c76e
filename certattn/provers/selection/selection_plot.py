"""A figure of a certificate of `selection-direction`: the run, the direction of p_mm, what is certified of their angle.

The run is computed in doubles, many steps at once where the point hardly moves, and shown as it is. Beside it stands
what the certificate says of its angle with p_mm: the tube of all later points (at the computed distance from 0), from
the rate, as far as it is less than a right angle; and an arc for each bound at a single step, hollow where the run is
outside it. The plane is drawn for keys in it, the angle by step in every dimension.
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
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.mathematics.selection_landscape import landscape
from certattn.kernel.theorems.selection.direction_bounds import ANGLES, StatedBound
from certattn.kernel.theorems.selection.direction_theorems import (
    FROM,
    GROWTH,
    LATERAL,
    LINEAR,
    LOGARITHM,
    NUMERATOR,
    OFFSET,
    RATE,
    SLOPE,
    SQUARE,
)
from certattn.kernel.theorems.selection.mathematics.selection_constants import NORMALISED
from certattn.kernel.theorems.selection.selection_direction import THEOREM, DescentProblem
from certattn.provers.figures import BOUND, MARK, RUN, Target, canvas, standing, thinned
from certattn.provers.rounding import as_float
from certattn.provers.selection.plotted_keys import Key, Square, draw_keys

_PLANE, _ROUNDING = 2, 1e-28
# The run is followed until the certified angle is so small, or for so many steps: beyond those only to bounds that are
# stated, and not beyond _LAST. So many steps are single ones; then it goes in so many moves of such a length.
_NARROW, _LATEST, _LAST, _SINGLES, _MOST_MOVES, _MOVE = 0.3, 1e12, 1e60, 5000, 10_000, 0.02
# Up to this dimension, moves of many steps are told how the direction turns.
_FEW = 16
# So many points are drawn, and so many chosen tokens named.
_POINTS, _NAMED = 200, 8
# Half as wide as this part of the picture is an arc that the run is outside.
_HOLLOW = 0.005

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
    size = (5.6, 9.4 if plane else 4.2)
    ratios = [5, 3] if plane else [1]
    with canvas(path, size, len(ratios), squeeze=False, height_ratios=ratios) as (figure, axes):
        figure.suptitle(_title(problem), fontsize=11)
        if plane:
            _draw_plane(axes[0, 0], problem, runs)
        _draw_angles(axes[-1, 0], problem, runs)


def _title(problem: DescentProblem) -> str:
    """What goes where, and what proves it from when on."""
    indices, begins, tokens = problem.selection.indices, _begins(problem), problem.selection.tokens
    chosen = ", ".join(map(str, indices[:_NAMED])) + (", ..." if len(indices) > _NAMED else "")
    rule = "gradient flow" if not problem.rule.discrete else f"{problem.rule.kind} descent"
    after = f"from {_unit(problem)} {describe(begins)} on" if begins > 0 else "from the start on"
    return (
        f"{rule}, {problem.loss.name} loss, in dimension {tokens.dimension}, to the tokens ({chosen})\n"
        f"theorem '{problem.theorem.name}' {after}"
    )


def _begins(problem: DescentProblem) -> fmpq:
    """From when on the theorem says something of the run."""
    begins = problem.rate_begins
    return problem.enclosed if begins is None else begins


def _draw_plane(axes: Any, problem: DescentProblem, runs: list[Run]) -> None:
    ray = _floats(problem.solution.solution.row(0))
    turn = math.atan2(ray[1], ray[0])
    reach = 1.05 * max(float(np.linalg.norm(run.points, axis=1).max()) for run in runs)
    tip = reach * np.array([math.cos(turn), math.sin(turn)])
    axes.plot([0, tip[0]], [0, tip[1]], color=MARK, ls="--", lw=1.2, label=r"direction of $p_{mm}$", zorder=3)
    for number, run in enumerate(runs):
        label = "descent, computed in doubles" if number == 0 else None
        axes.plot(*run.points[run.drawn].T, color=RUN, lw=1.5, label=label, zorder=4)
        axes.plot(*run.points[0], marker="o", ms=4, color=RUN, zorder=5)
    drawn, rate = [tip[None], np.zeros((1, 2)), *(run.points[run.drawn] for run in runs)], problem.asserts.get(RATE)
    words = f"{standing()} for all later {_unit(problem)}s"
    if rate is not None:
        # The runs from the corners of a box are at nearly the same distances: one tube stands for all.
        drawn += _draw_tube(axes, runs[0], rate, turn, words)
    rim = _HOLLOW * reach
    outside: str | None = f"{standing()} to be outside at this {_unit(problem)}"
    # The hollow arcs, which are the narrower ones, come last.
    for stated in sorted(_angles(problem), key=lambda stated: stated.relation == ">="):
        opening, radius = _opening(as_float(stated.bound)), runs[0].radius_at(as_float(stated.at))
        arc = _arc(radius, turn - opening, turn + opening)
        drawn.append(arc)
        if stated.relation == ">=":
            far, near = (_arc(radius + wide, turn - opening, turn + opening) for wide in (rim, -rim))
            axes.fill(*np.concatenate([far, near[::-1]]).T, fc="white", ec=BOUND, lw=0.9, zorder=3, label=outside)
            outside = None
            continue
        axes.plot(*arc.T, color=BOUND, lw=3, zorder=3)
        for side in (-opening, opening) if stated.ever else ():
            axes.plot(*_polar(np.array([radius, reach]), np.full(2, turn + side)).T, color=BOUND, lw=1.2, zorder=3)
    seen = Square.around(np.concatenate(drawn), 1.15)
    seen.show(axes)
    _draw_keys(axes, problem, seen, np.concatenate(drawn))
    axes.set_xlabel("$p_1$")
    axes.set_ylabel("$p_2$")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12))


def _draw_angles(axes: Any, problem: DescentProblem, runs: list[Run]) -> None:
    """1 - cos of the angle with p_mm, by step: computed, bounded, and where the theorem takes over."""
    ray, last, unit = _floats(problem.solution.solution.row(0)), float(runs[0].at[-1]), _unit(problem)
    rate, begins = problem.asserts.get(RATE), as_float(_begins(problem))
    for number, run in enumerate(runs):
        sizes = np.linalg.norm(run.points, axis=1)
        shown = run.drawn
        seen = shown[(run.at[shown] > 0) & (sizes[shown] > 0)]
        gaps = _gaps(run.points[seen], ray)
        axes.loglog(run.at[seen], np.where(gaps > _ROUNDING, gaps, np.nan), color=RUN, lw=1.5,
                    label="computed in doubles" if number == 0 else None)  # fmt: skip
    if rate is not None:
        first = as_float(rate[1][FROM])
        later = np.geomspace(1.0, max(last - first, 2.0), 200)
        bounds = np.array([_bound(rate, float(elapsed)) for elapsed in later])
        told = bounds < 1
        if told.any():
            label = f"{standing()}, at most"
            axes.loglog((first + later)[told], bounds[told], color=BOUND, lw=1.4, ls="--", label=label)
    single = [stated for stated in _angles(problem) if not stated.ever]
    said: str | None = f"{standing()} for all later {unit}s"
    for stated in _angles(problem):
        if not stated.ever:
            continue
        at, bound = max(as_float(stated.at), 1.0), as_float(stated.bound)
        axes.loglog([at, max(last, 2 * at)], [bound, bound], color=BOUND, lw=1.4, marker=">", markevery=[0], label=said)
        said = None
    # An arrow points to where the angle is.
    for relation, marker, face, words in (("<=", "v", BOUND, "at most"), (">=", "^", "white", "at least")):
        found = [(max(as_float(s.at), 1.0), as_float(s.bound)) for s in single if s.relation == relation]
        if found:
            label = f"{standing()} at this {unit}, {words}"
            axes.loglog(*zip(*found, strict=True), color=BOUND, ls="", marker=marker, mfc=face, label=label)
    if 0 < begins <= last:
        axes.axvline(begins, color="0.55", lw=1, ls=":", zorder=1, label=f"theorem '{problem.theorem.name}' takes over")
    axes.set_xlabel(unit)
    axes.set_ylabel(r"$1 - \cos\angle(p, p_{mm})$")
    axes.grid(True)
    axes.legend()


def _angles(problem: DescentProblem) -> list[StatedBound]:
    return [bound for bound in problem.bounds if bound.kind == ANGLES.name]


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
        """From a start to where what is certified has become narrow, as far as there is patience.

        The first steps are single ones. Later ones are many at once, and so is the flow: then a move m is
        p + m (I - m J)^-1 n, n being the direction downhill and J its derivative, which does not overshoot where n
        turns quickly.
        """
        end, downhill, step = _end(problem), _gradients(problem), _step(problem)
        normalised, singles = problem.rule.kind == NORMALISED, _SINGLES if problem.rule.discrete else 0
        point, k, at, points = start, 0.0, [0.0], [start]
        while k < end and len(at) < singles + _MOST_MOVES:
            slope = downhill(point)
            length = float(np.linalg.norm(slope))
            single = step if normalised else step * length
            if not (single > 0 and length > 0):
                break
            move = min(_MOVE + 0.004 * float(np.linalg.norm(point)), max(1.0, end - k) * single)
            if k < singles or (problem.rule.discrete and move < single):
                point, k = point + single / length * slope, k + 1
            else:
                point = point + _many(downhill, point, slope / length, move)
                after = float(np.linalg.norm(downhill(point)))
                k += move / step / (1.0 if normalised else math.sqrt(length * after))
            if not (np.all(np.isfinite(point)) and math.isfinite(k)):
                break
            at.append(k)
            points.append(point)
        return cls(np.array(at), np.array(points))

    @property
    def drawn(self) -> Array:
        """Which points are drawn: evenly by the logarithm of the step, and the first."""
        wanted = np.geomspace(min(1.0, self.at[-1] or 1.0), max(self.at[-1], 1.0), _POINTS)
        return np.unique(np.append(0, np.minimum(np.searchsorted(self.at, wanted), len(self.at) - 1)))

    def radius_at(self, at: float) -> float:
        """|p| there; of what was not computed, at the end of the run."""
        radii = np.linalg.norm(self.points, axis=1)
        return float(np.interp(at, self.at, radii))


def _many(downhill: Callable[[Array], Array], point: Array, way: Array, move: float) -> Array:
    """A move of so far along a direction field, of which `way` is what it has at the point."""
    if len(point) > _FEW:
        return move * way
    shift, columns = 1e-6 * (1 + float(np.linalg.norm(point))), []
    for axis in np.eye(len(point)):
        slope = downhill(point + shift * axis)
        columns.append((slope / float(np.linalg.norm(slope)) - way) / shift)
    turned = np.linalg.solve(np.eye(len(point)) - move * np.array(columns).T, way)
    return np.asarray(move * turned / float(np.linalg.norm(turned)))


def _end(problem: DescentProblem) -> float:
    """The last step that is shown: past every bound, and until the rate is narrow if that is not too late."""
    bounds = [min(as_float(bound.at), _LAST) for bound in _angles(problem)]
    end = max(
        [
            1000.0,
            10 * as_float(_begins(problem)),
            *(10 * at if b.ever else at for at, b in zip(bounds, _angles(problem), strict=True)),
        ]
    )
    rate = problem.asserts.get(RATE)
    if rate is not None:
        begins = as_float(rate[1][FROM])
        end = max(end, min(10 * begins, _LATEST))
        while end < _LATEST and _opening(_bound(rate, max(end - begins, 0.0))) > _NARROW:
            end *= 10
    return min(end, _LAST)


def _gradients(problem: DescentProblem) -> Callable[[Array], Array]:
    """-grad F in doubles, F the sum of the losses."""
    inputs = []
    for contrasts in landscape(problem.selection, problem.loss).inputs:
        rows = np.array([[float(x) for x in z] for z, _ in contrasts.rows])
        inputs.append((float(contrasts.score), rows, np.array([float(g) for _, g in contrasts.rows])))
    slope = _SLOPES[problem.loss.name]

    # Of normalised steps only the direction counts, which is lost where all weights are too small for doubles.
    lifted = problem.rule.kind == NORMALISED

    def downhill(point: Array) -> Array:
        total, logarithms = np.zeros(len(point)), []
        for _, rows, _ in inputs:
            exponents = np.append(-(rows @ point), 0.0)
            highest = exponents.max()
            logarithms.append(exponents[:-1] - highest - math.log(float(np.exp(exponents - highest).sum())))
        lift = max(0.0, -max(float(each.max()) for each in logarithms)) if lifted else 0.0
        for (score, rows, gaps), logs in zip(inputs, logarithms, strict=True):
            gap = float(np.exp(logs) @ gaps)
            total += slope(score - gap) * ((np.exp(logs + lift) * (gaps - gap)) @ rows)
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
    argument = as_float(values[OFFSET]) + as_float(values[SLOPE]) * elapsed
    if form == LINEAR:
        return (as_float(values[LATERAL]) / argument) ** 2 / 2
    log = math.log(argument)
    if form == LOGARITHM:
        return as_float(values[NUMERATOR]) / log
    root = math.sqrt(as_float(values[SQUARE]) + as_float(values[GROWTH]) * log)
    return ((as_float(values[LATERAL]) + root) / log) ** 2 / 2


def _opening(bound: float) -> float:
    """The angle whose 1 - cos is the bound."""
    return math.acos(max(-1.0, 1 - bound))


def _draw_tube(axes: Any, run: Run, rate: tuple[str, Values], turn: float, words: str | None) -> list[Array]:
    """Where all later points lie, from where it is less than a right angle; points of it."""
    begins, radii = as_float(rate[1][FROM]), np.linalg.norm(run.points, axis=1)
    later = [
        (float(r), _opening(_bound(rate, at - begins))) for at, r in zip(run.at, radii, strict=True) if at >= begins
    ]
    shown = np.array([(radius, opening) for radius, opening in later if opening < math.pi / 2])
    if len(shown) < 2:
        return []
    shown = shown[thinned(len(shown))]
    left, right = (_polar(shown[:, 0], turn + sign * shown[:, 1]) for sign in (1, -1))
    (first, width), (last, narrow) = shown[0], shown[-1]
    far, near = _arc(last, turn + narrow, turn - narrow), _arc(first, turn - width, turn + width)
    axes.fill(*np.concatenate([left, far, right[::-1], near]).T, color=BOUND, alpha=0.18, lw=0, zorder=1)
    for side, label in ((left, words), (right, None)):
        axes.plot(*side.T, color=BOUND, lw=1.2, label=label, zorder=2)
    return [left + part * (right - left) for part in np.linspace(0, 1, 9)]


def _polar(radii: Array | float, angles: Array) -> Array:
    return np.stack([radii * np.cos(angles), radii * np.sin(angles)], 1)


def _arc(radius: float, begin: float, end: float) -> Array:
    return _polar(radius, np.linspace(begin, end, 60))


def _draw_keys(axes: Any, problem: DescentProblem, seen: Square, busy: Array) -> None:
    """The keys, the chosen ones filled."""
    tokens, keys = problem.selection.tokens, list[Key]()
    for i, index in enumerate(problem.selection.indices):
        keys += [Key(_floats(key), i, t == index) for t, key in enumerate(tokens.keys_of(i).to_rows())]
    draw_keys(axes, keys, seen, busy)
