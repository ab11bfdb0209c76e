"""Which line of a certificate an obligation is about; for messages only."""

from __future__ import annotations

import re

from certattn.kernel.document.tree import Node

_MOST_DIGITS = 9


def asserted_at(asserts: Node, name: str) -> Node:
    """The node under `asserts` that the obligation `name` is about, as far as its name tells; else `asserts`.

    `at_most[3]` is about the one key `at_most`, however deep it is; `points[1].risk` is about what is there.
    """
    first, *rest = re.findall(r"[^.\[\]]+", name) or [""]
    found = _under(asserts, first)
    if len(found) != 1:
        return asserts
    (node,) = found
    for part in rest:
        inner = node.value
        if isinstance(inner, dict) and part in inner:
            node = inner[part]
        elif isinstance(inner, list) and _is_index(part) and int(part) < len(inner):
            node = inner[int(part)]
        else:
            break
    return node


def _under(node: Node, key: str) -> list[Node]:
    """All nodes of this key in a mapping and the mappings in it."""
    if not isinstance(node.value, dict):
        return []
    return [found for each, inner in node.value.items() for found in ([inner] if each == key else _under(inner, key))]


def _is_index(part: str) -> bool:
    return part.isascii() and part.isdigit() and len(part) <= _MOST_DIGITS
