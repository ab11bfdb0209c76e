"""What a field of a certificate may hold: a description that reads it, and that others show as data.

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
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, cast

from flint import fmpq

from certattn.kernel.document.numbers import (
    RATIONAL_FORMS,
    REAL_FORMS,
    NumberError,
    parse_count,
    parse_rational,
    parse_real,
)
from certattn.kernel.document.quoting import counted, quote
from certattn.kernel.document.tree import Node
from certattn.kernel.errors import MalformedError
from certattn.kernel.limits import Limits, Watch
from certattn.kernel.mathematics.reals import Real, square

if TYPE_CHECKING:
    from certattn.kernel.document.arrays import ArrayFiles

T = TypeVar("T")

MAX_TEXT = 1000


# Room for exact numbers, by the size of a document: a few short texts can need very much of it. 1e20000 has 20001
# digits, and fractions with unrelated denominators grow with each other when they are brought to a common one.
_TIMES = 16


class Room:
    """The room that the written numbers of one document may take, in proportion to its largest size."""

    def __init__(self, limits: Limits) -> None:
        self._bytes = _TIMES * limits.max_document_bytes
        self._taken = 0

    def take(self, bits: int, node: Node) -> None:
        """Room for a number, beside those before. Raises MalformedError where it is used up."""
        self._taken += bits
        self.require(self._taken, node)

    def require(self, bits: int, node: Node) -> None:
        """Room for something by itself. Raises MalformedError where there is not so much."""
        if bits > 8 * self._bytes:
            found = f"numbers that need over {self._bytes} bytes when written out exactly"
            raise node.malformed("shorter numbers", found, "use array files, or raise --max-document-bytes")


class Reading:
    """What reading a certificate has at hand: limits, the folder of its array files, and room for its numbers.

    `used` are the nodes of fields that somebody has asked a record for.
    """

    def __init__(self, limits: Limits, folder: Path, root: Path, watch: Watch) -> None:
        self.limits, self.room = limits, Room(limits)
        self.used: set[Node] = set()
        self._files = folder, root, watch

    @property
    def has_arrays(self) -> bool:
        """Whether an array file has been asked for."""
        return "arrays" in vars(self)

    @cached_property
    def arrays(self) -> ArrayFiles:
        """The array files that the certificate may read."""
        # Imported here: a certificate without arrays is checked without what reads them.
        from certattn.kernel.document.arrays import ArrayFiles

        folder, root, watch = self._files
        return ArrayFiles(folder, root, self.limits, watch)

    def number(self, node: Node, parse: Callable[[str, Limits], T], expected: str) -> T:
        """The number at `node`, by a parser of `numbers`."""
        try:
            return parse(scalar(node, expected), self.limits)
        except NumberError as error:
            raise node.malformed(expected, str(error), error.hint) from None


class Kind(ABC, Generic[T]):
    """What a field may hold. One that is written as others are says so: in one of the kinds of `written`."""

    written: Sequence[Kind[Any]] = ()

    @abstractmethod
    def read(self, node: Node, reading: Reading) -> T:
        """The value at `node`. Raises MalformedError."""


@dataclass(frozen=True)
class Field(Generic[T]):
    """A key of a record: its name, what it holds, and one line of documentation."""

    name: str
    kind: Kind[T]
    doc: str
    required: bool = True


# -- scalars


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


class Scale(Kind[Real]):
    """A rational or a square root of one, not 0: a factor by which something may be divided."""

    expected = "a factor other than 0"

    def read(self, node: Node, reading: Reading) -> Real:
        value = reading.number(node, parse_real, REAL_FORMS)
        if value == 0:
            raise node.malformed(self.expected)
        return value


class Length(Kind[Real]):
    """A rational >= 0 or a square root of one."""

    written = (Scale(),)

    def read(self, node: Node, reading: Reading) -> Real:
        value = reading.number(node, parse_real, REAL_FORMS)
        if isinstance(value, fmpq) and (value >= 0) is not True:
            raise node.malformed("a number >= 0")
        squared = square(value)
        reading.room.take(squared.p.bit_length() + squared.q.bit_length(), node)
        return value


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


@dataclass(frozen=True)
class CountUpTo(Count):
    """A plain integer that is no larger than `most`, of something: more would take a check too long."""

    most: int
    noun: str = ""
    hint: str = ""

    def read(self, node: Node, reading: Reading) -> int:
        value = super().read(node, reading)
        if value > self.most:
            most, found = (counted(number, self.noun) if self.noun else str(number) for number in (self.most, value))
            raise node.malformed(f"at most {most}", found, self.hint)
        return value


@dataclass(frozen=True)
class Choice(Kind[str]):
    """One of a few words."""

    words: tuple[str, ...]

    def read(self, node: Node, reading: Reading) -> str:
        if isinstance(node.value, str) and node.value in self.words:
            return node.value
        raise node.malformed(" or ".join(repr(word) for word in self.words))


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


class Flag(Kind[bool]):
    """true or false."""

    _meanings: Mapping[str, bool] = {"true": True, "false": False}

    def read(self, node: Node, reading: Reading) -> bool:
        if isinstance(node.value, str) and node.value in self._meanings:
            return self._meanings[node.value]
        raise node.malformed("'true' or 'false'")


# -- structures


@dataclass(frozen=True)
class Listing(Kind[list[T]]):
    """A list of at least one item: an empty list would be a statement about nothing."""

    item: Kind[T]

    def read(self, node: Node, reading: Reading) -> list[T]:
        if not isinstance(node.value, list) or not node.value:
            raise node.malformed("a list of at least one item")
        return [self.item.read(item, reading) for item in node.value]


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

    def _names(self) -> str:
        return ", ".join(n if field.required else f"{n} (optional)" for n, field in self.fields.items()) or "(none)"


# -- one of several forms


@dataclass(frozen=True)
class Variant(Kind[tuple[str, Values]]):
    """A mapping that takes one of several forms, told apart by the value under `tag`."""

    tag: str
    forms: Mapping[str, Record]

    def read(self, node: Node, reading: Reading) -> tuple[str, Values]:
        expected = f"a mapping with {self.tag}: {' or '.join(self.forms)}"
        if not isinstance(node.value, dict) or self.tag not in node.value:
            raise node.malformed(expected)
        tag = node.value[self.tag]
        if not isinstance(tag.value, str) or tag.value not in self.forms:
            raise tag.malformed(" or ".join(repr(form) for form in self.forms))
        reading.used.add(tag)
        return tag.value, self.record(tag.value).read(node, reading)

    def record(self, form: str) -> Record:
        """The record of a form, with its tag."""
        whole = self.forms[form]
        return Record(Field(self.tag, Choice((form,)), "the form"), *whole.fields.values(), rules=whole.rules)


@dataclass(frozen=True)
class ByKey(Kind[tuple[str, Values]]):
    """One of several forms (which may have forms again), told apart by a key that only it has; else the last."""

    forms: Mapping[str, Record | ByKey]

    def read(self, node: Node, reading: Reading) -> tuple[str, Values]:
        present = [key for key in self.forms if isinstance(node.value, dict) and key in node.value]
        key = present[0] if present else list(self.forms)[-1]
        form = self.forms[key]
        return form.read(node, reading) if isinstance(form, ByKey) else (key, form.read(node, reading))


@dataclass(frozen=True)
class EitherKey(ByKey):
    """The same where the keys are different ways to say one thing: two of them are refused as two, not as unknown."""

    def read(self, node: Node, reading: Reading) -> tuple[str, Values]:
        both = [key for key in self.forms if isinstance(node.value, dict) and key in node.value][:2]
        if len(both) > 1:
            raise node.malformed(f"{' or '.join(both)}, not both", f"{both[0]} beside {both[1]}")
        return super().read(node, reading)


# -- what fields of a record demand of each other


def some_of(*fields: Field[Any], none: str = "nothing that is asserted") -> Rule:
    """At least one of these: a statement must state something. `none` says what is found otherwise."""

    def rule(values: Values) -> None:
        if not any(field in values for field in fields):
            raise values.at.malformed(" or ".join(field.name for field in fields), none)

    return rule


def all_or_none(*fields: Field[Any]) -> Rule:
    """All of these, or none of them."""

    def rule(values: Values) -> None:
        there = [field.name for field in fields if field in values]
        if there and len(there) < len(fields):
            missing = [field.name for field in fields if field not in values]
            raise values.at.malformed(
                f"{' and '.join(field.name for field in fields)} together", f"{there[0]} without {missing[0]}"
            )

    return rule


def at_most_one_of(*fields: Field[Any]) -> Rule:
    """One of these at most: they say the same in different ways."""

    def rule(values: Values) -> None:
        there = [field.name for field in fields if field in values]
        if len(there) > 1:
            names = " or ".join(field.name for field in fields)
            raise values.at.malformed(f"{names}, one of them", " beside ".join(there))

    return rule


class Shaped(Protocol):
    """A stated matrix."""

    @property
    def node(self) -> Node: ...
    @property
    def shape(self) -> tuple[int, int]: ...


def shapes(**stated: tuple[Field[Shaped], str]) -> Rule:
    """Matrices whose sizes agree: `keys=(KEYS, "n d"), values=(VALUES, "n e")` has one n for both.

    A number in place of a letter is that very size.
    """

    def rule(values: Values) -> None:
        known: dict[str, tuple[int, str]] = {}
        for each, letters in stated.values():
            if each not in values:
                continue
            matrix = values[each]
            for letter, size, what in zip(letters.split(), matrix.shape, ("rows", "columns"), strict=True):
                wanted, source = (int(letter), "") if letter.isdigit() else known.get(letter, (size, ""))
                if size != wanted:
                    like = f", like {source}" if source else ""
                    raise matrix.node.malformed(f"{wanted} {what}{like}", f"{size} {what}")
                known.setdefault(letter, (size, each.name))

    return rule
