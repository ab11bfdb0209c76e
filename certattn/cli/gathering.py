"""What a page needs of each certificate beside its verdict: its numbers, its picture."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from certattn.cli.confined import find
from certattn.kernel.decide.checker import CheckOptions
from certattn.kernel.document.certificate import load
from certattn.kernel.errors import CertattnError, UsageError
from certattn.report.page.entry import Described, single_numbers
from certattn.statements.reports import Report

_LARGEST = 2**25


def describe(files: Sequence[Path], options: CheckOptions, jobs: int) -> list[Described]:
    """What each file says beyond its verdict; nothing of one that is no certificate."""
    return [Described(**found) for found in find(files, options, jobs, _describe)]


def draw(
    reports: Sequence[Report], options: CheckOptions, jobs: int, patience: int, *, checked: bool
) -> list[tuple[str, str]]:
    """The picture of each verified certificate as SVG, or why there is none; `patience` are seconds for one.

    Where this run has `checked` them a picture says "certified": it is of the very statement that was verified.
    Raises UsageError where matplotlib is missing.
    """
    from certattn.provers.figures import require_matplotlib
    from certattn.provers.plots import warm_up

    require_matplotlib()
    if reports:
        # What every process would do again: importing, and finding fonts.
        warm_up({report.claim for report in reports})
    limits = replace(options.limits, timeout_seconds=min(patience, options.limits.timeout_seconds))
    found = find(
        [Path(report.path) for report in reports],
        replace(options, limits=limits),
        jobs,
        partial(_draw, checked=checked),
    )
    return [_of(report, picture) for report, picture in zip(reports, found, strict=True)]


def _of(report: Report, found: dict[str, str]) -> tuple[str, str]:
    if found.get("picture") and found["digest"] != report.digest:
        return "", "the file has changed since it was checked"
    return found.get("picture", ""), found.get("without", "it could not be drawn in time")


def same_statement(described: Described, report: Report) -> Described:
    """What was read of a file, if that is the statement that the report is about; else nothing."""
    return described if described.digest == report.digest else Described()


def _describe(path: Path, options: CheckOptions) -> dict[str, Any]:
    try:
        certificate = load(path, root=options.root, limits=options.limits)
    except CertattnError:
        return {}
    return {
        "digest": certificate.digest,
        "provenance": certificate.provenance,
        "figures": single_numbers(certificate.plain["asserts"]),
    }


def _draw(path: Path, options: CheckOptions, *, checked: bool) -> dict[str, Any]:
    from certattn.provers.plots import as_svg

    # The process ends with its picture: what would be collected on the way is a tenth of its time.
    gc.disable()
    try:
        certificate = load(path, root=options.root, limits=options.limits)
        picture = as_svg(certificate, checked=checked)
    except UsageError as error:
        return {"without": str(error)}
    except CertattnError:
        return {"without": "what is stated could not be drawn"}
    except Exception as error:
        # A page with all other pictures is worth more than none.
        return {"without": f"drawing it failed, which is a bug in certattn: {type(error).__name__}"}
    if len(picture) > _LARGEST:
        return {"without": "it would be too large"}
    return {"picture": picture, "digest": certificate.digest}
