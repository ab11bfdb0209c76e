"""`certattn trust`."""

from __future__ import annotations

import json
import os
import platform
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click

from certattn.cli.options import reading_limits, root_option, take_limits
from certattn.kernel.decide.checker import CheckOptions
from certattn.kernel.decide.proof import Verdict
from certattn.kernel.errors import UsageError
from certattn.kernel.theorems import CHAPTER_OF
from certattn.report.codes.obligations import page_of
from certattn.report.text import on_one_line
from certattn.statements.checking import check_file
from certattn.statements.trust import Trust, trust_of

EPILOG = """\b
Examples:
  certattn trust cert.yaml              what the verdict on this certificate rests on
  certattn trust max-margin             what verdicts on a claim may rest on
  certattn trust max-margin --plot imports.png
"""


@click.command(epilog=EPILOG)
@click.argument("what", metavar="CERT|CLAIM")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--plot", type=click.Path(path_type=Path), help="Draw how these files import each other.")
@root_option
@reading_limits
def trust(what: str, form: str, plot: Path | None, root: Path | None, **limits: Any) -> None:
    """List the files that a verdict rests on, in an order in which they can be read.

    Of a certificate, which is checked for it, those that its verdict rests on; of a claim, those that a verdict may
    rest on, with what reads array files and with binary64 where it has such.
    """
    verdict, claim, found = _of(what, root, take_limits(limits))
    if plot is not None:
        from certattn.cli.import_picture import draw_imports

        draw_imports(found, plot)
    if form == "json":
        files = [{"file": file.name, "lines": file.lines} for file in found.files]
        content = {
            "of": what,
            "verdict": verdict,
            "proof": page_of(claim, claim),
            **found.to_dict(),
            "listed": files,
            "software": _software(found),
        }
        click.echo(json.dumps(content, indent=2))
        return
    lines = [f"{verdict}  {on_one_line(what)}" if verdict else what, ""]
    room = None
    for file in found.files:
        lines += ["", f"{file.room}:"] if file.room != room and room is not None else []
        room = file.room
        lines.append(f"{file.lines:>6}  {file.name}")
    lines += [
        "",
        f"{found.lines:>6}  lines of code in {len(found.files)} files, without comments and docstrings",
        f" proof  {page_of(claim, claim)}",
        f"sha256  {found.sha256}, over these files",
        f"  with  {', '.join(f'{name} {version}' for name, version in _software(found).items())}",
    ]
    click.echo("\n".join(lines))


def _of(what: str, root: Path | None, limits: Any) -> tuple[str, str, Trust]:
    """The verdict, if a certificate is named, the claim, and the files."""
    if what in CHAPTER_OF and not Path(what).exists():
        return "", what, trust_of(what)
    if not os.path.lexists(what):
        near = get_close_matches(what, CHAPTER_OF)
        hint = f"did you mean {' or '.join(near)}?" if near else "`certattn derive` lists the claims"
        raise UsageError(f"{what!r}: no such file, and no claim of that name\n  hint:     {hint}")
    report = check_file(Path(what), CheckOptions(limits, root))
    if report.verdict is Verdict.MALFORMED:
        raise UsageError(report.reason)
    return report.verdict.value, report.claim, trust_of(report.claim, frozenset(report.rests_on.get("uses", ())))


def _software(found: Trust) -> dict[str, str]:
    """What else a verdict rests on."""
    import flint

    software = {
        "Python": platform.python_version(),
        "python-flint": flint.__version__,
        "FLINT": flint.__FLINT_VERSION__,
    }
    if found.uses_numpy:
        import numpy

        software["numpy"] = numpy.__version__
    return software
