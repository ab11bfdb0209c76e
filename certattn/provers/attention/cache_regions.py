"""Bounds of what a cache changes over a region that the kernel proves, with cells and a query found in doubles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flint import arb, fmpq

from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import NotProvedError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.attention.cache_error import AssertedCache
from certattn.kernel.theorems.attention.cells import Hull
from certattn.kernel.theorems.attention.query_regions import CELLS, QUERY, WEIGHTS
from certattn.provers.attention.deviation_search import BITS, sharp
from certattn.provers.attention.region_search import search
from certattn.provers.output import texts
from certattn.provers.rounding import lower_rational, upper_rational

# A bound above this is none. Written out, it could fill the memory.
_MOST = arb(2) ** 4096


@dataclass(frozen=True)
class Reached:
    """Of a measure over a region: no query has more than `highest`, some query has `some`, none has less than `lowest`.

    Of deviations `lowest` is 0.
    """

    highest: fmpq
    some: fmpq
    lowest: fmpq


def hints(stated: AssertedCache, name: str, cells: int) -> dict[str, Plain]:
    """A witness: at most so many cells, and a query at which the measure of this name is large."""
    assert stated.over is not None
    region = stated.over.region.exact
    found = search(region, *stated.over_region(name), cells, None)
    witness: dict[str, Plain] = {CELLS.name: found.words()} if len(found.bisections) > 1 else {}
    if found.suspect is not None:
        witness[(WEIGHTS if isinstance(region, Hull) else QUERY).name] = texts(found.suspect)
    return witness


def reached(stated: AssertedCache, names: Sequence[str]) -> tuple[dict[str, Reached], int]:
    """What the kernel proves of each measure with this witness, and the bits that it takes. Raises NotProvedError."""
    over = stated.over
    assert over is not None
    cells, query = range(over.region.count), over.region.suspected() or over.region.exact.middle()
    for bits in BITS:
        with working_precision(bits):
            found: dict[str, tuple[list[arb], arb, list[arb]]] = {}
            for name in names:
                around, norm = stated.over_region(name)
                tokens = stated.shares(0).get(name)
                lowest = [arb(0)] if tokens is None else [over.least_share(name, tokens, i).worst for i in cells]
                highest = [over.largest(name, around, norm, i).worst for i in cells]
                found[name] = highest, over.at_suspect(name, around, norm, query), lowest
            if all(sharp(value) for highest, some, _ in found.values() for value in (*highest, some)):
                break
    return {name: _rational(name, *balls) for name, balls in found.items()}, bits


def _rational(name: str, highest: list[arb], some: arb, lowest: list[arb]) -> Reached:
    if not all(value.is_finite() and value < _MOST for value in highest):
        raise NotProvedError(
            f"no bound of {name} can be proved: the region is too large, or needs more cells (--cells)"
        )
    return Reached(max(map(upper_rational, highest)), _not_negative(some), min(map(_not_negative, lowest)))


def _not_negative(ball: arb) -> fmpq:
    """A lower bound of a number that is not negative."""
    return max(lower_rational(ball), fmpq(0)) if ball.is_finite() else fmpq(0)
