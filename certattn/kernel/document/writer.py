"""Writing certificates: the same text for the same content, and never half a file."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

import yaml

from certattn.kernel.document.tree import UNSHOWN, Plain

_unflushed: ContextVar[bool] = ContextVar("_unflushed", default=False)


def to_text(plain: dict[str, Plain]) -> str:
    """YAML text whose reading gives `plain` back. Vectors and references stand on one line."""
    # The pure Python emitter, so that every machine writes the same bytes.
    text = str(yaml.emit(_events(plain), Dumper=yaml.SafeDumper, width=100, allow_unicode=True))
    # What the reader refuses stands between double quotes only (see `_value`), where it can be escaped.
    return UNSHOWN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def write_atomically(path: Path, data: bytes) -> None:
    """Write to a temporary file beside `path`, then rename: `path` is whole or untouched.

    Even if the machine stops, except within `unflushed`.
    Raises OSError; also where `path` is there but no file, such as /dev/null, which must not be replaced.
    """
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".certattn-")
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
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


def _events(plain: dict[str, Plain]) -> Iterator[yaml.Event]:
    yield yaml.StreamStartEvent()
    yield yaml.DocumentStartEvent(explicit=False)
    yield from _value(plain)
    yield yaml.DocumentEndEvent(explicit=False)
    yield yaml.StreamEndEvent()


def _value(value: Plain) -> Iterator[yaml.Event]:
    if isinstance(value, str):
        # Plain where YAML can hold the text plainly, quoted elsewhere: the emitter decides.
        style = '"' if "\n" in value or value != value.strip() or UNSHOWN.search(value) else None
        yield yaml.ScalarEvent(None, None, (True, True), value, style=style)
    elif isinstance(value, list):
        flow = all(isinstance(item, str) for item in value)
        yield yaml.SequenceStartEvent(None, None, True, flow_style=flow)
        for item in value:
            yield from _value(item)
        yield yaml.SequenceEndEvent()
    else:
        yield yaml.MappingStartEvent(None, None, True, flow_style=False)
        for key, item in value.items():
            yield from _value(key)
            yield from _value(item)
        yield yaml.MappingEndEvent()
