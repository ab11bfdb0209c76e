"""A picture of how trusted files import each other: what is imported stands below what imports it."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

from certattn.provers.figures import canvas, require_figure
from certattn.statements.trust import Trust, TrustedFile

_COLORS = {
    "decide": "#4c72b0", "document": "#937860", "mathematics": "#55a868", "given": "#8c8c8c", "fast": "#c44e52",
}  # fmt: skip
_THEOREMS, _OTHER = "#8172b3", "#64b5cd"


def draw_imports(trust: Trust, out: Path) -> None:
    """Draw the files as boxes and their imports as lines. Raises UsageError where matplotlib is not installed."""
    require_figure(out)
    with canvas(out, (13.0, 8.5)) as (_, axes):
        axes.axis("off")
        axes.set_in_layout(False)
        axes.set_title("what is imported stands below what imports it, with its lines of code", fontsize=9)
        _draw(axes, trust)


def _draw(axes: Any, trust: Trust) -> None:
    files = {file.module: file for file in trust.files}
    heights = {module: _height(module, files) for module in files}
    rows: dict[int, list[str]] = defaultdict(list)
    for module in files:
        rows[heights[module]].append(module)
    places = {
        module: ((index + 0.5) / len(row), height)
        for height, row in rows.items()
        for index, module in enumerate(sorted(row, key=lambda each: files[each].room))
    }
    for module, file in files.items():
        for other in {*file.at_start, *file.later} & files.keys():
            (x0, y0), (x1, y1) = places[module], places[other]
            axes.plot([x0, x1], [y0, y1], color="#bbbbbb", linewidth=0.6, zorder=1)
    for module, (x, y) in places.items():
        file = files[module]
        axes.text(
            x, y, f"{file.path.stem}\n{file.lines}", ha="center", va="center", fontsize=7, color="white", zorder=2,
            bbox={"boxstyle": "round", "facecolor": _color(file), "edgecolor": "none"},
        )  # fmt: skip


def _height(module: str, files: dict[str, TrustedFile]) -> int:
    """The length of the longest chain of imports below a module."""
    below = [other for other in files[module].at_start if other in files]
    return 1 + max((_height(other, files) for other in below), default=-1)


def _color(file: TrustedFile) -> str:
    return _COLORS.get(file.room, _THEOREMS if ".theorems." in file.module else _OTHER)
