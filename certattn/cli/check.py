"""`certattn check`."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Iterable, Sequence
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from certattn.cli.globs import give_up, is_pattern, matching
from certattn.cli.no_certificates import is_input, with_hint
from certattn.cli.options import arithmetic_option, checking_limits, jobs_option, processors, root_option, take_limits
from certattn.cli.report_files import named_reports, open_reports
from certattn.cli.sources import Files, Source
from certattn.cli.statuses import refused_by_the_system
from certattn.isolation.sandbox import active_layers
from certattn.isolation.worker import check_files
from certattn.kernel.decide.checker import CheckOptions
from certattn.kernel.decide.proof import Verdict
from certattn.kernel.errors import UsageError
from certattn.report.formats import FORMATS
from certattn.report.progress import Progress
from certattn.report.screen import is_coloured
from certattn.report.text import on_one_line, summary_line, text_of
from certattn.statements.reports import Report, exit_status
from certattn.strict import check_strictly, strict_options

if TYPE_CHECKING:
    from certattn.cli.locked import Held

SUFFIXES = (".yaml", ".yml")


EPILOG = """\b
Examples:
  certattn check cert.yaml                     one certificate
  certattn check certificates/ --jobs 2        a folder, two at a time
  certattn check 'runs/*/head?.yaml'           a glob; ** matches folders of any depth
  certattn check cert.yaml --explain           every obligation with both enclosures
  certattn check paper/ --strict               for a paper: with the second checker
  certattn check cert.yaml --only 'at_most[7]' one obligation (never gives `verified`)
  certattn check certificates/ --report junit=report.xml
  certattn check paper.zip                     an archive from certattn bundle
  certattn check certificates/ --locked        the statements that certattn.lock promises

\b
Exit status: 0 all verified; 1 refuted or rejected; 2 malformed or usage;
3 inconclusive; 4 a resource limit; 70 a bug; 130 interrupted.
"""


@click.command(epilog=EPILOG)
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@jobs_option
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", *FORMATS]),
    default="text",
    show_default=True,
    help="For people, programs or CI systems.",
)
@click.option(
    "--report",
    "files",
    multiple=True,
    callback=named_reports,
    metavar="FORM=FILE",
    help="Also write a report in another format to a file, emptied before the checks. May be repeated.",
)
@arithmetic_option
@click.option(
    "--strict",
    is_flag=True,
    help="For papers: Arb alone, a separate interpreter for each, and the second checker where it covers the claim. "
    "Not for archives.",
)
@click.option(
    "--locked",
    is_flag=True,
    help="Reject what does not state what certattn.lock promises, and what is promised and missing.",
)
@click.option("--lock", "lock_file", type=click.Path(path_type=Path), metavar="FILE", help="Do so with this lock.")
@click.option("--no-unlocked", is_flag=True, help="With a lock: also reject what is not in it.")
@click.option("--explain", is_flag=True, help="Print every obligation.")
@click.option(
    "--only",
    metavar="NAME",
    help="Check only the obligations of this name; * matches anything. The verdict is never `verified`.",
)
@click.option("--verbose", is_flag=True, help="Say on standard error how the checking processes are confined.")
@click.option(
    "--fail-fast",
    is_flag=True,
    help="Stop at the first certificate that is not verified; reports list the others as inconclusive.",
)
@root_option
@checking_limits
def check(
    paths: tuple[str, ...],
    jobs: int | None,
    form: str,
    files: list[tuple[str, str]],
    arithmetic: str,
    strict: bool,
    locked: bool,
    lock_file: Path | None,
    no_unlocked: bool,
    explain: bool,
    only: str | None,
    verbose: bool,
    fail_fast: bool,
    root: Path | None,
    **limits: Any,
) -> int:
    """Prove, refute or reject the certificates in files, folders or globs, or in an archive.

    A file is checked whatever it is called. A folder or a .zip archive stands for all .yaml and .yml files in it and
    below, except hidden ones and those behind links to folders. Reports come in the order of the paths.
    """
    if not paths and not locked and not lock_file:
        raise click.UsageError("nothing to check: name a certificate, a folder or a glob")
    if no_unlocked and not locked and not lock_file:
        raise click.UsageError("--no-unlocked is for --locked or --lock FILE")
    options = CheckOptions(take_limits(limits), root, only, explain, arithmetic)
    if strict:
        options = strict_options(options)
    source = _source(paths, options, strict=strict)
    certificates, promised = list(source.certificates), None
    if locked or lock_file:
        from certattn.cli.locked import hold

        certificates, promised = hold(source, lock_file, options, exact=no_unlocked)
    reports: list[Report] = []
    try:
        with ExitStack() as stack:
            # Opened first: a check that is interrupted leaves an empty report, not an old one.
            outputs = open_reports(files, certificates, stack)
            checks = _check_all(
                certificates, source, options, jobs, form, promised, strict=strict, verbose=verbose, fail_fast=fail_fast
            )
            # What has been printed and is in no other report is not kept: a process that is forked for the next
            # certificate costs more, the more memory there is.
            kept = _counted if form == "text" and not files else _whole
            reports.extend(map(kept, stack.enter_context(closing(checks))))
            # Whoever reads a file sees those that were not reached, too.
            listed = [*reports, *_not_reached(certificates[len(reports) :], reports)]
            for kind, output in outputs:
                output.write(FORMATS[kind](listed) + "\n")
        _conclude(form, reports, listed)
    except BrokenPipeError:
        raise
    except OSError as error:
        # What cannot be written must not hide what is known by now.
        if exit_status(reports) in (0, 4) or not reports:
            raise
        with suppress(OSError):
            click.echo(f"certattn: {refused_by_the_system(error)[0]}", err=True)
    return exit_status(reports)


def _source(paths: tuple[str, ...], options: CheckOptions, *, strict: bool) -> Source:
    """The files that are named, or the members of the one archive that is. Raises UsageError or MalformedError."""
    archives = [path for path in map(Path, paths) if path.suffix.lower() == ".zip" and not path.is_dir()]
    if not archives:
        return Files(find_certificates(paths))
    for path in archives:
        if not path.exists():
            raise UsageError(f"{path}: no such file; expected an archive as `certattn bundle` writes it")
    from certattn.cli.members import members_of

    if len(paths) > 1:
        raise UsageError(f"{archives[0]}: an archive is checked by itself; name only the archive")
    if strict:
        raise UsageError(
            f"{archives[0]}: --strict takes files and folders, as the second checker reads no archive; unpack it, and "
            "then: certattn check DIR --strict"
        )
    return members_of(archives[0], SUFFIXES, options)


def _whole(report: Report) -> Report:
    return report


def _counted(report: Report) -> Report:
    """What a summary and the exit status need of a report."""
    total = {name: spent for name, spent in report.nanoseconds.items() if name == "total"}
    return Report("", report.verdict, claim=sys.intern(report.claim), limit=report.limit, nanoseconds=total)


def _conclude(form: str, reports: Sequence[Report], listed: Sequence[Report]) -> None:
    """Print what comes when all checks are done."""
    if form != "text":
        click.echo(FORMATS[form](listed))
    elif len(listed) > 1:
        click.echo(summary_line(reports, len(listed), color=is_coloured(sys.stdout)), color=True)
    sys.stdout.flush()


def _check_all(
    files: list[Path],
    source: Source,
    options: CheckOptions,
    jobs: int | None,
    form: str,
    promised: Held | None,
    *,
    strict: bool,
    verbose: bool,
    fail_fast: bool,
) -> Generator[Report, None, None]:
    """The reports, in the order of the files; the text format is printed as they come."""
    if verbose:
        click.echo(f"each check is confined by {', '.join(active_layers())}", err=True)
    present = files if promised is None else files[: len(files) - len(promised.missing)]
    with Progress(len(files)) as progress:
        if strict:
            from certattn.isolation.fresh import check_in_new_interpreters

            checks = check_in_new_interpreters(
                present, options, jobs=jobs or processors(), check=check_strictly, started=progress.started
            )
        else:
            checks = check_files(
                present,
                options,
                jobs=jobs or processors(),
                check=source.check,
                started=progress.started,
                waited=progress.waited,
                left=progress.left,
            )
        with closing(checks):
            for found in checks if promised is None else promised.apply(checks):
                report = with_hint(found) if found.verdict is Verdict.MALFORMED else found
                progress.finished()
                yield report
                if form == "text":
                    progress.clear()
                    click.echo(text_of(report, color=is_coloured(sys.stdout)), color=True)
                if fail_fast and report.verdict is not Verdict.VERIFIED:
                    break


def _not_reached(files: Sequence[Path], reports: Sequence[Report]) -> list[Report]:
    """What --fail-fast left; the limit is the one that ended the last check, so that the status stays."""
    reason = "not checked: --fail-fast stopped before it"
    return [Report(str(path), Verdict.INCONCLUSIVE, reason=reason, limit=reports[-1].limit) for path in files]


def find_certificates(paths: tuple[str, ...]) -> list[Path]:
    """The certificate files that paths, folders and globs name, in order, each once.

    A path that names nothing is kept, so that it is reported as missing; a folder or glob without
    a certificate is a usage error, because a check of nothing must not look like a success. Of what nobody has named,
    inputs of `certattn generate` are left out, and that is said.
    """
    found: dict[Path, Path] = {}
    left_out: dict[Path, None] = {}
    for text in paths:
        for path in _named(text, left_out):
            found.setdefault(path.absolute(), path)
    for path in left_out:
        if path.absolute() not in found:
            what = "an input of `certattn generate`, not a certificate: left out"
            click.echo(f"certattn: note: {on_one_line(str(path))}: {what}", err=True)
    return list(found.values())


def _named(text: str, left_out: dict[Path, None]) -> list[Path]:
    """The certificates that one argument names; what is found and is none goes into `left_out`."""
    if not text:
        raise UsageError("an empty path: expected a certificate, a folder or a glob")
    path = Path(text)
    if is_pattern(text) and not os.path.lexists(path):
        files = [file for match in matching(text) for file in (_below(match) if match.is_dir() else [match])]
        files = _without_inputs((file for file in files if file.suffix in SUFFIXES), left_out)
        if not files:
            raise UsageError(f"{text}: no certificate ({' or '.join(SUFFIXES)}) matches")
        return files
    if not path.is_dir():
        return [path]
    files = _without_inputs(_below(path), left_out)
    if not files:
        raise UsageError(f"{text}: no certificates ({' or '.join(SUFFIXES)}) in this folder")
    return files


def _without_inputs(files: Iterable[Path], left_out: dict[Path, None]) -> list[Path]:
    kept: list[Path] = []
    for file in files:
        if is_input(file):
            left_out[file] = None
        else:
            kept.append(file)
    return kept


def _below(folder: Path) -> list[Path]:
    """The certificates in a folder and below. Raises OSError where a folder cannot be read."""
    found: list[Path] = []
    for parent, folders, names in os.walk(folder, onerror=give_up):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [Path(parent, name) for name in names if name.endswith(SUFFIXES) and not name.startswith(".")]
    return sorted(found)
