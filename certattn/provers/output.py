"""The last step of every prover: provenance, and the file."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from certattn._version import __version__
from certattn.kernel.document.arrays import SUFFIXES as ARRAY_SUFFIXES
from certattn.kernel.document.certificate import Certificate, loads
from certattn.kernel.document.regular_files import reason
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import LimitExceededError, MalformedError, Place, UsageError
from certattn.writing import to_text, write_atomically

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def provenance(note: str) -> dict[str, Plain]:
    """Who made a certificate and why: shown to people, believed by nobody, free of dates so that files reproduce."""
    made: dict[str, Plain] = {"note": note} if note else {}
    return {**made, "generator": f"certattn {__version__}"}


def require_place(out: Path, inputs: Sequence[Path]) -> None:
    """Refuse a place where the certificate cannot be written, before any work is done. Raises UsageError."""
    if not out.name:
        raise UsageError(f"{str(out)!r} is no name of a file; expected one such as certificate.yaml")
    if not out.parent.is_dir():
        raise UsageError(f"{out.parent}: no such folder")
    if out.suffix in ARRAY_SUFFIXES:
        raise UsageError(
            f"{out}: a certificate is a YAML file; expected a name such as {out.with_suffix('.yaml').name}"
        )
    if out.is_symlink():
        # It may be /dev/stdout, which leads to a file of the shell's.
        raise UsageError(f"{out}: a link would be replaced; name the file that it leads to")
    if out.exists() and not out.is_file():
        raise UsageError(f"{out}: there is something that is not a file; choose another name for -o")
    for path in inputs:
        if out.exists() and path.exists() and out.samefile(path):
            raise UsageError(f"{out} is an input and would be overwritten; choose another name for -o")


@contextmanager
def not_yet_written(out: Path) -> Iterator[None]:
    """Errors in a draft are no errors in a line of the file `out`, which is not there or holds something else.

    Errors in another file, such as one with arrays, keep their place.
    """
    try:
        yield
    except MalformedError as error:
        if error.place.file != str(out):
            raise
        place = Place(f"{out} (not written)", 0, error.place.path)
        raise MalformedError(place, error.found, error.expected, error.hint) from None


class _Readable(Protocol):
    """A claim or a theorem."""

    @property
    def read(self) -> Callable[[Certificate], Any]: ...


def write_certificate(certificate: dict[str, Plain], claim: _Readable, out: Path) -> Certificate:
    """Write the file, whole or not at all, and return it as the checker will read it."""
    text = to_text(certificate)
    with not_yet_written(out):
        written = loads(text, out)
        claim.read(written)
    write_file(out, text.encode())
    return written


def write_file(path: Path, content: bytes) -> None:
    """Write a file, whole or not at all. Raises UsageError, and LimitExceededError on a full disk."""
    try:
        write_atomically(path, content)
    except OSError as error:
        kind = LimitExceededError if error.errno in _FULL else UsageError
        raise kind(f"{path}: cannot be written ({reason(error)})") from None
