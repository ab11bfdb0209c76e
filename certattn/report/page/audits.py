"""What the summary of an audit says that certificates do not: what is missing and why, and which files are its own."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from certattn.report.text import on_one_line

SUMMARY = "audit.json"
_MOST_BYTES, _LONGEST = 2**26, 300


def missing_of(folders: Sequence[Path]) -> list[str]:
    """A line for what audits in these folders could not state, and for heads of which fewer queries are stated.

    A summary that is none says nothing.
    """
    return [line for folder in folders for line in _missing(_heads(folder))]


def others_of(folders: Sequence[Path], files: Sequence[Path]) -> list[str]:
    """Of folders with an audit, the folders of these files that are no part of it: left by an earlier one, or added."""
    return [
        _text(folder / name)
        for folder in folders
        if (heads := _heads(folder))
        for name in folders_beside(folder, heads, files)
    ]


def folders_beside(folder: Path, heads: Sequence[Mapping[str, Any]], files: Sequence[Path]) -> list[str]:
    """The folders in `folder` of those files that none of these heads has, in order."""
    own = {
        folder.absolute() / str(head.get("folder")) / str(name)
        for head in heads
        for statement in _mappings(head.get("statements"))
        for name in (statement.get("certificates") or ())
    }
    inside = [file for file in map(Path.absolute, files) if file.is_relative_to(folder.absolute())]
    return sorted({file.parent.relative_to(folder.absolute()).as_posix() for file in inside if file not in own})


def _missing(heads: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for head in heads:
        if head.get("folder") and head.get("cut"):
            yield f"{_text(head['folder'])}: {_text(head['cut'])}"
        for statement in _mappings(head.get("statements")):
            words = [_text(found) for found in (head.get("folder"), statement.get("name"), statement.get("missing"))]
            if all(words):
                yield ": ".join(words)


def _heads(folder: Path) -> list[Mapping[str, Any]]:
    """What the summary in a folder lists; nothing where there is none."""
    file = folder / SUMMARY
    try:
        if not folder.is_dir() or file.stat().st_size > _MOST_BYTES:
            return []
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return []
    return _mappings(found.get("heads")) if isinstance(found, dict) else []


def _mappings(found: Any) -> list[Mapping[str, Any]]:
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _text(value: Any) -> str:
    return on_one_line(str(value or ""))[:_LONGEST]
