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
from typing import Any, ClassVar, TypeVar

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
    """A named constant of an instance: how Coq reads it, and the symbols of its fingerprint.

    Integers over one denominator have that in a constant of its own, `name_den`, a positive integer.
    """

    name: str
    # Which function of library/Fingerprint.v folds it; integers, lists of them, or lists of these.
    folding: ClassVar[str] = "of_list"
    depth: ClassVar[int] = 0

    @property
    def denominator(self) -> fmpz | None:
        return None

    @property
    @abstractmethod
    def symbols(self) -> Any:
        """What is folded, behind the denominator: as deep as `depth` says."""

    @abstractmethod
    def body(self) -> Iterator[str]:
        """The sentences that define it, but for the denominator."""

    @property
    def arguments(self) -> str:
        """Denominator and integers."""
        return f"{self.name}_den {self.name}"

    def definitions(self) -> Iterator[str]:
        """The sentences that define it."""
        if self.denominator is not None:
            yield f"Definition {self.name}_den : positive := {positive(self.denominator)}."
        yield from self.body()

    def fingerprint(self, point: int, accumulated: int) -> int:
        """The fingerprint of `Fingerprint.v`, going on from `accumulated`."""
        if self.denominator is not None:
            accumulated = _folded(point, accumulated, [self.denominator], 0)
        return _folded(point, accumulated, self.symbols, self.depth)

    def fingerprint_term(self, point: str, accumulated: str) -> str:
        """The term by which Coq computes the same."""
        if self.denominator is not None:
            accumulated = f"(of_list {point} {accumulated} [Zpos {self.name}_den])"
        return f"({self.folding} {point} {accumulated} {self.name})"

    @property
    def literals(self) -> int:
        """About how many literals of 24 bits Coq has to read."""
        return _literals(self.symbols, self.depth)


class _Vectors(Constant):
    """Several vectors over one denominator, as lists of integers."""

    folding, depth = "of_rows", 1

    @property
    def term(self) -> str:
        """The vectors over the reals, the rows of a matrix where they are equally long."""
        return f"(mat {self.arguments})"

    def body(self) -> Iterator[str]:
        return _long_list(self.name, "list (list Z)", list(map(integers, self.symbols)))


@dataclass(frozen=True)
class Table(_Vectors):
    """An exact matrix, row by row."""

    name: str
    matrix: ExactMatrix

    @property
    def denominator(self) -> fmpz:
        return self.matrix.denominator

    @property
    def symbols(self) -> list[list[fmpz]]:
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
    def symbols(self) -> list[list[fmpz]]:
        return _cut(self.whole.numerators.entries(), self.lengths)


@dataclass(frozen=True)
class Tables(Constant):
    """Several exact matrices over one denominator, as lists of rows: so many rows of `stacked` for each."""

    folding, depth = "of_tables", 2
    name: str
    stacked: ExactMatrix
    lengths: Sequence[int]

    @property
    def denominator(self) -> fmpz:
        return self.stacked.denominator

    @property
    def symbols(self) -> list[list[list[fmpz]]]:
        return _cut(self.stacked.numerators.tolist(), self.lengths)

    @property
    def term(self) -> str:
        """The matrices over the reals."""
        return f"(map (mat {self.name}_den) {self.name})"

    def body(self) -> Iterator[str]:
        names = [f"{self.name}_{k}" for k in range(len(self.lengths))]
        for name, rows in zip(names, self.symbols, strict=True):
            yield from _long_list(name, "list (list Z)", list(map(integers, rows)))
        yield from _long_list(self.name, "list (list (list Z))", names)


@dataclass(frozen=True)
class Row(Constant):
    """A vector of rationals: integers over a denominator."""

    name: str
    matrix: ExactMatrix

    @classmethod
    def of(cls, name: str, entries: Sequence[fmpq]) -> Row:
        return cls(name, ExactMatrix.row_vector(entries))

    @property
    def denominator(self) -> fmpz:
        return self.matrix.denominator

    @property
    def symbols(self) -> list[fmpz]:
        found: list[fmpz] = self.matrix.numerators.entries()
        return found

    @property
    def term(self) -> str:
        """The vector over the reals."""
        return f"(vec {self.arguments})"

    def body(self) -> Iterator[str]:
        return _long_list(self.name, "list Z", list(map(entry, self.symbols)))


@dataclass(frozen=True)
class Integers(Constant):
    """Whole numbers."""

    name: str
    entries: Sequence[fmpz]

    @property
    def symbols(self) -> Sequence[fmpz]:
        return self.entries

    @property
    def term(self) -> str:
        """The vector over the reals."""
        return f"(vec 1 {self.name})"

    def body(self) -> Iterator[str]:
        return _long_list(self.name, "list Z", list(map(entry, self.symbols)))


@dataclass(frozen=True)
class Number(Constant):
    """A rational: `name_num`, an integer, over `name_den`, a positive one."""

    name: str
    value: fmpq

    @property
    def symbols(self) -> list[fmpz]:
        return [self.value.p, self.value.q]

    @property
    def arguments(self) -> str:
        return f"{self.name}_num {self.name}_den"

    @property
    def term(self) -> str:
        """The number over the reals."""
        return f"(ratio {self.arguments})"

    def body(self) -> Iterator[str]:
        yield f"Definition {self.name}_num : Z := {integer(self.value.p)}."
        yield f"Definition {self.name}_den : positive := {positive(self.value.q)}."

    def fingerprint_term(self, point: str, accumulated: str) -> str:
        return f"(of_list {point} {accumulated} [{self.name}_num; Zpos {self.name}_den])"


@dataclass(frozen=True)
class Factor(Number):
    """The factor of scores, a rational or, as its square, the root of one: a term of the type `scale`."""

    is_root: bool

    @classmethod
    def of(cls, name: str, value: Real) -> Factor:
        return cls(name, value.radicand, True) if isinstance(value, Surd) else cls(name, value, False)

    @property
    def term(self) -> str:
        return f"({'Root' if self.is_root else 'Ratio'} {self.arguments})"


@dataclass(frozen=True)
class Marks(Constant):
    """Yes or no for each of several things."""

    folding = "of_marks"
    name: str
    marks: Sequence[bool]

    @property
    def symbols(self) -> list[int]:
        return list(map(int, self.marks))

    def body(self) -> Iterator[str]:
        return _long_list(self.name, "list bool", ["true" if mark else "false" for mark in self.marks])

    @property
    def literals(self) -> int:
        return len(self.marks) // 8


@dataclass(frozen=True)
class Indices(Constant):
    """Small natural numbers."""

    folding = "of_indices"
    name: str
    indices: Sequence[int]

    @property
    def symbols(self) -> Sequence[int]:
        return self.indices

    def body(self) -> Iterator[str]:
        return _long_list(self.name, "list nat", list(map(natural, self.symbols)))


@dataclass(frozen=True)
class IndexLists(Constant):
    """Lists of small natural numbers."""

    folding, depth = "of_index_lists", 1
    name: str
    lists: Sequence[Sequence[int]]

    @property
    def symbols(self) -> Sequence[Sequence[int]]:
        return self.lists

    def body(self) -> Iterator[str]:
        return _long_list(self.name, "list (list nat)", [listed(map(natural, each)) for each in self.symbols])


@dataclass(frozen=True)
class Pairs(Constant):
    """Pairs of small natural numbers, or None."""

    folding, depth = "of_pairs", 1
    name: str
    pairs: Sequence[tuple[int, int] | None]

    @property
    def symbols(self) -> list[Sequence[int]]:
        return [pair or () for pair in self.pairs]

    def body(self) -> Iterator[str]:
        items = ["None" if pair is None else f"Some ({', '.join(map(natural, pair))})" for pair in self.pairs]
        return _long_list(self.name, "list (option (nat * nat))", items)


@dataclass(frozen=True)
class Hint(Constant):
    """A list that stands in the proof only, of items of this type of Coq; a wrong one proves nothing.

    So it has no fingerprint: what Coq reads of it need not be what was written.
    """

    name: str
    kind: str
    items: Sequence[str]

    @property
    def symbols(self) -> Sequence[int]:
        return ()

    def body(self) -> Iterator[str]:
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


def _literals(values: Any, depth: int) -> int:
    """A literal for every 24 bits: reading takes about as long as that."""
    if depth > 0:
        return sum(_literals(each, depth - 1) for each in values)
    return sum(1 + int(value).bit_length() // 24 for value in values)


# -- fingerprints, as in library/Fingerprint.v


def _folded(point: int, accumulated: int, values: Any, depth: int) -> int:
    """Integers, lists of them, or lists of these."""
    found = _step(point, accumulated, _OPENING + depth)
    for value in values:
        found = _folded(point, found, value, depth - 1) if depth > 0 else _integer(point, found, int(value))
    return found


def _step(point: int, accumulated: int, symbol: int) -> int:
    return (accumulated * point + symbol) % _MODULUS


def _integer(point: int, accumulated: int, value: int) -> int:
    size = abs(value)
    if size >> _DIGIT_BITS == 0:
        return _step(point, accumulated, value + _SMALL_OFFSET)
    found = _step(point, accumulated, int(value < 0))
    while size:
        found = _step(point, found, size % 2**_DIGIT_BITS + 2)
        size >>= _DIGIT_BITS
    return found
