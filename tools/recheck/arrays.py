"""Array files as exact numbers, and vectors and matrices, written out or in such files."""

from __future__ import annotations

import hashlib
import io
import json
import math
import re
import zipfile
from fractions import Fraction
from pathlib import Path
from typing import Any

from fields import fields, listed, refuse, written
from outcomes import NotCovered, NotFinite, Rejected
from scalars import COUNT, natural, rational

MAX_ARRAY = 1 << 28
# bytes of a number, and bits of the exponent where it is a float
DTYPES = {"float8_e4m3fn": (1, 4), "float8_e5m2": (1, 5)}
DTYPES |= {"float16": (2, 5), "bfloat16": (2, 8), "float32": (4, 8), "float64": (8, 11)}
DTYPES |= {f"{kind}{8 * n}": (n, 0) for kind in ("int", "uint") for n in (1, 2, 4, 8)}
NPY = {f"{'|<'[n > 1]}{kind[0]}{n}": f"{kind}{8 * n}" for kind in ("int", "uint") for n in (1, 2, 4, 8)}
NPY |= {"<f2": "float16", "<f4": "float32", "<f8": "float64"}
TENSORS = {f"{kind[0].upper()}{8 * n}": f"{kind}{8 * n}" for kind in ("int", "uint") for n in (1, 2, 4, 8)}
TENSORS |= {"F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2"}
TENSORS |= {"F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64"}
HEADER = re.compile(r"\{'descr': '([^']*)', 'fortran_order': (True|False), 'shape': \(([0-9, ]*)\), \} *\n")
folder = Path()
root: Path | None = None  # where array files must lie: in the folder of the certificate if None


def array(ref: dict[str, Any], where: str) -> tuple[list[Fraction], list[int]]:
    """The numbers of a reference to an array file, row after row, and their shape. The hash is checked first."""
    r = fields(ref, where, "file sha256 dtype shape", "array rows")
    shape = [natural(n, f"{where}.shape", 1) for n in listed(r["shape"], f"{where}.shape")]
    name = written(r["file"], f"{where}.file")
    if name.startswith("/") or "\\" in name or not (m := re.fullmatch(r".*[^/.][^/]*\.(npy|npz|safetensors)", name)):
        raise Rejected(f"{where}: expected a relative path with forward slashes to .npy, .npz or .safetensors")
    path, suffix = (folder / name).resolve(), m[1]
    if not path.is_relative_to((root or folder).resolve()) or not path.is_file():
        raise Rejected(f"{where}: {name[:80]!r} is no file in the folder of the certificate")
    if path.stat().st_size > MAX_ARRAY or math.prod(shape) > MAX_ARRAY:
        raise NotCovered("a very large array file")
    data = path.read_bytes()
    refuse(hashlib.sha256(data).hexdigest() != r["sha256"], f"{where}: the hash of {name[:80]!r} is another")
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
        refuse(not 0 <= first < stop <= shape[0], f"{where}.rows: {r['rows']} of {shape[0]} rows")
        values, shape = values[first * width : stop * width], [stop - first, *shape[1:]]
    return values, shape


def npz(data: bytes, name: str, where: str) -> bytes:
    """The one member of a .npz file that numpy has under this name."""
    with zipfile.ZipFile(io.BytesIO(data)) as box:
        member, names = f"{name}.npy", box.namelist()
        refuse(names.count(member) != 1 or name in names, f"{where}: no array {name[:40]!r} in the file, or two")
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
    refuse(m[2] == "True" and len([n for n in shape if n != 1]) > 1, f"{where}: an array in Fortran order")
    return NPY[m[1]], shape, data[first + size :]


def safetensors(data: bytes, name: str, where: str) -> tuple[str, list[int], bytes]:
    """Type, shape and bytes of one tensor of a .safetensors file."""
    size = int.from_bytes(data[:8], "little")

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        """A mapping of which no key comes twice: nobody may read one tensor where another was meant."""
        refuse(len(dict(pairs)) < len(pairs), f"{where}: a name twice in a .safetensors file")
        return dict(pairs)

    def count(text: str) -> int:
        """A natural number: no others stand in a header."""
        refuse(not COUNT.fullmatch(text), f"{where}: the number {text[:40]} in a .safetensors file")
        return int(text)

    if len(data) < 8 or size > min(1 << 23, len(data) - 8):
        raise Rejected(f"{where}: a .safetensors file that ends inside its header")
    text = data[8 : 8 + size].decode("utf-8")
    header = json.loads(text, object_pairs_hook=once, parse_int=count, parse_float=count, parse_constant=count)
    header.pop("__metadata__", None)  # texts about the file, no tensor
    entry = header[name]
    first, stop = entry["data_offsets"]
    shape = entry["shape"]
    refuse(not isinstance(shape, list) or not isinstance(entry["data_offsets"], list), f"{where}: a broken header")
    if not all(type(n) is int for n in (first, stop, *shape)) or not first <= stop <= len(data) - 8 - size:
        raise Rejected(f"{where}: a tensor outside of its file")
    return TENSORS[entry["dtype"]], shape, data[8 + size + first : 8 + size + stop]


def unpack(raw: bytes, dtype: str, count: int, where: str) -> list[Fraction]:
    """The exact numbers that bytes mean, by integers alone: instructions that convert floats may lose the smallest."""
    size, width = DTYPES[dtype]
    refuse(len(raw) != count * size, f"{where}: another number of bytes than the shape says")
    signed = dtype.startswith("int")
    words = (int.from_bytes(raw[i : i + size], "little", signed=signed) for i in range(0, len(raw), size))
    if not width:
        return [Fraction(n) for n in words]
    return [dyadic(n, 8 * size, width, where, finite=dtype == "float8_e4m3fn") for n in words]


def dyadic(word: int, size: int, width: int, where: str = "", finite: bool = False) -> Fraction:
    """The number that the bits of an IEEE 754 float mean: sign, `width` bits of the exponent, fraction.

    A `finite` type has numbers of the largest exponent, too, and of those patterns one NaN, the last.
    """
    below = size - 1 - width
    sign, power, part = word >> (size - 1), word >> below & ((1 << width) - 1), word & ((1 << below) - 1)
    if power == (1 << width) - 1 and (not finite or part == (1 << below) - 1):
        raise NotFinite(f"{where}: NaN or infinity")
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
        refuse(len(shape) != 1, f"{where}: expected a vector, one extent")
    else:
        values = [rational(v, where) for v in listed(node, where)]
    refuse(size is not None and len(values) != size, f"{where}: expected {size} numbers, found {len(values)}")
    return values


def matrix(node: Any, where: str, rows: int | None = None, columns: int | None = None) -> Matrix:
    """A matrix, written out or in a file, of a shape that may be asked for."""
    if isinstance(node, dict):
        values, shape = array(node, where)
        refuse(len(shape) != 2, f"{where}: expected a matrix")
        found = [values[i * shape[1] : (i + 1) * shape[1]] for i in range(shape[0])]
    else:
        found = [[rational(v, where) for v in listed(row, where)] for row in listed(node, where)]
    width = len(found[0]) if columns is None else columns
    if any(len(row) != width for row in found) or (rows is not None and len(found) != rows):
        raise Rejected(f"{where}: expected {rows or 'some'} rows of {width} numbers")
    return found


def tensor(node: Any, where: str, least: int, most: int) -> tuple[Vector, list[int]]:
    """The numbers of an array of so many dimensions, row after row, and its shape; a matrix may be written out."""
    if not isinstance(node, dict):
        rows = matrix(node, where)
        return [x for row in rows for x in row], [len(rows), len(rows[0])]
    refuse(
        not least <= len(listed(node.get("shape"), f"{where}.shape")) <= most, f"{where}: an array of other dimensions"
    )
    return array(node, where)


def flat_point(node: Any, rows: int, columns: int) -> Vector:
    """A matrix of a shape, row after row; one of one row may stand as a vector."""
    shape = node["shape"] if isinstance(node, dict) and "shape" in node else node
    if len(listed(shape, "a point")) > 1 if isinstance(node, dict) else isinstance(listed(node, "a point")[0], list):
        return [x for row in matrix(node, "a point", rows, columns) for x in row]
    refuse(rows != 1, "a point: expected a matrix")
    return vector(node, "a point", columns)
