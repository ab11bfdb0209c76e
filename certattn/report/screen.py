"""What a terminal gets beyond plain lines: colours, and lines that change. The one place that decides it."""

from __future__ import annotations

import os
from typing import TextIO

from certattn.kernel.decide.proof import Verdict

COLORS = {
    Verdict.VERIFIED.value: "green",
    Verdict.REFUTED.value: "red",
    Verdict.REJECTED.value: "red",
    Verdict.INCONCLUSIVE.value: "yellow",
    Verdict.MALFORMED.value: "magenta",
    Verdict.ERROR.value: "magenta",
}


def is_drawn_on(stream: TextIO) -> bool:
    """Whether a person looks on who can be shown lines that change: at a terminal, and not a dumb one."""
    return stream.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")


def is_coloured(stream: TextIO) -> bool:
    """Whether colours are wanted there: not where NO_COLOR is set."""
    return is_drawn_on(stream) and not os.environ.get("NO_COLOR")
