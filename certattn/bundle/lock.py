"""The lock: which statements are promised, and in which files.

What a promise is about is its digest. Beside it stands enough of the statement to say in what another one differs: its
words, and `given` and `asserts` with long lists shortened to their length and hash. Nothing is decided by these.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from certattn.bundle.names import is_inner
from certattn.kernel.document.certificate import (
    ASSERTS,
    CLAIM,
    FORMAT_VERSION,
    GIVEN,
    Certificate,
    canonical,
    loads,
)
from certattn.kernel.document.certificate import VERSION as CERTIFICATE_VERSION
from certattn.kernel.document.reader import parse_tree
from certattn.kernel.document.schema import MAX_TEXT, Choice, Field, Kind, Listing, Reading, Record, Text, scalar
from certattn.kernel.document.tree import Node, Plain
from certattn.kernel.errors import UsageError
from certattn.kernel.limits import DEFAULT_LIMITS, Limits, Watch
from certattn.report.comparison import SAME, Change, Comparison, compare, differences
from certattn.writing import to_text

LOCK = "certattn.lock"
# Lists of more numbers are shortened. What is asserted is kept longer: bounds are what may become weaker.
_MOST_GIVEN, _MOST_ASSERTED = 32, 1000
_UNSHOWN = "another statement, of which the lock shows the same: has it been edited?"
_DIGEST = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Promise:
    """A statement and the file that makes it; `path` is relative to the lock's folder, `digest` the statement's.

    `says` the statement in words, `claim`, `given` and `asserts` what is compared to say what has changed.
    """

    path: str
    digest: str
    says: str
    claim: str
    given: Plain
    asserts: Plain

    def document(self) -> dict[str, Plain]:
        """The shortened statement, as certificates are written."""
        return {
            CERTIFICATE_VERSION.name: FORMAT_VERSION,
            CLAIM.name: self.claim,
            GIVEN.name: self.given,
            ASSERTS.name: self.asserts,
        }


class _InnerPath(Kind[str]):
    """The path of a file below the lock's folder."""

    def read(self, node: Node, reading: Reading) -> str:
        text = Text().read(node, reading)
        if not is_inner(text):
            raise node.malformed("a path from the lock's folder down, with forward slashes")
        return text


class _Digest(Kind[str]):
    """A SHA-256, as certattn prints it."""

    def read(self, node: Node, reading: Reading) -> str:
        text = scalar(node, "a sha256 of 64 hexadecimal digits")
        if not _DIGEST.fullmatch(text):
            raise node.malformed("a sha256 of 64 hexadecimal digits")
        return text


VERSION = Field("certattn-lock", Choice(("1",)), "version of the lock's format")
PATH = Field("path", _InnerPath(), "the certificate, from the lock's folder")
DIGEST = Field("statement", _Digest(), "digest of the statement")
SAYS = Field("says", Text(), "the statement in words; never compared")
ENTRY = Record(PATH, DIGEST, SAYS, CLAIM, GIVEN, ASSERTS)
CERTIFICATES = Field("certificates", Listing(ENTRY), "what is promised")
_LOCK = Record(VERSION, CERTIFICATES)


def promise_of(certificate: Certificate, path: str, words: str) -> Promise:
    """What a certificate states, as a promise of the file `path`."""
    return Promise(
        path,
        certificate.digest,
        _short(" ".join(words.split())),
        certificate.claim,
        _shortened(certificate.given.plain(), _MOST_GIVEN),
        _shortened(certificate.asserts.plain(), _MOST_ASSERTED),
    )


def _short(words: str) -> str:
    return words if len(words) <= MAX_TEXT else f"{words[: MAX_TEXT - 4]} ..."


def _shortened(value: Plain, most: int) -> Plain:
    """The same with a text in place of each list that has more than so many scalars."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return {key: _shortened(item, most) for key, item in value.items()}
    count = _scalars(value)
    if count > most:
        text = json.dumps(canonical(value), sort_keys=True)
        return f"{count} entries, sha256 {hashlib.sha256(text.encode('ascii')).hexdigest()}"
    return [_shortened(item, most) for item in value]


def _scalars(value: Plain) -> int:
    if isinstance(value, str):
        return 1
    return sum(map(_scalars, value.values() if isinstance(value, dict) else value))


# -- the file


def lock_text(promises: Iterable[Promise]) -> str:
    """The lock of some promises: the same text for the same promises."""
    entries: list[Plain] = [
        {
            PATH.name: promise.path,
            DIGEST.name: promise.digest,
            SAYS.name: promise.says,
            CLAIM.name: promise.claim,
            GIVEN.name: promise.given,
            ASSERTS.name: promise.asserts,
        }
        for promise in sorted(promises, key=lambda promise: promise.path)
    ]
    return to_text({VERSION.name: "1", CERTIFICATES.name: entries})


def parse_lock(data: bytes, name: str, limits: Limits = DEFAULT_LIMITS) -> dict[str, Promise]:
    """Promises by path. Raises MalformedError, and UsageError for what is no text."""
    if len(data) > limits.max_document_bytes:
        raise UsageError(f"{name}: over {limits.max_document_bytes} bytes; raise --max-document-bytes")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"{name}: bytes that are not UTF-8; expected a lock as `certattn lock` writes it") from None
    nowhere = Path()
    lock = _LOCK.read(parse_tree(text, name, limits), Reading(limits, nowhere, nowhere, Watch()))
    promises: dict[str, Promise] = {}
    for entry in lock[CERTIFICATES]:
        if entry[PATH] in promises:
            raise entry.node(PATH).malformed("one entry for each file", f"{entry[PATH]} a second time")
        promises[entry[PATH]] = Promise(
            entry[PATH], entry[DIGEST], entry[SAYS], entry[CLAIM], entry[GIVEN].plain(), entry[ASSERTS].plain()
        )
    return promises


# -- what has changed


@dataclass(frozen=True, slots=True)
class Broken:
    """In what a certificate differs from a promise: in `lines`, the first at `line` of the certificate's file."""

    lines: tuple[str, ...]
    line: int = 0
    key_path: str = ""

    def to_dict(self) -> dict[str, Any]:
        return {"lines": list(self.lines), "line": self.line, "key_path": self.key_path}


def between(old: Promise, new: Promise, path: str, limits: Limits) -> Comparison:
    """How two promises of the file `path` differ, as far as they are written out. Raises MalformedError."""
    return compare(*(loads(to_text(each.document()), path, limits=limits) for each in (old, new)), entries=False)


def told(comparison: Comparison) -> list[str]:
    """What is said of two promises with different digests: how the new one is to the old one, then each change."""
    return differences(comparison) if comparison.statement != SAME else [_UNSHOWN]


def difference(promise: Promise, certificate: Certificate) -> Broken:
    """Say what has changed since a promise, of a certificate that states something else. Raises MalformedError."""
    now = promise_of(certificate, promise.path, promise.says)
    comparison = between(promise, now, certificate.path, certificate.reading.limits)
    lines = (*told(comparison), f"promised {promise.digest}", f"stated   {certificate.digest}")
    node = _node_of(comparison.changes, certificate.values.at)
    return Broken(lines, node.line, node.path)


def _node_of(changes: Iterable[Change], top: Node) -> Node:
    """Where the first change stands, or the last thing around it that is still there."""
    path = next((change.path for change in changes), "")
    node = top
    while path and node.path != path:
        inside = node.value.values() if isinstance(node.value, dict) else node.value
        following = [
            item for item in inside if isinstance(item, Node) and re.match(rf"{re.escape(item.path)}(?:[.\[]|$)", path)
        ]
        if not following:
            break
        (node, *_) = following
    return node
