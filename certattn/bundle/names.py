"""Names of files as locks and archives hold them: paths that lead down from a folder, each in one spelling."""

from __future__ import annotations

import unicodedata
from pathlib import PurePosixPath


def is_inner(path: str) -> bool:
    """Whether a path leads down from where it begins, is written in the one way there is, and can be printed."""
    parts = path.split("/")
    plain = all(part not in ("", ".", "..") for part in parts) and str(PurePosixPath(path)) == path
    return plain and path.isprintable() and "\\" not in path


def folded(path: str) -> str:
    """What is equal for names that some file system takes for one: case and composition of letters do not count."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())
