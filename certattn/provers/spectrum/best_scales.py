"""Scales at which a law is about nearest to others, in doubles: guesses that the checker does not believe.

The tail of the law of c times a number grows with c: how far it is above another tail somewhere grows, how far it is
below falls, and the smallest distance is where the two are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from flint import arb, fmpq

from certattn.kernel.errors import NotProvedError
from certattn.kernel.theorems.spectrum.limit_law import EquivalentLaw

Floats = np.ndarray[Any, np.dtype[np.float64]]
FloatTail = Callable[[Floats], Floats]
_POINTS, _STEPS, _PLACES = 1500, 80, 10
_LARGEST = 2.0**200


def circle_float_tail(x: Floats) -> Floats:
    """Of the quarter circle of variance 1."""
    ratio = np.clip(x / 2, 0, 1)
    return 2 / np.pi * (np.arccos(ratio) - ratio * np.sqrt((1 - ratio) * (1 + ratio)))


def law_float_tail(law: EquivalentLaw) -> FloatTail:
    """Of an equivalent law, from a table. Raises NotProvedError for one that doubles do not tell from 0."""
    places, tails = tail_table(law)
    if not places[-1] > 1 / _LARGEST:
        raise NotProvedError("the law lies so near to 0 that no scale was found")
    return lambda x: np.interp(x, places, tails)


def pieces(law: EquivalentLaw) -> list[tuple[float, float]]:
    """The intervals of the support."""
    ends = [arb(0), *(law.gap or ()), law.right_edge]
    return [(float(ends[i]), float(ends[i + 1])) for i in range(0, len(ends), 2)]


def tail_table(law: EquivalentLaw) -> tuple[Floats, Floats]:
    """Points from 0 to the right edge, dense at both ends of each piece of the support, and the tails there."""
    share = (1 - np.cos(np.linspace(0, np.pi, _POINTS))) / 2
    places = np.unique(np.concatenate([first + (last - first) * share for first, last in pieces(law)]))
    return places, np.array([float(law.tail(arb(x))) for x in places])


def scale_for_values(values: Sequence[arb], tail: FloatTail) -> fmpq:
    """For numbers from the largest to the smallest. Raises NotProvedError where no scale is the nearest."""
    points = np.array([float(value) for value in values])
    count = len(points)
    after, before = np.arange(1, count + 1) / count, np.arange(count) / count
    return _crossing(points, after, before, tail)


def scale_for_law(law: EquivalentLaw, tail: FloatTail) -> fmpq:
    """For another law."""
    places, tails = tail_table(law)
    return _crossing(places, tails, tails, tail)


def _crossing(points: Floats, after: Floats, before: Floats, tail: FloatTail) -> fmpq:
    """Where max(after - T(x/c)) and max(T(x/c) - before) are equal."""

    def below(scale: float) -> bool:
        """Whether the scale is smaller than that."""
        known = tail(points / scale)
        return bool(np.max(after - known) > np.max(known - before))

    low = high = max(float(points[np.isfinite(points)].max(initial=0.0)), 1 / _LARGEST) / 2
    while below(high) and high < _LARGEST:
        high *= 2
    while not below(low) and low > 1 / _LARGEST:
        low /= 2
    if not (below(low) and not below(high)):
        raise NotProvedError("no scale of a law is nearest to these singular values: most of them are 0, or extreme")
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) else (low, middle)
    return _rounded(low)


def _rounded(scale: float) -> fmpq:
    """With so many significant digits."""
    digits = int(np.floor(np.log10(scale)))
    unit = fmpq(10) ** (digits - _PLACES)
    return (fmpq(*scale.as_integer_ratio()) / unit + fmpq(1, 2)).floor() * unit
