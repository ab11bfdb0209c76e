"""How far a worker has come, seen by the process that waits for it. Shown, used for nothing."""

from __future__ import annotations

import mmap
import struct

from certattn.kernel.limits import Watch

_CELLS = struct.Struct("=QQ")
_LENGTH = struct.Struct("=H")
_MOST_WORDS = 480


class Meter(Watch):
    """Memory that a forked process shares with its parent: bytes read, of how many, and why it left binary64."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _CELLS.size + _LENGTH.size + _MOST_WORDS)

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

    @property
    def reason(self) -> str:
        """Why binary64 was left; "" as long as it is not."""
        (length,) = _LENGTH.unpack_from(self._memory, _CELLS.size)
        start = _CELLS.size + _LENGTH.size
        return self._memory[start : start + length].decode("utf-8", "replace")

    def left_binary64(self, reason: str) -> None:
        words, start = reason.encode("utf-8", "replace")[:_MOST_WORDS], _CELLS.size + _LENGTH.size
        self._memory[start : start + len(words)] = words
        # Last, so that what is seen is whole.
        _LENGTH.pack_into(self._memory, _CELLS.size, len(words))

    def close(self) -> None:
        self._memory.close()
