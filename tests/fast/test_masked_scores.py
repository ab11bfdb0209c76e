"""Weights of queries that see the first tokens alone, in doubles: within their radii of the true ones, or refused.

Values that are unit vectors have the weights as their means.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from flint import fmpq

from certattn.fast import attention_matrix as whole
from certattn.fast import prefixes
from certattn.fast.balls import Ball
from certattn.fast.heads import Head, attended
from certattn.kernel.errors import RefusedError

Array = np.ndarray[Any, Any]
DIMENSION, TOKENS = 6, 9


def balls(queries: Array, keys: Array, seen: Array) -> tuple[Ball, Ball]:
    head = Head(queries, np.zeros(len(queries)), keys, np.eye(len(keys)), [0] * len(seen), seen.tolist())
    return attended(head).means, prefixes.linear_means(head)


def exact_scores(query: Array, keys: Array) -> list[Fraction]:
    """<q, k_t>, of doubles as rational numbers."""
    return [sum((Fraction(float(a)) * Fraction(float(b)) for a, b in zip(query, key, strict=True)), Fraction(0))
            for key in keys]  # fmt: skip


def assert_true(queries: Array, keys: Array, seen: Array, most: float) -> None:
    """Shares and linear weights against mpmath, and no wider than `most`."""
    found = balls(queries, keys, seen)
    with mpmath.workdps(60):
        for i, query in enumerate(queries):
            scores = [mpmath.mpf(s.numerator) / s.denominator for s in exact_scores(query, keys[: seen[i]])]
            masses = [mpmath.exp(score - max(scores)) for score in scores]
            mean = mpmath.fsum(scores) / len(scores)
            truth = (
                [mass / mpmath.fsum(masses) for mass in masses],
                [(1 + score - mean) / len(scores) for score in scores],
            )
            for ball, true in zip(found, truth, strict=True):
                for t in range(len(keys)):
                    middle, radius = float(ball.middle[i, t]), float(ball.radius[i, t])
                    expected = true[t] if t < seen[i] else 0
                    assert abs(mpmath.mpf(middle) - expected) <= radius < most


def cancelling(rng: np.random.Generator, size: float) -> tuple[Array, Array]:
    """Long queries and keys whose products are small: what is lost in them is far more than their own last digits."""
    queries = rng.standard_normal((TOKENS, DIMENSION)) * np.array([size, size, size, size, 1, 1])
    queries[:, 2:4] = queries[:, :2] + rng.standard_normal((TOKENS, 2)) / size
    keys = rng.standard_normal((TOKENS, DIMENSION)) * np.array([size, size, size, size, 1, 1])
    keys[:, 2:4] = -keys[:, :2]
    return queries, keys


@pytest.mark.parametrize("seed", range(4))
def test_scores_that_cancel(seed: int) -> None:
    """The longest key says how far scores may be off, beside one that is short."""
    rng = np.random.default_rng(seed)
    queries, keys = cancelling(rng, 1000.0)
    keys[0] *= 1e-6
    assert_true(queries, keys, np.arange(1, TOKENS + 1), 1e-6)


def test_the_shortest_query_says_nothing_of_the_others() -> None:
    rng = np.random.default_rng(7)
    queries, keys = cancelling(rng, 1000.0)
    queries[0] *= 1e-6
    assert_true(queries, keys, np.full(TOKENS, TOKENS), 1e-6)


@pytest.mark.parametrize("rows", [1, TOKENS])
def test_scores_far_apart(rows: int) -> None:
    """Weights down to e^-6000, which is 0 in doubles, and the largest of those that are seen has share 1."""
    keys = np.linspace(-3, 3, TOKENS)[:, None]
    queries = np.array([[1000.0], [-1000.0], [0.5]])[np.arange(rows) % 3]
    seen = np.arange(TOKENS - rows, TOKENS) + 1
    assert_true(queries, keys, seen, 1e-6)


@pytest.mark.parametrize("which", [0, 4, TOKENS - 1])
def test_rounding_that_is_too_large_is_refused(which: int) -> None:
    """Of one query among others, although its scores are small."""
    rng = np.random.default_rng(8)
    queries, keys = cancelling(rng, 10.0)
    queries[which] = rng.standard_normal() * np.array([1e16, 0, 1e16, 0, 0, 0])
    with pytest.raises(RefusedError, match="scores that are too large for their rounding errors"):
        balls(queries, keys, np.arange(1, TOKENS + 1))
    with pytest.raises(RefusedError, match="scores that are too large for their rounding errors"):
        whole.attention_matrix(queries, keys, fmpq(1), centred=True, causal=True)


@pytest.mark.parametrize("which", [0, 4, TOKENS - 1])
@pytest.mark.parametrize("size", [1e200, np.nan, np.inf])
@pytest.mark.parametrize("name", ["queries", "keys", "radius"])
def test_one_number_that_is_too_large_or_none_is_refused(name: str, size: float, which: int) -> None:
    parts = {"queries": np.ones((TOKENS, 2)), "keys": np.ones((TOKENS, 2)), "radius": np.zeros(TOKENS)}
    parts[name][which] = size
    head = Head(parts["queries"], parts["radius"], parts["keys"], np.eye(TOKENS), [0] * TOKENS, [9] * TOKENS)
    with pytest.raises(RefusedError, match=r"too large|not finite"):
        attended(head)


@pytest.mark.parametrize("which", [0, 4, TOKENS - 1])
@pytest.mark.parametrize("size", [-1e6, 1e6])
def test_one_score_beyond_reach_is_refused(size: float, which: int) -> None:
    queries, keys = np.ones((TOKENS, 1)), np.ones((TOKENS, 1))
    queries[which] = size
    with pytest.raises(RefusedError, match="scores beyond"):
        balls(queries, keys, np.arange(1, TOKENS + 1))


@pytest.mark.parametrize(("weight", "total"), [(0.0, 0.0), (1e-12, 0.0), (0.0, 1e-12), (1e-3, 1e-2), (0.1, 0.2)])
def test_the_error_of_a_share(weight: float, total: float) -> None:
    """At least what the worst weights give, and hardly more than its formula."""
    b, g = Fraction(weight), Fraction(total)
    worst = (1 + b) / ((1 - g) * (1 - b)) - 1
    bound = (2 * b + g) / ((1 - g) * (1 - b))
    found = Fraction(float(whole.share_error(np.array([weight]), total)[0]))
    assert worst <= bound <= found <= bound * (1 + Fraction(1, 2**20))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("centred", [False, True])
def test_rows_of_a_matrix_do_not_depend_on_how_many_are_made_at_a_time(
    centred: bool, causal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(9)
    queries, keys = (rng.standard_normal((TOKENS, DIMENSION)) for _ in range(2))
    at_once = whole.attention_matrix(queries, keys, fmpq(1), centred=centred, causal=causal)
    monkeypatch.setattr(whole, "_BLOCK", 2 * TOKENS)
    in_blocks = whole.attention_matrix(queries, keys, fmpq(1), centred=centred, causal=causal)
    assert np.linalg.norm(at_once.values - in_blocks.values) <= at_once.error + in_blocks.error
    assert (np.triu(in_blocks.values, 1) == 0).all() == causal
