"""What all figures share: the kinds of files and the look. matplotlib is imported here only, and only for a figure."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from io import BytesIO
from pathlib import Path
from typing import Any

from certattn.extras import require_extras
from certattn.kernel.errors import UsageError

SUFFIXES = (".svg", ".png", ".pdf")
# Where a figure goes: a file, whose ending says the format, or bytes in memory, which are SVG.
Target = Path | BytesIO

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
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    with pyplot.rc_context(_SETTINGS), warnings.catch_warnings():
        # The place of a legend may take a second to find, which matplotlib warns of: on a busy machine, that is all.
        warnings.filterwarnings("ignore", 'Creating legend with loc="best"')
        figure, axes = pyplot.subplots(rows, figsize=size, layout="constrained", **options)
        try:
            yield figure, axes
            if _CHECKED.get() is False:
                figure.supxlabel(UNCHECKED, fontsize=8, style="italic", color="0.35")
            form = target.suffix[1:] if isinstance(target, Path) else "svg"
            metadata = {"Date": None} if form == "svg" else None
            figure.savefig(target, format=form, dpi=160, metadata=metadata)
        finally:
            pyplot.close(figure)
