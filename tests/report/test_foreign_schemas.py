"""Reports for CI systems against the schemas that those systems publish; see tests/schemas/README.md."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, ValidationError  # type: ignore[import-untyped]

from certattn import check
from certattn.kernel.decide.proof import Verdict
from certattn.report.formats import as_json, as_junit
from certattn.report.report_schema import report_schema
from certattn.statements.reports import Report

SCHEMAS = Path(__file__).resolve().parent.parent / "schemas"
GALLERY = SCHEMAS.parent.parent / "certificates"
REPORTS = Draft202012Validator(report_schema())

anything = st.text(st.characters())


@pytest.fixture(scope="module")
def junit() -> Any:
    import xmlschema

    return xmlschema.XMLSchema(SCHEMAS / "junit-10.xsd")


@given(path=anything, text=anything, line=st.integers(min_value=0), verdict=st.sampled_from(Verdict))
def test_any_text_fits_every_schema(junit: Any, path: str, text: str, line: int, verdict: Verdict) -> None:
    report = Report(path, verdict, reason=text, place=(path, line, text), statement=text, digest="0" * 64)
    REPORTS.validate(json.loads(as_json([report])))
    junit.validate(as_junit([report]))


def test_reports_of_every_kind_fit_the_schema_of_junit(junit: Any, every_kind: list[Report]) -> None:
    junit.validate(as_junit(every_kind))


def test_no_report_fits_the_schema_of_junit(junit: Any) -> None:
    junit.validate(as_junit([]))


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
