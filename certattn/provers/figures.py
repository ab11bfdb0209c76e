"""What all figures share: the kinds of files and the look. matplotlib is imported here only, and only for a figure."""

from __future__ import annotations

import gc
import re
import warnings
from collections.abc import Iterator, Sequence
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
_RAISED, _SUPERSCRIPTS = re.compile(r"\^\{(-?\d+)\}"), str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
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
    # Where it is by itself: to look whether anything is in its way takes a tenth of the time.
    "axes.titley": 1.0,
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


def fill_all(axes: Any, outlines: Sequence[Any], **options: Any) -> None:
    """Fill polygons of one look, at once: each by itself takes longer than it takes to draw it."""
    from matplotlib.collections import PolyCollection

    axes.add_collection(PolyCollection(outlines, lw=0, **options))
    axes.autoscale_view()


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
        _powers_in_letters(figure)
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
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    memory = BytesIO()
    canvas, dpi = figure.canvas, figure.dpi
    try:
        # Not by `savefig`, which draws every figure twice: the layout is made where it is drawn.
        figure.dpi = 160
        with _minor_marks_at_once(figure):
            FigureCanvasSVG(figure).print_svg(memory, metadata={"Date": None})
    finally:
        figure.dpi = dpi
        figure.set_canvas(canvas)
    text = _shortened(memory.getvalue().decode("utf-8")).encode("utf-8")
    _ = target.write_bytes(text) if isinstance(target, Path) else target.write(text)


def _log_axes(figure: Any) -> list[tuple[Any, Any]]:
    """Its logarithmic axes, each with what it belongs to."""
    both = [(axes, axis) for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)]
    return [(axes, axis) for axes, axis in both if axis.get_scale() == "log"]


def _powers_in_letters(figure: Any) -> None:
    """Labels of logarithmic axes in letters: as formulas they take longer than all the rest of a picture."""
    from matplotlib.ticker import LogFormatterSciNotation

    class Powers(LogFormatterSciNotation):
        def __call__(self, x: float, pos: Any = None) -> str:
            return _in_letters(super().__call__(x, pos))

    for _, axis in _log_axes(figure):
        if isinstance(axis.get_major_formatter(), LogFormatterSciNotation):
            axis.set_major_formatter(Powers())
            axis.set_minor_formatter(Powers(labelOnlyBase=False))


def _in_letters(formula: str) -> str:
    """A number of an axis, which matplotlib writes as a formula, in plain letters."""
    raised = _RAISED.sub(lambda power: power[1].translate(_SUPERSCRIPTS), formula.replace(r"\times", "×"))
    return re.sub(r"[${}]|\\mathdefault", "", raised).replace("-", "\N{MINUS SIGN}")


@contextmanager
def _minor_marks_at_once(figure: Any) -> Iterator[None]:
    """In the block, marks without labels between powers of ten are one line an axis instead of many ticks each."""
    from matplotlib.lines import Line2D
    from matplotlib.markers import TICKDOWN, TICKLEFT
    from matplotlib.ticker import NullLocator

    changed = []
    for axes, axis in _log_axes(figure):
        low, high = sorted(axis.get_view_interval())
        marks = [float(mark) for mark in axis.get_minorticklocs() if low <= mark <= high]
        if not marks or any(axis.get_minor_formatter().format_ticks(marks)):
            continue
        edge, across = [0.0] * len(marks), axis is axes.xaxis
        line = Line2D(
            marks if across else edge, edge if across else marks,
            ls="", marker=TICKDOWN if across else TICKLEFT, ms=2, mew=0.6, color="black", clip_on=False,
            transform=axes.get_xaxis_transform() if across else axes.get_yaxis_transform(),
        )  # fmt: skip
        line.set_in_layout(False)
        axes.add_artist(line)
        changed.append((axis, axis.get_minor_locator(), line))
        axis.set_minor_locator(NullLocator())
    try:
        yield
    finally:
        for axis, locator, line in changed:
            axis.set_minor_locator(locator)
            line.remove()


def _as_svg(figure: Any) -> str:
    memory = BytesIO()
    _write(figure, memory)
    return memory.getvalue().decode("utf-8")
