"""Patterns with `*`, `?`, `[...]` and `**`, as in glob, but a folder that cannot be read is an error.

What is left out silently would look like a folder without certificates.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterator
from pathlib import Path

_MARK = re.compile(r"[*?[]")


def is_pattern(text: str) -> bool:
    return _MARK.search(text) is not None


def matching(pattern: str) -> list[Path]:
    """Files and folders, sorted; `**` stands for any depth. Hidden ones need a dot. Raises OSError."""
    path = Path(pattern)
    found = [Path(path.anchor)]
    for part in path.parts[1:] if path.anchor else path.parts:
        found = [match for folder in found for match in _in(folder, part)]
    return sorted(set(found))


def _in(folder: Path, part: str) -> Iterator[Path]:
    """What one part of a pattern matches in a folder; there is nothing in a file."""
    if part == "**":
        yield from _folders(folder)
    elif not is_pattern(part):
        if os.path.lexists(folder / part):
            yield folder / part
    elif folder.is_dir():
        for each in folder.iterdir():
            if fnmatch.fnmatchcase(each.name, part) and (part.startswith(".") or not each.name.startswith(".")):
                yield each


def _folders(folder: Path) -> Iterator[Path]:
    """The folder and those below, without links to others."""
    for parent, names, _ in os.walk(folder, onerror=give_up):
        names[:] = [name for name in names if not name.startswith(".")]
        yield Path(parent)


def give_up(error: OSError) -> None:
    """For os.walk, which else leaves out what it cannot read."""
    raise error
