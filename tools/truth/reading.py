"""What a certificate writes down, read once more: for `certificate_truth` and its parts.

Python's fractions, and numpy for array files; nothing comes from the kernel. What is no statement raises NotAStatement.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from math import isqrt
from pathlib import Path
from typing import Any

import numpy as np
from mpmath import mp, mpf

Vector = list[Fraction]


Table = list[Vector]


class NotAStatement(Exception):
    """The text is no certificate of a known claim: nothing is stated that could be true."""


class NothingShown(NotAStatement):
    """A statement, but what its witness names shows nothing of it."""


def require(condition: bool, what: str) -> None:
    if not condition:
        raise NotAStatement(what)


def applies(condition: bool, what: str) -> None:
    """What a rule needs to show anything."""
    if not condition:
        raise NothingShown(what)


def require_mapping(node: Any, what: str) -> dict[str, Any]:
    if not isinstance(node, dict):
        raise NotAStatement(f"{what} must be a mapping")
    return node


def require_record(node: Any, what: str, required: set[str], optional: Iterable[str] = ()) -> None:
    keys = set(require_mapping(node, what))
    require(required <= keys <= required | set(optional), f"{what} with the keys {sorted(keys)}")


NATURAL = "(?:0|[1-9][0-9]*)"


_DECIMAL = re.compile(rf"(-?{NATURAL})(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?", re.ASCII)


_FRACTION = re.compile(rf"(-?{NATURAL})/({NATURAL})", re.ASCII)


_HEX = re.compile(r"(-?)0x([0-9a-fA-F]+)(?:\.([0-9a-fA-F]+))?p([+-]?[0-9]+)", re.ASCII)


def read_number(text: Any) -> Fraction:
    """An integer, p/q, a decimal or a hex float, exactly."""
    require(isinstance(text, str), "a number must be a scalar")
    if match := _FRACTION.fullmatch(text):
        require(match[2] != "0", "a division by 0")
        return Fraction(int(match[1]), int(match[2]))
    if _DECIMAL.fullmatch(text):
        return Fraction(text)
    if match := _HEX.fullmatch(text):
        places = len(match[3] or "")
        return Fraction(int(match[1] + match[2] + (match[3] or ""), 16)) * Fraction(2) ** (int(match[4]) - 4 * places)
    raise NotAStatement(f"the number {text[:40]!r}")


@dataclass(frozen=True)
class Scale:
    """A rational, or the root of one."""

    value: Fraction
    is_root: bool

    @property
    def square(self) -> Fraction:
        return self.value if self.is_root else self.value**2


def read_positive(text: Any) -> Fraction:
    value = read_number(text)
    require(value > 0, "a number that is not positive")
    return value


def read_count(text: Any, least: int = 0) -> int:
    require(isinstance(text, str) and re.fullmatch(NATURAL, text, re.ASCII) is not None, "a count")
    require(len(text) <= 18 and int(text) >= least, "a count")
    return int(text)


def read_counts(node: Any, least: int = 0) -> list[int]:
    require(isinstance(node, list) and node != [], "a list of counts")
    return [read_count(item, least) for item in node]


def read_items(content: Mapping[str, Any], name: str) -> list[Any]:
    """What is listed under a name; nothing where the name is missing."""
    if name not in content:
        return []
    require(isinstance(content[name], list) and content[name] != [], f"{name} must be a list")
    return list(content[name])


def read_bounds(node: Any, what: str) -> dict[str, Fraction]:
    """At least one of at_least and at_most."""
    require_record(node, what, set(), {"at_least", "at_most"})
    require(len(node) > 0, f"{what} without a bound")
    return {side: read_number(text) for side, text in node.items()}


def read_scale(given: Mapping[str, Any]) -> Scale:
    text = given.get("scale", "1")
    require(isinstance(text, str), "a scale must be a scalar")
    match = re.fullmatch(r"(1/)?sqrt\(([^()]*)\)", text, re.ASCII)
    if match is None:
        value = read_number(text)
        require(value != 0, "a scale of 0")
        return Scale(value, False)
    radicand = read_number(match[2])
    require(radicand > 0, "a root of what is not positive")
    radicand = 1 / radicand if match[1] else radicand
    p, q = isqrt(radicand.numerator), isqrt(radicand.denominator)
    if p * p == radicand.numerator and q * q == radicand.denominator:
        return Scale(Fraction(p, q), False)
    return Scale(radicand, True)


def root_of(scale: Scale) -> mpf:
    return mp.sqrt(to_real(scale.value)) if scale.is_root else to_real(scale.value)


def read_vector(node: Any, folder: Path) -> Vector:
    if isinstance(node, dict):
        array = read_array(node, folder, 1)
        return [Fraction(x) for x in array.tolist()]
    require(isinstance(node, list) and node != [], "a vector must be a list")
    return [read_number(entry) for entry in node]


def read_table(node: Any, folder: Path) -> Table:
    if isinstance(node, dict):
        return [[Fraction(x) for x in row] for row in read_array(node, folder, 2).tolist()]
    require(isinstance(node, list) and node != [], "a matrix must be a list of rows")
    for row in node:
        require(isinstance(row, list) and row != [] and len(row) == len(node[0]), "rows of different lengths")
    return [[read_number(entry) for entry in row] for row in node]


def read_point(node: Any, shape: tuple[int, int], folder: Path) -> Vector:
    """A point of the space of p or W, a matrix row after row."""
    deep = isinstance(node, list) and bool(node) and isinstance(node[0], list)
    deep = deep or (isinstance(node, dict) and isinstance(node.get("shape"), list) and len(node["shape"]) > 1)
    table: list[Vector] = read_table(node, folder) if deep else [read_vector(node, folder)]
    require((len(table), len(table[0])) == shape, "a point of another shape")
    return [x for row in table for x in row]


def read_inputs(given: Mapping[str, Any], name: str, folder: Path) -> list[Table]:
    """A table for each input: in a list, or one below the other with their lengths."""
    node = given[name]
    first = node[0] if isinstance(node, list) and node else None
    if isinstance(first, dict) or (isinstance(first, list) and first and isinstance(first[0], list)):
        require("lengths" not in given, "lengths beside a list")
        found = [read_table(part, folder) for part in node]
        require(len({len(part[0]) for part in found}) == 1, "inputs of different widths")
        return found
    rows = read_table(node, folder)
    lengths = read_counts(given["lengths"], 1) if "lengths" in given else [len(rows)]
    require(sum(lengths) == len(rows), "lengths")
    return split(rows, lengths)


def read_lengths(given: Mapping[str, Any], total: int, count: int) -> list[int]:
    """How long so many prompts are: as stated, or all alike."""
    if "lengths" not in given:
        require(total % count == 0, "prompts that are not equally long")
        return [total // count] * count
    lengths = read_counts(given["lengths"], 1)
    require(len(lengths) == count and sum(lengths) == total, "lengths")
    return lengths


def split(rows: Sequence[Any], lengths: Sequence[int]) -> list[Any]:
    """Parts of these lengths."""
    ends = accumulate(lengths)
    return [rows[end - length : end] for end, length in zip(ends, lengths, strict=True)]


def read_covariance(node: Any, folder: Path, singular: bool = False) -> Table:
    """A symmetric matrix whose leading minors, the products of pivots, are positive.

    `singular`: or that has pivots of 0, beside which only zeros are.
    """
    matrix = read_table(node, folder)
    require(len(matrix) == len(matrix[0]), "a covariance that is not square")
    require(matrix == transposed(matrix), "a covariance that is not symmetric")
    rows = [list(row) for row in matrix]
    for i, row in enumerate(rows):
        if singular and not any(row[i:]):
            continue
        require(row[i] > 0, "a covariance that is not positive definite")
        for j in range(i + 1, len(rows)):
            factor = rows[j][i] / row[i]
            rows[j] = [x - factor * y for x, y in zip(rows[j], row, strict=True)]
    return matrix


def read_array(node: dict[str, Any], folder: Path, dimensions: int, finite: bool = True) -> np.ndarray[Any, Any]:
    """An array of a file; float64 and integers become Fractions exactly."""
    require_record(node, "a reference", {"file", "sha256", "dtype", "shape"}, {"array", "rows"})
    shape = node["shape"]
    require(isinstance(shape, list) and len(shape) == dimensions, "the shape")
    require(all(isinstance(n, str) and re.fullmatch("[1-9][0-9]*", n) for n in shape), "the shape")
    name = node["file"]
    require(isinstance(name, str) and name.endswith((".npy", ".npz", ".safetensors")), "the file")
    path = folder / name
    require(path.resolve().is_relative_to(folder.resolve()) and path.is_file(), "no such file")
    require(hashlib.sha256(path.read_bytes()).hexdigest() == node["sha256"], "another sha256")
    if name.endswith(".safetensors"):
        dtype, loaded = _tensor(path.read_bytes(), node.get("array"))
    else:
        try:
            loaded = np.load(path, allow_pickle=False)
        except ValueError as error:
            raise NotAStatement(str(error)) from None
        if name.endswith(".npz"):
            require(node.get("array") in loaded.files, "no such array")
            loaded = loaded[node["array"]]
        else:
            require("array" not in node, "a .npy file holds one array")
        dtype = str(loaded.dtype)
    require(dtype == node["dtype"], "another dtype")
    require([str(n) for n in loaded.shape] == shape, "another shape")
    if "rows" in node:
        match = re.fullmatch(f"({NATURAL}):([1-9][0-9]*)", str(node["rows"]), re.ASCII)
        require(match is not None, "the rows")
        assert match is not None
        require(int(match[1]) < int(match[2]) <= len(loaded), "the rows")
        loaded = loaded[int(match[1]) : int(match[2])]
    wide = loaded.astype(np.float64) if loaded.dtype.kind == "f" else loaded
    require(not finite or bool(np.isfinite(wide).all()), "numbers that are not finite")
    return wide


def _tensor(content: bytes, name: Any) -> tuple[str, np.ndarray[Any, Any]]:
    """A tensor of a type that numpy has not, as doubles: each is the upper part of a wider one, or written out here."""
    end = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:end])
    require(isinstance(name, str) and name in header, "no such tensor")
    start, stop = header[name]["data_offsets"]
    code, raw = header[name]["dtype"], content[end + start : end + stop]
    if code == "BF16":
        dtype, numbers = "bfloat16", (np.frombuffer(raw, "<u2").astype("<u4") << 16).view("<f4").astype(np.float64)
    elif code == "F8_E5M2":
        dtype, numbers = "float8_e5m2", (np.frombuffer(raw, "u1").astype("<u2") << 8).view("<f2").astype(np.float64)
    else:
        require(code == "F8_E4M3", "a type of tensors that this reader has not")
        dtype, numbers = "float8_e4m3fn", np.array([_e4m3fn(pattern) for pattern in raw])
    return dtype, numbers.reshape(header[name]["shape"])


def _e4m3fn(pattern: int) -> float:
    exponent, eighths = pattern >> 3 & 15, pattern & 7
    size = math.nan if pattern & 127 == 127 else (8 + eighths if exponent else eighths) * 2.0 ** (max(exponent, 1) - 10)
    return -size if pattern >= 128 else size


def to_real(value: Fraction) -> mpf:
    return mpf(value.numerator) / mpf(value.denominator)


def dot(left: Iterable[Fraction], right: Iterable[Fraction]) -> Fraction:
    return sum((x * y for x, y in zip(left, right, strict=True)), Fraction(0))


def minus(left: Iterable[Fraction], right: Iterable[Fraction]) -> Vector:
    return [x - y for x, y in zip(left, right, strict=True)]


def times(matrix: Table, vector: Vector) -> Vector:
    return [dot(row, vector) for row in matrix]


def transposed(matrix: Iterable[Iterable[Fraction]]) -> Table:
    return [list(column) for column in zip(*matrix, strict=True)]


def solved(matrix: Table, right: Sequence[Fraction]) -> Vector | None:
    """x with matrix x = right, by elimination; None for a singular matrix."""
    rows = [[*row, entry] for row, entry in zip(matrix, right, strict=True)]
    for k in range(len(rows)):
        pivot = next((r for r in range(k, len(rows)) if rows[r][k] != 0), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [x / rows[k][k] for x in rows[k]]
        for r in range(len(rows)):
            if r != k:
                rows[r] = [x - rows[r][k] * y for x, y in zip(rows[r], rows[k], strict=True)]
    return [row[-1] for row in rows]


def in_doubles(matrix: Iterable[Iterable[Fraction]]) -> np.ndarray[Any, Any]:
    return np.array([[float(x) for x in row] for row in matrix])


def inner_product(exact: Sequence[Fraction], reals: Sequence[mpf]) -> mpf:
    return mp.fsum(to_real(x) * y for x, y in zip(exact, reals, strict=True))


def identity_matrix(size: int) -> Table:
    return [unit_vector(i, size) for i in range(size)]


def unit_vector(index: int, size: int) -> Vector:
    return [Fraction(int(i == index)) for i in range(size)]


def is_semidefinite(matrix: Table) -> bool:
    """By elimination: every pivot is positive, or 0 with a row of zeros."""
    rest = [list(row) for row in matrix]
    while rest:
        pivot, *head = rest[0]
        if pivot < 0 or (pivot == 0 and any(head)):
            return False
        below = [row[1:] for row in rest[1:]]
        if pivot > 0:
            below = [[x - head[i] * y / pivot for x, y in zip(row, head, strict=True)] for i, row in enumerate(below)]
        rest = below
    return True
