"""The values that fields of a sweep take: lists, ranges and files, and how fields go together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from flint import fmpq

from certattn.kernel.document.quoting import quote, word
from certattn.kernel.document.schema import ByKey, Count, Field, Kind, Rational, Reading, Record, Text
from certattn.kernel.document.tree import Node
from certattn.kernel.mathematics.reals import format_rational
from certattn.sweep.templates import NAME

MOST_TASKS = 1_000_000

Row = dict[str, Node]

FROM = Field("from", Rational(), "the first value")
TO = Field("to", Rational(), "the last value, if a step leads to it")
STEP = Field("step", Rational(above=0), "what is added each time; 1 by default", required=False)
TIMES = Field("times", Count(2), "what is multiplied by each time")
FILES = Field("files", Text(), "a glob, relative to the spec")
_RANGES = ByKey({"files": Record(FILES), "times": Record(FROM, TO, TIMES), "from": Record(FROM, TO, STEP)})


@dataclass(frozen=True)
class Axis(Kind[list[Node]]):
    """The values of one field, in order: a list, a range, or the files that match a glob in `folder`."""

    folder: Path

    def read(self, node: Node, reading: Reading) -> list[Node]:
        if isinstance(node.value, list):
            if node.value:
                return node.value
            raise node.malformed("a list of at least one value")
        if not isinstance(node.value, dict):
            raise node.malformed("a list of values, a range {from, to} or {files: GLOB}")
        form, values = _RANGES.read(node, reading)
        if form == "files":
            return [_value(node, text) for text in self._files(values.node(FILES), values[FILES])]
        first, last = values[FROM], values[TO]
        if last < first:
            raise values.node(TO).malformed(f"a number >= from, which is {format_rational(first)}")
        if form == "times":
            if first <= 0:
                raise values.node(FROM).malformed("a number > 0, for it is multiplied")
            return [_value(node, format_rational(each)) for each in _powers(first, last, values[TIMES])]
        step = values.get(STEP) or fmpq(1)
        count = int(((last - first) / step).floor()) + 1
        require_few(node, count)
        return [_value(node, format_rational(first + index * step)) for index in range(count)]

    def _files(self, node: Node, pattern: str) -> list[str]:
        if Path(pattern).is_absolute() or ".." in Path(pattern).parts:
            raise node.malformed("a glob below the folder of the spec, with forward slashes")
        try:
            found = sorted(path.relative_to(self.folder).as_posix() for path in self.folder.glob(pattern))
        except (ValueError, NotImplementedError) as error:
            raise node.malformed("a glob such as heads/*.npz", f"{quote(pattern)} ({error})") from None
        if not found:
            raise node.malformed("a glob that matches a file", f"{quote(pattern)}, which matches none")
        return found


@dataclass(frozen=True)
class Axes(Kind[dict[str, list[Node]]]):
    """Fields by name, and their values."""

    folder: Path

    def read(self, node: Node, reading: Reading) -> dict[str, list[Node]]:
        if not isinstance(node.value, dict) or not node.value:
            raise node.malformed("a mapping of fields to their values")
        return {require_name(key, item): Axis(self.folder).read(item, reading) for key, item in node.value.items()}


class Rows(Kind[list[Row]]):
    """Rows that are written out: each a mapping of the same fields to values."""

    def read(self, node: Node, reading: Reading) -> list[Row]:
        if not isinstance(node.value, list) or not node.value:
            raise node.malformed("a list of mappings from fields to values")
        rows: list[Row] = []
        for item in node.value:
            if not isinstance(item.value, dict) or not item.value:
                raise item.malformed("a mapping of fields to values")
            for key, value in item.value.items():
                require_name(key, value)
            if rows and item.value.keys() != rows[0].keys():
                raise item.malformed(f"the fields of the first row, {', '.join(rows[0])}")
            rows.append(item.value)
        return rows


def require_name(key: str, node: Node) -> str:
    if not NAME.fullmatch(key):
        raise node.malformed("a field's name of small letters, digits and _", f"the name {word(key)}")
    return key


def require_few(node: Node, count: int) -> None:
    """Refuse what is more than a sweep can hold, before room is made for it."""
    if count > MOST_TASKS:
        raise node.malformed(f"at most {MOST_TASKS} tasks in all", f"{count}")


def grid_rows(node: Node, axes: dict[str, list[Node]]) -> list[Row]:
    """Every combination; the last field changes fastest."""
    require_few(node, math.prod(map(len, axes.values())))
    return [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]


def zip_rows(node: Node, axes: dict[str, list[Node]]) -> list[Row]:
    """First values together, second values together, and so on. Raises MalformedError for unequal lengths."""
    lengths = {name: len(values) for name, values in axes.items()}
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{length} of {name}" for name, length in lengths.items())
        raise node.malformed("equally many values of each field", found)
    return [dict(zip(axes, values, strict=True)) for values in zip(*axes.values(), strict=True)]


def together(node: Node, sections: Sequence[Sequence[Row]]) -> Iterator[Row]:
    """Every combination of a row of each section; the last section changes fastest."""
    require_few(node, math.prod(map(len, sections)))
    for rows in product(*sections):
        yield {name: value for row in rows for name, value in row.items()}


def _powers(first: fmpq, last: fmpq, times: int) -> Iterator[fmpq]:
    while first <= last:
        yield first
        first = first * times


def _value(node: Node, text: str) -> Node:
    """A value that an axis makes; messages about it name the axis."""
    return Node(node.file, node.line, text, node.parent, node.key)
