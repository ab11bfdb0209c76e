"""Heads with soft caps, slopes, sinks and masks, in doubles: within their radii of Arb's numbers at 400 bits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from exact_attention import BITS, worst
from flint import arb, fmpq

from certattn.fast import exponential, score_rules
from certattn.fast.attention import Moments
from certattn.fast.balls import Ball
from certattn.fast.heads import Head, attended, scaled
from certattn.fast.score_rules import ScoreRule
from certattn.kernel.errors import RefusedError
from certattn.kernel.mathematics.balls import working_precision

Floats = np.ndarray[Any, Any]
NONE = fmpq(0)


@dataclass(frozen=True)
class Stated:
    """A causal head of as many queries as tokens, with a mask and a rule in exact numbers."""

    queries: Floats
    keys: Floats
    values: Floats
    cap: fmpq | None = None
    slope: fmpq = NONE
    sink: fmpq | None = None
    hidden: Floats | None = None
    causal: bool = True

    def head(self) -> Head:
        count = len(self.queries)
        last = [i + 1 if self.causal else count for i in range(count)]
        rule = ScoreRule.near(self.cap, self.slope, self.sink)
        with np.errstate(all="ignore"):
            parts = scaled(self.queries, 0.5)
        return Head(*parts, self.keys, self.values, [0] * count, last, self.hidden, rule, range(count))

    def seen(self, query: int) -> list[int]:
        tokens = range(query + 1 if self.causal else len(self.keys))
        return [j for j in tokens if self.hidden is None or not self.hidden[query, j]]

    def truth(self, query: int) -> tuple[list[arb], arb | None]:
        """T and log Z; relative to the largest score."""
        scores = []
        for j in self.seen(query):
            pairs = zip(self.queries[query].tolist(), self.keys[j].tolist(), strict=True)
            score = sum((arb(a) * arb(b) for a, b in pairs), arb(0)) / 2
            if self.cap is not None:
                score = self.cap * (score / self.cap).tanh()
            scores.append(score - self.slope * abs(query - j))
        rows = [[arb(x) for x in self.values[j].tolist()] for j in self.seen(query)]
        if self.sink is not None:
            scores, rows = [*scores, arb(self.sink)], [*rows, [arb(0)] * self.values.shape[1]]
        if not scores:
            return [arb(0)] * self.values.shape[1], None
        top = max(scores, key=lambda score: float(score.mid()))
        weights = [(score - top).exp() for score in scores]
        total = sum(weights, arb(0))
        columns = zip(*rows, strict=True)
        means = [sum((w * x for w, x in zip(weights, column, strict=True)), arb(0)) / total for column in columns]
        return means, total.log() + top


def error(stated: Stated, found: Moments, step: int = 1) -> float:
    """The largest error in radii, over means and log Z."""
    largest = 0.0
    with working_precision(BITS):
        for query in range(0, len(stated.queries), step):
            means, log = stated.truth(query)
            largest = max(largest, worst(Ball(found.means.middle[query], found.means.radius[query]), means))
            if log is None:
                assert np.isinf(found.normaliser.radius[query])
            else:
                ball = found.log_normaliser(query)
                off = abs(ball.mid() - log)
                largest = max(largest, float((off / ball.rad()).upper()) if off > 0 else 0.0)
    return largest


def some() -> Iterator[tuple[str, Stated]]:
    rng = np.random.default_rng(8)
    normal = rng.standard_normal
    rules: dict[str, dict[str, Any]] = {
        "a cap": {"cap": fmpq(5)},
        "a small cap": {"cap": fmpq(1, 3)},
        "a large cap": {"cap": fmpq(10**6, 7)},
        "a tiny cap": {"cap": fmpq(1, 10**90)},
        "a slope": {"slope": fmpq(1, 3)},
        "a rising slope": {"slope": fmpq(-1, 3)},
        "a steep slope": {"slope": fmpq(1000, 3)},
        "a sink": {"sink": fmpq(1, 3)},
        "a sink with nearly all weight": {"sink": fmpq(700)},
        "a sink with no weight": {"sink": fmpq(-2000)},
        "all of them": {"cap": fmpq(10, 3), "slope": fmpq(1, 7), "sink": fmpq(-1, 3)},
    }
    n = 40
    for factor in (1.0, 30.0, 0.0):
        for name, rule in rules.items():
            plain = Stated(normal((n, 3)) * factor, normal((n, 3)), normal((n, 2)), **rule)
            hidden = rng.random((n, n)) < 0.5
            hidden[7] = hidden[8] = True
            yield f"{name}, scores times {factor:g}", plain
            yield f"{name}, scores times {factor:g}, no causal mask", replace(plain, causal=False)
            yield f"{name}, scores times {factor:g}, half of it hidden", replace(plain, hidden=hidden)
    everything = np.ones((n, n), bool)
    plain = Stated(normal((n, 3)), normal((n, 3)), normal((n, 2)))
    yield "half of it hidden", replace(plain, hidden=rng.random((n, n)) < 0.5)
    yield "nothing is seen", replace(plain, hidden=everything)
    yield "nothing but a sink is seen", replace(plain, hidden=everything, sink=fmpq(1, 3))
    far = replace(plain, values=np.where(np.arange(n) < 3, 1e9, 0.0)[:, None] * np.ones((1, 2)))
    yield "what is seen has values of 0", replace(far, hidden=(np.arange(n) < 3) & np.ones((n, 1), bool), causal=False)


STATED = dict(some())


@pytest.mark.parametrize("name", STATED)
def test_every_ball_holds_the_truth(name: str) -> None:
    assert error(STATED[name], attended(STATED[name].head())) <= 1


EXTREME = ("tiny", "large", "steep")


@pytest.mark.parametrize("name", [each for each in STATED if "times 1" in each and not any(e in each for e in EXTREME)])
def test_the_radii_are_small(name: str) -> None:
    assert float(attended(STATED[name].head()).means.radius.max()) < 1e-11


def test_where_nothing_is_seen_or_only_zeros_the_mean_is_0_exactly() -> None:
    for name in ("nothing is seen", "what is seen has values of 0", "nothing but a sink is seen"):
        means = attended(STATED[name].head()).means
        assert not means.middle.any(), name
        assert not means.radius.any(), name


def test_a_slope_over_many_tokens_lowers_scores_below_those_that_the_exponential_takes() -> None:
    """The first blocks of the last queries have no weight at all; with a sink that has none, too."""
    n = 5000
    rng = np.random.default_rng(1)
    parts = (rng.standard_normal((n, 2)), rng.standard_normal((n, 2)), rng.standard_normal((n, 1)))
    for stated in (Stated(*parts, slope=fmpq(4)), Stated(*parts, slope=fmpq(7, 2), sink=fmpq(-3000))):
        assert error(stated, attended(stated.head()), step=1200) <= 1


def test_scores_that_are_all_low_are_refused() -> None:
    stated = Stated(np.full((3, 1), 200.0), np.full((3, 1), -95.0), np.ones((3, 1)), slope=fmpq(1))
    with pytest.raises(RefusedError, match="scores so low"):
        attended(stated.head())


@pytest.mark.parametrize(
    "rule",
    [{"cap": fmpq(1, 2**401)}, {"cap": fmpq(2**401)}, {"slope": fmpq(1, 2**401)}, {"sink": fmpq(-(2**401))},
     {"sink": fmpq(1, 10**400)}, {"cap": fmpq(10**400)}],
)  # fmt: skip
def test_numbers_that_are_not_near_a_double_are_refused(rule: dict[str, Any]) -> None:
    with pytest.raises(RefusedError, match="beyond the range"):
        replace(STATED["half of it hidden"], **rule).head()


@pytest.mark.parametrize("number", [np.nan, np.inf, 1e5])
def test_scores_beyond_reach_are_refused_before_a_cap_hides_them(number: float) -> None:
    stated = Stated(np.ones((3, 1)), np.array([[1.0], [number], [1.0]]), np.ones((3, 1)), cap=fmpq(5))
    with pytest.raises(RefusedError):
        attended(stated.head())


# -- each part is needed

# One token alone: log Z is its score, and nothing else is rounded by more than that.
CAPPED = Stated(
    np.random.default_rng(2).uniform(1, 30, (300, 1)), np.full((300, 1), 1.0), np.ones((300, 1)), fmpq(10**8, 3),
    hidden=~np.eye(300, dtype=bool),
)  # fmt: skip
LOWERED = replace(CAPPED, cap=None, slope=fmpq(7, 3), hidden=np.roll(~np.eye(300, dtype=bool), -255, axis=1))
true_change = ScoreRule.change
SABOTAGES: dict[str, tuple[str, Any, Stated]] = {
    "a cap is exact": ("slack", lambda rule, sizes, farthest: np.zeros_like(sizes), CAPPED),
    "distances are exact": ("slack", lambda rule, sizes, farthest: np.zeros_like(sizes), LOWERED),
    "no rule is applied": ("change", lambda *given, **names: None, STATED["a cap, scores times 1"]),
    "distances from the next token": (
        "change",
        lambda rule, scores, tokens, diagonal, scratch: true_change(rule, scores, tokens, diagonal + 1, scratch),
        STATED["a slope, scores times 1, no causal mask"]),
}  # fmt: skip


@pytest.mark.parametrize("stated", [CAPPED, LOWERED], ids=["capped", "lowered"])
def test_what_is_allowed_for_is_enough(stated: Stated) -> None:
    assert error(stated, attended(stated.head())) <= 1


@pytest.mark.parametrize("name", SABOTAGES)
def test_a_broken_part_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    what, instead, stated = SABOTAGES[name]
    monkeypatch.setattr(ScoreRule, what, instead)
    assert error(stated, attended(stated.head())) > 1


def test_a_raised_score_is_far_below_the_others() -> None:
    """As many powers of two as what `sums` clamps."""
    lowest = score_rules.LOWEST / exponential.LN2
    ScoreRule.require_far_above_lowest(np.array([lowest + exponential.DEPTH + 1.001]))
    with pytest.raises(RefusedError):
        ScoreRule.require_far_above_lowest(np.array([0.0, lowest + exponential.DEPTH]))
