"""What is said of certificates that are true and say little."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from certattn.kernel.document.certificate import loads
from certattn.provers.commands import Rule
from certattn.provers.doubts import astronomic, distances, long, rare, relative, rising, scale_left_out, vacuous


def doubts(rule: Rule, given: str, asserts: str) -> list[str]:
    text = f"certattn: 1\nclaim: output-tail\ngiven: {given}\nasserts: {asserts}\n"
    return list(rule(loads(text, Path("c.yaml"))))


@pytest.mark.parametrize(
    ("rule", "given", "asserts", "words"),
    [
        (rare, "{length: 1}", "{norm: {probability: 0.51}}", "norm.probability is above 1/2"),
        (rare, "{length: 1}", "{directions: [{probability: 2}]}", "directions[0].probability says nothing"),
        (long, "{length: 1000000000}", "{a: 1}", "about 10^9 tokens"),
        (long, "{a: 1}", "{length: 5000000000000}", "about 10^12 tokens"),
        (relative, "{a: 1}", "{relative: {at_most: 1}}", "as large as the output itself"),
        (relative, "{a: 1}", "{deviation: {relative_at_most: 3/2}}", "as large as the output itself"),
        (distances, "{a: 1}", "{law: {at_most: 1}}", "law.at_most says nothing"),
        (rising, "{class: {sigma: 1}}", "{repaired: {c1: 69, c2: 1/8}}", "grows up to about 10^3 tokens"),
        (rising, "{sigma: 2}", "{gradient: U, repaired: {c1: 1, c2: 1}}", "grows up to about 10^3 tokens"),
        (vacuous, "{class: {sigma: 1, radius: 1}, norms: {U: 1, V: 1}}", "{repaired: {c1: 129.83, c2: 1}}", "L = 165 "),
        (vacuous, "{law: {kind: box, sizes: [1]}, sigma: 1, V: [[2]]}", "{repaired: {c1: 65, c2: 1/4}}", "L = "),
        (vacuous, "{law: {kind: box, sizes: [1]}, sigma: 1}", "{gradient: V, repaired: {c1: 1e9, c2: 1/4}}", "10^"),
        (astronomic, "{a: 1}", "{bound: {at_most: 2e23}, more: -1e50}", "bound.at_most is about 10^23 (and 1 more)"),
    ],
)
def test_what_says_little_is_doubted(rule: Rule, given: str, asserts: str, words: str) -> None:
    (said,) = doubts(rule, given, asserts)
    assert words in said


@pytest.mark.parametrize(
    ("rule", "given", "asserts"),
    [
        (rare, "{length: 1}", "{norm: {probability: 1/2, exceeds: 7}}"),
        (long, "{length: 999999999}", "{a: 1}"),
        (relative, "{a: 1}", "{relative: {at_most: 0.999, at_least: 2}, error: {at_most: 5}}"),
        (relative, "{a: 1}", "{deviation: {per_query: {relative_at_most: [3, 4]}}}"),
        (distances, "{a: 1}", "{law: {at_most: 0.99}, separation: {at_most: 7}, x: {at_least: 1}}"),
        (rising, "{class: {sigma: 1}}", "{repaired: {c1: 69, c2: 1/2}}"),
        (vacuous, "{class: {sigma: 1, radius: 1}, norms: {U: 1, V: 1}}", "{repaired: {c1: 10, c2: 1}}"),
        (vacuous, "{class: {sigma: 1, radius: 9}}", "{gradient: U, repaired: {c1: 1e9, c2: 1}}"),
        (vacuous, "{law: {kind: gaussian}, sigma: 1}", "{repaired: {c1: 1e9, c2: 1}}"),
        (rising, "{sigma: 2, length: 9, constants: {c1: 1, c2: 1/8}}", "{published: fails}"),
        (astronomic, "{a: 1e99}", "{x: [1e30, 2], y: 1e19, z: word}"),
    ],
)
def test_what_says_something_is_not_doubted(rule: Rule, given: str, asserts: str) -> None:
    assert doubts(rule, given, asserts) == []


@pytest.mark.parametrize(
    ("given", "default", "d"),
    [
        ("{queries: [[1, 2]], keys: [[1, 2]], scale: 1}", True, 2),
        ("{queries: [[1, 2]], keys: [[1, 2]]}", False, 2),
        ("{queries: [[1]], K: [[1], [2], [3]], tokens: [[1]], scale: 1}", True, 3),
        ("{queries: [[1]], tokens: [[1, 2]], scale: 1}", True, 0),
        ("{queries: {shape: [9, 64]}, keys: {shape: [5, 64]}}", False, 64),
        ("{queries: [[1, 2]], keys: [[1, 2]], scale: 1}", False, 0),
        ("{queries: [[1, 2]], keys: [[1, 2]], scale: 1/8}", True, 0),
        ("{queries: [[1]], keys: [[1]], scale: 1}", True, 0),
        ("{queries: [[1, 2]], keys: [[1, 2]], beta: 1/2}", False, 0),
        ("{matrix: [[1, 2]]}", True, 0),
        ("{law: x, tilt: [1, 2]}", False, 0),
    ],
)
def test_a_scale_that_was_left_out_is_asked_for(given: str, default: bool, d: int) -> None:
    said = doubts(lambda certificate: scale_left_out(certificate, default=default), given, "{a: 1}")
    assert len(said) == (d > 0)
    assert not said or f"1/sqrt({d})" in said[0]


LAW = "law: {kind: gaussian, mean: [0, 0], covariance: I}\ntilt: [1, 0]\n"


@pytest.mark.heavy
def test_the_command_says_doubts(folder: Any, generate: Callable[..., Any]) -> None:
    done = generate("output-tail", LAW, "--direction", "1,0", "--probability", "0.7", "--length", "50")
    assert "note: directions[0].probability is above 1/2" in done.out


def test_the_command_asks_for_a_scale(folder: Path, head: Path, generate: Callable[..., Any]) -> None:
    said = generate("output-deviation", head).err
    assert "certattn: note: no scale is given" in said
    assert "--scale '1/sqrt(2)'" in said
    (folder / "made.yaml").unlink()
    assert generate("output-deviation", head, "--scale", "1").err == ""


def test_a_limit_that_does_not_describe_the_output_is_said(folder: Path, generate: Callable[..., Any]) -> None:
    rng = np.random.default_rng(0)
    np.savez(folder / "d.npz", keys=rng.normal(size=(6, 2)), values=rng.normal(size=(6, 2)), queries=np.full((1, 2), 9))
    said = generate("output-deviation", "d.npz", "--scale", "9", "--relative").out
    assert "the limit does not" in said
    assert "as large as the output" in said
