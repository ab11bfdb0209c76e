"""Heads whose queries see ranges of their tokens, in doubles: within their radii of Arb's numbers at 400 bits."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from exact_attention import BITS, worst
from flint import arb, fmpq

from certattn.fast import heads
from certattn.fast.attention import Moments
from certattn.fast.balls import Ball, rounded_scale
from certattn.fast.heads import Head, attended, scaled
from certattn.fast.score_rules import ScoreRule
from certattn.kernel.errors import Binary64Error, RefusedError
from certattn.kernel.mathematics.balls import scale_ball, working_precision
from certattn.kernel.mathematics.reals import Real, Surd

Floats = np.ndarray[Any, Any]
Sight = tuple[list[int], list[int]]
THIRD, ROOT = fmpq(1, 3), Surd(fmpq(1, 3))
# Queries that are looked at, of many.
LOOKED_AT = 12


@dataclass(frozen=True)
class Stated:
    """A head with the scale as a certificate has it."""

    queries: Floats
    keys: Floats
    values: Floats
    scale: Real
    first: Sequence[int]
    last: Sequence[int]


def moments(head: Stated) -> Moments:
    """What is found for it."""
    with np.errstate(all="ignore"):
        queries, radius = scaled(head.queries, rounded_scale(head.scale))
    return attended(Head(queries, radius, head.keys, head.values, head.first, head.last))


def scores_of(head: Stated, query: int) -> list[arb]:
    first, last = head.first[query], head.last[query]
    row = [arb(x) for x in head.queries[query].tolist()]
    return [
        scale_ball(head.scale) * sum((a * arb(b) for a, b in zip(row, key, strict=True)), arb(0))
        for key in head.keys[first:last].tolist()
    ]


def true_moments(head: Stated, query: int) -> tuple[list[arb], arb]:
    """T and log Z, relative to the largest score, so that nothing is lost at 400 bits."""
    scores = scores_of(head, query)
    top = max(scores, key=lambda score: float(score.mid()))
    weights = [(score - top).exp() for score in scores]
    total = sum(weights, arb(0))
    rows = head.values[head.first[query] : head.last[query]].tolist()
    means = [
        sum((w * arb(x) for w, x in zip(weights, column, strict=True)), arb(0)) / total
        for column in zip(*rows, strict=True)
    ]
    return means, total.log() + top


def error(head: Stated, found: Moments) -> float:
    """The largest error in radii, over means and log Z of some queries: the first, the last, and some between."""
    count = len(head.queries)
    largest = 0.0
    with working_precision(BITS):
        for query in sorted({*range(0, count, max(1, count // LOOKED_AT)), count - 1}):
            means, log = true_moments(head, query)
            ball = Ball(found.means.middle[query], found.means.radius[query])
            largest = max(largest, worst(ball, means))
            stated = found.log_normaliser(query)
            off = abs(stated.mid() - log)
            largest = max(largest, float((off / stated.rad()).upper()) if off > 0 else 0.0)
    return largest


# -- who sees what


def everything(m: int, n: int) -> Sight:
    return [0] * m, [n] * m


def causal(m: int, n: int) -> Sight:
    """Aligned at the bottom right; at the top left where there are more queries."""
    return [0] * m, [min(n, max(1, i + 1 + max(0, n - m))) for i in range(m)]


def window(m: int, n: int) -> Sight:
    last = causal(m, n)[1]
    return [max(0, stop - 3) for stop in last], last


def one_each(m: int, n: int) -> Sight:
    return [i * 37 % n for i in range(m)], [i * 37 % n + 1 for i in range(m)]


def the_last(m: int, n: int) -> Sight:
    """A first block of tokens that most queries, or all, do not see."""
    return [max(0, n - 1 - i % 5) for i in range(m)], [n] * m


def one_sees_all(m: int, n: int) -> Sight:
    first, last = the_last(m, n)
    return [0, *first[1:]], last


def anything(m: int, n: int) -> Sight:
    rng = np.random.default_rng(m * n)
    first = [int(rng.integers(0, n)) for _ in range(m)]
    return first, [int(rng.integers(start + 1, n + 1)) for start in first]


SIGHTS: list[Callable[[int, int], Sight]] = [everything, causal, window, one_each, the_last, one_sees_all, anything]


def some_heads() -> Iterator[tuple[str, Stated]]:
    rng = np.random.default_rng(4)
    normal = rng.standard_normal
    for m, n in ((1, 1), (1, 7), (9, 7), (20, 40), (5, 1100), (300, 30)):
        for sight in SIGHTS:
            first, last = sight(m, n)
            scale = (THIRD, ROOT, fmpq(-2))[(m + len(first)) % 3]
            name = f"{sight.__name__}, {m} queries, {n} tokens"
            yield name, Stated(normal((m, 3)), normal((n, 3)), normal((n, 2)), scale, first, last)
    m, n = 12, 600
    keys, values = normal((n, 1)), normal((n, 2))
    for sight in SIGHTS:
        first, last = sight(m, n)
        on_each_side = np.where(np.arange(n) % 2, 700.0, -700.0)[:, None] * (1 + keys / 100)
        name = sight.__name__
        yield (
            f"scores of 700 on both sides: {name}",
            Stated(np.ones((m, 1)), on_each_side, values, THIRD * 3, first, last),
        )
        yield (
            f"scores that grow: {name}",
            Stated(np.ones((m, 1)), np.linspace(-900, 900, n)[:, None], values, ROOT, first, last),
        )
        yield (
            f"scores that fall: {name}",
            Stated(np.ones((m, 1)), np.linspace(900, -900, n)[:, None], values, ROOT, first, last),
        )
        yield f"equal scores: {name}", Stated(normal((m, 1)), np.ones((n, 1)), values, THIRD, first, last)
        yield f"queries of 0: {name}", Stated(np.zeros((m, 1)), keys, values, THIRD, first, last)
        yield f"values of great size: {name}", Stated(normal((m, 1)), keys, values * 1e100, THIRD, first, last)
        yield f"tiny values: {name}", Stated(normal((m, 1)), keys, values * 1e-310, THIRD, first, last)
        yield f"tiny queries: {name}", Stated(normal((m, 1)) * 1e-310, keys, values, THIRD, first, last)
        yield (
            f"tiny queries, huge keys: {name}",
            Stated(normal((m, 1)) * 1e-100, keys * 1e100, values, THIRD, first, last),
        )
        # What nobody sees would have all of the weight.
        hidden = np.ones(n, bool)
        for start, stop in zip(first, last, strict=True):
            hidden[start:stop] = False
        loud = keys.copy()
        loud[hidden] = 4000
        far = values.copy()
        far[hidden] = 1e6
        yield f"hidden tokens with huge scores: {name}", Stated(np.ones((m, 1)), loud, far, THIRD, first, last)


HEADS = dict(some_heads())


@pytest.mark.parametrize("name", HEADS)
def test_every_ball_holds_the_truth(name: str) -> None:
    assert error(HEADS[name], moments(HEADS[name])) <= 1


@pytest.mark.parametrize("name", [name for name in HEADS if "tokens" in name and "hidden" not in name])
def test_the_radii_are_small(name: str) -> None:
    found = moments(HEADS[name])
    assert float(found.means.radius.max()) < 1e-12
    assert float((found.normaliser.radius / found.normaliser.middle).max()) < 1e-12


@pytest.mark.parametrize("size", [(1, 1), (2, 3), (256, 512), (7, 1000)])
def test_blocks_and_threads_change_nothing_but_roundings(
    size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heads, "QUERIES", size[0])
    monkeypatch.setattr(heads, "TOKENS", size[1])
    monkeypatch.setattr(heads, "_FEW_SCORES", 0)
    monkeypatch.setattr(heads, "processors", lambda: 3)
    for name in ("anything, 20 queries, 40 tokens", "the_last, 9 queries, 7 tokens", "scores that grow: window"):
        assert error(HEADS[name], moments(HEADS[name])) <= 1


def test_queries_see_only_tokens_that_there_are() -> None:
    parts = (np.ones((2, 1)), np.zeros(2), np.ones((3, 1)), np.ones((3, 1)))
    Head(*parts, [0, 2], [1, 3])
    for first, last in (([0, 2], [1, 1]), ([0, 2], [1, 4]), ([-1, 0], [1, 1]), ([0], [1]), ([0, 0, 0], [1, 1, 1])):
        with pytest.raises(ValueError, match="see only tokens that there are"):
            Head(*parts, first, last)
    for mask in (np.zeros((3, 2), bool), np.zeros((2, 4), bool)):
        with pytest.raises(ValueError, match="a row for each query"):
            Head(*parts, [0, 2], [1, 3], mask)
    with pytest.raises(ValueError, match="a slope needs a diagonal"):
        Head(*parts, [0, 2], [1, 3], rule=ScoreRule(slope=1.0))
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        Head(*parts, [0, 2], [1])


@pytest.mark.parametrize("what", ["queries", "keys", "values"])
@pytest.mark.parametrize("number", [np.nan, np.inf, 1e200])
def test_what_is_not_finite_or_too_large_is_refused(what: str, number: float) -> None:
    """Of tokens that nobody sees, too: nothing is verified beside them."""
    parts = {"queries": np.ones((3, 2)), "keys": np.ones((4, 2)), "values": np.ones((4, 2))}
    parts[what][-1, 1] = number
    with pytest.raises(RefusedError):
        moments(Stated(**parts, scale=fmpq(1), first=[0, 0, 0], last=[4, 4, 4]))


def test_scores_beyond_reach_are_refused_where_they_are_seen() -> None:
    keys = np.array([[1e5], [1.0]])
    with pytest.raises(Binary64Error):
        moments(Stated(np.ones((1, 1)), keys, keys, fmpq(1), [0], [2]))


# -- each part is needed

# One token, so that log Z is a score: large ones, of which the scale and its products take off nearly all they may.
ROUNDED = Stated(
    np.random.default_rng(0).uniform(0.5, 1, (400, 1)), np.array([[9000.0]]), np.ones((1, 1)), fmpq(1, 49),
    [0] * 400, [1] * 400,
)  # fmt: skip
true_scale, true_hidden = rounded_scale, heads._hidden


def hiding(change: Callable[..., tuple[Any, Any]]) -> Callable[..., Any]:
    """Other ends of what is seen."""
    return lambda first, last, tokens, *rest: true_hidden(*change(first, last, tokens), tokens, *rest)


# What is put in the place of what, and the heads that tell.
SABOTAGES: dict[str, tuple[str, Any, Stated]] = {
    "queries are exact": ("UNIT", 0.0, ROUNDED),
    "queries have no length": ("norm_bounds", lambda rows: np.zeros(len(rows)), ROUNDED),
    "a scale that is off": ("rounded_scale", lambda scale: true_scale(scale) * (1 + 2.0**-50), ROUNDED),
    "the token before is seen": (
        "_hidden", hiding(lambda first, last, tokens: (np.maximum(first - 1, 0), last)),
        HEADS["window, 20 queries, 40 tokens"]),
    "the last token is not seen": (
        "_hidden", hiding(lambda first, last, tokens: (first, np.maximum(last - 1, first + 1))),
        HEADS["causal, 20 queries, 40 tokens"]),
    "the first token of every block is not seen": (
        "_hidden", hiding(lambda first, last, tokens: (np.maximum(first, tokens.start + 1), last)),
        HEADS["everything, 5 queries, 1100 tokens"]),
    "all is seen": ("_hidden", lambda *given: None, HEADS["one_sees_all, 9 queries, 7 tokens"]),
}  # fmt: skip


def test_large_scores_are_within_their_radii(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "LOOKED_AT", 400)
    assert 0.3 < error(ROUNDED, moments(ROUNDED)) <= 1


@pytest.mark.parametrize("name", SABOTAGES)
def test_a_broken_part_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    what, instead, head = SABOTAGES[name]
    monkeypatch.setattr(heads if hasattr(heads, what) else sys.modules[__name__], what, instead)
    monkeypatch.setitem(globals(), "LOOKED_AT", 400)
    assert error(head, moments(head)) > 1
