"""`certattn generate causal-law`: what it states, what it says of bad input."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import certattn
from certattn.kernel.errors import NotProvedError, UsageError


def test_what_is_stated_is_verified(tmp_path: Path) -> None:
    path = tmp_path / "law.yaml"
    made: Any = certattn.generate("causal-law", path, beta=1, lambda_="1/8", etas=["1/50", 3]).plain
    assert [item["order"] for item in made["asserts"]["moments"]] == ["2", "4", "6", "8"]
    assert [item["eta"] for item in made["asserts"]["transform"]] == ["0.02", "3"]
    assert certattn.check(path).verdict is certattn.Verdict.VERIFIED


def test_moments_alone_need_no_witness(tmp_path: Path) -> None:
    path = tmp_path / "law.yaml"
    made: Any = certattn.generate(
        "causal-law", path, alpha2="1/3", beta2=Fraction(2, 3), lambda_="1/2", moments=3
    ).plain
    assert made["asserts"] == {
        "moments": [
            {"order": "2", "value": "0.5", "radius": "0"},
            {"order": "4", "value": "22/27", "radius": "0"},
            {"order": "6", "value": "5917/3240", "radius": "0"},
        ]
    }
    assert "witness" not in made
    assert certattn.check(path).verdict is certattn.Verdict.VERIFIED


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("law", "eta", "digits"),
    [
        ({"beta": 3, "lambda_": "1/8"}, 100, 60),
        ({"beta": "1/100", "lambda_": 5}, 1, 12),
        ({"alpha2": "1/100000", "beta2": 1, "lambda_": "1/8"}, "1/10", 15),
        ({"alpha2": 1, "beta2": "1e-6", "lambda_": 3}, "1/5", 15),
        ({"beta": 1, "lambda_": "1/64"}, "1/100", 15),
        ({"beta": 1, "lambda_": 1}, "1e30", 15),
    ],
)
def test_numbers_far_from_one(law: dict[str, Any], eta: Any, digits: int, tmp_path: Path) -> None:
    path = tmp_path / "law.yaml"
    certattn.generate("causal-law", path, **law, etas=[eta], digits=digits, moments=0)
    assert certattn.check(path).verdict is certattn.Verdict.VERIFIED


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ({"beta": 1, "lambda_": 0}, "lambda is 0"),
        ({"beta": 1, "alpha2": 1, "lambda_": 1}, "both given"),
        ({"beta2": 1, "lambda_": 1}, "alpha2 is missing"),
        ({"beta": 1, "lambda_": 1, "etas": [0]}, "eta is 0"),
        ({"beta": 1, "lambda_": 1, "moments": 21}, "moments"),
        ({"beta": 1, "lambda_": 1, "digits": 0}, "digits"),
        ({"beta": 1, "lambda_": 1, "moments": 0}, "nothing is asked for"),
    ],
)
def test_bad_input(inputs: dict[str, Any], words: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=words):
        certattn.generate("causal-law", tmp_path / "law.yaml", **inputs)


@pytest.mark.heavy
def test_what_is_too_extreme_is_said(tmp_path: Path) -> None:
    with pytest.raises(NotProvedError, match="expected a larger eta, or a smaller beta"):
        certattn.generate("causal-law", tmp_path / "law.yaml", beta=1000, lambda_=1, etas=[1], moments=0)
