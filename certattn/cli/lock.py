"""`certattn lock`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from certattn.cli.check import find_certificates
from certattn.cli.options import reading_limits, root_option, take_limits
from certattn.cli.scaffold import JOBS
from certattn.report.text import on_one_line

if TYPE_CHECKING:
    from certattn.bundle.lock import Promise
    from certattn.kernel.decide.checker import CheckOptions
    from certattn.kernel.limits import Limits

EPILOG = """\b
Examples:
  certattn lock certificates/                     write certattn.lock
  certattn lock                                   the same files again, after a change that is meant
  certattn lock paper/ -o paper/certattn.lock     paths are relative to the lock

\b
Exit status: 0 written; 2 malformed or usage.
"""


@click.command(epilog=EPILOG)
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option(
    "-o",
    "--out",
    default="certattn.lock",
    show_default=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="The lock to write; certificates lie in its folder or below.",
)
@root_option
@reading_limits
def lock(paths: tuple[str, ...], out: Path, root: Path | None, **limits: Any) -> None:
    """Record which statements are promised, for `check --locked`.

    Paths are as those of `certattn check`; without any, the lock's own files are locked again. Nothing is proved:
    `certattn check` does that.
    """
    from certattn.bundle.lock import lock_text, parse_lock
    from certattn.bundle.lock_files import read_bytes
    from certattn.kernel.decide.checker import CheckOptions
    from certattn.kernel.errors import UsageError
    from certattn.provers.output import require_place
    from certattn.writing import write_atomically

    options = CheckOptions(take_limits(limits), root)
    old = parse_lock(read_bytes(out, options.limits), str(out), options.limits) if out.is_file() else {}
    if not paths and not old:
        raise UsageError(f"nothing to lock: there is no {out} yet; name certificates, folders or globs")
    files = find_certificates(paths) if paths else [out.parent / path for path in old]
    require_place(out, *files)
    new = promises_of(files, out.parent, options)
    for line in _changes(old, new, options.limits):
        click.echo(on_one_line(line))
    write_atomically(out, lock_text(new.values()).encode("utf-8"))
    click.echo(f"{len(new)} statement{'s' if len(new) != 1 else ''} locked in {on_one_line(str(out))}")
    for job in map(out.parent.joinpath, JOBS):
        if job.is_file() and b"certattn check" in (text := job.read_bytes()) and b"--lock" not in text:
            click.echo(f"{on_one_line(str(job))} does not look at it yet: add --locked to its `certattn check`")


def promises_of(files: Sequence[Path], folder: Path, options: CheckOptions) -> dict[str, Promise]:
    """What each file states, by its path from `folder`. Raises MalformedError for what is no certificate."""
    from certattn.bundle.lock import promise_of
    from certattn.kernel.decide.checker import theorem_of
    from certattn.kernel.document.certificate import load
    from certattn.statements.wording import statement_of

    promises: dict[str, Promise] = {}
    for file in files:
        path = path_below(file, folder)
        certificate = load(file, root=options.root, limits=options.limits)
        theorem_of(certificate).read(certificate)
        promises[path] = promise_of(certificate, path, statement_of(certificate).words)
    return promises


def path_below(file: Path, folder: Path) -> str:
    """The path of a file from a folder down. Raises UsageError where it leads elsewhere."""
    from certattn.bundle.lock_files import absolute
    from certattn.bundle.names import is_inner
    from certattn.kernel.errors import UsageError

    whole, top = absolute(file), absolute(folder)
    path = whole.relative_to(top).as_posix() if whole.is_relative_to(top) else ""
    if not is_inner(path):
        raise UsageError(f"{file}: expected a file in the folder {top} or below, with a name that can be printed")
    return path


def _changes(old: Mapping[str, Promise], new: Mapping[str, Promise], limits: Limits) -> list[str]:
    """What has changed of each file of an earlier lock, and a line for each new one."""
    from certattn.bundle.lock import between, told

    if not old:
        return []
    lines = [f"no longer promised: {path}" for path in old if path not in new]
    for path in old:
        if path in new and old[path].digest != new[path].digest:
            how, *changes = told(between(old[path], new[path], path, limits))
            lines += [f"promises {how.split(':')[0].split(',')[0]}: {path}", *changes]
    return lines + [f"newly promised: {path}" for path in new if path not in old]
