"""What commands ask of certificate files beside a verdict, in processes as confined as those that check.

Such a process sends a `Report`; what was found is in its `reason`, as JSON, under the claim FOUND.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from certattn.isolation.worker import Check, check_files
from certattn.kernel.decide.checker import CheckOptions
from certattn.kernel.decide.proof import Verdict
from certattn.report.progress import Progress
from certattn.statements.checking import check_file
from certattn.statements.reports import Report

FOUND = "found"

# What is asked of a file: the answer as data for JSON.
Question = Callable[[Path, CheckOptions], dict[str, Any]]


def gather(files: Sequence[Path], options: CheckOptions, jobs: int, check: Check = check_file) -> list[Report]:
    """What `check` says of each file, in a process of its own; by default what a check says."""
    found: list[Report] = []
    with Progress(len(files)) as progress:
        reports = check_files(
            files,
            options,
            jobs=jobs,
            check=check,
            started=progress.started,
            waited=progress.waited,
            left=progress.left,
        )
        with closing(reports):
            for report in reports:
                progress.finished()
                found.append(report)
    return found


def find(files: Sequence[Path], options: CheckOptions, jobs: int, question: Question) -> list[dict[str, Any]]:
    """The answer of each file; an empty one where a process ended without one."""

    def answer(path: Path, options: CheckOptions) -> Report:
        # Never a verdict that could pass for one.
        return Report(str(path), Verdict.INCONCLUSIVE, claim=FOUND, reason=json.dumps(question(path, options)))

    reports = gather(files, options, jobs, answer)
    return [json.loads(report.reason) if report.claim == FOUND else {} for report in reports]
