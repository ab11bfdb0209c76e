"""`certattn report`."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from certattn.cli.check import find_certificates
from certattn.cli.options import arithmetic_option, checking_limits, jobs_option, processors, root_option, take_limits
from certattn.extras import require_extras
from certattn.kernel.decide.checker import CheckOptions
from certattn.kernel.errors import UsageError
from certattn.report.text import on_one_line, summary_line
from certattn.statements.reports import Report, exit_status

# Endings of names, and the format that each is of; _OTHERS are of none that is written here.
_ENDINGS = {".html": "html", ".htm": "html", ".md": "markdown", ".markdown": "markdown"}
_OTHERS = (".json", ".pdf", ".png", ".svg", ".xml")

EPILOG = """\b
Examples:
  certattn report certificates/ -o report.html          check, and write a page
  certattn report audit/ --format markdown -o audit.md
  certattn report certificates/ --from reports.json -o report.html
                                                        what `check --format json` printed
  certattn report runs/certificates --from runs/index.sqlite -o report.html
                                                        what `sweep` found

\b
Exit status: as that of `certattn check`, of the verdicts on the page.
"""


@click.command(epilog=EPILOG)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("-o", "--out", required=True, type=click.Path(dir_okay=False, path_type=Path), help="The page to write.")
@click.option("--format", "form", type=click.Choice(["html", "markdown"]), default="html", show_default=True)
@click.option(
    "--from",
    "source",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Check nothing: take the reports that `check --format json` printed into this file, or a sweep's index.",
)
@click.option("--pictures/--no-pictures", default=True, show_default=True, help="Draw what is verified.")
@click.option(
    "--patience", type=click.IntRange(1), default=20, show_default=True, metavar="N", help="Seconds for a picture."
)
@jobs_option
@arithmetic_option
@root_option
@checking_limits
def report(
    paths: tuple[str, ...],
    out: Path,
    form: str,
    source: Path | None,
    pictures: bool,
    patience: int,
    jobs: int | None,
    arithmetic: str,
    root: Path | None,
    **limits: Any,
) -> int:
    """Check certificates and write what came out as one page.

    The page says what each certificate states, how much its proof has to spare, and on what it rests. It is one file
    that loads nothing, and its links to the certificates are relative to it.
    """
    from certattn.cli.confined import gather
    from certattn.cli.gathering import describe, draw, same_statement
    from certattn.provers.output import require_place, write_file
    from certattn.report.page.audits import missing_of, others_of
    from certattn.report.page.content import Content
    from certattn.report.page.entry import Entry

    options = CheckOptions(take_limits(limits), root, detail=True, arithmetic=arithmetic)
    files = find_certificates(paths)
    require_ending(out, form)
    require_place(out, *files, source)
    require_libraries(form, pictures)
    workers = jobs or processors()
    described = describe(files, options, workers)
    if source is None:
        reports = gather(files, options, workers)
    else:
        from certattn.report.page.earlier import by_file, fitting

        earlier = by_file(_earlier(source), source)
        reports = [fitting(earlier, source, f, d.digest) for f, d in zip(files, described, strict=True)]
    described = [same_statement(found, said) for found, said in zip(described, reports, strict=True)]
    entries = [
        Entry(file, said, source is None, found) for file, said, found in zip(files, reports, described, strict=True)
    ]
    if pictures and form == "html":
        from certattn.provers.plots import PICTURES

        # Only what is verified has a picture; one of an earlier check says that nothing was checked for it.
        wanted = [number for number, entry in enumerate(entries) if entry.verified]
        drawn = draw([reports[number] for number in wanted], options, workers, patience, checked=source is None)
        for number, (picture, without) in zip(wanted, drawn, strict=True):
            shows = PICTURES[reports[number].claim][1]
            entries[number] = replace(entries[number], picture=picture, without_picture=without, picture_shows=shows)
    when = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    folders = [Path(path) for path in paths]
    content = Content(entries, out.parent, when, str(source or ""), missing_of(folders), others_of(folders, files))
    write_file(out, _text(content, form).encode("utf-8"))
    click.echo(f"wrote {on_one_line(str(out))}")
    click.echo(summary_line(reports, len(files), color=False))
    return exit_status(reports)


def require_ending(out: Path, form: str) -> None:
    """Raises UsageError where the file's name says that it is of another format."""
    ending = out.suffix.lower()
    if ending in (*_ENDINGS, *_OTHERS) and _ENDINGS.get(ending) != form:
        ending = next(each for each, kind in _ENDINGS.items() if kind == form)
        raise UsageError(f"{out}: expected a name that ends in {ending} for a page of --format {form}")


def _earlier(source: Path) -> list[Report]:
    """The reports of an earlier check, or of a sweep. Raises UsageError."""
    from certattn.report.page.earlier import read_reports, reports_of
    from certattn.sweep.index import INDEX, WAITING, read_index

    if source.name != INDEX:
        return read_reports(source)
    entries = [entry for entry in read_index(source.parent) if entry.state != WAITING]
    try:
        return reports_of(json.loads(json.dumps(entry.report.to_dict())) for entry in entries if entry.report)
    except (ValueError, TypeError, KeyError) as error:
        raise UsageError(f"{source}: {str(error)[:200]}; expected the index of a sweep") from None


def require_libraries(form: str, pictures: bool) -> None:
    """Raises UsageError where the page could not be written in the end, before any work is done."""
    if form != "html":
        return
    otherwise = "--format markdown does without" + (", --no-pictures without matplotlib" if pictures else "")
    require_extras("pages", "report", *(("plot",) if pictures else ()), otherwise=otherwise)


def _text(content: Any, form: str) -> str:
    if form == "markdown":
        from certattn.report.page.markdown import as_markdown

        return as_markdown(content)
    from certattn.report.page.html import as_html

    return as_html(content)
