"""The table of job summaries: counted, and nobody's text becomes a mark, a link or a cell."""

from __future__ import annotations

import html
import re
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from certattn.kernel.decide.proof import Verdict
from certattn.report.formats import as_markdown
from certattn.report.text import on_one_line
from certattn.statements.reports import Report


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.removeprefix("|").removesuffix("|").split("|")]


def test_a_row_for_each_certificate_with_the_loud_ones_first(every_kind: list[Report]) -> None:
    heading, empty, _, _, *rows = as_markdown(every_kind).split("\n")
    assert heading == "### certattn: 1 of 7 certificates verified"
    assert empty == ""
    verdicts = [cells(row)[0].strip("*") for row in rows]
    assert verdicts == [report.verdict.value for report in every_kind[1:]] + ["verified"]
    digest = f"`{'ab' * 32}`"
    assert cells(rows[-1]) == [
        "**verified**", "<code>certificates/a.yaml</code>", "output-deviation", "", "2.10 s", digest,
    ]  # fmt: skip


def test_none_verified_is_said_so() -> None:
    assert as_markdown([]).startswith("### certattn: 0 of 0 certificates verified\n")


def test_marks_are_escaped() -> None:
    text = "| [x](http://e) ![i](j) `c` *b* _u_ <img src=x> @all #1 www.e.com ~~s~~ \\| https://e"
    row = as_markdown([Report(text, Verdict.REFUTED, reason=text)]).split("\n")[4]
    assert len(cells(row)) == 6
    assert html.unescape(cells(row)[3]) == on_one_line(text)
    assert not re.search(r"[\[\]`_@!~\\(]|www\.|https:|<(?!/?code>)", row)


@given(st.text(st.characters()))
def test_any_text_stays_in_its_cell(text: str) -> None:
    lines = as_markdown([Report(text, Verdict.REFUTED, reason=text)]).splitlines()
    assert len(lines) == 5
    cut = re.fullmatch(
        r"\| \*\*refuted\*\* \| <code>([\w /,.&#;-]*)</code> \|  \| ([\w /,.&#;-]*) \|  \|  \|", lines[4]
    )
    assert cut is not None
    shown = on_one_line(text)
    assert html.unescape(cut[1]) == (shown if len(shown) <= 400 else shown[:400] + " ...")


def test_a_summary_is_never_too_long_and_says_what_it_leaves_out(refuted: Report) -> None:
    text = as_markdown([replace(refuted, reason="x" * 1000)] * 4000)
    assert len(text) < 2**20
    left = re.search(r"\n\n(\d+) more certificates have no row here\.$", text)
    assert left is not None
    assert int(left[1]) + text.count("| **refuted** |") == 4000
