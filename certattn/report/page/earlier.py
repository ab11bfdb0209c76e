"""Reports of an earlier check, as `certattn check --format json` printed them; believed only as far as they fit."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from certattn.kernel.decide.proof import Verdict
from certattn.kernel.errors import LimitExceededError, UsageError
from certattn.statements.reports import Report

_MOST_BYTES = 2**28
_TEXTS = ("path", "claim", "statement", "digest", "reason", "obligation", "arithmetic", "limit")
_COUNTS = ("counts", "nanoseconds")
_OBLIGATION = ("name", "sentence", "left", "relation", "right", "outcome", "arithmetic", "part")


def read_reports(file: Path) -> list[Report]:
    """The reports in a file. Raises UsageError for anything that `check --format json` does not print."""
    try:
        if file.stat().st_size > _MOST_BYTES:
            raise LimitExceededError(f"{file}: larger than {_MOST_BYTES} bytes")
        content = json.loads(file.read_text(encoding="utf-8"))
        if not isinstance(content, dict) or not isinstance(content.get("reports"), list):
            raise TypeError("no list of reports")
        return reports_of(content["reports"])
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise UsageError(f"{file}: {str(error)[:200]}; expected the output of `certattn check --format json`") from None


def reports_of(contents: Iterable[Mapping[str, Any]]) -> list[Report]:
    """The reports that plain data stands for. Raises KeyError, TypeError and ValueError for what is none."""
    return [_report(found) for found in contents]


ByFile = Mapping[Path, Sequence[Report]]


def by_file(reports: Iterable[Report], source: Path) -> ByFile:
    """Reports by the files that they may be about: a path is taken from the working folder, or from `source`'s."""
    found: dict[Path, list[Report]] = {}
    for report in reports:
        for name in {Path(report.path).absolute(), (source.parent / report.path).absolute()}:
            found.setdefault(name, []).append(report)
    return found


def fitting(reports: ByFile, source: Path, file: Path, digest: str) -> Report:
    """The report about this file, if its statement is the file's; else one that says what is amiss."""
    found = reports.get(file.absolute(), ())
    reason = ""
    if not found:
        reason = f"not checked: {source} has no report about this file"
    elif len(found) > 1:
        reason = f"not checked: {source} has {len(found)} reports about this file"
    elif found[0].verdict is Verdict.VERIFIED and not (found[0].digest and found[0].digest == digest):
        reason = f"not checked: the statement is not the one that {source} reports on; check the file again"
    elif found[0].digest != digest:
        reason = f"not checked: the file is not the one that {source} reports on; check it again"
    if reason:
        return Report(str(file), Verdict.INCONCLUSIVE, digest=digest, reason=reason)
    return replace(found[0], path=str(file))


def _report(found: Mapping[str, Any]) -> Report:
    """Raises KeyError, TypeError and ValueError for what is no report."""
    for key in _TEXTS:
        _require(found[key], str, key)
    for key in _COUNTS:
        for number in _require(found[key], dict, key).values():
            _require(number, int, key)
    for finding in _require(found["findings"], list, "findings"):
        _require(finding, str, "findings")
    for obligation in _require(found["obligations"], list, "obligations"):
        for key in _OBLIGATION:
            _require(_require(obligation, dict, "obligations")[key], str, f"obligations.{key}")
    _require(found["bits"], int, "bits")
    place = found["place"]
    if place is not None and [type(part) for part in _require(place, list, "place")] != [str, int, str]:
        raise TypeError("place is no file, line and key path")
    return Report.from_dict({name: found[name] for name in Report.__dataclass_fields__})


def _require(value: Any, kind: type, key: str) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"{key} is a {type(value).__name__}, expected a {kind.__name__}")
    return value
