"""Exact matrices against Python's fractions; nothing is ever rounded, and equal means equal."""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from flint import fmpq, fmpz_mat
from hypothesis import given, settings
from hypothesis import strategies as st

from certattn.kernel.mathematics.exact_matrix import ExactMatrix, covariance

Table = list[list[Fraction]]

entries = st.one_of(
    st.fractions(-5, 5, max_denominator=9),
    st.builds(lambda m, e: Fraction(m) * Fraction(2) ** e, st.integers(-(2**24), 2**24), st.integers(-149, 127)),
)


def tables(rows: int, columns: int) -> st.SearchStrategy[Table]:
    return st.lists(st.lists(entries, min_size=columns, max_size=columns), min_size=rows, max_size=rows)


extents = st.integers(1, 4)


def exact(table: Table) -> ExactMatrix:
    return ExactMatrix.rational([[fmpq(x.numerator, x.denominator) for x in row] for row in table])


def plain(matrix: ExactMatrix) -> Table:
    return [[Fraction(int(x.p), int(x.q)) for x in row] for row in matrix.to_rows()]


def product(left: Table, right: Table) -> Table:
    columns = list(zip(*right, strict=True))
    return [[sum((x * y for x, y in zip(row, c, strict=True)), Fraction(0)) for c in columns] for row in left]


def two(same: Callable[[int, int], tuple[tuple[int, int], tuple[int, int]]]) -> st.SearchStrategy[tuple[Table, Table]]:
    def build(shape: tuple[int, int, int]) -> st.SearchStrategy[tuple[Table, Table]]:
        first, second = same(shape[0], shape[1])
        return st.tuples(tables(*first), tables(*second))

    return st.tuples(extents, extents, extents).flatmap(build)


fast = settings(max_examples=60, deadline=None, derandomize=True)


@fast
@given(two(lambda m, n: ((m, n), (n, m))), entries)
def test_products_transposes_and_multiples(pair: tuple[Table, Table], factor: Fraction) -> None:
    left, right = pair
    assert plain(exact(left) @ exact(right)) == product(left, right)
    assert plain(exact(left).T) == [list(column) for column in zip(*left, strict=True)]
    assert plain(exact(left).scaled(fmpq(factor.numerator, factor.denominator))) == [
        [factor * x for x in row] for row in left
    ]


@fast
@given(two(lambda m, n: ((m, n), (m, n))))
def test_sums_and_differences(pair: tuple[Table, Table]) -> None:
    left, right = pair
    both = [list(zip(r, s, strict=True)) for r, s in zip(left, right, strict=True)]
    assert plain(exact(left) + exact(right)) == [[x + y for x, y in row] for row in both]
    assert plain(exact(left) - exact(right)) == [[x - y for x, y in row] for row in both]
    assert plain(-exact(left)) == [[-x for x in row] for row in left]
    assert (exact(left) == exact(right)) is (left == right)
    assert (exact(left) - exact(left)).is_zero()


@pytest.mark.heavy
@fast
@given(two(lambda m, n: ((m, n), (m, m))))
def test_moments_are_those_of_the_definition(pair: tuple[Table, Table]) -> None:
    """Cov(x, y) = mean of x y' minus the product of the means."""
    left, right = pair
    size = len(left)
    means = [[sum(c, Fraction(0)) / size for c in zip(*table, strict=True)] for table in (left, right)]
    assert plain(exact(left).mean_row()) == [means[0]]
    expected = [
        [
            sum((left[k][i] * right[k][j] for k in range(size)), Fraction(0)) / size - means[0][i] * means[1][j]
            for j in range(len(right[0]))
        ]
        for i in range(len(left[0]))
    ]
    assert plain(covariance(exact(left), exact(right))) == expected
    centred = plain(exact(left).centred(exact(left).mean_row()))
    assert all(sum(column, Fraction(0)) == 0 for column in zip(*centred, strict=True))


@fast
@given(extents.flatmap(lambda m: tables(m, 2)), st.lists(st.integers(0, 3), max_size=5))
def test_rows_are_taken_in_the_order_asked_for(table: Table, wanted: list[int]) -> None:
    indices = [i % len(table) for i in wanted] or [0]
    assert plain(exact(table).take_rows(indices)) == [table[i] for i in indices]
    assert plain(exact(table).take_rows(range(len(table)))) == table


def test_a_row_of_a_tall_matrix_is_taken_as_fast_as_of_a_short_one() -> None:
    """Queries are taken one by one: looking through all of them for each would be quadratic."""

    def spent(matrix: ExactMatrix) -> float:
        start = time.process_time()
        for row in range(0, 200):
            matrix.take_rows([row])
        return time.process_time() - start

    short, tall = (ExactMatrix(fmpz_mat(rows, 2, list(range(2 * rows)))) for rows in (200, 200_000))
    assert min(spent(tall) for _ in range(3)) < 20 * min(spent(short) for _ in range(3))


@pytest.mark.parametrize("exponent", [-1074, -149, -1, 0, 1, 127, 971])
def test_dyadic(exponent: int) -> None:
    matrix = ExactMatrix.dyadic(2, 2, [1, -3, 0, 2**53 - 1], exponent)
    two_power = Fraction(2) ** exponent
    assert plain(matrix) == [[two_power, -3 * two_power], [Fraction(0), (2**53 - 1) * two_power]]


def test_identity_zero_and_shapes() -> None:
    assert plain(ExactMatrix.identity(2)) == [[1, 0], [0, 1]]
    assert ExactMatrix.zero(2, 3).shape == (2, 3)
    assert ExactMatrix.zero(2, 3).is_zero()
    assert not ExactMatrix.identity(1).is_zero()
    assert ExactMatrix.row_vector([fmpq(1), fmpq(2)]).shape == (1, 2)


def test_a_denominator_is_positive() -> None:
    for denominator in (0, -1):
        with pytest.raises(ValueError, match="positive"):
            ExactMatrix(fmpz_mat(1, 1, [1]), denominator)


def test_the_common_denominator_is_the_least() -> None:
    thirds = ExactMatrix.rational([[fmpq(1, 3), fmpq(2)]])
    assert thirds.denominator == 3
    assert ExactMatrix.stacked([thirds, thirds]).denominator == 3


def test_equality_looks_at_numbers_not_at_how_they_are_held() -> None:
    half, same = ExactMatrix(fmpz_mat(1, 1, [1]), 2), ExactMatrix(fmpz_mat(1, 1, [2]), 4)
    assert half == same
    assert half != ExactMatrix(fmpz_mat(1, 1, [1]), 4)
    assert ExactMatrix.zero(1, 2) != ExactMatrix.zero(2, 1)
    assert half != fmpq(1, 2)
    with pytest.raises(TypeError):
        hash(half)


@pytest.mark.parametrize(
    "operation",
    [lambda a, b: a @ b, lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a.centred(b), lambda a, b: a.inner(b)],
)
def test_shapes_that_do_not_fit_are_errors(operation: Callable[[Any, Any], Any]) -> None:
    with pytest.raises(ValueError):
        operation(ExactMatrix.zero(2, 3), ExactMatrix.zero(2, 4))


def test_ragged_rows_are_errors() -> None:
    with pytest.raises(ValueError):
        ExactMatrix.rational([[fmpq(1), fmpq(2)], [fmpq(3)]])


# -- positive semidefinite


def squares(factor: Table) -> Table:
    return product(factor, [list(column) for column in zip(*factor, strict=True)])


@fast
@given(st.tuples(extents, extents).flatmap(lambda shape: tables(*shape)))
def test_every_square_is_positive_semidefinite(factor: Table) -> None:
    """B B' of any rank."""
    assert exact(squares(factor)).is_positive_semidefinite()


@fast
@given(extents.flatmap(lambda n: st.tuples(tables(n, n), tables(n, 1))), st.integers(1, 10**30))
def test_a_negative_direction_is_seen_however_small(pair: tuple[Table, Table], inverse: int) -> None:
    """B B' made singular in the direction u by a projection, minus a tiny multiple of u u'."""
    factor, column = pair
    u = [x for (x,) in column]
    norm2 = sum((x * x for x in u), Fraction(0))
    if norm2 == 0:
        return
    along = [sum((u[i] * factor[i][k] for i in range(len(u))), Fraction(0)) / norm2 for k in range(len(u))]
    flat = [[factor[i][k] - u[i] * along[k] for k in range(len(u))] for i in range(len(u))]
    singular = squares(flat)
    assert exact(singular).is_positive_semidefinite()
    tiny = Fraction(1, inverse)
    dented = [[singular[i][j] - tiny * u[i] * u[j] for j in range(len(u))] for i in range(len(u))]
    assert not exact(dented).is_positive_semidefinite()


@pytest.mark.parametrize(
    ("table", "answer"),
    [
        ([["0"]], True),
        ([["-1/1000000000000000000000000000000"]], False),
        ([["1", "1"], ["1", "1"]], True),
        ([["1", "1"], ["1", "999999999999999999999999/1000000000000000000000000"]], False),
        ([["0", "1"], ["1", "0"]], False),
        ([["0", "1"], ["1", "5"]], False),
        ([["-1", "0"], ["0", "-1"]], False),
        ([["1", "0", "0"], ["0", "-1", "0"], ["0", "0", "-1"]], False),
        ([["1", "2"], ["0", "1"]], False),
    ],
    ids=["zero", "barely negative", "rank one", "barely indefinite", "swap", "zero pivot", "negative", "two", "skew"],
)
def test_definiteness_by_hand(table: list[list[str]], answer: bool) -> None:
    assert exact([[Fraction(x) for x in row] for row in table]).is_positive_semidefinite() is answer


def test_symmetry() -> None:
    assert exact([[Fraction(1), Fraction(2)], [Fraction(2), Fraction(1)]]).is_symmetric()
    assert not exact([[Fraction(1), Fraction(2)], [Fraction(3), Fraction(1)]]).is_symmetric()
    assert not ExactMatrix.zero(1, 2).is_symmetric()
    assert not ExactMatrix.zero(1, 2).is_positive_semidefinite()


# -- texts


def test_few_entries_are_shown_exactly_and_many_by_their_shape_and_a_digest() -> None:
    assert str(exact([[Fraction(1, 3), Fraction(-1, 10)]])) == "(1/3, -0.1)"
    assert str(exact([[Fraction(1)], [Fraction(2)]])) == "((1), (2))"
    assert str(ExactMatrix.zero(4, 4)).startswith("((0, 0, 0, 0), ")
    assert str(ExactMatrix.zero(17, 1)).startswith("17 x 1 numbers (0, 0, 0, 0, ..., sha256 ")
    assert len({str(ExactMatrix.zero(*shape)) for shape in ((17, 1), (1, 17), (34, 1), (17, 2), (2, 17))}) == 5
    halves = ExactMatrix(fmpz_mat(17, 1, [1] * 17), 2)
    assert str(halves) == str(ExactMatrix(fmpz_mat(17, 1, [3] * 17), 6)) != str(ExactMatrix.zero(17, 1))
