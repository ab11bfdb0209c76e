"""`certattn sweep`."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from certattn._version import __version__
from certattn.cli.options import arithmetic_option, checking_limits, format_option, goes_on, processors, take_limits
from certattn.kernel.decide.proof import Verdict
from certattn.kernel.errors import UsageError
from certattn.report.progress import Progress
from certattn.report.text import on_one_line
from certattn.statements.reports import Report, exit_status
from certattn.sweep.index import WAITING, Entry, read_index
from certattn.sweep.results import CHECKED, Result
from certattn.sweep.tasks import Settings

EPILOG = """\b
Examples:
  certattn sweep heads.yaml -o runs/                     make and check what is not there yet
  certattn sweep heads.yaml -o runs/ --timeout 60        at most a minute for making, and for checking, each
  certattn sweep --status runs/                          what has come of it
  certattn check runs/certificates                       prove it all once more

\b
A spec, for example
  certattn-sweep: 1
  claim: softmax-mean
  arrays:
    keys: {draw: normal, shape: [$n, 2], seed: $seed}
    values: {draw: normal, shape: [$n, 2], seed: $seed}
    queries: {draw: normal, shape: [1, 2], seed: $seed}
  inputs: {scale: 1/sqrt(2)}
  grid:
    n: [4, 8]
    seed: {from: 0, to: 99}

\b
Exit status: that of `certattn check` over all tasks; 4 where tasks were not done.
"""
# Most tasks that are listed where they are not verified; the index has all.
_MOST_LISTED = 20


@click.command(epilog=EPILOG)
@click.argument("spec", required=False, metavar="SPEC", type=click.Path(path_type=Path))
@click.option("-o", "--out", metavar="DIR", type=click.Path(path_type=Path), help="The folder for what is made.")
@click.option(
    "--status", metavar="DIR", type=click.Path(path_type=Path), help="Say what has come of the sweep in a folder."
)
@click.option(
    "--jobs", "-j", type=click.IntRange(1), metavar="N", help="Tasks done at once; one per processor by default."
)
@format_option
@arithmetic_option
@checking_limits
def sweep(
    spec: Path | None,
    out: Path | None,
    status: Path | None,
    jobs: int | None,
    form: str,
    arithmetic: str,
    **limits: Any,
) -> int:
    """Make and check the certificates that a spec describes.

    Each task makes one certificate in a folder of its own below DIR/certificates. The same command goes on where an
    earlier one was interrupted: what is there is not made again.
    """
    settings = Settings(take_limits(limits), arithmetic)
    if status is not None:
        if spec is not None or out is not None:
            raise UsageError("--status says what is in a folder; it goes without SPEC and -o")
    elif spec is None or out is None:
        raise UsageError("expected SPEC and -o DIR, or --status DIR")
    else:
        with goes_on():
            _run(spec, out, settings, jobs or processors())
    entries = read_index(status or out or Path())
    reports = [_report(entry) for entry in entries]
    code = exit_status(reports)
    click.echo(_as_json(entries, reports, code) if form == "json" else _as_text(entries, reports), color=True)
    sys.stdout.flush()
    return code


def _run(path: Path, out: Path, settings: Settings, jobs: int) -> None:
    from certattn.sweep.slots import do_locally
    from certattn.sweep.spec import read_spec
    from certattn.sweep.sweep import run_sweep

    spec = read_spec(path)
    with Progress(len(spec.rows)) as progress:

        def begun(done: int, total: int) -> None:
            progress.finished(done)
            progress.waited()

        def told(result: Result | None) -> None:
            if result is not None:
                progress.finished()
            progress.waited()

        run_sweep(spec, out, settings, partial(do_locally, jobs=jobs), begun=begun, told=told)


def _report(entry: Entry) -> Report:
    """What came of a task; of one that waits, that nothing is known."""
    if entry.report is not None and entry.state != WAITING:
        return entry.report
    return Report("", Verdict.INCONCLUSIVE, entry.claim, reason="not done yet", limit="processes")


def _as_json(entries: Sequence[Entry], reports: Sequence[Report], code: int) -> str:
    tasks = [
        {"position": entry.position, "fields": entry.fields, "state": entry.state, "report": report.to_dict()}
        for entry, report in zip(entries, reports, strict=True)
    ]
    return json.dumps({"certattn": __version__, "exit_status": code, "tasks": tasks}, indent=2)


def _as_text(entries: Sequence[Entry], reports: Sequence[Report]) -> str:
    """A table of states and verdicts, and the tasks that are not verified."""
    counts = Counter(map(_outcome, entries, reports))
    width = max(map(len, counts), default=0)
    lines = [f"{len(entries)} task{'s' if len(entries) != 1 else ''}"]
    lines += [f"  {outcome:<{width}}  {count}" for outcome, count in sorted(counts.items())]
    open_ones = [pair for pair in zip(entries, reports, strict=True) if pair[1].verdict is not Verdict.VERIFIED]
    told = [pair for pair in open_ones if pair[0].state != WAITING]
    for entry, report in told[:_MOST_LISTED]:
        fields = ", ".join(f"{name}={_shown(value)}" for name, value in entry.fields.items())
        # All lines of it: what was found and what was expected stand on those after the first.
        reason = "; ".join(line.strip() for line in report.reason.split("\n") if line.strip())
        reason = reason or (report.findings[0] if report.findings else "")
        lines.append(on_one_line(f"{_outcome(entry, report)}: {fields or report.path}: {reason}"))
    if len(told) > _MOST_LISTED:
        lines.append(f"and {len(told) - _MOST_LISTED} more, which --format json lists")
    return "\n".join(lines)


def _outcome(entry: Entry, report: Report) -> str:
    return report.verdict.value if entry.state == CHECKED else entry.state


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
