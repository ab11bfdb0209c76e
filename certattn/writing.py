"""Writing certificates: the same text for the same content, and never half a file."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import BinaryIO

from certattn.kernel.document.reader import NAME, TEXT, UNSHOWN, WORDS
from certattn.kernel.document.tree import Plain

# Lists are broken behind the comma that passes this column.
_WIDTH = 100

_unflushed: ContextVar[bool] = ContextVar("_unflushed", default=False)


def to_text(plain: dict[str, Plain]) -> str:
    """The text of a document whose reading gives `plain` back. Vectors and references stand on one line, or on some.

    What no document can hold, such as a key with a colon or a text with a tab, is so written that it is refused.
    """
    return "".join(_mapping(plain, ""))


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file as `replacing` does. Raises OSError."""
    with replacing(path) as file:
        file.write(data)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A temporary file beside `path`, which takes its name at the end: `path` is whole or untouched.

    Even if the machine stops, except within `unflushed`.
    Raises OSError; also where `path` is there but no file, such as /dev/null, which must not be replaced.
    """
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".certattn-")
    try:
        with open(descriptor, "w+b") as file:
            yield file
            file.flush()
            if not _unflushed.get():
                os.fsync(file.fileno())
        Path(temporary).chmod(_new_file_mode())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


@contextmanager
def unflushed() -> Iterator[None]:
    """Within it `write_atomically` does not wait for the disk: for files whose hashes are kept and compared."""
    token = _unflushed.set(True)
    try:
        yield
    finally:
        _unflushed.reset(token)


def _new_file_mode() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _mapping(plain: dict[str, Plain], indent: str) -> Iterator[str]:
    for key, value in plain.items():
        name = f"{indent}{key if is_key(key) else _quoted(key)}:"
        if (line := _inline(f"{name} ", value, f"{indent}  ")) is not None:
            yield line
        else:
            yield f"{name}\n"
            yield from _below(value, indent if isinstance(value, list) else f"{indent}  ")


def _list(plain: list[Plain], indent: str) -> Iterator[str]:
    for value in plain:
        if (line := _inline(f"{indent}- ", value, f"{indent}  ")) is not None:
            yield line
        else:
            first, *rest = _below(value, f"{indent}  ")
            yield f"{indent}- {first.removeprefix(indent + '  ')}"
            yield from rest


def _below(value: Plain, indent: str) -> Iterator[str]:
    """Lines of a block."""
    if isinstance(value, list):
        yield from _list(value, indent)
    elif isinstance(value, dict):
        yield from _mapping(value, indent)


def _inline(before: str, value: Plain, indent: str) -> str | None:
    """A text, or texts in brackets, behind its key or dash; long lists go on at `indent`. None for what is a block."""
    if isinstance(value, str):
        return f"{before}{value if is_plain(value) else _quoted(value)}\n"
    if isinstance(value, dict):
        return None if value else f"{before}{{}}\n"
    text, line = "", f"{before}["
    for index, item in enumerate(value):
        if not isinstance(item, str):
            return None
        if index:
            line += ","
            if len(line) > _WIDTH:
                text, line = f"{text}{line}\n", indent
            else:
                line += " "
        line += item if is_word(item) else _quoted(item)
    return f"{text}{line}]\n"


def _quoted(text: str) -> str:
    if "\n" not in text and not UNSHOWN.search(text):
        return "'" + text.replace("'", "''") + "'"
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return '"' + UNSHOWN.sub(lambda match: f"\\u{ord(match[0]):04x}", escaped) + '"'


def is_key(text: str) -> bool:
    """Whether it may stand as a key."""
    return NAME.fullmatch(text) is not None


def is_plain(text: str) -> bool:
    """Whether it may stand without quotes behind a key or a dash."""
    return TEXT.fullmatch(text) is not None and UNSHOWN.search(text) is None


def is_word(text: str) -> bool:
    """Whether it may stand without quotes in brackets."""
    return WORDS.fullmatch(text) is not None and UNSHOWN.search(text) is None
