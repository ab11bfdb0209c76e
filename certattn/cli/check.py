"""`certattn check`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from certattn.cli.options import checking_limits, root_option, take_limits, use_color
from certattn.kernel.checker import CheckOptions
from certattn.kernel.errors import UsageError
from certattn.kernel.verdict import Report, Verdict, exit_status
from certattn.kernel.worker import check_files
from certattn.report.formats import FORMATS
from certattn.report.progress import Progress
from certattn.report.text import summary_line, text_of

SUFFIXES = (".yaml", ".yml")

EPILOG = """\b
Examples:
  certattn check cert.yaml                     one certificate
  certattn check certificates/ --jobs 2        a folder, two at a time
  certattn check cert.yaml --explain           every obligation with both enclosures
  certattn check cert.yaml --only 'at_most[7]' one obligation (never gives `verified`)
  certattn check certificates/ --format junit > report.xml

\b
Exit status: 0 all verified; 1 refuted or rejected; 2 malformed or usage;
3 inconclusive; 4 a time or memory limit; 70 a bug; 130 interrupted.
"""


@click.command(epilog=EPILOG)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "--jobs", "-j", type=click.IntRange(1), help="Certificates checked at once; one per processor by default."
)
@click.option("--format", "form", type=click.Choice(["text", *FORMATS]), default="text", show_default=True)
@click.option("--explain", is_flag=True, help="Print every obligation.")
@click.option("--only", metavar="NAME", help="Check only the obligations of this name; * matches anything.")
@click.option("--fail-fast", is_flag=True, help="Stop at the first certificate that is not verified.")
@root_option
@checking_limits
def check(
    paths: tuple[str, ...],
    jobs: int | None,
    form: str,
    explain: bool,
    only: str | None,
    fail_fast: bool,
    root: Path | None,
    **limits: Any,
) -> int:
    """Prove, refute or reject the certificates in files, folders or globs."""
    options = CheckOptions(take_limits(limits), root, only, explain)
    files = find_certificates(paths)
    reports: list[Report] = []
    with Progress(len(files)) as progress:
        checks = check_files(files, options, jobs=jobs or _processors(), started=progress.started)
        for report in checks:
            progress.finished()
            reports.append(report)
            if form == "text":
                progress.clear()
                click.echo(text_of(report, color=use_color()), color=True)
            if fail_fast and report.verdict is not Verdict.VERIFIED:
                checks.close()
                break
    if form != "text":
        click.echo(FORMATS[form](reports))
    elif len(files) > 1:
        click.echo(summary_line(reports, len(files), color=use_color()), color=True)
    sys.stdout.flush()
    return exit_status(reports)


def find_certificates(paths: tuple[str, ...]) -> list[Path]:
    """The certificate files that paths, folders and globs name, in order, each once.

    A path that names nothing is kept, so that it is reported as missing; a folder or glob without
    a certificate is a usage error, because a check of nothing must not look like a success.
    """
    found: dict[Path, None] = {}
    for text in paths:
        path = Path(text)
        if path.is_dir():
            files = sorted(p for p in path.rglob("*") if p.suffix in SUFFIXES and not _hidden(p.relative_to(path)))
            if not files:
                raise UsageError(f"{text}: no certificates ({' or '.join(SUFFIXES)}) in this folder")
        elif any(mark in text for mark in "*?[") and not path.exists():
            import glob

            files = sorted(Path(p) for p in glob.glob(text, recursive=True))  # noqa: PTH207 - absolute globs too
            files = [p for p in files if p.suffix in SUFFIXES]
            if not files:
                raise UsageError(f"{text}: no certificate matches")
        else:
            files = [path]
        found.update(dict.fromkeys(files))
    return list(found)


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
