"""`certattn cache`: what is in a cache, and clearing it."""

from __future__ import annotations

from pathlib import Path

import click

from certattn.cache.entries import clear, entry_files
from certattn.cache.errors import UnusableError
from certattn.cache.folder import users_folder
from certattn.cache.program import program_digest
from certattn.cli.caching import cache_dir_option
from certattn.kernel.errors import UsageError
from certattn.report.text import on_one_line

EPILOG = """\b
Examples:
  certattn check certificates/ --cache   look up what was verified before
  certattn cache                         what has been noted
  certattn cache --clear                 forget it
"""


@click.command(epilog=EPILOG)
@cache_dir_option
@click.option("--clear", "clearing", is_flag=True, help="Remove all entries; the key stays.")
def cache(cache_dir: Path | None, clearing: bool) -> None:
    """Say what `certattn check --cache` has noted, or forget it."""
    try:
        folder = users_folder() if cache_dir is None else cache_dir
    except UnusableError as error:
        raise UsageError(str(error)) from None
    if clearing:
        click.echo(on_one_line(f"{folder}: {_entries(clear(folder))} removed"))
        return
    files = list(entry_files(folder))
    size = sum(file.lstat().st_size for file in files)
    click.echo(on_one_line(f"{folder}: {_entries(len(files))}, {size} bytes"))
    try:
        program = program_digest()
    except UnusableError as error:
        click.echo(on_one_line(f"none can be used now: {error}"))
        return
    own = sum(file.parent.name == program for file in files)
    click.echo(f"{own} of this program ({program}), {len(files) - own} of others")


def _entries(count: int) -> str:
    return "1 entry" if count == 1 else f"{count} entries"
