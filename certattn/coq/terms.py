"""Numbers of a certificate as constants of a Coq file, and their fingerprints.

Integers are written in hexadecimal digits: Coq reads these in time proportional to their length, decimal ones not. In
tables, where there are many, large ones are written with the digits of library/Digits.v, which takes half the time.
Nothing that a certificate calls by name reaches a Coq file: constants have names of the exporter's own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from flint import fmpq, fmpz

from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import Real, Surd

T = TypeVar("T")

# What a literal of 24 bits takes up among digits.
_LITERAL_CHARACTERS = 20
# Lists of so many rows are put together from several: Coq's parser is recursive.
_ROWS_TOGETHER = 256
_MODULUS = 2**61 - 1
_DIGIT_BITS = 56
_SMALL_OFFSET = 1 << 58
_OPENING = 1 << 60


def integer(value: int | fmpz) -> str:
    """An integer as a literal of Coq."""
    return hex(int(value))


def entry(value: int | fmpz) -> str:
    """An integer of a table: a literal, or from two bytes on the digits of library/Digits.v."""
    size = abs(int(value))
    if size < 256:
        return integer(value)
    first, *rest = size.to_bytes((size.bit_length() + 7) // 8, "big")
    written = f"c{first:02x}"
    for byte in rest:
        written = f"(b{byte:02x} {written})"
    return f"{'Zpos' if value > 0 else 'Zneg'} {written}"


def natural(value: int) -> str:
    """A natural number; large ones are no literals of `nat`."""
    return f"(Z.to_nat {integer(value)})"


def positive(value: int | fmpz) -> str:
    """A positive integer as a literal."""
    return f"{integer(value)}%positive"


def listed(items: Iterable[str]) -> str:
    return f"[{'; '.join(items)}]"


def integers(values: Iterable[int | fmpz]) -> str:
    """A list of integers."""
    return listed(map(entry, values))


class Constant(ABC):
    """A named constant of an instance: how Coq reads it, and the symbols of its fingerprint."""

    name: str

    @abstractmethod
    def definitions(self) -> Iterator[str]:
        """The sentences that define it."""

    @abstractmethod
    def fingerprint(self, point: int, accumulated: int) -> int:
        """The fingerprint of `Fingerprint.v`, going on from `accumulated`."""

    @abstractmethod
    def fingerprint_term(self, point: str, accumulated: str) -> str:
        """The term by which Coq computes the same."""

    @property
    @abstractmethod
    def literals(self) -> int:
        """About how many literals of 24 bits Coq has to read."""


class _Vectors(Constant):
    """Several vectors over one denominator: `name_den`, a positive integer, and `name`, lists of integers."""

    @property
    @abstractmethod
    def denominator(self) -> fmpz: ...

    @property
    @abstractmethod
    def rows(self) -> list[list[fmpz]]: ...

    @property
    def term(self) -> str:
        """The vectors over the reals, the rows of a matrix where they are equally long."""
        return f"(mat {self.name}_den {self.name})"

    @property
    def arguments(self) -> str:
        """Denominator and integers."""
        return f"{self.name}_den {self.name}"

    def definitions(self) -> Iterator[str]:
        yield f"Definition {self.name}_den : positive := {positive(self.denominator)}."
        yield from _long_list(self.name, "list (list Z)", list(map(integers, self.rows)))

    def fingerprint(self, point: int, accumulated: int) -> int:
        return _of_rows(point, _of_integers(point, accumulated, [self.denominator]), self.rows)

    def fingerprint_term(self, point: str, accumulated: str) -> str:
        inner = f"(of_list {point} {accumulated} [Zpos {self.name}_den])"
        return f"(of_rows {point} {inner} {self.name})"

    @property
    def literals(self) -> int:
        return _literals(entry for row in self.rows for entry in row)


@dataclass(frozen=True)
class Table(_Vectors):
    """An exact matrix, row by row."""

    name: str
    matrix: ExactMatrix

    @property
    def denominator(self) -> fmpz:
        return self.matrix.denominator

    @property
    def rows(self) -> list[list[fmpz]]:
        found: list[list[fmpz]] = self.matrix.numerators.tolist()
        return found


@dataclass(frozen=True)
class Parts(_Vectors):
    """One exact vector, cut into several of these lengths."""

    name: str
    whole: ExactMatrix
    lengths: Sequence[int]

    @property
    def denominator(self) -> fmpz:
        return self.whole.denominator

    @property
    def rows(self) -> list[list[fmpz]]:
        return _cut(self.whole.numerators.entries(), self.lengths)


@dataclass(frozen=True)
class Tables(Constant):
    """Several exact matrices over one denominator: `name_den`, and `name`, a list of lists of rows."""

    name: str
    denominator: fmpz
    parts: list[list[list[fmpz]]]

    @classmethod
    def of(cls, name: str, stacked: ExactMatrix, lengths: Sequence[int]) -> Tables:
        """The rows of `stacked`, so many for each part."""
        return cls(name, stacked.denominator, _cut(stacked.numerators.tolist(), lengths))

    @property
    def term(self) -> str:
        """The matrices over the reals."""
        return f"(map (mat {self.name}_den) {self.name})"

    @property
    def arguments(self) -> str:
        return f"{self.name}_den {self.name}"

    def definitions(self) -> Iterator[str]:
        yield f"Definition {self.name}_den : positive := {positive(self.denominator)}."
        names = [f"{self.name}_{k}" for k in range(len(self.parts))]
        for name, rows in zip(names, self.parts, strict=True):
            yield from _long_list(name, "list (list Z)", list(map(integers, rows)))
        yield from _long_list(self.name, "list (list (list Z))", names)

    def fingerprint(self, point: int, accumulated: int) -> int:
        found = _of_integers(point, accumulated, [self.denominator])
        found = _step(point, found, _OPENING + 2)
        for rows in self.parts:
            found = _of_rows(point, found, rows)
        return found

    def fingerprint_term(self, point: str, accumulated: str) -> str:
        inner = f"(of_list {point} {accumulated} [Zpos {self.name}_den])"
        return f"(of_tables {point} {inner} {self.name})"

    @property
    def literals(self) -> int:
        return _literals(entry for rows in self.parts for row in rows for entry in row)


@dataclass(frozen=True)
class Row(Constant):
    """A vector of rationals: `name_den`, and `name`, a list of integers."""

    name: str
    matrix: ExactMatrix

    @classmethod
    def of(cls, name: str, entries: Sequence[fmpq]) -> Row:
        return cls(name, ExactMatrix.row_vector(entries))

    @property
    def entries(self) -> list[fmpz]:
        found: list[fmpz] = self.matrix.numerators.entries()
        return found

    @property
    def term(self) -> str:
        """The vector over the reals."""
        return f"(vec {self.name}_den {self.name})"

    @property
    def arguments(self) -> str:
        return f"{self.name}_den {self.name}"

    def definitions(self) -> Iterator[str]:
        yield f"Definition {self.name}_den : positive := {positive(self.matrix.denominator)}."
        yield from _long_list(self.name, "list Z", list(map(entry, self.entries)))

    def fingerprint(self, point: int, accumulated: int) -> int:
        return _of_integers(point, _of_integers(point, accumulated, [self.matrix.denominator]), self.entries)

    def fingerprint_term(self, point: str, accumulated: str) -> str:
        inner = f"(of_list {point} {accumulated} [Zpos {self.name}_den])"
        return f"(of_list {point} {inner} {self.name})"

    @property
    def literals(self) -> int:
        return _literals(self.entries)


@dataclass(frozen=True)
class Integers(Constant):
    """Whole numbers."""

    name: str
    entries: Sequence[fmpz]

    @property
    def term(self) -> str:
        """The vector over the reals."""
        return f"(vec 1 {self.name})"

    def definitions(self) -> Iterator[str]:
        return _long_list(self.name, "list Z", list(map(entry, self.entries)))

    def fingerprint(self, point: int, accumulated: int) -> int:
        return _of_integers(point, accumulated, self.entries)

    def fingerprint_term(self, point: str, accumulated: str) -> str:
        return f"(of_list {point} {accumulated} {self.name})"

    @property
    def literals(self) -> int:
        return _literals(self.entries)


@dataclass(frozen=True)
class Number(Constant):
    """A rational: `name_num`, an integer, over `name_den`, a positive one."""

    name: str
    value: fmpq

    @property
    def arguments(self) -> str:
        return f"{self.name}_num {self.name}_den"

    @property
    def term(self) -> str:
        """The number over the reals."""
        return f"(ratio {self.arguments})"

    def definitions(self) -> Iterator[str]:
        yield f"Definition {self.name}_num : Z := {integer(self.value.p)}."
        yield f"Definition {self.name}_den : positive := {positive(self.value.q)}."

    def fingerprint(self, point: int, accumulated: int) -> int:
        return _of_integers(point, accumulated, [self.value.p, self.value.q])

    def fingerprint_term(self, point: str, accumulated: str) -> str:
        return f"(of_list {point} {accumulated} [{self.name}_num; Zpos {self.name}_den])"

    @property
    def literals(self) -> int:
        return _literals([self.value.p, self.value.q])


@dataclass(frozen=True)
class Factor(Constant):
    """The factor of scores, a rational or the root of one: a term of the type `scale` made of two numbers."""

    name: str
    value: Real

    @property
    def number(self) -> Number:
        value = self.value.radicand if isinstance(self.value, Surd) else self.value
        return Number(self.name, value)

    @property
    def term(self) -> str:
        form = "Root" if isinstance(self.value, Surd) else "Ratio"
        return f"({form} {self.number.arguments})"

    def definitions(self) -> Iterator[str]:
        return self.number.definitions()

    def fingerprint(self, point: int, accumulated: int) -> int:
        return self.number.fingerprint(point, accumulated)

    def fingerprint_term(self, point: str, accumulated: str) -> str:
        return self.number.fingerprint_term(point, accumulated)

    @property
    def literals(self) -> int:
        return self.number.literals


@dataclass(frozen=True)
class Marks(Constant):
    """Yes or no for each of several things."""

    name: str
    marks: Sequence[bool]

    def definitions(self) -> Iterator[str]:
        return _long_list(self.name, "list bool", ["true" if mark else "false" for mark in self.marks])

    def fingerprint(self, point: int, accumulated: int) -> int:
        return _of_integers(point, accumulated, [int(mark) for mark in self.marks])

    def fingerprint_term(self, point: str, accumulated: str) -> str:
        return f"(of_marks {point} {accumulated} {self.name})"

    @property
    def literals(self) -> int:
        return len(self.marks) // 8


@dataclass(frozen=True)
class Indices(Constant):
    """Small natural numbers."""

    name: str
    indices: Sequence[int]

    def definitions(self) -> Iterator[str]:
        return _long_list(self.name, "list nat", list(map(natural, self.indices)))

    def fingerprint(self, point: int, accumulated: int) -> int:
        return _of_integers(point, accumulated, list(self.indices))

    def fingerprint_term(self, point: str, accumulated: str) -> str:
        return f"(of_indices {point} {accumulated} {self.name})"

    @property
    def literals(self) -> int:
        return len(self.indices)


@dataclass(frozen=True)
class IndexLists(Constant):
    """Lists of small natural numbers."""

    name: str
    lists: Sequence[Sequence[int]]

    def definitions(self) -> Iterator[str]:
        return _long_list(self.name, "list (list nat)", [listed(map(natural, each)) for each in self.lists])

    def fingerprint(self, point: int, accumulated: int) -> int:
        return _of_rows(point, accumulated, self.lists)

    def fingerprint_term(self, point: str, accumulated: str) -> str:
        return f"(of_index_lists {point} {accumulated} {self.name})"

    @property
    def literals(self) -> int:
        return sum(1 + len(each) for each in self.lists)


@dataclass(frozen=True)
class Pairs(Constant):
    """Pairs of small natural numbers, or None."""

    name: str
    pairs: Sequence[tuple[int, int] | None]

    def definitions(self) -> Iterator[str]:
        items = ["None" if pair is None else f"Some ({', '.join(map(natural, pair))})" for pair in self.pairs]
        return _long_list(self.name, "list (option (nat * nat))", items)

    def fingerprint(self, point: int, accumulated: int) -> int:
        return _of_rows(point, accumulated, [pair or () for pair in self.pairs])

    def fingerprint_term(self, point: str, accumulated: str) -> str:
        return f"(of_pairs {point} {accumulated} {self.name})"

    @property
    def literals(self) -> int:
        return 2 * len(self.pairs)


@dataclass(frozen=True)
class Hint(Constant):
    """A list that stands in the proof only, of items of this type of Coq; a wrong one proves nothing.

    So it has no fingerprint: what Coq reads of it need not be what was written.
    """

    name: str
    kind: str
    items: Sequence[str]

    def definitions(self) -> Iterator[str]:
        return _long_list(self.name, f"list {self.kind}", list(self.items))

    def fingerprint(self, point: int, accumulated: int) -> int:
        return accumulated

    def fingerprint_term(self, point: str, accumulated: str) -> str:
        return accumulated

    @property
    def literals(self) -> int:
        return sum(map(len, self.items)) // _LITERAL_CHARACTERS


def _cut(items: Iterable[T], lengths: Sequence[int]) -> list[list[T]]:
    """So many of the items for each part."""
    rest = iter(items)
    return [list(islice(rest, length)) for length in lengths]


def _long_list(name: str, kind: str, items: list[str]) -> Iterator[str]:
    """A list, from several of them where it is long."""
    chunks = [items[k : k + _ROWS_TOGETHER] for k in range(0, len(items), _ROWS_TOGETHER)]
    if len(chunks) <= 1:
        yield f"Definition {name} : {kind} := [{_lines(items)}]."
        return
    for k, chunk in enumerate(chunks):
        yield f"Definition {name}__{k} : {kind} := [{_lines(chunk)}]."
    yield f"Definition {name} : {kind} := {' ++ '.join(f'{name}__{k}' for k in range(len(chunks)))}."


def _lines(items: list[str]) -> str:
    return ";\n".join(items)


def _literals(values: Iterable[int | fmpz]) -> int:
    """A literal for every 24 bits: reading takes about as long as that."""
    return sum(1 + int(value).bit_length() // 24 for value in values)


# -- fingerprints, as in library/Fingerprint.v


def _step(point: int, accumulated: int, symbol: int) -> int:
    return (accumulated * point + symbol) % _MODULUS


def _of_integers(point: int, accumulated: int, values: Sequence[int | fmpz]) -> int:
    found = _step(point, accumulated, _OPENING)
    for value in map(int, values):
        size = abs(value)
        if size >> _DIGIT_BITS == 0:
            found = _step(point, found, value + _SMALL_OFFSET)
            continue
        found = _step(point, found, int(value < 0))
        while size:
            found = _step(point, found, size % 2**_DIGIT_BITS + 2)
            size >>= _DIGIT_BITS
    return found


def _of_rows(point: int, accumulated: int, rows: Sequence[Sequence[int | fmpz]]) -> int:
    found = _step(point, accumulated, _OPENING + 1)
    for row in rows:
        found = _of_integers(point, found, row)
    return found
