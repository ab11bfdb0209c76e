"""A line of progress on stderr, and only where a person looks on."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from certattn.report.screen import is_drawn_on
from certattn.report.text import on_one_line

_NAME = 40
_REASON = 200


class Progress:
    """How many of `total` certificates are done, and which was begun last."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._current: Path | None = None
        self._in_arb: set[Path] = set()
        self._said: int | None = None  # the seconds in the line that is shown, if one is
        self._start = time.monotonic_ns()
        self._bytes = (0, 0)
        self._enabled = total > 0 and is_drawn_on(sys.stderr)

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clear()

    def started(self, path: Path) -> None:
        self._current = path
        self._show()

    def waited(self, done: int = 0, total: int = 0) -> None:
        """Some time has passed: the clock goes on. done, total: bytes of large array files."""
        self._bytes = done, total
        if self._seconds() != self._said:
            self._show()

    def left(self, path: Path, reason: str) -> None:
        """Why binary64 was left, on a line of its own, before the long work begins."""
        if not self._enabled:
            return
        self.clear()
        name, why = on_one_line(path.name)[:_NAME], on_one_line(reason)[:_REASON]
        sys.stderr.write(f"{name}: {why}; continuing in Arb, which takes longer\n")
        self._in_arb.add(path)
        self._show()

    def finished(self, count: int = 1) -> None:
        self._done += count

    def clear(self) -> None:
        """Take the line away, so that a result can be printed in its place."""
        if self._said is not None:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._said = None

    def _show(self) -> None:
        if not self._enabled:
            return
        self.clear()
        self._said = self._seconds()
        checking = "" if self._current is None else f"  checking {on_one_line(self._current.name)[:_NAME]}"
        if self._current in self._in_arb:
            checking += " in Arb"
        sys.stderr.write(f"[{self._done}/{self._total}] {self._said} s{checking}{self._reading()}")
        sys.stderr.flush()

    def _reading(self) -> str:
        """How far the large files have been read, how fast, and how long that will go on."""
        done, total = self._bytes
        if not done:
            return ""
        rate = done / max(time.monotonic_ns() - self._start, 1) * 10**9
        left = (total - done) / rate
        return f"  {100 * done // max(total, 1)}% of {total / 1e9:.1f} GB, {rate / 1e6:.0f} MB/s, {left:.0f} s left"

    def _seconds(self) -> int:
        return (time.monotonic_ns() - self._start) // 10**9


def counting(what: str) -> Callable[..., None]:
    """Says how many of what are done, on one line that ends with the last; nothing where nobody looks on."""

    def say(done: int, total: int, more: str = "") -> None:
        if is_drawn_on(sys.stderr):
            sys.stderr.write(f"\r\x1b[K{done} of {total} {what}{more}" + "\n" * (done == total))
            sys.stderr.flush()

    return say
