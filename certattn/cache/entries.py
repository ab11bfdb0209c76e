"""The entries of a cache: a file for each question that was answered `verified`, and what authenticates it.

    FOLDER/PROGRAM/QUESTION     certattn-cache 1
                                tag, HMAC-SHA256 in hex
                                what is known, as JSON

The tag is over the name of the format, PROGRAM, QUESTION and the content. It is compared before the content is read, so
that nothing is parsed that this user's program has not written. A file is put in its place whole, so that programs may
read and write at once.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from certattn.cache.errors import UnbelievedError
from certattn.cache.folder import write_new
from certattn.kernel.document.regular_files import reason, regular_file

_FORMAT = b"certattn-cache 1\n"
_TAG = 64
MOST_BYTES = 2**24
_DIGEST = re.compile("[0-9a-f]{64}")
_UNFINISHED = re.compile(r"\.[0-9a-f]{64}-[0-9a-f]{16}")


class Entries:
    """What is in `folder`, by program and question, which are SHA-256 digests in hex."""

    def __init__(self, folder: Path, key: bytes) -> None:
        self._folder = folder
        self._key = key

    def read(self, program: str, question: str) -> bytes | None:
        """What is known; None where nothing is. Raises UnbelievedError for what is not authentic."""
        path = self._folder / program / question
        try:
            with regular_file(path, follow_link=False) as file:
                data = file.read(MOST_BYTES + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise UnbelievedError(reason(error)) from None
        head, tag, content = data[: len(_FORMAT)], data[len(_FORMAT) :][:_TAG], data[len(_FORMAT) + _TAG :]
        if head != _FORMAT or len(data) > MOST_BYTES:
            raise UnbelievedError("not an entry of this version")
        if hmac.compare_digest(tag, self._tag(program, question, content)) is not True:
            raise UnbelievedError("its tag is not right: it is damaged, or not from here")
        return content

    def write(self, program: str, question: str, content: bytes) -> None:
        """Take note; what is too large is left out. Raises OSError."""
        data = _FORMAT + self._tag(program, question, content) + content
        if len(data) > MOST_BYTES:
            return
        folder = self._folder / program
        folder.mkdir(mode=0o700, exist_ok=True)
        new = folder / f".{question}-{secrets.token_hex(8)}"
        try:
            write_new(new, data)
            new.replace(folder / question)
        finally:
            new.unlink(missing_ok=True)

    def _tag(self, program: str, question: str, content: bytes) -> bytes:
        assert len(program) == len(question) == _TAG, "digests, so that the parts cannot run into each other"
        message = _FORMAT + program.encode("ascii") + question.encode("ascii") + content
        return hmac.new(self._key, message, hashlib.sha256).hexdigest().encode("ascii")


def entry_files(folder: Path) -> Iterator[Path]:
    """The files of all entries in a folder, of every program; other files in it are none of the cache's."""
    return (file for program in _programs(folder) for file in program.iterdir() if _DIGEST.fullmatch(file.name))


def clear(folder: Path) -> int:
    """Remove all entries, whoever's, and what was left unfinished; how many entries there were. Raises OSError."""
    count = 0
    for program in _programs(folder):
        for file in list(program.iterdir()):
            if _DIGEST.fullmatch(file.name) or _UNFINISHED.fullmatch(file.name):
                file.unlink(missing_ok=True)
                count += not _UNFINISHED.fullmatch(file.name)
        with suppress(OSError):
            program.rmdir()  # with other files in it, it stays
    return count


def _programs(folder: Path) -> list[Path]:
    found = sorted(folder.iterdir()) if folder.is_dir() else []
    return [each for each in found if _DIGEST.fullmatch(each.name) and each.is_dir() and not each.is_symlink()]
