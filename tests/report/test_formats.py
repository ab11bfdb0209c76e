"""Reports for machines: they parse, they count, and nobody's text becomes a command."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

import certattn
from certattn.kernel.decide.proof import Verdict
from certattn.report.formats import FORMATS, as_github, as_json, as_junit
from certattn.report.text import printable
from certattn.statements.reports import Report, exit_status

anything = st.text(st.characters())


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_is_ascii_or_says_what_it_is(form: str, every_kind: list[Report]) -> None:
    text = FORMATS[form](every_kind)
    if form != "github":
        assert text.isascii()


# -- JSON


def test_json_gives_the_reports_back(every_kind: list[Report]) -> None:
    content = json.loads(as_json(every_kind))
    assert content["certattn"] == certattn.__version__
    assert content["exit_status"] == exit_status(every_kind) == 70
    assert [Report.from_dict(report) for report in content["reports"]] == every_kind


@given(anything, anything, st.integers(min_value=0))
def test_json_gives_any_text_back(path: str, reason: str, line: int) -> None:
    report = Report(path, Verdict.MALFORMED, reason=reason, place=(path, line, reason), findings=(reason,))
    (back,) = json.loads(as_json([report]))["reports"]
    assert Report.from_dict(back) == report


def test_json_of_nothing_is_no_success() -> None:
    assert json.loads(as_json([]))["exit_status"] == 2


# -- GitHub annotations

COMMAND = re.compile(r"::(error|warning) file=([^,:\s]*),line=(\d+),title=([^,:]*)::([^\r\n]*)")


def _unescape(text: str) -> str:
    for code, character in (("%2C", ","), ("%3A", ":"), ("%0A", "\n"), ("%25", "%")):
        text = text.replace(code, character)
    return text


def test_an_annotation_points_to_the_line(malformed: Report, proved: Report) -> None:
    annotation, summary = as_github([malformed, proved]).split("\n")
    match = COMMAND.fullmatch(annotation)
    assert match is not None
    assert match.groups()[:4] == ("error", "c.yaml", "7", "certattn%3A malformed")
    assert _unescape(match[5]) == malformed.reason
    assert summary == "certattn: 1 of 2 certificates verified"


def test_the_line_of_an_array_file_is_not_one_of_the_certificate(malformed: Report) -> None:
    assert "line=1," in as_github([replace(malformed, place=("keys.npy", 7, ""))])


def test_a_path_in_the_working_folder_is_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    report = Report(str(tmp_path / "in" / "a.yaml"), Verdict.REFUTED)
    assert as_github([report]).startswith("::error file=in/a.yaml,line=1,")


def test_what_is_inconclusive_is_a_warning() -> None:
    text = as_github([Report("e.yaml", Verdict.INCONCLUSIVE, reason="undecided")])
    assert text.startswith("::warning file=e.yaml,line=1,")


def test_what_is_verified_has_no_annotation(proved: Report) -> None:
    assert as_github([proved, proved]) == "certattn: 2 of 2 certificates verified"


def test_no_text_becomes_a_second_command(hostile: Report) -> None:
    lines = re.split("[\r\n]", as_github([hostile, hostile]))
    assert len(lines) == 3
    assert all(line.startswith("::error file=evil%0A%3A%3Aerror%3A%3Ainjected\\r") for line in lines[:2])
    assert all("\\x1b[31m" in line and line.isprintable() for line in lines[:2])


@given(anything, anything)
def test_any_text_stays_in_its_command(path: str, reason: str) -> None:
    first, _ = re.split("[\r\n]", as_github([Report(path, Verdict.REFUTED, reason=reason)]))
    match = re.fullmatch(r"::error file=([^,:\r\n]*),line=1,title=certattn%3A refuted::([^\r\n]*)", first)
    assert match is not None
    assert _unescape(match[1]) == printable(os.path.normpath(path))
    assert _unescape(match[2]) == (printable(reason) or "refuted")


# -- JUnit


def test_junit_has_a_case_for_each_certificate(every_kind: list[Report]) -> None:
    suites = ElementTree.fromstring(as_junit(every_kind))
    (suite,) = suites
    cases = list(suite)
    for element in (suites, suite):
        assert element.get("tests") == str(len(cases)) == "7"
        assert element.get("failures") == str(len(suite.findall("*/failure"))) == "3"
        assert element.get("errors") == str(len(suite.findall("*/error"))) == "3"
    kinds = ["system-out", "failure", "error", "error", "failure", "failure", "error"]
    assert [[child.tag for child in case] for case in cases] == [[kind] for kind in kinds]
    assert [case.get("name") for case in cases][:3] == ["certificates/a.yaml", "b.yaml", "c.yaml"]
    assert (cases[0].get("classname"), cases[0].get("time")) == ("output-deviation", "2.100")


def test_junit_says_why(refuted: Report) -> None:
    failure = ElementTree.fromstring(as_junit([refuted])).find("testsuite/testcase/failure")
    assert failure is not None
    assert (failure.get("type"), failure.get("message")) == ("refuted", refuted.reason)
    assert failure.text == f"{refuted.statement}\n{refuted.reason}"


@given(anything)
def test_junit_holds_any_text(text: str) -> None:
    report = Report(text, Verdict.REFUTED, reason=text, statement=text)
    for form in (report, replace(report, verdict=Verdict.VERIFIED)):
        document = as_junit([form])
        case = ElementTree.fromstring(document.encode()).find("testsuite/testcase")
        assert case is not None
        if text.isprintable():
            assert case.get("name") == text


def test_junit_marks_what_xml_cannot_hold(hostile: Report) -> None:
    case = ElementTree.fromstring(as_junit([hostile])).find("testsuite/testcase")
    assert case is not None
    name = case.get("name") or ""
    assert "\ufffd[31m\ufffd%0A,:\ufffd\ufffd\u202e<x>&" in name
