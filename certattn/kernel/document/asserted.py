"""What stands under `asserts`: what no claim has asked for, and, for messages, what an obligation is about."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from certattn.kernel.document.tree import Node

_MOST_DIGITS = 9


def ignored(asserts: Node, used: Collection[Node]) -> Iterator[Node]:
    """What stands under a key of `asserts`, however deep, and is not among what a claim has asked its records for.

    A claim that reads a number into a record and then leaves it there would verify whatever it is. That a number was
    asked for is much less than that it reached a side of an obligation: only changing it shows that. And of a list
    that was asked for, nobody knows here whether each item was looked at.
    """
    if isinstance(asserts.value, dict):
        yield from (node for node in asserts.value.values() if node not in used)
    for node in [] if isinstance(asserts.value, str) else _inside(asserts.value):
        yield from ignored(node, used)


def _inside(value: list[Node] | dict[str, Node]) -> Collection[Node]:
    return value.values() if isinstance(value, dict) else value


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
