"""`certattn init`."""

from __future__ import annotations

import os
from pathlib import Path

import click

from certattn.cli.scaffold import CI_SYSTEMS, FOLDER, HOOK, files
from certattn.kernel.errors import UsageError
from certattn.report.text import on_one_line

EPILOG = """\b
Examples:
  certattn init
  certattn init paper --ci github --install ./certattn --dry-run
"""


@click.command(epilog=EPILOG)
@click.argument("folder", metavar="[DIR]", default=".")
@click.option("--ci", type=click.Choice(CI_SYSTEMS), help="CI system to set up; needs --install.")
@click.option(
    "--install",
    "requirement",
    metavar="REQ",
    help="What pip installs there: a folder of the repository, or an address.",
)
@click.option("--dry-run", is_flag=True, help="Write nothing; say what would be written.")
def init(folder: str, ci: str | None, requirement: str | None, dry_run: bool) -> None:
    """Set up a repository: an example certificate, a pre-commit hook; with --ci, a CI job.

    Files that are there are left as they are.
    """
    _look_at(ci, requirement)
    top = Path(folder)
    if os.path.lexists(top) and not top.is_dir():
        raise UsageError(f"{folder}: not a folder; expected one to set up, or a name for a new one")
    left = [path for path, text in files(ci, requirement or "").items() if not _write(top, path, text, dry_run=dry_run)]
    if ".pre-commit-config.yaml" in left and b"certattn-check" not in (top / ".pre-commit-config.yaml").read_bytes():
        click.echo(f"to check before each commit, put this under `repos:` there:\n\n{HOOK}")
    if dry_run:
        return
    where = "" if top.resolve() == Path.cwd() else f"cd {on_one_line(folder)} && "
    click.echo(f"now prove what is there: {where}certattn check {FOLDER}")


def _look_at(ci: str | None, requirement: str | None) -> None:
    # The name alone is no default: whoever registers it in an index would run code in the CI system.
    if ci and requirement is None:
        raise UsageError(
            f"--ci {ci} needs --install, what pip installs there: `--install ./certattn` for a copy in the repository, "
            "or an address of yours"
        )
    if requirement is not None and ci is None:
        raise UsageError(f"--install {on_one_line(requirement)} is for a CI system, expected --ci beside it")
    if requirement is not None and (
        not requirement.isprintable() or not requirement.strip() or requirement.startswith("-")
    ):
        raise UsageError(f"--install is {requirement!r}, expected what pip installs, on one line")


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
