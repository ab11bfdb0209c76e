"""`certattn init`."""

from __future__ import annotations

import os
from pathlib import Path

import click

from certattn.bundle.lock import LOCK
from certattn.cli.scaffold import ATTRIBUTES, CI_SYSTEMS, FOLDER, HOOK, REQUIREMENT, WHEEL, files
from certattn.kernel.errors import UsageError
from certattn.report.text import on_one_line

EPILOG = """\b
Examples:
  certattn init
  certattn init --ci github
  certattn init paper --ci gitlab --install ./vendor/certattn --dry-run
"""


@click.command(epilog=EPILOG)
@click.argument("folder", metavar="[DIR]", default=".")
@click.option("--ci", type=click.Choice(CI_SYSTEMS), help="CI system to set up.")
@click.option(
    "--install",
    "requirement",
    metavar="REQ",
    help=f"What pip installs there: a wheel, a folder, an address.  [default: {REQUIREMENT}]",
)
@click.option("--dry-run", is_flag=True, help="Write nothing; say what would be written.")
def init(folder: str, ci: str | None, requirement: str | None, dry_run: bool) -> None:
    """Set up a repository: an example certificate, a pre-commit hook, .gitattributes; with --ci, a CI job.

    Existing files are left as they are. Where there is a certattn.lock, the job checks against it.
    """
    _look_at(ci, requirement)
    top = Path(folder)
    if os.path.lexists(top) and not top.is_dir():
        raise UsageError(f"{folder}: not a folder; expected one to set up, or a name for a new one")
    wanted = files(ci, requirement or REQUIREMENT, locked=(top / LOCK).is_file())
    left = [path for path, text in wanted.items() if not _write(top, path, text, dry_run=dry_run)]
    if ".pre-commit-config.yaml" in left and _lacks(top / ".pre-commit-config.yaml", b"certattn-check"):
        click.echo(f"to check before each commit, put this under `repos:` there:\n\n{HOOK}")
    if ".gitattributes" in left and _lacks(top / ".gitattributes", b"binary"):
        click.echo(f"so that git does not change line ends in arrays, put this into .gitattributes:\n\n{ATTRIBUTES}")
    if dry_run:
        return
    if ci and (requirement or REQUIREMENT) == WHEEL and not (top / WHEEL).exists():
        click.echo(
            f"the job installs {WHEEL}, which is not there yet: build it from a copy of certattn's sources with\n"
            f"  pip wheel --no-deps --wheel-dir {on_one_line(folder)} PATH-TO-CERTATTN"
        )
    where = "" if top.resolve() == Path.cwd() else f"cd {on_one_line(folder)} && "
    click.echo(f"now prove what is there: {where}certattn check {FOLDER}")


def _look_at(ci: str | None, requirement: str | None) -> None:
    if requirement is not None and ci is None:
        raise UsageError(f"--install {on_one_line(requirement)} is for a CI system, expected --ci beside it")
    if requirement is not None and (
        not requirement.isprintable() or not requirement.strip() or requirement.startswith("-")
    ):
        raise UsageError(f"--install is {requirement!r}, expected what pip installs, on one line")


def _lacks(path: Path, words: bytes) -> bool:
    """Whether a file that is there and can be read does not have these words in it."""
    return path.is_file() and words not in path.read_bytes()


def _write(top: Path, path: str, text: str, *, dry_run: bool) -> bool:
    """Write a file that is not there, and say so; whether it was not there."""
    target = top / path
    shown = on_one_line(os.path.normpath(target))
    if os.path.lexists(target):
        click.echo(f"left {shown} as it is")
        return False
    if dry_run:
        click.echo(f"would write {shown}")
        return True
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(target, "x", encoding="utf-8") as file:
        file.write(text)
    click.echo(f"wrote {shown}")
    return True
