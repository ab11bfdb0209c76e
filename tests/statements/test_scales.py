"""A scale of 1 beside keys of a model is nearly always a scale that was forgotten: reports say so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import certattn
from certattn import Verdict

WORDS = "the scale is 1, although keys have dimension 4: was 1/sqrt(4) forgotten?"


def arrays(dimension: int = 4) -> dict[str, Any]:
    draw = np.random.default_rng(0)
    return {name: draw.normal(size=(5, dimension)).astype(np.float32) for name in ("queries", "keys", "values")}


def output(given: dict[str, Any], scale: float) -> Any:
    scores = scale * given["queries"] @ given["keys"].T
    weights = np.exp(scores)
    return (weights / weights.sum(axis=1, keepdims=True) @ given["values"]).astype(np.float32)


@pytest.mark.parametrize("claim", ["output-deviation", "softmax-mean", "attention-error"])
def test_a_scale_of_one_is_said_of_stored_keys_and_changes_no_verdict(claim: str, tmp_path: Path) -> None:
    for scale, dimension, said in (("1", 4, True), ("1/2", 4, False), ("-1", 4, False), ("1", 1, False)):
        given = arrays(dimension)
        if claim == "attention-error":
            given["output"] = output(given, number(scale))
        path = tmp_path / f"{scale.replace('/', '-')}-{dimension}.yaml"
        certattn.generate(claim, path, scale=scale, **given)
        report = certattn.check(path)
        assert report.verdict is Verdict.VERIFIED
        assert (WORDS in report.findings) is said


def number(text: str) -> float:
    numerator, _, denominator = text.partition("/")
    return int(numerator) / int(denominator or 1)


def test_nothing_is_said_of_numbers_that_are_written_down(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(
        "certattn: 1\nclaim: softmax-mean\ngiven: {keys: [[1, 0], [0, 1]], values: [[0], [1]], queries: [[1, 1]]}\n"
        "asserts:\n  mean: {value: [[1/2]], radius: 0}\n"
    )
    report = certattn.check(path)
    assert report.verdict is Verdict.VERIFIED
    assert not any("scale" in line for line in report.findings)
