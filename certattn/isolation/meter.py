"""How far a worker has come, seen by the process that waits for it. Shown, used for nothing."""

from __future__ import annotations

import json
import mmap
import struct
import time

from certattn.kernel.limits import Watch

_CELLS = struct.Struct("=QQ")
_LENGTH = struct.Struct("=H")
_MOST_WORDS = 480
# Of the name of an obligation.
_MOST_LETTERS = 80
# Nanoseconds that are worth a word.
_SHOWN = 10**8
# Where words stand.
_REASON = _CELLS.size
_ASKED = _REASON + _LENGTH.size + _MOST_WORDS


class Meter(Watch):
    """Memory that a forked process shares with its parent.

    Bytes read, of how many; why it left binary64; and what it is deciding, since when, and what took longest before.
    """

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _CELLS.size + 2 * (_LENGTH.size + _MOST_WORDS))
        self._spent: dict[str, int] = {}
        self._asked = ("", 0)
        self._longest = ""

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
        return self._words(_REASON)

    def left_binary64(self, reason: str) -> None:
        self._say(_REASON, reason)

    def asks(self, name: str, bits: int) -> None:
        now, (before, since) = time.monotonic_ns(), self._asked
        if before:
            self._spent[before] = self._spent.get(before, 0) + now - since
            self._longest = max(self._longest, before, key=lambda each: self._spent.get(each, 0))
        self._asked, spent = (name, now), self._spent.get(self._longest, 0)
        self._say(_ASKED, json.dumps([name[:_MOST_LETTERS], bits, now, self._longest[:_MOST_LETTERS], spent]))

    @property
    def asked(self) -> str:
        """What is being decided, for how long, and what took longest before; "" if nothing was asked yet."""
        try:
            name, bits, since, longest, spent = json.loads(self._words(_ASKED))
            found = f"{_seconds(time.monotonic_ns() - since)} after it began with the obligation {name} at {bits} bits"
            return f"{found}; before, {longest} took the most time, {_seconds(spent)}" if spent >= _SHOWN else found
        except (ValueError, TypeError):
            return ""

    def _words(self, at: int) -> str:
        (length,) = _LENGTH.unpack_from(self._memory, at)
        start = at + _LENGTH.size
        return self._memory[start : start + length].decode("utf-8", "replace")

    def _say(self, at: int, text: str) -> None:
        words, start = text.encode("utf-8", "replace")[:_MOST_WORDS], at + _LENGTH.size
        # Last, so that what is seen is whole.
        _LENGTH.pack_into(self._memory, at, 0)
        self._memory[start : start + len(words)] = words
        _LENGTH.pack_into(self._memory, at, len(words))

    def close(self) -> None:
        self._memory.close()


def _seconds(nanoseconds: int) -> str:
    tenths = nanoseconds // 10**8
    return f"{tenths // 10}.{tenths % 10} s"
