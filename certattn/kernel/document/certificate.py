"""The outer form of every certificate file, and the digest of what it states."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from certattn.kernel.document.numbers import NumberError, parse_real
from certattn.kernel.document.reader import parse_tree, read_hashed
from certattn.kernel.document.references import file_format
from certattn.kernel.document.schema import Choice, Field, Kind, Reading, Record, Text, Values
from certattn.kernel.document.tree import Node, Plain
from certattn.kernel.errors import UsageError
from certattn.kernel.limits import DEFAULT_LIMITS, Limits, Watch

FORMAT_VERSION = "1"


class Section(Kind[Node]):
    """A mapping that the claim itself reads."""

    def read(self, node: Node, reading: Reading) -> Node:
        if not isinstance(node.value, dict):
            raise node.malformed("a mapping")
        return node


class Provenance(Kind[Node]):
    """Texts by key: shown, never believed. There may be none."""

    def read(self, node: Node, reading: Reading) -> Node:
        if not isinstance(node.value, dict):
            raise node.malformed("a mapping of short texts")
        for item in node.value.values():
            Text(lines=True).read(item, reading)
        return node


VERSION = Field("certattn", Choice((FORMAT_VERSION,)), "version of the certificate format")
CLAIM = Field("claim", Text(), "which statement is made")
GIVEN = Field("given", Section(), "everything the statement is about, exactly")
ASSERTS = Field("asserts", Section(), "the numbers claimed")
WITNESS = Field("witness", Section(), "hints that make checking cheap; never believed", required=False)
PROVENANCE = Field("provenance", Provenance(), "who, when, how; shown, never believed", required=False)
ENVELOPE = Record(VERSION, CLAIM, GIVEN, ASSERTS, WITNESS, PROVENANCE)


@dataclass(frozen=True)
class Certificate:
    """A certificate as read: its outer form is right, its claim has not been looked at.

    Attributes: `path` as given, `claim`, the sections `given`, `asserts` and `witness` as trees,
    `plain` the whole file as nested dicts, lists and texts, `digest` the statement digest, `sha256` the hash of the
    file that it was read from, if it was.
    """

    path: str
    claim: str
    values: Values
    reading: Reading
    sha256: str = ""

    @property
    def given(self) -> Node:
        return self.values[GIVEN]

    @property
    def asserts(self) -> Node:
        return self.values[ASSERTS]

    @property
    def witness(self) -> Node | None:
        return self.values.get(WITNESS)

    @property
    def provenance(self) -> dict[str, str]:
        node = self.values.get(PROVENANCE)
        plain = node.plain() if node else {}
        return {key: str(text) for key, text in plain.items()} if isinstance(plain, dict) else {}

    @property
    def plain(self) -> dict[str, Plain]:
        plain = self.values.at.plain()
        assert isinstance(plain, dict)
        return plain

    @property
    def digest(self) -> str:
        return statement_digest(self.plain)


def load(
    path: str | Path, *, root: str | Path | None = None, limits: Limits = DEFAULT_LIMITS, watch: Watch | None = None
) -> Certificate:
    """Read a certificate file.

    `root` is the folder that array files may lie in; by default the certificate's own. `watch` is told how far the
    reading of large array files has come.
    Raises MalformedError naming file, line and key path, and UsageError for a root that is no folder.
    """
    if root is not None:
        require_folder(Path(root))
    watch = Watch() if watch is None else watch
    with watch.phase("parsing"):
        tree, sha256 = read_hashed(Path(path), limits)
    return replace(_open(tree, Path(path), root, limits, watch), sha256=sha256)


def require_folder(root: Path) -> None:
    """Raises UsageError for a root that is no folder: nothing lies in it."""
    if not root.is_dir():
        raise UsageError(f"root is {str(root)!r}, expected a folder")


def loads(
    text: str, path: str | Path, *, root: str | Path | None = None, limits: Limits = DEFAULT_LIMITS
) -> Certificate:
    """A certificate from text, as if it stood in the file `path`."""
    return _open(parse_tree(text, str(path), limits), Path(path), root, limits, Watch())


def _open(tree: Node, path: Path, root: str | Path | None, limits: Limits, watch: Watch) -> Certificate:
    folder = path.parent
    reading = Reading(limits, folder, Path(root) if root is not None else folder, watch)
    stated = tree.value.get(VERSION.name) if isinstance(tree.value, dict) else None
    if stated is not None:
        VERSION.kind.read(stated, reading)  # first of all: another version may well have other keys
    values = ENVELOPE.read(tree, reading)
    return Certificate(str(path), values[CLAIM], values, reading)


# -- the statement digest: one name for what a certificate says, however it is written down
#
# sha256 over a canonical JSON of the format version, claim, given and asserts. Numbers count by their value (0.1 and
# 1/10 agree), array references by content, number type, shape, rows, file format and array name but not by path,
# mappings without their order. Witness and provenance do not count: they are not part of the statement.

STATEMENT_KEYS = ("certattn", "claim", "given", "asserts")


def statement_digest(certificate: dict[str, Plain]) -> str:
    """The sha256 hex digest of the statement in a certificate's plain tree."""
    statement = {key: canonical(certificate[key]) for key in STATEMENT_KEYS if key in certificate}
    text = json.dumps(statement, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def canonical(value: Plain) -> Any:
    """A JSON value that is equal only for trees that state the same."""
    if isinstance(value, dict):
        if "file" in value and isinstance(value["file"], str):
            return {"array": _reference(value)}
        return {"map": {key: canonical(item) for key, item in value.items()}}
    if isinstance(value, list):
        return [canonical(item) for item in value]
    try:
        # Fixed limits: the digest must not depend on what one person allowed.
        return {"number": str(parse_real(value, DEFAULT_LIMITS))}
    except NumberError:
        return {"text": value}


def _reference(value: dict[str, Plain]) -> dict[str, Any]:
    # Names inside files are text even where they look like numbers: array "1" is not array "1.0".
    kept: dict[str, Any] = {key: item for key, item in value.items() if key not in ("file", "shape")}
    kept["format"] = file_format(str(value["file"]))
    shape = value.get("shape")
    if shape is not None:
        kept["shape"] = canonical(shape)
    if isinstance(shape, list) and shape and kept.get("rows") == f"0:{shape[0]}":
        del kept["rows"]  # all rows, which is what leaving them out says
    return kept
