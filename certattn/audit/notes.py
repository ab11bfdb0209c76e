"""What is noted in a head's folder once it is complete: believed only as far as the certificates bear it out."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from certattn.provers.output import write_file

NOTES = "head.json"
_SHA256 = re.compile("[0-9a-f]{64}")
_MOST_BYTES = 2**20


@dataclass(frozen=True)
class Notes:
    """inputs: digest of what the head was made from; files: their hashes by name; seconds: of each statement."""

    inputs: str
    files: Mapping[str, str]
    seconds: Mapping[str, float]


def read_notes(folder: Path) -> Notes | None:
    """The notes, None where there are none that fit the files."""
    try:
        with (folder / NOTES).open("rb") as stream:
            found = json.loads(stream.read(_MOST_BYTES))
        notes = Notes(_text(found["inputs"]), _each(found["files"], _text), _each(found["seconds"], _time))
        # No name but one of a file in this very folder.
        same = all(Path(name).name == name and sha256(folder / name) == notes.files[name] for name in notes.files)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return notes if same else None


def write_notes(folder: Path, notes: Notes) -> None:
    """Last of all: without them the head is not complete."""
    write_file(folder / NOTES, json.dumps(asdict(notes), indent=1).encode("utf-8") + b"\n")


def sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _each(found: Any, read: Any) -> dict[str, Any]:
    return {str(name): read(value) for name, value in dict(found).items()}


def _text(found: Any) -> str:
    if not isinstance(found, str) or not _SHA256.fullmatch(found):
        raise ValueError("no digest")
    return found


def _time(found: Any) -> float:
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 <= found < math.inf:
        raise ValueError("no time")
    return float(found)
