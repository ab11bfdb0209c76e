"""Keys in a picture of the plane, so that neither one that is far away nor a long run makes a blob of the others.

What lies outside of a view is an arrow at its edge with the key's coordinates. Where a run is so long that the keys
would be one spot beside it, they have a small picture of their own, in the corner where least else is.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

_TOKEN = "#6b6b6b"
# A marker an input, as far as they go; keys of this many inputs are told apart.
_MARKERS = "so^DvP"
# A key is far from the others by so many times the median distance from their middle; and keys are one spot where
# they take less than this part of a view.
_FAR, _SPOT = 6.0, 1 / 6
# As many intervals on an axis as leave its numbers room beside each other, with a sign and a decimal.
_NUMBERS = 6
_INSET, _EDGE, _MOST_NAMED, _SPOTS = 0.3, 0.03, 4, 40

Array = np.ndarray[Any, Any]


class Square(NamedTuple):
    """What is seen: `middle` and half of a side."""

    middle: Array
    half: float

    @classmethod
    def around(cls, points: Array, margin: float) -> Square:
        low, high = points.min(0), points.max(0)
        return cls((low + high) / 2, margin * max(float((high - low).max()), 1e-9) / 2)

    def holds(self, points: Array) -> Array:
        return np.asarray((np.abs(points - self.middle) <= self.half).all(-1))

    def show(self, axes: Any) -> None:
        axes.set_xlim(self.middle[0] - self.half, self.middle[0] + self.half)
        axes.set_ylim(self.middle[1] - self.half, self.middle[1] + self.half)
        axes.set_aspect("equal", adjustable="box")
        axes.locator_params(nbins=_NUMBERS)


class Key(NamedTuple):
    place: Array
    input: int
    chosen: bool


def near_keys(places: Array) -> Array:
    """Which keys are not far from the others."""
    away = np.linalg.norm(places - np.median(places, axis=0), axis=1)
    return np.asarray(away <= max(_FAR * float(np.median(away)), 1e-9))


def draw_keys(axes: Any, keys: list[Key], seen: Square, busy: Array) -> None:
    """The keys in a view, or beside it; `busy` are points that a picture of their own should not hide."""
    places = np.array([key.place for key in keys])
    near = places[near_keys(places)]
    spot = float((near.max(0) - near.min(0)).max()) < _SPOT * 2 * seen.half
    if len(near) > 1 and (spot or not seen.holds(near).any()):
        corner = _emptiest(seen, np.concatenate([busy, near[seen.holds(near)]]))
        inset = axes.inset_axes((*corner, _INSET, _INSET))
        inset.set_title("keys", fontsize=9, pad=2)
        inset.tick_params(labelsize=7.5, length=2)
        for side in inset.spines.values():
            side.set_visible(True)
            side.set_color("0.6")
        own = Square.around(near, 1.4)
        own.show(inset)
        inset.locator_params(nbins=3)
        _draw(inset, keys, own, named=True)
        _draw(axes, [key for key in keys if seen.holds(key.place)], seen, named=False)
    else:
        _draw(axes, keys, seen, named=True)


def _draw(axes: Any, keys: list[Key], seen: Square, *, named: bool) -> None:
    """Each key, or an arrow towards it."""
    size, outside = (5 if named else 2.5), 0
    for key in keys:
        face = _TOKEN if key.chosen else "white"
        if seen.holds(key.place):
            marker = _MARKERS[min(key.input, len(_MARKERS) - 1)]
            axes.plot(*key.place, marker=marker, ms=size, mfc=face, mec=_TOKEN, ls="", zorder=6)
            continue
        way = (key.place - seen.middle) / float(np.abs(key.place - seen.middle).max())
        tip, tail = (seen.middle + (1 - part) * seen.half * way for part in (_EDGE, 4 * _EDGE))
        axes.annotate("", tip, tail, arrowprops={"arrowstyle": "-|>", "color": _TOKEN, "fc": face}, zorder=6)
        outside += 1
        if named and outside <= _MOST_NAMED:
            words = "({:.3g}, {:.3g})".format(*key.place)
            across = "right" if way[0] > 0 else "left"
            axes.text(*tail, words, fontsize=7.5, color=_TOKEN, ha=across, va="bottom", zorder=6)


def _emptiest(seen: Square, busy: Array) -> tuple[float, float]:
    """The corner of a view, as fractions of its sides, where least of these points is."""
    # Each spot counts once, however many points lie in it.
    spots = np.unique(np.floor(_SPOTS * ((busy - seen.middle) / (2 * seen.half) + 0.5)), axis=0)
    fractions = (spots + 0.5) / _SPOTS
    low, high = 3 * _EDGE, 1 - _INSET - 2 * _EDGE

    def held(corner: tuple[float, float]) -> int:
        inside = np.abs(fractions - np.array(corner) - _INSET / 2) < _INSET / 2 + _EDGE / 2
        return int(inside.all(1).sum())

    return min([(high, low), (low, high), (high, high), (low, low)], key=held)
