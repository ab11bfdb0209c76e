"""The exit status of several reports, and reports as JSON."""

from __future__ import annotations

import itertools
import json

import pytest

from certattn.kernel.decide.proof import Verdict
from certattn.statements.reports import Report, exit_status


def report(verdict: Verdict, limit: str = "") -> Report:
    return Report("p.yaml", verdict, limit=limit)


V, R, J, M, E = Verdict.VERIFIED, Verdict.REFUTED, Verdict.REJECTED, Verdict.MALFORMED, Verdict.ERROR
OPEN = Verdict.INCONCLUSIVE
STATUS = [
    ([], 2),
    ([V], 0), ([V, V], 0),
    ([R], 1), ([J], 1), ([V, R], 1), ([V, J], 1), ([R, M], 1), ([R, OPEN], 1), ([J, M, OPEN, V], 1),
    ([M], 2), ([V, M], 2), ([M, OPEN], 2),
    ([OPEN], 3), ([V, OPEN], 3),
    ([E], 70), ([V, E], 70), ([R, E], 70), ([M, E], 70), ([OPEN, E], 70), ([V, R, J, OPEN, M, E], 70),
]  # fmt: skip


@pytest.mark.parametrize(("verdicts", "status"), STATUS)
def test_exit_status(verdicts: list[Verdict], status: int) -> None:
    for order in itertools.permutations(verdicts):
        assert exit_status([report(verdict) for verdict in order]) == status


@pytest.mark.parametrize("limit", ["time", "memory"])
def test_exit_status_of_a_resource_limit(limit: str) -> None:
    stopped = report(OPEN, limit)
    assert exit_status([stopped]) == 4
    assert exit_status([report(V), stopped]) == 4
    assert exit_status([report(OPEN), stopped]) == 3
    assert exit_status([report(M), stopped]) == 2
    assert exit_status([report(R), stopped]) == 1
    assert exit_status([report(E), stopped]) == 70


def test_only_a_run_of_verified_reports_exits_with_0() -> None:
    for count in (1, 2, 3):
        for verdicts in itertools.product(Verdict, repeat=count):
            status = exit_status([report(verdict) for verdict in verdicts])
            assert (status == 0) is (set(verdicts) == {V})


def test_a_report_survives_json() -> None:
    whole = Report(
        "p.yaml",
        Verdict.REFUTED,
        claim="output-deviation",
        findings=("worst", "slack"),
        place=("p.yaml", 3, "given.keys"),
        obligations=({"name": "a", "outcome": "refuted"},),
        counts={"proved": 1},
        nanoseconds={"arithmetic": 5},
    )
    for each in (whole, report(V), report(M)):
        assert Report.from_dict(json.loads(json.dumps(each.to_dict()))) == each


def test_a_report_of_an_unknown_verdict_is_refused() -> None:
    with pytest.raises(ValueError):
        Report.from_dict({**report(V).to_dict(), "verdict": "fine"})
