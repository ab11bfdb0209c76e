"""Certificates of `risk-transfer` that are spoiled, against simulated flows."""

from __future__ import annotations

import copy

import pytest

from tools.fuzz.long_prompts import base, complaint, off, run


@pytest.mark.heavy
def test_what_is_spoiled_and_false_does_not_verify() -> None:
    tally, findings = run(60, seed=1, bases={"large b": 2, "plane": 1, "tokens": 3})
    assert findings == []
    assert {found for _, _, found in tally} >= {"verified", "rejected", "refuted", "malformed"}


def test_what_is_false_would_be_found() -> None:
    for change in ({"risk": "0.08"}, {"tube": "0.0017"}):
        content = copy.deepcopy(base("large b"))
        content["asserts"] |= change
        assert complaint(content, "verified") == f"the {next(iter(change))}"
    far = copy.deepcopy(base("large b"))
    far["witness"]["ranges"][0]["sums"][0][1] = "0.1469"
    assert off(base("large b")) == ""
    assert off(far) == "sums of q at 1000 tokens"
    assert complaint(base("tokens"), "refuted") == "not false"
