"""Where the time of a check goes: nanoseconds by phase. Shown in reports, used for nothing else."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from certattn.kernel.limits import Watch


class Stopwatch(Watch):
    """What it is told of bytes and of arithmetic it tells the watch that it is put around."""

    def __init__(self, inner: Watch) -> None:
        self.nanoseconds: dict[str, int] = {}
        self._inner = inner
        self._inside = 0

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Add the time spent in the block to a phase, but for that of phases inside of it."""
        start, before = time.perf_counter_ns(), self._inside
        self._inside = 0
        try:
            yield
        finally:
            spent = time.perf_counter_ns() - start
            self.nanoseconds[name] = self.nanoseconds.get(name, 0) + spent - self._inside
            self._inside = before + spent

    def expect(self, count: int) -> None:
        self._inner.expect(count)

    def advance(self, count: int) -> None:
        self._inner.advance(count)

    def asks(self, name: str, bits: int) -> None:
        self._inner.asks(name, bits)

    def left_binary64(self, reason: str) -> None:
        self._inner.left_binary64(reason)
