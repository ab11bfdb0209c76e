"""A picture of the errors of an output: of every head by query, and of the worst head by query and coordinate.

What is drawn are proved upper bounds of |o - T|. Of many queries each cell shows the largest of some, so that no error
is too small a part of the picture to be seen.
"""

from __future__ import annotations

from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from certattn.fast.output_errors import OutputErrors
from certattn.fast.units import Floats
from certattn.kernel.document.quoting import counted
from certattn.provers.figures import canvas
from certattn.testing.comparing import least_bound
from certattn.testing.errors import AttentionError
from certattn.testing.measuring import Bad

# Cells side by side, and orders of magnitude below the largest error.
_MOST_CELLS = 512
_DECADES = 4
_INCHES_PER_ROW, _LEAST_HEIGHT, _MOST_HEIGHT = 0.16, 1.4, 4.5


class HeatMap:
    """Takes the errors of heads as `measured` tells them, and draws them."""

    def __init__(self) -> None:
        self._rows: dict[tuple[int, int], Floats] = {}
        self._worst: tuple[float, int, int, Floats] | None = None
        self._lock = Lock()

    def tell(self, batch: int, head: int, errors: OutputErrors, bad: Bad | None) -> None:
        """Of one head."""
        high = errors.high if bad is None else np.where(bad, np.inf, errors.high)
        rows = high.max(axis=1)
        with self._lock:
            self._rows[batch, head] = rows
            largest = float(rows.max())
            # Of equals the first, whichever thread comes first.
            if self._worst is None or (-largest, batch, head) < (-self._worst[0], *self._worst[1:3]):
                self._worst = largest, batch, head, np.array(high)

    def draw(self, path: Path, found: AttentionError) -> None:
        """Write the picture. Raises UsageError where matplotlib is missing."""
        assert self._worst is not None
        _, batch, head, worst = self._worst
        batches, heads, queries, _ = found.shape
        at, by_head = found.worst, np.array([self._rows[place] for place in sorted(self._rows)])
        what = "head" if batches == 1 else "batch/head"
        panels = [(what, "the largest error of each row of every head", by_head, batch * heads + head)]
        panels = panels if len(by_head) > 1 else []
        panels.append(("coordinate", f"batch {batch}, head {head}, the worst one", worst.T, at.coordinate))
        heights = [min(max(_LEAST_HEIGHT, _INCHES_PER_ROW * len(table)), _MOST_HEIGHT) for _, _, table, _ in panels]
        size = (7.0, 0.8 + sum(heights) + 0.6 * len(heights))
        shape = {"squeeze": False, "sharex": True, "gridspec_kw": {"height_ratios": heights}}
        with canvas(path, size, len(panels), **shape) as (figure, axes):
            scale, colours = _scale(by_head)
            for (label, title, table, row), part in zip(panels, axes[:, 0], strict=True):
                cells = np.ma.masked_invalid(_fewer(table))
                extent = (-0.5, queries - 0.5, len(table) - 0.5, -0.5)
                how = {"norm": scale, "cmap": colours, "aspect": "auto", "interpolation": "none"}
                image = part.imshow(cells, extent=extent, **how)
                part.plot(at.query, row, "o", ms=9, mfc="none", mec="#d62728", mew=1.2, clip_on=False)
                part.set_ylabel(label)
                part.set_title(title, fontsize=10)
                part.yaxis.get_major_locator().set_params(integer=True)
                part.xaxis.get_major_locator().set_params(integer=True)
                if label == "batch/head":
                    _name_heads(part, batches, heads)
            part.set_xlabel("query")
            red = "; red: NaN or infinite" if found.not_finite else ""
            figure.colorbar(image, ax=list(axes[:, 0]), label=f"|output - exact attention|, at most{red}", extend="min")
            figure.suptitle(_title(found), fontsize=10)


def _title(found: AttentionError) -> str:
    if found.not_finite:
        return f"{found.dtype}: {counted(found.not_finite, 'entry')} NaN or infinite, the first in a circle"
    return f"{found.dtype}: the largest error, in a circle, is at most {least_bound(found.max_abs, 3)}"


def _name_heads(part: Any, batches: int, heads: int) -> None:
    """A tick where each batch begins, or where some do."""
    step = -(-batches // 16)
    part.set_yticks([batch * heads for batch in range(0, batches, step)])
    part.set_yticklabels([f"{batch}/0" for batch in range(0, batches, step)])


def _scale(table: Floats) -> tuple[Any, Any]:
    """Logarithmic, from the largest error down; one colour for what is no number."""
    from matplotlib import colormaps
    from matplotlib.colors import LogNorm

    finite = table[np.isfinite(table)]
    top = float(finite.max(initial=0.0)) or 1.0
    colours = colormaps["viridis"].with_extremes(bad="#d62728", under="#1a0b2e")
    return LogNorm(top * 10.0**-_DECADES, top), colours


def _fewer(table: Floats) -> Floats:
    """Blocks of columns, of each the largest number."""
    columns = table.shape[1]
    size = -(-columns // _MOST_CELLS)
    starts = np.arange(0, columns, size)
    found: Floats = np.maximum.reduceat(table, starts, axis=1)
    return found
