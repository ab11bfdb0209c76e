"""The tight tier against Arb at 400 bits; where its first sketch was wrong; and what happens without a term."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from exact_attention import Truth, one_by_one, stored, swept_tightly, worst, worst_of_normaliser
from flint import arb
from numpy.typing import NDArray
from prompts import Case, orthogonal, prompts
from test_sums import absorbed, scores_with_bad_exponentials

from certattn.fast import tight
from certattn.fast.sums import sweep
from certattn.fast.tight import SplitQuery, TightEnclosures, TightlyWanted, TightSums
from certattn.kernel.errors import RefusedError
from certattn.kernel.mathematics.balls import working_precision

Floats = NDArray[np.float64]
CASES = list(prompts(seed=1))
Patch = Callable[[pytest.MonkeyPatch], None]


def shares(keys: Any, values: Any, query: Any, tail: Any = None, radius: float = 0.0) -> tuple[float, float]:
    """Errors over radii of the mean and the normaliser."""
    truth = Truth.of(keys, values, query, 0.0 if tail is None else tail)
    found = swept_tightly(keys, values, query, tail, radius)
    return worst(found.mean(), truth.mean()), worst_of_normaliser(found.normaliser(), truth.normaliser)


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_enclosures_contain_the_truth(case: Case) -> None:
    _, keys, values, query = case
    assert max(shares(keys, values, query)) <= 1


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "int16", "uint32"])
def test_enclosures_of_other_types_contain_the_truth(dtype: str) -> None:
    rng = np.random.default_rng(1)
    size = 30 if "int" in dtype else 3
    keys, values = (np.abs(rng.standard_normal((70, 3)) * size).astype(dtype) for _ in range(2))
    assert max(shares(keys, values, np.array([0.3, -0.2, 0.1]))) <= 1


def test_bfloat16() -> None:
    bits = np.random.default_rng(2).integers(0x3F00, 0x4020, (300, 3)).astype(np.uint16)
    tokens = (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    query = np.array([0.5, -1.0, 0.25])
    rows = stored(bits, "bfloat16")
    wanted = TightlyWanted(SplitQuery.of(query, np.zeros(3), 0.0))
    found = TightEnclosures(sweep([(rows, rows)], wanted, 1))
    assert worst(found.mean(), Truth.of(tokens, tokens, query).mean()) <= 1


@pytest.mark.parametrize("seed", range(12))
def test_long_keys_whose_scores_cancel(seed: int) -> None:
    """|x| |a| from 1e9 on, scores of size 1: the high parts of the scores say nothing about K, range and depth."""
    rng = np.random.default_rng(seed)
    d, n = int(rng.integers(2, 6)), int(rng.integers(2, 30))
    query = rng.standard_normal(d) * 10.0 ** rng.uniform(0, 5)
    keys = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(5, 7)
    keys = orthogonal(keys, query) + np.outer(rng.standard_normal(n) * 10.0 ** rng.uniform(-1, 2), query) / (
        query @ query
    )
    keys = np.vstack([keys, -keys[:1]])
    values = rng.standard_normal((n + 1, 2))
    assert max(shares(keys, values, query)) <= 1
    assert max(shares(keys, keys, query)) <= 1


def test_the_high_part_of_a_score_may_be_far_from_it() -> None:
    """What makes the cases above hard: K from the high part would be wrong, or out of reach."""
    query = np.array([1e6 + 0.3, -1e6 - 0.7])
    keys = np.array([[1e6 + 0.01, 1e6], [1e6, 1e6 + 0.02]])
    cut = SplitQuery.of(query, np.zeros(2), 0.0)
    high, low = np.empty_like(keys), np.empty_like(keys)
    tight.split(keys, tight.grid(2e6, 2, 26), high, low)
    scores = keys @ query
    assert np.abs(high @ cut.columns[:, 0] - scores).max() > 1e3
    keys = keys - np.outer(scores - np.array([1.0, 2.0]), query) / (query @ query)
    assert max(shares(keys, np.eye(2), query)) <= 1


def test_a_query_in_two_doubles() -> None:
    """The scale 1/sqrt(32): the tail makes the enclosure contain the truth, and not the one without it."""
    rng = np.random.default_rng(3)
    with working_precision(400):
        exact = [arb(int(k)) / arb(32).sqrt() for k in rng.integers(-300, 300, 4)]
        head = np.array([float(x.mid()) for x in exact])
        tail = np.array([float((x - arb(h)).mid()) for x, h in zip(exact, head.tolist(), strict=True)])
        rest = [float(abs(x - arb(h) - arb(t)).upper()) for x, h, t in zip(exact, head, tail, strict=True)]
    radius = 2 * float(np.sqrt(np.sum(np.square(rest))))
    assert radius < 2.0**-97
    keys, values = rng.standard_normal((50, 4)), rng.standard_normal((50, 2))
    assert max(shares(keys, values, head, tail, radius)) <= 1
    # Without the tail it is another query, and the enclosures are so narrow that it shows.
    truth = Truth.of(keys * 30, values, head, tail)
    with_tail, without = swept_tightly(keys * 30, values, head, tail), swept_tightly(keys * 30, values, head)
    assert worst_of_normaliser(with_tail.normaliser(), truth.normaliser) <= 1
    assert worst_of_normaliser(without.normaliser(), truth.normaliser) > 1


def test_a_million_tokens_beside_a_dominating_one() -> None:
    others, query = 10**6, 15.0
    keys = np.full((others + 1, 1), -1.0)
    keys[others // 3] = 1.0
    found = swept_tightly(keys, keys, [query])
    with working_precision(400):
        heavy, light = arb(query).exp(), others * arb(-query).exp()
        assert worst(found.mean(), [(heavy - light) / (heavy + light)]) <= 1
        assert worst_of_normaliser(found.normaliser(), heavy + light) <= 1
    assert found.mean().radius.item() < 1e-14


def test_many_tokens_that_vanish_beside_the_first() -> None:
    """Each of them less than half a unit of the sum: nothing of it is lost."""
    keys, values, query = absorbed()
    truth = Truth.of(keys, values, query[0])
    wanted = TightlyWanted(SplitQuery.of(query[0], np.zeros(3), 0.0))
    found = TightEnclosures(one_by_one(wanted, keys, values))
    assert worst_of_normaliser(found.normaliser(), truth.normaliser) <= 1
    # 400 tokens of nearly 2^-53 each.
    assert float(found.normaliser()[1].middle) > 1 + 390 * 2.0**-53
    assert found.normaliser()[1].radius.item() < 2.0**-51


@pytest.mark.parametrize("dimension", [16, 64])
def test_radii_are_tight(dimension: int) -> None:
    rng = np.random.default_rng(4)
    keys, query = rng.standard_normal((20000, dimension)), rng.standard_normal(dimension) / dimension**0.5
    mean = swept_tightly(keys, keys, query).mean()
    assert mean.radius.max() <= 1e-14 * np.linalg.norm(mean.middle)
    # Peaked, and with an offset.
    for tokens, tilt in ((keys, query * 8), (keys + 100, query)):
        mean = swept_tightly(tokens, tokens, tilt).mean()
        assert mean.radius.max() <= 1e-14 * np.linalg.norm(mean.middle)


@pytest.mark.parametrize("tokens", [1, 15, 16, 17, 255, 256, 257, 1023, 1024, 1025, 3000])
def test_every_length_is_summed_completely(tokens: int) -> None:
    """Scores 0, integers as values: everything is exact."""
    values = np.arange(2.0 * tokens).reshape(tokens, 2)
    found = swept_tightly(np.zeros((tokens, 3)), values, np.zeros(3))
    exact = [Fraction(int(total), tokens) for total in values.sum(axis=0)]
    assert float(found.normaliser()[1].middle) == tokens
    assert found.mean().middle.tolist() == [float(x) for x in exact]


def test_weights_far_below_are_counted() -> None:
    keys = np.array([[0.0], [-2000.0], [-5000.0], [-1.0]])
    wanted = TightlyWanted(SplitQuery.of(np.ones(1), np.zeros(1), 0.0))
    assert one_by_one(wanted, keys, keys).clamped == 2
    assert one_by_one(wanted, keys[::3], keys[::3]).clamped == 0


# -- what is refused


@pytest.mark.parametrize("score", [11001.0, -11001.0])
def test_scores_out_of_reach_are_refused(score: float) -> None:
    keys = np.zeros((5, 1))
    keys[3] = score
    with pytest.raises(RefusedError, match="scores beyond"):
        swept_tightly(keys, keys, [1.0])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e200])
def test_numbers_that_are_not_finite_or_too_large_are_refused(bad: float) -> None:
    keys, values = np.zeros((700, 2)), np.zeros((700, 2))
    values[500, 1] = bad
    for first, second in ((keys, values), (values, keys), (values, values)):
        with pytest.raises(RefusedError, match="too large, or not finite"):
            swept_tightly(first, second, np.zeros(2))


def test_scores_too_uncertain_are_refused() -> None:
    keys = np.ones((3, 1))
    with pytest.raises(RefusedError, match="rounding errors to be small"):
        swept_tightly(keys, keys, [1.0], radius=0.2)


# -- without a term


def close_to_exp() -> float:
    """The weight of one token whose exponential is far off."""
    score = scores_with_bad_exponentials(1)[None]
    return shares(score, score, np.ones(1))[1]


def close_to_last_place() -> float:
    """Two weights whose exponentials are nearly as far off as they may be, and a sum that is rounded the same way."""
    keys = np.array([[float.fromhex("0x1.400918aa610aep-7")], [float.fromhex("0x1.3f07156b82fc8p-7")]])
    return shares(keys, keys, np.ones(1))[1]


def displaced(query: float) -> tuple[float, float]:
    """Two tokens, and a true query at the edge of what its radius allows."""
    keys = np.array([[1.0], [-1.0]])
    truth = Truth.of(keys, keys, np.array([query]), np.array([-1e-6]))
    found = swept_tightly(keys, keys, [query], radius=1e-6)
    return worst(found.mean(), truth.mean()), worst_of_normaliser(found.normaliser(), truth.normaliser)


def close_to_radius() -> float:
    return max(displaced(0.4))


def close_to_spread() -> float:
    """How far weights take the mean with them: here all the way."""
    return displaced(0.0)[0]


def close_to_large_scores() -> float:
    """Rounding these scores to doubles would be far worse than the exponential."""
    rng = np.random.default_rng(5)
    keys = rng.standard_normal((30, 3)) * 300
    return max(shares(keys, keys, np.ones(3)))


def close_to_rest() -> float:
    """Two tokens of equal weights, whose values lie between the points of their grid."""
    values = np.array([[1 + 2.0**-26 * 0.75], [1 + 2.0**-26 * 0.75]])
    return max(shares(np.zeros((2, 1)), values, np.zeros(1)))


def close_to_sums() -> float:
    """1600 blocks of one token each: added up in the plain way, all would be rounded in one direction for long."""
    keys, values = np.full((1600, 1), 0.6369616873214543), np.full((1600, 1), 1.2697867137638703)
    truth = Truth.of(keys, values, np.ones(1))
    wanted = TightlyWanted(SplitQuery.of(np.ones(1), np.zeros(1), 0.0))
    return worst(TightEnclosures(one_by_one(wanted, keys, values)).mean(), truth.mean())


CLOSE = {
    "exp": close_to_exp,
    "last place": close_to_last_place,
    "radius": close_to_radius,
    "spread": close_to_spread,
    "scores": close_to_large_scores,
    "rest": close_to_rest,
    "sums": close_to_sums,
}


@pytest.mark.parametrize("name", CLOSE)
def test_close_cases_are_enclosed(name: str) -> None:
    assert CLOSE[name]() <= 1


def scaled(module: Any, name: str, factor: float) -> Patch:
    original = getattr(module, name)

    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, name, lambda *arguments, **options: original(*arguments, **options) * factor)

    return patch


def replaced(module: Any, name: str, value: Any) -> Patch:
    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, name, value)

    return patch


def plain_addition(total: Floats, error: Floats, term: Floats) -> None:
    total += term


def low_parts_left_out(high: Floats, low: Floats, total: Floats) -> None:
    np.add(high, low, out=total)
    low[...] = 0


def values_without_low_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    original = tight.split

    def coarse(rows: Floats, q: int, high: Floats, low: Floats) -> None:
        original(rows, q, high, low)
        if rows.ndim == 2:
            low[...] = 0

    monkeypatch.setattr(tight, "split", coarse)


WEAKENED: list[tuple[str, str, Patch]] = [
    ("a tenth of the error of exp", "exp", scaled(tight, "relative_error", 0.1)),
    ("a tenth of beta", "exp", scaled(tight, "beta", 0.1)),
    ("half of beta", "last place", scaled(tight, "beta", 0.5)),
    ("rounding of the sums left out", "last place", replaced(tight, "UNIT", 0.0)),
    ("no radius", "radius", scaled(tight, "score_error", 1e-9)),
    ("a fifth of the error of scores", "radius", scaled(tight, "score_error", 0.2)),
    ("a third of the spread of values", "spread", scaled(tight, "norm_bound", 0.3)),
    ("scores rounded", "scores", replaced(tight, "add_low", low_parts_left_out)),
    ("low parts of values left out", "rest", values_without_low_parts),
    ("plain addition of blocks", "sums", replaced(tight, "add_exactly", plain_addition)),
]


@pytest.mark.parametrize(("said", "name", "patch"), WEAKENED, ids=[said for said, _, _ in WEAKENED])
def test_a_weakened_bound_is_caught(said: str, name: str, patch: Patch, monkeypatch: pytest.MonkeyPatch) -> None:
    patch(monkeypatch)
    assert CLOSE[name]() > 1


def test_sums_of_sums_are_the_sums() -> None:
    """Merged in any order, exponents far apart: enclosures of the same truth."""
    rng = np.random.default_rng(8)
    keys = np.concatenate([rng.standard_normal(40), rng.standard_normal(40) + 900, rng.standard_normal(40) - 900])[
        :, None
    ]
    values = rng.standard_normal((120, 2))
    wanted = TightlyWanted(SplitQuery.of(np.ones(1), np.zeros(1), 0.0))
    truth = Truth.of(keys, values, np.ones(1))
    parts = [slice(0, 40), slice(40, 80), slice(80, 120)]
    for order in ((0, 1, 2), (2, 1, 0), (1, 0, 2)):
        total: TightSums = wanted.empty(2)
        for index in order:
            total.merge(one_by_one(wanted, keys[parts[index]], values[parts[index]]))
        assert total.tokens == 120
        found = TightEnclosures(total)
        assert worst(found.mean(), truth.mean()) <= 1
        assert worst_of_normaliser(found.normaliser(), truth.normaliser) <= 1


def test_what_is_rounded_away_is_scaled_with_the_sums() -> None:
    """Sums with much in `rest`, merged into others whose K is larger by 20."""
    score, value = 0.6369616873214543, 1.2697867137638703
    keys = np.full((1200, 1), score)
    keys[-1] = score + 20 * math.log(2)
    values = np.full((1200, 1), value)
    values[-1] = -value
    wanted = TightlyWanted(SplitQuery.of(np.ones(1), np.zeros(1), 0.0))
    low, high = one_by_one(wanted, keys[:-1], values[:-1]), one_by_one(wanted, keys[-1:], values[-1:])
    assert np.abs(low.rest).max() > 1e-12
    truth = Truth.of(keys, values, np.ones(1))
    for first, second in ((low, high), (high, low)):
        total: TightSums = wanted.empty(1)
        total.merge(first)
        total.merge(second)
        assert worst(TightEnclosures(total).mean(), truth.mean()) <= 1


def test_what_bounds_are_made_of_is_rounded_away_from_what_is_bounded() -> None:
    keys, values, query = np.random.default_rng(8).standard_normal((3, 40, 3))
    found = swept_tightly(keys, values, query[0])
    lost, stray, omega, upper, lower, rest = (
        Fraction(part) for part in (found._lost, found._stray, found._omega, found._upper, found._lower, found._rest)
    )
    normaliser, sums = Fraction(float(found._sums[0])), found.sums
    factor = 1 + Fraction(2 * sums.depth + 24) * Fraction(2) ** -53
    assert stray >= Fraction(sums.bounds.stray) * factor + omega
    assert lost >= Fraction(sums.bounds.lost) * factor + Fraction(2) ** -53 * normaliser
    assert upper >= normaliser + lost
    assert lower <= normaliser - lost
    assert rest <= lower - stray
