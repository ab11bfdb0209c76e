"""`$name` in a spec stands for the value of a field of the task; there is nothing else to it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from certattn.kernel.document.quoting import listed, quote
from certattn.kernel.document.tree import Node

NAME = re.compile(r"[a-z][a-z0-9_]*")
# $$ is a dollar; a dollar alone is a mistake.
_PLACE = re.compile(r"\$(?:\$|(?P<plain>[a-z][a-z0-9_]*)|\{(?P<braced>[a-z][a-z0-9_]*)\}|)")


def fill(node: Node, fields: Mapping[str, Node]) -> Node:
    """The tree with the values of `fields` in place of their names.

    A scalar that is `$name` alone becomes the value itself, which may be a list or a mapping; inside a longer text a
    value must be a scalar. Keys of mappings are taken as they are. Raises MalformedError at the scalar.
    """
    if isinstance(node.value, str):
        return _filled_text(node, node.value, fields) if "$" in node.value else node
    # Places stay those of the template: the items' parents are its nodes.
    if isinstance(node.value, list):
        return Node(node.file, node.line, [fill(item, fields) for item in node.value], node.parent, node.key)
    filled = {key: fill(item, fields) for key, item in node.value.items()}
    return Node(node.file, node.line, filled, node.parent, node.key)


def names_in(node: Node) -> Iterator[str]:
    """The fields that a tree names."""
    if isinstance(node.value, str):
        yield from (found for match in _PLACE.finditer(node.value) if (found := _name(match)))
        return
    for item in node.value if isinstance(node.value, list) else node.value.values():
        yield from names_in(item)


def _name(match: re.Match[str]) -> str:
    return match["plain"] or match["braced"] or ""


def _filled_text(node: Node, text: str, fields: Mapping[str, Node]) -> Node:
    whole = _PLACE.fullmatch(text)
    if whole and _name(whole):
        return _field(node, _name(whole), fields)

    def value(match: re.Match[str]) -> str:
        if match[0] == "$$":
            return "$"
        if not _name(match):
            raise node.malformed("$name, ${name}, or $$ for a dollar")
        found = _field(node, _name(match), fields)
        if not isinstance(found.value, str):
            raise node.malformed(f"a scalar for ${_name(match)} inside a text", found.describe())
        return found.value

    return Node(node.file, node.line, _PLACE.sub(value, text), node.parent, node.key)


def _field(node: Node, name: str, fields: Mapping[str, Node]) -> Node:
    if name not in fields:
        raise node.malformed(f"a field of grid, zip or list: {listed(fields)}", quote(f"${name}"))
    return fields[name]
