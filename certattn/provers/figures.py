"""What all figures share: the kinds of files and the look. matplotlib is imported here only, and only for a figure."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

from certattn.extras import require_extras
from certattn.kernel.errors import UsageError

SUFFIXES = (".svg", ".png", ".pdf")


class Kept:
    """Keeps a figure for a program instead of writing it."""

    figure: Any


# Where a figure goes: a file, whose ending says the format, bytes in memory, which are SVG, or a program.
Target = Path | BytesIO | Kept

UNCHECKED = "as stated: nothing was checked for this picture"
# Of the picture that is being drawn: whether its certificate is verified, None where that is not said.
_CHECKED: ContextVar[bool | None] = ContextVar("checked", default=None)

_SETTINGS = {
    "font.size": 10,
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
        if _CHECKED.get() is False:
            figure.supxlabel(UNCHECKED, fontsize=8, style="italic", color="0.35")
        if isinstance(target, Kept):
            target.figure = figure
            # For notebooks, which show by themselves what pyplot has made, and no other figure.
            figure._repr_svg_ = partial(_as_svg, figure)  # type: ignore[attr-defined]
            return
        _write(figure, target)


def _write(figure: Any, target: Path | BytesIO) -> None:
    form = target.suffix[1:] if isinstance(target, Path) else "svg"
    figure.savefig(target, format=form, dpi=160, metadata={"Date": None} if form == "svg" else None)


def _as_svg(figure: Any) -> str:
    memory = BytesIO()
    _write(figure, memory)
    return memory.getvalue().decode("utf-8")
