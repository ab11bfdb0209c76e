"""Generating `observed-prompt`: intervals that hold as often as they say, over thousands of drawn prompts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import certattn
from certattn import MalformedError, UsageError, Verdict
from certattn.provers import doubts
from certattn.provers.prompts.observed_rule import interval, log_wealth, other_log_wealth

Draw = Callable[[np.random.Generator, int], np.ndarray]


def signs(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.choice([-1.0, 1.0], size=(size, 2))


def uniform(rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.uniform(-1, 1, size=(size, 2))


def rare(rng: np.random.Generator, size: int) -> np.ndarray:
    """One token in fifty is at a corner, and heavy there: the others say nothing of it."""
    heavy = rng.uniform(size=size) < 0.02
    return np.where(heavy[:, None], 1.0, rng.uniform(-1, 0, size=(size, 2)))


def narrow(rng: np.random.Generator, size: int) -> np.ndarray:
    return 0.05 * rng.standard_normal(size=(size, 2)).clip(-2, 2) + 0.3


def corner(rng: np.random.Generator, size: int) -> np.ndarray:
    """Nearly always at the end of the box."""
    return np.where(rng.uniform(size=(size, 1)) < 0.97, 1.0, -1.0) * np.ones(2)


LAWS: dict[str, Draw] = {"signs": signs, "uniform": uniform, "rare": rare, "narrow": narrow, "corner": corner}
QUERIES = np.array([[1.0, 0.5], [-0.5, 2.0]])


def misses(draw: Draw, length: int, prompts: int, probability: float, seed: int) -> int:
    """In how many prompts some interval, of two queries and two coordinates, does not hold the truth."""
    rng = np.random.default_rng(seed)
    many = draw(rng, 4_000_000)
    tops = np.abs(QUERIES).sum(axis=1)
    weights = np.exp(many @ QUERIES.T - tops)
    truth = weights.T @ many / weights.sum(axis=0)[:, None]
    level = -np.log(probability / 8)
    found = 0
    for _ in range(prompts):
        tokens = draw(rng, length)
        found += any(
            log_wealth(sign * truth[q, j], np.exp(tokens @ QUERIES[q] - tops[q]), sign * tokens[:, j], -1.0) >= level
            for q in range(2)
            for j in range(2)
            for sign in (1, -1)
        )
    return found


@pytest.mark.heavy
@pytest.mark.parametrize("length", [30, 300])
@pytest.mark.parametrize("law", LAWS)
def test_intervals_miss_the_truth_as_rarely_as_they_say(law: str, length: int) -> None:
    prompts, probability = 2000, 0.2
    found = misses(LAWS[law], length, prompts, probability, seed=length)
    # So many misses or more had a chance below 10^-4 if a prompt were missed with that probability.
    assert binom.sf(found - 1, prompts, probability) > 1e-4, found


def test_a_shorter_interval_would_be_noticed() -> None:
    """The test has teeth: ends of a test at ten times the level miss too often for the corner's law."""
    rng = np.random.default_rng(0)
    truth, found = 0.94, 0
    for _ in range(2000):
        tokens = np.where(rng.uniform(size=60) < 0.97, 1.0, -1.0)
        found += log_wealth(truth, np.ones(60), tokens, -1.0) >= -np.log(0.6)
    assert binom.sf(found - 1, 2000, 0.06) < 1e-4


def test_positions_may_have_laws_of_their_own() -> None:
    """The target is then the sum of expected weighted outputs over that of expected weights."""
    rng, length, prompts = np.random.default_rng(2), 80, 2000
    a, top = np.array([1.0, 0.5]), 1.5
    first, second = (draw(rng, 2_000_000) for draw in (signs, rare))
    means = [(np.exp(x @ a - top) * x[:, 0]).mean() for x in (first, second)]
    sizes = [np.exp(x @ a - top).mean() for x in (first, second)]
    truth, found = sum(means) / sum(sizes), 0
    for _ in range(prompts):
        tokens = np.concatenate([signs(rng, length // 2), rare(rng, length // 2)])
        weights = np.exp(tokens @ a - top)
        found += any(log_wealth(s * truth, weights, s * tokens[:, 0], -1.0) >= -np.log(0.1) for s in (1, -1))
    assert binom.sf(found - 1, prompts, 0.2) > 1e-4


@pytest.mark.heavy
@pytest.mark.parametrize("law", LAWS)
def test_the_output_over_another_prompt_misses_as_rarely_as_it_says(law: str) -> None:
    draw, rng, found = LAWS[law], np.random.default_rng(9), 0
    prompts, probability, top = 2000, 0.2, 1.5
    for k in range(prompts):
        seen, other = draw(rng, 100), draw(rng, 30 if k % 2 else 300)
        masses = np.exp(other @ QUERIES[0] - top)
        output, weights = float(masses @ other[:, 0] / masses.sum()), np.exp(seen @ QUERIES[0] - top)
        for sign in (1, -1):
            # At the very end of the box nothing is excluded.
            if sign * output > -1:
                share = probability / 4
                wealth = other_log_wealth(sign * output, weights, sign * seen[:, 0], -1.0, len(other), share)
                found += wealth >= -np.log(share)
    assert binom.sf(found - 1, prompts, probability) > 1e-4, found


# -- certificates

RNG = np.random.default_rng(7)
TOKENS = np.round(RNG.uniform(-1, 1, size=(300, 2)) * 256) / 256


def generate(out: Path, **inputs: Any) -> Any:
    given: dict[str, Any] = {"tokens": TOKENS, "queries": QUERIES, "between": (-1, 1), **inputs}
    return certattn.generate("observed-prompt", out, **given).plain


def moved(text: str, places: int) -> str:
    """The number with its last digit moved."""
    decimals = len(text.partition(".")[2])
    return f"{float(text) + places * 10**-decimals:.{decimals}f}"


@pytest.mark.parametrize("norm", ["l2", "linf", None])
def test_the_kernel_proves_what_doubles_find_and_no_more(norm: str | None, tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    made = generate(path, norm=norm, digits=6)
    assert certattn.check(path).verdict is Verdict.VERIFIED
    assert ("distance" in made["asserts"]) is (norm is not None)
    tops = np.abs(QUERIES).sum(axis=1)
    low, high = made["asserts"]["at_least"], made["asserts"]["at_most"]
    for q, j in np.ndindex(2, 2):
        ends = interval(np.exp(TOKENS @ QUERIES[q] - tops[q]), TOKENS[:, j], (-1, 1), 0.05 / 8)
        assert [float(low[q][j]), float(high[q][j])] == pytest.approx(ends, abs=2e-6)
        assert float(low[q][j]) <= ends[0] + 1e-9
        assert ends[1] - 1e-9 <= float(high[q][j])
        text = path.read_text()
        for end, places in ((low[q][j], 2), (high[q][j], -2)):
            narrower = tmp_path / "b.yaml"
            narrower.write_text(text.replace(end, moved(end, places), 1))
            assert certattn.check(narrower).verdict is Verdict.REFUTED


@pytest.mark.parametrize("length", [1, 200, 10**6])
def test_another_prompt_is_farther_than_the_limit(length: int, tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    made = generate(path, another=length, queries=QUERIES[:1], digits=4)
    assert certattn.check(path).verdict is Verdict.VERIFIED
    limit, other = made["asserts"], made["asserts"]["another"]
    assert other["length"] == str(length)
    for j in range(2):
        assert float(other["at_least"][0][j]) < float(limit["at_least"][0][j])
        assert float(other["at_most"][0][j]) > float(limit["at_most"][0][j])
    tighter = tmp_path / "b.yaml"
    end = other["at_most"][0][1]
    if length > 1:
        tighter.write_text(path.read_text().replace(end, moved(end, -2), 1))
        assert certattn.check(tighter).verdict is Verdict.REFUTED


KEYS, VALUES = TOKENS, np.sin(3 * TOKENS[:, :1])
BALLS = {"kind": "ball", "centre": ["0", "0"], "radius": "3/2"}


@pytest.mark.heavy
@pytest.mark.parametrize(
    "inputs",
    [
        {"between": None, "radius": "3/2"},
        {"between": (-2, 2), "largest_score": "5/2", "V": np.array([[1.0, -1.0]])},
        {"U": np.array([[1.0, 0.0], [0.5, 1.0]]), "directions": [["1", "1"]]},
        {"K": np.array([[1.0, 2.0]]), "queries": np.array([[0.5]]), "scale": "-1/2"},
        {"scale": "1/sqrt(2)", "query_rows": "1:2", "probability": "0.001"},
        {"tokens": None, "keys": KEYS, "values": VALUES, "largest_score": 3},
        {
            "tokens": None, "keys": KEYS, "values": VALUES, "between": None,
            "support": {"keys": BALLS, "values": {"kind": "box", "low": [-1], "high": [1]}},
        },
    ],
    ids=["a ball", "ranges", "U", "K and a negative scale", "one query", "ranges of pairs", "pairs"],
)  # fmt: skip
def test_every_form_of_prompt_and_support(inputs: dict[str, Any], tmp_path: Path) -> None:
    given = {"tokens": TOKENS, "queries": QUERIES, "between": (-1, 1), **inputs}
    made = certattn.generate(
        "observed-prompt", tmp_path / "a.yaml", **{name: value for name, value in given.items() if value is not None}
    )
    report = certattn.check(tmp_path / "a.yaml")
    assert report.verdict is Verdict.VERIFIED, report.reason
    assert made.claim == "observed-prompt"


def test_a_confidence_in_the_place_of_a_probability_is_doubted(tmp_path: Path) -> None:
    made = certattn.generate(
        "observed-prompt", tmp_path / "a.yaml", tokens=TOKENS, queries=QUERIES, between=(-1, 1), probability="0.95"
    )
    assert list(doubts.rare(made)) == ["probability is above 1/2: is that the probability of the rare event?"]


def test_few_tokens_say_nothing_of_a_heavy_one(tmp_path: Path) -> None:
    """The end of the support is stated where nothing is excluded."""
    made = generate(tmp_path / "a.yaml", tokens=TOKENS[:2], queries=QUERIES[:1] * 8)
    assert certattn.check(tmp_path / "a.yaml").verdict is Verdict.VERIFIED
    assert float(made["asserts"]["at_most"][0][0]) > 0.99


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ({"between": None}, "expected one of: a support, between, radius"),
        ({"radius": 2}, "expected one of: a support, between, radius"),
        ({"support": {"tokens": BALLS}}, "leave out between"),
        ({"between": (-1, 1, 2)}, "two numbers"),
        ({"between": ("-1/2", "1/2")}, "do not keep to the stated support"),
        ({"largest_score": 1}, "do not keep to the stated support"),
        ({"norm": "l2", "directions": [["1", "0"]]}, "leave out directions, or norm"),
        ({"another": 0}, "another"),
        ({"norm": "l1"}, "norm is 'l1'"),
        ({"probability": "1.5"}, "probability"),
        ({"directions": [["1"]]}, "directions"),
        ({"tokens": None, "keys": KEYS, "values": VALUES}, "of keys and values, expected a support"),
    ],
)
def test_wrong_inputs_are_said(inputs: dict[str, Any], words: str, tmp_path: Path) -> None:
    given = {"tokens": TOKENS, "queries": QUERIES, "between": (-1, 1), **inputs}
    with pytest.raises((UsageError, MalformedError)) as error:
        certattn.generate(
            "observed-prompt", tmp_path / "a.yaml", **{name: v for name, v in given.items() if v is not None}
        )
    assert words in str(error.value)
    assert not (tmp_path / "a.yaml").exists()
