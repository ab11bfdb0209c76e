"""Regions of queries and their cells in words."""

from __future__ import annotations

from flint import fmpq

from certattn.kernel.document.matrices import MatrixInput
from certattn.kernel.document.quoting import counted
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.attention.cells import Cell
from certattn.kernel.theorems.attention.query_regions import CENTRE, LOWER, POINTS, RADIUS, UPPER, StatedRegion


def region_words(region: StatedRegion) -> str:
    """The queries of a region."""
    values = region.values
    if region.kind == "ball":
        return f"the queries within l2 distance {describe(values[RADIUS])} of {_point_words(values[CENTRE])}"
    if region.kind == "box":
        return f"the queries in the box from {_point_words(values[LOWER])} to {_point_words(values[UPPER])}"
    points = values[POINTS]
    return f"the convex combinations of {counted(points.shape[0], 'query')} ({points.words()})"


def region_latex(region: StatedRegion) -> str:
    """What of q says that it lies in the region."""
    if region.kind == "ball":
        return rf"\| q - c \|_2 \le {describe(region.values[RADIUS])}"
    return r"a \le q \le b" if region.kind == "box" else r"q \in \operatorname{conv}(p_1, \dots, p_n)"


def _point_words(point: MatrixInput) -> str:
    return point.words() if point.written_out else f"the point {point.source}"


def at_words(cell: Cell, index: int, count: int) -> str:
    """A cell as the sentences of obligations name it: its number, and its centre where that is short."""
    name = f"cell {index} of {count}" if count > 1 else "the region"
    centre = cell.centre.row(0)
    if len(centre) > 8:
        return name
    return f"{name}, around ({', '.join(_short(entry) for entry in centre)})"


def _short(entry: fmpq) -> str:
    """Four places after the point, cut to what is needed; for reading, not for proofs."""
    return describe(fmpq((entry * 10000 + fmpq(1, 2)).floor(), 10000))
