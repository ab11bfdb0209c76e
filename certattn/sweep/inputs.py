"""The inputs of a prover, read from a spec by the types that its `generate` declares."""

from __future__ import annotations

import collections.abc
import inspect
import re
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from certattn.kernel.document.numbers import RATIONAL_FORMS, NumberError, parse_rational
from certattn.kernel.document.quoting import listed, quote
from certattn.kernel.document.schema import Reading
from certattn.kernel.document.tree import Node
from certattn.kernel.errors import MalformedError
from certattn.provers import PROVERS
from certattn.sweep.draws import is_draw, read_draw

# Inputs that a sweep decides itself, or that are no data.
_OURS = ("out", "data", "plot", "draw", "said", "arrays", "return")
_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_NOTHING = type(None)


@dataclass(frozen=True)
class Signature:
    """What `generate` of a claim takes: types of the inputs by name, those it needs, whether it takes arrays."""

    claim: str
    hints: Mapping[str, Any]
    required: tuple[str, ...]
    arrays: bool


def signature_of(claim: str) -> Signature:
    """The inputs of a claim's prover. Raises KeyError for a claim without one."""
    prover = PROVERS[claim]
    parameters = inspect.signature(prover).parameters
    loose = [name for name, each in parameters.items() if each.kind is inspect.Parameter.VAR_KEYWORD]
    hints = {name: hint for name, hint in typing.get_type_hints(prover).items() if name not in (*_OURS, *loose)}
    required = tuple(name for name in hints if parameters[name].default is inspect.Parameter.empty)
    return Signature(claim, hints, required, bool(loose) or "arrays" in parameters)


def read_inputs(node: Node, signature: Signature, reading: Reading) -> dict[str, Any]:
    """The inputs by name, as plain data for JSON. Raises MalformedError."""
    if not isinstance(node.value, dict):
        raise node.malformed("a mapping of inputs")
    for key, item in node.value.items():
        if key not in signature.hints:
            expected = f"an input of {signature.claim}: {', '.join(signature.hints)}"
            raise MalformedError(item.place, f"the unknown input {quote(key)}", expected)
    missing = [name for name in signature.required if name not in node.value]
    if missing:
        raise node.malformed(f"the inputs {listed(missing)}", "none of this name")
    return {key: typed(item, signature.hints[key], reading) for key, item in node.value.items()}


def typed(node: Node, hint: Any, reading: Reading) -> Any:
    """The value at `node` as the type `hint` wants it, of plain data for JSON. Raises MalformedError."""
    if is_draw(node):
        return read_draw(node, node.path, reading)
    options = typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)
    options = tuple(option for option in options if option is not _NOTHING)
    if isinstance(node.value, dict):
        if any(_is(option, collections.abc.Mapping) for option in options):
            return {key: _plain(item, reading) for key, item in node.value.items()}
    elif isinstance(node.value, list):
        for option in options:
            if _is(option, collections.abc.Sequence):
                return _sequence(node, node.value, typing.get_args(option), reading)
    elif node.value:
        return _scalar(node, node.value, options, reading)
    raise node.malformed(_expected(options))


def _is(option: Any, kind: type) -> bool:
    origin = typing.get_origin(option) or option
    return option is Any or (isinstance(origin, type) and issubclass(origin, kind) and origin is not str)


def _plain(node: Node, reading: Reading) -> Any:
    """A tree of `given`: texts as they are, draws as what is to be drawn."""
    if is_draw(node):
        return read_draw(node, node.path, reading)
    if isinstance(node.value, list):
        return [_plain(item, reading) for item in node.value]
    if isinstance(node.value, dict):
        return {key: _plain(item, reading) for key, item in node.value.items()}
    return node.value


def _sequence(node: Node, items: list[Node], kinds: tuple[Any, ...], reading: Reading) -> list[Any]:
    if isinstance(kinds, tuple) and len(kinds) > 1:  # a tuple of so many
        if len(items) != len(kinds):
            raise node.malformed(f"a list of {len(kinds)}")
        return [typed(item, kind, reading) for item, kind in zip(items, kinds, strict=True)]
    return [typed(item, kinds[0] if kinds else Any, reading) for item in items]


def _scalar(node: Node, text: str, options: tuple[Any, ...], reading: Reading) -> Any:
    if bool in options:
        if text in ("true", "false"):
            return text == "true"
        raise node.malformed("true or false")
    if int in options and _INTEGER.fullmatch(text):
        return int(text)
    if str in options or Any in options:
        return text
    if float in options:
        try:
            value = parse_rational(text, reading.limits)
        except NumberError as error:
            raise node.malformed(RATIONAL_FORMS, str(error), error.hint) from None
        return int(value.p) / int(value.q)
    raise node.malformed(_expected(options))


def _expected(options: tuple[Any, ...]) -> str:
    """What a message says of types."""
    words = []
    for option in options:
        if _is(option, collections.abc.Mapping):
            words.append("a mapping")
        elif _is(option, collections.abc.Sequence):
            words.append("a list")
        elif option is bool:
            words.append("true or false")
        elif option is int:
            words.append("an integer")
        elif option is str:
            words.append("a text or a number")
    return " or ".join(dict.fromkeys(words)) or "another value"
