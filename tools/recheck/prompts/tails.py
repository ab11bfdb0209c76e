#!/usr/bin/env python3
"""A second checker of certificates. It shares nothing with certattn's kernel and needs Python alone.

    python tools/recheck.py [--json] [--seconds N] [--jobs N] [--sha256 HASH] PATH...

Read it from top to bottom: exact numbers and the reader of files; intervals of fixed-point integers with exp, log,
square roots and pi; one function for each kind of claim, from the formulas of its page in docs/claims; the program.

Exit status: 0 all verified; 1 some statement is not proved, or a file is rejected; 3 none of these, but something is
not covered here; 2 wrong usage. A function of a claim returns only if everything in the file has been proved.
"""

from __future__ import annotations

import copy
import hashlib
import io
import json
import math
import re
import signal
import sys
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from fractions import Fraction
from functools import cache, partial
from itertools import combinations, pairwise, permutations, product
from multiprocessing import Pool
from operator import mul
from pathlib import Path
from typing import Any

# ---------------------------------------------------------------------------------------------------------- outcomes


class Rejected(Exception):
    """The file is not a certificate: a wrong key, number, shape, hash."""


class NotProved(Exception):
    """What the file states, or a condition of its proof, is false or does not follow from the witness."""


class Undecided(Exception):
    """Intervals overlap: more precision may decide."""


class NotCovered(Exception):
    """This checker does not know how to decide it."""


# ------------------------------------------------------------------------------------- numbers and the text of a file

MAX_BYTES, MAX_DEPTH, MAX_NODES, MAX_TEXT, MAX_ARRAY = 16 << 20, 32, 500_000, 1000, 1 << 28
MAX_DIGITS, MAX_EXPONENT = 10_000, 20_000
NUMBER = re.compile(r"(-?)(0|[1-9][0-9]*)(?:/(0|[1-9][0-9]*)|((?:\.[0-9]+)?)(?:[eE]([+-]?[0-9]{1,6}))?)")
HEX = re.compile(r"(-?)0x([0-9a-fA-F]+)(?:\.([0-9a-fA-F]+))?p([+-]?[0-9]{1,6})")
COUNT = re.compile(r"0|[1-9][0-9]{0,17}")
ROOT = re.compile(r"(1/)?sqrt\((.*)\)")
KEY = re.compile(r"([A-Za-z][A-Za-z0-9_-]{0,99}):(?: |$)")
SPACES = re.compile(r" *")
EASY = re.compile(r"[A-Za-z0-9./+]*")
# control characters but the end of a line, marks that turn the direction of text, byte order marks, no characters
UNFIT = frozenset(
    map(chr, (*range(10), *range(11, 32), *range(127, 160), *range(0xD800, 0xE000), *range(0x2028, 0x202F)))
)
UNFIT |= frozenset("\u061c\u200e\u200f\u2066\u2067\u2068\u2069\ufeff\ufffe\uffff")


def rational(text: object, what: str = "a number") -> Fraction:
    """The exact number that a scalar is, by the grammar of docs/format.md. Rejects everything else."""
    if not isinstance(text, str) or len(text) > MAX_DIGITS:
        raise Rejected(f"{what}: expected a number, found {str(text)[:40]!r}")
    if m := HEX.fullmatch(text):
        sign, whole, part, power = m.groups()
        if abs(int(power)) > MAX_EXPONENT:
            raise Rejected(f"{what}: exponent of {text[:40]!r} is too large")
        value = Fraction(int(whole + (part or ""), 16), 16 ** len(part or "")) * Fraction(2) ** int(power)
        return -value if sign else value
    if not (m := NUMBER.fullmatch(text)):
        raise Rejected(f"{what}: expected a number, found {text[:40]!r}")
    sign, whole, below, part, power = m.groups()
    if below is not None:
        if below == "0":
            raise Rejected(f"{what}: division by zero in {text[:40]!r}")
        value = Fraction(int(whole), int(below))
    else:
        if abs(int(power or 0)) > MAX_EXPONENT:
            raise Rejected(f"{what}: exponent of {text[:40]!r} is too large")
        digits = part[1:] if part else ""
        value = Fraction(int(whole + digits), 10 ** len(digits)) * Fraction(10) ** int(power or 0)
    return -value if sign else value


def natural(text: object, what: str, least: int = 0, most: int = 10**18) -> int:
    """A count: digits only, between two bounds."""
    if not isinstance(text, str) or not COUNT.fullmatch(text) or not least <= int(text) <= most:
        raise Rejected(f"{what}: expected an integer from {least} to {most}, found {str(text)[:40]!r}")
    return int(text)


Token = tuple[int, str, str]  # column, kind, text; kinds are - key text end and the five [ ] { } ,


def tokens(text: str) -> Iterator[Token]:
    """What the text consists of: line after line, each from left to right, and an `end` for lines outside of brackets.

    Comments and empty lines are nothing, and lines within brackets are one line. Scalars end where they begin.
    """
    text = text.replace("\r\n", "\n")
    if not UNFIT.isdisjoint(text):
        raise Rejected("a control character, tab or byte order mark")
    inside: list[str] = []  # the brackets that are open
    last = ""
    for line in text.split("\n"):
        if line.startswith(("---", "...", "%")):
            raise Rejected(f"a directive or a second document: {line[:40]!r}")
        at, fresh = 0, True  # fresh: outside of brackets nothing but dashes stands before it
        while (at := SPACES.match(line, at).end()) < len(line):
            c, begin = line[at], at
            if c == "#" and line[at - 1 : at] in ("", " "):
                break
            m = KEY.match(line, at)
            if m and ((fresh and not inside) or (inside[-1:] == ["{"] and last in ("{", ","))):
                kind, value, at = "key", m[1], m.end(1) + 1
            elif fresh and not inside and line.startswith("- ", at):
                kind, value, at = "-", "", at + 1
            elif c in "[]{},":
                kind, value, at = c, "", at + 1
                if c in "[{":
                    inside.append(c)
                elif c in "]}" and (not inside or inside.pop() + c not in ("[]", "{}")):
                    raise Rejected(f"a bracket that closes nothing: {line[begin:][:40]!r}")
            else:
                kind, (value, at) = "text", scalar(line, at, bool(inside))
            yield begin, kind, value
            fresh, last = fresh and kind == "-", kind
        if not inside and last not in ("", "end"):
            last = "end"
            yield len(line), last, ""


def scalar(line: str, i: int, inside: bool) -> tuple[str, int]:
    """The scalar that begins at line[i], and the place behind it. A plain one holds less `inside` of brackets."""
    first, j = line[i], i + 1
    if first == "'":
        value = ""
        while (k := line.find("'", j)) >= 0:
            value, j = value + line[j:k], k + 1
            if line[j : j + 1] != "'":
                return value, j
            value, j = value + "'", j + 1
        raise Rejected(f"a quotation without an end on its line: {line[i:][:40]!r}")
    if first == '"':
        letters = []
        while line[j : j + 1] not in ("", '"'):
            c = line[j]
            if c == "\\":
                j += 1
                c = {"\\": "\\", '"': '"', "n": "\n"}.get(line[j : j + 1], "")
            letters.append(c)
            j += 1
            if not c:
                raise Rejected(f"an escape that is not read: {line[i:][:40]!r}")
        if j >= len(line):
            raise Rejected(f"a quotation without an end on its line: {line[i:][:40]!r}")
        return "".join(letters), j + 1
    j = i + (first == "-")
    if line[j : j + 1] in ("", *" -?:,[]{}#&*!|>'\"%@`"):
        raise Rejected(f"no value: {line[i:][:40]!r}")
    while j < len(line):
        c, behind = line[j], line[j + 1 : j + 2]
        if inside and c in ",[]{}":
            break
        if (c == ":" and (behind in ("", " ") or (inside and behind in ",[]{}"))) or (c == "?" and inside):
            raise Rejected(f"not a plain scalar: {line[i:][:60]!r}")
        if c == " " and behind == "#":
            break
        m = EASY.match(line, j + 1)
        j = m.end() if m else j + 1
    return line[i:j].rstrip(" "), j


class Reader:
    """A tree of texts, lists and mappings out of the tokens of a file; columns tell what belongs to what."""

    def __init__(self, text: str) -> None:
        """Begin with the first token."""
        self.rest = tokens(text)
        self.nodes = 1
        self.column, self.kind, self.text = next(self.rest, (-1, "", ""))

    def document(self) -> dict[str, Any]:
        """The whole file: one mapping at the margin, and nothing behind it."""
        if self.column != 0 or self.kind != "key":
            raise Rejected("a file that does not begin with a key")
        top: dict[str, Any] = self.mapping(1)
        if self.kind:
            raise Rejected(f"text behind the end: {self.text[:40]!r}")
        return top

    def step(self, *kinds: str) -> str:
        """Take a token of one of these kinds, and look at the next one."""
        if self.kind not in kinds:
            found = self.text[:40] or self.kind or "the end of the file"
            raise Rejected(f"expected {' or '.join(kinds)}, found {found!r}")
        text = self.text
        self.column, self.kind, self.text = next(self.rest, (-1, "", ""))
        return text

    def count(self, depth: int = 0) -> None:
        """One node more, at this depth."""
        self.nodes += 1
        if self.nodes > MAX_NODES or depth > MAX_DEPTH:
            raise Rejected("too many values, or lists nested too deeply")

    def name(self, found: dict[str, Any]) -> str:
        """A key that is not among those before it."""
        key = self.step("key")
        self.count()
        if key in found:
            raise Rejected(f"the key {key!r} comes twice")
        return key

    def block(self, depth: int) -> Any:
        """What begins here, on lines of its own or behind a dash."""
        if self.kind in ("-", "key"):
            self.count(depth)
            return self.items(depth) if self.kind == "-" else self.mapping(depth)
        node = self.value(depth)
        self.step("end")
        return node

    def mapping(self, depth: int) -> dict[str, Any]:
        """Keys that stand in one column."""
        column = self.column
        found: dict[str, Any] = {}
        while self.column == column and self.kind == "key":
            key = self.name(found)
            if self.kind == "end":
                self.step("end")
                if self.column < column + (self.kind != "-"):
                    raise Rejected(f"no value of {key!r}")
            elif self.kind in ("-", "key"):
                raise Rejected(f"two things on the line of {key!r}")
            found[key] = self.block(depth + 1)
        if self.column >= column:
            raise Rejected(f"not in the column of other keys: {self.text[:40]!r}")
        return found

    def items(self, depth: int) -> list[Any]:
        """A list: dashes in one column."""
        column = self.column
        found = []
        while self.column == column and self.kind == "-":
            self.step("-")
            found.append(self.block(depth + 1))
        if self.column > column:
            raise Rejected(f"not in the column of other items: {self.text[:40]!r}")
        return found

    def value(self, depth: int) -> Any:
        """A scalar, or what stands in brackets."""
        self.count(depth if self.kind in ("[", "{") else 0)
        if self.kind == "[":
            self.step("[")
            items: list[Any] = []
            while self.kind != "]" or items:
                items.append(self.value(depth + 1))
                if self.kind == "]":
                    break
                self.step(",")
            self.step("]")
            return items
        if self.kind == "{":
            self.step("{")
            found: dict[str, Any] = {}
            while self.kind != "}" or found:
                key = self.name(found)
                found[key] = self.value(depth + 1)
                if self.kind == "}":
                    break
                self.step(",")
            self.step("}")
            return found
        return self.step("text")


def written(node: Any, where: str, lines: bool = False) -> str:
    """Words for people, on one line or on several."""
    if not isinstance(node, str) or not node or len(node) > MAX_TEXT or ("\n" in node and not lines):
        raise Rejected(f"{where}: expected a text of at most {MAX_TEXT} characters{'' if lines else ' on one line'}")
    return node


def opened(data: bytes) -> dict[str, Any]:
    """The certificate that a file holds, in its outer form: given, asserts and witness are mappings."""
    if len(data) > MAX_BYTES:
        raise Rejected("a file of more than 16 MiB")
    need = "certattn claim given asserts"
    top = fields(Reader(data.decode("utf-8")).document(), "the file", need, "witness provenance")
    one_of(top["certattn"], "certattn", "1")
    one_of(top["claim"], "claim", *KINDS)
    for key in ("given", "asserts", "witness", "provenance"):
        if not isinstance(top[key], dict) and (key in need.split() or top[key] is not None):
            raise Rejected(f"{key}: expected a mapping")
    for key, text in (top["provenance"] or {}).items():
        written(text, f"provenance.{key}", lines=True)
    return top


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


def starting_bits(w: Any) -> None:
    """A witness that says at most with how many bits to begin, which is looked at and not used."""
    hint = fields({} if w is None else w, "witness", "", "bits")
    if hint["bits"] is not None:
        natural(hint["bits"], "witness.bits", 2)


def listed(node: Any, where: str) -> list[Any]:
    """A list that is not empty."""
    if not isinstance(node, list) or not node:
        raise Rejected(f"{where}: expected a list with something in it")
    return node


def one_of(text: object, where: str, *choices: str) -> str:
    """A word out of some."""
    if text not in choices:
        raise Rejected(f"{where}: expected {' or '.join(choices)}, found {str(text)[:40]!r}")
    return str(text)


# -------------------------------------------------------------------------------------------------------- array files

# bytes of a number, and bits of the exponent where it is a float
DTYPES = {"float16": (2, 5), "bfloat16": (2, 8), "float32": (4, 8), "float64": (8, 11)}
DTYPES |= {f"{kind}{8 * n}": (n, 0) for kind in ("int", "uint") for n in (1, 2, 4, 8)}
NPY = {f"{'|<'[n > 1]}{kind[0]}{n}": f"{kind}{8 * n}" for kind in ("int", "uint") for n in (1, 2, 4, 8)}
NPY |= {"<f2": "float16", "<f4": "float32", "<f8": "float64"}
TENSORS = {f"{kind[0].upper()}{8 * n}": f"{kind}{8 * n}" for kind in ("int", "uint") for n in (1, 2, 4, 8)}
TENSORS |= {"F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64"}
HEADER = re.compile(r"\{'descr': '([^']*)', 'fortran_order': (True|False), 'shape': \(([0-9, ]*)\), \} *\n")
folder = Path()


def array(ref: dict[str, Any], where: str) -> tuple[list[Fraction], list[int]]:
    """The numbers of a reference to an array file, row after row, and their shape. The hash is checked first."""
    r = fields(ref, where, "file sha256 dtype shape", "array rows")
    shape = [natural(n, f"{where}.shape", 1) for n in listed(r["shape"], f"{where}.shape")]
    name = written(r["file"], f"{where}.file")
    if name.startswith("/") or "\\" in name or not (m := re.fullmatch(r".*[^/.][^/]*\.(npy|npz|safetensors)", name)):
        raise Rejected(f"{where}: expected a relative path with forward slashes to .npy, .npz or .safetensors")
    path, suffix = (folder / name).resolve(), m[1]
    if not path.is_relative_to(folder.resolve()) or not path.is_file():
        raise Rejected(f"{where}: {name[:80]!r} is no file in the folder of the certificate")
    if path.stat().st_size > MAX_ARRAY or math.prod(shape) > MAX_ARRAY:
        raise NotCovered("a very large array file")
    data = path.read_bytes()
    if hashlib.sha256(data).hexdigest() != r["sha256"]:
        raise Rejected(f"{where}: the hash of {name[:80]!r} is another")
    if (suffix == "npy") != (r["array"] is None):
        raise Rejected(f"{where}: expected .npz or .safetensors with the name of an array, or .npy without one")
    if suffix == "npy":
        dtype, extents, raw = npy(data, where)
    elif suffix == "npz":
        dtype, extents, raw = npy(npz(data, written(r["array"], f"{where}.array"), where), where)
    else:
        dtype, extents, raw = safetensors(data, written(r["array"], f"{where}.array"), where)
    if dtype != r["dtype"] or extents != shape:
        raise Rejected(f"{where}: the file holds {dtype} {extents}, not {r['dtype']} {shape}")
    values = unpack(raw, dtype, math.prod(shape), where)
    if r["rows"] is not None:
        if not (m := re.fullmatch(r"(0|[1-9][0-9]{0,17}):([1-9][0-9]{0,17})", str(r["rows"]))):
            raise Rejected(f"{where}.rows: expected first:stop")
        first, stop, width = int(m[1]), int(m[2]), math.prod(shape[1:])
        if not 0 <= first < stop <= shape[0]:
            raise Rejected(f"{where}.rows: {r['rows']} of {shape[0]} rows")
        values, shape = values[first * width : stop * width], [stop - first, *shape[1:]]
    return values, shape


def npz(data: bytes, name: str, where: str) -> bytes:
    """The one member of a .npz file that numpy has under this name."""
    with zipfile.ZipFile(io.BytesIO(data)) as box:
        member, names = f"{name}.npy", box.namelist()
        if names.count(member) != 1 or name in names:
            raise Rejected(f"{where}: no array {name[:40]!r} in the file, or two")
        info = box.getinfo(member)
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise Rejected(f"{where}: an array that is compressed in another way than by deflate")
        with box.open(info) as stream:  # to its end, so that its checksum is compared; not as far as the directory says
            found = stream.read(MAX_ARRAY + 1)
    if len(found) > MAX_ARRAY:
        raise NotCovered("a very large array")
    return found


def npy(data: bytes, where: str) -> tuple[str, list[int], bytes]:
    """Type, shape and bytes of a .npy file, whose header is as numpy.save writes it."""
    if data[:6] != b"\x93NUMPY" or data[6:8] not in (b"\1\0", b"\2\0", b"\3\0"):
        raise Rejected(f"{where}: not in the format of .npy")
    first = 10 if data[6] == 1 else 12
    size = int.from_bytes(data[8:first], "little")
    m = HEADER.fullmatch(data[first : first + size].decode("latin-1"))
    if size > 1 << 16 or m is None or m[1] not in NPY:
        raise Rejected(f"{where}: an array that is not little-endian and of plain numbers, or not by numpy.save")
    parts = m[3].removesuffix(",").split(", ") if m[3] else []
    shape = [int(n) for n in parts if COUNT.fullmatch(n)]
    if len(shape) != len(parts) or (len(parts) == 1) != m[3].endswith(","):
        raise Rejected(f"{where}: no shape of an array: ({m[3][:40]})")
    if m[2] == "True" and len([n for n in shape if n != 1]) > 1:
        raise Rejected(f"{where}: an array in Fortran order")
    return NPY[m[1]], shape, data[first + size :]


def safetensors(data: bytes, name: str, where: str) -> tuple[str, list[int], bytes]:
    """Type, shape and bytes of one tensor of a .safetensors file."""
    size = int.from_bytes(data[:8], "little")

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        """A mapping of which no key comes twice: nobody may read one tensor where another was meant."""
        if len(dict(pairs)) < len(pairs):
            raise Rejected(f"{where}: a name twice in a .safetensors file")
        return dict(pairs)

    def count(text: str) -> int:
        """A natural number: no others stand in a header."""
        if not COUNT.fullmatch(text):
            raise Rejected(f"{where}: the number {text[:40]} in a .safetensors file")
        return int(text)

    if len(data) < 8 or size > min(1 << 23, len(data) - 8):
        raise Rejected(f"{where}: a .safetensors file that ends inside its header")
    text = data[8 : 8 + size].decode("utf-8")
    header = json.loads(text, object_pairs_hook=once, parse_int=count, parse_float=count, parse_constant=count)
    header.pop("__metadata__", None)  # texts about the file, no tensor
    entry = header[name]
    first, stop = entry["data_offsets"]
    shape = entry["shape"]
    if not isinstance(shape, list) or not isinstance(entry["data_offsets"], list):
        raise Rejected(f"{where}: a broken header")
    if not all(type(n) is int for n in (first, stop, *shape)) or not first <= stop <= len(data) - 8 - size:
        raise Rejected(f"{where}: a tensor outside of its file")
    return TENSORS[entry["dtype"]], shape, data[8 + size + first : 8 + size + stop]


def unpack(raw: bytes, dtype: str, count: int, where: str) -> list[Fraction]:
    """The exact numbers that bytes mean, by integers alone: instructions that convert floats may lose the smallest."""
    size, width = DTYPES[dtype]
    if len(raw) != count * size:
        raise Rejected(f"{where}: another number of bytes than the shape says")
    signed = dtype.startswith("int")
    words = (int.from_bytes(raw[i : i + size], "little", signed=signed) for i in range(0, len(raw), size))
    return [dyadic(n, 8 * size, width, where) for n in words] if width else [Fraction(n) for n in words]


def dyadic(word: int, size: int, width: int, where: str = "") -> Fraction:
    """The number that the bits of an IEEE 754 float mean: sign, `width` bits of the exponent, fraction."""
    below = size - 1 - width
    sign, power, part = word >> (size - 1), word >> below & ((1 << width) - 1), word & ((1 << below) - 1)
    if power == (1 << width) - 1:
        raise Rejected(f"{where}: NaN or infinity")
    # 1.part times 2^(power - bias), or 0.part times the smallest of these powers where power is 0
    n = part + (1 << below) if power else part
    shift = max(power, 1) + 1 - (1 << (width - 1)) - below
    value = Fraction(n << shift) if shift >= 0 else Fraction(n, 1 << -shift)
    return -value if sign else value


Vector = list[Fraction]
Matrix = list[Vector]


def vector(node: Any, where: str, size: int | None = None) -> Vector:
    """A vector, written out or in a file."""
    if isinstance(node, dict):
        values, shape = array(node, where)
        if len(shape) != 1:
            raise Rejected(f"{where}: expected a vector, one extent")
    else:
        values = [rational(v, where) for v in listed(node, where)]
    if size is not None and len(values) != size:
        raise Rejected(f"{where}: expected {size} numbers, found {len(values)}")
    return values


def matrix(node: Any, where: str, rows: int | None = None, columns: int | None = None) -> Matrix:
    """A matrix, written out or in a file, of a shape that may be asked for."""
    if isinstance(node, dict):
        values, shape = array(node, where)
        if len(shape) != 2:
            raise Rejected(f"{where}: expected a matrix")
        found = [values[i * shape[1] : (i + 1) * shape[1]] for i in range(shape[0])]
    else:
        found = [[rational(v, where) for v in listed(row, where)] for row in listed(node, where)]
    width = len(found[0]) if columns is None else columns
    if any(len(row) != width for row in found) or (rows is not None and len(found) != rows):
        raise Rejected(f"{where}: expected {rows or 'some'} rows of {width} numbers")
    return found


def flat_point(node: Any, rows: int, columns: int) -> Vector:
    """A matrix of a shape, row after row; one of one row may stand as a vector."""
    shape = node["shape"] if isinstance(node, dict) and "shape" in node else node
    if len(listed(shape, "a point")) > 1 if isinstance(node, dict) else isinstance(listed(node, "a point")[0], list):
        return [x for row in matrix(node, "a point", rows, columns) for x in row]
    if rows != 1:
        raise Rejected("a point: expected a matrix")
    return vector(node, "a point", columns)


# ---------------------------------------------------------------------------------------------------------- intervals

P = 96  # every interval is a pair of integers times 2^-P; the driver doubles P while something is undecided


class I:  # noqa: E742 - it stands in every line of arithmetic
    """A closed interval [a, b] * 2^-P. Every operation returns an interval that holds all results for its operands."""

    __slots__ = ("a", "b")

    def __init__(self, a: int, b: int) -> None:
        self.a, self.b = a, b

    def __repr__(self) -> str:
        """About which number, and how wide, to be read by people."""
        return f"{show(Fraction(self.a + self.b, 2 << P))} +/- {show(Fraction(self.b - self.a, 2 << P))}"

    def __add__(self, other: Any) -> I:
        """Sums are exact."""
        o = iv(other)
        return I(self.a + o.a, self.b + o.b)

    __radd__ = __add__

    def __neg__(self) -> I:
        return I(-self.b, -self.a)

    def __sub__(self, other: Any) -> I:
        o = iv(other)
        return I(self.a - o.b, self.b - o.a)

    def __rsub__(self, other: Any) -> I:
        return iv(other) - self

    def __mul__(self, other: Any) -> I:
        """The extreme products are at the ends; >> rounds down, and -(-x >> P) up. Whole numbers need no rounding."""
        if isinstance(other, int):
            return I(self.a * other, self.b * other) if other >= 0 else I(self.b * other, self.a * other)
        o = iv(other)
        if self.a >= 0 and o.a >= 0:
            return I(self.a * o.a >> P, -(-self.b * o.b >> P))
        ends = (self.a * o.a, self.a * o.b, self.b * o.a, self.b * o.b)
        return I(min(ends) >> P, -(-max(ends) >> P))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> I:
        """Quotients, where the divisor is proved not to be 0."""
        o = iv(other)
        if o.a <= 0 <= o.b:
            raise Undecided("division by an interval that holds 0")
        if o.b < 0:
            return -self / -o
        low = o.b if self.a >= 0 else o.a
        high = o.a if self.b >= 0 else o.b
        return I((self.a << P) // low, -((-self.b << P) // high))

    def __rtruediv__(self, other: Any) -> I:
        return iv(other) / self

    def __pow__(self, n: int) -> I:
        """Whole powers, by squaring; even powers are not negative."""
        if n < 0:
            return 1 / self**-n
        result, base = iv(1), self
        while n:
            if n & 1:
                result = result * base
            n >>= 1
            if n:
                base = square(base)
        return result


def iv(x: Any) -> I:
    """The smallest interval around a rational number; intervals stay as they are."""
    if isinstance(x, I):
        return x
    if isinstance(x, int):
        return I(x << P, x << P)
    n = x.numerator << P
    return I(n // x.denominator, -(-n // x.denominator))


def hull(*xs: Any) -> I:
    """The smallest interval that holds all of these."""
    found = [iv(x) for x in xs]
    return I(min(x.a for x in found), max(x.b for x in found))


def largest(xs: Sequence[Any]) -> I:
    """An interval around the largest of some numbers."""
    found = [iv(x) for x in xs]
    return I(max(x.a for x in found), max(x.b for x in found))


def smallest(xs: Sequence[Any]) -> I:
    """An interval around the smallest of some numbers."""
    return -largest([-iv(x) for x in xs])


def absolute(x: Any) -> I:
    """|x|: the end that is farther from 0, and the nearer one, or 0 where the interval holds it."""
    x = iv(x)
    return x if x.a >= 0 else (-x if x.b <= 0 else I(0, max(-x.a, x.b)))


def square(x: Any) -> I:
    """x^2, which is not negative."""
    y = absolute(x)
    return I(y.a * y.a >> P, -(-y.b * y.b >> P))


def root(x: Any) -> I:
    """The square root of a number that is known not to be negative: what rounding put below 0 is cut off."""
    x = iv(x)
    if x.b < 0:
        raise NotProved("the square root of a negative number")
    high = math.isqrt(x.b << P)
    return I(math.isqrt(max(x.a, 0) << P), high + (high * high != x.b << P))


@cache
def ln2(bits: int) -> int:
    """log 2 times 2^bits, off by less than 2: 18 artanh(1/26) - 2 artanh(1/4801) + 8 artanh(1/8749), with 32 bits more.

    Each artanh(1/n) = sum 1/((2k+1) n^(2k+1)) is cut where its terms are below one unit; at most 2 units are lost in
    each of fewer than bits + 32 terms, less than 28 * 2 * 2^14 units in all for bits < 2^13, and 32 bits are dropped.
    """
    total = 0
    for factor, n in ((18, 26), (-2, 4801), (8, 8749)):
        power, k = (1 << (bits + 32)) // n, 1
        while power:
            total += factor * (power // k)
            power //= n * n
            k += 2
    return total >> 32


@cache
def pi_at(bits: int) -> I:
    """pi, by Machin's 16 arctan(1/5) - 4 arctan(1/239), in 64 more bits: the error is far below 2^(P-bits)."""
    total = 0
    for factor, n in ((16, 5), (-4, 239)):
        power, k = (1 << (bits + 64)) // n, 1
        while power:
            total += factor * (power // k) * (1 if k % 4 == 1 else -1)
            power //= n * n
            k += 2
    return I((total >> 64) - 1, (total >> 64) + 2)


def pi() -> I:
    """pi at the working precision."""
    return pi_at(P)


def exp_at(n: int) -> tuple[int, int]:
    """Bounds of e^(n 2^-P) times 2^P.

    With W = P + 64 bits: n 2^-P = k ln 2 + r, 0 <= r < 1 up to an error of 2 |k| + 2 units, at most 2^23.
    T = sum (r 2^-8)^m / m! loses less than 3 units in each of fewer than 400 terms (P <= 8192: terms fall by 2^-8 at
    least and, by m!, faster), the rest is below 2 units. Eight squarings multiply a relative error by 2^8 and add less
    than 2^9 units: the result, below 3, is off by less than 3 (2^24 + 2^8 * 2^11 + 2^9) < 2^46 units.
    """
    if abs(n) >> P > 1 << 20:
        raise NotCovered("an exponential beyond e^(2^20)")
    extra = 64
    w = P + extra
    unit = ln2(w)
    k, r = divmod(n << extra, unit)
    r >>= 8
    term = total = 1 << w
    m = 1
    while term:
        term = (term * r >> w) // m
        total += term
        m += 1
    for _ in range(8):
        total = total * total >> w
    low, high = total - (1 << 46), total + (1 << 46)
    shift = k - extra
    if shift >= 0:
        return low << shift, high << shift
    return max(low >> -shift, 0), (high >> -shift) + 1


def exp(x: Any) -> I:
    """e^x. It grows, so the ends are enough; for narrow x one of them: e^b <= e^a (1 + 2 (b - a)) for b - a <= 1."""
    x = iv(x)
    if x.a == x.b == 0:
        return iv(1)
    if x.b < -(P << P):
        return I(0, 1)  # e^-P < 2^-P
    low, high = exp_at(x.a) if x.a >= -(P << P) else (0, 1)
    if x.b == x.a:
        return I(low, high)
    if low and x.b - x.a <= 1 << max(P - 40, 0):
        return I(low, high + (high * 2 * (x.b - x.a) >> P) + 1)
    return I(low, exp_at(x.b)[1])


def log_at(n: int) -> I:
    """log(n 2^-P), n > 0. With n = m 2^(bits) and any y near log m, d = m e^-y - 1: log m = y + log(1 + d), and
    |log(1 + d) - d| <= d^2 for |d| <= 1/2. Newton's steps y + d find y; what is returned is proved for the last y."""
    shift = n.bit_length() - 1
    m = I(n << (P - shift) if shift <= P else n >> (shift - P), 0)
    m.b = m.a + (shift > P)
    y = I(0, 0)
    y.a = y.b = int(math.log(m.a / (1 << P) if P < 900 else (m.a >> (P - 60)) / 2**60) * 2**50) << (P - 50)
    for _ in range(20):
        d = m * exp(-y) - 1
        worst = max(abs(d.a), abs(d.b))
        if worst.bit_length() * 2 < P:
            break
        middle = (d.a + d.b) >> 1
        y = I(y.a + middle, y.a + middle)
    else:
        raise Undecided("a logarithm")
    error = (worst * worst >> P) + 1
    unit = I(ln2(P) - 1, ln2(P) + 2)
    return y + d + I(-error, error) + unit * (shift - P)


def log(x: Any) -> I:
    """log x, where x is proved to be positive."""
    x = iv(x)
    if x.a == x.b == 1 << P:
        return iv(0)
    if x.a <= 0:
        raise Undecided("the logarithm of an interval that holds 0")
    low = log_at(x.a)
    return low if x.a == x.b else I(low.a, log_at(x.b).b)


def power(x: Any, y: Any) -> I:
    """x^y for x > 0."""
    return exp(log(x) * y)


def tanh(x: Any) -> I:
    """tanh x = 1 - 2/(e^2x + 1), which grows and is odd: its ends, by e^-2|x|, however large they are."""
    x, ends = iv(x), []
    for n in (x.a, x.b):
        t = exp(I(-2 * abs(n), -2 * abs(n)))
        y = (1 - t) / (1 + t)
        ends.append(y if n >= 0 else -y)
    return I(ends[0].a, ends[1].b)


def log_cosh(x: Any) -> I:
    """log cosh x = |x| + log((1 + e^-2|x|)/2)"""
    x = absolute(x)
    return x + log((1 + exp(x * -2)) / 2)


def log_sinhc(x: Any) -> I:
    """log(sinh(x)/x), by |x| - log 2|x| + log(1 - e^-2|x|) where |x| >= 1."""
    x = absolute(x)
    return log(sinhc(x)) if x.a < 1 << P else x - log(2 * x) + log(1 - exp(x * -2))


def cosh(x: Any) -> I:
    """cosh x = (e^|x| + e^-|x|)/2, which grows with |x|: the ends are enough."""
    x = absolute(x)
    low, high = (exp(I(end, end)) for end in (x.a, x.b))
    return I(((low + 1 / low) / 2).a, ((high + 1 / high) / 2).b)


def sinhc(x: Any) -> I:
    """sinh(x)/x = sum x^2m/(2m+1)!, with all terms positive: it grows with |x|, and beyond the last term, where x^2 is
    below half of (2m+2)(2m+3), the rest is no more than that term."""
    z, term, total, m = square(x), iv(1), iv(1), 1
    limit = (z.b >> P) + 1
    if limit > 1 << 22:
        raise NotCovered("sinh(x)/x beyond x = 2000")
    while term.b > 1 or 2 * m * (2 * m + 1) < 2 * limit:
        term = term * z / (2 * m * (2 * m + 1))
        total += term
        m += 1
    return I(total.a, total.b + term.b)


def langevin(x: Any) -> I:
    """coth x - 1/x, odd and growing. For |x| >= 1 as written; else the quotient of the series of x cosh x - sinh x =
    sum 2k x^(2k+1)/(2k+1)! and of x sinh x, both divided by x^2: x (sum 2k x^(2k-2)/(2k+1)!)/(sinh x/x)."""
    x = iv(x)
    if x.a >= 1 << P or x.b <= -(1 << P):
        if x.a < 0:
            return -langevin(-x)
        t = exp(x * -2)
        return (1 + t) / (1 - t) - 1 / x
    z, total, term, k = square(x), iv(0), iv(Fraction(1, 6)), 1
    while term.b > 1 or k < 8:  # term = z^(k-1)/(2k+1)!, times 2k; for z <= 4 the rest is no more than the last one
        total += term * (2 * k)
        term = term * z / ((2 * k + 2) * (2 * k + 3))
        k += 1
    if z.b > 4 << P:
        raise Undecided("a wide argument of the Langevin function")
    return x * I(total.a, total.b + 4 * k * term.b + 1) / sinhc(x)


# ---------------------------------------------------------------------------------------- decisions, and linear algebra


def show(x: Any) -> str:
    """A number in a message, to six digits."""
    if isinstance(x, I):
        return repr(x)
    try:
        return f"{float(x):.6g}"
    except OverflowError:
        return "a number beyond 1e308"


def at_most(x: Any, y: Any, what: str) -> None:
    """Prove x <= y. NotProved where x > y is proved, Undecided where the intervals overlap. Rationals are exact."""
    if isinstance(x, I) or isinstance(y, I):
        left, right = iv(x), iv(y)
        if left.b <= right.a:
            return
        if left.a <= right.b:
            raise Undecided(f"{what}: {show(left)} <= {show(right)}")
    elif x <= y:
        return
    raise NotProved(f"{what}: {show(x)} <= {show(y)} is false")


def below(x: Any, y: Any, what: str) -> None:
    """Prove x < y."""
    if isinstance(x, I) or isinstance(y, I):
        left, right = iv(x), iv(y)
        if left.b < right.a:
            return
        if left.a < right.b:
            raise Undecided(f"{what}: {show(left)} < {show(right)}")
    elif x < y:
        return
    raise NotProved(f"{what}: {show(x)} < {show(y)} is false")


def same(x: Any, y: Any, what: str) -> None:
    """Prove that exact things are equal."""
    if x != y:
        raise NotProved(f"{what}: not equal")


def within(x: Any, low: Any, high: Any, what: str) -> None:
    """Prove low <= x <= high; either bound may be None."""
    if low is not None:
        at_most(low, x, f"{what}, from below")
    if high is not None:
        at_most(x, high, what)


def bounds(node: Any, where: str, least: Fraction | None = Fraction(0)) -> tuple[Fraction | None, Fraction | None]:
    """`at_least` and `at_most`, one of them or both."""
    b = fields(node, where, "", "at_least at_most")
    low, high = (None if v is None else rational(v, where) for v in (b["at_least"], b["at_most"]))
    if (low is None and high is None) or any(v is not None and least is not None and v < least for v in (low, high)):
        raise Rejected(f"{where}: expected at_least, at_most or both, none below {least}")
    return low, high


def dot(u: Sequence[Any], v: Sequence[Any]) -> Any:
    """<u, v>"""
    return sum(map(mul, u, v)) if u else Fraction(0)


def times(m: Sequence[Sequence[Any]], v: Sequence[Any]) -> list[Any]:
    """m v"""
    return [dot(row, v) for row in m]


def transposed(m: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """m'"""
    return [list(column) for column in zip(*m, strict=True)]


def matmul(m: Sequence[Sequence[Any]], n: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """m n"""
    columns = transposed(n)
    return [[dot(row, column) for column in columns] for row in m]


def identity(n: int) -> Matrix:
    """I"""
    return [[Fraction(int(i == j)) for j in range(n)] for i in range(n)]


def trace(m: Sequence[Sequence[Any]]) -> Any:
    """tr m"""
    return sum(m[i][i] for i in range(len(m)))


def frobenius(m: Sequence[Sequence[Any]], n: Sequence[Sequence[Any]] | None = None) -> Any:
    """<m, n> = tr m'n, the squared Frobenius norm where n is left out."""
    return sum(dot(r, s) for r, s in zip(m, m if n is None else n, strict=True))


def pivots(m: Matrix, b: Matrix | None = None, what: str = "a matrix") -> tuple[list[Fraction], Matrix]:
    """Of a symmetric m the pivots of Gauss's elimination without exchanges, and the solution x of m x = b.

    By Sylvester's law of inertia m is positive definite exactly if all pivots are positive. A pivot that is not
    positive ends it: NotProved.
    """
    n = len(m)
    work = [list(row) + (list(b[i]) if b else []) for i, row in enumerate(m)]
    for i in range(n):
        if work[i][i] <= 0:
            raise NotProved(f"{what} is not positive definite")
        for j in range(i + 1, n):
            if f := work[j][i] / work[i][i]:
                work[j] = [x - f * y for x, y in zip(work[j], work[i], strict=True)]
    for i in reversed(range(n)):
        work[i][n:] = [x / work[i][i] for x in work[i][n:]]
        for j in range(i):
            if f := work[j][i]:
                work[j][n:] = [x - f * y for x, y in zip(work[j][n:], work[i][n:], strict=True)]
    return [work[i][i] for i in range(n)], [row[n:] for row in work]


def semidefinite(m: Matrix, what: str) -> None:
    """Prove exactly that m is positive semidefinite: beside a pivot of 0 only zeros, or x'm x < 0 for some x."""
    if m != transposed(m):
        raise Rejected(f"{what} is not symmetric")
    rows = [list(row) for row in m]
    while rows:
        top, rest = rows[0], rows[1:]
        if top[0] < 0 or (top[0] == 0 and any(top)):
            raise NotProved(f"{what} is not positive semidefinite")
        f = [row[0] / top[0] if top[0] else Fraction(0) for row in rest]
        rows = [[x - k * y for x, y in zip(row[1:], top[1:], strict=True)] for k, row in zip(f, rest, strict=True)]


def definite(m: list[list[Any]], what: str) -> None:
    """Prove that a symmetric matrix of intervals is positive definite, by the pivots. Undecided where one holds 0."""
    work = [[iv(x) for x in row] for row in m]
    n = len(work)
    for i in range(n):
        below(0, work[i][i], what)
        for j in range(i + 1, n):
            f = work[j][i] / work[i][i]
            for k in range(i + 1, j + 1):
                work[j][k] -= f * work[k][i]


def integers(rows: Matrix) -> tuple[list[list[int]], int]:
    """The rows as integers over one denominator."""
    d = math.lcm(*(x.denominator for row in rows for x in row))
    return [[x.numerator * (d // x.denominator) for x in row] for row in rows], d


def scale_of(node: Any) -> tuple[Fraction, int]:
    """A scale as its square and its sign: a rational number that is not 0, or sqrt(p/q), or 1/sqrt(p/q)."""
    if isinstance(node, str) and (m := ROOT.fullmatch(node)):
        value = rational(m[2], "scale")
        if value <= 0:
            raise Rejected("scale: the root of a number that is not positive")
        return (1 / value if m[1] else value), 1
    value = Fraction(1) if node is None else rational(node, "scale")
    if value == 0:
        raise Rejected("scale: 0")
    return value * value, 1 if value > 0 else -1


def rational_root(x: Fraction) -> Fraction | None:
    """The square root where it is rational."""
    p, q = math.isqrt(x.numerator), math.isqrt(x.denominator)
    return Fraction(p, q) if (p * p, q * q) == (x.numerator, x.denominator) else None


def scale_iv(scale: tuple[Fraction, int]) -> Any:
    """The scale: a rational number, or an interval around the root."""
    exact = rational_root(scale[0])
    return scale[1] * (root(scale[0]) if exact is None else exact)


def norm2(v: Sequence[Any]) -> Any:
    """|v|^2; intervals are squared as such, so that it is not negative."""
    return sum((square(x) if isinstance(x, I) else x * x for x in v), start=Fraction(0))


# --------------------------------------------------------------------------------------- laws, prompts and attention


class Law:
    """A law of tokens: kind, dimension, and what the kind needs. Its parameters are checked exactly."""

    def __init__(self, node: Any, where: str = "law") -> None:
        """Read a law of docs/claims/prompts/infinite-prompt-operator.md."""
        kinds = {
            "gaussian": "mean covariance",
            "rademacher": "sizes",
            "box": "sizes",
            "atoms": "points",
            "mixture": "components",
        }
        self.kind = one_of(node.get("kind") if isinstance(node, dict) else None, f"{where}.kind", *kinds)
        f = fields(node, where, "kind " + kinds[self.kind], "weights" if self.kind == "atoms" else "")
        if self.kind == "gaussian":
            self.mean = vector(f["mean"], f"{where}.mean")
            self.cov = matrix(f["covariance"], f"{where}.covariance", len(self.mean), len(self.mean))
            semidefinite(self.cov, "a covariance")
            self.d = len(self.mean)
        elif self.kind in ("rademacher", "box"):
            self.sizes = vector(f["sizes"], f"{where}.sizes")
            self.d = len(self.sizes)
            if min(self.sizes) < 0:
                raise Rejected(f"{where}: a negative size")
        else:
            if self.kind == "atoms":
                self.points = matrix(f["points"], f"{where}.points")
                n = len(self.points)
                self.weights = [Fraction(1, n)] * n if f["weights"] is None else vector(f["weights"], where, n)
                self.d = len(self.points[0])
            else:
                parts = [fields(c, where, "weight law") for c in listed(f["components"], where)]
                self.parts = [Law(c["law"], f"{where}.law") for c in parts]
                self.weights = [rational(c["weight"], where) for c in parts]
                self.d = self.parts[0].d
                if any(part.d != self.d for part in self.parts):
                    raise Rejected(f"{where}: components of different dimensions")
            if min(self.weights) <= 0 or sum(self.weights) != 1:
                raise Rejected(f"{where}: weights are positive and sum to exactly 1")

    def tilted(self, a: Sequence[Any]) -> tuple[Any, list[Any]]:
        """log E e^<a,x>, and its gradient in a, the mean of the law with the density e^<a,x> / E e^<a,x>."""
        if self.kind == "gaussian":
            slope = times(self.cov, a)
            return dot(a, self.mean) + dot(a, slope) / 2, [m + g for m, g in zip(self.mean, slope, strict=True)]
        if self.kind in ("rademacher", "box"):
            log_mgf, mean = (log_cosh, tanh) if self.kind == "rademacher" else (log_sinhc, langevin)
            total = sum((log_mgf(c * x) for c, x in zip(self.sizes, a, strict=True)), start=iv(0))
            return total, [c * mean(c * x) for c, x in zip(self.sizes, a, strict=True)]
        if self.kind == "atoms":
            logs, means = [dot(a, y) for y in self.points], self.points
        else:
            both = [part.tilted(a) for part in self.parts]
            logs, means = [x for x, _ in both], [m for _, m in both]
        most = iv(max(logs, key=lambda x: iv(x).b))
        w = [exp(x - most) * p for x, p in zip(logs, self.weights, strict=True)]
        total = sum(w, start=iv(0))
        return log(total) + most, [dot(w, column) / total for column in transposed(means)]


def bilinear(g: dict[str, Any], d: int | None = None) -> tuple[Matrix, Matrix]:
    """U = K'Q and V of `given`, identities where left out, for tokens of dimension d."""
    if g["U"] is not None and (g["K"] is not None or g["Q"] is not None):
        raise Rejected("given: U beside K or Q")
    V = identity(d or 0) if g["V"] is None else matrix(g["V"], "given.V", None, d)
    if g["U"] is not None:
        return matrix(g["U"], "given.U", d), V
    K = identity(d or 0) if g["K"] is None else matrix(g["K"], "given.K", None, d)
    return (transposed(K) if g["Q"] is None else matmul(transposed(K), matrix(g["Q"], "given.Q", len(K)))), V


class Prompt:
    """Keys and values of a prompt in one of its three forms, as integers over one denominator each."""

    def __init__(self, g: dict[str, Any]) -> None:
        """Read keys and values, or tokens with matrices."""
        self.act: Matrix | None = None  # what is applied to a stated query: Q or U
        if g["tokens"] is None:
            if any(g[key] is not None for key in ("K", "Q", "U", "V")) or g["keys"] is None or g["values"] is None:
                raise Rejected("given: keys and values, or tokens with matrices")
            keys, values = matrix(g["keys"], "given.keys"), matrix(g["values"], "given.values")
            if len(keys) != len(values):
                raise Rejected("given: another number of keys than of values")
            d = len(keys[0])
            n = d + len(values[0])
            self.U, self.V = [row[:d] for row in identity(n)], identity(n)[d:]
        else:
            if g["keys"] is not None or g["values"] is not None:
                raise Rejected("given: tokens beside keys or values")
            tokens = matrix(g["tokens"], "given.tokens")
            d = len(tokens[0])
            self.U, self.V = bilinear(g, d)
            if g["U"] is not None:
                self.act, keys = self.U, tokens
            else:
                K = None if g["K"] is None else matrix(g["K"], "given.K", None, d)
                self.act = None if g["Q"] is None else matrix(g["Q"], "given.Q", d if K is None else len(K))
                keys = tokens if K is None else [times(K, x) for x in tokens]
            values = tokens if g["V"] is None else [times(self.V, x) for x in tokens]
        self.scale = scale_of(g["scale"])
        self.keys, self.dk = integers(keys)
        self.values, self.dv = integers(values)
        self.dim = len(self.act[0]) if self.act else len(self.keys[0])

    def first(self, count: int) -> Prompt:
        """The first tokens alone."""
        seen = copy.copy(self)
        seen.keys, seen.values = self.keys[:count], self.values[:count]
        return seen

    def acted(self, q: Vector) -> Vector:
        """The query as the keys see it."""
        return times(self.act, q) if self.act else q

    def softmax(self, q: Vector, seen: int | None = None) -> tuple[list[I], Any]:
        """e^(a_i - a_r) for all tokens, a_i their scores and r the one of the largest, and a_r."""
        (row,), d = integers([self.acted(q)])
        raw = [dot(k, row) for k in self.keys[:seen]]
        top = max(raw) if self.scale[1] > 0 else min(raw)
        factor = iv(scale_iv(self.scale) * Fraction(1, d * self.dk))
        exact = rational_root(self.scale[0])
        if exact is None:
            extra = max(abs(n - top) for n in raw).bit_length()  # the factor is tiny, and multiplied by large integers
            big = (d * self.dk) << extra
            wide = math.isqrt((self.scale[0].numerator << (2 * P + 2 * extra + 64)) // self.scale[0].denominator)
            low, high = wide, wide + 2  # s 2^(P + extra + 32)
            ends = [((n - top) * low, (n - top) * high) for n in raw]
            scores = [I(min(e) // (big << 32), -(-max(e) // (big << 32))) for e in ends]
        else:
            scores = [iv(exact * self.scale[1] * Fraction(n - top, d * self.dk)) for n in raw]
        return [exp(x) for x in scores], (factor if exact is None else exact * self.scale[1] / (d * self.dk)) * top

    def moments(self, w: list[I], columns: list[list[int]], d: int) -> list[Any]:
        """The means of columns of integers over d under weights w > 0 that are not normalised.

        They are exact where all weights are the same, and where a column is constant.
        """
        equal = all(x.a == x.b == w[0].a for x in w)
        low, spread = [x.a for x in w], max(x.b - x.a for x in w)
        total = I(sum(low), sum(x.b for x in w))
        found: list[Any] = []
        for column in columns:
            if equal or min(column[: len(w)]) == max(column[: len(w)]):
                found.append(Fraction(sum(column[: len(w)]), len(w) * d))
                continue
            s, up = dot(low, column), sum(x for x in column if x > 0)
            down = sum(column) - up
            found.append(I((s + spread * down) // d, -(-(s + spread * up) // d)) / total)
        return found


PROMPT = "tokens keys values K Q U V scale"


def rows_of(node: Any, where: str, n: int) -> list[Fraction]:
    """One number for all, or a vector with one for each."""
    if isinstance(node, dict) and len(listed(node.get("shape"), where)) != 1:
        raise Rejected(f"{where}: expected a vector of one extent")
    return [rational(node, where)] * n if isinstance(node, str) else vector(node, where, n)


def softmax_mean(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/attention/softmax-mean.md. Eigenvalues: Cov - b and b - Cov are positive definite, by their
    pivots.
    """
    starting_bits(w)
    given = fields(g, "given", "queries", PROMPT)
    p = Prompt(given)
    queries = matrix(given["queries"], "given.queries", None, p.dim)
    n = len(queries)
    asserts = fields(a, "asserts", "", "mean covariance eigenvalues log_normaliser")
    if not a:
        raise Rejected("asserts: nothing")
    keys, values = transposed(p.keys), transposed(p.values)
    columns = {"values": (values, p.dv), "keys": (keys, p.dk)}
    weights = [p.softmax(q) for q in queries]
    if (m := asserts["mean"]) is not None:
        m = fields(m, "asserts.mean", "value radius")
        stated, radius = matrix(m["value"], "mean.value", n, len(values)), rows_of(m["radius"], "mean.radius", n)
        for i in range(n):
            for x, y in zip(p.moments(weights[i][0], values, p.dv), stated[i], strict=True):
                at_most(absolute(x - y), radius[i], f"mean[{i}]")
    if (m := asserts["log_normaliser"]) is not None:
        m = fields(m, "asserts.log_normaliser", "value radius")
        stated1, radius = (
            vector(m["value"], "log_normaliser.value", n),
            rows_of(m["radius"], "log_normaliser.radius", n),
        )
        for i in range(n):
            z = log(sum(weights[i][0], start=iv(0))) + weights[i][1]
            at_most(absolute(z - stated1[i]), radius[i], f"log_normaliser[{i}]")

    def covariance(i: int, left: str, right: str) -> list[list[I]]:
        """Cov_q of two kinds of columns: mean products less products of means."""
        (x, dx), (y, dy) = columns[left], columns[right]
        mx, my = (p.moments(weights[i][0], c, d) for c, d in ((x, dx), (y, dy)))
        flat = [list(map(mul, u, v)) for u in x for v in y]
        both = p.moments(weights[i][0], flat, dx * dy)
        return [[both[r * len(y) + c] - mx[r] * my[c] for c in range(len(y))] for r in range(len(x))]

    if (m := asserts["covariance"]) is not None:
        m = fields(m, "asserts.covariance", "value radius", "of")
        left, right = ("values", "keys") if m["of"] == "values-keys" else (m["of"] or "values",) * 2
        one_of(left, "asserts.covariance.of", "values", "keys")
        shape, node = (len(columns[left][0]), len(columns[right][0])), m["value"]
        if isinstance(node, list) and node and (isinstance(node[0], dict) or isinstance(listed(node[0], "")[0], list)):
            node = [row for block in node for row in matrix(block, "covariance.value", *shape)]
            node = [[str(x) for x in row] for row in node]
        stated, radius = matrix(node, "covariance.value", n * shape[0], shape[1]), rows_of(m["radius"], "radius", n)
        for i in range(n):
            for r, row in enumerate(covariance(i, left, right)):
                for x, y in zip(row, stated[i * shape[0] + r], strict=True):
                    at_most(absolute(x - y), radius[i], f"covariance[{i}]")
    if (m := asserts["eigenvalues"]) is not None:
        m = fields(m, "asserts.eigenvalues", "", "of at_least at_most")
        of = one_of(m["of"] or "values", "asserts.eigenvalues.of", "values", "keys")
        if m["at_least"] is None and m["at_most"] is None:
            raise Rejected("asserts.eigenvalues: no bound")
        low, high = (None if m[k] is None else rows_of(m[k], f"eigenvalues.{k}", n) for k in ("at_least", "at_most"))
        for i in range(n):
            c = covariance(i, of, of)
            proved = semidefinite if all(isinstance(x, Fraction) for row in c for x in row) else definite
            if low and low[i] > 0:
                proved(
                    [[x - low[i] * (r == s) for s, x in enumerate(row)] for r, row in enumerate(c)], f"at_least[{i}]"
                )
            if high:
                proved(
                    [[high[i] * (r == s) - x for s, x in enumerate(row)] for r, row in enumerate(c)], f"at_most[{i}]"
                )


def output_deviation(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/attention/output-deviation.md, for listed queries: T(q) and its limit, each by itself."""
    fields({} if w is None else w, "witness", "", "bits cells query weights")
    given = fields(g, "given", "limit", "queries region causal " + PROMPT)
    bounds = "at_most at_least relative_at_most"
    d = fields(fields(a, "asserts", "deviation")["deviation"], "deviation", "norm", bounds + " per_query")
    norm = one_of(d["norm"], "deviation.norm", "l2", "linf")
    if given["region"] is not None:
        raise NotCovered("deviations over regions")
    starting_bits(w)
    p = Prompt(given)
    queries = matrix(given["queries"], "given.queries", None, p.dim)
    causal = None if given["causal"] is None else natural(given["causal"], "given.causal", 1)
    if causal is not None and causal + len(queries) - 1 > len(p.keys):
        raise Rejected("given.causal: more tokens than there are")
    each = fields({} if d["per_query"] is None else d["per_query"], "per_query", "", bounds)
    if all(x is None for x in (*(d[k] for k in bounds.split()), *each.values())):
        raise Rejected("asserts: no bound")
    if any(d[k] is not None and rational(d[k], k) < 0 for k in bounds.split()):
        raise Rejected("asserts: a negative bound")
    if d["per_query"] is not None and all(x is None for x in each.values()):
        raise Rejected("per_query: no bound")
    size = lambda y: root(norm2(y)) if norm == "l2" else largest([absolute(x) for x in y])  # noqa: E731
    limit, found, sizes = limit_of(given["limit"], p), [], []
    for i, q in enumerate(queries):
        own = p if causal is None else p.first(causal + i)
        out = own.moments(own.softmax(q)[0], transposed(own.values), own.dv)
        at = limit if causal is None else limit_of(given["limit"], own)
        found.append(size([x - y for x, y in zip(out, at(q), strict=True)]))
        sizes.append(size(out))
    if d["at_most"] is not None:
        for i, x in enumerate(found):
            at_most(x, rational(d["at_most"], "at_most"), f"at_most[{i}]")
    if d["at_least"] is not None:
        at_most(rational(d["at_least"], "at_least"), largest(found), "at_least")
    if d["relative_at_most"] is not None:
        for i, (x, y) in enumerate(zip(found, sizes, strict=True)):
            at_most(x, y * rational(d["relative_at_most"], "relative_at_most"), f"relative_at_most[{i}]")
    for key, node in each.items():
        for i, bound in enumerate(vector(node, f"per_query.{key}", len(found)) if node is not None else []):
            pair = (bound, found[i]) if key == "at_least" else (found[i], bound * sizes[i] if "rel" in key else bound)
            at_most(*pair, f"per_query.{key}[{i}]")


def limit_of(node: Any, p: Prompt) -> Callable[[Vector], list[Any]]:
    """The limit of output-deviation as a function of a stated query."""
    kind = one_of(node.get("kind") if isinstance(node, dict) else None, "limit.kind", "empirical", "affine", "law")
    if kind == "affine":
        f = fields(node, "limit", "kind matrix offset", "scale")
        A, b, s = matrix(f["matrix"], "limit.matrix", len(p.values[0]), p.dim), f["offset"], scale_of(f["scale"])
        b = vector(b, "limit.offset", len(A))
        return lambda q: [y + scale_iv(s) * x for x, y in zip(times(A, q), b, strict=True)]
    if kind == "law":
        law = Law(fields(node, "limit", "kind law")["law"], "limit.law")
        if law.d != len(p.V[0]):
            raise Rejected("limit.law: another dimension than the tokens")
        return lambda q: times(p.V, law.tilted([scale_iv(p.scale) * x for x in times(p.U, q)])[1])
    fields(node, "limit", "kind")
    n, keys, values = len(p.keys), transposed(p.keys), transposed(p.values)
    cov = [[Fraction(n * dot(v, k) - sum(v) * sum(k), n * n * p.dv * p.dk) for k in keys] for v in values]
    ints, d = integers(cov)
    mean = [Fraction(sum(v), n * p.dv) for v in values]

    def linear(q: Vector) -> list[Any]:
        """The mean value plus s Cov(v, k) q."""
        (row,), e = integers([p.acted(q)])
        return [m + scale_iv(p.scale) * Fraction(dot(c, row), d * e) for m, c in zip(mean, ints, strict=True)]

    return linear


def affine(law: Law, U: Matrix, V: Matrix) -> tuple[Matrix, Vector]:
    """A and b of T(z) = b + s A z: of a Gaussian law, or of one of the degenerate cases of the page."""
    columns, still = transposed(U), [[Fraction(0)] * len(U[0]) for _ in V]
    if law.kind == "gaussian":
        return matmul(V, matmul(law.cov, U)), times(V, law.mean)
    if law.kind in ("rademacher", "box"):
        if all(not c or not any(U[j]) or not any(row[j] for row in V) for j, c in enumerate(law.sizes)):
            return still, [Fraction(0)] * len(V)
    elif law.kind == "atoms":
        seen, values = ([times(m, y) for y in law.points] for m in (columns, V))
        if all(x == seen[0] for x in seen) or all(x == values[0] for x in values):
            return still, [dot(law.weights, x) for x in transposed(values)]
    elif len(law.parts) == 1:
        return affine(law.parts[0], U, V)
    elif all(part.kind == "gaussian" for part in law.parts):
        tilts = [(times(columns, part.mean), matmul(columns, matmul(part.cov, U))) for part in law.parts]
        if all(x == tilts[0] for x in tilts):
            both = [affine(part, U, V) for part in law.parts]
            A = [
                [dot(law.weights, x) for x in zip(*rows, strict=True)]
                for rows in zip(*(m for m, _ in both), strict=True)
            ]
            return A, [dot(law.weights, x) for x in transposed([b for _, b in both])]
    raise NotProved("an affine map of a law that is not known to have one")


def infinite_prompt_operator(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/prompts/infinite-prompt-operator.md"""
    tests = fields({} if w is None else w, "witness", "", "queries")["queries"]
    given = fields(g, "given", "law", "K Q U V scale queries")
    law, scale = Law(given["law"], "given.law"), scale_of(given["scale"])
    U, V = bilinear(given, law.d)
    asserts = fields(a, "asserts", "", "operator pushforward values")
    if not a or (asserts["pushforward"] is not None and given["queries"] is None):
        raise Rejected("nothing asserted, or a pushforward without given.queries")
    if tests is not None:
        matrix(tests, "witness.queries", None, len(U[0]))
    if given["queries"] is not None:
        z = fields(given["queries"], "queries", "mean covariance")
        m = vector(z["mean"], "queries.mean", len(U[0]))
        S = matrix(z["covariance"], "queries.covariance", len(m), len(m))
        semidefinite(S, "given.queries.covariance")
    if asserts["operator"] is not None or asserts["pushforward"] is not None:
        A, b = affine(law, U, V)
        if asserts["operator"] is not None:
            o = fields(asserts["operator"], "operator", "matrix offset")
            same(matrix(o["matrix"], "operator.matrix", len(A), len(A[0])), A, "operator.matrix")
            same(vector(o["offset"], "operator.offset", len(A)), b, "operator.offset")
        if asserts["pushforward"] is not None:
            o = fields(asserts["pushforward"], "pushforward", "mean covariance")
            move, exact = times(A, m), rational_root(scale[0])
            if exact is None and any(move):
                raise NotProved("pushforward.mean: irrational")
            factor = scale[1] * (exact or 0)
            same(
                vector(o["mean"], "pushforward.mean"),
                [x + factor * y for x, y in zip(b, move, strict=True)],
                "pushforward.mean",
            )
            T = [[scale[0] * x for x in row] for row in matmul(A, matmul(S, transposed(A)))]
            same(matrix(o["covariance"], "pushforward.covariance"), T, "pushforward.covariance")
    for i, node in enumerate(listed(asserts["values"], "values") if asserts["values"] is not None else []):
        v = fields(node, f"values[{i}]", "query value radius")
        z, r = vector(v["query"], f"values[{i}].query", len(U[0])), rational(v["radius"], f"values[{i}].radius")
        try:  # exact where T is affine and the scale rational
            A, b = affine(law, U, V)
            out = [x + scale_iv(scale) * y for x, y in zip(b, times(A, z), strict=True)]
        except NotProved:
            out = times(V, law.tilted([scale_iv(scale) * x for x in times(U, z)])[1])
        for x, y in zip(out, vector(v["value"], f"values[{i}].value", len(V)), strict=True):
            at_most(absolute(x - y) if isinstance(x, I) else abs(x - y), r, f"values[{i}]")


# ------------------------------------------------------------------------------------------------ selection of tokens


def inputs_of(g: dict[str, Any], what: str) -> list[Matrix]:
    """A matrix for each input, or one with the rows of all and `lengths`."""
    node, lengths = g[what], g["lengths"]
    if isinstance(node, list) and node and (isinstance(node[0], dict) or isinstance(node[0][0], list)):
        if lengths is not None:
            raise Rejected("given.lengths: beside a list of matrices")
        found = [matrix(x, f"given.{what}") for x in node]
    else:
        rows = matrix(node, f"given.{what}")
        cuts = (
            [len(rows)]
            if lengths is None
            else [natural(n, "given.lengths", 1) for n in listed(lengths, "given.lengths")]
        )
        if sum(cuts) != len(rows):
            raise Rejected("given.lengths: another sum than the number of rows")
        found = [rows[sum(cuts[:i]) : sum(cuts[: i + 1])] for i in range(len(cuts))]
    if any(len(x[0]) != len(found[0][0]) for x in found):
        raise Rejected(f"given.{what}: inputs of different dimensions")
    return found


def indices_of(node: Any, where: str, inputs: Sequence[Sequence[Any]]) -> list[int]:
    """A token of every input."""
    if not isinstance(node, list) or len(node) != len(inputs):
        raise Rejected(f"{where}: expected a token for each of {len(inputs)} inputs")
    return [natural(n, where, 0, len(x) - 1) for n, x in zip(node, inputs, strict=True)]


def scored(g: dict[str, Any]) -> tuple[list[Matrix], list[Vector], Vector]:
    """Keys, scores and labels of token-optimality: stated, or W x and Y_i <v, x>."""
    if g["keys"] is not None:
        if g["scores"] is None or any(g.get(k) is not None for k in ("tokens", "W", "v", "labels")):
            raise Rejected("given: keys with scores, or tokens with v")
        keys, s = inputs_of(g, "keys"), g["scores"]
        if isinstance(s, list) and isinstance(s[0], (list, dict)):
            scores = [vector(x, "given.scores") for x in s]
        else:
            flat = iter(vector(s, "given.scores", sum(map(len, keys))))
            scores = [[next(flat) for _ in x] for x in keys]
        if [len(x) for x in scores] != [len(x) for x in keys]:
            raise Rejected("given.scores: another number than of keys")
        return keys, scores, [Fraction(1)] * len(keys)
    if g["tokens"] is None or g["scores"] is not None or g.get("v", "trained") is None:
        raise Rejected("given: keys with scores, or tokens with v")
    tokens = inputs_of(g, "tokens")
    d = len(tokens[0][0])
    W = None if g["W"] is None else matrix(g["W"], "given.W", None, d)
    labels = [Fraction(1)] * len(tokens) if g["labels"] is None else vector(g["labels"], "given.labels", len(tokens))
    if any(abs(y) != 1 for y in labels):
        raise Rejected("given.labels: 1 and -1")
    v = [Fraction(0)] * d if g.get("v") is None else vector(g["v"], "given.v", d)
    keys = [[times(W, x) for x in rows] for rows in tokens] if W else tokens
    return keys, [[y * dot(v, x) for x in rows] for y, rows in zip(labels, tokens, strict=True)], labels


def pairs_of(keys: Sequence[Matrix], chosen: Sequence[int]) -> dict[tuple[int, int], Vector]:
    """z_it = k_i(chosen) - k_it for every other token."""
    return {
        (i, t): [x - y for x, y in zip(rows[c], row, strict=True)]
        for i, (rows, c) in enumerate(zip(keys, chosen, strict=True))
        for t, row in enumerate(rows)
        if t != c
    }


def hinted(node: Any, where: str, rows: dict[Any, Any] | None, number: str = "") -> dict[Any, Fraction]:
    """A list of constraints, {input, token} or {point}, each once and with a positive number, if that is asked for.

    Without rows the list is not used in a proof, and is looked at for its form only.
    """
    found: dict[Any, Fraction] = {}
    for item in listed(node, where):
        f = fields(item, where, f"{'point' if 'point' in item else 'input token'} {number}")
        key: Any = (
            natural(f["point"], where) if "point" in f else tuple(natural(f[k], where) for k in ("input", "token"))
        )
        value = rational(f[number], where) if number else Fraction(1)
        if value <= 0 or (rows is not None and (key not in rows or key in found)):
            raise Rejected(f"{where}: {key} is no constraint, or comes twice, or its {number} is not positive")
        found[key] = value
    return found


def combination(rows: dict[Any, Vector], mults: dict[Any, Fraction]) -> Vector:
    """sum_j lambda_j z_j"""
    return [dot(list(mults.values()), column) for column in transposed([rows[j] for j in mults])]


def shortest(
    rows: dict[Any, Vector], levels: dict[Any, int], mults: dict[Any, Fraction], what: str
) -> tuple[Vector, dict[Any, Fraction]]:
    """The shortest p with <z_j, p> >= r_j, from multipliers, and all slacks. Proved by the conditions of optimality:

    p = sum lambda_j z_j, lambda >= 0, slacks >= 0, and slack 0 wherever lambda > 0. For any feasible q then
    <p, q> >= sum lambda_j r_j = |p|^2, so that |q| >= |p|, with equality for q = p only.
    """
    p = combination(rows, mults)
    (row,), d = integers([p])
    slack = {}
    for j, z in rows.items():
        (zs,), e = integers([z])
        slack[j] = Fraction(dot(zs, row), d * e) - levels[j]
    below(0, norm2(p), f"{what}: |p|^2")
    for j, x in slack.items():
        at_most(0, x, f"{what}: the slack of {j}")
        if j in mults:
            at_most(x, 0, f"{what}: the slack of {j}, which has a multiplier")
    return p, slack


def max_margin(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/selection/max-margin.md: its three problems as rows z_j and levels r_j, all over the rationals."""
    given = fields(g, "given", "", "keys tokens W lengths indices relaxed queries points labels")
    shape = (1, 0)
    if given["points"] is not None:
        if any(v is not None for k, v in given.items() if k not in ("points", "labels")):
            raise Rejected("given: points beside fields of another form")
        points = matrix(given["points"], "given.points")
        labels = vector(given["labels"], "given.labels", len(points))
        if any(abs(y) != 1 for y in labels):
            raise Rejected("given.labels: 1 and -1")
        rows: dict[Any, Vector] = {i: [y * c for c in x] for i, (x, y) in enumerate(zip(points, labels, strict=True))}
        relaxed: set[int] = set()
    else:
        if (given["keys"] is None) == (given["tokens"] is None) or given["labels"] is not None:
            raise Rejected("given: keys or tokens, without labels")
        keys = inputs_of(given, "keys" if given["keys"] is not None else "tokens")
        if given["W"] is not None:
            if given["keys"] is not None:
                raise Rejected("given.W: beside keys")
            W = matrix(given["W"], "given.W", None, len(keys[0][0]))
            keys = [[times(W, x) for x in part] for part in keys]
        rows = dict(pairs_of(keys, indices_of(given["indices"], "given.indices", keys)))
        if given["queries"] is not None:
            if given["keys"] is None:
                raise Rejected("given.queries: beside tokens")
            queries = matrix(given["queries"], "given.queries")
            if len(queries) not in (1, len(keys)):
                raise Rejected("given.queries: one row, or one for each input")
            shape = (len(keys[0][0]), len(queries[0]))
            queries = queries * (len(keys) if len(queries) == 1 else 1)
            rows = {j: [x * y for x in z for y in queries[j[0]]] for j, z in rows.items()}
        off = [] if given["relaxed"] is None else listed(given["relaxed"], "given.relaxed")
        relaxed = {natural(i, "given.relaxed", 0, len(keys) - 1) for i in off}
        if len(relaxed) < len(off):
            raise Rejected("given.relaxed: an input twice")
    levels = {j: 0 if isinstance(j, tuple) and j[0] in relaxed else 1 for j in rows}
    if not any(levels.values()):
        raise Rejected("given: no constraint of level 1")
    asserts = fields(
        a, "asserts", "", "solution neighbours support direction within neighbours_among gap margin constraints"
    )
    given_now = {k for k, v in asserts.items() if v is not None}
    form = (
        {"constraints"},
        {"direction", "within", "neighbours_among", "gap", "margin"},
        {"solution", "neighbours", "support", "gap", "margin"},
    )
    if not given_now or not any(given_now <= f for f in form):
        raise Rejected("asserts: nothing, or fields of two forms")
    hint = fields(w, "witness", "", "multipliers weights")
    if "constraints" in given_now:
        one_of(asserts["constraints"], "asserts.constraints", "contradictory")
        if hint["multipliers"] is not None:
            hinted(hint["multipliers"], "witness.multipliers", None, "multiplier")
        mu = hinted(hint["weights"], "witness.weights", rows, "weight")
        same(combination(rows, mu), [0] * len(rows[next(iter(mu))]), "combination")
        below(0, sum(mu[j] * levels[j] for j in mu), "total")
        return
    if hint["weights"] is not None:
        hinted(hint["weights"], "witness.weights", None, "weight")
    lam = hinted(hint["multipliers"], "witness.multipliers", rows, "multiplier")
    size = len(next(iter(rows.values())))
    stated = asserts["direction"] if "direction" in given_now else asserts["solution"]
    if stated is not None:
        stated = flat_point(stated, *(shape if shape[1] else (1, size)))
    gap = None if asserts["gap"] is None else rational(asserts["gap"], "asserts.gap")
    among = asserts["neighbours_among" if "direction" in given_now else "neighbours"]
    near = set(rows) if among is None else set(hinted(among, "asserts, a list of neighbours", rows))
    if gap is not None and (gap <= 0 or len(near) == len(rows)):
        raise Rejected("asserts.gap: positive, beside a list of some constraints and not all")
    low, high = (None, None) if asserts["margin"] is None else bounds(asserts["margin"], "asserts.margin")
    if "direction" in given_now or "within" in given_now or "neighbours_among" in given_now:
        if not {"direction", "within"} <= given_now:
            raise Rejected("asserts: direction and within belong together")
        products = {j: dot(z, stated) for j, z in rows.items()}
        m = min(x for j, x in products.items() if levels[j])
        below(0, m, "direction.margin")
        at_most(0, min(products.values()), "direction.relaxed")
        q2 = norm2(stated) / m**2
        dual = 2 * sum(x * levels[j] for j, x in lam.items()) - norm2(combination(rows, lam))
        radius = rational(asserts["within"], "asserts.within")
        if radius < 0:
            raise Rejected("asserts.within: negative")
        at_most(q2 - dual, radius**2, "within")
        for j in set(rows) - near:  # <z, p> >= <z, q> - |z| r
            s, r2 = products[j] / m - levels[j] - (gap or 0), norm2(rows[j]) * radius**2
            (at_most if gap else below)(r2, s * abs(s), f"neighbours.others {j}")
        if low is not None:
            at_most(low**2 * q2, 1, "margin.at_least")
        if high is not None:
            at_most(1, high**2 * dual, "margin.at_most")
        return
    p, slack = shortest(rows, levels, lam, "p")
    if stated is not None:
        same(stated, p, "solution")
    if asserts["neighbours"] is not None:
        for j, x in slack.items():
            if j in near:
                same(x, 0, f"neighbours {j}")
            else:
                (at_most if gap else below)(gap or 0, x, f"neighbours.others {j}")
    if asserts["support"] is not None:
        same(set(hinted(asserts["support"], "support", rows)), set(lam), "support")
    if low is not None:
        at_most(low**2 * norm2(p), 1, "margin.at_least")
    if high is not None:
        at_most(1, high**2 * norm2(p), "margin.at_most")


def token_optimality(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/selection/token-optimality.md. Every selection is met; each needs a cut or a support."""
    keys, scores, _ = scored(fields(g, "given", "", "keys scores tokens W v labels lengths"))
    asserts = fields(a, "asserts", "", "optimal locally_optimal not_locally_optimal all_locally_optimal")
    hints = fields({} if w is None else w, "witness", "", "locally_optimal not_locally_optimal cuts supports")
    if not a or all(len(x) == 1 for x in keys):
        raise Rejected("nothing asserted, or inputs of one token")

    def lead(chosen: Sequence[int], j: tuple[int, int]) -> Fraction:
        """By how much the chosen token scores better than another."""
        return scores[j[0]][chosen[j[0]]] - scores[j[0]][j[1]]

    def point(chosen: Sequence[int], node: Any, what: str) -> dict[Any, Fraction]:
        """The slacks at the max-margin point of a selection, from listed multipliers."""
        z = pairs_of(keys, chosen)
        return shortest(z, dict.fromkeys(z, 1), hinted(node, what, z, "multiplier"), what)[1]

    for i, best in enumerate(asserts["optimal"] or []):
        top = [t for t, x in enumerate(scores[i]) if x == max(scores[i])]
        same(sorted(natural(t, "optimal") for t in listed(best, "optimal")), top, f"optimal[{i}]")
    if asserts["optimal"] is not None:
        same(len(asserts["optimal"]), len(keys), "optimal")
    for kind in ("locally_optimal", "not_locally_optimal"):
        stated = listed(asserts[kind], kind) if asserts[kind] is not None else []
        same(len(stated), len(hints[kind] or []), f"the number of witnesses of {kind}")
        seen = set()
        for k, item in enumerate(stated):
            f = fields(item, kind, "indices because") if kind[0] == "n" else {"indices": item, "because": None}
            chosen, what = indices_of(f["indices"], kind, keys), f"{kind}[{k}]"
            if tuple(chosen) in seen:
                raise Rejected(f"{what}: listed twice")
            seen.add(tuple(chosen))
            if f["because"] == "not-separable":
                z = pairs_of(keys, chosen)
                mu = hinted(hints[kind][k], what, z, "multiplier")
                same(combination(z, mu), [0] * len(keys[0][0]), f"{what}.combination")
                continue
            slack = point(chosen, hints[kind][k], what)
            if kind[0] == "l":
                for j in (j for j, x in slack.items() if x == 0):
                    below(0, lead(chosen, j), f"{what}.neighbours {j}")
            else:
                f = fields(f["because"], what, "input token")
                j = natural(f["input"], what), natural(f["token"], what)
                if j not in slack:
                    raise Rejected(f"{what}: {j} is no pair")
                same(slack[j], 0, f"{what}.tight")
                at_most(lead(chosen, j), 0, f"{what}.score")
    if asserts["all_locally_optimal"] is None:
        if hints["cuts"] is not None or hints["supports"] is not None:
            raise Rejected("witness: cuts or supports of what is not asserted")
        return
    cuts = []
    for node in hints["cuts"] or []:
        total, chosen_by = [Fraction(0)] * len(keys[0][0]), {}
        for item in listed(node, "cuts"):
            f = fields(item, "cuts", "input chosen other multiplier")
            i = natural(f["input"], "cuts", 0, len(keys) - 1)
            c, t = (natural(f[x], "cuts", 0, len(keys[i]) - 1) for x in ("chosen", "other"))
            mu = rational(f["multiplier"], "cuts")
            if mu <= 0 or c == t or chosen_by.setdefault(i, c) != c:
                raise Rejected("cuts: a multiplier that is not positive, or two chosen tokens of one input")
            total = [x + mu * (y - z) for x, y, z in zip(total, keys[i][c], keys[i][t], strict=True)]
        same(any(total), False, "all.cuts")
        cuts.append(chosen_by)
    if math.prod(map(len, keys)) > 100_000:
        raise Rejected("more than 100,000 selections")
    places = [(i, t) for i, rows in enumerate(keys) for t in range(len(rows))]
    supports, found = iter(hints["supports"] or []), []
    for chosen in product(*(range(len(rows)) for rows in keys)):
        if any(all(chosen[i] == c for i, c in cut.items()) for cut in cuts):
            continue
        node = next(supports, None)
        if node is None:
            raise NotProved("all.coverage: a selection without a support")
        z = pairs_of(keys, chosen)
        rows = [places[natural(n, "supports", 0, len(places) - 1)] for n in listed(node, "supports")]
        if any(j not in z for j in rows) or len(set(rows)) < len(rows):
            raise NotProved("all.supports: a chosen token, or one twice")
        gram = [[dot(z[i], z[j]) for j in rows] for i in rows]
        lam = [x for (x,) in pivots(gram, [[Fraction(1)]] * len(rows), "all.supports: a matrix of products")[1]]
        at_most(0, min(lam), "all.multipliers")
        slack = shortest(z, dict.fromkeys(z, 1), dict(zip(rows, lam, strict=True)), f"selection {chosen}")[1]
        if all(lead(chosen, j) > 0 for j, x in slack.items() if x == 0):
            found.append(list(chosen))
    if next(supports, None) is not None:
        raise NotProved("all.coverage: more supports than selections")
    stated = asserts["all_locally_optimal"]
    same(
        sorted([] if stated == "none" else [indices_of(x, "all_locally_optimal", keys) for x in listed(stated, "all")]),
        sorted(found),
        "all_locally_optimal",
    )


def selection_on_a_head(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/selection/selection-on-a-head.md: gaps in integers, weights in intervals, largest margins by weak
    duality.
    """
    given = fields(g, "given", "queries", PROMPT + " causal score")
    p = Prompt(given)
    queries = matrix(given["queries"], "given.queries", None, p.dim)
    n, total, sign = len(queries), len(p.keys), p.scale[1]
    causal = None if given["causal"] is None else natural(given["causal"], "given.causal", 2)
    seen = [total if causal is None else causal + i for i in range(n)]
    if total < 2 or max(seen) > total:
        raise Rejected("given: one token, or a query that sees more tokens than there are")
    hints = fields({} if w is None else w, "witness", "", "separability exposure bits")
    starting_bits({k: v for k, v in hints.items() if k == "bits" and v is not None})
    asserts = fields(a, "asserts", "selected", "margin weight rank best separability exposure")

    def tokens(node: Any, where: str) -> list[int]:
        """A token that each query sees."""
        if len(listed(node, where)) != n:
            raise Rejected(f"{where}: one for each query")
        return [natural(x, where, 0, s - 1) for x, s in zip(node, seen, strict=True)]

    selected = tokens(asserts["selected"], "selected")
    gaps = []
    for i, q in enumerate(queries):
        (row,), d = integers([p.acted(q)])
        raw = [dot(k, row) for k in p.keys[: seen[i]]]
        gap = min(sign * (raw[selected[i]] - x) for t, x in enumerate(raw) if t != selected[i])
        below(0, gap, f"selected[{i}]")
        gaps.append(Fraction(gap, d * p.dk))
    for key in ("margin", "weight"):
        if asserts[key] is None:
            continue
        f = fields(asserts[key], key, "", "at_least at_most")
        low, high = ([None] * n if f[k] is None else rows_of(f[k], key, n) for k in ("at_least", "at_most"))
        if f["at_least"] is None and f["at_most"] is None:
            raise Rejected(f"{key}: no bound")
        for i, q in enumerate(queries):
            if key == "margin":
                x: Any = scale_iv(p.scale) * sign * gaps[i]
            else:
                e = p.softmax(q, seen[i])[0]
                x = e[selected[i]] / sum(e, start=iv(0))
            within(x, low[i], high[i], f"{key}[{i}]")
    best = selected
    if asserts["rank"] is not None or asserts["best"] is not None or given["score"] is not None:
        s = given["score"]
        if isinstance(s, dict) and s.get("kind") == "direction":
            v = vector(fields(s, "score", "kind v")["v"], "score.v", len(p.values[0]))
            scores = [dot(v, x) for x in p.values]
        else:
            one_of(fields(s, "score", "kind")["kind"], "score.kind", "value-norm")
            scores = [norm2(x) for x in p.values]
        if asserts["rank"] is not None:
            better = [str(sum(x > scores[c] for x in scores[:m])) for c, m in zip(selected, seen, strict=True)]
            same(asserts["rank"], better, "rank")
        if asserts["best"] is not None:
            best = tokens(asserts["best"], "best")
            for i, (c, m) in enumerate(zip(best, seen, strict=True)):
                below(max(x for t, x in enumerate(scores[:m]) if t != c), scores[c], f"best[{i}]")

    def largest_margin(
        f: dict[str, Any],
        what: str,
        W: Matrix,
        mults: dict[tuple[int, int], Fraction],
        chosen: list[int],
        qs: Matrix,
        many: list[int],
    ) -> None:
        """min <W, Z>/|W| <= Xi <= |sum mu Z| / sum mu, with Z = (key - key') q'."""
        low, high = bounds({k: v for k, v in f.items() if k in ("at_least", "at_most") and v is not None}, what)
        if low == 0:
            raise Rejected(f"{what}.at_least: not positive")
        if low is not None:
            worst = []
            for c, q, m in zip(chosen, qs, many, strict=True):
                (row,), d = integers([times(W, q)])
                raw = [dot(k, row) for k in p.keys[:m]]
                worst.append(Fraction(min(raw[c] - x for t, x in enumerate(raw) if t != c), d * p.dk))
            below(0, min(worst), f"{what}.at_least")
            at_most(low**2 * frobenius(W), min(worst) ** 2, f"{what}.at_least")
        if high is not None:
            if not mults:
                raise NotProved(f"{what}.at_most: no multipliers")
            C = [[Fraction(0)] * len(qs[0]) for _ in p.keys[0]]
            by: dict[int, Vector] = {}
            for (i, t), mu in mults.items():
                z = [Fraction(x - y, p.dk) * mu for x, y in zip(p.keys[chosen[i]], p.keys[t], strict=True)]
                by[i] = [x + y for x, y in zip(by[i], z, strict=True)] if i in by else z
            for i, z in by.items():
                C = [[c + x * y for c, y in zip(row, qs[i], strict=True)] for row, x in zip(C, z, strict=True)]
            at_most(frobenius(C), (high * sum(mults.values())) ** 2, f"{what}.at_most")

    for kind, name in (("separability", "of"), ("exposure", "token")):
        nodes: dict[str, Any] = {}
        for node in hints[kind] or []:
            may = "W multipliers" if name == "of" else "direction multipliers"
            f = fields(node, f"witness.{kind}", name, may)
            if f[name] in nodes:
                raise Rejected(f"witness.{kind}: {f[name]} twice")
            nodes[f[name]] = f
        done = set()
        for node in listed(asserts[kind], kind) if asserts[kind] is not None else []:
            f = fields(node, kind, name, "at_least at_most")
            h, what = nodes.get(f[name], {}), f"{kind}[{f[name]}]"
            if f[name] in done:
                raise Rejected(f"{kind}: {f[name]} twice")
            done.add(f[name])
            if name == "of":
                one_of(f["of"], "separability.of", "selected", *(["best"] if asserts["best"] is not None else []))
                chosen, qs, many = (selected if f["of"] == "selected" else best), queries, seen
                W = (
                    matrix(h["W"], what, len(p.keys[0]), p.dim)
                    if h.get("W") is not None
                    else [[sign * x for x in row] for row in p.act or identity(p.dim)]
                )
            else:
                chosen, qs, many = [natural(f["token"], what, 0, total - 1)], [[Fraction(1)]], [total]
                W = [
                    [x]
                    for x in (
                        vector(h["direction"], what, len(p.keys[0]))
                        if h.get("direction") is not None
                        else [Fraction(0)] * len(p.keys[0])
                    )
                ]
            mults: dict[tuple[int, int], Fraction] = {}
            for item in h.get("multipliers") or []:
                m = fields(item, what, "token multiplier" + (" query" if name == "of" else ""))
                i = natural(m["query"], what, 0, n - 1) if name == "of" else 0
                t, mu = natural(m["token"], what, 0, many[i] - 1), rational(m["multiplier"], what)
                if mu <= 0 or t == chosen[i] or (i, t) in mults:
                    raise Rejected(f"{what}: a multiplier that is not positive, of the chosen token, or twice")
                mults[i, t] = mu
            largest_margin(f, what, W, mults, chosen, qs, many)
        if set(nodes) - done:
            raise Rejected(f"witness.{kind}: of what is not asserted")


# --------------------------------------------------------------------------------------- training, and random matrices


def regression_risk(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/training/regression-risk.md, over the rationals; the endpoint in intervals."""
    fields({} if w is None else w, "witness")
    given = fields(g, "given", "covariance parameters")
    S, at = matrix(given["covariance"], "covariance"), fields(given["parameters"], "parameters", "A b")
    d = len(S)
    if transposed(S) != S:
        raise Rejected("given.covariance: not symmetric")
    inverse = pivots(S, identity(d), "given.covariance")[1]
    A, b = matrix(at["A"], "parameters.A", d, d), rational(at["b"], "parameters.b")
    asserts = fields(a, "asserts", "", "risk gradient invariant second_derivative stationary predictions endpoint")
    if not a:
        raise Rejected("asserts: nothing")
    SA = matmul(S, A)
    E = [[b * x - (i == j) for j, x in enumerate(row)] for i, row in enumerate(SA)]
    K = matmul(S, matmul(E, S))
    if asserts["risk"] is not None:
        same(rational(asserts["risk"], "risk") * 2, trace(matmul(E, matmul(S, transposed(E)))), "risk")
    if asserts["gradient"] is not None:
        f = fields(asserts["gradient"], "gradient", "A b")
        same(matrix(f["A"], "gradient.A"), [[b * x for x in row] for row in K], "gradient.A")
        same(rational(f["b"], "gradient.b"), frobenius(A, K), "gradient.b")
    delta = frobenius(A) - b * b
    if asserts["invariant"] is not None:
        same(rational(asserts["invariant"], "invariant"), delta, "invariant")
    if asserts["second_derivative"] is not None:
        f = fields(asserts["second_derivative"], "second_derivative", "along value")
        along = fields(f["along"], "along", "A b")
        H, h = matrix(along["A"], "along.A", d, d), rational(along["b"], "along.b")
        D = [[h * x + b * y for x, y in zip(r, s, strict=True)] for r, s in zip(SA, matmul(S, H), strict=True)]
        same(rational(f["value"], "value"), frobenius(D, matmul(D, S)) + 2 * h * frobenius(H, K), "second_derivative")
    if asserts["stationary"] is not None:
        if one_of(asserts["stationary"], "stationary", "bayes", "saddle") == "bayes":
            same(any(map(any, E)), False, "stationary")
        else:
            same((b, frobenius(matmul(S, S), transposed(A))), (0, 0), "stationary")
    for node in listed(asserts["predictions"], "predictions") if asserts["predictions"] is not None else []:
        f = fields(node, "predictions", "w query value")
        value = b * dot(vector(f["w"], "w", d), times(SA, vector(f["query"], "query", d)))
        same(rational(f["value"], "value"), value, "predictions")
    if asserts["endpoint"] is not None:
        f = fields(asserts["endpoint"], "endpoint", "A b radius", "trace")
        radius, t = rational(f["radius"], "radius"), frobenius(inverse)
        if b == 0:
            raise Rejected("endpoint: b = 0 has no sign")
        if f["trace"] is not None:
            same(rational(f["trace"], "trace"), t, "endpoint.trace")
        end = bayes(delta, t) * (1 if b > 0 else -1)
        at_most(absolute(end - rational(f["b"], "endpoint.b")), radius, "endpoint.b")
        for row, stated in zip(inverse, matrix(f["A"], "endpoint.A", d, d), strict=True):
            for x, y in zip(row, stated, strict=True):
                at_most(absolute(x / end - y), radius, "endpoint.A")


def bayes(delta: Any, t: Any) -> I:
    """b > 0 with b^4 + delta b^2 = t: by the root of whichever sign does not cancel."""
    r = root(delta * delta + 4 * t)
    return root((r - delta) / 2 if iv(delta).a <= 0 else 2 * t / (r + delta))


@cache
def determinant(q: tuple[tuple[int, ...], ...]) -> tuple[int, ...]:
    """The coefficients in b of det(I - b q), by sums of principal minors (all subsets of rows)."""
    n, found = len(q), [1]
    for k in range(1, n + 1):
        minors = 0
        for rows in combinations(range(n), k):
            for order in permutations(range(k)):
                sign = 1
                for i in range(k):
                    for j in range(i):
                        sign = -sign if order[j] > order[i] else sign
                minors += sign * math.prod(q[rows[i]][rows[order[i]]] for i in range(k))
        found.append((-1) ** k * minors)
    while found[-1] == 0:
        found.pop()
    return tuple(found)


def partitions(n: int) -> Iterator[list[int]]:
    """Set partitions of n places: each place has the number of its class, and classes are numbered as they appear."""
    found: list[list[int]] = [[]]
    for _ in range(n):
        found = [[*p, c] for p in found for c in range(max(p, default=-1) + 2)]
    yield from found


@cache
def walks(k: int) -> dict[tuple[int, int], dict[tuple[int, ...], int]]:
    """For r classes of queries and c of keys: how often each det(I - b Q) occurs, with sign, in the means of
    prod_a (e(i_a, j_a) - 1)(e(i_a+1, j_a) - 1)."""
    found: dict[tuple[int, int], dict[tuple[int, ...], int]] = {}
    for rows in partitions(k):
        for cols in partitions(k):
            r, c = max(rows) + 1, max(cols) + 1
            powers: dict[tuple[int, ...], int] = {(0,) * (r * c): 1}  # the product, as a polynomial in the e(i, j)
            for a in range(k):
                for i in (rows[a], rows[(a + 1) % k]):
                    step: dict[tuple[int, ...], int] = {}
                    spot = i * c + cols[a]
                    for n, times_ in powers.items():
                        up = (*n[:spot], n[spot] + 1, *n[spot + 1 :])
                        step[up] = step.get(up, 0) + times_
                        step[n] = step.get(n, 0) - times_
                    powers = step
            table = found.setdefault((r, c), {})
            for n, times_ in powers.items():
                N = [n[i * c : (i + 1) * c] for i in range(r)]
                Q = tuple(
                    tuple(dot(x, y) - (sum(x) if i == j else 0) for j, y in enumerate(N)) for i, x in enumerate(N)
                )
                key = determinant(Q)
                table[key] = table.get(key, 0) + times_
    return found


def expected_moment(k: int, x: Fraction, p: int, d: int) -> I:
    """E m_2k(T) for p > 2k(2k-1)x, x = beta^2; det^(-p/2) once for each determinant."""
    weights: dict[tuple[int, ...], int] = {}
    for (r, c), table in walks(k).items():
        factor = math.perm(d, r) * math.perm(d, c)
        for key, n in table.items():
            weights[key] = weights.get(key, 0) + factor * n
    total = iv(0)
    for key, n in weights.items():
        if n:
            value = sum((q * (x / p) ** i for i, q in enumerate(key)), start=Fraction(0))
            total += (power(value, Fraction(-p, 2)) if value != 1 else iv(1)) * n
    return total / d ** (k + 1)


def limit_moment(k: int, x: Fraction, lam: Fraction, m: Any) -> Any:
    """m_2k = [w^2k] (1 + C)^(2k+1)/(2k+1), C = m w^2 + x^2/lam w^4 + x^3/lam^2 w^6 + ..., m = alpha^2 + beta^2 ."""
    series: list[Any] = [Fraction(1), m] + [x**n / lam ** (n - 1) for n in range(2, k + 1)]
    total: list[Any] = [Fraction(1)]
    base, n = series, 2 * k + 1
    while n:
        if n & 1:
            total = convolve(total, base, k)
        base, n = convolve(base, base, k), n >> 1
    return total[k] / (2 * k + 1)


def convolve(u: Sequence[Any], v: Sequence[Any], top: int) -> list[Any]:
    """The product of two power series, up to the power `top`."""
    return [
        sum((u[i] * v[n - i] for i in range(max(0, n - len(v) + 1), min(n, len(u) - 1) + 1)), start=Fraction(0))
        for n in range(min(top, len(u) + len(v) - 2) + 1)
    ]


def random_size(given: dict[str, Any]) -> tuple[Fraction, Fraction, int, int]:
    """beta^2, lambda, d and p = lambda d of random queries and keys."""
    beta, lam, d = rational(given["beta"], "beta"), rational(given["lambda"], "lambda"), natural(given["d"], "d", 2)
    if beta <= 0 or lam <= 0 or (lam * d).denominator != 1:
        raise Rejected("given: beta and lambda are positive, and lambda d is a whole number")
    return beta * beta, lam, d, int(lam * d)


def orders(
    node: Any, where: str, need: str = "order", may: str = "at_least at_most"
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Items of a list with an order 2k of 2, 4, 6, 8, as k."""
    for item in listed(node, where) if node is not None else []:
        f = fields(item, where, need, may)
        yield int(one_of(f["order"], f"{where}.order", "2", "4", "6", "8")) // 2, f


def finite_moments(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/spectrum/finite-moments.md"""
    fields({} if w is None else w, "witness")
    x, lam, d, p = random_size(fields(g, "given", "beta lambda d"))
    asserts = fields(a, "asserts", "", "moments ratios entry_parts variance infinite smallest thresholds")
    if not a:
        raise Rejected("asserts: nothing")
    m2 = exp(x) - 1

    def finite(k: int, p: int) -> bool:
        """Whether E m_2k(T) is finite."""
        return p > 2 * k * (2 * k - 1) * x

    def entry(n: int) -> I:
        """E t^n for one entry, t = e - 1."""
        return sum((math.comb(n, i) * (-1) ** (n - i) * phi(i * (i - 1), x, p) for i in range(n + 1)), start=iv(0))

    for kind in ("moments", "ratios", "entry_parts"):
        for k, f in orders(asserts[kind], kind):
            below(2 * k * (2 * k - 1) * x, p, f"{kind}: E m_{2 * k} is finite")
            value = entry(2 * k) * Fraction(1, d ** (k - 1)) if kind == "entry_parts" else expected_moment(k, x, p, d)
            value = value if kind == "moments" else value / limit_moment(k, x, lam, m2)
            within(
                value, *bounds({y: z for y, z in f.items() if y != "order" and z is not None}, kind), f"{kind} {2 * k}"
            )
    if asserts["variance"] is not None:
        below(12 * x, p, "variance.finite")
        u = x / p  # entries of one row share the query, those of one column the key: r and c are E t^2 t'^2
        r = phi(4, x, p) - 2 * phi(2, x, p) + 1
        c = power((1 - 6 * u) * (1 + 2 * u), Fraction(-p, 2)) - 4 * power(1 - 2 * u - 4 * u * u, Fraction(-p, 2))
        c += 4 * power(1 - u * u, Fraction(-p, 2)) + 2 * phi(2, x, p) - 3
        mean = square(phi(2, x, p) - 1)
        value = (entry(4) - mean) / d**2 + (r + c - 2 * mean) * Fraction(d - 1, d * d)
        within(value, *bounds(asserts["variance"], "variance"), "variance")
    for node in listed(asserts["infinite"], "infinite") if asserts["infinite"] is not None else []:
        same(finite(int(one_of(node, "infinite", "2", "4", "6", "8")) // 2, p), False, "infinite")
    for k, f in orders(asserts["smallest"], "smallest", "order within from", ""):
        close, first = rational(f["within"], "within"), natural(f["from"], "from", 1, d - 1)
        if close <= 0 or d - first > 20_000:
            raise Rejected("smallest: within is positive, and at most 20,000 sizes are looked at")
        for size in range(first, d + 1):
            if size == d:
                same(finite(k, p), True, "smallest.finite")
            if (lam * size).denominator == 1 and finite(k, int(lam * size)):
                far = absolute(expected_moment(k, x, int(lam * size), size) / limit_moment(k, x, lam, m2) - 1)
                at_most(far, close, "smallest.at") if size == d else below(close, far, f"smallest.before, at {size}")
    for k, f in orders(asserts["thresholds"], "thresholds", "order beta", ""):
        pair = 2 * k * x, log(Fraction(d))
        below(
            *(pair if one_of(f["beta"], "thresholds.beta", "below", "above") == "below" else pair[::-1]), "thresholds"
        )


def phi(n: int, x: Fraction, p: int) -> I:
    """(1 - n x/p)^(-p/2), the mean of e^(n x |q|^2/2p) over q of N(0, I_p)."""
    return power(1 - n * x / p, Fraction(-p, 2)) if n else iv(1)


def normaliser(x: Fraction, d: int, p: int, theta: Fraction, cut: Fraction) -> I:
    """The bound of E W_2^2 of docs/claims/spectrum/normalizer-bound.md."""
    if not 0 < theta < 1 or cut <= 1:
        raise Rejected("witness: 0 < theta < 1 and cut > 1")
    below(12 * x, p, "finite")
    fourth = phi(12, x, p) - 4 * phi(6, x, p) + 6 * phi(2, x, p) - 3
    typical = ((phi(4, x, p) - 2 * phi(2, x, p) + 1) * (d - 1) + fourth) / ((1 - theta) * d) ** 2
    low = exp(-exp(-cut * x) * (d * theta**2 / 2)) + exp((log(cut) + 1 - cut) * Fraction(p, 2))
    return typical + low * (d - 1)


def normalizer_bound(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/spectrum/normalizer-bound.md"""
    x, _, d, p = random_size(fields(g, "given", "beta lambda d"))
    asserts, hint = fields(a, "asserts", "", "mean_square distance"), fields(w, "witness", "theta cut")
    if not a:
        raise Rejected("asserts: nothing")
    bound = normaliser(x, d, p, rational(hint["theta"], "theta"), rational(hint["cut"], "cut"))
    for key, value in (("mean_square", bound), ("distance", root(bound))):
        if asserts[key] is not None:
            at_most(value, rational(fields(asserts[key], key, "at_most")["at_most"], key), key)


def norm_of(m: Matrix) -> Fraction:
    """A bound of the largest eigenvalue of a positive semidefinite matrix: guessed in floats, then proved."""
    v = [1.0 + i / len(m) for i in range(len(m))]
    f = [[float(x) for x in row] for row in m]
    size = 1.0
    for _ in range(300):
        v = times(f, v)
        size = max(map(abs, v)) or 1.0
        v = [x / size for x in v]
    guess = Fraction(size * (1 + 1e-7) + 1e-12)
    definite([[guess * (i == j) - x for j, x in enumerate(row)] for i, row in enumerate(m)], "a bound of a norm")
    return guess


def universality_bound(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/spectrum/universality-bound.md"""
    given = fields(g, "given", "beta eta", "queries lambda d")
    asserts = fields(a, "asserts", "", "universality concentration linearisation equivalence")
    eta = rational(given["eta"], "eta")
    if eta <= 0 or not a:
        raise Rejected("eta is positive, and something is asserted")
    fixed = given["queries"] is not None
    if fixed:
        if given["lambda"] is not None or given["d"] is not None or asserts["linearisation"] or asserts["equivalence"]:
            raise Rejected("given queries: no lambda, d, linearisation or equivalence")
        X = matrix(given["queries"], "given.queries")
        x, d, p = rational(given["beta"], "beta") ** 2, len(X), len(X[0])
        if d < 2 or rational(given["beta"], "beta") <= 0:
            raise Rejected("two queries at least, and a positive beta")
    else:
        x, _, d, p = random_size(given)
    b = x / p
    hinted_ = not fixed and (asserts["universality"] is not None or asserts["equivalence"] is not None)
    hint = {
        k: rational(v, k)
        for k, v in fields({} if w is None else w, "witness", "theta cut excess" if hinted_ else "").items()
    }
    universal = iv(0)

    def f(n: int) -> I:
        """(1 - n b^2)^(-p/2)"""
        return power(1 - n * b * b, Fraction(-p, 2))

    if fixed and asserts["universality"] is not None:
        ints, den = integers(X)
        G = [[Fraction(dot(u, v), den * den * p) for v in ints] for u in ints]
        once = [[exp(x * y) for y in row] for row in G]
        u2 = [sum((square(square(y) - 1) for y in row), start=iv(0)) for row in once]
        spread = sum((once[i][i] * u2[i] for i in range(d)), start=iv(0))
        spread += exp(5 * x * max(G[i][i] for i in range(d))) * sum((once[i][i] - 1 for i in range(d)), start=iv(0))
        gauss = sum((square(y - 1) for row in once for y in row), start=iv(0))
        universal = (4 * x * norm_of(G) * spread + gauss * 2) / (d * d * eta**3)
    elif hinted_:
        cut, z = hint["cut"], hint["excess"]
        if z <= 0 or cut <= 1:
            raise Rejected("witness: excess > 0 and cut > 1")
        below(8 * x, p, "universality.finite")
        rare = exp((log(cut) + 1 - cut) * Fraction(p, 2)) * d + exp(-z * z / 2)
        norm = square(root(Fraction(d)) + root(Fraction(p)) + z) / p

        def squares(n: int) -> I:
            """E sum_ij (e^(n beta^2 G_ij) - 1)^2"""
            diagonal = phi(4 * n, x, p) - 2 * phi(2 * n, x, p) + 1
            return diagonal * d + (f(4 * n * n) - 2 * f(n * n) + 1) * (d * (d - 1))

        spread = exp(cut * x) * squares(2) + exp(5 * cut * x) * (phi(2, x, p) - 1) * d
        universal = (4 * x * norm * spread + squares(1) * 2) / (d * d * eta**3) + rare / eta
    if asserts["universality"] is not None:
        at_most(
            universal,
            rational(fields(asserts["universality"], "universality", "at_most")["at_most"], "u"),
            "universality",
        )
    if asserts["concentration"] is not None:
        c = fields(asserts["concentration"], "concentration", "deviation at_most")
        t = rational(c["deviation"], "deviation")
        if t <= 0:
            raise Rejected("concentration.deviation: not positive")
        at_most(exp(-(2 if fixed else 1) * d * (eta * t) ** 2) * 2, rational(c["at_most"], "at_most"), "concentration")
    if asserts["linearisation"] is None and asserts["equivalence"] is None:
        return
    below(4 * x, p, "linearisation.finite")
    e = exp(x)
    g2 = f(4) + 1 + p * b * b - 2 * f(1) - f(1) * (2 * p * b * b / (1 - b * b))
    c2 = e - x
    g1 = (
        phi(4, x, p)
        - phi(2, x, p) * (2 * x / (1 - 2 * b))
        + x * x * (1 + Fraction(2, p))
        - 2 * c2 * (phi(2, x, p) - x)
        + square(c2)
    )
    linear = g2 * (d * (d - 1)) + g1 * d
    if asserts["linearisation"] is not None:
        within(linear, *bounds(asserts["linearisation"], "linearisation"), "linearisation")
    if asserts["equivalence"] is not None:
        lip = 3 * root(Fraction(3)) / (8 * eta * root(eta))
        parts = root(normaliser(x, d, p, hint["theta"], hint["cut"])) + root(linear / d / (e - 1 - x))
        total = lip * parts + Fraction(1) / (d * eta) + universal
        at_most(
            total, rational(fields(asserts["equivalence"], "equivalence", "at_most")["at_most"], "u"), "equivalence"
        )


# ------------------------------------------------------------------------------------- paths, propositions and descent


def minus_slope(loss: str, x: Any) -> Any:
    """-l'(x) > 0, which does not grow."""
    if loss == "linear":
        return Fraction(1)
    return exp(-iv(x)) if loss == "exponential" else 1 / (1 + exp(x))


def loss_at(loss: str, x: Any) -> Any:
    """l(x)"""
    if loss == "linear":
        return -x
    return exp(-iv(x)) if loss == "exponential" else log(1 + exp(-iv(x)))


def regularization_path(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/selection/regularization-path.md"""
    given = fields(g, "given", "loss", "keys scores tokens W v labels lengths head")
    asserts, hint = fields(a, "asserts", "indices path"), fields(w, "witness", "multipliers comparators")
    keys, scores, labels = scored(given)
    loss = one_of(given["loss"], "given.loss", "linear", "logistic", "exponential")
    chosen = indices_of(asserts["indices"], "indices", keys)
    head, beta, A = "linear", Fraction(1), None
    if given["head"] is not None:
        h = fields(given["head"], "head", "kind", "slope A")
        head = one_of(h["kind"], "head.kind", "linear", "tanh", "softplus", "leaky-relu", "quadratic")
        if (
            (h["slope"] is not None) != (head == "leaky-relu")
            or (h["A"] is not None) != (head == "quadratic")
            or given["keys"] is not None
        ):
            raise Rejected("given.head: with tokens; slope for leaky-relu, A for quadratic")
        beta = Fraction(1) if h["slope"] is None else rational(h["slope"], "head.slope")
        if not 0 < beta <= 1:
            raise Rejected("head.slope: not in (0, 1]")
    if given["keys"] is None and given["v"] is None and head != "quadratic":
        raise Rejected("given.v: missing")
    z = pairs_of(keys, chosen)
    mults = hinted(hint["multipliers"], "multipliers", z, "multiplier")
    p, _ = shortest(z, dict.fromkeys(z, 1), mults, "p_mm")
    active = [i for i, rows in enumerate(keys) if len(rows) > 1]
    others = {i: [t for t in range(len(keys[i])) if t != chosen[i]] for i in active}
    gaps = {i: [scores[i][chosen[i]] - scores[i][t] for t in others[i]] for i in active}
    Q: dict[int, Matrix] = {}
    if head == "quadratic":
        tokens = inputs_of(given, "tokens")
        A = matrix(given["head"]["A"], "head.A", len(tokens[0][0]), len(tokens[0][0]))
        same(A, transposed(A), "head.A")
        for i in active:
            x, Y = tokens[i][chosen[i]], labels[i]
            y = [[u - v for u, v in zip(x, tokens[i][t], strict=True)] for t in others[i]]
            gaps[i] = [q + 2 * Y * dot(times(A, x), u) for q, u in zip(gaps[i], y, strict=True)]
            Q[i] = [[Y * dot(u, times(A, v)) for v in y] for u in y]
        base = {
            i: scores[i][chosen[i]] + labels[i] * dot(tokens[i][chosen[i]], times(A, tokens[i][chosen[i]]))
            for i in active
        }
    up = {i: [max(Fraction(0), *row) for row in Q.get(i, [])] for i in active}
    down = {i: [max(Fraction(0), *(-x for x in row)) for row in Q.get(i, [])] for i in active}
    for i in active:
        below(0, min(x - y for x, y in zip(gaps[i], up[i] or [0] * len(gaps[i]), strict=True)), f"gaps[{i}]")

    def output(i: int, score: Any) -> Any:
        """Y psi as a function of the score, for heads of the score."""
        r = iv(score) * int(labels[i])
        if head in ("linear", "quadratic"):
            return score
        value = hull(largest([r, r * beta])) if head == "leaky-relu" else tanh(r) if head == "tanh" else log(1 + exp(r))
        return value * int(labels[i])

    def slope(i: int, low: Any) -> Any:
        """The least slope of the head on the scores from `low` to that of the chosen token."""
        r = [iv(low) * int(labels[i]), iv(scores[i][chosen[i]]) * int(labels[i])]
        if head == "tanh":
            return smallest([1 - square(tanh(x)) for x in r])
        if head == "softplus":
            return smallest([1 - 1 / (1 + exp(x)) for x in r])
        return iv(1) if head == "linear" or min(x.a for x in r) >= 0 else iv(beta)

    path, points = listed(asserts["path"], "path"), listed(hint["comparators"], "comparators")
    same(len(path), len(points), "the number of comparators")
    for k, (node, hat) in enumerate(zip(path, points, strict=True)):
        f = fields(node, f"path[{k}]", "radius cosine")
        R, cosine, point = (
            rational(f["radius"], "radius"),
            rational(f["cosine"], "cosine"),
            vector(hat, "comparator", len(p)),
        )
        if R <= 0 or abs(cosine) > 1:
            raise Rejected(f"path[{k}]: a radius above 0 and a cosine between -1 and 1")
        at_most(norm2(point), R * R, f"path[{k}].inside")
        F, top, sigma = iv(0), {}, {}
        for i in active:
            e = [exp(-dot(z[i, t], point)) for t in others[i]]
            s = [x / (1 + sum(e, start=iv(0))) for x in e]
            top[i] = base[i] if head == "quadratic" else output(i, scores[i][chosen[i]])
            sigma[i] = minus_slope(loss, top[i])
            drop = dot(s, gaps[i])
            if head == "quadratic":
                now = top[i] - (drop - dot(s, times(Q[i], s)))
            else:
                now = output(i, scores[i][chosen[i]] - drop)
            F += loss_at(loss, now) - loss_at(loss, top[i])
        below(0, F, f"path[{k}]: the excess loss")
        m: dict[tuple[int, int], Any] = {}
        for i in active:
            g_ = gaps[i]
            if head == "quadratic":
                h = min(x - y for x, y in zip(g_, up[i], strict=True))
                eps = smallest([iv(1), F / (sigma[i] * h)])
                cost = [sigma[i] * (x - eps * y) for x, y in zip(g_, up[i], strict=True)]
                lead = smallest([x - 2 * eps * y for x, y in zip(g_, up[i], strict=True)])
                below(
                    0,
                    lead - eps * largest([x + 2 * eps * y for x, y in zip(g_, down[i], strict=True)]),
                    f"path[{k}].inward",
                )
            else:
                c0 = slope(i, scores[i][chosen[i]] - max(g_)) * sigma[i]
                fall = smallest([iv(max(g_)), F / c0])
                c = slope(i, scores[i][chosen[i]] - fall) * sigma[i]
                cost = [c * x for x in g_]
                below(0, min(g_) - F / c, f"path[{k}].inward")
            m |= {(i, t): x for t, x in zip(others[i], cost, strict=True)}
        least = smallest(list(m.values()))
        below(F, least, f"path[{k}].excess")
        total = sum(mults.values())
        bound = sum((log(m[j] / (x / total)) * (x / total) for j, x in mults.items()), start=log(1 / F - 1 / least))
        at_most(cosine * R, bound * root(norm2(p)), f"path[{k}].cosine")


def second_moments(law: Law) -> tuple[Vector, Matrix]:
    """Mean and covariance of a law, which are rational."""
    if law.kind == "gaussian":
        return law.mean, law.cov
    if law.kind in ("rademacher", "box"):
        part = 1 if law.kind == "rademacher" else Fraction(1, 3)
        return [Fraction(0)] * law.d, [[c * c * part * (i == j) for j in range(law.d)] for i, c in enumerate(law.sizes)]
    if law.kind == "atoms":
        both = [(y, [[Fraction(0)] * law.d] * law.d) for y in law.points]
    else:
        both = [second_moments(part) for part in law.parts]
    mean = [dot(law.weights, column) for column in transposed([m for m, _ in both])]
    cov = [
        [
            sum(w * (c[i][j] + m[i] * m[j]) for w, (m, c) in zip(law.weights, both, strict=True)) - mean[i] * mean[j]
            for j in range(law.d)
        ]
        for i in range(law.d)
    ]
    return mean, cov


def sub_gaussian(law: Law, sigma2: Fraction) -> None:
    """The sufficient conditions of docs/claims/prompts/proposition-3-1.md."""
    if law.kind == "gaussian":
        semidefinite(
            [[sigma2 * (i == j) - x for j, x in enumerate(row)] for i, row in enumerate(law.cov)], "sigma^2 - Gamma"
        )
    elif law.kind == "mixture":
        for part in law.parts:
            same(any(second_moments(part)[0]), False, "a component that is centred")
            sub_gaussian(part, sigma2)
    else:
        worst = max(map(norm2, law.points)) if law.kind == "atoms" else max(law.sizes) ** 2
        at_most(worst, sigma2 * (3 if law.kind == "box" else 1), "sigma is enough for the law")


def split(S: Matrix) -> tuple[Matrix, Vector]:
    """S = R D R' of a positive semidefinite S by elimination: the columns of R, and D > 0 of the rank of S."""
    rest, columns, ds = [list(row) for row in S], [], []
    for i in range(len(S)):
        if rest[i][i]:
            column = [row[i] / rest[i][i] for row in rest]
            columns.append(column)
            ds.append(rest[i][i])
            rest = [[x - column[r] * ds[-1] * column[c] for c, x in enumerate(row)] for r, row in enumerate(rest)]
    return columns, ds


def reweighted(S: Matrix, M: Matrix, what: str) -> tuple[Fraction, Matrix]:
    """E e^(z'Mz) f(z) = d^(-1/2) E f(y), z of N(0, S) and y of N(0, S'): d and S'.

    S = R D R' with D > 0 of the rank of S: z = R u, u of N(0, D), and u has then the density of N(0, A^-1), A = D^-1 -
    2 R'MR, which has to be positive definite; d = det D det A, S' = R A^-1 R'.
    """
    columns, ds = split(S)
    if not ds:
        return Fraction(1), S
    inner = matmul(columns, matmul(M, transposed(columns)))
    A = [[(1 / ds[i] if i == j else 0) - 2 * x for j, x in enumerate(row)] for i, row in enumerate(inner)]
    steps, solved = pivots(A, columns, what)
    return math.prod(ds) * math.prod(steps), matmul(transposed(columns), solved)


def mean_of_forms(forms: Sequence[Matrix], S: Matrix) -> Fraction:
    """E prod y'Ay over y of N(0, S), for up to three symmetric A: joint cumulants are tr AS, 2 tr ASBS, 8 tr ASBSCS."""
    x = [matmul(f, S) for f in forms]
    t = [trace(m) for m in x]
    if len(x) == 1:
        return t[0]
    if len(x) == 2:
        return t[0] * t[1] + 2 * trace(matmul(x[0], x[1]))
    pairs = sum(t[k] * trace(matmul(x[i], x[j])) for i, j, k in ((0, 1, 2), (0, 2, 1), (1, 2, 0)))
    return math.prod(t) + 2 * pairs + 8 * trace(matmul(matmul(x[0], x[1]), x[2]))


def symmetric(m: Matrix) -> Matrix:
    """(m + m')/2"""
    return [[(x + y) / 2 for x, y in zip(r, s, strict=True)] for r, s in zip(m, transposed(m), strict=True)]


def proposition_3_1(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/prompts/proposition-3-1.md"""
    proposition(g, a, w, "T")


def proposition_3_4(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/prompts/proposition-3-4.md; the gradient in V is proposition 3.1 with V = I."""
    kind = one_of(fields(a, "asserts", "gradient", "published repaired")["gradient"], "gradient", "U", "V")
    proposition(g, {k: v for k, v in a.items() if k != "gradient"}, w, kind)


def proposition(g: dict[str, Any], a: dict[str, Any], w: Any, kind: str) -> None:
    """Both propositions; kind T is the output, V and U the gradients."""
    given = fields(g, "given", "law queries", "K Q U V scale sigma length constants")
    law, queries, (s2, _) = Law(given["law"], "law"), Law(given["queries"], "queries"), scale_of(given["scale"])
    U, V = bilinear(given, law.d)
    if len(U[0]) != queries.d:
        raise Rejected("given: queries of another dimension")
    V = identity(law.d) if kind == "V" else V
    (mean, C), (mz, S) = second_moments(law), second_moments(queries)
    if any(mean) or any(mz):
        raise Rejected("given: a law that is not centred")
    asserts = fields(a, "asserts", "", "published repaired")
    sigma2 = None if given["sigma"] is None else rational(given["sigma"], "sigma") ** 2
    if sigma2 is not None:
        if rational(given["sigma"], "sigma") <= 0:
            raise Rejected("given.sigma: not positive")
        sub_gaussian(law, sigma2)
        sub_gaussian(queries, sigma2)
    if (asserts["published"] is None) == (asserts["repaired"] is None):
        raise Rejected("asserts: published or repaired")
    VC = matmul(V, C)
    spread, size = trace(matmul(VC, transposed(V))), frobenius(VC)
    if asserts["published"] is not None:
        fields({} if w is None else w, "witness")
        claimed, L = one_of(asserts["published"], "published", "fails", "holds"), natural(given["length"], "length", 1)
        flat = not any(map(any, U))
        if kind == "U":
            if not ((law.kind == "gaussian" and (L == 1 or flat)) or (L == 1 and flat)):
                raise Rejected("an instance whose mean square is not known")
            left = s2 * trace(S) * (size + (L - 1) * (size + spread * trace(C))) / L**2
        elif flat:
            left = spread / L
        else:
            if L != 1 or law.kind != "gaussian":
                raise Rejected("an instance whose mean square is not known")
            move = matmul(VC, U)
            left = spread + s2 * trace(matmul(move, matmul(S, transposed(move))))
        right: Any = Fraction(0)  # at length 1, where log L = 0, whatever the constants
        if L > 1 or given["constants"] is not None:
            if sigma2 is None:
                raise Rejected("given.sigma: needed above length 1, and beside constants")
            c = fields(given["constants"], "constants", "c1 c2")
            c1, c2 = rational(c["c1"], "c1"), rational(c["c2"], "c2")
            if c1 <= 0 or c2 <= 0:
                raise Rejected("constants: positive")
        if L > 1:
            right = log(Fraction(L)) * (c1 * sigma2**3) * exp(log(Fraction(L)) * (-c2 / sigma2))
        below(right, left, "published") if claimed == "fails" else at_most(left, right, "published")
        return
    if given["length"] is not None or given["constants"] is not None or sigma2 is None or sigma2 < 1:
        raise Rejected("a repaired form has a sigma of at least 1, and no length or constants")
    f = fields(asserts["repaired"], "repaired", "c1 c2")
    c1, c2 = rational(f["c1"], "c1"), rational(f["c2"], "c2")
    rho = c2 / sigma2
    if c1 <= 0 or c2 <= 0:
        raise Rejected("repaired: positive constants")

    def holds(L: int, bound: Any, what: str) -> None:
        """bound L^rho/(sigma^6 ln L) <= c1"""
        x = log(Fraction(L))
        at_most(bound * exp(x * rho) / (x * sigma2**3), c1, f"{what}, at {L}")

    if law.kind == queries.kind == "gaussian":
        steps = [fields(x, "steps", "from theta") for x in listed(fields(w, "witness", "steps")["steps"], "steps")]
        starts = [natural(x["from"], "steps.from", 2, 100_000) for x in steps]
        if starts[0] != 2 or starts != sorted(set(starts)):
            raise Rejected("steps: they begin at 2, and rise")
        W = matmul(transposed(U), matmul(C, U))
        for i, x in enumerate(steps):
            theta = rational(x["theta"], "theta")
            if not 0 <= theta <= 1:
                raise Rejected("steps.theta: not between 0 and 1")
            det, T = reweighted(S, [[theta * s2 * y for y in row] for row in W], "1 - 2 theta s^2 S W")
            CU = matmul(C, U)
            VCU = matmul(V, CU)
            out = [[s2 * y for y in row] for row in matmul(transposed(VCU), VCU)]  # |Vb|^2 as a form of z
            if kind != "U":
                mean_f = spread + mean_of_forms([out], T)
            else:
                ident = identity(queries.d)
                own = [[s2 * y for y in row] for row in matmul(transposed(CU), CU)]  # |b|^2
                VCCU = matmul(VC, CU)
                mixed = symmetric([[s2 * y for y in row] for row in matmul(transposed(VCU), VCCU)])
                try:
                    semidefinite(mixed, "the mixed form")
                except NotProved:
                    far = [[s2 * y / trace(C) for y in row] for row in matmul(transposed(VCCU), VCCU)]
                    mixed = [
                        [(trace(C) * y + z) / 2 for y, z in zip(r, q, strict=True)]
                        for r, q in zip(out, far, strict=True)
                    ]
                mean_f = (size + spread * trace(C)) * mean_of_forms([ident], T)
                mean_f += trace(C) * mean_of_forms([ident, out], T) + spread * mean_of_forms([ident, own], T)
                mean_f += Fraction(5, 2) * mean_of_forms([ident, mixed], T) + 13 * mean_of_forms([ident, out, own], T)
                mean_f *= s2
            peak = math.prod((exp(log(y) * y) for y in (theta, 1 - theta) if y), start=iv(1))
            factor = peak * mean_f / root(det)
            last = i == len(steps) - 1
            if last:
                at_most(rho, theta, "steps: the last theta is at least c2/sigma^2")
            for L in range(starts[i], starts[i] + 1 if last or theta >= rho else starts[i + 1]):
                holds(L, factor * (exp(log(Fraction(L - 1)) * -theta) if L > 2 else iv(1)), f"steps[{i}]")
        return
    if law.kind != "box" or queries.kind not in ("box", "rademacher"):
        raise NotCovered("repaired forms of other laws than Gaussian and box")
    hint = fields(w, "witness", "t from")
    t, first = rational(hint["t"], "t"), natural(hint["from"], "from", 2, 100_000)
    if not 0 < t < 1:
        raise Rejected("witness.t: between 0 and 1")
    size_s = root(s2)
    y = [size_s * (c * dot(map(abs, row), queries.sizes)) for c, row in zip(law.sizes, U, strict=True)]
    R2 = math.prod((cosh(x) / sinhc(x) for x in y), start=iv(1))
    reach = [(1 + langevin(x)) * c for x, c in zip(y, law.sizes, strict=True)]
    delta = [smallest([x / 3, iv(Fraction(1, 4))]) * c for x, c in zip(y, law.sizes, strict=True)]
    m = sum((row[j] ** 2 * law.sizes[j] ** 2 / 3 for row in V for j in range(law.d)), start=iv(0))
    m += sum(
        (abs(row[j] * row[k]) * delta[j] * delta[k] for row in V for j, k in permutations(range(law.d), 2)), start=iv(0)
    )
    always: Any = sum((square(dot([abs(v) for v in row], reach)) for row in V), start=iv(0))
    part, factor = R2 * m, iv(1)
    if kind == "U":
        Y2 = sum(map(square, reach), start=iv(0))
        c2_ = sum((v * c * c / 3) ** 2 for row in V for v, c in zip(row, law.sizes, strict=True))
        h2 = sum(dot([abs(v) for v in row], law.sizes) ** 2 for row in V) * norm2(law.sizes)
        part, always = R2 * (6 * Y2 * m + 4 * c2_), iv(2 * (h2 + c2_))
        factor = iv(s2 * norm2(queries.sizes))
    kappa = t * t / (2 * R2)
    at_most(rho, kappa * first, "monotone")
    at_most(rho, 1, "monotone: c2/sigma^2 is at most 1")

    def bound(L: int) -> I:
        """(6) of the page"""
        return (part / (L * (1 - t) ** 2) + always * exp(-kappa * L)) * factor

    for L in range(2, first):
        holds(L, smallest([bound(L), always * factor]), "before")
    holds(first, bound(first), "onwards")


Weights = tuple[list[list[Any]], list[list[Any]]]


def frobenius_iv(x: Weights, y: Weights) -> I:
    """The Frobenius norm of the difference of two pairs of matrices."""
    return root(
        sum(
            (
                square(iv(p) - q)
                for m, n in zip(x, y, strict=True)
                for r, s in zip(m, n, strict=True)
                for p, q in zip(r, s, strict=True)
            ),
            start=iv(0),
        )
    )


def tilted_covariance(law: Law, a: Sequence[Any]) -> list[list[Any]]:
    """The covariance under a tilt, from second derivatives of the MGF: E x x' e^<a,x> / E e^<a,x> - mean mean'."""
    n, found = law.d, []
    for i, u in enumerate(identity(n)):
        row = []
        for v in identity(n)[: i + 1]:
            f = series(law, a, u, v, 1, 1)
            row.append(f[1][1] / f[0][0] - f[1][0] / f[0][0] * (f[0][1] / f[0][0]))
        found.append(row)
    return [[found[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)]


def descent_trajectory(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/training/descent-trajectory.md, both recursions in intervals; not Gronwall's lemma."""
    starting_bits(w)
    given = fields(g, "given", "model start step steps tokens queries targets", "covariance tasks labels laws lengths")
    asserts = fields(a, "asserts", "", "distance risk_gap gradient_gap checkpoints gronwall")
    if not a:
        raise Rejected("asserts: nothing")
    if asserts["gronwall"] is not None:
        raise NotCovered("gronwall")
    model = one_of(given["model"], "model", "regression", "attention")
    tokens, queries = matrix(given["tokens"], "tokens"), matrix(given["queries"], "queries")
    n, d, dq = len(queries), len(tokens[0]), len(queries[0])
    targets = matrix(given["targets"], "targets", n)
    start = fields(given["start"], "start", "A b" if model == "regression" else "U V")
    eta, steps = rational(given["step"], "step"), natural(given["steps"], "steps", 1, 100_000)
    if given["lengths"] is None:
        if len(tokens) % n:
            raise Rejected("given.lengths: needed where prompts are not equally long")
        lengths = [len(tokens) // n] * n
    else:
        lengths = [natural(x, "lengths", 1) for x in listed(given["lengths"], "lengths")]
    if len(lengths) != n or sum(lengths) != len(tokens) or eta <= 0:
        raise Rejected("given: lengths that do not fit, or a step that is not positive")
    laws: list[Law] = []
    S: Matrix = []
    if model == "regression":
        if given["laws"] is not None or any(given[k] is None for k in ("covariance", "labels")) or len(targets[0]) != 1:
            raise Rejected("given: the fields of regression")
        S = matrix(given["covariance"], "covariance", d, d)
        same(S, transposed(S), "covariance")
        pivots(S, None, "covariance")
        values = matrix(given["labels"], "labels", len(tokens), 1)
        tasks = None if given["tasks"] is None else matrix(given["tasks"], "tasks", n, d)
        theta: Weights = matrix(start["A"], "start.A", d, dq), [[rational(start["b"], "start.b")]]
        slopes = [times(S, x) for x in tasks] if tasks else []
        if not tasks and dq != d:
            raise Rejected("given.queries: another dimension than the covariance")
    else:
        if given["laws"] is None or any(given[k] is not None for k in ("covariance", "labels", "tasks")):
            raise Rejected("given: the fields of attention")
        laws = [Law(x, "laws") for x in listed(given["laws"], "laws")]
        laws = laws * n if len(laws) == 1 else laws
        if len(laws) != n or any(x.d != d for x in laws):
            raise Rejected("given.laws: one, or one for each prompt, of the tokens' dimension")
        values, tasks, slopes = tokens, None, []
        theta = matrix(start["U"], "start.U", d, dq), matrix(start["V"], "start.V", len(targets[0]), d)
    contexts, at = [], 0
    for size in lengths:
        (k, dk), (v, dv) = integers(tokens[at : at + size]), integers(values[at : at + size])
        kc, vc = transposed(k), transposed(v)
        cross = [list(map(mul, x, y)) for x in vc for y in kc]
        contexts.append((k, dk, kc, vc, dv, cross, [sum(map(abs, row)) for row in k]))
        at += size

    def finite(i: int, tilt: list[I]) -> tuple[list[I], list[list[I]]]:
        """Softmax mean of the values of prompt i, and Cov(values, keys)."""
        k, dk, kc, vc, dv, cross, sizes = contexts[i]
        low, spread = [x.a for x in tilt], max(x.b - x.a for x in tilt)
        raw = [dot(row, low) for row in k]
        top = max(raw)
        e = [
            exp(I((r - top - spread * m) // dk, -(-(r - top + spread * m) // dk)))
            for r, m in zip(raw, sizes, strict=True)
        ]
        p = Prompt.__new__(Prompt)
        mean, keys, both = p.moments(e, vc, dv), p.moments(e, kc, dk), p.moments(e, cross, dk * dv)
        return mean, [[both[r * d + c] - m * keys[c] for c in range(d)] for r, m in enumerate(mean)]

    def infinite(i: int, tilt: list[I]) -> tuple[list[Any], list[list[Any]]]:
        """The same of the infinite prompt."""
        if model == "regression":
            return [dot(slopes[i], tilt)], [slopes[i]]
        law = laws[i]
        mean = law.tilted(tilt)[1]
        if law.kind == "gaussian":
            return mean, law.cov
        if law.kind in ("atoms", "mixture"):
            return mean, tilted_covariance(law, tilt)
        slope = []
        # tanh' = 1 - tanh^2, and L' = 1 - L^2 - 2 L/u for L = coth u - 1/u
        for c, x in zip(law.sizes, tilt, strict=True):
            u = x * c
            slope.append(
                (1 - square(tanh(u)) if law.kind == "rademacher" else 1 - square(langevin(u)) - 2 * langevin(u) / u)
                * (c * c)
            )
        return mean, [[x if r == s else Fraction(0) for s in range(d)] for r, x in enumerate(slope)]

    def loss(theta: Weights, context: Callable[[int, list[I]], Any]) -> tuple[I, Weights]:
        """The risk, and its gradient in both weights."""
        U, V = theta
        if context is infinite and model == "regression" and tasks is None:
            b = V[0][0]
            E = [[b * x - (i == j) for j, x in enumerate(row)] for i, row in enumerate(matmul(S, U))]
            K = matmul(S, matmul(E, S))
            risk = iv(trace(matmul(E, matmul(S, transposed(E))))) / 2
            return risk, ([[b * x for x in row] for row in K], [[frobenius(U, K)]])
        risk, dU, dV = iv(0), [[iv(0)] * dq for _ in range(d)], [[iv(0)] * len(V[0]) for _ in V]
        for i, q in enumerate(queries):
            m, C = context(i, [iv(x) for x in times(U, q)])
            r = [x - y for x, y in zip(times(V, m), targets[i], strict=True)]
            risk += sum(map(square, r), start=iv(0)) / (2 * n)
            back = times(transposed(C), times(transposed(V), r))
            dU = [[x + y * z / n for x, z in zip(row, q, strict=True)] for row, y in zip(dU, back, strict=True)]
            dV = [[x + y * z / n for x, z in zip(row, m, strict=True)] for row, y in zip(dV, r, strict=True)]
        return risk, (dU, dV)

    def bound_list(node: Any, where: str) -> list[Fraction]:
        """One number for all steps, or one for each from 0."""
        found = vector(node, where)
        if len(found) not in (1, steps + 1):
            raise Rejected(f"{where}: one number, or {steps + 1}")
        return found * (steps + 1) if len(found) == 1 else found

    distance = (
        None
        if asserts["distance"] is None
        else bound_list(fields(asserts["distance"], "distance", "at_most")["at_most"], "distance")
    )
    gaps = {}
    for key in ("risk_gap", "gradient_gap"):
        if asserts[key] is not None:
            f = fields(asserts[key], key, "at at_most")
            gaps[key] = one_of(f["at"], key, "each", "finite", "infinite"), bound_list(f["at_most"], key)
    stops: dict[int, list[dict[str, Any]]] = {}
    for node in listed(asserts["checkpoints"], "checkpoints") if asserts["checkpoints"] is not None else []:
        f = fields(node, "checkpoints", "step", "distance finite_risk infinite_risk finite infinite")
        if all(f[k] is None for k in f if k != "step"):
            raise Rejected("checkpoints: a step of which nothing is asserted")
        stops.setdefault(natural(f["step"], "checkpoints.step", 0, steps), []).append(f)
    short = theta
    for k in range(steps + 1):
        apart = frobenius_iv(short, theta) if k else iv(0)
        (risk, grad), (far, slope_) = loss(short, finite), loss(theta, infinite)
        if distance:
            at_most(apart, distance[k], f"distance[{k}]")
        for key, (where, bound) in gaps.items():
            one = (risk, grad) if where != "infinite" else loss(theta, finite)
            two = (far, slope_) if where != "finite" else loss(short, infinite)
            gap = absolute(one[0] - two[0]) if key == "risk_gap" else frobenius_iv(one[1], two[1])
            at_most(gap, bound[k], f"{key}[{k}]")
        for f in stops.get(k, []):
            for key, value in (("distance", apart), ("finite_risk", risk), ("infinite_risk", far)):
                if f[key] is not None:
                    within(value, *bounds(f[key], key), f"checkpoints {k} {key}")
            for key, point in (("finite", short), ("infinite", theta)):
                if f[key] is not None:
                    node = fields(f[key], key, "radius " + ("A b" if model == "regression" else "U V"))
                    if model == "regression":
                        stated: Weights = matrix(node["A"], "A", d, dq), [[rational(node["b"], "b")]]
                    else:
                        stated = matrix(node["U"], "U", d, dq), matrix(node["V"], "V", len(theta[1]), d)
                    at_most(frobenius_iv(point, stated), rational(node["radius"], "radius"), f"checkpoints {k} {key}")
        if k < steps:
            short, theta = (
                tuple(
                    [[iv(x) - y * eta for x, y in zip(r, s, strict=True)] for r, s in zip(m, h, strict=True)]
                    for m, h in zip(t, step, strict=True)
                )
                for t, step in ((short, grad), (theta, slope_))
            )


# -------------------------------------------------------------------------------------------- prompts of random tokens


def series(law: Law, b: Sequence[Any], u: Sequence[Any], v: Sequence[Any], p: int, q: int) -> list[list[Any]]:
    """The coefficients of t^i r^j, i <= p and j <= q, of E e^<b + t u + r v, x>."""
    if law.kind == "gaussian":
        gu, gv, (value, mean) = times(law.cov, u), times(law.cov, v), law.tilted(b)
        c10, c01, c20, c11, c02 = dot(u, mean), dot(v, mean), dot(u, gu) / 2, dot(u, gv), dot(v, gv) / 2
        f: list[list[Any]] = [[exp(value)] for _ in range(p + 1)]
        for i in range(p + 1):  # derivatives of the exponential of a quadratic form
            for j in range(q + 1):
                if i:
                    x = (
                        c10 * f[i - 1][j]
                        + (2 * c20 * f[i - 2][j] if i > 1 else 0)
                        + (c11 * f[i - 1][j - 1] if j else 0)
                    )
                    x = x / i
                elif j:
                    x = (c01 * f[0][j - 1] + (2 * c02 * f[0][j - 2] if j > 1 else 0)) / j
                else:
                    x = f[0][0]
                f[i][j:] = [x]
        return f
    if law.kind in ("atoms", "mixture"):
        total: list[list[Any]] = [[iv(0)] * (q + 1) for _ in range(p + 1)]
        for k, w in enumerate(law.weights):
            if law.kind == "mixture":
                part = series(law.parts[k], b, u, v, p, q)
            else:
                y = law.points[k]
                part, s, t = [], dot(u, y), dot(v, y)
                size = exp(dot(b, y))
                part = [
                    [size * (Fraction(1) * s**i * t**j / (math.factorial(i) * math.factorial(j))) for j in range(q + 1)]
                    for i in range(p + 1)
                ]
            total = [[x + w * y for x, y in zip(r, s_, strict=True)] for r, s_ in zip(total, part, strict=True)]
        return total
    result: list[list[Any]] = [[iv(int(i == j == 0)) for j in range(q + 1)] for i in range(p + 1)]
    for c, x, s, t in zip(law.sizes, b, u, v, strict=True):
        h = raw_moments(law.kind, c * x, p + q)
        part = [
            [h[i + j] * ((c * s) ** i * (c * t) ** j / (math.factorial(i) * math.factorial(j))) for j in range(q + 1)]
            for i in range(p + 1)
        ]
        new: list[list[Any]] = [[iv(0)] * (q + 1) for _ in range(p + 1)]
        for i in range(p + 1):
            for k in range(p + 1 - i):
                row = convolve(result[i], part[k], q)
                new[i + k] = [x_ + y_ for x_, y_ in zip(new[i + k], row, strict=True)]
        result = new
    return result


def raw_moments(kind: str, u: Any, top: int) -> list[I]:
    """E s^n e^(u s), n <= top, for a sign s, or s uniform on [-1, 1]: then sum_m u^m/m! [n + m even]/(n + m + 1).

    All terms have the sign of u^n. Beyond the last one, where u^2 <= (m+1)(m+2)/2, the rest is no more than twice it.
    """
    u = iv(u)
    if kind == "rademacher":
        even, odd = cosh(u), (exp(u) - exp(-u)) / 2
        return [odd if n % 2 else even for n in range(top + 1)]
    z, found = square(u), []
    for n in range(top + 1):
        m, term, total = n % 2, u if n % 2 else iv(1), iv(0)
        while term.b > 1 or term.a < -1 or (m + 1) * (m + 2) << P < 2 * z.b:
            total += term / (n + m + 1)
            term = term * z / ((m + 1) * (m + 2))
            m += 2
        found.append(total + hull(0, 4 * term) + I(-4, 4))
    return found


def tilt_of(given: dict[str, Any], law: Law) -> tuple[list[Any], Vector | None, Matrix, tuple[Fraction, int], Vector]:
    """The tilt a, the query where there is one, V, the scale, and the exact vector that the scale multiplies."""
    keys = [k for k in ("K", "Q", "U", "scale") if given[k] is not None]
    scale, V = scale_of(given["scale"]), identity(law.d) if given["V"] is None else matrix(given["V"], "V", None, law.d)
    if given["tilt"] is not None:
        if keys or given["query"] is not None:
            raise Rejected("given: a tilt beside a query")
        tilt = vector(given["tilt"], "tilt", law.d)
        return list(tilt), None, V, scale, tilt
    U, _ = bilinear(given, law.d)
    z = vector(given["query"], "query", len(U[0]))
    return [scale_iv(scale) * x for x in times(U, z)], z, V, scale, times(U, z)


RANDOM = "K Q U V scale tilt query"


def gaussians(law: Law) -> Iterator[tuple[Fraction, Vector, Matrix]]:
    """The parts of a law that is made of Gaussians and atoms: weight, mean, covariance."""
    if law.kind == "gaussian":
        yield Fraction(1), law.mean, law.cov
    elif law.kind == "atoms":
        for w, y in zip(law.weights, law.points, strict=True):
            yield w, y, [[Fraction(0)] * law.d] * law.d
    elif law.kind == "mixture":
        for w, part in zip(law.weights, law.parts, strict=True):
            yield from ((w * x, m, c) for x, m, c in gaussians(part))
    else:
        raise Rejected("truncated and chernoff without an order: for Gaussians, atoms and their mixtures")


@cache
def upper_at(n: int, bits: int) -> I:
    """Q(n 2^-P) for n >= 0, Q(x) = P(N(0,1) > x). Up to 6 by 1/2 - phi(x) sum x^(2m+1)/(1 3 ... (2m+1)), all > 0; a
    rest is below the last one where x^2 <= (2m+3)/2. Beyond, phi(x) times Mills's ratio."""
    x = I(n, n)
    density = exp(-square(x) / 2) / root(2 * pi())
    if n >= 6 << P:
        return density * mills_at(n, bits)
    z, term, total, m = square(x), x, iv(0), 0
    while term.b > 1 or (2 * m + 3) << P < 2 * z.b:
        total += term
        m += 1
        term = term * z / (2 * m + 1)
    return Fraction(1, 2) - density * (total + hull(0, 2 * term) + I(0, 2))


@cache
def mills_at(n: int, bits: int) -> I:
    """Q/phi at n 2^-P >= 6: between successive convergents of 1/(x + 1/(x + 2/(x + 3/(x + ...)))), which alternate."""
    x, ends = I(n, n), []
    for depth in (80, 81):
        f = x
        for i in range(depth, 0, -1):
            f = x + i / f
        ends.append(1 / f)
    return hull(*ends)


def grid() -> tuple[Fraction, int]:
    """The width of cells and the end of the range of integrals over N(0, 1): finer with every doubling of P."""
    n = (P // 96).bit_length() - 1
    return Fraction(1, 64 * 4**n), 10 + n


def upper(x: Any) -> I:
    """Q(x), which falls: its values at the ends."""
    x = iv(x)
    high, low = ((upper_at(n, P) if n >= 0 else 1 - upper_at(-n, P)) for n in (x.a, x.b))
    return I(max(low.a, 0), high.b)


def mills(x: I) -> I:
    """e^(x^2/2) Q(x) for x > 0, which falls: Mills's ratio over sqrt(2 pi)."""
    factor, found = root(2 * pi()), []
    for n in (x.a, x.b):
        found.append(mills_at(n, P) / factor if n >= 6 << P else exp(square(I(n, n)) / 2) * upper_at(n, P))
    return I(found[1].a, found[0].b)


class Jet:
    """A function of one variable with its first two derivatives, enclosed over an interval."""

    __slots__ = ("f", "f1", "f2")

    def __init__(self, f: I, f1: I, f2: I) -> None:
        self.f, self.f1, self.f2 = f, f1, f2

    def __add__(self, other: Any) -> Jet:
        if isinstance(other, Jet):
            return Jet(self.f + other.f, self.f1 + other.f1, self.f2 + other.f2)
        return Jet(self.f + other, self.f1, self.f2)

    def __sub__(self, other: Any) -> Jet:
        return self + (other * -1 if isinstance(other, Jet) else -iv(other))

    def __mul__(self, other: Any) -> Jet:
        """The product rule."""
        if isinstance(other, Jet):
            second = self.f2 * other.f + 2 * (self.f1 * other.f1) + self.f * other.f2
            return Jet(self.f * other.f, self.f1 * other.f + self.f * other.f1, second)
        return Jet(self.f * other, self.f1 * other, self.f2 * other)

    def chain(self, value: I, first: I, second: I) -> Jet:
        """F(f) from F, F' and F'' at f."""
        return Jet(value, first * self.f1, second * square(self.f1) + first * self.f2)

    def exp(self) -> Jet:
        """e^f"""
        e = exp(self.f)
        return self.chain(e, e, e)

    def inverse(self) -> Jet:
        """1/f"""
        r = 1 / self.f
        return self.chain(r, -square(r), 2 * square(r) * r)

    def tail(self) -> Jet:
        """Q(f): Q' = -phi, Q'' = f phi."""
        density = exp(-square(self.f) / 2) / root(2 * pi())
        return self.chain(upper(self.f), -density, self.f * density)

    def mills(self) -> Jet:
        """R = e^(f^2/2) Q(f), f > 0: R' = f R - 1/sqrt(2 pi), R'' = R + f R'."""
        r = mills(self.f)
        first = self.f * r - 1 / root(2 * pi())
        return self.chain(r, first, r + self.f * first)


class Tails:
    """Bounds of probabilities that softmax means over L tokens of a law are off, by the witness's rules."""

    def __init__(self, law: Law, a: list[Any], L: int, scale: tuple[Fraction, int], base: Vector) -> None:
        """The tilt a = scale * base, its log-MGF and tilted mean."""
        self.law, self.a, self.L, self.scale, self.base = law, a, L, scale, base
        self.value, self.tau = law.tilted(a)
        self.known: dict[Any, tuple[I, I]] = {}

    def mean_square(self, V: Matrix) -> Any:
        """An upper bound of E|T_L - T|^2 for Gaussian tokens, q (S + B) as the method logistic has it."""
        if self.law.kind != "gaussian":
            raise Rejected("method: mean-square is for Gaussian tokens")
        b = times(self.law.cov, self.a)
        S, B = trace(matmul(V, matmul(self.law.cov, transposed(V)))), norm2(times(V, b))
        return (S + B) / (1 + (self.L - 1) * exp(-iv(dot(self.a, b))))

    def moments(self, u: Sequence[Any], v: Sequence[Any] | None, shift: Any, top: int) -> list[Any]:
        """E Y^k for k <= top, Y = w (<u, y> + shift), or w (<u, y><v, y> + shift), y = x - tau."""
        found: list[Any] = [iv(1)]
        for k in range(1, top + 1):
            q = 0 if v is None else k
            f = series(self.law, [k * x for x in self.a], u, u if v is None else v, k, q)
            for axis, direction in ((0, u), (1, v)):
                if direction is None:
                    continue
                move = -dot(direction, self.tau)
                e: list[Any] = [iv(1)]
                for i in range(1, k + 1):
                    e.append(e[-1] * move / i)
                f = (
                    transposed([convolve(r, e, k) for r in transposed(f)])
                    if axis == 0
                    else [convolve(r, e, k) for r in f]
                )
            norm, total = exp(-self.value * k), iv(0)
            for i in range(k + 1):
                joint = f[i][0] * math.factorial(i) if v is None else f[i][i] * math.factorial(i) ** 2
                total += joint * iv(shift) ** (k - i) * math.comb(k, i)
            found.append(total * norm)
        return found

    def bound(self, rule: dict[str, Any], u: Vector, v: Vector | None, mean: Any, eps: Fraction) -> Any:
        """A bound of P(sum Y > 0), Y = w (<u, y> - eps), or w (<u, y><v, y> - mean - eps): E Y = -eps."""
        name = one_of(rule.get("rule"), "rule", "cantelli", "moment", "chernoff", "truncated", "exact")
        f = fields(
            rule,
            "rule",
            "rule",
            {"moment": "order", "chernoff": "lambda order", "truncated": "lambda cap"}.get(name, ""),
        )
        if name == "exact":
            return self.exact(u, v, eps)
        if eps <= 0:
            raise Rejected("a rule other than exact for a height of 0")
        if name == "chernoff" and self.law.kind == "atoms" and f["order"] is not None:
            raise Rejected("rule.order: atoms need none")
        p = 2 if name == "cantelli" else 0
        if name == "moment" or f.get("order") is not None:
            p = natural(f["order"], "rule.order", 2, 24)
            if p % 2:
                raise Rejected("rule.order: even")
        lam = Fraction(0)
        if name in ("chernoff", "truncated"):
            lam = rational(f["lambda"], "rule.lambda")
            if lam <= 0:
                raise Rejected("rule.lambda: positive")
        if name == "truncated" or (not p and self.law.kind != "atoms"):
            if v is not None:
                raise Rejected("truncated and chernoff without an order: for means only")
            cap = rational(f["cap"], "rule.cap") if name == "truncated" else None
            if cap is not None and cap <= 0:
                raise Rejected("rule.cap: positive")
            return self.truncated(u, eps, lam, cap)
        shift = -eps - mean
        if not p:
            total = iv(0)
            for y, w in zip(self.law.points, self.law.weights, strict=True):
                total += w * exp(lam * self.summand(y, u, v, shift))
            return exp(log(total) * self.L)
        ys = self.moments(u, v, shift, p)
        ds = [sum((ys[i] * eps ** (j - i) * math.comb(j, i) for i in range(j + 1)), start=iv(0)) for j in range(p + 1)]
        if name == "cantelli":
            return ds[2] / (ds[2] + self.L * eps * eps)
        coefficients = [x / math.factorial(j) for j, x in enumerate(ds)]
        coefficients[1] = iv(0)  # E D = 0 exactly
        if name == "moment":
            total_, base, n = [iv(1)], coefficients, self.L
            while n:
                if n & 1:
                    total_ = convolve(total_, base, p)
                base, n = convolve(base, base, p) if n > 1 else base, n >> 1
            return total_[p] * math.factorial(p) / (self.L * eps) ** p
        top = largest([self.top(self.law, u, v, mean, eps), iv(0)])
        # e^(lam D) <= sum of j < p + (lam D)^p rest, p even, rest = sum_m (lam top)^m / (m + p)!, which begins at 1/p!
        y, term, rest, m = top * lam, iv(Fraction(1, math.factorial(p))), iv(0), 0
        while term.b > 1 or (m + p + 1) << P < 2 * y.b:
            rest += term
            m += 1
            term = term * y / (m + p)
        rest += hull(0, 2 * term) + I(0, 4)
        total = sum((x * lam**j for j, x in enumerate(coefficients[:p])), start=iv(0)) + ds[p] * lam**p * rest
        return exp((log(total) - lam * eps) * self.L)

    def summand(self, y: Vector, u: Vector, v: Vector | None, shift: Any) -> I:
        """Y at an atom."""
        rest = [p - q for p, q in zip(y, self.tau, strict=True)]
        form = dot(u, rest) * (1 if v is None else dot(v, rest))
        return exp(dot(self.a, y) - self.value) * (form + shift)

    def top(self, law: Law, u: Vector, v: Vector | None, mean: Any, eps: Fraction) -> I:
        """An upper bound of D = Y + eps: over atoms the largest; else by r <= e^(r - 1), for the best of some theta."""
        if law.kind == "mixture":
            return largest([self.top(part, u, v, mean, eps) for part in law.parts])
        if law.kind == "atoms":
            return largest([self.summand(y, u, v, -eps - mean) + eps for y in law.points])
        if law.kind == "gaussian":
            raise Rejected("a rule that does not apply to Gaussian tokens")

        def reach(b: Sequence[Any]) -> I:
            """max <b, x> over the support"""
            return sum((absolute(x) * c for x, c in zip(b, law.sizes, strict=True)), start=iv(0))

        best: I | None = None
        for step in range(-12, 13):
            theta = Fraction(2) ** (step // 2) * (Fraction(3, 2) if step % 2 else 1)
            if v is None:
                h = reach([x + theta * y for x, y in zip(self.a, u, strict=True)])
                now = exp(h - theta * (dot(u, self.tau) + eps) - 1 - self.value) / theta + eps
            else:
                s = [x + y for x, y in zip(u, v, strict=True)]
                ends = [
                    exp(
                        reach([x + sign * theta * y for x, y in zip(self.a, s, strict=True)])
                        - sign * theta * dot(s, self.tau)
                        - self.value
                        - 2
                    )
                    for sign in (1, -1)
                ]
                rest = largest([iv(-mean - eps), iv(0)]) * exp(reach(self.a) - self.value)
                now = largest(ends) / theta**2 + eps + rest
            best = now if best is None or now.b < best.b else best
        return best or iv(0)

    def truncated(self, u: Vector, eps: Fraction, lam: Fraction, cap: Fraction | None) -> I:
        """An upper bound of 1 - (1 - P(A))^L + (E e^(lam Y) off A)^L, as an interval from 0 on: (2) of output-tail."""
        bad, good = iv(0), iv(0)
        for weight, mean, cov in gaussians(self.law):
            key = tuple(map(str, (weight, mean, cov, u, eps, lam, cap, P))) if len(u) < 9 else None
            if key not in self.known or key is None:
                self.known[key] = self.part(mean, cov, u, eps, lam, cap)
            one, two = self.known[key]
            bad, good = bad + one * weight, good + two * weight
        bad = I(max(bad.a, 0), bad.b)
        if bad.b >= 1 << P:
            return I(0, (1 << P) + max(good.b, 0))  # every probability is at most 1
        total = 1 - exp(log(1 - I(bad.b, bad.b)) * self.L) + exp(log(I(good.b, good.b)) * self.L)
        return I(0, total.b)  # an upper bound only: it verifies, and never shows that a statement is false

    def part(
        self, mean: Vector, cov: Matrix, u: Vector, eps: Fraction, lam: Fraction, cap: Fraction | None
    ) -> tuple[I, I]:
        """Upper ends of P(A) and E[e^(lam Y); not A] for one part: Y = w (mu + c g + sigma h), w = e^(al + s g)."""
        gb = times(cov, self.base)
        bb, ub, uu = dot(self.base, gb), dot(u, gb), dot(u, times(cov, u))
        al = iv(dot(self.a, mean)) - self.value
        mu = iv(dot(u, mean)) - dot(u, self.tau) - eps
        s = root(self.scale[0] * bb)
        c = self.scale[1] * ub / root(bb) if ub else iv(0)
        sigma2 = uu - ub * ub / bb if bb else uu
        if not bb or not sigma2:
            return self.flat(al, mu, s if bb else None, c, ub * self.scale[1], sigma2, lam, cap)
        if cap is None:
            raise Rejected("chernoff: the output is not known to be bounded above")
        sigma, (h, G) = root(sigma2), grid()

        def jets(g: I) -> tuple[Jet, Jet]:
            """phi(g) Q(e) and phi(g) e^(x + t^2/2) Q(k), as functions of g."""
            x = Jet(g, iv(1), iv(0))
            w = (x * s + al).exp()
            e = (w.inverse() * cap - x * c - mu) * (1 / sigma)
            t = w * (sigma * lam)
            k = t - e
            density = (x * x * Fraction(-1, 2)).exp()
            if k.f.a > 1 << P:
                return density * e.tail(), density * (e * e * Fraction(-1, 2) + lam * cap).exp() * k.mills()
            return density * e.tail(), density * (w * (x * c + mu) * lam + t * t * Fraction(1, 2)).exp() * k.tail()

        bad, good, half = iv(0), iv(0), I(iv(-h / 2).a, iv(h / 2).b)
        for i in range(int(2 * G / h)):
            middle = iv(-G + h * i + h / 2)
            for n, (here, around) in enumerate(zip(jets(middle), jets(middle + half), strict=True)):
                cell = here.f * h + around.f2 * (h**3 / 24)  # the midpoint rule with its remainder
                bad, good = (bad + cell, good) if n == 0 else (bad, good + cell)
        scale = 1 / root(2 * pi())
        return bad * scale + 2 * upper(iv(G)), good * scale + 2 * exp(lam * cap) * upper(iv(G))

    def flat(
        self, al: I, mu: I, s: I | None, c: I, c_sign: Fraction, sigma2: Fraction, lam: Fraction, cap: Fraction | None
    ) -> tuple[I, I]:
        """The parts with s = 0 or sigma = 0. A is an interval of g, chosen in floats: any would do."""
        if s is None:
            w = exp(al)
            if not sigma2:
                y = w * mu
                if cap is not None and (y - cap).a > 0:
                    return iv(1), iv(0)
                return iv(0), exp(lam * y)
            if cap is None:
                raise Rejected("chernoff: the output is not known to be bounded above")
            sigma = root(sigma2)
            e, t = (cap / w - mu) / sigma, lam * w * sigma
            return upper(e), exp(lam * w * mu + t * t / 2) * upper(t - e)
        if cap is None and c_sign >= 0:
            raise Rejected("chernoff: the output is not known to be bounded above")
        h, G = grid()
        fs, fc, fm, fa = (float(x.a / 2**P) for x in (s, c, mu, al))

        def value(g: Any) -> I:
            """f(g) = e^(al + s g) (mu + c g)"""
            return exp(al + s * g) * (mu + c * g)

        def crossing(low: float, high: float, up: bool) -> Fraction:
            """About where f passes the cap."""
            for _ in range(60):
                middle = (low + high) / 2
                inside = math.exp(fa + fs * middle) * (fm + fc * middle) > float(cap or 0)
                low, high = (low, middle) if inside == up else (middle, high)
            return Fraction(round(low * 2**30), 2**30)

        g1, g2 = Fraction(G), Fraction(G)  # A = (g1, g2), empty
        if c_sign >= 0:
            g1 = crossing(-G, G, True)
            worst, bad = value(g1), upper(iv(g1))
            if c_sign == 0 and mu.b <= 0:
                g1, worst, bad = Fraction(G), iv(0), iv(0)
        else:
            peak = -1 / s - mu / c
            worst, bad = exp(al + s * peak) * (mu + c * peak), iv(0)
            if cap is not None and (worst - cap).a > 0:
                top = peak.a / 2**P
                g1, g2 = crossing(min(-64.0, top), top, True), crossing(top, max(64.0, top), False)
                if not (iv(g1).b <= peak.a and peak.b <= iv(g2).a):
                    raise Undecided("the peak of an output")
                worst, bad = largest([value(g1), value(g2)]), I(0, (upper(iv(g1)) - upper(iv(g2))).b)
        H = largest([worst, iv(0)]) * lam
        good = iv(0)
        pieces = [(Fraction(-G), min(max(g1, Fraction(-G)), Fraction(G)))]
        if c_sign < 0 and g2 > g1:
            pieces.append((max(min(g2, Fraction(G)), Fraction(-G)), Fraction(G)))
        for low, high in pieces:
            n = math.ceil((high - low) / h)
            for i in range(n):
                size = (high - low) / n
                middle = iv(low + size * i + size / 2)
                jets = []
                for g in (middle, middle + I(iv(-size / 2).a, iv(size / 2).b)):
                    x = Jet(g, iv(1), iv(0))
                    jets.append((x * x * Fraction(-1, 2) + (x * s + al).exp() * (x * c + mu) * lam).exp())
                good += jets[0].f * size + jets[1].f2 * (size**3 / 24)
        return bad, good / root(2 * pi()) + 2 * exp(H) * upper(iv(G))

    def exact(self, u: Vector, v: Vector | None, eps: Fraction) -> Any:
        """0 where an output is the same for all tokens."""
        for direction in [u] if v is None else [u, v]:
            if constant(self.law, direction):
                return Fraction(0)
        if v is None and self.law.kind == "gaussian" and not any(times(self.law.cov, self.base)):
            return upper(root(eps * eps * self.L / dot(u, times(self.law.cov, u))))
        raise NotCovered("the rule exact where the output varies")


def constant(law: Law, u: Vector) -> bool:
    """Whether <u, x> is the same for all tokens, exactly."""
    if law.kind == "mixture":
        mean = {dot(u, second_moments(part)[0]) for part in law.parts}
        return len(mean) == 1 and all(constant(part, u) for part in law.parts)
    return dot(u, times(second_moments(law)[1], u)) == 0


def frame_of(node: Any, where: str, size: int, extra: str = "levels bounds") -> tuple[Matrix, Vector, list[Any]]:
    """A frame, sum f f' - I positive semidefinite, its levels, and rules for + and - of every vector."""
    f = fields(node, where, "frame " + extra)
    frame, levels, rules = matrix(f["frame"], where, None, size), vector(f["levels"], where), listed(f["bounds"], where)
    gram = matmul(transposed(frame), frame)
    semidefinite([[x - (i == j) for j, x in enumerate(row)] for i, row in enumerate(gram)], f"{where}: the frame")
    if len(levels) != len(frame) or min(levels) < 0 or len(rules) != 2 * len(frame):
        raise Rejected(f"{where}: a level for each vector, and two rules")
    return frame, levels, rules


def probability(node: Any, where: str) -> Fraction:
    """A number between 0 and 1."""
    value = rational(node, where)
    if not 0 < value < 1:
        raise Rejected(f"{where}: not between 0 and 1")
    return value


def signs(frame: Matrix, levels: Vector) -> Iterator[tuple[Vector, Fraction]]:
    """+f, -f for every vector, with its level."""
    for f, e in zip(frame, levels, strict=True):
        yield f, e
        yield [-x for x in f], e


def output_tail(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/prompts/output-tail.md, for the rules that need no integrals."""
    given = fields(g, "given", "law length", RANDOM)
    law = Law(given["law"])
    tilt, _, V, scale, base = tilt_of(given, law)
    tails_of(Tails(law, tilt, natural(given["length"], "length", 1), scale, base), V, a, w)


def tails_of(tails: Tails, V: Matrix, a: dict[str, Any], w: Any) -> None:
    """Directions and norms of output-tail and typical-prompt."""
    asserts, hint = (
        fields(a, "asserts", "", "directions norm"),
        fields({} if w is None else w, "witness", "", "directions norm"),
    )
    if not a or any((asserts[k] is None) != (hint[k] is None) for k in asserts):
        raise Rejected("asserts and witness: directions, norm or both, with rules for each")
    back = transposed(V)
    stated = listed(asserts["directions"], "directions") if asserts["directions"] is not None else []
    same(len(stated), len(hint["directions"] or []), "the number of rules")
    for node, rule in zip(stated, hint["directions"] or [], strict=True):
        f = fields(node, "directions", "direction exceeds probability")
        eps = rational(f["exceeds"], "exceeds")
        if eps <= 0:
            raise Rejected("directions.exceeds: positive")
        u = times(back, vector(f["direction"], "direction", len(V)))
        at_most(tails.bound(rule, u, None, 0, eps), probability(f["probability"], "probability"), "directions")
    if asserts["norm"] is not None:
        f = fields(asserts["norm"], "norm", "norm exceeds probability")
        eps, total = rational(f["exceeds"], "exceeds"), iv(0)
        if isinstance(hint["norm"], dict) and "method" in hint["norm"]:
            one_of(fields(hint["norm"], "witness.norm", "method")["method"], "method", "mean-square")
            one_of(f["norm"], "norm", "l2", "linf")
            if eps <= 0:
                raise Rejected("norm.exceeds: positive")
            top = tails.mean_square(V) / (eps * eps)
            at_most(top, probability(f["probability"], "probability"), "norm")
            return
        if one_of(f["norm"], "norm", "l2", "linf") == "linf":
            rules = listed(fields(hint["norm"], "witness.norm", "bounds")["bounds"], "bounds")
            frame, levels = identity(len(V)), [eps] * len(V)
            same(len(rules), 2 * len(V), "the number of rules")
        else:
            frame, levels, rules = frame_of(hint["norm"], "witness.norm", len(V))
            at_most(norm2(levels), eps * eps, "witness.norm: the levels")
        for (u, e), rule in zip(signs(frame, levels), rules, strict=True):
            total += tails.bound(rule, times(back, u), None, 0, e)
        at_most(total, probability(f["probability"], "probability"), "norm")


def typical_prompt(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/prompts/typical-prompt.md: this prompt as in output-deviation, random ones as in output-tail."""
    given = fields(g, "given", "tokens queries law", "K Q U V scale")
    p, law = Prompt({**given, "keys": None, "values": None}), Law(given["law"])
    (q,) = matrix(given["queries"], "given.queries", 1, p.dim)
    if law.d != len(p.V[0]):
        raise Rejected("given.law: another dimension than the tokens")
    base = times(p.U, q)
    tails = Tails(law, [scale_iv(p.scale) * x for x in base], len(p.keys), p.scale, base)
    out = p.moments(p.softmax(q)[0], transposed(p.values), p.dv)
    gap = [x - y for x, y in zip(out, times(p.V, tails.tau), strict=True)]
    asserts = fields(a, "asserts", "", "directions norm")
    for node in asserts["directions"] or []:
        f = fields(node, "directions", "direction exceeds probability")
        u = vector(f["direction"], "direction", len(gap))
        at_most(dot(u, gap), rational(f["exceeds"], "exceeds"), "here.directions")
    if asserts["norm"] is not None:
        f = fields(asserts["norm"], "norm", "norm exceeds probability")
        far = (
            root(norm2(gap)) if one_of(f["norm"], "norm", "l2", "linf") == "l2" else largest([absolute(x) for x in gap])
        )
        at_most(far, rational(f["exceeds"], "exceeds"), "here.norm")
    tails_of(tails, p.V, a, w)


def gradient_tail(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/prompts/gradient-tail.md"""
    given = fields(g, "given", "law length", RANDOM)
    law, L = Law(given["law"]), natural(given["length"], "length", 1)
    tilt, z, V, scale, base = tilt_of(given, law)
    f = fields(a, "asserts", "gradient exceeds probability")
    kind, eps = one_of(f["gradient"], "gradient", "U", "V"), rational(f["exceeds"], "exceeds")
    if eps <= 0:
        raise Rejected("asserts.exceeds: positive")
    share, tails = probability(f["probability"], "probability"), Tails(law, tilt, L, scale, base)
    plain = identity(law.d) == V
    need = "tokens" if kind == "V" else "tokens entries" + ("" if plain else " outputs")
    hint = fields(w, "witness", need)
    G, b, rules = frame_of(hint["tokens"], "witness.tokens", law.d)
    total = iv(0)
    for (u, e), rule in zip(signs(G, b), rules, strict=True):
        total += tails.bound(rule, u, None, 0, e)
    if kind == "V":
        at_most(norm2(b), eps * eps, "witness.tokens: the levels")
        at_most(total, share, "probability")
        return
    if z is None:
        raise Rejected("given.query: needed for the gradient in U")
    F, c = G, b
    if not plain:
        F, c, rules = frame_of(hint["outputs"], "witness.outputs", len(V))
        for (u, e), rule in zip(signs(F, c), rules, strict=True):
            total += tails.bound(rule, times(transposed(V), u), None, 0, e)
    entries = fields(hint["entries"], "witness.entries", "levels bounds")
    E = matrix(entries["levels"], "witness.entries.levels", len(F), len(G))
    if min(map(min, E)) < 0 or (plain and transposed(E) != E):
        raise Rejected("witness.entries.levels: not negative, and symmetric where V = I")
    square_ = sum((E[i][j] + c[i] * b[j]) ** 2 for i in range(len(F)) for j in range(len(G)))
    at_most(scale[0] * norm2(z) * square_, eps * eps, "witness.entries: the levels")
    places = [(i, j) for i in range(len(F)) for j in range(i if plain else 0, len(G))]
    rules = listed(entries["bounds"], "witness.entries.bounds")
    same(len(rules), 2 * len(places), "the number of rules of entries")
    for n, rule in enumerate(rules):
        i, j = places[n // 2]
        u = [x if n % 2 == 0 else -x for x in times(transposed(V), F[i])]
        one = Tails.moments(tails, u, G[j], Fraction(0), 1)[1]  # E w <u, y><v, y> = <u, C v>
        total += tails.bound(rule, u, G[j], one, E[i][j])
    at_most(total, share, "probability")


def collisions(v: Any, L: int) -> Callable[..., Any]:
    """E P_k1 P_k2 ..., P_k the sums of k-th powers of softmax weights of L scores of variance v.

    By (3) of
    docs/claims/prompts/output-mean-square.md a sum, over partitions of the k, of falling factorials of L times
    integrals of Psi_k1(t) ... phi(t)^(L-b)/(K-1)!, by the trapezoid rule with the errors of that page. What is left
    out on the right is bounded otherwise: x^k e^-x <= ((k+m)/e)^(k+m) x^-m, so that
    Psi_k(t) <= ((k+m)/e)^(k+m) e^(-mt) E w^-m; E w^-m = e^(m(m+1)v/2); the other factors are at most (k/e)^k and 1.
    """
    exact = isinstance(v, Fraction) and v == 0
    if L == 1 or exact:
        return lambda *ks: Fraction(1, L ** (sum(ks) - len(ks)))
    x = iv(v)
    if x.b > 25 << P or x.a * 1000 < 1 << P:
        raise NotCovered("moments of softmax weights for scores of variance beyond 25, or below 0.001")
    sd = math.sqrt(x.b / 2**P)
    fine = 3 + max(0, math.ceil(-math.log2(sd / 2 * 8)))
    h, d = Fraction(1, 8), Fraction(1, 2**fine)
    ratio, wide = 2 ** (fine - 3), math.sqrt(1.4 * P + 60)
    low = -math.ceil(math.log(L) + 0.36 * P + 12)
    high = math.ceil(sd * math.sqrt(1.4 * P) + x.b / 2**P + 6 + P / 48)
    ends = math.floor(-(x.b / 2**P) / 2 - wide * sd), math.ceil(wide * sd)
    nodes = range(ends[0] * 2**fine, ends[1] * 2**fine + 1)
    rho = [exp(-square(d * n + x / 2) / (2 * x)) * d / root(2 * pi() * x) for n in nodes]
    grid = {n: exp(iv(d * n)) for n in range(low * 2**fine + nodes[0], high * 2**fine + nodes[-1] + 1)}
    decay = {n: exp(-y) if y.a < (P * 2) << P else I(0, 1) for n, y in grid.items()}
    z2 = min(square(ends[0] + x / 2).a, square(ends[1] + x / 2).a)  # the squared distance of the ends from the mean
    left_out = 2 * (1 + d / root(x)) * exp(-I(z2, z2) / (2 * x))
    beta = min(Fraction(3, 2), Fraction(int(2 * math.pi * sd * sd / float(d) * 1000), 1000))
    cosine = 1 - iv(beta) ** 2 / 2 + iv(beta) ** 4 / 24 - iv(beta) ** 6 / 720  # a lower bound of cos(beta), above 0
    strip = 2 * exp(iv(beta * beta) / (2 * x)) / (exp(2 * pi() * (beta / d)) - 1)
    cos_out = iv(Fraction(707, 10000))  # below cos(3/2) = 0.070737...
    table: dict[int, list[I]] = {}

    def psi(k: int) -> list[I]:
        """Psi_k at all outer nodes."""
        if k not in table:
            e = {n: (grid[n] ** k * y if k else y) for n, y in decay.items()}
            most = iv(Fraction(k)) ** k * exp(iv(-k)) if k else iv(1)
            error = strip * (most / cosine**k) + left_out * most
            lows, highs = [y.a for y in rho], [y.b for y in rho]
            found = []
            for t in range(low * 8, high * 8 + 1):
                part = [e[t * ratio + n] for n in nodes]
                a, b = dot(lows, [y.a for y in part]) >> P, -(-dot(highs, [y.b for y in part]) >> P)
                found.append(I(max(a - error.b, 0), b + error.b))
            table[k] = found
        return table[k]

    @cache
    def powers(n: int) -> list[I]:
        """phi^n at all outer nodes; phi is at most 1."""
        return [I(y.a, min(y.b, 1 << P)) ** n for y in psi(0)]

    @cache
    def mean(*ks: int) -> I:
        """One mean."""
        K, total = sum(ks), iv(0)
        for partition in partitions(len(ks)):
            b = max(partition) + 1
            if b > L:
                continue
            sizes = [sum(k for k, c in zip(ks, partition, strict=True) if c == r) for r in range(b)]
            factors = [psi(k) for k in sizes]
            s = iv(0)
            for i, y in enumerate(powers(L - b)):
                for f in factors:
                    y = y * f[i]
                s += y
            s = s * h
            grown = math.prod((exp(x * Fraction(k * k - k, 2)) for k in sizes), start=iv(1))
            s += hull(0, grown * exp(iv(K * (low - h))) * h / (1 - exp(iv(-K * h))))
            others = math.prod((iv(Fraction(k)) ** k * exp(iv(-k)) for k in sizes[1:]), start=iv(1))
            best = None
            for m in range(1, 200):
                k = sizes[0] + m
                edge = (
                    exp(log(iv(k)) * k - k - iv(m * (high + h)) + x * Fraction(m * (m + 1), 2))
                    * others
                    * h
                    / (1 - exp(iv(-m * h)))
                )
                if best is not None and edge.b > best.b:
                    break
                best = edge
            s += hull(0, best)
            off = 2 / (cos_out**K * (exp(2 * pi() * (Fraction(3, 2) / h)) - 1))
            below(off, 1, "the step of the trapezoid rule")
            s = I((s / (1 + off)).a, (s / (1 - off)).b)
            total += s * math.perm(L, b) / math.factorial(K - 1)
        return I(max(total.a, iv(Fraction(1, L ** (K - len(ks)))).a), min(total.b, 1 << P))

    return mean


def turn(x: Any) -> Complex:
    """cos x and sin x: Taylor's series of e^(ix/2^k) with |x/2^k| < 1/2, whose rest is no more than its last term, and
    k squarings."""
    x, k = iv(x), 0
    while max(abs(x.a), abs(x.b)) >> k >= 1 << (P - 1):
        k += 1
    y = x * Fraction(1, 2**k)
    term, c, s, n = iv(1), iv(0), iv(0), 0
    while max(abs(term.a), abs(term.b)) > 1:
        sign = 1 if n % 4 < 2 else -1
        c, s = (c + sign * term, s) if n % 2 == 0 else (c, s + sign * term)
        n += 1
        term = term * y / n
    found: Complex = c + I(-4, 4), s + I(-4, 4)
    for _ in range(k):
        found = square(found[0]) - square(found[1]), 2 * (found[0] * found[1])
    return found


def over_queries(given: dict[str, Any], law: Law, L: int, low: Any, high: Any, theta: Fraction | None) -> None:
    """The mean square over Gaussian queries too, by the bounds `integral` (no theta) and `closed` of the page.

    H(w) = E (T + z'Bz) e^(w z'Nz) by elimination over complex intervals. A(w) = D^-1 - 2 w R'NR has a positive definite
    real part where Re w <= r and A(r) > 0; then so have all Schur complements: each pivot has a positive real part, its
    principal root is continuous and positive on the real line, and H takes their product.
    """
    z = fields(given["queries"], "queries", "mean covariance")
    (U, V), (s2, _) = bilinear(given, law.d), scale_of(given["scale"])
    m = vector(z["mean"], "queries.mean", len(U[0]))
    S = matrix(z["covariance"], "queries.covariance", len(m), len(m))
    semidefinite(S, "queries.covariance")
    CU = matmul(law.cov, U)
    N = [[s2 * x for x in row] for row in matmul(transposed(U), CU)]
    VCU = matmul(V, CU)
    B = [[s2 * x for x in row] for row in matmul(transposed(VCU), VCU)]
    T = trace(matmul(V, matmul(law.cov, transposed(V))))
    if theta is not None and not 0 < theta <= 1:
        raise Rejected("witness.theta: in (0, 1]")
    if L == 1:
        within(T + trace(matmul(B, S)) + dot(m, times(B, m)), low, high, "mean_square of one token")
        return
    if low is not None:
        raise NotProved("integral and closed prove mean_square.at_most only")

    def real(r: Fraction) -> I:
        """H(r); NotProved where 2 r |M| < 1 is false."""
        det, Sr = reweighted(S, [[r * x for x in row] for row in N], "1 - 2 theta M")
        mu = [x + 2 * r * y for x, y in zip(m, times(Sr, times(N, m)), strict=True)]
        size = T + trace(matmul(B, Sr)) + dot(mu, times(B, mu))
        return exp(iv(r * dot(times(N, m), mu))) * size / root(iv(det))

    far = log(iv(L - 1)) if L > 2 else iv(0)
    if theta is not None:
        peak = math.prod((exp(log(y) * y) for y in (theta, 1 - theta) if y), start=iv(1))
        at_most(peak * exp(far * -theta) * real(theta), high, "mean_square.at_most")
        return
    columns, ds = split(S)
    inner = matmul(columns, matmul(N, transposed(columns))) if columns else []
    reach, step = Fraction(0), Fraction(1, 2)
    for _ in range(12):  # the largest r < 1 of a grid with A(r) > 0
        try:
            reweighted(S, [[(reach + step) * x for x in row] for row in N], "")
            reach += step
        except NotProved:
            pass
        step /= 2
    if not reach:
        raise NotCovered("queries whose scores vary hugely")

    def line(r: Fraction) -> I:
        """W(r)"""
        return real(r) * exp(far * -r) / (2 * turn(pi() * r)[1])

    def integrand(theta: Fraction, eta: Fraction) -> I:
        """The real part of pi/sin(pi w) (L-1)^-w H(w) at w = theta + i eta."""
        w: Complex = iv(theta), iv(eta)
        e = exp(pi() * eta)
        c, s = turn(pi() * theta)
        value = cdiv((pi(), iv(0)), (s * ((e + 1 / e) / 2), c * ((e - 1 / e) / 2)))
        c, s = turn(-far * eta)
        size = exp(far * -theta)
        value = cmul(value, (c * size, s * size))
        n = len(inner)
        A: list[list[Complex]] = [
            [((1 / ds[i] if i == j else 0) - 2 * x * w[0], -2 * x * w[1]) for j, x in enumerate(row)]
            for i, row in enumerate(inner)
        ]
        A = [row + [(iv(columns[i][j]), iv(0)) for j in range(len(m))] for i, row in enumerate(A)]
        for i in range(n):
            pivot = A[i][i]
            below(0, pivot[0], "the real part of a pivot")
            size = root(root(square(pivot[0]) + square(pivot[1])) * ds[i])
            half = arctan(pivot[1] / pivot[0]) / 2
            c, s = turn(half)
            value = cdiv(value, (size * c, size * s))
            for j in range(i + 1, n):
                f = cdiv(A[j][i], pivot)
                A[j] = [(x[0] - y[0], x[1] - y[1]) for x, y in zip(A[j], (cmul(f, t) for t in A[i]), strict=True)]
        for i in reversed(range(n)):
            for j in range(n, n + len(m)):
                x = A[i][j]
                for k in range(i + 1, n):
                    t = cmul(A[i][k], A[k][j])
                    x = x[0] - t[0], x[1] - t[1]
                A[i][j] = cdiv(x, A[i][i])
        # S_w = R A^-1 R', by real and imaginary parts
        Sw = [
            [[sum((columns[k][i] * A[k][n + j][part] for k in range(n)), start=iv(0)) for j in range(len(m))]
             for i in range(len(m))] for part in (0, 1)
        ]  # fmt: skip
        Nm = times(N, m)
        move = [times(Sw[part], Nm) for part in (0, 1)]
        mu = [cmul((2 * w[0], 2 * w[1]), t) for t in zip(*move, strict=True)]
        mu = [(x + t[0], t[1]) for x, t in zip(m, mu, strict=True)]
        power_ = cmul(w, (dot(Nm, [t[0] for t in mu]) + iv(0), dot(Nm, [t[1] for t in mu]) + iv(0)))
        size, (c, s) = exp(power_[0]), turn(power_[1])
        value = cmul(value, (size * c, size * s))
        re, im = iv(T) + trace(matmul(B, Sw[0])), iv(0) + trace(matmul(B, Sw[1]))
        for i, row in enumerate(B):
            for j, x in enumerate(row):
                t = cmul(mu[i], mu[j])
                re, im = re + t[0] * x, im + t[1] * x
        return cmul(value, (re, im))[0]

    theta = min((reach * k / 8 for k in range(1, 8)), key=lambda r: line(r).b)
    c_ = min(theta, reach - theta) * Fraction(15, 16)
    bits = min(P // 3, 300)
    h = Fraction(math.floor(float(c_) * 2 * math.pi / (bits * 0.7 + 8) * 2**20), 2**20)
    ends = math.ceil((bits * 0.7 + 8) / math.pi / h)
    if ends > 20_000:
        raise NotCovered("queries whose scores vary hugely")
    total = integrand(theta, Fraction(0)) + 2 * sum((integrand(theta, h * j) for j in range(1, ends + 1)), start=iv(0))
    off = (line(theta - c_) + line(theta + c_)) / (exp(2 * pi() * (c_ / h)) - 1)
    off += 4 / pi() * exp(-pi() * (ends * h)) * line(theta)
    at_most(total * h / (2 * pi()) + I(-off.b, off.b), high, "mean_square.at_most")


def output_mean_square(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/prompts/output-mean-square.md"""
    given = fields(g, "given", "law length", RANDOM + " queries")
    law, L = Law(given["law"]), natural(given["length"], "length", 1)
    asserts = fields(a, "asserts", "", "mean_square mean collision")
    if not a:
        raise Rejected("asserts: nothing")
    low, high = (None, None) if asserts["mean_square"] is None else bounds(asserts["mean_square"], "mean_square", None)
    hint = fields({} if w is None else w, "witness", "" if w is None else "method", "method t lambda theta")
    if given["queries"] is not None:
        method = one_of(hint["method"] or "integral", "method", "integral", "closed")
        if given["tilt"] is not None or given["query"] is not None or law.kind != "gaussian":
            raise Rejected("given.queries: for Gaussian tokens, without a query or tilt")
        fields({} if w is None else w, "witness", "method theta" if method == "closed" else "", "method")
        if asserts["mean"] is not None or asserts["collision"] is not None:
            raise NotProved("of random queries nothing but the mean square is proved")
        over_queries(given, law, L, low, high, None if method == "integral" else rational(hint["theta"], "theta"))
        return
    tilt, _, V, _, _ = tilt_of(given, law)
    method = one_of(hint["method"] or "exact", "method", "exact", "logistic", "general")
    if method == "general":
        fields(w, "witness", "method t lambda")
        if low is not None or asserts["mean"] is not None or asserts["collision"] is not None:
            raise NotProved("general proves mean_square.at_most only")
        at_most(general(law, tilt, V, L, hint), high, "mean_square.at_most")
        return
    fields({} if w is None else w, "witness", "", "method")
    if law.kind != "gaussian":
        raise Rejected("method: for Gaussian tokens")
    b = times(law.cov, tilt)
    v, Vb = squared(given, law, tilt, dot(tilt, b)), times(V, b)
    S, B = trace(matmul(V, matmul(law.cov, transposed(V)))), norm2(Vb)
    if method == "logistic":
        if asserts["mean"] is not None:
            raise NotProved("logistic proves nothing of the mean")
        q = 1 / (1 + (L - 1) * exp(-iv(v)))
        if asserts["mean_square"] is not None:
            within_bounds((S - B / 2) / L, q * (S + B), low, high, "mean_square")
        if asserts["collision"] is not None:
            within_bounds(Fraction(1, L), q, *bounds(asserts["collision"], "collision"), "collision")
        return
    E = collisions(v, L)
    q = E(2)
    if asserts["collision"] is not None:
        within(q, *bounds(asserts["collision"], "collision"), "collision")
    if asserts["mean_square"] is not None:
        within(q * (S + B) - 6 * (E(3) - E(2, 2)) * B, low, high, "mean_square")
    if asserts["mean"] is not None:
        f = fields(asserts["mean"], "mean", "value radius")
        for x, y in zip(Vb, vector(f["value"], "mean.value", len(V)), strict=True):
            at_most(absolute(iv(-q * x) - y), rational(f["radius"], "radius"), "mean")


def within_bounds(least: Any, most: Any, low: Any, high: Any, what: str) -> None:
    """What lies between two bounds is proved to lie between two stated numbers."""
    if low is not None:
        at_most(low, least, f"{what}.at_least")
    if high is not None:
        at_most(most, high, f"{what}.at_most")


def squared(given: dict[str, Any], law: Law, tilt: list[Any], v: Any) -> Any:
    """a' Gamma a, exactly also where the scale is a root."""
    if isinstance(v, Fraction):
        return v
    U, _ = bilinear(given, law.d)
    y = times(U, vector(given["query"], "query"))
    return scale_of(given["scale"])[0] * dot(y, times(law.cov, y))


def rare(hint: dict[str, Any], R2: Any, L: int, tokens: int) -> tuple[Fraction, I]:
    """t, and e^(lambda L (1-t)) (1 - lambda + lambda^2 R2/2)^n, a bound of P(sum of n weights < L (1-t))."""
    t, lam = rational(hint["t"], "t"), rational(hint["lambda"], "lambda")
    if not 0 < t < 1 or lam <= 0:
        raise Rejected("witness: 0 < t < 1 and lambda > 0")
    return t, exp(log(1 - lam + R2 * (lam * lam / 2)) * tokens + lam * L * (1 - t))


def general(law: Law, tilt: list[Any], V: Matrix, L: int, hint: dict[str, Any]) -> I:
    """(5) of output-mean-square."""
    zero = [Fraction(0)] * law.d
    tails = Tails(law, tilt, L, (Fraction(1), 1), zero)  # the rules, which need scale and base, are not used here
    R2 = exp(law.tilted([2 * x for x in tilt])[0] - 2 * tails.value)
    t, p = rare(hint, R2, L, L)
    second = sum((tails.moments(u, None, 0, 2)[2] for u in V), start=iv(0))
    fourth = iv(0)
    for u in V:
        for v in V:
            fourth += joint(law, zero, u, v, tails.tau, 2, 2) * 4
    return second / (L * (1 - t) ** 2) + root(fourth * L * smallest([p, iv(1)]))


def joint(law: Law, b: Sequence[Any], u: Sequence[Any], v: Sequence[Any], tau: Sequence[Any], i: int, j: int) -> Any:
    """E e^<b, x> <u, y>^i <v, y>^j / (i! j!), y = x - tau."""
    f = series(law, b, u, v, i, j)
    one, two = -dot(u, tau), -dot(v, tau)
    return sum(
        (
            f[i - r][j - s] * one**r * two**s / (math.factorial(r) * math.factorial(s))
            for r in range(i + 1)
            for s in range(j + 1)
        ),
        start=iv(0),
    )


def gradient_mean_square(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/prompts/gradient-mean-square.md"""
    given = fields(g, "given", "law length", RANDOM)
    law, L = Law(given["law"]), natural(given["length"], "length", 1)
    tilt, z, V, scale, _ = tilt_of(given, law)
    f, hint = fields(a, "asserts", "gradient mean_square"), fields(w, "witness", "method", "t lambda")
    kind, (low, high) = one_of(f["gradient"], "gradient", "U", "V"), bounds(f["mean_square"], "mean_square")
    method = one_of(hint["method"], "method", "exact", "logistic", "general")
    if (kind == "U" and z is None) or (method != "general" and (law.kind != "gaussian" or len(w) > 1)):
        raise Rejected(
            "the gradient in U needs a query; exact and logistic are for Gaussian tokens and have no parameters"
        )
    factor = scale[0] * norm2(z or []) if kind == "U" else Fraction(1)
    if method == "general":
        if low is not None:
            raise Rejected("general has no lower bound")
        at_most(general_gradient(law, tilt, V, L, hint, kind) * factor, high, "mean_square.at_most")
        return
    C, b = law.cov, times(law.cov, tilt)
    v = squared(given, law, tilt, dot(tilt, b))
    if kind == "V":
        S, B = trace(C), norm2(b)
        if method == "logistic":
            within_bounds((S - B / 2) / L, (S + B) / (1 + (L - 1) * exp(-iv(v))), low, high, "mean_square")
        else:
            E = collisions(v, L)
            within(E(2) * (S + B) - 6 * (E(3) - E(2, 2)) * B, low, high, "mean_square")
        return
    VC, Vb = matmul(V, C), times(V, b)
    size, spread, vb2, b2 = frobenius(VC), trace(matmul(VC, transposed(V))), norm2(Vb), norm2(b)
    mixed = dot(Vb, times(VC, b))
    if method == "logistic":
        if low is not None:
            raise Rejected("logistic has no lower bound for U")
        whole = (
            size + spread * trace(C) + vb2 * trace(C) + b2 * spread + Fraction(5, 2) * absolute(mixed) + 13 * vb2 * b2
        )
        at_most(whole * factor / (1 + (L - 1) * exp(-iv(v))), high, "mean_square.at_most")
        return
    E = collisions(v, L)
    kappa = [
        E(2) - 2 * E(3) + 2 * E(2, 2),
        E(2) - 2 * E(3) + E(2, 2),
        E(2) + 7 * E(2, 2) - 14 * E(3) + 20 * E(2, 2, 2) - 52 * E(2, 3) + 38 * E(4),
        2 * E(2) + 22 * E(2, 2) - 36 * E(3) + 80 * E(2, 2, 2) - 184 * E(2, 3) + 116 * E(4),
        E(2)
        + 27 * E(2, 2)
        - 62 * E(3)
        + 240 * E(2, 2, 2)
        - 680 * E(2, 3)
        + 594 * E(4)
        + 840 * E(2, 2, 2, 2)
        - 2880 * E(2, 2, 3)
        + 2480 * E(2, 4)
        + 1020 * E(3, 3)
        - 1580 * E(5),
    ]
    parts = [size, spread * trace(C), vb2 * trace(C) + b2 * spread, mixed, vb2 * b2]
    within(sum((iv(x) * y for x, y in zip(kappa, parts, strict=True)), start=iv(0)) * factor, low, high, "mean_square")


def general_gradient(law: Law, tilt: list[Any], V: Matrix, L: int, hint: dict[str, Any], kind: str) -> I:
    """(4) of gradient-mean-square, with all means read off the series in two variables."""
    zero = [Fraction(0)] * law.d
    tails = Tails(law, tilt, L, (Fraction(1), 1), zero)  # the rules, which need scale and base, are not used here
    R2 = exp(law.tilted([2 * x for x in tilt])[0] - 2 * tails.value)
    t, p = rare(hint, R2, L, L - 1)
    ident, tau = identity(law.d), tails.tau

    def mean(k: int, u: Vector, v: Vector, i: int, j: int) -> Any:
        """E w^k <u, y>^i <v, y>^j"""
        value = joint(law, [k * x for x in tilt] if k else zero, u, v, tau, i, j) * (
            math.factorial(i) * math.factorial(j)
        )
        return value * exp(-tails.value * k)

    pairs = [(u, v) for u in V for v in ident]
    S2 = [[mean(2, u, v, 1, 1) for v in ident] for u in ident]  # Sigma
    if kind == "V":
        second = sum((mean(0, u, u, 1, 1) for u in ident), start=iv(0))
        return trace(S2) / (L * (1 - t) ** 2) + second * p * L
    C = [[mean(1, u, v, 1, 1) for v in ident] for u in ident]
    VC, VS = matmul(V, C), matmul(V, S2)
    four = sum((mean(4, u, v, 2, 2) for u, v in pairs), start=iv(0))
    vs = (
        sum((mean(2, u, v, 2, 2) for u, v in pairs), start=iv(0))
        - 2 * frobenius(VC, VS)
        + R2 * norm2([x for row in VC for x in row])
    )
    cross = (
        four + (L - 1) * (trace(matmul(VS, transposed(V))) * trace(S2) + 2 * norm2([x for row in VS for x in row]))
    ) / L**3
    vy4 = sum((mean(0, u, v, 2, 2) for u in V for v in V), start=iv(0))
    y4 = sum((mean(0, u, v, 2, 2) for u in ident for v in ident), start=iv(0))
    typical = square(root(vs / L) / (1 - t) + root(cross) / (1 - t) ** 2)
    return typical + p * square(root(norm2([x for row in VC for x in row])) + root(iv(L)) * root(root(vy4 * y4)))


# ------------------------------------------------------------------------------------ joint training, and limit laws


def entropy(weights: Sequence[Fraction]) -> I:
    """-sum w log w"""
    return sum((-log(w) * w for w in weights if w), start=iv(0))


def joint_max_margin(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/selection/joint-max-margin.md, whose numbers (1) to (7) are computed in its order."""
    given = fields(g, "given", "tokens indices", "lengths W labels")
    _, _, labels = scored({**given, "keys": None, "scores": None})
    tokens = inputs_of(given, "tokens")
    W = None if given["W"] is None else matrix(given["W"], "W", None, len(tokens[0][0]))
    keys = [[times(W, x) for x in rows] for rows in tokens] if W else tokens
    chosen, n = indices_of(given["indices"], "indices", tokens), len(tokens)
    asserts = fields(a, "asserts", "v support p", "label_margin drop path")
    hint = fields(w, "witness", "head_multipliers multipliers", "comparators")
    if asserts["path"] is None and hint["comparators"] is not None:
        raise Rejected("witness.comparators: without a path")
    ys = [[[y * c for c in x] for x in rows] for y, rows in zip(labels, tokens, strict=True)]
    top = {i: ys[i][chosen[i]] for i in range(n)}
    mu: dict[int, Fraction] = {}
    for node in listed(hint["head_multipliers"], "head_multipliers"):
        f = fields(node, "head_multipliers", "input multiplier")
        i, x = natural(f["input"], "head_multipliers", 0, n - 1), rational(f["multiplier"], "head_multipliers")
        if i in mu or x <= 0:
            raise Rejected("head_multipliers: an input twice, or a multiplier that is not positive")
        mu[i] = x
    v, slack = shortest(top, dict.fromkeys(top, 1), mu, "v")
    same(vector(asserts["v"], "asserts.v"), v, "v.solution")
    S = [i for i in range(n) if slack[i] == 0]
    same([natural(x, "support") for x in listed(asserts["support"], "support")], S, "support")
    v2 = norm2(v)
    if asserts["label_margin"] is not None:
        low, high = bounds(asserts["label_margin"], "label_margin")
        at_most((low or 0) ** 2 * v2, 1, "label_margin.at_least")
        if high is not None:
            at_most(1, high**2 * v2, "label_margin.at_most")
    z = pairs_of(keys, chosen)
    if not z:
        raise Rejected("no other token to select from")
    lam = hinted(hint["multipliers"], "multipliers", z, "multiplier")
    p, _ = shortest(z, {j: int(j[0] in S) for j in z}, lam, "p")
    same(vector(asserts["p"], "asserts.p"), p, "p.solution")
    if asserts["drop"] is None and asserts["path"] is None:
        return
    same(set(mu), set(S), "drop.multipliers")
    share = {i: x / sum(mu.values()) for i, x in mu.items()}
    gamma, p2 = 1 / root(v2), norm2(p)
    lead = {j: [x - y for x, y in zip(top[j[0]], ys[j[0]][j[1]], strict=True)] for j in z}
    inner = {i: [t for t in range(len(ys[i])) if t != chosen[i]] for i in range(n)}
    if math.prod(len(ys[i]) for i in S) <= 10_000:
        worst = Fraction(-1)
        for choice in product(*(range(len(ys[i])) for i in S)):
            if any(t != chosen[i] for i, t in zip(S, choice, strict=True)):
                worst = max(
                    worst,
                    norm2(
                        [
                            dot([share[i] for i in S], c)
                            for c in transposed([ys[i][t] for i, t in zip(S, choice, strict=True)])
                        ]
                    ),
                )
        if worst < 0:
            raise NotCovered("support inputs of one token each")
        nu = gamma - root(worst)
    else:
        cost = {i: min(2 * dot(v, lead[i, t]) / v2 - norm2(lead[i, t]) for t in inner[i]) for i in S if inner[i]}
        below(0, min(cost.values()), "drop")
        nu = min(share[i] * x for i, x in cost.items()) / (2 * gamma)
    if asserts["drop"] is not None:
        if rational(asserts["drop"], "drop") <= 0:
            raise Rejected("asserts.drop: positive")
        at_most(rational(asserts["drop"], "drop"), nu, "drop")
    below(0, nu, "drop")
    if asserts["path"] is None:
        return
    path = fields(asserts["path"], "path", "loss at")
    loss, entries = one_of(path["loss"], "path.loss", "logistic", "exponential"), listed(path["at"], "path.at")
    comparators: dict[int, dict[str, Any]] = {}
    for node in hint["comparators"] or []:
        f = fields(node, "comparators", "entry", "head attention")
        k = natural(f["entry"], "comparators.entry", 0, len(entries) - 1)
        if k in comparators:
            raise Rejected("comparators: an entry twice")
        comparators[k] = f
    for k, node in enumerate(entries):
        f = fields(node, f"path[{k}]", "head_norm attention_norm", "head_cosine attention_cosine mass")
        r, R = rational(f["head_norm"], "head_norm"), rational(f["attention_norm"], "attention_norm")
        stated = {
            key: rational(f[key], key) for key in ("head_cosine", "attention_cosine", "mass") if f[key] is not None
        }
        if r <= 0 or R <= 0 or not stated or min(stated.values()) <= 0:
            raise Rejected(f"path[{k}]: positive norms and bounds, one bound at least")
        hat = comparators.get(k, {"head": None, "attention": None})
        hv: list[Any] = [x * r * gamma for x in v]
        if hat["head"] is not None:
            hv = list(vector(hat["head"], "comparators.head", len(v)))
            at_most(norm2(hv), r * r, "comparator_head")
        hp: list[Any] = [x * R / root(p2) for x in p]
        if hat["attention"] is not None:
            hp = list(vector(hat["attention"], "comparators.attention", len(p)))
            at_most(norm2(hp), R * R, "comparator_attention")
        soft: dict[int, list[I]] = {}
        for i in range(n):
            scores = [-dot(z[i, t], hp) if t != chosen[i] else iv(0) for t in range(len(ys[i]))]
            e_ = [exp(x) for x in scores]
            soft[i] = [x / sum(e_, start=iv(0)) for x in e_]
        mixed = {i: [dot(soft[i], c) for c in transposed(ys[i])] for i in range(n)}
        losses = [exp(-iv(dot(hv, mixed[i]))) for i in range(n)]
        E = sum(losses, start=iv(0)) if loss == "exponential" else math.prod((1 + x for x in losses), start=iv(1)) - 1
        log_e0 = log(E) + r * gamma
        K = log_e0 - entropy(list(share.values()))
        e = largest([K / (r * nu), iv(0)])
        below(e, 1, f"path[{k}].unattended")
        Z = sum((share[i] * root(max(norm2(lead[i, t]) for t in inner[i])) for i in S if inner[i]), start=iv(0))
        c = 1 - (K / r + e * Z) / gamma
        below(0, c, f"path[{k}].alignment")  # of this c or the next one: with c <= 0 nothing is selected

        def least(b: Sequence[Any], c: I, r: Fraction = r) -> I:
            """(4): a lower bound of <v, b>, as the lower end."""
            along = dot(b, v) * gamma
            exact = all(isinstance(x, Fraction) for x in b)
            rest = (
                root(norm2(b) - dot(b, v) ** 2 / v2)
                if exact
                else root(sum(map(square, b), start=iv(0)) - square(along))
            )
            return r * (smallest([along, c * along]) - root(1 - square(smallest([c, iv(1)]))) * rest)

        def most(b: Sequence[Any], c: I, least: Callable[..., I] = least) -> I:
            """An upper bound of <v, b>."""
            return -least([-x for x in b], c)

        selected = all(least(lead[i, t], c).a > 0 for i in S for t in inner[i])
        if selected:
            c = 1 - largest([K, iv(0)]) / (r * gamma)
        if "head_cosine" in stated:
            at_most(stated["head_cosine"], c, f"path[{k}].head_cosine")
        hat_l = {j: x / p2 for j, x in lam.items() if j[0] in S}
        chi = iv(0) if loss == "exponential" else E
        lower = {j: least(x, c) for j, x in lead.items()}

        def above(weights: dict[int, Fraction], log_e0: I = log_e0) -> I:
            """(7): an upper bound of sum Lambda_i (gamma_i - r Gamma)."""
            theta = max(weights.get(i, Fraction(0)) / x for i, x in share.items())
            if theta <= 1:
                return iv(0)
            return (theta - 1) * (
                log_e0 - entropy([(theta * x - weights.get(i, Fraction(0))) / (theta - 1) for i, x in share.items()])
            )

        log_a = iv(0)
        if selected:
            grown = {}
            for i in range(n):
                b = (
                    [dot([soft[i][t] for t in inner[i]], col) for col in transposed([lead[i, t] for t in inner[i]])]
                    if inner[i]
                    else []
                )
                grown[i] = exp(largest([most(b, c), iv(0)])) - 1 if b else iv(0)
            loss_sum = E * largest([grown[i] for i in S])
            for i in (i for i in range(n) if i not in S):
                if all(lower[i, t].a > 0 for t in inner[i]):
                    loss_sum += exp(-least(top[i], c)) * grown[i]
                else:
                    loss_sum += exp(-least(mixed[i], c))
            log_a = log(loss_sum) + r * gamma
        if "attention_cosine" in stated:
            B = iv(0)
            tight = log_e0 / r
            for i in {j[0] for j in lam if j[0] not in S}:
                sigma, tau = most(top[i], c) / r, largest([most(ys[i][t], c) / r for t in inner[i]])
                below(tau, gamma - tight, f"path[{k}].outside")
                part = (gamma - tight - tau) / (sigma - tau)
                B -= sum((x for j, x in lam.items() if j[0] == i), start=Fraction(0)) * log(part / (1 - part))
            beta = log(1 / e - 1) if e.a > 0 else None
            if selected:
                total = (
                    log(1 - e)
                    - chi
                    - log_a
                    - above({i: sum((x for j, x in hat_l.items() if j[0] == i), start=Fraction(0)) for i in S})
                )
                total += sum((x * log(lower[j] / x) for j, x in hat_l.items()), start=iv(0))
                beta = total if beta is None or total.a > beta.a else beta
            if beta is None:
                raise Undecided("the attention off the chosen tokens")
            at_most(stated["attention_cosine"] * R, beta * root(p2) - B / root(p2), f"path[{k}].attention_cosine")
        if "mass" in stated:
            lack = e
            if selected:
                each = [
                    exp(log_a + chi + above({i: Fraction(1)}) - log(smallest([lower[i, t] for t in inner[i]])))
                    for i in S
                    if inner[i]
                ]
                lack = smallest([e, largest(each)])
            at_most(stated["mass"], 1 - lack, f"path[{k}].mass")


def zero(sign: Callable[[Fraction], Any], low: Fraction, high: Fraction) -> I:
    """Where a function changes its sign, once, from - at `low` to + at `high`: by proved signs, bisected from both
    sides, so that a sign that cannot be decided ends neither early."""
    ends = [low, high]
    for side in (0, 1):
        near, far = (low, ends[1]) if side == 0 else (high, ends[0])
        for _ in range(P + 40):
            middle = (near + far) / 2
            middle = Fraction(math.floor(middle * (1 << P)), 1 << P)
            value = iv(sign(middle))
            if (value.b < 0) if side == 0 else (value.a > 0):
                near = middle
            else:
                far = middle
        ends[side] = near
    return hull(*ends)


def arctan(x: Any) -> I:
    """arctan x, growing: three times arctan x = 2 arctan(x/(1 + sqrt(1 + x^2))), then the alternating series."""
    x = iv(x)
    for _ in range(3):
        x = I(
            (iv(I(x.a, x.a)) / (1 + root(1 + square(I(x.a, x.a))))).a,
            (I(x.b, x.b) / (1 + root(1 + square(I(x.b, x.b))))).b,
        )
    z, term, total, m = square(x), x, iv(0), 1
    while max(abs(term.a), abs(term.b)) > 1:
        total += term / m if m % 4 == 1 else -(term / m)
        term = term * z
        m += 2
    return (total + I(-2, 2)) * 8


Complex = tuple[I, I]


def cmul(x: Complex, y: Complex) -> Complex:
    """x y"""
    return x[0] * y[0] - x[1] * y[1], x[0] * y[1] + x[1] * y[0]


def cdiv(x: Complex, y: Complex) -> Complex:
    """x / y"""
    n = square(y[0]) + square(y[1])
    top = cmul(x, (y[0], -y[1]))
    return top[0] / n, top[1] / n


def argument(x: Complex) -> I:
    """arg x in (-pi, pi) of a number off the real line: -+pi/2 - arctan(re/im)."""
    if x[1].a <= 0 <= x[1].b:
        raise Undecided("the argument of a number next to the real line")
    half = pi() / 2
    return (half if x[1].a > 0 else -half) - arctan(x[0] / x[1])


class LimitLaw:
    """The law of
    docs/claims/spectrum/equivalent-law.md: edges by signs of h, values by discs around the root below the line.
    """

    a2: Any
    b2: Any

    def __init__(self, given: dict[str, Any]) -> None:
        """beta and lambda, or alpha2, beta2 and lambda; or `numbers`, the same as numbers, which may be intervals."""
        self.lam = given["numbers"][2] if "numbers" in given else rational(given["lambda"], "lambda")
        self.exact = given.get("beta") is None and "numbers" not in given
        if "numbers" in given:
            self.a2, self.b2, _ = given["numbers"]
            below(0, smallest([self.a2, self.b2]), "alpha^2 and beta^2")
        elif self.exact:
            self.a2 = rational(given["alpha2"], "alpha2")
            self.b2 = rational(given["beta2"], "beta2")
        else:
            if (
                given["alpha2"] is not None
                or given["beta2"] is not None
                or not 0 < rational(given["beta"], "beta") <= 1000
            ):
                raise Rejected("given: beta in (0, 1000], or alpha2 and beta2")
            self.b2 = rational(given["beta"], "beta") ** 2
            self.a2 = exp(self.b2) - 1 - self.b2
        if self.lam <= 0 or (isinstance(self.b2, Fraction) and self.b2 <= 0) or (self.exact and self.a2 <= 0):
            raise Rejected("given: positive numbers")
        self.b, self.rho = self.b2 / self.lam, self.a2 / self.b2
        self.right = self.k(zero(self.h, Fraction(0), Fraction(1)))
        self.gap: tuple[I, I] | None = None
        if self.lam < 1:
            s, lam = float(iv(self.rho).a / 2**P) * float(self.lam), float(self.lam)
            below_ = 4 * (2 * s + 1 - lam) ** 2 - 12 * s * (
                s + 2 + lam
            )  # of h' = 3 s v^2 - 2 (2 s + 1 - lam) v + s + 2 + lam
            if below_ > 0 and (middle := (2 * (2 * s + 1 - lam) + math.sqrt(below_)) / (6 * s)) > 1:
                v = Fraction(middle)
                if iv(self.h(v)).b < 0:
                    far = 2 * v
                    while iv(self.h(far)).a <= 0:
                        far *= 2
                    upper = zero(lambda x: -self.h(x), Fraction(1), v)
                    self.gap = self.k(zero(self.h, v, far)), self.k(upper)

    def h(self, v: Fraction) -> Any:
        """w^2 (1 - v)^2 K'(w) at v = b w^2"""
        return -((1 - v) ** 2) + self.lam * self.rho * v * (1 - v) ** 2 + self.lam * v * (1 + v)

    def k(self, v: I) -> I:
        """K(w) at w = sqrt(v/b)"""
        w = root(v / self.b)
        return 1 / w + self.a2 * w + self.b2 * w / (1 - v)

    def no_gap(self) -> None:
        """Prove that the support is an interval: lambda >= 1, or the discriminant of h is not positive."""
        if self.lam < 1:
            s, x = self.lam * self.rho, self.lam
            at_most(
                8 * (1 - s) ** 3 - 3 * x * (5 * s * s + 26 * s + 5) + 6 * x * x * (1 - s) + x**3,
                Fraction(0),
                "gap.none",
            )

    def top(self) -> I:
        """The density at 0, the largest: (2/pi) sqrt(u0), alpha^2 b u^2 + (alpha^2 + beta^2 - b) u - 1 = 0."""
        q, m = self.a2 * self.b, iv(self.a2 + self.b2 - self.b)
        return 2 * root((root(square(m) + 4 * q) - m) / (2 * q)) / pi()

    def place(self, x: Fraction) -> str:
        """Whether x > 0 is beyond the support, in its gap, or inside."""
        if iv(x).a > self.right.b:
            return "beyond"
        if self.gap and self.gap[0].b < iv(x).a and iv(x).b < self.gap[1].a:
            return "gap"
        ends = [self.right, *(self.gap or ())]
        if any(end.a <= iv(x).b and iv(x).a <= end.b for end in ends):
            raise Undecided("a point next to an edge")
        return "inside"

    def stieltjes(self, re: Fraction, im: Fraction) -> Complex:
        """G(z): a disc around some w with the radius 4 |p/p'| holds a root of p = w (1 - b w^2) (z - K(w)); in the
        lower half plane there is only one, G(z)."""
        z: Complex = iv(re), iv(im)
        lead = self.a2 * self.b
        coefficients: list[Complex] = [
            (iv(lead), iv(0)),
            cmul((iv(-self.b), iv(0)), z),
            (iv(self.b - self.a2 - self.b2), iv(0)),
            z,
            (iv(-1), iv(0)),
        ]
        f = [complex(x.a / 2**P, y.a / 2**P) for x, y in coefficients]
        roots = [complex(0.4, 0.9) ** i * (1 + abs(f[1] / f[0])) for i in range(4)]
        for _ in range(200):
            moved = 0.0
            for i in range(4):
                value, below_ = f[0], f[0]
                for c in f[1:]:
                    value = value * roots[i] + c
                for j in range(4):
                    below_ *= roots[i] - roots[j] if j != i else 1
                step_ = value / below_ if below_ else complex(0)
                roots[i] -= step_
                moved = max(moved, abs(step_))
            if moved < 1e-14:
                break
        guess = min(roots, key=lambda w: w.imag)
        w: Complex = iv(Fraction(guess.real)), iv(Fraction(guess.imag))
        for _ in range(P.bit_length()):
            value_, slope = coefficients[0], (iv(0), iv(0))
            for c in coefficients[1:]:
                slope = tuple(x + y for x, y in zip(cmul(slope, w), value_, strict=True))
                value_ = tuple(x + y for x, y in zip(cmul(value_, w), c, strict=True))
            step = cdiv(value_, slope)
            radius = 4 * root(square(step[0]) + square(step[1]))
            box = w[0] + I(-radius.b, radius.b), w[1] + I(-radius.b, radius.b)
            if radius.b < 1 << 24:
                break
            w = tuple(
                I((x.a + x.b - y.a - y.b) // 2, (x.a + x.b - y.a - y.b) // 2) for x, y in zip(w, step, strict=True)
            )
        if box[1].b >= 0:
            raise Undecided("a root next to the real line")
        return box

    def falling(self, x: Fraction) -> I:
        """The tail again; next to an edge between the values at certified neighbours, as tails fall."""
        if x <= 0:
            return iv(1)
        step = Fraction(1, 1 << 30)
        try:
            return iv(self.tail(x))
        except Undecided:
            return I(iv(self.tail(x + step)).a, iv(self.tail(max(x - step, Fraction(0)))).b)

    def tail_over(self, x: Any) -> I:
        """The tail at all points of an interval."""
        x = iv(x)
        high = self.falling(Fraction(x.a, 1 << P))
        return high if x.a == x.b else hull(high, self.falling(Fraction(x.b, 1 << P)))

    def density(self, x: Fraction) -> Any:
        """Of |x| under nu."""
        if x == 0:
            return self.top()
        return -2 * self.stieltjes(x, Fraction(0))[1] / pi() if self.place(x) == "inside" else Fraction(0)

    def tail(self, x: Fraction) -> Any:
        """mu((x, oo)) = (2/pi) Im Phi(G(x)), inside the support."""
        where = "inside" if x == 0 else self.place(x)
        if x == 0 or where != "inside":
            return Fraction(1) if x == 0 else Fraction(0) if where == "beyond" else self.lam
        w = self.stieltjes(x, Fraction(0))
        square_ = cmul(w, w)
        v = square_[0] * self.b, square_[1] * self.b
        one_less = 1 - v[0], -v[1]
        q = root(iv(self.b))
        total = square_[1] * self.a2 / 2 + self.lam * cdiv(v, one_less)[1] - argument(w)
        total += self.lam / 2 * (argument((1 - q * w[0], -q * w[1])) + argument((1 + q * w[0], q * w[1])))
        return total * 2 / pi()


def equivalent_law(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/spectrum/equivalent-law.md"""
    fields({} if w is None else w, "witness")
    law = LimitLaw(fields(g, "given", "lambda", "beta alpha2 beta2"))
    near_names = "right_edge threshold density_bound nonlinear_share"
    asserts = fields(a, "asserts", "", near_names + " moments gap stieltjes density cdf share_reached")
    if not a:
        raise Rejected("asserts: nothing")

    def close(value: Any, f: dict[str, Any], what: str) -> None:
        """|value - stated| <= radius"""
        gap = value - rational(f["value"], what)
        at_most(absolute(gap) if isinstance(gap, I) else abs(gap), rational(f["radius"], what), what)

    def single(key: str, value: Callable[[], Any]) -> None:
        """A number up to a radius, if it is asserted."""
        if asserts[key] is not None:
            close(value(), fields(asserts[key], key, "value radius"), key)

    def several(key: str, need: str) -> list[dict[str, Any]]:
        """The items of a list."""
        return [fields(x, key, need) for x in listed(asserts[key], key)] if asserts[key] is not None else []

    def threshold() -> I:
        """beta_c"""
        below(law.lam, 1, "threshold.lambda")
        far = Fraction(2)
        while (far - 1) ** 3 <= law.lam * far**2 * (far + 3):
            far *= 2
        v = zero(lambda v: (v - 1) ** 3 - law.lam * v**2 * (v + 3), Fraction(1), far)
        rho = (3 * v + 1) / (v - 1) ** 3
        far = Fraction(1)
        while (exp(far) - 1 - far - far * rho).a <= 0:
            far *= 2
        return root(zero(lambda x: exp(x) - 1 - x - x * rho, Fraction(0), far))

    def reached(share: Fraction) -> I:
        """beta with 1 - x/(e^x - 1) = share, x = beta^2: where (1 - share)(e^x - 1) - x becomes positive."""
        if not 0 < share < 1:
            raise Rejected("share_reached.share: between 0 and 1")
        low, far = min(share, Fraction(1, 2)), Fraction(1)  # 1 - x/(e^x - 1) < x, so it is below the share at x = share
        while ((exp(far) - 1) * (1 - share) - far).a <= 0:
            far *= 2
        return root(zero(lambda x: (exp(x) - 1) * (1 - share) - x, low, far))

    for f in several("moments", "order value radius"):
        order = natural(f["order"], "moments.order", 2, 100)
        if order % 2:
            raise Rejected("moments.order: even")
        close(limit_moment(order // 2, law.b2, law.lam, law.a2 + law.b2), f, f"moment {order}")
    single("right_edge", lambda: law.right)
    single("threshold", threshold)
    single("density_bound", law.top)
    single("nonlinear_share", lambda: law.a2 / (law.a2 + law.b2))
    for f in several("share_reached", "share value radius"):
        close(reached(rational(f["share"], "share")), f, "share_reached")
    for key in ("density", "cdf"):
        for f in several(key, "at value radius"):
            x = rational(f["at"], f"{key}.at")
            if x < 0:
                raise Rejected(f"{key}.at: negative")
            close(law.density(x) if key == "density" else 1 - law.tail(x), f, f"{key} at {show(x)}")
    for f in several("stieltjes", "z value radius"):
        z, value = (fields(f[k], k, "re im") for k in ("z", "value"))
        if rational(z["im"], "z.im") <= 0:
            raise Rejected("stieltjes.z: not in the upper half plane")
        found = law.stieltjes(rational(z["re"], "z.re"), rational(z["im"], "z.im"))
        off = [x - rational(value[k], k) for x, k in zip(found, ("re", "im"), strict=True)]
        at_most(root(sum(map(square, off), start=iv(0))), rational(f["radius"], "radius"), "stieltjes")
    if asserts["gap"] is not None:
        gap = asserts["gap"]
        if one_of(gap.get("kind") if isinstance(gap, dict) else None, "gap.kind", "open", "none") == "none":
            fields(gap, "gap", "kind")
            law.no_gap()
            return
        f = fields(gap, "gap", "kind lower upper radius", "outer_mass")
        below(law.lam, 1, "gap.lambda")
        if law.gap is None:
            law.no_gap()
            raise NotProved("gap: there is none")
        for end, key in zip(law.gap, ("lower", "upper"), strict=True):
            at_most(absolute(end - rational(f[key], key)), rational(f["radius"], "radius"), f"gap.{key}")
        if f["outer_mass"] is not None:
            same(rational(f["outer_mass"], "outer_mass"), law.lam, "gap.outer_mass")


def not_marchenko_pastur(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/spectrum/not-marchenko-pastur.md, where it needs singular values of matrices of up to 300 rows."""
    given = fields(g, "given", "lambda", "beta alpha2 beta2 finite")
    asserts = fields(a, "asserts", "", "fourth_moment excess distance scaled_distance separation scaled_separation")
    hint = fields({} if w is None else w, "witness", "", "scale law_scale quarter_circle_scale")
    apart = {k: asserts[k] for k in ("separation", "scaled_separation")}
    if (
        not a
        or (asserts["scaled_distance"] is None) != (hint["scale"] is None)
        or (given["finite"] is None) != all(x is None for x in apart.values())
    ):
        raise Rejected("nothing asserted, or a scale that does not belong to a bound")
    law = LimitLaw({k: v for k, v in given.items() if k != "finite"})
    m = law.a2 + law.b2
    finite, scales = None, {k: hint[k] for k in ("law_scale", "quarter_circle_scale")}
    if given["finite"] is not None:
        finite = stated_matrix(fields(given["finite"], "finite", "", "matrix queries keys scale centred"))
    distances(apart, scales, law, finite)
    if asserts["fourth_moment"] is not None:
        same(
            rational(fields(asserts["fourth_moment"], "fourth_moment", "value")["value"], "value"),
            law.b2**2 / law.lam,
            "fourth_moment",
        )
    if asserts["excess"] is not None:
        within(law.b2**2 / law.lam / (m * m), *bounds(asserts["excess"], "excess", None), "excess")

    tail = cache(law.falling)

    def furthest(c: Any, sign: int, bits: int = 17) -> I:
        """sup sign (T - S): differences at ends of cells from below, sign (T(a) - S(b)) on cells from above."""
        end = Fraction(max(law.right.b, iv(2 * c).b) + 2, 1 << P)
        low, cells, left = iv(0).a, [(Fraction(0), end)], 0
        for _ in range(bits):
            kept = []
            for x, y in cells:
                first, last = (tail(x), quarter_tail(y, c)) if sign > 0 else (quarter_tail(x, c), tail(y))
                if (first - last).b > low:
                    middle = (x + y) / 2
                    low = max(low, ((tail(middle) - quarter_tail(middle, c)) * sign).a)
                    kept += [(x, middle), (middle, y)]
            cells = kept
            if len(cells) > 4000:
                break
        left = max(
            (((tail(x) - quarter_tail(y, c)) if sign > 0 else (quarter_tail(x, c) - tail(y))).b for x, y in cells),
            default=low,
        )
        return I(low, max(low, left))

    if asserts["distance"] is not None:
        both = [furthest(root(iv(m)), s) for s in (1, -1)]
        within(largest(both), *bounds(asserts["distance"], "distance"), "distance")
    if asserts["scaled_distance"] is not None:
        scale = rational(hint["scale"], "witness.scale")
        if scale <= 0:
            raise Rejected("witness.scale: positive")
        both = [furthest(scale, s) for s in (1, -1)]
        within_bounds(
            smallest(both), largest(both), *bounds(asserts["scaled_distance"], "scaled_distance"), "scaled_distance"
        )


# --------------------------------------------------------------------------------------- binary64, and singular values

# What certattn's kernel computes its exponential with (certattn/fast/exponential.py): a test compares.
KERNEL_EXPONENTIAL = {
    "L1": Fraction(0xB17217F, 2**39),
    "L2": Fraction(0x1F473DE6AF278F, 2**93),
    "inverse": Fraction(0xB8AA3B295C17F, 2**40),
    "C2": Fraction(0x400000021F6E3, 2**51),
    "C3": Fraction(0x2AAAAAAB8409F, 2**52),
}
KERNEL_SCORES, KERNEL_TAIL = 11000, Fraction(1, 2**39)


def nearest(x: Fraction) -> Fraction:
    """x rounded to binary64, ties to even, subnormal numbers kept. One that overflows is not covered."""
    if not x:
        return x
    e = x.numerator.bit_length() - x.denominator.bit_length()
    e -= abs(x) < Fraction(2) ** e  # 2^e <= |x| < 2^(e+1)
    unit = Fraction(2) ** (max(e, -1022) - 52)
    value = round(x / unit) * unit  # round() of a fraction takes ties to the even integer
    if abs(value) >= Fraction(2) ** 1024:
        raise NotCovered("a binary64 operation that overflows")
    return value


def double(node: Any, where: str) -> Fraction:
    """A finite binary64 number."""
    value = rational(node, where)
    if abs(value) >= Fraction(2) ** 1024 or nearest(value) != value:
        raise Rejected(f"{where}: not a binary64 number")
    return value


def binary64_exponential(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/arithmetic/binary64-exponential.md, its steps 1 to 8 in intervals, and one value over the
    rationals.
    """
    fields({} if w is None else w, "witness")
    given = fields(g, "given", "constants table scores_up_to", "tail_up_to")
    c = {k: double(x, k) for k, x in fields(given["constants"], "constants", "L1 L2 inverse C2 C3").items()}
    if isinstance(given["table"], dict) and len(listed(given["table"].get("shape"), "given.table")) != 1:
        raise Rejected("given.table: expected a vector of one extent")
    table = vector(given["table"], "given.table", 2048)
    if any(abs(x) >= Fraction(2) ** 1024 or nearest(x) != x for x in table):
        raise Rejected("given.table: not binary64 numbers")
    S, tail = (Fraction(0) if given[k] is None else rational(given[k], k) for k in ("scores_up_to", "tail_up_to"))
    if S <= 0 or (given["tail_up_to"] is not None and tail <= 0):
        raise Rejected("given: a range that is not positive")
    asserts = fields(a, "asserts", "relative_error", "used_by")
    error = fields(asserts["relative_error"], "relative_error", "", "at_most at")
    if error["at_most"] is None and error["at"] is None:
        raise Rejected("relative_error: at_most or at")
    L, N = log(iv(2)) / 2048, 2048
    if error["at_most"] is not None:
        stated = rational(error["at_most"], "at_most")
        at_most(exponential_error(c, table, S, tail, L), stated, "at_most")
    if error["at"] is not None:
        f = fields(error["at"], "at", "score at_least")
        s, least = double(f["score"], "at.score"), rational(f["at_least"], "at.at_least")
        if abs(s) > S or least < 0:
            raise Rejected("at: a score beyond scores_up_to, or a negative bound")
        t1 = nearest(s * c["inverse"])
        if abs(t1) >= 2**50 or abs(s) >= 2**36:
            raise NotCovered("a score at which k depends on K")
        k = nearest(t1 + 3 * 2**51) - 3 * 2**51  # A is even, so that ties do not depend on K
        r = nearest(nearest(s - nearest(k * c["L1"])) - nearest(k * c["L2"]))
        p = nearest(nearest(nearest(nearest(nearest(nearest(r * c["C3"]) + c["C2"]) * r) + 1) * r) * table[int(k) % N])
        F = nearest(table[int(k) % N] + p) * Fraction(2) ** (int(k) // N)
        # |F e^-s - 1|, by 2^-m so that neither factor is huge
        m = int(k) // N
        at_most(least, absolute(exp(log(iv(2)) * m - s) * (F / Fraction(2) ** m) - 1), "at")
    if asserts["used_by"] is not None:
        one_of(asserts["used_by"], "used_by", "kernel")
        same(c, KERNEL_EXPONENTIAL, "kernel.constants")
        at_most(KERNEL_SCORES, S, "kernel.scores")
        if given["tail_up_to"] is not None:
            at_most(KERNEL_TAIL, tail, "kernel.tail")
        for j, x in enumerate(table):  # the doubles nearest to 2^(j/2048), multiples of 2^-52 from 1 to 2
            below(absolute(exp(L * j) - x), Fraction(1, 2**53), f"kernel.table[{j}]") if j else same(x, 1, "T_0")
            same(x.denominator <= 2**52, True, f"kernel.table[{j}]")


def exponential_error(c: dict[str, Fraction], table: Vector, S: Fraction, tail: Fraction, L: I) -> I:
    """The bound of binary64-exponential.md, with every condition of its proof."""
    u, tiny, N = Fraction(1, 2**53), iv(Fraction(1, 2**1022)), 2048
    lam = absolute(c["inverse"] * L - 1)
    kappa = S / L * ((1 + lam) * (1 + u) - 1) + (2 + abs(c["inverse"])) * tiny
    below(kappa, Fraction(1, 4), "kappa")
    most = S / L + kappa
    below(most + N * (S / (L * N) + 1010) + 1, 2**51, "the sum of t_1 and A")
    rho, b = L * (kappa + Fraction(1, 2)), most + Fraction(1, 2)
    unit = c["L1"] * 2**39
    same(unit.denominator, 1, "L1 is a multiple of 2^-39")
    at_most(b * abs(unit), 2**53, "k L1 is a binary64 number")
    at_most(Fraction(1, 2**13), L * (Fraction(1, 2) - kappa), "scores with k other than 0")
    at_most(rho + b * absolute(L - c["L1"]), Fraction(1, 2**12), "s - k L1 is exact")
    theta = b * absolute(L - c["L1"] - c["L2"]) + b * abs(c["L2"]) * u + tiny * (8 + b + abs(c["L2"]))
    theta = theta + (rho + theta) * u + 3 * tiny
    if tail:
        theta = theta + (rho + theta + tail) * u + 3 * tiny
    R = I(0, (rho + theta + tail).b)
    R = I(R.b, R.b)
    below(R, Fraction(1, 8), "R")
    X, grown = square(R), exp(R)

    def parabola(first: Fraction, second: Fraction) -> I:
        """The largest |first X + second X^2| for X from 0 to R^2."""
        ends = [absolute(X * first + square(X) * second)]
        if first < 0:
            ends.append(iv(first * first / (4 * second)) if (iv(-first / (2 * second)) - X).a < 0 else iv(0))
        return largest(ends)

    alpha = (
        parabola(Fraction(1, 2) - c["C2"], Fraction(1, 24))
        + R * parabola(Fraction(1, 6) - c["C3"], Fraction(1, 120))
        + R**6 * grown / 720
    )
    size, err, sizes = iv(abs(c["C3"])), iv(0), [b * abs(c["L2"]), most]
    for add in (c["C2"], Fraction(1), None):  # the products with r, and what is added to them
        err = err * R + size * R * u + tiny * (1 + size + R)
        size = size * R * (1 + u) + tiny * (1 + size + R)
        sizes.append(size)
        if add is not None:
            err = err + (size + abs(add)) * u + 3 * tiny
            size = (size + abs(add)) * (1 + u) + 3 * tiny
            sizes.append(size)
    for x in sizes:
        below(x, 2**1000, "a size that occurs")
    E = alpha + err + theta * grown
    tau = largest([absolute(x * exp(-L * j) - 1) for j, x in enumerate(table)])
    below(tau, Fraction(1, 8), "tau")
    bound = (1 + tau) * (1 + (E + size * u + 8 * tiny) * grown) * (1 + u) - 1
    below(bound, Fraction(1, 4), "the bound")
    return bound


def attention(
    given: dict[str, Any], scale: tuple[Fraction, int], causal: bool = False
) -> tuple[list[list[Any]], list[Any], Matrix, Matrix]:
    """Attention A of given queries and keys, sum_j e^(s <q_i, k_j>) of each row as its logarithm, queries and keys.

    Under a mask the i-th query takes the first i keys, and its row has so many entries.
    """
    keys, queries = matrix(given["keys"], "given.keys"), matrix(given["queries"], "given.queries")
    if len(keys) != len(queries) or len(keys[0]) != len(queries[0]) or len(keys) > 16384:
        raise Rejected("given: as many keys as queries, of one dimension")
    if len(keys) > MOST_SINGULAR:
        raise NotCovered(f"attention of more than {MOST_SINGULAR} tokens")
    p = Prompt.__new__(Prompt)
    p.act, p.scale, (p.keys, p.dk) = None, scale, integers(keys)
    rows, logs = [], []
    all_keys = p.keys
    for i, q in enumerate(queries):
        p.keys = all_keys[: i + 1] if causal else all_keys
        e, top = p.softmax(q)
        total = sum(e, start=iv(0))
        even = all(x.a == x.b == e[0].a for x in e)  # scores that are equal exactly, as for equal keys
        rows.append([Fraction(1, len(e)) if even else x / total for x in e])
        logs.append(log(total) + top)
    return rows, logs, queries, keys


MOST_SINGULAR = 300  # rows or columns of a matrix whose singular values are computed here: more would take hours


def singular(m: list[list[Any]], zeros: int = 0) -> list[Any]:
    """The singular values of a matrix of intervals or rationals, falling; the last `zeros` are known to be 0.

    One-sided Jacobi rotations, in integers times 2^-P, make the columns of B = N V nearly orthogonal, N being m
    rounded and V a product of rotations. What they found is not believed: with N and V as they stand, |m - N| <= e,
    |V'V - 1| <= d < 1 and G = B'B in integers, sorted diagonal g_k and off-diagonal part of Frobenius norm o, Weyl's
    inequality gives |s_k(B)^2 - g_k| <= o, and s_k(N) sqrt(1 - d) <= s_k(B) <= s_k(N) sqrt(1 + d) and
    |s_k(m) - s_k(N)| <= e (Frobenius norms).
    """
    if len(m) < len(m[0]):
        m = transposed(m)
    rows, n = [[iv(x) for x in row] for row in m], len(m[0])
    if len(rows) > MOST_SINGULAR:
        raise NotCovered(f"singular values of more than {MOST_SINGULAR} rows or columns")
    N = [[(x.a + x.b) >> 1 for x in row] for row in rows]
    e = root(sum((square(I(0, max(x.b - c, c - x.a))) for r, s in zip(rows, N, strict=True)
                  for x, c in zip(r, s, strict=True)), start=iv(0)))  # fmt: skip
    if not e.b and not any(map(any, N)):
        return [Fraction(0)] * n
    B, V = transposed(N), [[int(i == j) << P for j in range(n)] for i in range(n)]  # columns
    small = math.isqrt(sum(x * x for column in B for x in column)) << 10  # what rounding leaves of a product
    for _ in range(60):
        moved = False
        for i, j in combinations(range(n), 2):
            x, y = B[i], B[j]
            cross = sum(map(mul, x, y))
            alpha, beta = sum(map(mul, x, x)), sum(map(mul, y, y))
            if cross * cross <= (alpha * beta >> (2 * P - 40)) or abs(cross) <= small:
                continue
            moved = True
            zeta = ((beta - alpha) << P) // (2 * cross)
            t = (1 << 2 * P) // (abs(zeta) + math.isqrt(zeta * zeta + (1 << 2 * P))) * (1 if zeta >= 0 else -1)
            c = (1 << 2 * P) // math.isqrt(t * t + (1 << 2 * P))
            s = c * t >> P
            for columns in (B, V):
                x, y = columns[i], columns[j]
                columns[i] = [(c * p - s * q) >> P for p, q in zip(x, y, strict=True)]
                columns[j] = [(s * p + c * q) >> P for p, q in zip(x, y, strict=True)]
        if not moved:
            break
    B = [[sum(map(mul, row, v)) for row in N] for v in V]  # exactly N V, times 2^-2P
    shift = 4 * P
    g = sorted((sum(map(mul, b, b)) for b in B), reverse=True)
    off = math.isqrt(2 * sum(sum(map(mul, x, y)) ** 2 for x, y in combinations(B, 2))) + 1
    d = (
        math.isqrt(
            sum((sum(map(mul, x, x)) - (1 << 2 * P)) ** 2 for x in V)
            + 2 * sum(sum(map(mul, x, y)) ** 2 for x, y in combinations(V, 2))
        )
        + 1
    )  # times 2^-2P
    delta = I(0, (d >> P) + 1)
    below(delta, 1, "the distance of V from a rotation")
    found: list[Any] = []
    for x in g[: n - zeros]:
        low, high = max(x - off, 0) >> (shift - P), ((x + off) >> (shift - P)) + 1
        s = root(I(low, high))
        s = I((I(s.a, s.a) / root(1 + delta)).a, (I(s.b, s.b) / root(1 - delta)).b)
        found.append(I(max((s - e).a, 0), (s + e).b))
    return found + [Fraction(0)] * zeros


def rank(m: Matrix) -> int:
    """The rank of a rational matrix, by elimination."""
    rows, found = [row[:] for row in m], 0
    for j in range(len(m[0])):
        pivot = next((i for i in range(found, len(rows)) if rows[i][j]), None)
        if pivot is None:
            continue
        rows[found], rows[pivot] = rows[pivot], rows[found]
        for i in range(found + 1, len(rows)):
            if f := rows[i][j] / rows[found][j]:
                rows[i] = [x - f * y for x, y in zip(rows[i], rows[found], strict=True)]
        found += 1
    return found


def factors(node: Any, rows: int, columns: int, in_files: bool) -> None:
    """A witness with approximate factors: looked at, and not used."""
    hint = fields({} if node is None else node, "witness", "", "hint")["hint"]
    if hint is None:
        return
    f = fields(hint, "witness.hint", "U s V")
    s = vector(f["s"], "hint.s")
    if not in_files or not isinstance(f["U"], dict) or not isinstance(f["V"], dict):
        raise Rejected("witness.hint: array files, beside array files")
    matrix(f["U"], "hint.U", rows, len(s))
    matrix(f["V"], "hint.V", columns, len(s))
    if s[-1] < 0 or any(x < y for x, y in pairwise(s)) or len(s) > min(rows, columns):
        raise Rejected("witness.hint: values that rise, are negative or too many")
    if any(not str(f[k]["dtype"]).startswith(("float", "bfloat")) for k in "UV"):
        raise Rejected("witness.hint: U and V in floats")


def share_entropy(xs: Sequence[Any], most: int) -> I:
    """-sum p log p of the shares p of some numbers that are not negative, of which at most `most` are not 0."""
    total, found = sum(map(iv, xs), start=iv(0)), iv(0)
    for x in xs:
        if iv(x).b <= 0:
            continue
        p = iv(x) / total
        p = I(max(p.a, 0), min(p.b, 1 << P))
        if p.a > 0:
            found -= p * log(p)
        else:
            below(p, Fraction(1, 3), "a share")  # -p log p grows up to 1/e
            end = I(p.b, p.b)
            found += I(0, (-end * log(end)).b)
    return I(max(found.a, 0), min(found.b, log(iv(most)).b))


def stated_matrix(given: dict[str, Any]) -> tuple[list[list[Any]], int, Any, bool]:
    """A matrix, or that of attention: entries, a bound of its rank, the sum of squares, and whether it is in files."""
    if given["matrix"] is not None:
        if (
            any(given[k] is not None for k in ("queries", "keys", "scale", "centred"))
            or given.get("causal") is not None
        ):
            raise Rejected("given: a matrix, or queries and keys")
        found = matrix(given["matrix"], "given.matrix")
        least, most = sorted((len(found), len(found[0])))
        return found, rank(found) if most <= 40 else least, frobenius(found), isinstance(given["matrix"], dict)
    if any(given[k] is None for k in ("queries", "keys", "centred")):
        raise Rejected("given: queries, keys and centred, or a matrix")
    centred = one_of(given["centred"], "given.centred", "true", "false") == "true"
    mask = given.get("causal")  # of singular-values alone; the others have no such field
    causal = mask is not None and one_of(mask, "given.causal", "true", "false") == "true"
    m = attention(given, scale_of(given["scale"]), causal)[0]
    n = len(m)
    wide = root(iv(n))
    m = [[wide * (x - Fraction(int(centred), len(row))) for x in row] + [Fraction(0)] * (n - len(row)) for row in m]
    files = isinstance(given["queries"], dict) and isinstance(given["keys"], dict)
    return m, n - centred, sum((square(x) for row in m for x in row), start=iv(0)), files


def singular_values(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/spectrum/singular-values.md, by rotations of its own; up to 300 rows and columns."""
    given = fields(g, "given", "", "matrix queries keys scale centred causal")
    m, full, energy, files = stated_matrix(given)
    shape = len(m), len(m[0])
    factors(w, *shape, files)
    asserts = fields(a, "asserts", "", "values counts norm energy stable_rank entropy effective_rank")
    if not a:
        raise Rejected("asserts: nothing")
    size = min(shape)
    sigma = singular(m, size - full)
    spectrum(asserts, sigma, energy, full)


def spectrum(asserts: dict[str, Any], sigma: list[Any], energy: Any, full: int) -> None:
    """What singular-values asserts of singular values, of their squares' sum, and of a rank that is at most `full`."""
    size = len(sigma)
    if (node := asserts["values"]) is not None:
        f = fields(node, "values", "value radius")
        stated = vector(f["value"], "values.value")
        radius = rows_of(f["radius"], "values.radius", len(stated))
        if len(stated) > size or min(radius) < 0:
            raise Rejected("values: more than there are, or a negative radius")
        for x, y, r in zip(sigma, stated, radius, strict=False):
            at_most(absolute(x - y) if isinstance(x, I) else abs(x - y), r, "values")
    for node in listed(asserts["counts"], "counts") if asserts["counts"] is not None else []:
        f = fields(node, "counts", "above count", "at_least at_most")
        t, count = rational(f["above"], "above"), natural(f["count"], "count", 0, size)
        low, high = (None if f[k] is None else rational(f[k], k) for k in ("at_least", "at_most"))
        if (
            t < 0
            or (low is not None and (low < t or not count))
            or (high is not None and (not 0 <= high <= t or count == size))
        ):
            raise Rejected("counts: a bound on the wrong side, or of values that the count leaves none of")
        if count:
            below(t, sigma[count - 1], "counts.above")
            within(sigma[count - 1], low, None, "counts.at_least")
        if count < size:
            at_most(sigma[count], t if high is None else high, "counts.not_above")
    top, wanted = sigma[0], {}
    if any(asserts[k] is not None for k in ("stable_rank", "entropy", "effective_rank")):
        below(0, top, "the matrix is not 0")
    if asserts["norm"] is not None:
        within(top, *bounds(asserts["norm"], "norm"), "norm")
    if asserts["energy"] is not None:
        within(energy, *bounds(asserts["energy"], "energy"), "energy")
    if asserts["stable_rank"] is not None:
        x = energy / square(top)
        x = I(max(x.a, 1 << P), min(x.b, full << P))
        within(x, *bounds(asserts["stable_rank"], "stable_rank"), "stable_rank")
    for key in ("entropy", "effective_rank"):
        if asserts[key] is None:
            continue
        f = fields(asserts[key], key, "", "values squares")
        if f["values"] is None and f["squares"] is None:
            raise Rejected(f"{key}: values, squares or both")
        for of, node in f.items():
            if node is None:
                continue
            if of not in wanted:
                wanted[of] = share_entropy(sigma if of == "values" else [square(x) for x in sigma], full)
            within(wanted[of] if key == "entropy" else exp(wanted[of]), *bounds(node, key), f"{key}.{of}")


STAGES = {
    "attention": (1, 0, 0),
    "scores": (1, 1, 0),
    "linear": (0, 0, 1),
    "attention_less_scores": (0, -1, 0),
    "scores_less_linear": (1, 1, -1),
    "attention_less_linear": (1, 0, -1),
}


def linearization(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/spectrum/linearization.md: its stages diag(a + b tbar) M + c L, and their singular values as
    above.
    """
    given = fields(g, "given", "queries keys", "scale beta unit")
    d, p = (len(x) for x in (matrix(given["keys"], "keys"), matrix(given["keys"], "keys")[0]))
    beta = None if given["beta"] is None else rational(given["beta"], "beta")
    unit = Fraction(1) if given["unit"] is None else rational(given["unit"], "unit")
    if d < 2 or (beta is None and (given["scale"] is None or given["unit"] is not None)):
        raise Rejected("given: two tokens or more; a scale or beta, and unit beside beta only")
    if (beta is not None and not 0 < beta <= 1000) or unit <= 0:
        raise Rejected("given: beta from above 0 to 1000, and a positive unit")
    scale = (Fraction(0), 1) if beta is None else (beta**2 * unit**4 / p, 1)
    if given["scale"] is not None:
        if beta is not None and scale_of(given["scale"]) != scale:
            raise Rejected("given.scale: not beta u^2/sqrt(p)")
        scale = scale_of(given["scale"])
    asserts = fields(a, "asserts", "", "remainder normaliser stages")
    rest, norm, stages = (
        {} if asserts[k] is None else fields(asserts[k], k, "", may)
        for k, may in (
            ("remainder", "norm distance"),
            ("normaliser", "largest difference bound wasserstein"),
            ("stages", " ".join(STAGES)),
        )
    )
    if not a or any(asserts[k] is not None and not asserts[k] for k in asserts):
        raise Rejected("asserts: nothing")
    if beta is None and (rest.get("distance") is not None or norm or any(
        stages.get(k) is not None for k, x in STAGES.items() if x[1])):  # fmt: skip
        raise Rejected("asserts: what needs given.beta")
    factors(w, d, d, isinstance(given["queries"], dict) and isinstance(given["keys"], dict))
    rows, logs, queries, keys = attention(given, scale)
    wide, one = root(iv(d)), Fraction(1, d)
    M = [[wide * (x - one) for x in row] for row in rows]
    (ki, dk), (qi, dq) = integers(keys), integers(queries)
    total = [sum(column) for column in transposed(ki)]
    factor = iv(scale_iv(scale)) / wide
    L = [[factor * Fraction(d * dot(k, q) - dot(total, q), d * dk * dq) for k in ki] for q in qi]
    if beta is None:
        bar = [iv(0)] * d
    else:
        cs = [beta**2 * unit**2 * norm2(q) / (2 * p) for q in queries]
        bar = [exp(z - c) / d - 1 for z, c in zip(logs, cs, strict=True)]
    known: dict[str, tuple[list[Any], I]] = {}

    def stage(name: str, values: bool = True) -> tuple[list[Any], I]:
        """Singular values, if asked for, and Frobenius norm of a stage. The last value is 0; L has rank p."""
        x, y, z = STAGES[name]
        if name not in known or (values and not known[name][0]):
            m = [
                [(x + y * t) * u + z * v for u, v in zip(r, s, strict=True)] for t, r, s in zip(bar, M, L, strict=True)
            ]
            flat = root(sum((square(u) for row in m for u in row), start=iv(0)))
            zeros = max(1, d - p) if name == "linear" else 1
            known[name] = (singular(m, zeros) if values else []), flat
        return known[name]

    least, most = (max(absolute(t).a for t in bar), max(absolute(t).b for t in bar))
    for key, node in rest.items():
        if node is None:
            continue
        low, high = bounds(node, f"remainder.{key}")
        sigma = stage("attention_less_linear")[0]
        if key == "norm":
            within(sigma[0], low, high, "remainder.norm")
        else:
            c = root(exp(iv(beta * beta)) - 1 - beta * beta)
            gaps = []
            for k, s in enumerate(sigma):
                q = quarter_tail(s, c)
                gaps += [Fraction(k + 1, d) - q, q - Fraction(k, d)]
            within(largest(gaps), low, high, "remainder.distance")
    for key, node in norm.items():
        if node is None:
            continue
        low, high = bounds(node, f"normaliser.{key}")
        if key in ("largest", "bound"):
            x = I(least, most)
            within(x if key == "largest" else x * stage("attention")[0][0], low, high, key)
        elif key == "difference":
            within(stage("attention_less_scores")[0][0], low, high, key)
        else:
            pairs = zip(stage("attention")[0], stage("scores")[0], strict=True)
            within(root(sum((square(iv(x) - y) for x, y in pairs), start=iv(0)) / d), low, high, key)
    for name, node in stages.items():
        if node is None:
            continue
        f = fields(
            node, name, "", "norm frobenius" + ("" if name == "attention" else " relative_norm relative_frobenius")
        )
        if all(x is None for x in f.values()):
            raise Rejected(f"stages.{name}: nothing")
        for key, stated in f.items():
            if stated is None:
                continue

            def number(of: str, key: str = key) -> Any:
                """The spectral or the Frobenius norm."""
                return stage(of)[0][0] if key.endswith("norm") else stage(of, False)[1]

            x = number(name)
            within(x / number("attention") if key.startswith("relative") else x, *bounds(stated, key), f"{name}.{key}")


def quarter_tail(x: Any, c: I) -> I:
    """1 - F(x) of the quarter circle law of variance c^2, which falls: (2/pi)(arccos r - r sqrt(1 - r^2)), r = x/(2c).

    arccos r = 2 arctan sqrt((1 - r)/(1 + r)).
    """
    r, ends = iv(x) / (2 * c), []
    for n in (r.a, r.b):
        y = I(max(n, 0), max(n, 0))
        if not y.a or y.a >= 1 << P:
            ends.append(iv(0 if y.a else 1))
        else:
            ends.append((2 * arctan(root((1 - y) / (1 + y))) - y * root(1 - square(y))) * 2 / pi())
    return I(max(ends[1].a, 0), min(ends[0].b, 1 << P))


def distances(
    asserts: dict[str, Any],
    scales: dict[str, Any],
    law: LimitLaw,
    finite: tuple[list[list[Any]], int, Any, bool] | None,
) -> None:
    """Distances of the singular values of a square matrix from laws, as
    docs/claims/spectrum/spectral-distance.md proves.
    """
    stated = {k: bounds(v, k, None if "separation" in k else Fraction(0)) for k, v in asserts.items() if v is not None}
    wanted = {
        "law_scale": {"scaled_law", "scaled_separation"} & stated.keys(),
        "quarter_circle_scale": {"scaled_quarter_circle", "separation", "scaled_separation"} & stated.keys(),
    }
    c = {k: Fraction(1) if v is None else rational(v, f"witness.{k}") for k, v in scales.items()}
    if any(bool(wanted[k]) != (v is not None) or c[k] <= 0 for k, v in scales.items()):
        raise Rejected("witness: a scale that is missing, not positive, or of no bound")
    if finite is None:
        return
    m, full, _, _ = finite
    n = len(m)
    if n != len(m[0]):
        raise Rejected("given: a matrix that is not square")
    if not stated:
        return
    sigma = singular(m, n - full)

    def sides(tail: Callable[[Any], I]) -> tuple[I, I]:
        """D_+ and D_- of the singular values beside a law."""
        tails = [tail(x) for x in sigma]
        return (
            largest([Fraction(k + 1, n) - t for k, t in enumerate(tails)]),
            largest([t - Fraction(k, n) for k, t in enumerate(tails)]),
        )

    @cache
    def distance(name: str) -> I:
        """A distance; of one over all scales an interval from the lower to the upper end."""
        if name == "law":
            return largest(sides(law.tail_over))
        if name == "quarter_circle":
            return largest(sides(lambda x: quarter_tail(x, root(iv(law.a2 + law.b2)))))
        if name == "scaled_law":
            both = sides(lambda x: law.tail_over(iv(x) / c["law_scale"]))
        elif name == "scaled_quarter_circle":
            both = sides(lambda x: quarter_tail(x, iv(c["quarter_circle_scale"])))
        else:
            return distance("scaled_quarter_circle") - distance("scaled_law" if name.startswith("scaled") else "law")
        return I(smallest(both).a, largest(both).b)

    for name, (low, high) in stated.items():
        within_bounds(distance(name), distance(name), low, high, name)


def truncated(beta2: Any, tau: Fraction) -> tuple[I, I, I]:
    """E f, beta_tau and E f^2 of weights cut off at tau, and Q(c) by E f: the formulas of spectral-distance.md."""
    beta = root(iv(beta2))
    c = log(iv(tau)) / beta + beta / 2
    first = upper(beta - c) + tau * upper(c)
    return first, beta * upper(beta - c) / first, exp(iv(beta2)) * upper(2 * beta - c) + tau * tau * upper(c)


def spectral_distance(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/spectrum/spectral-distance.md, of matrices of up to 300 rows."""
    given = fields(g, "given", "law", "matrix queries keys scale centred")
    node = fields(given["law"], "law", "", "beta lambda alpha2 beta2 from unit truncated_at")
    kinds = "fixed_point", "law", "quarter_circle", "scaled_law", "scaled_quarter_circle", "separation"
    asserts = fields(a, "asserts", "", " ".join((*kinds, "scaled_separation")))
    hint = fields({} if w is None else w, "witness", "", "law_scale quarter_circle_scale")
    if not a:
        raise Rejected("asserts: nothing")
    point = asserts.pop("fixed_point")
    tau = None if node["truncated_at"] is None else rational(node["truncated_at"], "truncated_at")
    if (point is not None and tau is None) or (tau is not None and tau <= 0):
        raise Rejected("law.truncated_at: positive, and needed for a fixed point")
    m, full, energy, files = stated_matrix(given)
    if node["from"] is not None:
        one_of(node["from"], "law.from", "weights")
        if any(node[k] is not None for k in ("beta", "lambda", "alpha2", "beta2")) or given["matrix"] is not None:
            raise Rejected("law: from weights, of queries and keys, or numbers")
        unit = Fraction(1) if node["unit"] is None else rational(node["unit"], "unit")
        if unit <= 0:
            raise Rejected("law.unit: positive")
        p = len(matrix(given["queries"], "given.queries")[0])
        beta2, lam = scale_of(given["scale"])[0] * p * unit**4, Fraction(p, len(m))
    elif node["lambda"] is None or node["unit"] is not None:
        raise Rejected("law: lambda, and no unit")
    else:
        lam = rational(node["lambda"], "lambda")
        beta2 = Fraction(0) if node["beta"] is None else rational(node["beta"], "beta") ** 2
        if node["beta"] is None and tau is not None:
            raise Rejected("law.truncated_at: beside beta or from")
    if tau is not None:
        if node["alpha2"] is not None or node["beta2"] is not None or lam <= 0 or not 0 < beta2 <= 10**6 or (
            node["beta"] is not None and node["beta"].startswith("-")):  # fmt: skip
            raise Rejected("law: numbers that are not positive, or two ways to give it")
        first, part, second = truncated(beta2, tau)
        law = LimitLaw({"numbers": (second / square(first) - 1 - square(part), square(part), lam)})
    elif node["from"] is not None:
        law = LimitLaw({"numbers": (exp(iv(beta2)) - 1 - beta2, beta2, lam)})
    else:
        law = LimitLaw({k: node[k] for k in ("beta", "lambda", "alpha2", "beta2")})
    if point is not None and tau is not None:
        f = fields(point, "fixed_point", "radius which")
        r, which = rational(f["radius"], "radius"), one_of(f["which"], "which", "largest", "some")
        if not 0 < r < tau:
            raise Rejected("fixed_point.radius: above 0 and below tau")
        for sign in (-1, 1):
            t = tau + sign * r
            first, _, second = truncated(beta2, t)
            gap = len(m) * (second / square(first) - 1) - t * t
            at_most(0, gap * -sign, f"fixed_point.{'below' if sign < 0 else 'above'}")
            if sign < 0 and which == "largest":
                beta = root(iv(beta2))
                at_most(len(m) * upper(log(iv(t)) / beta + beta / 2), square(first), "fixed_point.growth")
    distances(asserts, hint, law, (m, full, energy, files))


# ------------------------------------------------------------------------------------------------------- the program

Claim = Callable[[dict[str, Any], dict[str, Any], Any], None]
CLAIMS: dict[str, Claim] = {
    f.__name__.replace("_", "-"): f
    for f in (
        binary64_exponential,
        descent_trajectory,
        equivalent_law,
        finite_moments,
        gradient_mean_square,
        gradient_tail,
        infinite_prompt_operator,
        joint_max_margin,
        linearization,
        max_margin,
        normalizer_bound,
        not_marchenko_pastur,
        output_deviation,
        output_mean_square,
        output_tail,
        proposition_3_1,
        proposition_3_4,
        regression_risk,
        regularization_path,
        selection_on_a_head,
        singular_values,
        softmax_mean,
        spectral_distance,
        token_optimality,
        typical_prompt,
        universality_bound,
    )
}
# all claims that certificates can make, to tell what is not covered from what is no certificate
NAMES = (
    "binary64-exponential descent-trajectory equivalent-law finite-moments flow-trajectory gradient-mean-square "
    "gradient-tail infinite-prompt-operator joint-max-margin linearization max-margin normalizer-bound "
    "not-marchenko-pastur output-deviation output-mean-square output-tail proposition-3-1 proposition-3-4 "
    "regression-risk regularization-path risk-gap risk-transfer selection-counterexample selection-direction "
    "selection-on-a-head singular-values softmax-mean spectral-distance token-optimality training-convergence "
    "typical-prompt universality-bound"
)
KINDS = tuple(NAMES.split())
MISREAD = (ValueError, KeyError, TypeError, IndexError, AttributeError, OSError, RecursionError, OverflowError)
BROKEN = (Rejected, *MISREAD, zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, MemoryError, ZeroDivisionError)
BITS = (96, 192, 384, 768, 1536, 3072)


class TooLong(Exception):
    """The time for one certificate is over."""


def expired(*_: object) -> None:
    """What the alarm does."""
    raise TooLong


def check(path: Path, seconds: float = 300, sha256: str = "") -> tuple[str, str]:
    """One certificate: (`verified` | `not proved` | `undecided` | `rejected` | `not covered`, why)."""
    global P, folder
    sys.set_int_max_str_digits(0)
    signal.signal(signal.SIGPROF, expired)
    signal.setitimer(signal.ITIMER_PROF, seconds)  # of the processor's time, so that a busy machine changes nothing
    try:
        folder = path.parent
        if not path.is_file():
            raise Rejected("no regular file: a pipe, a device, or gone")
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        if sha256 and hashlib.sha256(data).hexdigest() != sha256:
            raise Rejected("the file has other bytes than those that were asked about (--sha256)")
        top = opened(data)
        claim = top["claim"]
        if claim not in CLAIMS:
            raise NotCovered(f"the claim {claim}")
        why = ""
        for bits in BITS:
            P = bits
            try:
                CLAIMS[claim](top["given"], top["asserts"], top["witness"])
                return "verified", f"{bits} bits"
            except Undecided as undecided:
                why = str(undecided)
        return "undecided", f"{why} at {BITS[-1]} bits"
    except NotProved as e:
        return "not proved", str(e)
    except NotCovered as e:
        return "not covered", str(e)
    except TooLong:
        return "not covered", f"not decided in {seconds:g} s"
    except BROKEN as e:
        return "rejected", f"{e}" if isinstance(e, Rejected) else f"{type(e).__name__}: {e}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def measured(path: Path, seconds: float, sha256: str) -> dict[str, Any]:
    """A check as the entry of a report."""
    begin = time.process_time()
    verdict, why = check(path, seconds, sha256)
    return {"path": str(path), "verdict": verdict, "why": why, "seconds": round(time.process_time() - begin, 2)}


def below_folder(path: Path) -> list[Path]:
    """The .yaml and .yml files in a folder and below, but for hidden ones: the same that `certattn check` takes."""
    found = (file for file in path.rglob("*") if file.suffix in (".yaml", ".yml") and not file.is_dir())
    return sorted(file for file in found if not any(part.startswith(".") for part in file.relative_to(path).parts))


def main(argv: list[str]) -> int:
    """Check files, and all certificates of folders; print a line for each and a table, or JSON. The exit status."""
    words = (__doc__ or "Without docstrings (-OO) there is no help.\n\nSee docs/second-checker.md.").strip()
    usage = words.split("\n\n")[1]
    if "-h" in argv or "--help" in argv:
        print(words)
        return 0
    as_json, numbers, paths = "--json" in argv, {"--seconds": 300, "--jobs": 1}, []
    rest, sha256 = [x for x in argv if x != "--json"], ""
    while rest:
        word = rest.pop(0)
        if word == "--sha256" and rest and re.fullmatch(r"[0-9a-f]{64}", rest[0]):
            sha256 = rest.pop(0)
        elif word in numbers and rest and re.fullmatch(r"[1-9][0-9]{0,5}", rest[0]):
            numbers[word] = int(rest.pop(0))
        elif not word.startswith("-") and Path(word).exists():
            path = Path(word)
            files = below_folder(path) if path.is_dir() else [path]
            if not files:
                print(f"recheck: no certificates (.yaml or .yml) in {word!r}", file=sys.stderr)
                return 2
            paths += files
        else:
            what = "a number from 1 to 999999 belongs behind it" if word in numbers else "no file, folder or option"
            print(f"recheck: {word!r}: {what}\n\n{usage}", file=sys.stderr)
            return 2
    if not paths:
        print("recheck: nothing to check; name certificates or folders of certificates", file=sys.stderr)
        return 2
    found, ask = [], partial(measured, seconds=numbers["--seconds"], sha256=sha256)
    with Pool(numbers["--jobs"]) if numbers["--jobs"] > 1 else nullcontext() as pool:
        for one in pool.imap(ask, paths) if pool else map(ask, paths):
            found.append(one)
            if not as_json:
                why = "" if one["verdict"] == "verified" else f"\n    {one['why'][:300]}"
                print(f"{one['verdict']:12} {one['path']}  {one['seconds']} s{why}", flush=True)
    counts = {
        v: sum(f["verdict"] == v for f in found)
        for v in ("verified", "not proved", "undecided", "rejected", "not covered")
    }
    if as_json:
        print(json.dumps({"certificates": found, "counts": counts}, indent=1))
    else:
        print("\n" + "\n".join(f"{n:6} {verdict}" for verdict, n in counts.items() if n))
    if counts["not proved"] or counts["undecided"] or counts["rejected"]:
        return 1
    return 3 if counts["not covered"] else 0


if __name__ == "__main__":
    sys.set_int_max_str_digits(0)
    raise SystemExit(main(sys.argv[1:]))
