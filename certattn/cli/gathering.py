"""What a page needs of each certificate beside its verdict, found in processes as confined as those that check.

Such a process sends a `Report`; here its `reason` carries what was found, as JSON, under the claim FOUND.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from certattn.isolation.worker import Check, check_files
from certattn.kernel.decide.checker import CheckOptions
from certattn.kernel.decide.proof import Verdict
from certattn.kernel.document.certificate import load
from certattn.kernel.errors import CertattnError, UsageError
from certattn.report.page.entry import Described, single_numbers
from certattn.report.progress import Progress
from certattn.statements.checking import check_file
from certattn.statements.reports import Report
from certattn.statements.wording import statement_of

_FOUND = "found"
_LARGEST = 2**25


def describe(files: Sequence[Path], options: CheckOptions, jobs: int) -> list[Described]:
    """What each file says beyond its verdict; nothing of one that is no certificate."""
    return [Described(**found) for found in _find(files, options, jobs, _describe)]


def draw(reports: Sequence[Report], options: CheckOptions, jobs: int, patience: int) -> list[tuple[str, str]]:
    """The picture of each verified certificate as SVG, or why there is none; `patience` are seconds for one.

    A picture says "certified": it is of the very statement that was verified.
    Raises UsageError where matplotlib is missing.
    """
    from certattn.provers.figures import require_matplotlib, warm_up

    require_matplotlib()
    if reports:
        # What every process would do again: importing, and finding fonts.
        warm_up()
    limits = replace(options.limits, timeout_seconds=min(patience, options.limits.timeout_seconds))
    found = _find([Path(report.path) for report in reports], replace(options, limits=limits), jobs, _draw)
    return [_of(report, picture) for report, picture in zip(reports, found, strict=True)]


def _of(report: Report, found: dict[str, str]) -> tuple[str, str]:
    if found.get("picture") and found["digest"] != report.digest:
        return "", "the file has changed since it was checked"
    return found.get("picture", ""), found.get("without", "it could not be drawn in time")


def same_statement(described: Described, report: Report) -> Described:
    """What was read of a file, if that is the statement that the report is about; else nothing."""
    return described if described.digest == report.digest else Described()


def gather(files: Sequence[Path], options: CheckOptions, jobs: int, find: Check = check_file) -> list[Report]:
    """What `find` says of each file, in a process of its own; by default what a check says."""
    found: list[Report] = []
    with Progress(len(files)) as progress:
        reports = check_files(
            files,
            options,
            jobs=jobs,
            check=find,
            started=progress.started,
            waited=progress.waited,
            left=progress.left,
        )
        with closing(reports):
            for report in reports:
                progress.finished()
                found.append(report)
    return found


def _find(files: Sequence[Path], options: CheckOptions, jobs: int, find: Check) -> list[dict[str, Any]]:
    """What `find` sent of each file; nothing where it sent nothing, or ended at a limit."""
    reports = gather(files, options, jobs, find)
    return [json.loads(report.reason) if report.claim == _FOUND else {} for report in reports]


def _sent(path: Path, found: dict[str, Any]) -> Report:
    # Never a verdict that could pass for one.
    return Report(str(path), Verdict.INCONCLUSIVE, claim=_FOUND, reason=json.dumps(found))


def _describe(path: Path, options: CheckOptions) -> Report:
    try:
        certificate = load(path, root=options.root, limits=options.limits)
        latex = statement_of(certificate).latex
    except CertattnError:
        return _sent(path, {})
    return _sent(
        path,
        {
            "latex": latex,
            "digest": certificate.digest,
            "provenance": certificate.provenance,
            "figures": single_numbers(certificate.plain["asserts"]),
        },
    )


def _draw(path: Path, options: CheckOptions) -> Report:
    from certattn.provers.plots import PICTURES, as_svg

    try:
        certificate = load(path, root=options.root, limits=options.limits)
        if certificate.claim not in PICTURES:
            return _sent(path, {"without": ""})
        picture = as_svg(certificate, checked=True)
    except UsageError as error:
        return _sent(path, {"without": str(error)})
    except CertattnError:
        return _sent(path, {"without": "what is stated could not be drawn"})
    if len(picture) > _LARGEST:
        return _sent(path, {"without": "it would be too large"})
    return _sent(path, {"picture": picture, "digest": certificate.digest})
