"""Arrays that are used again and again, so that nothing is allocated for a block of tokens."""

from __future__ import annotations

from math import prod

import numpy as np

from certattn.fast.exponential import Work
from certattn.fast.rows import Floats

# Doubles from which on an array gets pages of its own, and doubles in a huge page.
_LARGE = 2**16
_HUGE_PAGE = 2**18
# From this size on numpy asks for huge pages.
_ASKED_FOR = 2**19
# Blocks have one size, and the last of a share another.
_MOST_SHAPES = 32


class Scratch:
    """Arrays by name; not to be shared between threads. What they hold is anybody's until it is written."""

    def __init__(self) -> None:
        self._buffers: dict[str, Floats] = {}
        self._arrays: dict[tuple[str, tuple[int, ...]], Floats] = {}
        self._ones: Floats = np.ones((0, 1))
        self._work: dict[tuple[int, ...], Work] = {}

    def array(self, name: str, *shape: int) -> Floats:
        """The array of this name, in this shape; what was taken under this name before is overwritten."""
        found = self._arrays.get((name, shape))
        return self._cut(name, shape) if found is None else found

    def _cut(self, name: str, shape: tuple[int, ...]) -> Floats:
        size = prod(shape)
        buffer = self._buffers.get(name)
        if buffer is None or buffer.size < size:
            buffer = self._buffers[name] = _room(size)
            self._arrays.clear()
        if len(self._arrays) >= _MOST_SHAPES:
            self._arrays.clear()
        return self._arrays.setdefault((name, shape), buffer[:size].reshape(shape))

    def ones(self, size: int) -> Floats:
        """A column of ones, not to be written to."""
        if len(self._ones) < size:
            self._ones = np.ones((size, 1))
        return self._ones[:size]

    def work(self, *shape: int) -> Work:
        """The exponential's room for arrays of this shape."""
        if shape not in self._work:
            self._work = {shape: Work(shape)}
        return self._work[shape]


def _room(size: int) -> Floats:
    """An array; a large one lies in a huge page where there are such, so that the cache can hold it as a whole."""
    if size < _LARGE:
        return np.empty(size)
    room: Floats = np.empty(size + _ASKED_FOR + _HUGE_PAGE)
    start = -(room.__array_interface__["data"][0] // room.itemsize) % _HUGE_PAGE
    return room[start : start + size]
