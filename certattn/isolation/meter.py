"""How far a worker has come with its array files, seen by the process that waits for it. Shown, used for nothing."""

from __future__ import annotations

import mmap
import struct

from certattn.kernel.limits import Watch

_CELLS = struct.Struct("=QQ")


class Meter(Watch):
    """Two counters in memory that a forked process shares with its parent: bytes read, of how many."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _CELLS.size)

    @property
    def state(self) -> tuple[int, int]:
        """Bytes read, and bytes to read as far as is known."""
        done, total = _CELLS.unpack_from(self._memory)
        return done, total

    def expect(self, count: int) -> None:
        """So many more bytes are going to be read."""
        done, total = self.state
        _CELLS.pack_into(self._memory, 0, done, total + count)

    def advance(self, count: int) -> None:
        """So many more bytes have been read."""
        done, total = self.state
        _CELLS.pack_into(self._memory, 0, done + count, total)

    def close(self) -> None:
        self._memory.close()
