"""Regions and their cells: whatever is cut, every query of the region stays in some cell, exactly."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest
from flint import fmpq

from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.attention.cells import (
    Ball,
    Bisection,
    Box,
    BoxPiece,
    Cell,
    Hull,
    SimplexPiece,
    ball_pieces,
    box_pieces,
    is_combination,
    simplex_pieces,
)
from certattn.kernel.theorems.attention.unit_sets import ClippedCube, UnitBall, UnitCube, UnitSimplex

Point = list[fmpq]


def tree(draw: random.Random, cells: int, cut: Callable[[random.Random], Bisection]) -> list[Bisection | None]:
    """A random tree of bisections with so many leaves, from the root, first half first."""
    if cells == 1:
        return [None]
    first = draw.randint(1, cells - 1)
    return [cut(draw), *tree(draw, first, cut), *tree(draw, cells - first, cut)]


def axis_of(dimension: int) -> Callable[[random.Random], Bisection]:
    return lambda draw: (draw.randrange(dimension),)


def edge_of(count: int) -> Callable[[random.Random], Bisection]:
    return lambda draw: tuple(draw.sample(range(count), 2))


def fraction(draw: random.Random, low: int = -1, high: int = 1) -> fmpq:
    return fmpq(draw.randint(low * 10**6, high * 10**6), 10**6)


def row(*entries: fmpq | int) -> ExactMatrix:
    return ExactMatrix.row_vector([fmpq(entry) for entry in entries])


def holds(cell: Cell, query: Sequence[fmpq]) -> bool:
    """Whether a query is c + G x with x in the unit set; for cells whose directions are those of axes."""
    x: Point = []
    gap = [q - c for q, c in zip(query, cell.centre.row(0), strict=True)]
    directions = cell.directions.to_rows()
    for direction in directions:
        (axis,) = [j for j, entry in enumerate(direction) if entry != 0] or [None]
        x.append(gap[axis] / direction[axis] if axis is not None else fmpq(0))
    reached = [sum((a * d[j] for a, d in zip(x, directions, strict=True)), fmpq(0)) for j in range(len(gap))]
    if reached != gap:
        return False
    if isinstance(cell.unit, UnitBall):
        return sum((a * a for a in x), fmpq(0)) <= 1
    if isinstance(cell.unit, ClippedCube):
        z = [m + h * a for m, h, a in zip(cell.unit.middle, cell.unit.halves, x, strict=True)]
        if sum((entry * entry for entry in z), fmpq(0)) > 1:
            return False
    return all(abs(a) <= 1 for a in x)


# -- covering


@pytest.mark.parametrize("dimension", [1, 2, 3, 5])
@pytest.mark.parametrize("cells", [1, 2, 7, 40])
def test_every_query_of_a_ball_is_in_a_cell(dimension: int, cells: int) -> None:
    draw = random.Random(cells * 10 + dimension)
    ball = Ball(row(*(fraction(draw) for _ in range(dimension))), fmpq(3, 7))
    kept = ball_pieces(dimension, tree(draw, cells, axis_of(dimension)))
    found = [ball.cell(piece) for piece in kept]
    assert 1 <= len(found) <= cells
    for _ in range(150):
        z = [fraction(draw) for _ in range(dimension)]
        # Rounded up, the length puts points close to the sphere, inside.
        length = fmpq(int(sum(double(entry) ** 2 for entry in z) ** 0.5 * 10**6) + 2, 10**6)
        for point in (z, [entry / length for entry in z]):
            query = [c + ball.radius * e for c, e in zip(ball.centre.row(0), point, strict=True)]
            if ball.contains(row(*query)):
                assert any(holds(cell, query) for cell in found)


def double(value: fmpq) -> float:
    return int(value.p) / int(value.q)


@pytest.mark.parametrize("dimension", [1, 2, 3, 5])
@pytest.mark.parametrize("cells", [1, 2, 7, 40])
def test_every_query_of_a_box_is_in_a_cell_and_no_other_query(dimension: int, cells: int) -> None:
    draw = random.Random(cells * 10 + dimension)
    lower = [fraction(draw) for _ in range(dimension)]
    sides = [fraction(draw, 0, 2) if draw.random() < 0.7 else fmpq(0) for _ in range(dimension)]
    upper = [a + side for a, side in zip(lower, sides, strict=True)]
    box = Box(row(*lower), row(*upper))
    found = [box.cell(piece) for piece in box_pieces(dimension, tree(draw, cells, axis_of(dimension)))]
    assert len(found) == cells
    for cell in found:
        assert cell.inside
        assert box.contains(cell.centre)
        assert isinstance(cell.unit, UnitCube)
        assert 1 <= cell.directions.rows <= max(1, sum(side > 0 for side in sides))
    for _ in range(100):
        shares = [draw.choice([fmpq(0), fmpq(1), fraction(draw, 0, 1)]) for _ in range(dimension)]
        query = [a + share * side for a, share, side in zip(lower, shares, sides, strict=True)]
        assert box.contains(row(*query))
        assert any(holds(cell, query) for cell in found)


@pytest.mark.parametrize("count", [2, 3, 5])
@pytest.mark.parametrize("cells", [1, 2, 7, 40])
def test_every_combination_is_in_a_cell_of_a_hull(count: int, cells: int) -> None:
    """Weights are followed down to a leaf: in each half that keeps the heavier end."""
    draw = random.Random(cells * 10 + count)
    bisections = tree(draw, cells, edge_of(count))
    hull = Hull(ExactMatrix.rational([[fraction(draw) for _ in range(2)] for _ in range(count)]))
    found = simplex_pieces(count, bisections)
    assert len(found) == cells
    for _ in range(60):
        weights = [fraction(draw, 0, 1) if draw.random() < 0.8 else fmpq(0) for _ in range(count)]
        total = sum(weights, fmpq(0))
        if total == 0:
            continue
        weights = [weight / total for weight in weights]
        index, inside = leaf_of(bisections, weights)
        assert is_combination(inside)
        cell = hull.cell(found[index])
        vertices = [
            [c + d for c, d in zip(cell.centre.row(0), line, strict=True)] for line in cell.directions.to_rows()
        ]
        query = [
            sum((w * p for w, p in zip(inside, column, strict=True)), fmpq(0)) for column in zip(*vertices, strict=True)
        ]
        assert query == hull.at(row(*weights)).row(0)


def leaf_of(bisections: Sequence[Bisection | None], weights: Sequence[fmpq]) -> tuple[int, Point]:
    """The index of the leaf that a combination falls into, and its weights there."""
    here, place, index = list(weights), 0, 0
    while True:
        bisection = bisections[place]
        if bisection is None:
            return index, here
        i, j = bisection
        place += 1
        if here[i] >= here[j]:
            # The second half: the middle takes the place of j.
            skipped = leaves_of(bisections, place)
            index, place = index + skipped[0], skipped[1]
            here[i], here[j] = here[i] - here[j], 2 * here[j]
        else:
            here[i], here[j] = 2 * here[i], here[j] - here[i]


def leaves_of(bisections: Sequence[Bisection | None], place: int) -> tuple[int, int]:
    """How many leaves the tree at a place has, and where it ends."""
    if bisections[place] is None:
        return 1, place + 1
    first, place = leaves_of(bisections, place + 1)
    second, place = leaves_of(bisections, place)
    return first + second, place


# -- pieces


def test_a_piece_is_dropped_only_where_it_is_outside() -> None:
    """(1/2, 1/2) is inside, so the square around (3/4, 3/4) meets the circle, though its centre does not lie in it."""
    quarter = fmpq(1, 4)
    corner = BoxPiece((3 * quarter, 3 * quarter), (quarter, quarter))
    assert corner.meets_ball()
    assert not corner.centred_in_ball()
    touching = BoxPiece((fmpq(9, 10), fmpq(12, 10)), (fmpq(3, 10), fmpq(4, 10)))
    assert touching.meets_ball()
    outside = BoxPiece((fmpq(9, 10) + fmpq(1, 10**20), fmpq(12, 10)), (fmpq(3, 10), fmpq(4, 10)))
    assert not outside.meets_ball()


def test_a_ball_that_is_not_cut_is_one_cell() -> None:
    assert ball_pieces(3, [None]) == [None]
    cell = Ball(row(1, 2, 3), fmpq(5)).cell(None)
    assert isinstance(cell.unit, UnitBall)
    assert cell.centre == row(1, 2, 3)
    assert cell.directions == ExactMatrix.identity(3).scaled(fmpq(5))


def test_pieces_outside_of_a_ball_are_dropped() -> None:
    bisections: list[Bisection | None] = [None]
    for _ in range(3):
        bisections = [
            step for b in bisections for step in ([(0,), (1,), None, None, (1,), None, None] if b is None else [b])
        ]
    assert len(box_pieces(2, bisections)) == 64
    kept = ball_pieces(2, bisections)
    assert len(kept) == 60
    assert sum(piece.centred_in_ball() for piece in kept if piece is not None) == 52


def test_a_hull_is_all_of_its_points() -> None:
    cell = Hull(ExactMatrix.rational([[fmpq(0), fmpq(0)], [fmpq(3), fmpq(0)], [fmpq(0), fmpq(6)]])).cell(
        simplex_pieces(3, [None])[0]
    )
    assert isinstance(cell.unit, UnitSimplex)
    assert cell.centre == row(1, 2)
    assert cell.directions == ExactMatrix.rational([[fmpq(-1), fmpq(-2)], [fmpq(2), fmpq(-2)], [fmpq(-1), fmpq(4)]])


def test_a_box_of_points_only_has_one_direction() -> None:
    cell = Box(row(1, 2), row(1, 2)).cell(box_pieces(2, [None])[0])
    assert cell.directions == ExactMatrix.zero(1, 2)


@pytest.mark.parametrize(
    ("bisections", "words"),
    [([], "before"), ([(0,)], "before"), ([(0,), None], "before"), ([None, None], "after"), ([None, (0,)], "after"),
     ([(0,), None, None, None], "after"), ([(0,), None, (0,), None], "before")],
)  # fmt: skip
def test_a_list_that_is_no_tree_is_refused(bisections: list[Bisection | None], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        box_pieces(1, bisections)
    with pytest.raises(ValueError, match=words):
        ball_pieces(1, bisections)


def test_the_order_is_first_half_first() -> None:
    found = box_pieces(1, [(0,), None, (0,), None, None])
    assert [piece.middle for piece in found] == [(fmpq(-1, 2),), (fmpq(1, 4),), (fmpq(3, 4),)]
    corners = [piece.corners[0][0] for piece in simplex_pieces(2, [(0, 1), None, None])]
    assert corners == [fmpq(1, 2), fmpq(1)]


# -- what is in a region


def test_a_ball_holds_its_sphere_and_nothing_beyond() -> None:
    ball = Ball(row(1, 1), fmpq(5))
    assert ball.contains(row(4, 5))
    assert not ball.contains(row(4, fmpq(5) + fmpq(1, 10**30)))
    assert Ball(row(1), fmpq(0)).contains(row(1))
    assert not Ball(row(1), fmpq(0)).contains(row(fmpq(1) + fmpq(1, 10**30)))


def test_a_box_holds_its_ends_and_nothing_beyond() -> None:
    box = Box(row(0, 1), row(2, 1))
    assert box.contains(row(0, 1))
    assert box.contains(row(2, 1))
    for query in (row(fmpq(-1, 10**30), 1), row(2, fmpq(1) + fmpq(1, 10**30)), row(1, fmpq(1) - fmpq(1, 10**30))):
        assert not box.contains(query)


@pytest.mark.parametrize(
    ("weights", "expected"),
    [(["1"], True), (["1/3", "2/3"], True), (["0", "1"], True), (["1/2", "1/3"], False), (["2", "-1"], False),
     (["1/3", "1/3", "333333/1000000"], False)],
)  # fmt: skip
def test_weights_of_a_combination(weights: list[str], expected: bool) -> None:
    assert is_combination([fmpq(*map(int, weight.split("/"))) for weight in weights]) is expected


def test_the_middle_is_in_the_region() -> None:
    assert Ball(row(1, 2), fmpq(0)).middle() == row(1, 2)
    assert Box(row(0, 1), row(2, 1)).middle() == row(1, 1)
    assert Hull(ExactMatrix.rational([[fmpq(0)], [fmpq(3)], [fmpq(3)]])).middle() == row(2)


def test_a_split_keeps_what_it_does_not_cut() -> None:
    piece = SimplexPiece(((fmpq(1), fmpq(0), fmpq(0)), (fmpq(0), fmpq(1), fmpq(0)), (fmpq(0), fmpq(0), fmpq(1))))
    first, second = piece.split((0, 2))
    middle = (fmpq(1, 2), fmpq(0), fmpq(1, 2))
    assert first.corners == (middle, piece.corners[1], piece.corners[2])
    assert second.corners == (piece.corners[0], piece.corners[1], middle)
