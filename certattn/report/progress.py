"""A line of progress on stderr, and only where a person looks on."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from types import TracebackType


class Progress:
    """How many of `total` certificates are done, and which was begun last."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._shown = False
        self._start = time.monotonic()
        self._enabled = total > 0 and sys.stderr.isatty()

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clear()

    def started(self, path: Path) -> None:
        if self._enabled:
            spent = time.monotonic() - self._start
            self.clear()
            sys.stderr.write(f"[{self._done}/{self._total}] {spent:.0f} s  checking {path.name[:60]}")
            sys.stderr.flush()
            self._shown = True

    def finished(self) -> None:
        self._done += 1

    def clear(self) -> None:
        """Take the line away, so that a result can be printed in its place."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._shown = False
