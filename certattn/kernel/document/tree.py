"""What a document holds: a tree of text scalars, lists and mappings with line numbers."""

from __future__ import annotations

from dataclasses import dataclass, field

from certattn.kernel.document.quoting import listed, quote, word
from certattn.kernel.errors import MalformedError, Place


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """What stands in the document under `key` (or at the index `key`) of `parent`."""

    file: str
    line: int
    value: str | list[Node] | dict[str, Node]
    parent: Node | None = field(default=None, repr=False)
    key: str | int = ""

    @property
    def place(self) -> Place:
        """File, line and key path."""
        return Place(self.file, self.line, self.path)

    @property
    def path(self) -> str:
        """given.keys.shape[0]; put together when asked for, since stored paths of long keys could fill the memory."""
        if self.parent is None:
            return ""
        base = self.parent.path
        if isinstance(self.key, int):
            return f"{base}[{self.key}]"
        return f"{base}.{word(self.key)}" if base else word(self.key)

    def describe(self) -> str:
        """What stands here, short enough for a message."""
        if isinstance(self.value, str):
            return quote(self.value) if self.value else "nothing"
        if isinstance(self.value, list):
            return f"a list of {len(self.value)}"
        return f"a mapping with the keys {listed(self.value)}"

    def malformed(self, expected: str, found: str = "", hint: str = "") -> MalformedError:
        """The error that this node is not what was expected."""
        return MalformedError(self.place, found or self.describe(), expected, hint)

    def plain(self) -> Plain:
        """The same tree without places."""
        if isinstance(self.value, str):
            return self.value
        if isinstance(self.value, list):
            return [item.plain() for item in self.value]
        return {key: item.plain() for key, item in self.value.items()}


Plain = str | list["Plain"] | dict[str, "Plain"]
