"""What a claim about a region of queries is given, and the witness that cuts it into cells.

    region: {kind: ball, centre: VECTOR, radius: r}      |q - centre|_2 <= r
    region: {kind: box, lower: VECTOR, upper: VECTOR}    lower_j <= q_j <= upper_j
    region: {kind: hull, points: MATRIX}                 convex combinations of the rows
    regions: [REGION, ...]                               several of them

Each may say how many of the first tokens its queries see. The witness `cells` names bisections from the
root, first half first: `.` is a cell, a number the axis along which a box is cut in the middle, `i-j` the edge
along which a simplex is. Whatever it says, the cells cover the region, since the checker makes them (`cells`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from certattn.kernel.document.matrices import Matrix, MatrixInput, Vector
from certattn.kernel.document.schema import (
    Count,
    Field,
    Kind,
    Listing,
    Rational,
    Reading,
    Record,
    Text,
    Values,
    Variant,
    scalar,
)
from certattn.kernel.document.tree import Node
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.attention.cells import (
    Ball,
    Bisection,
    Box,
    Cell,
    Hull,
    Piece,
    ball_pieces,
    box_pieces,
    is_combination,
    simplex_pieces,
)

# Of a region, and of all regions together. Of four dimensions so many cells are checked in a minute or two.
MOST_CELLS = 4096
# A hull of n points has n directions. A cell takes n^2 products for every token, and memory for n^2 numbers for every
# output: seconds and some hundred megabytes for n = 128.
MOST_DIRECTIONS = 128
_STEP = re.compile(r"\.|(0|[1-9][0-9]{0,5})(?:-(0|[1-9][0-9]{0,5}))?", re.ASCII)


class Point(Kind[MatrixInput]):
    """A vector, or one row of a two-dimensional array."""

    written = (Vector(),)

    def read(self, node: Node, reading: Reading) -> MatrixInput:
        shape = node.value["shape"].value if isinstance(node.value, dict) and "shape" in node.value else []
        if isinstance(shape, list) and len(shape) == 2:
            point = Matrix().read(node, reading)
            point.require_shape(1, None, "(one point: pick a row, such as rows: 0:1)")
            return point
        return Vector().read(node, reading)


class Bisections(Kind[Sequence[Bisection | None]]):
    """Bisections from the root, such as `0 . 1 . .`; whether they fit a region is seen there."""

    written = (Text(),)

    _EXPECTED = "bisections from the root: . for a cell, an axis such as 0, or an edge such as 0-2, between spaces"

    def read(self, node: Node, reading: Reading) -> Sequence[Bisection | None]:
        words = scalar(node, self._EXPECTED).split(" ")
        if len(words) > 2 * MOST_CELLS:
            raise node.malformed(f"at most {MOST_CELLS} cells", f"{len(words)} steps")
        found: list[Bisection | None] = []
        for place, word in enumerate(words):
            match = _STEP.fullmatch(word)
            if match is None:
                raise node.malformed(self._EXPECTED, f"another word as number {place}")
            found.append(tuple(int(end) for end in match.groups() if end is not None) or None)
        return found


CENTRE = Field("centre", Point(), "centre of the ball")
RADIUS = Field("radius", Rational(minimum=0), "radius of the ball, in the l2 norm")
LOWER = Field("lower", Point(), "lower ends of the intervals")
UPPER = Field("upper", Point(), "upper ends of the intervals; an end may be that of the other side")
POINTS = Field("points", Matrix(), "the points whose convex combinations are meant, one per row")
SEES = Field("sees", Count(1), "how many of the first tokens its queries see; all if left out", required=False)
_REGION = Variant(
    "kind",
    {
        "ball": Record(CENTRE, RADIUS, SEES),
        "box": Record(LOWER, UPPER, SEES),
        "hull": Record(POINTS, SEES),
    },
)
REGION = Field("region", _REGION, "a region of queries, in the place of queries", required=False)
REGIONS = Field("regions", Listing(_REGION), "several regions of queries, in the place of queries", required=False)

CELLS = Field("cells", Bisections(), "how to cut the region into cells; one cell if left out", required=False)
QUERY = Field("query", Point(), "for at_least: a query of the ball or box; its centre if left out", required=False)
WEIGHTS = Field(
    "weights", Vector(), "for at_least: weights of a query of the hull; all equal if left out", required=False
)
OF_REGIONS = Field(
    "regions",
    Listing(Record(CELLS, QUERY, WEIGHTS)),
    "cells, query and weights of each of several regions",
    required=False,
)

_VECTORS: Mapping[str, Sequence[Field[MatrixInput]]] = {"ball": (CENTRE,), "box": (LOWER, UPPER), "hull": (POINTS,)}
_CUT: Mapping[str, Callable[[int, Sequence[Bisection | None]], Sequence[Piece]]] = {
    "ball": ball_pieces,
    "box": box_pieces,
    "hull": simplex_pieces,
}


@dataclass(frozen=True)
class StatedRegion:
    """A region with checked shapes, the pieces it is cut into, and what the witness says of a query in it.

    `place` is that among several, None of the only one; `sees` is how many of the first tokens its queries see, None
    for all.
    """

    place: int | None
    kind: str
    values: Values
    pieces: Sequence[Piece]
    suspect: MatrixInput | None

    @property
    def name(self) -> str:
        """How obligations name it."""
        return REGION.name if self.place is None else f"{REGIONS.name}[{self.place}]"

    @property
    def sees(self) -> int | None:
        return self.values.get(SEES)

    @property
    def count(self) -> int:
        """The number of cells."""
        return len(self.pieces)

    @cached_property
    def exact(self) -> Ball | Box | Hull:
        values = self.values
        if self.kind == "ball":
            return Ball(values[CENTRE].load(), values[RADIUS])
        if self.kind == "box":
            return Box(values[LOWER].load(), values[UPPER].load())
        return Hull(values[POINTS].load())

    def cell(self, index: int) -> Cell:
        return self.exact.cell(self.pieces[index])

    def suspected(self) -> ExactMatrix | None:
        """The query that is to show a lower bound, 1 x d; None where it is not in the region."""
        region = self.exact
        if self.suspect is None:
            return region.middle()
        stated = self.suspect.load()
        if isinstance(region, Hull):
            return region.at(stated) if is_combination(stated.row(0)) is True else None
        return stated if region.contains(stated) is True else None


def read_regions(given: Values, dimension: int, length: int, witness: Values | None) -> list[StatedRegion]:
    """The regions under `given` with their witness; every dimension checked. Raises MalformedError."""
    if REGION in given:
        if witness is not None and OF_REGIONS in witness:
            raise witness.node(OF_REGIONS).malformed("cells, query and weights themselves, where there is one region")
        return [_read_region(None, given[REGION], dimension, length, witness)]
    stated = given[REGIONS]
    own: Sequence[Values | None] = [None] * len(stated)
    if witness is not None:
        for field in (CELLS, QUERY, WEIGHTS):
            if field in witness:
                raise witness.node(field).malformed(f"{field.name} under regions, for each of several regions")
        if OF_REGIONS in witness:
            hints = witness[OF_REGIONS]
            if len(hints) != len(stated):
                raise witness.node(OF_REGIONS).malformed(f"{len(stated)} items, one for each region", f"{len(hints)}")
            own = hints
    found = [
        _read_region(place, region, dimension, length, hint)
        for place, (region, hint) in enumerate(zip(stated, own, strict=True))
    ]
    cells = sum(region.count for region in found)
    if cells > MOST_CELLS:
        raise given.node(REGIONS).malformed(f"at most {MOST_CELLS} cells of all regions together", f"{cells}")
    return found


def _read_region(
    place: int | None, stated: tuple[str, Values], dimension: int, length: int, witness: Values | None
) -> StatedRegion:
    kind, values = stated
    for vector in _VECTORS[kind]:
        values[vector].require_length(dimension, "a query")
    sees = values.get(SEES)
    if sees is not None and sees > length:
        raise values.node(SEES).malformed(f"at most {length}, which is all tokens", f"{sees}")
    size = values[POINTS].shape[0] if kind == "hull" else dimension
    moving = _moving_axes(values) if kind == "box" else size
    if moving > MOST_DIRECTIONS:
        what = "points" if kind == "hull" else "dimensions, intervals that are points not counted"
        raise values.at.malformed(f"a region of at most {MOST_DIRECTIONS} {what}", f"{moving}")
    if witness is None:
        return StatedRegion(place, kind, values, _CUT[kind](size, [None]), None)
    return StatedRegion(place, kind, values, _read_cells(kind, size, witness), _read_suspect(kind, size, witness))


def _moving_axes(values: Values) -> int:
    """How many intervals of a box are no points."""
    halves = Box(values[LOWER].load(), values[UPPER].load()).halves()
    for axis, half in enumerate(halves):
        if (half >= 0) is not True:
            raise values.node(UPPER).malformed("upper ends that are not below the lower ones", f"one at axis {axis}")
    return sum(half > 0 for half in halves)


def _read_cells(kind: str, size: int, witness: Values) -> Sequence[Piece]:
    """What the region is cut into; it does not depend on where the region lies."""
    bisections, ends = witness.get(CELLS) or [None], 2 if kind == "hull" else 1
    for bisection in bisections:
        if bisection is not None and not (len(bisection) == ends == len(set(bisection)) and max(bisection) < size):
            edges = f"edges between two of the points 0 to {size - 1}, such as 0-1"
            expected = edges if kind == "hull" else f"axes 0 to {size - 1}"
            raise witness.node(CELLS).malformed(expected, "-".join(str(end) for end in bisection))
    try:
        return _CUT[kind](size, bisections)
    except ValueError as error:
        expected = "bisections that end with the last cell"
        raise witness.node(CELLS).malformed(expected, f"a list that {error}") from None


def _read_suspect(kind: str, size: int, witness: Values) -> MatrixInput | None:
    """The query itself, or the weights of one of a hull."""
    field, what, other, expected = QUERY, "a query", WEIGHTS, "a query; weights belong to a hull"
    if kind == "hull":
        field, what = WEIGHTS, "weights of the points"
        other, expected = QUERY, "weights, which give a query of the hull"
    if other in witness:
        raise witness.node(other).malformed(expected)
    if field in witness:
        witness[field].require_length(size, what)
    return witness.get(field)
