"""Heat maps over layers and heads: the numbers that verified certificates assert, one map for each kind of number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from certattn.report.page.entry import Entry, HeadPlace, as_double
from certattn.report.rounded import figure as shown_figure

_SHADES = 10
_MOST_MAPS = 24
# From such a quotient of the largest and the smallest number on, shades are those of logarithms.
_WIDE = 30.0


@dataclass(frozen=True)
class Cell:
    """What certificates say of one head: numbers with a shade from 0 to 9, or verdicts of those not verified."""

    text: str
    shade: int | None
    number: int


@dataclass(frozen=True)
class HeatMap:
    """A table of one number: a row for each layer, a cell for each head; None where there is no certificate."""

    claim: str
    figure: str
    prompt: int
    heads: tuple[int, ...]
    rows: tuple[tuple[int, tuple[Cell | None, ...]], ...]
    smallest: str
    largest: str


def heat_maps(entries: Sequence[Entry]) -> list[HeatMap]:
    """Maps of the numbers that two heads have, or more, and not all the same one.

    `Cell.number` is the place of the entry among `entries`.
    """
    found: dict[tuple[str, int, str], dict[HeadPlace, list[int]]] = {}
    for number, entry in enumerate(entries):
        if entry.place is not None and entry.report.claim:
            for figure in entry.described.figures:
                key = entry.report.claim, entry.place.prompt, figure
                found.setdefault(key, {}).setdefault(entry.place, []).append(number)
    wanted = [(key, places) for key, places in sorted(found.items()) if _differ(key[2], places, entries)]
    return [_map(*key, places, entries) for key, places in wanted[:_MOST_MAPS]]


def _differ(figure: str, places: dict[HeadPlace, list[int]], entries: Sequence[Entry]) -> bool:
    numbers = {entries[n].described.figures[figure] for found in places.values() for n in found}
    return len(places) > 1 and len(numbers) > 1


def _map(claim: str, prompt: int, figure: str, places: dict[HeadPlace, list[int]], entries: Sequence[Entry]) -> HeatMap:
    texts = {
        place: [entries[n].described.figures[figure] for n in numbers if entries[n].verified]
        for place, numbers in places.items()
    }
    short = {
        entries[n].described.figures[figure]: shown_figure(figure, entries[n].described.figures)
        for numbers in places.values()
        for n in numbers
    }
    known = sorted({text for found in texts.values() for text in found}, key=as_double)
    shade = _shades([as_double(text) for text in known])
    shades = {text: shade(as_double(text)) for text in known}
    heads = tuple(sorted({place.head for place in places}))

    def cell(layer: int, head: int) -> Cell | None:
        place = HeadPlace(prompt, layer, head)
        if place not in places:
            return None
        numbers = places[place]
        if not texts[place]:
            return Cell(entries[numbers[0]].report.verdict.value, None, numbers[0])
        return Cell(", ".join(short[text] for text in texts[place]), shades[texts[place][0]], numbers[0])

    layers = sorted({place.layer for place in places})
    rows = tuple((layer, tuple(cell(layer, head) for head in heads)) for layer in layers)
    return HeatMap(
        claim,
        figure,
        prompt,
        heads,
        rows,
        *((short[known[0]], short[known[-1]]) if known else ("", "")),
    )


class _shades:  # noqa: N801 - used as a function
    """Numbers to shades from 0 to 9, between the smallest and the largest."""

    def __init__(self, values: list[float]) -> None:
        finite = [value for value in values if math.isfinite(value)]
        low, high = (min(finite), max(finite)) if finite else (0.0, 0.0)
        self._log = low > 0 and high > _WIDE * low
        self._low, self._high = self._at(low), self._at(high)

    def _at(self, value: float) -> float:
        return math.log(value) if self._log else value

    def __call__(self, value: float) -> int:
        if not math.isfinite(value) or not self._high > self._low:
            return 0
        return min(_SHADES - 1, int(_SHADES * (self._at(value) - self._low) / (self._high - self._low)))
