"""What a field of a certificate may hold: one description that both reads it and yields its JSON Schema.

A `Kind[T]` reads a node into a T or raises MalformedError at that node. `Record` reads a mapping
with exactly the described keys; its result is indexed by the `Field` itself, so types carry
through:

    SCALE = Field("scale", Scale(), "softmax scale")
    given = Record(SCALE, ...).read(node, reading)
    given[SCALE]            # a Real
    given.node(SCALE)       # its place, for messages
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, cast

from flint import fmpq

from certattn.kernel.document.numbers import (
    COUNT_PATTERN,
    RATIONAL_FORMS,
    RATIONAL_PATTERN,
    REAL_FORMS,
    REAL_PATTERN,
    NumberError,
    parse_count,
    parse_rational,
    parse_real,
)
from certattn.kernel.document.quoting import quote
from certattn.kernel.document.room import Room
from certattn.kernel.document.tensor_files import TensorFiles
from certattn.kernel.document.tree import Node
from certattn.kernel.errors import MalformedError
from certattn.kernel.limits import Limits
from certattn.kernel.mathematics.reals import Real

T = TypeVar("T")
Schema = dict[str, Any]

MAX_TEXT = 1000


@dataclass(frozen=True, slots=True)
class Reading:
    """What reading a certificate has at hand: its limits, its array files, and room for its numbers.

    `used` are the nodes of fields that somebody has asked a record for.
    """

    limits: Limits
    tensors: TensorFiles
    room: Room
    used: set[Node] = field(default_factory=set)

    def number(self, node: Node, parse: Callable[[str, Limits], T], expected: str) -> T:
        """The number at `node`, by a parser of `numbers`."""
        try:
            return parse(scalar(node, expected), self.limits)
        except NumberError as error:
            raise node.malformed(expected, str(error), error.hint) from None


class Kind(ABC, Generic[T]):
    """What a field may hold."""

    @abstractmethod
    def read(self, node: Node, reading: Reading) -> T:
        """The value at `node`. Raises MalformedError."""

    @abstractmethod
    def schema(self) -> Schema:
        """The JSON Schema of the value, as a YAML-aware editor sees it."""


@dataclass(frozen=True)
class Field(Generic[T]):
    """A key of a record: its name, what it holds, and one line of documentation."""

    name: str
    kind: Kind[T]
    doc: str
    required: bool = True


# -- scalars

# An editor has typed plain numbers already; the reader takes their text.
_NUMBER_SCHEMA: Schema = {"type": ["number", "string"]}


def scalar(node: Node, expected: str) -> str:
    """The text of a scalar node that is not empty."""
    if isinstance(node.value, str) and node.value:
        return node.value
    raise node.malformed(expected)


@dataclass(frozen=True)
class Rational(Kind[fmpq]):
    """An exact rational; `minimum` and `above` are bounds it must keep (>= and >)."""

    minimum: int | None = None
    above: int | None = None

    def read(self, node: Node, reading: Reading) -> fmpq:
        value = reading.number(node, parse_rational, RATIONAL_FORMS)
        reading.room.take(value.p.bit_length() + value.q.bit_length(), node)
        if self.minimum is not None and (value >= self.minimum) is not True:
            raise node.malformed(f"a number >= {self.minimum}")
        if self.above is not None and (value > self.above) is not True:
            raise node.malformed(f"a number > {self.above}")
        return value

    def schema(self) -> Schema:
        return {**_NUMBER_SCHEMA, "pattern": RATIONAL_PATTERN, "description": RATIONAL_FORMS}


class Scale(Kind[Real]):
    """A rational or a square root of one, not 0: a factor by which something may be divided."""

    def read(self, node: Node, reading: Reading) -> Real:
        value = reading.number(node, parse_real, REAL_FORMS)
        if value == 0:
            raise node.malformed("a factor other than 0")
        return value

    def schema(self) -> Schema:
        return {**_NUMBER_SCHEMA, "pattern": REAL_PATTERN, "description": REAL_FORMS}


@dataclass(frozen=True)
class Count(Kind[int]):
    """A plain integer >= minimum."""

    minimum: int

    def read(self, node: Node, reading: Reading) -> int:
        expected = f"an integer >= {self.minimum}"
        value = reading.number(node, parse_count, expected)
        if value < self.minimum:
            raise node.malformed(expected)
        return value

    def schema(self) -> Schema:
        return {"type": ["integer", "string"], "minimum": self.minimum, "pattern": COUNT_PATTERN}


@dataclass(frozen=True)
class Choice(Kind[str]):
    """One of a few words."""

    words: tuple[str, ...]

    def read(self, node: Node, reading: Reading) -> str:
        if isinstance(node.value, str) and node.value in self.words:
            return node.value
        raise node.malformed(" or ".join(repr(word) for word in self.words))

    def schema(self) -> Schema:
        return {"enum": list(self.words)}


@dataclass(frozen=True)
class Text(Kind[str]):
    """Words for people: on one line, or where `lines` says so on several."""

    lines: bool = False

    def read(self, node: Node, reading: Reading) -> str:
        text = scalar(node, "text")
        if len(text) > MAX_TEXT:
            raise node.malformed(f"text of at most {MAX_TEXT} characters", f"{len(text)} characters")
        if "\n" in text and not self.lines:
            raise node.malformed("text on one line")
        return text

    def schema(self) -> Schema:
        # What looks like a number or a date to an editor is text here.
        return {"type": ["string", "number", "boolean", "null"], "minLength": 1, "maxLength": MAX_TEXT}


# -- structures


@dataclass(frozen=True)
class Listing(Kind[list[T]]):
    """A list of at least one item: an empty list would be a statement about nothing."""

    item: Kind[T]

    def read(self, node: Node, reading: Reading) -> list[T]:
        if not isinstance(node.value, list) or not node.value:
            raise node.malformed("a list of at least one item")
        return [self.item.read(item, reading) for item in node.value]

    def schema(self) -> Schema:
        return {"type": "array", "minItems": 1, "items": self.item.schema()}


class Values:
    """The content of a record, indexed by Field. Whose content is asked for is noted in `used`."""

    def __init__(self, node: Node, content: Mapping[str, object], used: set[Node]) -> None:
        self.at = node
        self._content = content
        self._used = used

    def __getitem__(self, field: Field[T]) -> T:
        content = cast(T, self._content[field.name])
        self._used.add(self.node(field))
        return content

    def __contains__(self, field: Field[Any]) -> bool:
        return field.name in self._content

    def get(self, field: Field[T]) -> T | None:
        if field not in self:
            return None
        return self[field]

    def items(self, field: Field[list[T]]) -> list[T]:
        """Those of a list; none where it is left out."""
        return self.get(field) or []

    def node(self, field: Field[Any]) -> Node:
        assert isinstance(self.at.value, dict)
        return self.at.value[field.name]


# What fields of a record demand of each other (`groups`). Raises MalformedError.
Rule = Callable[[Values], None]


class Record(Kind[Values]):
    """A mapping with exactly these keys; optional ones may be left out, as far as the rules allow."""

    def __init__(self, *fields: Field[Any], rules: Sequence[Rule] = ()) -> None:
        self.fields = {field.name: field for field in fields}
        self.rules = tuple(rules)

    def read(self, node: Node, reading: Reading) -> Values:
        if not isinstance(node.value, dict):
            raise node.malformed(f"a mapping with the keys {self._names()}")
        for key, item in node.value.items():
            if key not in self.fields:
                raise MalformedError(item.place, f"the unknown key {quote(key)}", f"only the keys {self._names()}")
        missing = [name for name, field in self.fields.items() if field.required and name not in node.value]
        if missing:
            raise node.malformed(f"the keys {self._names()}", f"no {' and no '.join(repr(name) for name in missing)}")
        content = {key: self.fields[key].kind.read(item, reading) for key, item in node.value.items()}
        values = Values(node, content, reading.used)
        for rule in self.rules:
            rule(values)
        return values

    def schema(self) -> Schema:
        properties = {name: {**field.kind.schema(), "description": field.doc} for name, field in self.fields.items()}
        required = [name for name, field in self.fields.items() if field.required]
        return {"type": "object", "additionalProperties": False, "properties": properties, "required": required}

    def _names(self) -> str:
        return ", ".join(n if field.required else f"{n} (optional)" for n, field in self.fields.items()) or "(none)"


class Deferred(Kind[T]):
    """A kind that refers to itself: a mixture's components are laws."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.kind: Kind[T] | None = None

    def read(self, node: Node, reading: Reading) -> T:
        if self.kind is None:
            raise RuntimeError(f"the field kind {self.name} was never completed")
        return self.kind.read(node, reading)

    def schema(self) -> Schema:
        return {"$ref": f"#/$defs/{self.name}"}
