"""Where the time of a check goes: nanoseconds by phase. Shown in reports, used for nothing else."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Stopwatch:
    def __init__(self) -> None:
        self.nanoseconds: dict[str, int] = {}

    @contextmanager
    def measure(self, phase: str) -> Iterator[None]:
        """Add the time spent inside the block to `phase`."""
        start = time.perf_counter_ns()
        try:
            yield
        finally:
            spent = time.perf_counter_ns() - start
            self.nanoseconds[phase] = self.nanoseconds.get(phase, 0) + spent
