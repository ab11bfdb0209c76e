"""Strict YAML: a file becomes a tree of text scalars, lists and mappings with line numbers.

Only the YAML that can mean one thing is read. Anchors, aliases, tags, directives, several
documents, keys that are not text, duplicate keys, byte order marks, and characters that do not
show are refused. YAML's own typing (`yes`, `1e3`, `012`, dates) is never used: a scalar is its text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import yaml

# libyaml's scanner and no other, so that one text means the same on every machine: the pure Python
# one reads some texts differently, and needs minutes where libyaml needs a second.
from yaml import CSafeLoader

from certattn.kernel.document.quoting import listed, quote, word
from certattn.kernel.document.regular_files import reason, regular_file
from certattn.kernel.errors import MalformedError, Place
from certattn.kernel.limits import Limits

# What may not stand in a file as itself: control characters, ends of line other than \n, marks
# that turn the direction in which text is shown, byte order marks, lone surrogates.
UNSHOWN = re.compile(
    r"[^\n -~\xa0-\u061b\u061d-\u200d\u2010-\u2027\u202f-\u2065\u206a-\ud7ff"
    r"\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
# Whatever a person allows: trees are walked by functions that call themselves.
_DEEPEST = 200
_DIRECTIVE = re.compile(r"^%", re.MULTILINE)


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


def read_tree(path: Path, limits: Limits) -> Node:
    """The tree of a YAML file; the top is a mapping.

    Raises MalformedError with file, line and key path.
    """
    return parse_tree(_read_text(path, limits), str(path), limits)


def parse_tree(text: str, name: str, limits: Limits) -> Node:
    """The tree of YAML text; `name` stands for the file in messages."""
    text = text.replace("\r\n", "\n")
    _refuse_characters(text, name)
    try:
        top = _Builder(text, name, limits).build()
    except yaml.YAMLError as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
        place = Place(name, mark.line + 1 if mark else 0)
        raise MalformedError(place, problem or "broken syntax", "YAML text") from None
    if top is None:
        raise MalformedError(Place(name), "an empty file", "a mapping")
    if not isinstance(top.value, dict):
        raise top.malformed("a mapping")
    return top


def _read_text(path: Path, limits: Limits) -> str:
    place = Place(str(path))
    try:
        with regular_file(path, follow_link=True) as file:
            data = file.read(limits.max_document_bytes + 1)
    except (OSError, ValueError) as error:
        raise MalformedError(place, reason(error), "a readable YAML file") from None
    if len(data) > limits.max_document_bytes:
        raise MalformedError(
            place,
            f"a file over {limits.max_document_bytes} bytes",
            "a small text file",
            "put arrays into .npz files, or raise --max-document-bytes",
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise MalformedError(Place(str(path), line), "bytes that are not UTF-8", "UTF-8 text") from None


def _refuse_characters(text: str, name: str) -> None:
    """Before YAML is read: what may not stand in the text, whatever it would mean."""
    if match := UNSHOWN.search(text):
        line = text.count("\n", 0, match.start()) + 1
        what = "a byte order mark" if match[0] == "\ufeff" else f"the character {match[0]!a}"
        expected = "text without tabs, control characters and marks that do not show"
        hint = "in double quotes they can be written as \\t or \\u202e"
        raise MalformedError(Place(name, line), what, expected, hint)
    if match := _DIRECTIVE.search(text):
        line = text.count("\n", 0, match.start()) + 1
        raise MalformedError(Place(name, line), "a YAML directive (a line that begins with %)", "plain YAML")


class _Builder:
    """The tree that a stream of YAML events describes."""

    def __init__(self, text: str, name: str, limits: Limits) -> None:
        self._text = text
        self._name = name
        self._limits = limits
        self._top: Node | None = None
        # Lists and mappings whose end has not been seen; the key that waits for its value; nodes so far.
        self._open: list[Node] = []
        self._key: str | None = None
        self._count = 0

    def build(self) -> Node | None:
        for event in yaml.parse(self._text, Loader=CSafeLoader):
            if isinstance(event, yaml.DocumentStartEvent) and self._top is not None:
                raise MalformedError(Place(self._name, _line(event)), "a second YAML document", "one document")
            if isinstance(event, yaml.CollectionEndEvent):
                self._open.pop()
            if isinstance(event, yaml.NodeEvent):
                self._add(event)
        return self._top

    def _add(self, event: yaml.NodeEvent) -> None:
        parent = self._open[-1] if self._open else None
        if parent is not None and isinstance(parent.value, dict) and self._key is None:
            at_key = Node(self._name, _line(event), parent.value, parent.parent, parent.key)
            self._refuse(event, at_key)
            self._key = _key(event, at_key, parent.value)
            return
        node = Node(self._name, _line(event), _empty(event), parent, self._step(parent))
        self._refuse(event, node)
        if parent is None:
            self._top = node
        elif isinstance(parent.value, list):
            parent.value.append(node)
        elif isinstance(parent.value, dict) and self._key is not None:
            parent.value[self._key] = node
            self._key = None
        if isinstance(event, yaml.CollectionStartEvent):
            deepest = min(self._limits.max_depth, _DEEPEST)
            if len(self._open) >= deepest:
                hint = "raise --max-depth" if deepest < _DEEPEST else ""
                raise node.malformed("flatter structure", f"nesting over {deepest} levels", hint)
            self._open.append(node)

    def _step(self, parent: Node | None) -> str | int:
        return len(parent.value) if parent is not None and isinstance(parent.value, list) else self._key or ""

    def _refuse(self, event: yaml.NodeEvent, node: Node) -> None:
        """Too many nodes, and what YAML may hang on one."""
        self._count += 1
        if self._count > self._limits.max_nodes:
            found = f"over {self._limits.max_nodes} values"
            raise node.malformed("fewer", found, "use array files, or raise --max-nodes")
        anchor, tag = event.anchor, getattr(event, "tag", None)
        if isinstance(event, yaml.AliasEvent):
            raise node.malformed("the value itself", f"the alias {quote(f'*{anchor}')}", "aliases are not read")
        if anchor is not None:
            raise node.malformed("plain YAML", f"the anchor {quote(f'&{anchor}')}", "anchors are not read")
        if tag is not None:
            raise node.malformed("plain YAML", f"the tag {quote(tag)}", "tags are not read")
        # libyaml takes a # that touches the | or > for a comment; YAML does not.
        if isinstance(event, yaml.ScalarEvent) and event.style in ("|", ">"):
            start = event.start_mark.index if event.start_mark else 0
            if "#" in self._text[start : start + 4].split()[0]:
                raise node.malformed("a space before #", f"{event.style} with # behind it")


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 0


def _key(event: yaml.NodeEvent, at: Node, known: dict[str, Node]) -> str:
    if not isinstance(event, yaml.ScalarEvent):
        raise at.malformed("a key that is text", "a key that is a list or mapping")
    key = str(event.value)
    if key in known:
        expected = f"one {quote(key)} (the first is on line {known[key].line})"
        raise at.malformed(expected, f"the key {quote(key)} a second time")
    return key


def _empty(event: yaml.NodeEvent) -> str | list[Node] | dict[str, Node]:
    if isinstance(event, yaml.MappingStartEvent):
        return {}
    return str(event.value) if isinstance(event, yaml.ScalarEvent) else []
