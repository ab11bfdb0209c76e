"""Strict YAML: a file becomes a tree of text scalars, lists and mappings with line numbers.

Only the YAML that can mean one thing is read. Anchors, aliases, tags, directives, several
documents, keys that are not text, duplicate keys and byte order marks are refused. YAML's own
typing (`yes`, `1e3`, `012`, dates) is never used: a scalar is its text.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from certattn.kernel.errors import MalformedError, Place
from certattn.kernel.limits import Limits

# libyaml's scanner where the wheel has it (ten times faster), the pure one elsewhere.
_Loader: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Node:
    """A place in the document and what stands there."""

    place: Place
    value: str | list[Node] | dict[str, Node]

    @property
    def kind(self) -> str:
        return {str: "a scalar", list: "a list", dict: "a mapping"}[type(self.value)]

    def describe(self) -> str:
        """What stands here, short enough for a message."""
        if isinstance(self.value, str):
            text = self.value if len(self.value) <= 60 else self.value[:50] + "..."
            return repr(text) if text else "nothing"
        if isinstance(self.value, list):
            return f"a list of {len(self.value)}"
        return f"a mapping with the keys {', '.join(self.value) or '(none)'}"

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
    if text.startswith("\ufeff"):
        raise MalformedError(Place(name), "a byte order mark", "plain UTF-8 text")
    try:
        top = _build(yaml.parse(text, Loader=_Loader), name, limits)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        found = error.problem or error.context or "broken syntax"
        raise MalformedError(Place(name, line), found, "YAML text") from None
    except yaml.YAMLError as error:
        raise MalformedError(Place(name), str(error).splitlines()[0], "YAML text") from None
    if top is None:
        raise MalformedError(Place(name), "an empty file", "a mapping")
    if not isinstance(top.value, dict):
        raise top.malformed("a mapping")
    return top


def _read_text(path: Path, limits: Limits) -> str:
    place = Place(str(path))
    try:
        # Non-blocking, so that a named pipe cannot hold the checker.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with open(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise MalformedError(place, "something that is not a regular file", "a certificate file")
            data = file.read(limits.max_document_bytes + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise MalformedError(place, reason.lower(), "a readable file") from None
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


@dataclass(slots=True)
class _Open:
    """A list or mapping whose end has not been seen."""

    node: Node
    key: str | None = None


def _build(events: Iterator[yaml.Event], name: str, limits: Limits) -> Node | None:
    top: Node | None = None
    stack: list[_Open] = []
    documents = nodes = 0
    for event in events:
        if isinstance(event, yaml.StreamStartEvent | yaml.StreamEndEvent | yaml.DocumentEndEvent):
            continue
        place = Place(name, event.start_mark.line + 1 if event.start_mark else 0, _path(stack))
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                raise MalformedError(place, "a second YAML document", "one document")
            if event.version or event.tags:
                raise MalformedError(place, "a YAML directive", "plain YAML without directives")
            continue
        if isinstance(event, yaml.SequenceEndEvent | yaml.MappingEndEvent):
            stack.pop()
            continue
        _refuse_decorations(event, place)
        nodes += 1
        if nodes > limits.max_nodes:
            raise MalformedError(
                place, f"over {limits.max_nodes} values", "fewer", "use array files, or raise --max-nodes"
            )
        if stack and isinstance(stack[-1].node.value, dict) and stack[-1].key is None:
            stack[-1].key = _key(event, stack[-1].node, place)
            continue
        node = Node(place, _empty(event))
        if stack:
            _attach(stack[-1], node)
        else:
            top = node
        if not isinstance(event, yaml.ScalarEvent):
            if len(stack) >= limits.max_depth:
                raise MalformedError(
                    place, f"nesting over {limits.max_depth} levels", "flatter structure", "raise --max-depth"
                )
            stack.append(_Open(node))
    return top


def _refuse_decorations(event: yaml.Event, place: Place) -> None:
    if isinstance(event, yaml.AliasEvent):
        raise MalformedError(place, f"the alias *{event.anchor}", "the value itself", "aliases are not read")
    anchor, tag = getattr(event, "anchor", None), getattr(event, "tag", None)
    if anchor is not None:
        raise MalformedError(place, f"the anchor &{anchor}", "plain YAML", "anchors are not read")
    if tag is not None:
        raise MalformedError(place, f"the tag {tag}", "plain YAML", "tags are not read")


def _key(event: yaml.Event, mapping: Node, place: Place) -> str:
    if not isinstance(event, yaml.ScalarEvent):
        raise MalformedError(place, "a key that is a list or mapping", "a key that is text")
    key: str = event.value
    assert isinstance(mapping.value, dict)
    if key in mapping.value:
        first = mapping.value[key].place.line
        raise MalformedError(place, f"the key {key!r} a second time", f"one {key!r} (the first is on line {first})")
    return key


def _empty(event: yaml.Event) -> str | list[Node] | dict[str, Node]:
    if isinstance(event, yaml.ScalarEvent):
        return str(event.value)
    return [] if isinstance(event, yaml.SequenceStartEvent) else {}


def _attach(parent: _Open, node: Node) -> None:
    if isinstance(parent.node.value, list):
        parent.node.value.append(node)
    elif isinstance(parent.node.value, dict) and parent.key is not None:
        parent.node.value[parent.key] = node
        parent.key = None


def _path(stack: list[_Open]) -> str:
    """The key path of the next value: given.keys.shape[0]."""
    if not stack:
        return ""
    parent = stack[-1]
    base = parent.node.place.path
    if isinstance(parent.node.value, list):
        return f"{base}[{len(parent.node.value)}]"
    if parent.key is None:
        return base
    # A key from a hostile file must not reach a terminal raw.
    key = parent.key if parent.key.replace("-", "_").isidentifier() else repr(parent.key)
    return f"{base}.{key}" if base else key
