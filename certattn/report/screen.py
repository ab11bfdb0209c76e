"""What a terminal gets beyond plain lines: the one place that decides it, and the only one that knows of rich.

Pipes, files, dumb terminals and JSON never get any of it. Without rich, which the extra `rich` brings, or where a bar
has no room, everything is told in plain lines.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from certattn.kernel.decide.proof import Verdict

if TYPE_CHECKING:
    from rich.console import Console

# Colours of verdicts, here and in plain lines.
COLORS = {
    Verdict.VERIFIED.value: "green",
    Verdict.REFUTED.value: "red",
    Verdict.REJECTED.value: "red",
    Verdict.INCONCLUSIVE.value: "yellow",
    Verdict.MALFORMED.value: "magenta",
    Verdict.ERROR.value: "magenta",
}
_BAR = 30
_LEAST_BAR = 10
# Columns of a screen on which every table has room.
_ANY = 10_000


def is_drawn_on(stream: TextIO) -> bool:
    """Whether a person looks on who can be shown lines that change: at a terminal, and not a dumb one."""
    return stream.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")


def is_coloured(stream: TextIO) -> bool:
    """Whether colours are wanted there: not where NO_COLOR is set."""
    return is_drawn_on(stream) and not os.environ.get("NO_COLOR")


def bar(stream: TextIO, done: int, total: int, line: str) -> str:
    """A bar that stands before a line of progress on this stream; "" where there is none, or no room for one."""
    console = _console(stream)
    width = min(_BAR, console.width - len(line) - 2) if console is not None else 0
    if console is None or width < _LEAST_BAR:
        return ""
    from rich.progress_bar import ProgressBar

    with console.capture() as captured:
        console.print(ProgressBar(total, done, width, complete_style="cyan", finished_style="cyan"), end="")
    return captured.get().rstrip("\n") + " "


def tabulated(stream: TextIO, columns: Sequence[str], rows: Sequence[Sequence[str]], otherwise: str) -> str:
    """A table for this stream, verdicts in their colours, all columns but the first to the right.

    `otherwise` where there is none, or no room for one: cells on several lines are harder to read than plain lines.
    """
    console = _console(stream)
    if console is None:
        return otherwise
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for i, column in enumerate(columns):
        table.add_column(Text(column, COLORS.get(column, "")), justify="right" if i else "left")
    for row in rows:
        # As texts: strangers name files, and what they write must not be read as markup.
        table.add_row(*(Text(cell, COLORS.get(cell, "")) for cell in row))
    if console.measure(table, options=console.options.update(width=_ANY)).maximum > console.width:
        return otherwise
    with console.capture() as captured:
        console.print(table)
    return captured.get().strip("\n")


def _console(stream: TextIO) -> Console | None:
    """Rich's, where it can draw; it is imported for a terminal only."""
    if not is_drawn_on(stream):
        return None
    try:
        from rich.console import Console
    except ImportError:
        return None
    # It takes away the colours where NO_COLOR is set, and the width from the terminal.
    return Console(file=stream, force_terminal=True, highlight=False, markup=False, emoji=False)
