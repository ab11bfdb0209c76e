"""Mappings with exactly the keys that a format has, lists, and words out of some."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from outcomes import Rejected
from scalars import natural, rational

MAX_TEXT = 1000


def written(node: Any, where: str, lines: bool = False) -> str:
    """Words for people, on one line or on several."""
    if not isinstance(node, str) or not node or len(node) > MAX_TEXT or ("\n" in node and not lines):
        raise Rejected(f"{where}: expected a text of at most {MAX_TEXT} characters{'' if lines else ' on one line'}")
    return node


def refuse(when: object, why: str) -> None:
    """Reject what is no certificate."""
    if when:
        raise Rejected(why)


def fields(node: Any, where: str, need: str = "", may: str = "") -> dict[str, Any]:
    """A mapping with exactly the keys `need` and any of `may`; those left out are None. Anything else is rejected."""
    if not isinstance(node, dict):
        raise Rejected(f"{where}: expected a mapping")
    known = need.split() + may.split()
    for key in node:
        if key not in known:
            raise Rejected(f"{where}: unknown key {key!r}, expected {', '.join(known)}")
    for key in need.split():
        if key not in node:
            raise Rejected(f"{where}: the key {key!r} is missing")
    return {key: node.get(key) for key in known}


def some(node: Any, where: str, may: str, need: str = "") -> dict[str, Any]:
    """A mapping with the keys `need` and at least one of `may`."""
    found = fields(node, where, need, may)
    if all(found[key] is None for key in may.split()):
        raise Rejected(f"{where}: expected at least one of {', '.join(may.split())}")
    return found


def present(mapping: dict[str, Any]) -> dict[str, Any]:
    """Of a mapping that `fields` has read what is there."""
    return {key: node for key, node in mapping.items() if node is not None}


def witness_of(node: Any, need: str = "", may: str = "") -> dict[str, Any]:
    """What the witness holds; without keys that it needs it may be left out."""
    return fields({} if node is None and not need else node, "witness", need, may)


def starting_bits(node: Any, may: str = "") -> dict[str, Any]:
    """A witness that may say with how many bits to begin, which is looked at and not used."""
    hint = witness_of(node, "", f"{may} bits")
    if hint["bits"] is not None:
        natural(hint["bits"], "witness.bits", 2)
    return hint


def listed(node: Any, where: str) -> list[Any]:
    """A list that is not empty."""
    if not isinstance(node, list) or not node:
        raise Rejected(f"{where}: expected a list with something in it")
    return node


def items(node: Any, where: str) -> list[Any]:
    """A list that may be left out."""
    return [] if node is None else listed(node, where)


def optional(read: Callable[..., Any], node: Any, *about: Any) -> Any:
    """None where nothing stands."""
    return None if node is None else read(node, *about)


def numbers(node: Any, where: str, names: str) -> list[Fraction]:
    """A mapping with exactly these keys, each with a number."""
    return [rational(value, f"{where}.{name}") for name, value in fields(node, where, names).items()]


def one_of(text: object, where: str, *choices: str) -> str:
    """A word out of some."""
    if text not in choices:
        raise Rejected(f"{where}: expected {' or '.join(choices)}, found {str(text)[:40]!r}")
    return str(text)


def kind_of(node: Any, where: str, *kinds: str, key: str = "kind") -> str:
    """The word out of some by which a mapping says of what kind it is."""
    return one_of(node.get(key) if isinstance(node, dict) else None, f"{where}.{key}", *kinds)
