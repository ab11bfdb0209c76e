"""What all figures share: the kinds of files and the look. matplotlib is imported here only, and only for a figure."""

from __future__ import annotations

import gc
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from certattn.extras import require_extras
from certattn.kernel.errors import UsageError

if TYPE_CHECKING:
    import numpy as np

SUFFIXES = (".svg", ".png", ".pdf")


class Kept:
    """Keeps a figure for a program instead of writing it."""

    figure: Any


# Where a figure goes: a file, whose ending says the format, bytes in memory, which are SVG, or a program.
Target = Path | BytesIO | Kept

UNCHECKED = "as stated: nothing was checked for this picture"
CHECKED = "drawn after its certificate was verified"
# Colours that differ in lightness too, for readers who do not tell hues apart: what was computed, what is certified,
# a third thing, and marks.
RUN, BOUND, THIRD, MARK = "#1f4e79", "#c0562f", "#008a6b", "#111111"
# Of the picture that is being drawn: whether its certificate is verified, None where that is not said.
_CHECKED: ContextVar[bool | None] = ContextVar("checked", default=None)

_COORDINATES = re.compile(r'(?<= )(?:d|x|y|points)="[^"]*"')
_DECIMALS = re.compile(r"-?\d+\.\d{3,}")

_SETTINGS = {
    # Pictures are shown on telephones: 5.6 inches wide, letters of 11 points.
    "font.size": 11,
    "axes.titlesize": 11,
    "axes.labelsize": 11,
    "legend.fontsize": 9.5,
    "legend.frameon": False,
    "grid.color": "0.9",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "certattn",
    "mathtext.fontset": "cm",
    "font.family": "serif",
}


def require_figure(path: Path) -> None:
    """Raises UsageError where no figure can be drawn, before any work is done."""
    if path.suffix not in SUFFIXES:
        raise UsageError(f"{path}: a figure ends in {', '.join(SUFFIXES)}")
    if not path.parent.is_dir():
        raise UsageError(f"{path.parent}: no such folder")
    require_matplotlib()


def require_matplotlib() -> None:
    """Raises UsageError where it is not installed."""
    require_extras("figures", "plot")


def warm_up() -> None:
    """Import matplotlib and find its fonts, so that processes that are forked from this one need not."""
    with canvas(BytesIO(), (1.0, 1.0)) as (_, axes):
        axes.set_title("$x$")
    # No open font goes along: a worker closes what it inherits, and a font that is thrown away there later would close
    # its number again, which may then be that of a font in use.
    from matplotlib import font_manager

    font_manager._get_font.cache_clear()  # type: ignore[attr-defined]
    gc.collect()


@contextmanager
def drawn_as(*, checked: bool) -> Iterator[None]:
    """What is drawn in the block is of a certificate that is verified, or else says that it is not known to be."""
    before = _CHECKED.set(checked)
    try:
        yield
    finally:
        _CHECKED.reset(before)


def standing() -> str:
    """The word for bounds of the certificate that is drawn."""
    return "certified" if _CHECKED.get() else "stated"


def _shortened(svg: str) -> str:
    """The same picture in fewer bytes: coordinates to a hundredth of a point, which nobody sees."""
    flat = re.sub(r"\n\s+", "\n", svg)
    return _COORDINATES.sub(lambda found: _DECIMALS.sub(_rounded, " ".join(found[0].split())), flat)


def _rounded(number: re.Match[str]) -> str:
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")


def thinned(count: int, most: int = 160) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Which of so many points of a curve are drawn: the first and the last, and those between evenly by logarithm."""
    import numpy as np

    return np.unique(np.append(0, np.geomspace(1, max(count - 1, 1), most).round().astype(np.int64))[:count])


def power(value: float) -> str:
    """A number of three digits for a label; a power of ten where it is written with one."""
    digits, _, exponent = f"{value:.3g}".partition("e")
    if not exponent:
        return digits
    times = "" if digits == "1" else rf"{digits} \times "
    return rf"${times}10^{{{int(exponent)}}}$"


@contextmanager
def canvas(target: Target, size: tuple[float, float], rows: int = 1, **options: Any) -> Iterator[tuple[Any, Any]]:
    """A figure of so many rows of axes, and the axes; written to the target when the block ends."""
    # Not by pyplot, whose figures and backend are the caller's.
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(_SETTINGS), warnings.catch_warnings():
        # The place of a legend may take a second to find, which matplotlib warns of: on a busy machine, that is all.
        warnings.filterwarnings("ignore", 'Creating legend with loc="best"')
        figure = Figure(figsize=size, layout="constrained")
        yield figure, figure.subplots(rows, **options)
        if (checked := _CHECKED.get()) is not None:
            figure.supxlabel(CHECKED if checked else UNCHECKED, fontsize=8.5, color="0.35")
        if isinstance(target, Kept):
            target.figure = figure
            # For notebooks, which show by themselves what pyplot has made, and no other figure.
            figure._repr_svg_ = partial(_as_svg, figure)  # type: ignore[attr-defined]
            return
        _write(figure, target)


def _write(figure: Any, target: Path | BytesIO) -> None:
    form = target.suffix[1:] if isinstance(target, Path) else "svg"
    if form != "svg":
        figure.savefig(target, format=form, dpi=160)
        return
    memory = BytesIO()
    figure.savefig(memory, format=form, dpi=160, metadata={"Date": None})
    text = _shortened(memory.getvalue().decode("utf-8")).encode("utf-8")
    _ = target.write_bytes(text) if isinstance(target, Path) else target.write(text)


def _as_svg(figure: Any) -> str:
    memory = BytesIO()
    _write(figure, memory)
    return memory.getvalue().decode("utf-8")
