"""What the summary of an audit says that certificates do not: which statements are missing, and why."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from certattn.report.text import on_one_line

SUMMARY = "audit.json"
_MOST_BYTES, _LONGEST = 2**26, 300


def missing_of(folders: Sequence[Path]) -> list[str]:
    """A line for each statement that audits in these folders could not make; a summary that is none says nothing."""
    return [line for folder in folders if folder.is_dir() for line in _missing(folder / SUMMARY)]


def _missing(file: Path) -> Iterator[str]:
    try:
        if file.stat().st_size > _MOST_BYTES:
            return
        heads = json.loads(file.read_text(encoding="utf-8"))["heads"]
        for head in heads:
            for statement in head["statements"]:
                if _text(statement.get("missing")):
                    yield f"{_text(head['folder'])}: {_text(statement['name'])}: {_text(statement['missing'])}"
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return


def _text(value: Any) -> str:
    return on_one_line(str(value or ""))[:_LONGEST]
