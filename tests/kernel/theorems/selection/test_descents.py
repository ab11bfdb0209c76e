"""Certificates of descents that are spoiled, against descents in 50 digits."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from flint import arb

from certattn.kernel.theorems.selection.mathematics.contracting_tube import TubeConvergence
from tools.fuzz.descents import BASES, JOINT, base, complaint, run, verdict


@pytest.mark.heavy
def test_what_is_spoiled_and_false_does_not_verify() -> None:
    tally, findings = run(range(80), seed=2)
    assert findings == []
    assert {found for _, _, found in tally} >= {"verified", "rejected", "refuted", "malformed"}


@pytest.mark.heavy
@pytest.mark.parametrize("name", [*BASES, *JOINT])
def test_bases_verify_and_nothing_is_said_against_them(name: str) -> None:
    claim, content = base(name)
    assert verdict(claim, content) == "verified"
    assert complaint(claim, content, "verified") == ""


@pytest.mark.parametrize(
    ("name", "kind", "item", "wrong"),
    [
        ("tube", "angles", {"step": "30", "at_least": "0.01"}, "angles at 30"),
        ("tube", "weights", {"step": "30", "at_most": "0.99"}, "weights at 30"),
        ("normalised", "norms", {"from": "10", "at_least": "9.6"}, "norms at 10"),
        ("leaps", "losses", {"step": "20", "at_least": "0.5"}, "losses at 20"),
        ("flow", "norms", {"time": "1", "at_most": "8.9"}, "norms at 1"),
        ("box", "angles", {"step": "10", "at_most": "0.0089"}, "angles at 10"),
    ],
)
def test_what_is_false_would_be_found(name: str, kind: str, item: dict[str, str], wrong: str) -> None:
    claim, content = base(name)
    other: dict[str, Any] = {**content, "asserts": {"indices": content["asserts"]["indices"], kind: [item]}}
    assert complaint(claim, other, "verified") == wrong


def test_a_false_rate_and_a_wrong_refutation_would_be_found() -> None:
    claim, content = base("normalised")
    other = copy.deepcopy(content)
    other["asserts"]["rate"]["lateral"] = "0.3"
    assert complaint(claim, other, "verified").startswith("the rate at")
    del other["asserts"]["rate"]
    assert complaint(claim, other, "refuted") == "not false"


def test_a_kernel_with_a_wrong_lower_bound_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TubeConvergence, "least_angle", lambda self, elapsed: self.at(elapsed) * arb("0.99"))
    claim, content = base("normalised")
    bound = {"step": "100", "at_least": "0.000324"}
    other: dict[str, Any] = {**content, "asserts": {"indices": ["0"], "angles": [bound]}}
    assert verdict(claim, other) == "verified"
    assert complaint(claim, other, "verified") == "angles at 100"
