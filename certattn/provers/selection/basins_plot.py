"""A figure of a certificate of `selection-basins`: the cells by what is selected from there, and where it leads."""

from __future__ import annotations

from typing import Any

import numpy as np

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.theorems.selection.selection_basins import SELECTIONS, SHARE, Basins, read
from certattn.kernel.theorems.selection.stated_tokens import INDICES
from certattn.provers.figures import BOUND, MARK, RUN, THIRD, Target, canvas, standing
from certattn.provers.rounding import as_float, doubles

_PLANE, _NAMED = 2, 6
Array = np.ndarray[Any, Any]
# Selections beyond these take turns, with lighter cells.
_COLOURS = (RUN, BOUND, THIRD, "#8a5a9e", "#b8901f", "#5f7f2f")
_STRONG, _LIGHT, _UNDECIDED = 0.75, 0.4, "0.85"


def draw_certificate(certificate: Certificate, target: Target) -> None:
    """In the plane the cells stand where they are, and arrows show the max-margin directions; elsewhere, a and b."""
    basins = read(certificate)
    in_plane = basins.region.corner.columns == _PLANE
    corner = doubles(basins.region.corner)[0]
    sides = np.vstack([doubles(side) for side in basins.region.sides])
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
        where = "" if in_plane else f", a plane in dimension {basins.region.corner.columns}"
        decided = as_float(basins.share(None))
        figure.suptitle(
            f"starts by the tokens that are selected{where}\n{decided:.1%} of the area decided", fontsize=11
        )


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
