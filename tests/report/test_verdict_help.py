"""Help on verdicts says what the page about trust says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from certattn.kernel.decide.proof import Verdict
from certattn.report.codes.lookup import VERDICT, general

TRUST = (Path(__file__).resolve().parent.parent.parent / "docs" / "trust.md").read_text()


@pytest.mark.parametrize("verdict", Verdict)
def test_every_verdict_means_what_the_page_says(verdict: Verdict) -> None:
    row = re.search(rf"^\| `{verdict.value}` \| (.*?) \| ", TRUST, re.MULTILINE)
    assert row is not None
    (explanation,) = [each for each in general()[VERDICT] if each.code == verdict.value]
    assert dict(explanation.more)["means"] == row[1]
    assert dict(explanation.more)["what to do"]
