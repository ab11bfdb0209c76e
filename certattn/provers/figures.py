"""What all figures share: the kinds of files and the look. matplotlib is imported here only, and only for a figure."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from certattn.kernel.errors import UsageError

SUFFIXES = (".svg", ".png", ".pdf")

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
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise UsageError("a figure needs matplotlib: pip install 'certattn[plot]'") from None


@contextmanager
def canvas(path: Path, size: tuple[float, float], rows: int = 1, **options: Any) -> Iterator[tuple[Any, Any]]:
    """A figure of so many rows of axes, and the axes; written to the file when the block ends."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    with pyplot.rc_context(_SETTINGS), warnings.catch_warnings():
        # The place of a legend may take a second to find, which matplotlib warns of: on a busy machine, that is all.
        warnings.filterwarnings("ignore", 'Creating legend with loc="best"')
        figure, axes = pyplot.subplots(rows, figsize=size, layout="constrained", **options)
        try:
            yield figure, axes
            metadata = {"Date": None} if path.suffix == ".svg" else None
            figure.savefig(path, dpi=160, metadata=metadata)
        finally:
            pyplot.close(figure)
