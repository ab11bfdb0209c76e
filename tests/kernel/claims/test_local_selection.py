"""Theorems D and F of `selection-direction`: cases, a second evaluation of every condition, and descent itself."""

from __future__ import annotations

from pathlib import Path

import local_cases as cases
import pytest
from corpus import ACCEPT, Case, check


@pytest.mark.parametrize("case", cases.CASES, ids=lambda case: case.name)
def test_case(case: Case, arrays: Path) -> None:
    assert case.complaint(check(case.text, arrays)) == ""


def test_there_are_more_rejects_than_accepts_and_all_have_names() -> None:
    accepts = [case for case in cases.CASES if case.verdict is ACCEPT]
    assert len(accepts) >= 20
    assert len(cases.CASES) - len(accepts) >= len(accepts)
    assert len({case.name for case in cases.CASES}) == len({case.text for case in cases.CASES}) == len(cases.CASES)
