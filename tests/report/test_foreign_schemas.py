"""Reports for CI systems against the schemas that those systems publish; see tests/schemas/README.md."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

import pytest
import xmlschema
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft7Validator, Draft202012Validator, ValidationError  # type: ignore[import-untyped]

from certattn import check
from certattn.kernel.decide.proof import Verdict
from certattn.report.formats import as_gitlab, as_json, as_junit, as_sarif
from certattn.report.report_schema import report_schema
from certattn.statements.reports import Report

SCHEMAS = Path(__file__).resolve().parent.parent / "schemas"
GALLERY = SCHEMAS.parent.parent / "certificates"
SARIF = Draft7Validator(json.loads((SCHEMAS / "sarif-2.1.0.json").read_text()))
GITLAB = Draft202012Validator(json.loads((SCHEMAS / "gitlab-code-quality.json").read_text()))
REPORTS = Draft202012Validator(report_schema())
JUNIT = xmlschema.XMLSchema(SCHEMAS / "junit-10.xsd")

anything = st.text(st.characters())


def sarif(reports: list[Report]) -> Any:
    content = json.loads(as_sarif(reports))
    SARIF.validate(content)
    (run,) = content["runs"]
    return run


def gitlab(reports: list[Report]) -> Any:
    content = json.loads(as_gitlab(reports))
    GITLAB.validate(content)
    return content


@given(anything, anything, st.integers(min_value=0), st.sampled_from(Verdict))
def test_any_text_fits_every_schema(path: str, text: str, line: int, verdict: Verdict) -> None:
    report = Report(path, verdict, reason=text, place=(path, line, text), statement=text, digest="0" * 64)
    REPORTS.validate(json.loads(as_json([report])))
    JUNIT.validate(as_junit([report]))
    if path and "\0" not in path:
        sarif([report])
        gitlab([report])


def test_reports_of_every_kind_fit_every_schema(every_kind: list[Report]) -> None:
    JUNIT.validate(as_junit(every_kind))
    assert len(sarif(every_kind)["results"]) == len(gitlab(every_kind)) == len(every_kind) - 1


def test_no_report_fits_every_schema_and_is_no_success() -> None:
    JUNIT.validate(as_junit([]))
    assert gitlab([]) == []
    assert sarif([])["invocations"][0]["exitCode"] == 2


# -- our own


@pytest.mark.parametrize(
    "path", ["prompts/output-tail/atoms.yaml", "prompts/infinite-prompt-operator/gaussian-d1.yaml"]
)
def test_real_reports_fit_our_schema(path: str) -> None:
    for detail in (False, True):
        REPORTS.validate(json.loads(as_json([check(GALLERY / path, detail=detail)])))


def test_the_schema_has_every_key_of_a_report(proved: Report) -> None:
    assert set(report_schema()["$defs"]["report"]["properties"]) == set(proved.to_dict())


@pytest.mark.parametrize(
    "change",
    [
        {"verdict": "true"}, {"reason": None}, {"place": ["a", 1]}, {"counts": {"believed": 1}}, {"bits": -1},
        {"digest": "0"}, {"more": 1},
    ],
)  # fmt: skip
def test_other_reports_do_not_fit_our_schema(proved: Report, change: dict[str, Any]) -> None:
    content = json.loads(as_json([proved]))
    content["reports"][0].update(change)
    with pytest.raises(ValidationError):
        REPORTS.validate(content)


# -- SARIF


def test_a_sarif_result_points_to_its_line_and_names_its_statement(refuted: Report) -> None:
    (result,) = sarif([replace(refuted, place=("b.yaml", 12, "asserts.deviation.at_most"))])["results"]
    (location,) = result["locations"]
    assert location["physicalLocation"] == {"artifactLocation": {"uri": "b.yaml"}, "region": {"startLine": 12}}
    assert (result["ruleId"], result["level"]) == ("refuted", "error")
    assert result["fingerprints"] == {"statementDigest/v1": refuted.digest}
    assert result["message"]["text"] == f"{refuted.reason}\n{refuted.statement}"


def test_sarif_rules_are_the_verdicts_that_prove_nothing(every_kind: list[Report]) -> None:
    run = sarif(every_kind)
    rules = run["tool"]["driver"]["rules"]
    assert {rule["id"] for rule in rules} == {verdict.value for verdict in Verdict} - {"verified"}
    assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in run["results"])
    assert {result["ruleId"]: result["level"] for result in run["results"]}["inconclusive"] == "warning"


def test_sarif_shows_no_problem_for_what_is_verified(proved: Report) -> None:
    run = sarif([proved, proved])
    assert run["results"] == []
    assert run["properties"] == {"certificates": 2, "verified": 2}
    assert run["invocations"] == [{"executionSuccessful": True, "exitCode": 0}]


def test_a_crash_is_no_successful_execution() -> None:
    run = sarif([Report("f.yaml", Verdict.ERROR)])
    assert run["invocations"] == [{"executionSuccessful": False, "exitCode": 70}]


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("./a b.yaml", "a%20b.yaml"), ("x:y.yaml", "x%3Ay.yaml"), ("../a.yaml", "../a.yaml"), ("/a/b.yaml", "file:///a/b.yaml"),
        ("caf\u00e9/\udcff.yaml", "caf%C3%A9/%FF.yaml"), ("a?b#c%41.yaml", "a%3Fb%23c%2541.yaml"), ("//h/a.yaml", "file:////h/a.yaml"),
    ],
)  # fmt: skip
def test_paths_become_references(path: str, uri: str) -> None:
    (result,) = sarif([Report(path, Verdict.REFUTED)])["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == uri


def test_a_path_in_the_working_folder_is_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    report = Report(str(tmp_path / "in" / "a.yaml"), Verdict.REFUTED)
    (artifact,) = sarif([report])["artifacts"]
    assert artifact["location"]["uri"] == gitlab([report])[0]["location"]["path"] == "in/a.yaml"


@given(st.binary(min_size=1).filter(lambda name: b"\0" not in name and not name.startswith(b"/")))
def test_a_reference_leads_back_to_the_file(name: bytes) -> None:
    (artifact,) = sarif([Report(os.fsdecode(name), Verdict.VERIFIED)])["artifacts"]
    assert unquote_to_bytes(artifact["location"]["uri"]) == os.path.normpath(name)


def test_the_line_of_an_array_file_is_not_one_of_the_certificate(malformed: Report) -> None:
    elsewhere = replace(malformed, place=("keys.npy", 7, ""))
    (result,) = sarif([elsewhere])["results"]
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 1}


# -- GitLab


def test_a_gitlab_entry_points_to_its_line(malformed: Report) -> None:
    (entry,) = gitlab([malformed])
    assert entry["location"] == {"path": "c.yaml", "lines": {"begin": 7}}
    assert (entry["check_name"], entry["severity"]) == ("certattn/malformed", "major")
    assert entry["description"] == f"malformed: {malformed.reason}"


def test_gitlab_fingerprints_tell_findings_apart_and_do_not_move_with_lines(refuted: Report) -> None:
    others = [replace(refuted, path="x.yaml"), replace(refuted, verdict=Verdict.REJECTED), replace(refuted, digest="")]
    prints = {entry["fingerprint"] for entry in gitlab([refuted, *others])}
    assert len(prints) == 4
    moved = replace(refuted, place=("b.yaml", 99, ""), reason="in other words")
    assert gitlab([moved])[0]["fingerprint"] == gitlab([refuted])[0]["fingerprint"]
    assert gitlab([refuted])[0]["fingerprint"] != hashlib.sha256(b"").hexdigest()


def test_what_is_verified_has_no_entry(proved: Report) -> None:
    assert gitlab([proved]) == []
