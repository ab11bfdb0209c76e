"""A figure of a certificate of `selection-basins`: the cells by what is selected from there, and where it leads."""

from __future__ import annotations

from typing import Any

import numpy as np

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.theorems.selection.selection_basins import SELECTIONS, SHARE, Basins, read
from certattn.kernel.theorems.selection.stated_tokens import INDICES
from certattn.provers.figures import BOUND, MARK, RUN, THIRD, Target, canvas, power, standing
from certattn.provers.rounding import as_float, doubles

_PLANE, _NAMED = 2, 6
Array = np.ndarray[Any, Any]
# Selections beyond these take turns, with lighter cells.
_COLOURS = (RUN, BOUND, THIRD, "#8a5a9e", "#b8901f", "#5f7f2f")
# A region of the plane is drawn as it is unless it is narrower, by its length, or shorter, by its coordinates, than so.
_NARROW, _SHORT = 1e-2, 1e-9
_STRONG, _LIGHT, _UNDECIDED = 0.75, 0.4, "0.85"


def draw_certificate(certificate: Certificate, target: Target) -> None:
    """In the plane the cells stand where they are, and arrows show the max-margin directions; elsewhere, a and b.

    So are regions of the plane that would be a line or a point.
    """
    basins = read(certificate)
    corner, *ways = (
        np.array([as_float(x) for x in each.row(0)]) for each in (basins.region.corner, *basins.region.sides)
    )
    sides, where = np.vstack(ways), _hindrance(corner, np.vstack(ways))
    in_plane = not where
    if not in_plane:
        corner, sides = np.zeros(_PLANE), np.eye(_PLANE)
    with canvas(target, (5.6, 6.2)) as (figure, axes):
        named = set[int | None]()
        for leaf in basins.leaves:
            low, size = np.array([as_float(x) for x in leaf.low]), as_float(leaf.size)
            square = low + size * np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
            places = corner + square @ sides
            label = None if leaf.selection in named or len(named) > _NAMED else _label(basins, leaf.selection)
            colour, strength = _colour(leaf.selection), _strength(leaf.selection)
            axes.fill(*places.T, fc=colour, alpha=strength, lw=0.3, ec="white", label=label)
            named.add(leaf.selection)
        if in_plane:
            _draw_directions(axes, basins, corner + sides.sum(0) / 2, float(np.abs(sides).max()))
        axes.set_aspect("equal", adjustable="box")
        axes.set_xlabel("$p_1$" if in_plane else "$a$")
        axes.set_ylabel("$p_2$" if in_plane else "$b$")
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12))
        decided = as_float(basins.share(None))
        figure.suptitle(
            f"starts by the tokens that are selected{where}\n{decided:.1%} of the area decided", fontsize=11
        )


def _hindrance(corner: Array, sides: Array) -> str:
    """Why the cells cannot stand where they are, for the title; empty if they can."""
    if len(corner) != _PLANE:
        return f", a plane in dimension {len(corner)}"
    lengths = np.linalg.norm(sides, axis=1)
    sizes = f"\nby a and b: sides about {power(lengths[0])} and {power(lengths[1])} long"
    if not lengths.min() > _SHORT * np.abs(corner).max():
        return f"{sizes} are too short to see"
    if not abs(np.linalg.det(sides / lengths.max())) > _NARROW:
        return f"{sizes} make a line"
    return ""


def _draw_directions(axes: Any, basins: Basins, middle: Array, width: float) -> None:
    """An arrow for every selection, from the middle of the region."""
    for s, problem in enumerate(basins.selections):
        way = doubles(problem.solution.solution)[0]
        tip = middle + 0.4 * width * way / np.linalg.norm(way)
        arrow = {"arrowstyle": "-|>", "color": MARK, "fc": _colour(s), "lw": 1.2}
        axes.annotate("", tip, middle, arrowprops=arrow, zorder=5)


def _label(basins: Basins, selection: int | None) -> str:
    if selection is None:
        return "undecided"
    listed = basins.asserts[SELECTIONS][selection]
    tokens = ", ".join(map(str, listed[INDICES][:_NAMED])) + (", ..." if len(listed[INDICES]) > _NAMED else "")
    return f"{standing()}: tokens ({tokens}), {as_float(listed[SHARE]):.1%}"


def _colour(selection: int | None) -> str:
    return _UNDECIDED if selection is None else _COLOURS[selection % len(_COLOURS)]


def _strength(selection: int | None) -> float:
    return 1.0 if selection is None else _STRONG if selection < len(_COLOURS) else _LIGHT
