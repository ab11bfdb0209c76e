"""Generating `typical-prompt`: heights and probabilities that random prompts keep to, stated of a concrete one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import certattn
from certattn import MalformedError, NotProvedError, UsageError, Verdict

RNG = np.random.default_rng(7)
TOKENS = np.round(RNG.normal(size=(200, 2)) * 256) / 256
QUERY = np.array([[0.5, -0.25], [0.25, 0.125]])
LAW: dict[str, Any] = {"kind": "gaussian", "mean": ["0", "0"], "covariance": [["1", "0"], ["0", "1"]]}
BOX: dict[str, Any] = {"kind": "box", "sizes": ["7/4", "7/4"]}


def generate(out: Path, **inputs: Any) -> Any:
    return certattn.generate("typical-prompt", out, **{"tokens": TOKENS, "queries": QUERY, "law": LAW, **inputs}).plain


@pytest.mark.heavy
@pytest.mark.parametrize("norm", ["l2", "linf"])
@pytest.mark.parametrize("law", [LAW, BOX], ids=["gaussian", "box"])
def test_a_height_is_found_for_a_probability(norm: str, law: dict[str, Any], tmp_path: Path) -> None:
    made = generate(tmp_path / "a.yaml", norm=norm, law=law, probability="0.01", query=1)
    report = certattn.check(tmp_path / "a.yaml")
    assert report.verdict is Verdict.VERIFIED, report.reason
    assert made["asserts"]["norm"]["probability"] == "0.01"
    assert 0.05 < float(made["asserts"]["norm"]["exceeds"]) < 1
    assert made["given"]["queries"]["rows"] == "1:2"


def test_a_probability_is_found_for_a_height(tmp_path: Path) -> None:
    made = generate(tmp_path / "a.yaml", directions=[["1", "0"]], exceeds="0.4")
    assert certattn.check(tmp_path / "a.yaml").verdict is Verdict.VERIFIED
    (stated,) = made["asserts"]["directions"]
    assert stated["exceeds"] == "0.4"
    assert 0 < float(stated["probability"]) < 0.1


@pytest.mark.heavy
@pytest.mark.parametrize(
    "more",
    [
        {"V": np.array([[1.0, -1.0]]), "directions": [["1"]]},
        {"K": np.eye(2), "Q": np.array([[1.0, 0.0], [0.5, 1.0]])},
        {"U": np.array([[0.5, 0.0], [0.0, 2.0]])},
        {"scale": "1/sqrt(2)"},
        {"scale": "-1/2"},
    ],
    ids=["V", "K, Q", "U", "root", "negative"],
)
def test_weights_and_scales_reach_both_parts(more: dict[str, Any], tmp_path: Path) -> None:
    generate(tmp_path / "a.yaml", probability="0.01", **more)
    report = certattn.check(tmp_path / "a.yaml")
    assert report.verdict is Verdict.VERIFIED, report.reason


@pytest.mark.heavy
def test_an_exceptional_prompt_is_written_and_refuted(tmp_path: Path) -> None:
    generate(tmp_path / "a.yaml", tokens=TOKENS + 2, probability="0.01")
    report = certattn.check(tmp_path / "a.yaml")
    assert report.verdict is Verdict.REFUTED
    assert any("one of the exceptional ones" in line for line in report.findings)


@pytest.mark.parametrize(
    ("inputs", "kind", "words"),
    [
        ({"query": 2}, UsageError, "expected one of the 2 queries"),
        ({"query": -1}, UsageError, "expected one of the 2 queries"),
        ({"probability": "2"}, UsageError, "above 0 and below 1"),
        ({"probability": None}, UsageError, "expected two of exceeds, probability and length"),
        ({"exceeds": "0"}, UsageError, "expected a positive number"),
        ({"exceeds": "1e-6"}, NotProvedError, "could not be proved"),
        ({"law": {"kind": "box", "sizes": ["1"]}}, MalformedError, "a law in dimension 2"),
        ({"law": {"kind": "box", "sizes": ["-1", "1"]}}, MalformedError, "sizes >= 0"),
        ({"norm": "l1"}, UsageError, "norm"),
        ({"directions": [["1"]]}, (UsageError, MalformedError), "has 1 number, expected 2"),
        ({"data": "elsewhere"}, UsageError, "data is 'elsewhere'"),
    ],
)
def test_bad_input(inputs: dict[str, Any], kind: type[Exception], words: str, tmp_path: Path) -> None:
    with pytest.raises(kind, match=words):
        generate(tmp_path / "a.yaml", **{"probability": "0.01", **inputs})
    assert list(tmp_path.iterdir()) == []


def test_keys_and_values_are_no_tokens(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="expected tokens"):
        certattn.generate(
            "typical-prompt", tmp_path / "a.yaml", keys=TOKENS, values=TOKENS, queries=QUERY, law=LAW, probability="0.1"
        )
