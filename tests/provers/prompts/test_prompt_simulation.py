"""Simulated prompts against what is known exactly, and proved tail bounds against simulated prompts."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import truncnorm

from certattn.kernel.document.certificate import loads
from certattn.kernel.theorems.prompts.output_tail import THEOREM, read, read_given
from certattn.kernel.theorems.prompts.random_prompts import RandomPrompt
from certattn.kernel.theorems.prompts.tail_rules import EXCEEDS
from certattn.provers.prompts import output_tail, prompt_simulation
from certattn.provers.prompts.prompt_simulation import errors, quantile
from certattn.writing import to_text

Plain = Any


def prompt_of(given: Plain) -> RandomPrompt:
    text = to_text({"certattn": "1", "claim": THEOREM.name, "given": given, "asserts": {}})
    return read_given(loads(text, Path("draft.yaml")))


GAUSSIAN: Plain = {"kind": "gaussian", "mean": ["1", "0"], "covariance": [["1", "1/2"], ["1/2", "1"]]}
ATOMS: Plain = {"kind": "atoms", "points": [["0", "1"], ["2", "0"]], "weights": ["1/4", "3/4"]}


def test_quantiles_and_their_intervals() -> None:
    found = quantile(np.arange(1, 10001.0), 0.01)
    assert found.value == 9900
    assert (found.low, found.high) == (9881, 9921)
    assert quantile(np.arange(100.0), 0.001).high == math.inf


def test_the_interval_holds_the_quantile_95_times_in_100() -> None:
    draw, inside = np.random.default_rng(3), 0
    for _ in range(1000):
        found = quantile(draw.uniform(size=2000), 0.02)
        inside += found.low <= 0.98 <= found.high
    assert 930 <= inside <= 985


def test_prompts_of_one_token_have_the_tokens_law() -> None:
    """T_1 = V x: its mean and covariance are those of the law."""
    given = {"law": GAUSSIAN, "tilt": ["1", "1/2"], "V": [["1", "1"], ["0", "2"]], "length": "1"}
    found = errors(prompt_of(given), 1, 200_000)
    values, gamma = np.array([[1, 1], [0, 2]]), np.array([[1, 0.5], [0.5, 1]])
    assert found.mean(0) == pytest.approx(-values @ gamma @ np.array([1, 0.5]), abs=0.02)
    assert np.cov(found.T) == pytest.approx(values @ gamma @ values.T, abs=0.05)


def test_tokens_of_bounded_laws_are_drawn_from_them() -> None:
    """Means and covariances of truncated normals by scipy, near and far out, and of a sphere whose radius is a root."""
    law = {"kind": "truncated-gaussian", "mean": ["0", "1"], "variances": ["1", "1/4"]}
    given = {"law": {**law, "lower": ["3", "0"], "upper": ["5", "3/2"]}, "tilt": ["0", "0"], "length": "1"}
    found = errors(prompt_of(given), 1, 200_000)
    known = [truncnorm(3, 5).std(), truncnorm(-2, 1, 1, 0.5).std()]
    assert found.mean(0) == pytest.approx([0, 0], abs=0.01)
    assert np.cov(found.T) == pytest.approx(np.diag(known) ** 2, abs=0.003)
    sphere = {"kind": "sphere", "dimension": "3", "radius": "sqrt(12)"}
    found = errors(prompt_of({"law": sphere, "tilt": ["0", "0", "0"], "length": "1"}), 1, 200_000)
    assert np.linalg.norm(found, axis=1) == pytest.approx(np.full(200_000, math.sqrt(12)))
    assert np.cov(found.T) == pytest.approx(4 * np.eye(3), abs=0.05)


def test_the_short_way_for_gaussian_tokens_is_the_long_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores alone, then the rest as a Gaussian: the same law as drawing every token."""
    prompt = prompt_of({"law": GAUSSIAN, "tilt": ["1", "1/2"], "length": "20"})
    short = errors(prompt, 20, 40_000, seed=1)
    monkeypatch.setattr(prompt_simulation, "_gaussian_errors", prompt_simulation._errors)
    long = errors(prompt, 20, 40_000, seed=2)
    for statistic in (
        lambda x: x.mean(0),
        lambda x: np.quantile(x, 0.9, axis=0),
        lambda x: np.quantile(x, 0.1, axis=0),
    ):
        assert statistic(short) == pytest.approx(statistic(long), abs=0.02)
    assert np.cov(short.T) == pytest.approx(np.cov(long.T), abs=0.02)


def test_two_tokens_of_two_atoms() -> None:
    """The output takes three values, with probabilities 1/16, 6/16, 9/16."""
    found = errors(prompt_of({"law": ATOMS, "tilt": ["0", "0"], "length": "2"}), 2, 60_000)
    values, counts = np.unique(found[:, 0].round(6), return_counts=True)
    assert values == pytest.approx([-1.5, -0.5, 0.5])
    assert counts / 60_000 == pytest.approx([1 / 16, 6 / 16, 9 / 16], abs=0.01)


def test_chunks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompt_simulation, "_CHUNK", 100)
    for law in (GAUSSIAN, ATOMS):
        assert errors(prompt_of({"law": law, "tilt": ["1", "0"], "length": "30"}), 30, 17).shape == (17, 2)


# -- proved bounds lie above what is simulated


def random_law(draw: np.random.Generator, kind: str, dimension: int) -> Plain:
    def numbers(size: int, scale: float = 1.0) -> list[str]:
        return [f"{value:.2f}" for value in scale * draw.normal(size=size)]

    if kind in ("gaussian", "singular"):
        root = draw.integers(-3, 4, size=(dimension, 1 if kind == "singular" else dimension + 1)) / 4
        covariance = [[f"{value:.4f}" for value in row] for row in root @ root.T]
        return {"kind": "gaussian", "mean": numbers(dimension), "covariance": covariance}
    if kind in ("rademacher", "box"):
        return {"kind": kind, "sizes": [f"{abs(float(c)) + 0.1:.2f}" for c in draw.normal(size=dimension)]}
    if kind == "atoms":
        return {
            "kind": "atoms",
            "points": [numbers(dimension) for _ in range(4)],
            "weights": ["1/2", "1/4", "1/8", "1/8"],
        }
    kinds = {"mixture": ("gaussian", "singular", "atoms"), "bounded mixture": ("rademacher", "box", "atoms"),
             "any mixture": ("gaussian", "box")}[kind]  # fmt: skip
    weights = [["1/4", "3/4"], ["1/2", "1/3", "1/6"]][len(kinds) - 2]
    parts = [{"weight": w, "law": random_law(draw, k, dimension)} for w, k in zip(weights, kinds, strict=True)]
    return {"kind": "mixture", "components": parts}


KINDS = (
    "gaussian", "singular", "rademacher", "box", "atoms", "mixture", "bounded mixture", "any mixture",
)  # fmt: skip


@pytest.mark.heavy
@pytest.mark.parametrize("kind", KINDS)
def test_no_proved_bound_lies_below_the_simulated_quantile(tmp_path: Path, kind: str) -> None:
    """Random laws, tilts, values, directions, lengths and probabilities; some thousand prompts each."""
    draw = np.random.default_rng(list(kind.encode()))
    for case in range(5):
        dimension, length = int(draw.integers(1, 4)), int(draw.integers(1, 60))
        delta = str(draw.choice(["0.2", "0.05", "0.01"]))
        size = 1.0
        if kind == "any mixture":
            # Only moments are known there, which say nothing of short prompts and heavy weights.
            length, delta, size = 200 * length, "0.05", 0.5
        given = {
            "law": random_law(draw, kind, dimension),
            "tilt": [f"{value:.2f}" for value in size * draw.normal(size=dimension)],
            "V": [[f"{value:.2f}" for value in row] for row in draw.normal(size=(2, dimension))],
            "length": str(length),
        }
        direction = [f"{value:.2f}" for value in draw.normal(size=2)]
        sought: Plain = {"norm": "linf"} if case == 4 else {"directions": [direction]}
        certificate = output_tail.generate(tmp_path / "tail.yaml", given=given, probability=delta, **sought)
        problem = read(certificate)
        sample = errors(problem.prompt, length, 4_000_000 // max(length, 1000), seed=case)
        if problem.norm is not None:
            eps, deviation = problem.norm.stated[EXCEEDS], np.abs(sample).max(1)
        else:
            eps, deviation = problem.directions[0][EXCEEDS], sample @ np.array([float(u) for u in direction])
        assert float(eps.p) / float(eps.q) >= quantile(deviation, float(delta)).low, given
