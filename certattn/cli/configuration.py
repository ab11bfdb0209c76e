"""Settings of a repository for `certattn check`: certattn.toml, or [tool.certattn] in pyproject.toml.

Whoever writes them may be a stranger to whoever checks. So no setting can make a verdict better, none leads out of the
folder of the file, and what is taken from the file is said on the error stream. The command line wins.
"""

from __future__ import annotations

import glob
import os
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import click
from click.core import ParameterSource

from certattn.cli.options import limit_types
from certattn.kernel.decide.checker import ARITHMETICS
from certattn.kernel.document.quoting import quote, word
from certattn.kernel.document.regular_files import reason, regular_file
from certattn.kernel.errors import MalformedError, Place, UsageError
from certattn.report.formats import FORMATS
from certattn.report.text import on_one_line

NAME, SHARED = "certattn.toml", "pyproject.toml"
_TABLE = "tool.certattn"
_MOST_BYTES = 2**20
_META = "certattn.settings"
_LONGEST = 200
_BOTH = "--config and --no-config exclude each other"

# From what was expected to the error of this place.
_Complaint = Callable[[str], MalformedError]
# Takes a value, the folder of the file, and what to raise where it is wrong; returns the default of an option.
_Reader = Callable[[Any, Path, _Complaint], Any]


def find(folder: Path) -> Path | None:
    """The file of settings for a folder, relative to the working one, or None.

    It is looked for in the folder and those above it, up to the top of the repository; where there is no repository, in
    the folder alone: what lies above it may be anybody's.
    """
    above = [folder, *folder.parents]
    top = next((i for i, each in enumerate(above) if os.path.lexists(each / ".git")), 0)
    for each in above[: top + 1]:
        near = Path(os.path.relpath(each))
        own, shared = near / NAME, near / SHARED
        has_table = has_settings(near)
        if os.path.lexists(own):
            if has_table:
                raise MalformedError(Place(str(own)), f"[{_TABLE}] in {SHARED} beside it", "settings in one file")
            return own
        if has_table:
            return shared
    return None


def has_settings(folder: Path) -> bool:
    """Whether the pyproject.toml of a folder has settings."""
    shared = folder / SHARED
    return os.path.lexists(shared) and _table(shared) is not None


def read(path: Path) -> dict[str, Any]:
    """The settings by the names of the options of `check`. Raises MalformedError naming file and key."""
    table = _table(path)
    if table is None:
        raise MalformedError(Place(str(path)), f"no table [{_TABLE}]", f"a table [{_TABLE}], or a file {NAME}")
    settings: dict[str, Any] = {}
    for key, value in table.items():
        if key == "limits":
            settings |= _read_table(value, path, _LIMITS, "limits.")
        else:
            settings |= _read_table({key: value}, path, _SETTINGS, "")
    return settings


def settings_option(command: Any) -> Any:
    """The options --config and --no-config, which fill in the defaults of the other options."""
    command = click.option(
        "--no-config", is_flag=True, is_eager=True, expose_value=False, callback=_ignore, help="Read no settings."
    )(command)
    return click.option(
        "--config", metavar="FILE", is_eager=True, expose_value=False, callback=_fill,
        help=f"File of settings; {NAME} or {SHARED} of the repository by default.",
    )(command)  # fmt: skip


def say_settings(context: click.Context) -> None:
    """Name on the error stream the settings that came from a file, if any did."""
    path, used = context.meta.get(_META, ""), []
    for name, value in (context.default_map or {}).items():
        if context.get_parameter_source(name) is ParameterSource.DEFAULT_MAP:
            shown = " ".join(map(str, value)) if isinstance(value, list) else str(value)
            used.append(f"{_key(name)} = {shown if len(shown) <= _LONGEST else shown[:_LONGEST] + '...'}")
    if used:
        click.echo(on_one_line(f"certattn: settings from {path}: {', '.join(used)}"), err=True)


def _ignore(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value and _META in context.meta:
        raise click.UsageError(_BOTH)
    if value:
        context.meta[_META] = None


def _fill(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    ignored = _META in context.meta
    if ignored and value is not None:
        raise click.UsageError(_BOTH)
    path = None if ignored else find(Path.cwd()) if value is None else Path(value)
    if path is None:
        return
    context.meta[_META] = str(path)
    context.default_map = read(path)


def _table(path: Path) -> dict[str, Any] | None:
    """The table of settings in a file; None for a pyproject.toml without one."""
    place = Place(str(path))
    try:
        with regular_file(path, follow_link=True) as file:
            data = file.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise MalformedError(place, reason(error), "a readable TOML file") from None
    if len(data) > _MOST_BYTES:
        raise MalformedError(place, f"a file over {_MOST_BYTES} bytes", "a small TOML file")
    try:
        content = tomllib.loads(data.decode("utf-8"))
    except UnicodeDecodeError:
        raise MalformedError(place, "bytes that are not UTF-8", "TOML text in UTF-8") from None
    except RecursionError:
        raise MalformedError(place, "values nested too deeply", "TOML text") from None
    except ValueError as error:
        # TOMLDecodeError is one, and so is what Python says of an integer of too many digits.
        hint = "`--no-config` does without" if path.name == SHARED else ""
        raise MalformedError(place, on_one_line(str(error)), "TOML text", hint) from None
    if path.name != SHARED:
        return content
    tool = content.get("tool")
    table = tool.get("certattn") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise MalformedError(Place(str(path), 0, _TABLE), _found(table), "a table")
    return table


def _read_table(table: Any, path: Path, readers: Mapping[str, tuple[str, _Reader]], above: str) -> dict[str, Any]:
    """Each value of a table by its reader. `above` is the key of the table, with a full stop."""
    prefix = (f"{_TABLE}." if path.name == SHARED else "") + above
    if not isinstance(table, dict):
        raise MalformedError(Place(str(path), 0, prefix.rstrip(".")), _found(table), "a table")
    found = {}
    for key, value in table.items():
        place = Place(str(path), 0, f"{prefix}{word(key)}")
        if key not in readers:
            hint = "what is checked, and how much of it, is said on the command line" if key in _NEVER else ""
            keys = ", ".join([*readers, *([] if above else ["limits"])])
            raise MalformedError(place, f"the unknown key {quote(key)}", f"one of {keys}", hint)
        name, reader = readers[key]
        found[name] = reader(value, path.parent, _complaint(place, value))
    return found


def _complaint(place: Place, value: Any) -> _Complaint:
    return lambda expected: MalformedError(place, _found(value), expected)


def _found(value: Any) -> str:
    kinds = {dict: "a table", bool: "true" if value is True else "false"}
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return kinds.get(type(value)) or quote(str(value))


# -- the settings


def _read_paths(value: Any, folder: Path, wrong: _Complaint) -> list[str]:
    expected = "a list of paths or globs inside the folder of this file, at least one"
    if not isinstance(value, list) or not value:
        raise wrong(expected)
    paths = []
    for text in value:
        if not isinstance(text, str) or not text or "\0" in text:
            raise wrong(expected)
        if PurePosixPath(text).is_absolute() or ".." in PurePosixPath(text).parts:
            raise wrong(f"{expected}, not {quote(text)}")
        parent = str(folder)
        if glob.has_magic(text) and not os.path.lexists(folder / text):
            parent = glob.escape(parent)
        paths.append(os.path.normpath(os.path.join(parent, text)))  # noqa: PTH118 - a glob is no path
    return paths


def _read_root(value: Any, folder: Path, wrong: _Complaint) -> str:
    expected = "a folder inside the folder of this file, all links followed; a larger one needs --root"
    if not isinstance(value, str) or not value or "\0" in value:
        raise wrong(expected)
    root, top = (folder / value).resolve(), folder.resolve()
    if not root.is_dir() or not (root == top or top in root.parents):
        raise wrong(expected)
    return os.path.normpath(folder / value)


def _read_jobs(value: Any, folder: Path, wrong: _Complaint) -> int:
    if type(value) is not int or not 1 <= value <= _MOST_JOBS:
        raise wrong(f"an integer from 1 to {_MOST_JOBS}")
    return value


def _one_of(choices: tuple[str, ...]) -> _Reader:
    def reader(value: Any, folder: Path, wrong: _Complaint) -> str:
        if not isinstance(value, str) or value not in choices:
            raise wrong(f"one of {', '.join(choices)}")
        return value

    return reader


def _limit(kind: Any) -> _Reader:
    """Numbers, and sizes as on the command line."""

    def reader(value: Any, folder: Path, wrong: _Complaint) -> Any:
        try:
            if type(value) is int:
                return kind(value) if value > 0 and isinstance(kind, click.ParamType) else kind(str(value))
            if isinstance(value, str) and not isinstance(kind, click.ParamType):
                return kind(value)
        except (click.UsageError, UsageError, ValueError):
            pass
        raise wrong("an integer" if isinstance(kind, click.ParamType) else "a size such as 500M or 4G")

    return reader


_MOST_JOBS = 1024
_SETTINGS: Mapping[str, tuple[str, _Reader]] = {
    "paths": ("paths", _read_paths),
    "root": ("root", _read_root),
    "jobs": ("jobs", _read_jobs),
    "format": ("form", _one_of(("text", *FORMATS))),
    "arithmetic": ("arithmetic", _one_of(ARITHMETICS)),
}
_LIMITS: Mapping[str, tuple[str, _Reader]] = {
    option.removeprefix("--"): (name, _limit(kind)) for option, kind, name in limit_types()
}
_NEVER = ("only", "explain", "fail-fast", "config", "report")


def _key(name: str) -> str:
    """The key of an option."""
    for above, readers in (("", _SETTINGS), ("limits.", _LIMITS)):
        for key, (option, _) in readers.items():
            if option == name:
                return above + key
    raise KeyError(name)
