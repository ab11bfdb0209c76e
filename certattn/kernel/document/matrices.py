"""Vectors, matrices and arrays of matrices in a certificate: written out, or in a hashed array file."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from flint import fmpq, fmpz

from certattn.kernel.document.quoting import counted
from certattn.kernel.document.references import DTYPES, ArrayReference
from certattn.kernel.document.schema import (
    Choice,
    Count,
    Field,
    Kind,
    Listing,
    Rational,
    Reading,
    Record,
    Text,
    scalar,
)
from certattn.kernel.document.tree import Node
from certattn.kernel.mathematics.exact_matrix import ExactMatrix


@dataclass(frozen=True)
class StoredArray:
    """The rows of an array file as they are stored: number type, and bytes, so many rows at a time.

    See `ArrayFiles.chunks` for what may be done with them, and when; `require_finite` looks at so many
    rows at a time for NaN and infinities, and raises MalformedError; `not_finite` counts them.
    """

    dtype: str
    chunks: Callable[[int], Iterator[memoryview]]
    require_finite: Callable[[int], None]
    not_finite: Callable[[int], int]


@dataclass(frozen=True)
class MatrixInput:
    """A stated matrix: its shape is known at once, its numbers when asked for.

    `extents` are those of the array: a vector is one row, and matrices of an array stand one below the other. `stored`
    is there for array files of more than one dimension: their rows without a detour through exact numbers. `source` is
    the array file.
    """

    node: Node
    extents: tuple[int, ...]
    source: str
    written_out: bool
    _load: Callable[[], ExactMatrix]
    stored: StoredArray | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return math.prod(self.extents[:-1]), self.extents[-1]

    def load(self) -> ExactMatrix:
        """The exact numbers. Raises MalformedError if the array file is not as stated."""
        return self._load()

    def load_semidefinite(self) -> ExactMatrix:
        """The same of a covariance, proved to be symmetric and positive semidefinite exactly. Raises MalformedError."""
        found = self.load()
        if found.is_symmetric() is not True:
            raise self.node.malformed("a symmetric covariance", "a matrix that is not symmetric")
        if found.is_positive_semidefinite() is not True:
            raise self.node.malformed("a positive semidefinite covariance", "a matrix with a negative eigenvalue")
        return found

    def words(self) -> str:
        """The numbers that are written out, of many the first and a digest of all; else shape and source."""
        return str(self.load()) if self.written_out else f"{self._size()} from {self.source}"

    def _size(self) -> str:
        return counted(*self.extents, "number") if len(self.extents) == 1 else " x ".join(map(str, self.extents))

    def _found(self, what: str) -> str:
        """What there is instead, and in which file."""
        return what if self.written_out else f"{what} in {self.source}"

    def require_shape(self, rows: int | None, columns: int | None, why: str) -> None:
        """Refuse another number of rows or columns; None leaves one free."""
        wanted = (self.shape[0] if rows is None else rows, self.shape[1] if columns is None else columns)
        if self.shape != wanted:
            raise self.node.malformed(
                f"{wanted[0]} x {wanted[1]} {why}", self._found(f"a {self.shape[0]} x {self.shape[1]} matrix")
            )

    def require_length(self, length: int, what: str) -> None:
        """Refuse a vector of another length than that of `what`."""
        if self.shape[1] != length:
            expected = f"{counted(length, 'number')}, the dimension of {what}"
            raise self.node.malformed(expected, self._found(counted(self.shape[1], "number")))


class Sha256(Kind[str]):
    def read(self, node: Node, reading: Reading) -> str:
        text = scalar(node, "a sha256 digest")
        if re.fullmatch(r"[0-9a-f]{64}", text, re.ASCII) is None:
            raise node.malformed("a sha256 digest: 64 hexadecimal digits in lower case")
        return text


class RowRange(Kind[tuple[int, int]]):
    """first:stop, counted from 0, stop not included."""

    def read(self, node: Node, reading: Reading) -> tuple[int, int]:
        match = re.fullmatch(r"(0|[1-9][0-9]{0,17}):([1-9][0-9]{0,17})", scalar(node, "rows as first:stop"), re.ASCII)
        if match is None or int(match[1]) >= int(match[2]):
            raise node.malformed("rows as first:stop with first < stop, such as 0:64")
        return int(match[1]), int(match[2])


FILE = Field("file", Text(), "path of the array file, relative to the certificate")
ARRAY = Field("array", Text(), "name of the array inside a .npz or .safetensors file", required=False)
SHA256 = Field("sha256", Sha256(), "sha256 of the array file")
DTYPE = Field("dtype", Choice(tuple(DTYPES)), "number type of the array")
SHAPE = Field("shape", Listing(Count(1)), "shape of the array")
ROWS = Field("rows", RowRange(), "the rows that are meant, first:stop; all of them if left out", required=False)
REFERENCE = Record(FILE, ARRAY, SHA256, DTYPE, SHAPE, ROWS)


# What extents an array may have, by the least and the largest number of its dimensions.
VECTOR, MATRIX, TENSOR, NUMBERS, ANY = (1, 1), (2, 2), (2, 4), (1, 3), (1, 4)
_EXTENTS = {
    VECTOR: "one extent (a vector)",
    MATRIX: "two extents (rows, columns)",
    TENSOR: "two extents (rows, columns), or three or four (of batch or heads, and heads, before them)",
    NUMBERS: "one extent, or two or three (of heads, or of batch and heads, before it)",
    ANY: "one extent to four",
}


def read_reference(node: Node, reading: Reading, dimensions: tuple[int, int]) -> ArrayReference:
    """The reference to an array of so many dimensions at `node`."""
    values = REFERENCE.read(node, reading)
    extents = values[SHAPE]
    shape = tuple(extents)
    if not dimensions[0] <= len(shape) <= dimensions[1]:
        raise values.node(SHAPE).malformed(_EXTENTS[dimensions], f"{len(shape)} extents")
    rows = values.get(ROWS) or (0, shape[0])
    if rows[1] > shape[0]:
        raise values.node(ROWS).malformed(f"rows among the {shape[0]} of the array")
    array = values.get(ARRAY)
    return ArrayReference(node, values[FILE], values[SHA256], array, values[DTYPE], shape, rows)


def _from_file(node: Node, reading: Reading, dimensions: tuple[int, int]) -> MatrixInput:
    reference, arrays = read_reference(node, reading, dimensions), reading.arrays
    source = reference.words
    first, stop = reference.rows
    if (first, stop) != (0, reference.shape[0]):
        source += f", rows {first}:{stop}"
    stored = None
    if dimensions != VECTOR:
        stored = StoredArray(
            reference.dtype,
            partial(arrays.chunks, reference),
            partial(arrays.require_finite, reference),
            partial(arrays.not_finite, reference),
        )
    return MatrixInput(node, reference.extents, source, False, lambda: arrays.read(reference), stored)


def _written_out(node: Node, reading: Reading, rows: list[list[fmpq]], *extents: int) -> MatrixInput:
    """Equally long rows as one matrix; its common denominator is watched while it grows."""
    denominator = fmpz(1)
    for row in rows:
        for entry in row:
            denominator = denominator.lcm(entry.q)
            reading.room.require(denominator.bit_length() * len(rows) * len(row), node)
    matrix = ExactMatrix.rational(rows)
    return MatrixInput(node, extents, "", True, lambda: matrix)


# Of what is quoted as a list of one number.
_SHORT = 20


class Vector(Kind[MatrixInput]):
    """A vector, as a matrix of one row."""

    _inline = Listing(Rational())
    written = (_inline, REFERENCE)

    def read(self, node: Node, reading: Reading) -> MatrixInput:
        if isinstance(node.value, dict):
            return _from_file(node, reading, VECTOR)
        if not isinstance(node.value, list):
            one = f": write [{node.value}]" if isinstance(node.value, str) and len(node.value) <= _SHORT else ""
            raise node.malformed(f"a vector: a list of numbers, or a reference to an array file{one}")
        row = self._inline.read(node, reading)
        return _written_out(node, reading, [row], len(row))


class Matrix(Kind[MatrixInput]):
    """A matrix: a list of equally long rows, or a two-dimensional array."""

    dimensions = MATRIX
    _inline = Listing(Listing(Rational()))
    written = (_inline, REFERENCE)

    def read(self, node: Node, reading: Reading) -> MatrixInput:
        if isinstance(node.value, dict):
            return _from_file(node, reading, self.dimensions)
        if not isinstance(node.value, list):
            raise node.malformed("a matrix: a list of rows, or a reference to an array file")
        rows = self._inline.read(node, reading)
        for index, row in enumerate(rows):
            if len(row) != len(rows[0]):
                expected = f"{counted(len(rows[0]), 'number')}, like the first row"
                raise node.value[index].malformed(expected, counted(len(row), "number"))
        return _written_out(node, reading, rows, len(rows), len(rows[0]))


class Tensor(Matrix):
    """A matrix, or matrices by head, or by batch and head: the first two of four dimensions."""

    dimensions = TENSOR


class Numbers(Matrix):
    """Rows of numbers: one for a matrix of a `Tensor`, where there is a number for each of its rows."""

    dimensions = NUMBERS
