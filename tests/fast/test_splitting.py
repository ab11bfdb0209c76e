"""Splits are exact, products on grids are exact in any order, and coarser or finer grids show why."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from certattn.fast import tight
from certattn.fast.tight import (
    HEAVIEST,
    Cut,
    SplitQuery,
    add_exactly,
    add_low,
    grid,
    score_error,
    sizes,
    split,
    weight_grids,
)
from certattn.fast.units import UNIT
from certattn.kernel.errors import RefusedError

Floats = NDArray[np.float64]


def on_grid(number: float, q: int) -> bool:
    return (Fraction(number) * Fraction(2) ** q).denominator == 1


@pytest.mark.parametrize("size", [1.0, 3e-200, 7e-310, 1e110])
@pytest.mark.parametrize("bits", [10, 26, 40, 49])
def test_splits_are_exact(size: float, bits: int) -> None:
    rng = np.random.default_rng(bits)
    rows = rng.standard_normal((40, 6)) * size * rng.choice([1, 1e-9, -1e-3, 0], (40, 6))
    norm = float(np.linalg.norm(rows / size, axis=1).max()) * size * (1 + 1e-10)
    q = grid(norm, 6, bits)
    high, low = np.empty_like(rows), np.empty_like(rows)
    split(rows, q, high, low)
    half = Fraction(1, 2) * Fraction(2) ** -q
    for x, x1, x2 in zip(rows.ravel().tolist(), high.ravel().tolist(), low.ravel().tolist(), strict=True):
        assert Fraction(x1) + Fraction(x2) == Fraction(x)
        assert on_grid(x1, q)
        assert abs(Fraction(x2)) <= half
    for row in high.tolist():
        assert sum(Fraction(x) ** 2 for x in row) <= (Fraction(2) ** (bits - q)) ** 2


def test_the_grid_is_as_fine_as_it_may_be() -> None:
    """One step finer, and some vector would be too long."""
    for norm, terms, bits in itertools.product((1.0, 1.999, 2.0, 2 - 2.0**-30, 1e-30, 1e120), (1, 3, 64), (20, 26)):
        q = grid(norm, terms, bits)
        reach = Fraction(norm) * Fraction(2) ** q + Fraction(math.sqrt(terms)) / 2
        assert reach <= 2**bits
        assert 2 * (reach + 2) > 2**bits
    assert grid(0.0, 5, 26) == grid(1e-300, 5, 26) == 400


def test_split_in_place_of_the_low_part() -> None:
    rows = np.random.default_rng(1).random(100)
    low, high = rows.copy(), np.empty(100)
    split(low, 20, high, low)
    assert (high + low == rows).all()
    assert np.abs(low).max() <= 2.0**-21


# -- sizes


@pytest.mark.parametrize("count", [1, 2, 15, 16, 17, 40, 64])
@pytest.mark.parametrize("dimension", [1, 3, 7])
def test_sizes_bound_every_norm_and_all_together(count: int, dimension: int) -> None:
    rng = np.random.default_rng(count)
    rows = rng.standard_normal((count, dimension)) * rng.choice([1, 1e-3, 30], (count, 1))
    one, together = sizes(rows)
    squares = [sum(Fraction(x) ** 2 for x in row) for row in rows.tolist()]
    assert Fraction(one) ** 2 >= max(squares)
    assert Fraction(one) ** 2 <= 16.001 * max(squares)
    assert sum(squares) <= Fraction(together) ** 2 <= sum(squares) * Fraction(1 + 1e-9)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e200, 2.0**401])
@pytest.mark.parametrize("row", [0, 15, 16, 19])
def test_sizes_refuse_what_is_not_finite(bad: float, row: int) -> None:
    rows = np.zeros((20, 2))
    rows[row, 1] = bad
    with np.errstate(all="ignore"), pytest.raises(RefusedError, match="too large, or not finite"):
        sizes(rows)


# -- exact products


def longest_on_grid(norm: float, terms: int, bits: int) -> Floats:
    """Odd multiples of the grid, along (1, ..., 1) and as long as they may be."""
    q = grid(norm, terms, bits)
    steps = math.floor(Fraction(norm) / Fraction(math.sqrt(terms) * (1 + 1e-9)) * Fraction(2) ** q)
    return np.full(terms, math.ldexp(steps - 1 + steps % 2, -q))


def is_exact(left: Floats, right: Floats) -> bool:
    """Whether inner products come out exactly, in several orders."""
    rng = np.random.default_rng(0)
    exact = sum((Fraction(x) * Fraction(y) for x, y in zip(left.tolist(), right.tolist(), strict=True)), Fraction(0))
    orders = [np.arange(len(left)), np.arange(len(left))[::-1], *(rng.permutation(len(left)) for _ in range(5))]
    for order in orders:
        x, y = left[order], right[order]
        found = [float(np.dot(x, y)), float((x[None] @ y)[0]), float((x[None] @ np.stack([y, y], axis=1))[0, 1])]
        found += [float(sum((x * y).tolist())), float(np.vecdot(x, y))]
        if any(Fraction(value) != exact for value in found):
            return False
    return True


@pytest.mark.parametrize("terms", [1, 2, 3, 16, 64, 257])
def test_products_of_high_parts_are_exact_in_any_order(terms: int) -> None:
    rng = np.random.default_rng(terms)
    for norm in (1.0, 1.3, 1.999, 3e50, 2e-60):
        key, query = longest_on_grid(norm, terms, 26), longest_on_grid(1 / norm, terms, 27)
        assert is_exact(key, query)
        signs = rng.choice([1.0, -1.0], terms)
        assert is_exact(key * signs, query)
        assert is_exact(np.round(key * rng.random(terms) * 2.0**10) / 2.0**10 if norm == 1 else key, query)


@pytest.mark.parametrize("finer", [1, 4])
def test_products_on_finer_grids_are_not(finer: int) -> None:
    """26 and 27 bits are as many as there may be: with more, sums of many terms round."""
    terms = 64
    assert not is_exact(longest_on_grid(1.999, terms, 26 + finer), longest_on_grid(1.999, terms, 27 + finer))


def heaviest_weights(tokens: int, q: int) -> Floats:
    step = math.ldexp(1.0, -q)
    return np.full(tokens, math.floor(HEAVIEST / step) * step - (1 - math.floor(HEAVIEST / step) % 2) * step)


@pytest.mark.parametrize("tokens", [1, 2, 255, 1024])
@pytest.mark.parametrize("finer", [0, 2])
def test_sums_of_first_slices_are_exact_and_need_their_grid(tokens: int, finer: int) -> None:
    values = longest_on_grid(1.3, 1, 26).repeat(tokens)
    q = grid(1.3, 1, 26)
    q1, _ = weight_grids(tokens, 1.3 + math.ldexp(0.5, -q), q)
    weights = heaviest_weights(tokens, q1 + finer)
    assert is_exact(weights, values) == (finer == 0)


@pytest.mark.parametrize("finer", [0, 3])
def test_sums_of_second_slices_are_exact_and_need_their_grid(finer: int) -> None:
    tokens = 700
    values = longest_on_grid(1.3, 1, 26).repeat(tokens)
    q = grid(1.3, 1, 26)
    q1, q2 = weight_grids(tokens, 1.3 + math.ldexp(0.5, -q), q)
    weights = np.full(tokens, math.ldexp(0.5, -q1) - math.ldexp(1.0, -q2 - finer))
    assert is_exact(weights, values) == (finer == 0)


def test_slices_of_weights_are_exact() -> None:
    rng = np.random.default_rng(2)
    weights = HEAVIEST * rng.random(300) * rng.choice([1, 2.0**-30, 2.0**-999], 300)
    for tokens, reach, q in ((300, 5.0, 22), (4096, 1e-3, 36), (1, 1.0, 0), (1, 0.0, 400), (256, 2.0**100, -74)):
        q1, q2 = weight_grids(tokens, reach, q)
        slices = np.empty((3, 300))
        split(weights, q1, slices[0], slices[2])
        split(slices[2], q2, slices[1], slices[2])
        for w, parts in zip(weights.tolist(), slices.T.tolist(), strict=True):
            assert sum(map(Fraction, parts)) == Fraction(w)
            assert on_grid(parts[0], q1)
            assert on_grid(parts[1], q2)
            assert abs(Fraction(parts[2])) <= Fraction(2) ** (-q2 - 1)
            coarse = abs(abs(Fraction(parts[0])) - Fraction(w)) + abs(Fraction(parts[1])) + abs(Fraction(parts[2]))
            assert coarse <= Fraction(2) ** (1 - q1)


def test_what_is_left_of_weights_and_values_is_lost_within_its_bound() -> None:
    rng = np.random.default_rng(3)
    tokens, columns = 500, 3
    values = rng.standard_normal((tokens, columns))
    cut = Cut.of(columns, tokens, float(np.linalg.norm(values, axis=1).max()) * 1.001)
    parts, thirds = np.empty((2, tokens, columns)), (rng.random(tokens) - 0.5) * math.ldexp(1.0, -cut.q2)
    split(values, cut.q, *parts)
    weights = rng.random(tokens)
    for column in range(columns):
        for left, right, bound in (
            (thirds, np.ones(tokens), cut.lost),
            (thirds, parts[0, :, column], cut.lost_moment),
            (weights, parts[1, :, column], cut.lost_per_mass * float(weights.sum())),
        ):
            pairs = zip(left.tolist(), right.tolist(), strict=True)
            exact = sum((Fraction(x) * Fraction(y) for x, y in pairs), Fraction(0))
            assert abs(Fraction(float(left @ right)) - exact) <= Fraction(bound)


# -- sums without error


def test_high_and_low_parts_add_up_exactly() -> None:
    """Low parts that are larger than high ones, too: these are multiples of the units in their last places."""
    rng = np.random.default_rng(4)
    high = np.round(rng.standard_normal(4000) * 2.0**50) * rng.choice([1.0, 2.0**-30, 2.0**-49, 0.0], 4000)
    high = np.round(high)
    low = rng.standard_normal(4000) * 2.0 ** rng.integers(-60, 50, 4000)
    assert (np.abs(low) > np.abs(high)).sum() > 500
    total, left, rest = np.empty(4000), high.copy(), low.copy()
    add_low(left, rest, total)
    for h, w, t, e in zip(high.tolist(), low.tolist(), total.tolist(), rest.tolist(), strict=True):
        assert Fraction(t) + Fraction(e) == Fraction(h) + Fraction(w)
        assert t == h + w
        assert abs(e) <= math.ulp(t) / 2


def test_high_parts_on_too_fine_a_grid_would_not() -> None:
    high, low, total = np.array([1.0 + 2.0**-40]), np.array([2.0**60 + 2.0**9]), np.empty(1)
    exact = Fraction(high[0]) + Fraction(low[0])
    add_low(high, low, total)
    assert Fraction(total[0]) + Fraction(low[0]) != exact


def test_terms_of_any_size_add_up_exactly() -> None:
    rng = np.random.default_rng(5)
    terms = rng.standard_normal((60, 5)) * 10.0 ** rng.integers(-12, 12, (60, 5))
    total, error = np.zeros(5), np.zeros(5)
    exact = [Fraction(0)] * 5
    for row in terms:
        before = Fraction(error[0])
        add_exactly(total, error, row)
        exact = [e + Fraction(x) for e, x in zip(exact, row.tolist(), strict=True)]
        # The error of this addition is a double; adding it to the others may round.
        assert abs(Fraction(total[0]) + Fraction(error[0]) - exact[0]) <= abs(before) * Fraction(2) ** -50 + 10**-9
    for t, e, x in zip(total.tolist(), error.tolist(), exact, strict=True):
        assert abs(Fraction(t) + Fraction(e) - x) <= abs(x) * Fraction(2) ** -90 + Fraction(10) ** -15


# -- queries and the errors of scores


def share_of_score_error(
    head: Floats, tail: Floats, keys: Floats, q: int, size: float, bound: Callable[[SplitQuery], float]
) -> float:
    """The largest error of a score t + e over its bound."""
    query = SplitQuery.of(head, tail, 0.0)
    parts, total = np.empty((2, *keys.shape)), np.empty(len(keys))
    split(keys, q, *parts)
    both = np.dot(parts[0], query.columns)
    high, low = both[:, 0].copy(), np.dot(parts[1], query.head) + both[:, 1]
    add_low(high, low, total)
    worst = Fraction(0)
    for key, t, e in zip(keys.tolist(), total.tolist(), low.tolist(), strict=True):
        pairs = zip(key, head.tolist(), tail.tolist(), strict=True)
        exact = sum((Fraction(x) * (Fraction(a) + Fraction(b)) for x, a, b in pairs), Fraction(0))
        worst = max(worst, abs(Fraction(t) + Fraction(e) - exact))
    return float(worst / Fraction(bound(query)))


@pytest.mark.parametrize("dimension", [1, 2, 7, 64])
@pytest.mark.parametrize("sizes_of", [(1.0, 1.0), (1e6, 1e3), (1e-200, 1e100), (1e100, 1e-90)])
def test_scores_are_within_their_bound(dimension: int, sizes_of: tuple[float, float]) -> None:
    rng = np.random.default_rng(dimension)
    keys = rng.standard_normal((100, dimension)) * sizes_of[0]
    head = rng.standard_normal(dimension) * sizes_of[1]
    tail = head * (rng.random(dimension) - 0.5) * 2 * UNIT
    size = float(np.sqrt((keys / sizes_of[0]) ** 2 @ np.ones(dimension)).max()) * sizes_of[0] * (1 + 1e-9)
    for q in (grid(size, dimension, 26), grid(size, dimension, 15)):
        assert share_of_score_error(head, tail, keys, q, size, lambda query, q=q: score_error(query, q, size)) <= 1


def test_scores_come_near_their_bound() -> None:
    """One coordinate, low parts as large as they may be: a tenth of the bound would not do."""
    rng = np.random.default_rng(6)
    keys = 1 + (np.floor(rng.random((3000, 1)) * 2**20) + 0.5) * 2.0**-20 - rng.random((3000, 1)) * 2.0**-30
    head, tail = np.array([1 + 2.0**-28 * 0.999 + 2.0**-52]), np.array([2.0**-54 * 1.7])
    size = 2.0
    share = share_of_score_error(head, tail, keys, 20, size, lambda query: score_error(query, 20, size))
    assert 0.15 < share <= 1


def test_the_second_double_of_a_query_counts() -> None:
    """a = 1/3 in two doubles: with the first alone the score would be off by far more than its bound."""
    third = Fraction(1, 3)
    head = np.array([float(third)])
    tail = np.array([float(third - Fraction(head[0]))])
    query = SplitQuery.of(head, tail, 2.0**-106)
    keys = np.array([[900.123]])
    q = grid(900.2, 1, 26)
    bound = score_error(query, q, 900.2)
    exact = Fraction(keys[0, 0]) * third
    parts, total = np.empty((2, 1, 1)), np.empty(1)
    split(keys, q, *parts)
    both = np.dot(parts[0], query.columns)
    low = np.dot(parts[1], query.head) + both[:, 1]
    add_low(both[:, 0], low, total)
    assert abs(Fraction(total[0]) + Fraction(low[0]) - exact) <= Fraction(bound)
    assert abs(Fraction(900.123) * Fraction(head[0]) - exact) > 100 * Fraction(bound)


def test_the_radius_of_a_query_counts() -> None:
    head, none = np.array([0.6, 0.8]), np.zeros(2)
    q = grid(10.0, 2, 26)
    plain, wide = (score_error(SplitQuery.of(head, none, radius), q, 10.0) for radius in (0.0, 1e-3))
    assert 1e-2 <= wide - plain <= 1.0001e-2


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e200])
def test_queries_that_are_not_finite_are_refused(bad: float) -> None:
    good, other = np.ones(3), np.array([1.0, bad, 1.0])
    for head, tail, radius in (
        (other, good * 0, 0.0),
        (good, other, 0.0),
        (good, good * 0, bad),
        (good, good * 0, -1.0),
    ):
        with pytest.raises(RefusedError):
            SplitQuery.of(head, tail, radius)


def test_a_tail_that_is_as_large_as_its_head_is_refused() -> None:
    with pytest.raises(RefusedError, match="a second double of a query that is not small"):
        SplitQuery.of(np.ones(2), np.ones(2) * 0.5, 0.0)
    SplitQuery.of(np.ones(2), np.ones(2) * 2.0**-40, 0.0)


def test_queries_of_another_type_or_shape_are_refused() -> None:
    with pytest.raises(TypeError, match="float64"):
        SplitQuery.of(np.ones(2, np.float32), np.ones(2), 0.0)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="shape"):
        SplitQuery.of(np.ones(2), np.ones(3), 0.0)


def test_bits_leave_room_for_each_other() -> None:
    """What the proofs take for granted of the constants."""
    assert tight._KEY_BITS + tight._QUERY_BITS == 53
    assert HEAVIEST <= 2.0 ** (51 - tight._MOST_BITS)
    # Scores up to (K + 1) ln 2, rounded, and the error of the exponential.
    assert HEAVIEST > 2 * (1 + 1e-9)
    assert 2 * tight._FINEST + 2 * tight._MOST_BITS < 1022
