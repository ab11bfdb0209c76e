"""Reports of every kind."""

from __future__ import annotations

import pytest

from certattn.kernel.decide.proof import Verdict
from certattn.statements.reports import Report

HOSTILE = "evil\n::error::injected\r\x1b[31m\x00%0A,:\ud800\ufffe\u202e<x>&\"'.yaml"


def _obligation(name: str, outcome: str) -> dict[str, object]:
    return {
        "name": name,
        "sentence": f"the distance of {name}",
        "left": "[0.5 +/- 1e-9]",
        "relation": "<=",
        "right": "1",
        "outcome": outcome,
        "bits": None if name == "exact" else 64,
        "part": "statement",
    }


@pytest.fixture
def proved() -> Report:
    return Report(
        "certificates/a.yaml",
        Verdict.VERIFIED,
        claim="output-deviation",
        statement="For each of 2 queries the distance is at most 1.",
        digest="ab" * 32,
        findings=("worst query [1]: deviation 0.5, slack 0.5",),
        arithmetic="Arb balls",
        bits=64,
        counts={"proved": 2, "refuted": 0, "undecided": 0, "unproved": 0},
        obligations=(_obligation("exact", "proved"), _obligation("at_most[1]", "proved")),
        nanoseconds={"parsing": 1_500_000, "arithmetic": 2_000_000_000, "total": 2_100_000_000},
    )


@pytest.fixture
def refuted() -> Report:
    return Report(
        "b.yaml",
        Verdict.REFUTED,
        claim="output-deviation",
        statement="The distance is at most 0.",
        digest="cd" * 32,
        reason="the distance: 0.5 <= 0 is false",
        arithmetic="Arb balls",
        bits=64,
        counts={"proved": 1, "refuted": 1, "undecided": 0, "unproved": 0},
        obligations=(_obligation("at_most[0]", "refuted"), _obligation("at_most[1]", "undecided")),
    )


@pytest.fixture
def malformed() -> Report:
    reason = "c.yaml:7: given.keys\n  found:    nothing\n  expected: a matrix"
    return Report("c.yaml", Verdict.MALFORMED, reason=reason, place=("c.yaml", 7, "given.keys"))


@pytest.fixture
def hostile() -> Report:
    return Report(HOSTILE, Verdict.MALFORMED, reason=f"{HOSTILE}\n  found:    {HOSTILE}", place=(HOSTILE, 0, HOSTILE))


@pytest.fixture
def every_kind(proved: Report, refuted: Report, malformed: Report, hostile: Report) -> list[Report]:
    others = [
        Report("d.yaml", Verdict.REJECTED, reason="not proved"),
        Report("e.yaml", Verdict.INCONCLUSIVE, reason="1 obligation still undecided", limit="time"),
        Report("f.yaml", Verdict.ERROR, reason="a bug in certattn"),
    ]
    return [proved, refuted, malformed, hostile, *others]
