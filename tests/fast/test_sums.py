"""The sums of the default tier, component by component: each bound holds, and half of it, or a tenth, would not."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from exact_attention import one_by_one, stored, swept
from flint import arb
from numpy.typing import NDArray
from observed_errors import computed

from certattn.fast import sums as sums_module
from certattn.fast.exponential import beta, relative_error, score_errors
from certattn.fast.rows import Block, norm_bounds
from certattn.fast.sums import Scratch, Sums, Wanted, sweep
from certattn.fast.units import UNIT, gamma
from certattn.kernel.errors import RefusedError
from certattn.kernel.mathematics.balls import working_precision

Floats = NDArray[np.float64]
NONE = np.zeros(1)


# -- scores


def share_of_score_bound(keys: Floats, query: Floats) -> float:
    """The largest error of a computed score over its bound."""
    found = np.dot(keys, query)
    norms = norm_bounds(keys)
    slope, shift = score_errors(len(query), norm_bounds(query[None]), NONE, float(norms.max()))
    worst = 0.0
    for key, score, norm in zip(keys.tolist(), found.tolist(), norms.tolist(), strict=True):
        exact = sum((Fraction(x) * Fraction(a) for x, a in zip(key, query.tolist(), strict=True)), Fraction(0))
        off = abs(Fraction(score) - exact)
        worst = max(worst, float(off / (Fraction(slope.item()) * Fraction(norm) + Fraction(shift.item()))))
    return worst


@pytest.mark.parametrize(("dimension", "reached"), [(1, 0.9), (2, 0.5), (3, 0.3)])
def test_scores_come_near_their_bound(dimension: int, reached: float) -> None:
    """Keys along the query: then |x| |a| is the size of the products."""
    rng = np.random.default_rng(dimension)
    query = 1 + rng.random(dimension) * 2.0**-10
    keys = query * (1 + rng.random((4000, dimension)) * 2.0**-20)
    assert reached < share_of_score_bound(keys, query) <= 1


@pytest.mark.parametrize("size", [1.0, 1e-160, 1e-310, 1e150])
@pytest.mark.parametrize("dimension", [1, 5, 64, 200])
def test_scores_of_every_size_are_within_their_bound(dimension: int, size: float) -> None:
    rng = np.random.default_rng(dimension)
    keys = rng.standard_normal((50, dimension)) * size * rng.choice([1, 1e-8, -1], (50, dimension))
    assert share_of_score_bound(keys, rng.standard_normal(dimension) / max(size, 1.0)) <= 1


@pytest.mark.parametrize("lanes", [1, 2, 4, 8, 16, 32])
def test_scores_that_lose_halves_of_units_in_every_lane(lanes: int) -> None:
    keys = np.where(np.arange(64) < lanes, 1.0, UNIT)[None]
    assert share_of_score_bound(keys, np.ones(64)) <= 1


def test_the_bound_of_scores_covers_what_underflows() -> None:
    """Products below 2^-1022, whose error is not a fraction of them."""
    keys, query = np.array([[1e-200, 3e-162, 1e-170]]), np.array([1e-150, 1.1e-162, 1e-160])
    assert share_of_score_bound(keys, query) <= 1
    exact = sum(Fraction(x) * Fraction(a) for x, a in zip(keys[0].tolist(), query.tolist(), strict=True))
    off = abs(Fraction(float(np.dot(keys, query)[0])) - exact)
    assert off > Fraction(gamma(3)) * Fraction(3.1e-162) * Fraction(1.2e-162)


# -- weights


def share_of_weight_bound(keys: Floats, query: Floats, factor: float = 1.0) -> float:
    """The largest |W - v| / (beta(delta) v) of single tokens: their Z is their weight."""
    slope, shift = score_errors(len(query), norm_bounds(query[None]), NONE, float(norm_bounds(keys).max()))
    worst = 0.0
    for key, norm in zip(keys, norm_bounds(keys), strict=True):
        found = one_by_one(Wanted(query[None]), key[None], key[None])
        delta = slope * norm * factor + shift
        with working_precision(400):
            score = sum((arb(x) * arb(a) for x, a in zip(key.tolist(), query.tolist(), strict=True)), arb(0))
            true = score.exp() / arb(2) ** int(found.exponent[0])
            value = arb(found.normaliser.item())
            bound = arb(beta(delta, relative_error() * factor).item()) * value
            worst = max(worst, float((abs(true - value) / bound).upper()))
    return worst


def scores_with_bad_exponentials(count: int) -> Floats:
    """Scores whose computed exponentials are far off, out of many."""
    scores = np.random.default_rng(5).random(20000) * math.log(2)
    values = computed(scores, 0)
    near = np.abs(values / np.exp(np.longdouble(scores)) - 1)
    return scores[np.argsort(near)[-count:]]


def test_weights_come_near_their_bound_where_the_exponential_decides() -> None:
    """One coordinate times 1: the score itself is exact, but its bound is not 0; hence small scores."""
    scores = scores_with_bad_exponentials(5)[:, None] * np.array([[1.0]])
    share = share_of_weight_bound(scores, np.ones(1))
    assert 0.5 < share <= 1
    # Half of it, and a tenth, would be too little.
    assert share_of_weight_bound(scores, np.ones(1), 0.5) > 1
    assert share_of_weight_bound(scores, np.ones(1), 0.1) > 1


def test_weights_come_near_their_bound_where_the_score_decides() -> None:
    rng = np.random.default_rng(6)
    factors = 26.0 + rng.random((2, 300)) * 2.0**-8
    exact = [Fraction(x) * Fraction(a) for x, a in factors.T.tolist()]
    errors = [abs(float(Fraction(x * a) - e)) for (x, a), e in zip(factors.T.tolist(), exact, strict=True)]
    key, query = factors[:, int(np.argmax(errors))]
    share = share_of_weight_bound(np.array([[key]]), np.array([query]))
    assert 0.5 < share <= 1
    assert share_of_weight_bound(np.array([[key]]), np.array([query]), 0.5) > 1


def test_beta_is_above_what_it_bounds() -> None:
    """e^delta (1 + eps) - 1 over 2 minus that, by Arb; and nearly convex, so that a chord bounds it."""
    eps = relative_error()
    deltas = np.concatenate([np.geomspace(1e-300, 0.125, 400), np.linspace(0, 0.125, 50)])
    with working_precision(200):
        for delta, found in zip(deltas.tolist(), beta(deltas, eps).tolist(), strict=True):
            z = arb(delta).exp() * (1 + arb(eps)) - 1
            exact = z / (1 - z)
            assert arb(found) >= exact
            assert arb(found) <= exact * (1 + arb(delta) + arb(2.0**-35))
            assert beta(delta, eps) == found


# -- rounding of sums: every addition in sequence loses nearly half a unit


TOKENS = 400
TINY = -53 * math.log(2) - 1e-12


def absorbed() -> tuple[Floats, Floats, Floats]:
    """Tokens whose terms are lost one by one beside the first, in Z, M, Q and S alike.

    The first has weight 1 and |k|^2 = 2048; the others weights a little below 2^-53, |k|^2 near 2025.
    """
    keys = np.tile([TINY, 26.0, 0.0], (TOKENS, 1))
    keys[0] = 0.0, 32.0, 32.0
    return keys, np.ones((TOKENS, 2)), np.array([[1.0, 0.0, 0.0]])


def computed_weights(keys: Floats) -> list[Fraction]:
    return [Fraction(x) for x in computed(keys[:, 0].copy(), 0).tolist()]


def lost(total: Any, terms: list[Fraction], roundings: int) -> float:
    """How much a sum of positive terms misses, over the bound."""
    exact = sum(terms, Fraction(0))
    return float((exact - Fraction(float(total))) / (Fraction(gamma(roundings)) * exact))


@pytest.mark.parametrize("second_of_keys", [False, True])
def test_sums_of_many_blocks_come_near_their_bounds(second_of_keys: bool) -> None:
    keys, values, query = absorbed()
    found = one_by_one(Wanted(query, (0,), second_of_keys), keys, values)
    weights = computed_weights(keys)
    assert found.exponent[0] == 0
    assert found.depth == TOKENS
    shares = {
        "Z": lost(found.normaliser[0], weights, found.roundings),
        "M": lost(found.moment[0, 1], weights, found.roundings),
        "Q": lost(
            found.square[0],
            [w * sum(Fraction(x) ** 2 for x in key) for w, key in zip(weights, keys.tolist(), strict=True)],
            found.square_roundings,
        ),
    }
    if second_of_keys:
        terms = [w * Fraction(key[1]) for w, key in zip(weights, keys.tolist(), strict=True)]
        shares["S"] = lost(found.second[0][0, 1], terms, found.second_roundings)
        shares["key moment"] = lost(found.key_moment[0][0, 1], terms, found.roundings)
    else:
        shares["S"] = lost(found.second[0][0, 1], weights, found.second_roundings)
    # So half of the bounds, or the same without the additions of blocks, would be false.
    assert all(0.5 < share <= 1 for share in shares.values()), shares


@pytest.mark.parametrize("pieces", [1, 3])
def test_sums_of_many_pieces_come_near_their_bounds(pieces: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One block, in as many pieces as it has tokens."""
    monkeypatch.setattr(sums_module, "_INNER", 1)
    monkeypatch.setattr(sums_module, "_INNER_SECOND", 1)
    keys, values, query = absorbed()
    found = Wanted(query, (0,)).empty(2)
    for part in np.array_split(np.arange(TOKENS), pieces):
        found.add(Block(keys[part], values[part]), Scratch())
    weights = computed_weights(keys)
    shares = [
        lost(found.moment[0, 1], weights, found.roundings),
        lost(found.second[0][0, 1], weights, found.second_roundings),
        lost(found.normaliser[0], weights, found.roundings),
    ]
    assert all(share <= 1 for share in shares)
    if pieces == 1:
        assert min(shares[:2]) > 0.5


def test_second_moments_in_several_pieces_of_several_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces are added up before they meet those of other blocks: or 400 roundings would not be counted."""
    monkeypatch.setattr(sums_module, "_INNER_SECOND", 1)
    keys, values, query = absorbed()
    found = Wanted(query, (0,)).empty(2)
    for part in np.array_split(np.arange(TOKENS), 40):
        found.add(Block(keys[part], values[part]), Scratch())
    assert found.second_roundings < 80
    assert lost(found.second[0][0, 1], computed_weights(keys), found.second_roundings) <= 1


def test_merged_sums_count_the_longest_path() -> None:
    keys, values, query = absorbed()
    plan = Wanted(query, (0,))
    total = one_by_one(plan, keys[:100], values[:100])
    for first in range(100, TOKENS, 100):
        part = slice(first, first + 100)
        total.merge(one_by_one(plan, keys[part], values[part]))
    assert total.depth == 103
    assert total.tokens == TOKENS
    weights = computed_weights(keys)
    for found in (total.normaliser[0], total.moment[0, 0]):
        assert lost(found, weights, total.roundings) <= 1
    assert lost(total.second[0][0, 1], weights, total.second_roundings) <= 1


@pytest.mark.parametrize("tokens", [1, 2, 127, 128, 255, 256, 257, 511, 512, 513, 1500])
def test_every_length_of_a_block_is_summed_completely(tokens: int) -> None:
    """Scores 0: the sums are integers, and exact."""
    keys = np.zeros((tokens, 2))
    values = np.arange(3.0 * tokens).reshape(tokens, 3)
    found = Wanted(np.zeros((2, 2)), (1,)).empty(3)
    found.add(Block(keys, values), Scratch())
    assert found.normaliser.tolist() == [tokens, tokens]
    assert (found.moment == values.sum(axis=0)).all()
    assert (found.second[1] == values.T @ values).all()


# -- the range of exponents


def test_weights_far_below_are_raised_and_counted() -> None:
    keys = np.array([[0.0], [-2000.0], [-5000.0]])
    found = one_by_one(Wanted(np.ones((1, 1))), keys, np.array([[0.0], [1.0], [1.0]]))
    assert found.clamped == 2
    # Two weights near 2^-1000 for true ones that are nearly 0: within the 2^-998 each that omega has for them.
    assert 1.9 * 2.0**-1000 < found.moment[0, 0] < 2 * 2.0**-998


@pytest.mark.parametrize("order", [1, -1])
def test_exponents_may_jump_by_more_than_the_depth(order: int) -> None:
    keys = np.linspace(-10900, 10900, 24)[::order, None]
    found = one_by_one(Wanted(np.ones((1, 1))), keys, np.ones((24, 1)))
    assert found.exponent[0] == math.floor(10900 / math.log(2))
    assert 1 <= found.normaliser[0] < 2
    assert abs(found.normaliser[0] - found.moment[0, 0]) <= 2.0**-990 * 25
    assert found.square[0] == pytest.approx(10900.0**2 * found.normaliser[0])


@pytest.mark.parametrize("queries", [1, 3])
def test_sizes_of_all_blocks_are_kept(queries: int) -> None:
    """The largest in the middle; by norms for few queries, by column for many."""
    keys, values = np.zeros((9, 2)), np.zeros((9, 12))
    keys[4], values[5, 3], values[3, 4] = (3.0, 4.0), -7.0, 2.0
    found = one_by_one(Wanted(np.zeros((queries, 2))), keys, values)
    assert found.key_square == 25
    assert found.by_column is (queries == 3)
    if found.by_column:
        assert (found.low[3], found.high[4], found.high[3]) == (-7, 2, 0)
    else:
        assert found.value_square == 49


def test_merging_sums_whose_exponents_are_far_apart() -> None:
    plan = Wanted(np.ones((1, 1)), (0,))
    low, high = (one_by_one(plan, np.array([[s]]), np.array([[3.0]])) for s in (-4000.0, 4000.0))
    for first, second in ((low, high), (high, low)):
        total = plan.empty(1)
        total.merge(first)
        total.merge(second)
        assert total.exponent[0] == high.exponent[0]
        assert abs(total.normaliser[0] - high.normaliser[0]) <= 2.0**-998
        assert abs(total.second[0][0, 0] - high.second[0][0, 0]) <= 9 * 2.0**-998


# -- what is refused


@pytest.mark.parametrize("score", [11001.0, -11001.0, np.inf, -np.inf, np.nan])
def test_scores_out_of_reach_are_refused(score: float) -> None:
    keys = np.zeros((5, 1))
    keys[3] = score
    with pytest.raises(RefusedError, match="scores beyond"):
        swept(keys, keys, [1.0])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e200])
@pytest.mark.parametrize("queries", [1, 8])
def test_numbers_that_are_not_finite_or_too_large_are_refused(bad: float, queries: int) -> None:
    """Also where no score meets them: a query of 0 may hide a key, and values have no scores."""
    keys, values = np.zeros((700, 2)), np.zeros((700, 2))
    values[500, 1] = bad
    with pytest.raises(RefusedError, match="too large, or not finite"):
        swept(keys, values, np.zeros((queries, 2)))
    with pytest.raises(RefusedError, match="not finite"):
        swept(values, keys, np.zeros((queries, 2)))
    with pytest.raises(RefusedError, match="too large, or not finite"):
        swept(keys, keys, np.zeros((queries, 2)), bad)
    with pytest.raises(RefusedError, match="not finite"):
        swept(keys, keys, np.full((queries, 2), bad))


def test_a_negative_radius_is_refused() -> None:
    with pytest.raises(RefusedError):
        swept(np.zeros((3, 1)), np.zeros((3, 1)), [1.0], -1e-3)


def test_scores_too_uncertain_are_refused() -> None:
    keys = np.array([[1e16, 0.0], [-1e16, 1.0]])
    with pytest.raises(RefusedError, match="too large for their rounding errors"):
        swept(keys, keys, [0.0, 1.0])
    with pytest.raises(RefusedError, match="rounding errors to be small"):
        swept(keys / 1e16, keys, [0.0, 1.0], 0.2)


def test_queries_of_another_type_are_refused() -> None:
    tokens = stored(np.zeros((2, 2)))
    with pytest.raises(TypeError, match="float64"):
        sweep([(tokens, tokens)], Wanted(np.zeros((1, 2), np.float32)))  # type: ignore[arg-type]


def test_too_many_roundings_are_refused() -> None:
    sums = Sums(np.zeros((1, 1)), 1, (), second_of_keys=False)
    sums.depth = 2**25
    with pytest.raises(RefusedError, match="so many terms"):
        gamma(sums.roundings)
