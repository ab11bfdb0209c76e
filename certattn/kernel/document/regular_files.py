"""Opening files that somebody else has named: never a pipe, a device or a folder."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

# Non-blocking, so that a named pipe cannot hold the checker. Not every system has every flag.
_FLAGS = sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOCTTY", "O_BINARY"))


@contextmanager
def regular_file(path: Path, *, follow_link: bool) -> Iterator[BinaryIO]:
    """A regular file, open for reading. Raises OSError for anything else."""
    extra = _FLAGS if follow_link else _FLAGS | getattr(os, "O_NOFOLLOW", 0)
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | extra)) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        yield file


def reason(error: OSError | ValueError) -> str:
    """What the system says, for a message."""
    return (getattr(error, "strerror", None) or str(error)).lower()
