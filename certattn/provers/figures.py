"""What all figures share: the kinds of files and the look. matplotlib is imported here only, and only for a figure."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

from certattn.kernel.errors import UsageError

SUFFIXES = (".svg", ".png", ".pdf")
# Where a figure goes: a file, whose ending says the format, or bytes in memory, which are SVG.
Target = Path | BytesIO

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
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise UsageError("a figure needs matplotlib: pip install 'certattn[plot]'") from None


def warm_up() -> None:
    """Import matplotlib and find its fonts, so that processes that are forked from this one need not."""
    with canvas(BytesIO(), (1.0, 1.0)) as (_, axes):
        axes.set_title("$x$")


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
            form = target.suffix[1:] if isinstance(target, Path) else "svg"
            metadata = {"Date": None} if form == "svg" else None
            figure.savefig(target, format=form, dpi=160, metadata=metadata)
        finally:
            pyplot.close(figure)
