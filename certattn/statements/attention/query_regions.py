"""Regions of queries and their cells in words."""

from __future__ import annotations

from collections.abc import Sequence

from flint import fmpq

from certattn.kernel.document.matrices import MatrixInput
from certattn.kernel.document.quoting import counted
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.attention.cells import CellBound
from certattn.kernel.theorems.attention.query_regions import CENTRE, LOWER, POINTS, RADIUS, UPPER, StatedRegion
from certattn.statements.wording import cut

# Regions that a sentence describes.
_SHOWN = 3


def regions_words(regions: Sequence[StatedRegion]) -> str:
    """The queries of all regions; a few of these are described, of more how many there are."""
    if regions[0].place is None:
        return _region_words(regions[0])
    shown = cut((f"[{region.place}] {_region_words(region)}" for region in regions), _SHOWN)
    return f"the queries of {counted(len(regions), 'region')} ({'; '.join(shown)})"


def _region_words(region: StatedRegion) -> str:
    values, sight = region.values, first_tokens(region)
    queries = f"the queries that see {sight} and lie" if sight else "the queries"
    if region.kind == "ball":
        return f"{queries} within l2 distance {describe(values[RADIUS])} of {_point_words(values[CENTRE])}"
    if region.kind == "box":
        return f"{queries} in the box from {_point_words(values[LOWER])} to {_point_words(values[UPPER])}"
    points = values[POINTS]
    combinations = f"the convex combinations, which see {sight}," if sight else "the convex combinations"
    return f"{combinations} of {counted(points.shape[0], 'query')} ({points.words()})"


def first_tokens(region: StatedRegion) -> str:
    """Those that its queries see; "" where these see all."""
    if region.sees is None:
        return ""
    return f"the first {counted(region.sees, 'token') if region.sees > 1 else 'token'}"


def regions_latex(regions: Sequence[StatedRegion]) -> str:
    """What of q says that it lies in a region."""
    return _region_latex(regions[0]) if regions[0].place is None else r"q \in R_1 \cup \dots \cup R_m"


def _region_latex(region: StatedRegion) -> str:
    if region.kind == "ball":
        return rf"\| q - c \|_2 \le {describe(region.values[RADIUS])}"
    return r"a \le q \le b" if region.kind == "box" else r"q \in \operatorname{conv}(p_1, \dots, p_n)"


def _point_words(point: MatrixInput) -> str:
    return point.words() if point.written_out else f"the point {point.source}"


def at_words(region: StatedRegion, index: int) -> str:
    """A cell as the sentences of obligations name it: its number, and its centre where that is short."""
    of = f"region {region.place}" if region.place is not None else ""
    name = of or "the region"
    if region.count > 1:
        name = f"cell {index} of {region.count}" + (f" of {of}" if of else "")
    centre = region.cell(index).centre.row(0)
    if len(centre) > 8:
        return name
    return f"{name}, around ({', '.join(_short(entry) for entry in centre)})"


FINER = "a finer subdivision may suffice (certattn generate --cells)"


def over_cell_words(
    number: str, region: StatedRegion, index: int, reached: CellBound | None, bound: fmpq, least: bool = False
) -> str:
    """Which of the numbers that are known of a cell is compared with a bound; `number` says what of.

    least : it is a bound from below, and `reached` and `bound` are those of what is missing to 1.
    """
    where, a_bound = at_words(region, index), "a lower bound" if least else "a bound"
    if reached is None or reached.upper <= bound:
        return f"{a_bound} on {number} over {where}"
    if reached.centre > bound:
        return f"{number} at the centre of {where}"
    if (reached.centre <= bound) is not True:
        return f"the {'least' if least else 'largest'} {number.removeprefix('the ')} over {where}"
    finer = f", where {FINER}" if reached.upper > bound else ""
    return f"{a_bound} on {number} over {where}{finer}"


def _short(entry: fmpq) -> str:
    """Four places after the point, cut to what is needed; for reading, not for proofs."""
    return describe(fmpq((entry * 10000 + fmpq(1, 2)).floor(), 10000))
