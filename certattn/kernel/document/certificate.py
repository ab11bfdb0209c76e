"""The outer form of every certificate file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from certattn.kernel.document.digest import statement_digest
from certattn.kernel.document.reader import parse_tree, read_hashed
from certattn.kernel.document.room import Room
from certattn.kernel.document.schema import Choice, Field, Kind, Reading, Record, Text, Values
from certattn.kernel.document.stopwatch import Stopwatch
from certattn.kernel.document.tensor_files import TensorFiles
from certattn.kernel.document.tree import Node, Plain
from certattn.kernel.errors import UsageError
from certattn.kernel.limits import DEFAULT_LIMITS, Limits
from certattn.kernel.meter import Meter

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
    stopwatch: Stopwatch
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
    path: str | Path,
    *,
    root: str | Path | None = None,
    limits: Limits = DEFAULT_LIMITS,
    meter: Meter | None = None,
) -> Certificate:
    """Read a certificate file.

    `root` is the folder that array files may lie in; by default the certificate's own. `meter` takes
    notes of how much of large array files has been read.
    Raises MalformedError naming file, line and key path, and UsageError for a root that is no folder.
    """
    if root is not None:
        require_folder(Path(root))
    stopwatch = Stopwatch()
    with stopwatch.measure("parsing"):
        tree, sha256 = read_hashed(Path(path), limits)
    return replace(_open(tree, Path(path), root, limits, stopwatch, meter), sha256=sha256)


def require_folder(root: Path) -> None:
    """Raises UsageError for a root that is no folder: nothing lies in it."""
    if not root.is_dir():
        raise UsageError(f"root is {str(root)!r}, expected a folder")


def loads(
    text: str, path: str | Path, *, root: str | Path | None = None, limits: Limits = DEFAULT_LIMITS
) -> Certificate:
    """A certificate from text, as if it stood in the file `path`."""
    stopwatch = Stopwatch()
    with stopwatch.measure("parsing"):
        tree = parse_tree(text, str(path), limits)
    return _open(tree, Path(path), root, limits, stopwatch)


def _open(
    tree: Node,
    path: Path,
    root: str | Path | None,
    limits: Limits,
    stopwatch: Stopwatch,
    meter: Meter | None = None,
) -> Certificate:
    folder = path.parent
    tensors = TensorFiles(folder, Path(root) if root is not None else folder, limits, stopwatch, meter)
    reading = Reading(limits, tensors, Room(limits))
    stated = tree.value.get(VERSION.name) if isinstance(tree.value, dict) else None
    if stated is not None:
        VERSION.kind.read(stated, reading)  # first of all: another version may well have other keys
    values = ENVELOPE.read(tree, reading)
    return Certificate(str(path), values[CLAIM], values, reading, stopwatch)
