"""The options --cache and --cache-dir of `certattn check`, and whether they count."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from certattn.report.text import on_one_line

if TYPE_CHECKING:
    from certattn.cache.cache import Cache

F = TypeVar("F", bound=Callable[..., Any])
_NOT_SET = ("", "0", "false")


cache_dir_option = click.option(
    "--cache-dir",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the cache; certattn in your folder of caches by default.",
)


def cache_options(command: F) -> F:
    command = cache_dir_option(command)
    return click.option(
        "--cache/--no-cache", default=False, help="Look up what was verified before, and note what is now."
    )(command)


def open_cache(context: click.Context, wanted: bool, folder: Path | None) -> Cache | None:
    """The cache, if one is wanted and can be used; a line on the error stream says what keeps it from being used."""
    stated = context.get_parameter_source("cache") is ParameterSource.COMMANDLINE
    if stated and not wanted and folder is not None:
        raise click.UsageError("--no-cache and --cache-dir exclude each other")
    if not wanted and folder is None:
        return None
    if not stated and folder is None and os.environ.get("CI", "").lower() not in _NOT_SET:
        _say("no cache: settings alone do not turn it on in CI, where CI is set; --cache does")
        return None
    # Imported here: a check without a cache starts without it.
    from certattn.cache.cache import Cache
    from certattn.cache.errors import UnusableError

    try:
        return Cache(folder, lambda message: _say(f"cache: {message}"))
    except UnusableError as error:
        _say(f"no cache: {error}")
        return None


def _say(message: str) -> None:
    # Where nobody can read it, the check goes on.
    with suppress(OSError):
        click.echo(on_one_line(f"certattn: {message}"), err=True)
