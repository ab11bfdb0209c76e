"""Where arrays stand in .npy, .npz and .safetensors bytes; the files are made by hand or by numpy."""

from __future__ import annotations

import io
import json
import re
import struct
import time
import tracemalloc
import zipfile
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from certattn.kernel.document.array_formats import ArrayFormatError, locate
from certattn.kernel.document.references import DTYPES

ARRAY = np.arange(6, dtype="<f4").reshape(2, 3)
BYTES = ARRAY.tobytes()
STATED = ("float32", (2, 3))
MANY = 2**40


def npy(array: np.ndarray[Any, Any] = ARRAY) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def npy_by_hand(header: str, body: bytes = BYTES, version: bytes = b"\x01\x00") -> bytes:
    raw = header.encode("latin-1")
    return b"\x93NUMPY" + version + struct.pack("<H" if version[0] == 1 else "<I", len(raw)) + raw + body


def npy_header(descr: str = "'<f4'", fortran: str = "False", shape: str = "(2, 3)") -> str:
    return f"{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}\n"


def npz(members: dict[str, bytes] | None = None, compression: int = zipfile.ZIP_STORED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in (members or {"keys.npy": npy()}).items():
            archive.writestr(name, content)
    return buffer.getvalue()


def safetensors(header: Any = None, body: bytes = BYTES, **changes: Any) -> bytes:
    entry = {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24], **changes}
    raw = header if isinstance(header, bytes) else json.dumps(header or {"keys": entry}).encode()
    return struct.pack("<Q", len(raw)) + raw + body


def located(suffix: str, content: bytes, array: str | None, stated: Any = STATED, size: int | None = None) -> bytes:
    layout = locate(suffix, content, len(content) if size is None else size, array, stated, MANY)
    return bytes(layout.source[layout.start : layout.stop])


# -- accepted

SCALARS = {
    "float16": ("<f2", "F16"), "float32": ("<f4", "F32"), "float64": ("<f8", "F64"),
    "int8": ("|i1", "I8"), "int16": ("<i2", "I16"), "int32": ("<i4", "I32"), "int64": ("<i8", "I64"),
    "uint8": ("|u1", "U8"), "uint16": ("<u2", "U16"), "uint32": ("<u4", "U32"), "uint64": ("<u8", "U64"),
}  # fmt: skip


# As their bits, and in .safetensors files alone.
NARROW = {"float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2"}


def test_every_number_type_is_tested() -> None:
    assert {*SCALARS, "bfloat16", *NARROW} == set(DTYPES)


@pytest.mark.parametrize("dtype", SCALARS)
def test_every_number_type(dtype: str) -> None:
    code, name = SCALARS[dtype]
    array = np.array([[1, 2], [3, 100]], code)
    stated = (dtype, (2, 2))
    assert located(".npy", npy(array), None, stated) == array.tobytes()
    buffer = io.BytesIO()
    np.savez(buffer, keys=array)
    assert located(".npz", buffer.getvalue(), "keys", stated) == array.tobytes()
    entry = {"dtype": name, "shape": [2, 2], "data_offsets": [0, array.nbytes]}
    assert located(".safetensors", safetensors({"keys": entry}, array.tobytes()), "keys", stated) == array.tobytes()


def test_bfloat16() -> None:
    content = safetensors({"keys": {"dtype": "BF16", "shape": [3], "data_offsets": [0, 6]}}, b"\x80\x3f" * 3)
    assert located(".safetensors", content, "keys", ("bfloat16", (3,))) == b"\x80\x3f" * 3


@pytest.mark.parametrize("dtype", NARROW)
def test_eight_bits(dtype: str) -> None:
    content = safetensors({"keys": {"dtype": NARROW[dtype], "shape": [2, 2], "data_offsets": [0, 4]}}, b"\x38\xb8\0\1")
    assert located(".safetensors", content, "keys", (dtype, (2, 2))) == b"\x38\xb8\0\1"
    (other,) = set(NARROW) - {dtype}
    refuse(
        lambda: located(".safetensors", content, "keys", (other, (2, 2))),
        f"dtype {dtype} in the file",
        f"dtype {other}, as stated",
    )


WORDS = safetensors(
    {"__metadata__": {"dtype": "F32"}, "keys": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}
)
SHIFTED = safetensors(body=b"1234" + BYTES + b"56", data_offsets=[4, 28])
FORTRAN_ROW = npy_by_hand(npy_header(shape="(1, 6)", fortran="True"))
FORTRAN_VECTOR = npy_by_hand(npy_header(shape="(6,)", fortran="True"))
ACCEPTED: dict[str, tuple[str, bytes, str | None, Any]] = {
    "npy by numpy": (".npy", npy(), None, STATED),
    "npy by hand": (".npy", npy_by_hand(npy_header()), None, STATED),
    "npy, format 2.0": (".npy", npy_by_hand(npy_header(), version=b"\x02\x00"), None, STATED),
    "npy, format 3.0": (".npy", npy_by_hand(npy_header(), version=b"\x03\x00"), None, STATED),
    "npy, a vector": (".npy", npy_by_hand(npy_header(shape="(6,)")), None, ("float32", (6,))),
    "npy, a row in either order": (".npy", FORTRAN_ROW, None, ("float32", (1, 6))),
    "npy, a vector in either order": (".npy", FORTRAN_VECTOR, None, ("float32", (6,))),
    "npz": (".npz", npz(), "keys", STATED),
    "npz, packed": (".npz", npz(compression=zipfile.ZIP_DEFLATED), "keys", STATED),
    "npz, two arrays": (".npz", npz({"other.npy": npy(ARRAY + 1), "keys.npy": npy()}), "keys", STATED),
    "npz, odd name": (".npz", npz({"a/b ü.npy": npy()}), "a/b ü", STATED),
    "safetensors": (".safetensors", safetensors(), "keys", STATED),
    "safetensors, with words": (".safetensors", WORDS, "keys", STATED),
    "safetensors, in the middle": (".safetensors", SHIFTED, "keys", STATED),
    "safetensors, padded header": (
        ".safetensors", safetensors(b'{"keys":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}}    '), "keys",
        STATED),
}  # fmt: skip


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted(name: str) -> None:
    suffix, content, array, stated = ACCEPTED[name]
    assert located(suffix, content, array, stated) == BYTES


# -- refused: each is one change away from an accepted file

ZERO_D = npy_by_hand(npy_header(shape="()"), BYTES[:4])
HEADER = "a .npy header that numpy.save does not write"
PLAIN = "a plain .npy header"
NUMPY = "one of float8_e4m3fn, float8_e5m2, float16"
ZIP = "a zip archive of .npy arrays"
TENSORS = "a .safetensors file"
LISTS = "shape and data_offsets as lists of integers"
INSIDE = "24 bytes inside the file"
# name: (content, found, expected)
NPY_REFUSED: dict[str, tuple[bytes, str, str]] = {
    "empty": (b"", "ends inside its header", "a whole .npy array"),
    "only the magic": (npy()[:6], "ends inside its header", "a whole .npy array"),
    "cut inside the header": (npy()[:40], "ends inside its header", "a whole .npy array"),
    "another magic": (b"\x92" + npy()[1:], "does not begin like a .npy file", "a .npy array"),
    "a zip archive": (npz(), "does not begin like a .npy file", "a .npy array"),
    "format 4.0": (npy_by_hand(npy_header(), version=b"\x04\x00"), ".npy format 4.0", "1.0, 2.0 or 3.0"),
    "format 1.1": (npy_by_hand(npy_header(), version=b"\x01\x01"), ".npy format 1.1", "1.0, 2.0 or 3.0"),
    "a huge header": (b"\x93NUMPY\x02\x00\xff\xff\xff\x7f", "a .npy header of 2147483647 bytes", "a short"),
    "one byte missing": (npy()[:-1], "a .npy file of 151 bytes", "152 bytes for the stated dtype"),
    "one byte too many": (npy() + b"\0", "a .npy file of 153 bytes", "152 bytes for the stated dtype"),
    "another type": (npy(ARRAY.astype("<i4")), "dtype int32 in the file", "dtype float32, as stated"),
    "another shape": (npy(ARRAY.T.copy()), "shape [3, 2] in the file", "shape [2, 3], as stated"),
    "other dimensions": (npy(ARRAY.reshape(6)), "shape [6] in the file", "shape [2, 3], as stated"),
    "no dimensions": (ZERO_D, "shape [] in the file", "shape [2, 3], as stated"),
    "very many dimensions": (npy_by_hand(npy_header(shape=f"({'1, ' * 999}1)")), "shape 1000 extents", "as stated"),
    "Fortran order": (npy(np.asfortranarray(ARRAY)), "an array in Fortran order", "C order"),
    "big-endian": (npy(ARRAY.astype(">f4")), "big-endian numbers ('>f4')", "little-endian numbers"),
    "escape in a big-endian type": (npy_by_hand(npy_header("'>\x1b[2J'")), "('>\\x1b[2J')", "little-endian numbers"),
    "objects": (npy_by_hand(npy_header("'|O'")), "an array of Python objects", "an array of plain numbers"),
    "records": (npy_by_hand(npy_header("[('a', '<f4')]")), "an array of Python objects", "plain numbers"),
    "complex": (npy_by_hand(npy_header("'<c8'")), "numbers of the numpy type '<c8'", NUMPY),
    "booleans": (npy_by_hand(npy_header("'|b1'")), "numbers of the numpy type '|b1'", NUMPY),
    "text": (npy_by_hand(npy_header("'<U1'")), "numbers of the numpy type '<U1'", NUMPY),
    "native order": (npy_by_hand(npy_header("'=f4'")), "numbers of the numpy type '=f4'", NUMPY),
    "escape in the type": (npy_by_hand(npy_header("'\x1b[2J'")), "numpy type '\\x1b[2J'", NUMPY),
    "header that is code": (npy_by_hand("__import__('os')"), HEADER, PLAIN),
    "no comma": (npy_by_hand(npy_header().replace(", 's", " 's")), HEADER, PLAIN),
    "key twice": (npy_by_hand(npy_header().replace("}", "'shape': (2, 3)}")), HEADER, PLAIN),
    "no tuple": (npy_by_hand(npy_header(shape="(6)")), HEADER, PLAIN),
    "two commas": (npy_by_hand(npy_header(shape="(2,, 3)")), HEADER, PLAIN),
    "no comma in the shape": (npy_by_hand(npy_header(shape="(2 3)")), HEADER, PLAIN),
    "negative extent": (npy_by_hand(npy_header(shape="(-2, 3)")), HEADER, PLAIN),
    "long extent": (npy_by_hand(npy_header(shape=f"({'2' * 5000},)")), HEADER, PLAIN),
    "order that is no truth": (npy_by_hand(npy_header(fortran="1")), HEADER, PLAIN),
    "NUL behind the header": (npy_by_hand(npy_header() + "\0"), HEADER, PLAIN),
}  # fmt: skip
NPZ_REFUSED: dict[str, tuple[bytes, str, str]] = {
    "escape in a name": (npz({"\x1b[2J.npy": npy()}), "the file has '\\x1b[2J'", "exactly one"),
    "empty": (b"", "a broken .npz file ('File is not a zip file')", ZIP),
    "not a zip archive": (npy(), "a broken .npz file ('File is not a zip file')", ZIP),
    "cut": (npz()[:-1], "a broken .npz file", ZIP),
    "cut in front": (npz()[40:], "a broken .npz file", ZIP),
    "wrong checksum": (npz().replace(BYTES, BYTES[::-1]), "Bad CRC-32 for file", ZIP),
    "bzip2": (npz(compression=zipfile.ZIP_BZIP2), "an unusual zip compression", "as numpy.savez writes it"),
    "lzma": (npz(compression=zipfile.ZIP_LZMA), "an unusual zip compression", "as numpy.savez writes it"),
    "cut array": (npz({"keys.npy": npy()[:-1]}), "an array of 23 bytes", "24 bytes for the stated"),
    "more than the array": (npz({"keys.npy": npy() + b"\0"}), "more bytes than the array", "24 bytes"),
    "cut header": (npz({"keys.npy": npy()[:40]}), "ends inside its header", "a whole .npy array"),
    "empty array": (npz({"keys.npy": b""}), "ends inside its header", "a whole .npy array"),
    "objects": (npz({"keys.npy": npy_by_hand(npy_header("'|O'"))}), "an array of Python", "plain"),
    "Fortran order": (npz({"keys.npy": npy(np.asfortranarray(ARRAY))}), "in Fortran order", "C order"),
    "another shape": (npz({"keys.npy": npy(ARRAY.reshape(6))}), "shape [6] in the file", "[2, 3]"),
}  # fmt: skip
SAFETENSORS_REFUSED: dict[str, tuple[bytes, str, str]] = {
    "empty": (b"", "ends inside its header", "a whole .safetensors array"),
    "seven bytes": (safetensors()[:7], "ends inside its header", "a whole"),
    "cut header": (safetensors()[:20], "a header of 68 bytes", "a .safetensors file"),
    "huge header": (b"\xff" * 8 + BYTES, f"a header of {2**64 - 1} bytes", "a .safetensors"),
    "not JSON": (safetensors(b"{'keys': 1}"), "not JSON with natural numbers", "a .safetensors"),
    "not UTF-8": (safetensors(b'{"\xff": 1}'), "not JSON with natural numbers", "a .safetensors"),
    "deep JSON": (safetensors(b"[" * 10**5), "not JSON with natural numbers", "a .safetensors"),
    "long integer": (safetensors(b'{"keys": ' + b"1" * 5000 + b"}"), "not JSON with natural numbers", "a .safetensors"),
    "array twice": (safetensors(b'{"keys":{"dtype":"F32"},"keys":{"dtype":"F32"}}'), "a key twice", "a .safe"),
    "key twice": (safetensors(b'{"keys":{"dtype":"F32","dtype":"F64"}}'), "a key twice", "a .safetensors"),
    "a list": (safetensors(b"[1]"), "no array 'keys'; the file has nothing", "of that name"),
    "escape in a name": (safetensors({"\x1b[2J": {}}), "has '\\x1b[2J'", "of that name"),
    "no entry": (safetensors({"keys": [1]}), "no array 'keys'", "of that name"),
    "no type": (safetensors(dtype=None), "dtype 'None'", "one of F8_E4M3, F8_E5M2, F16"),
    "unknown type": (safetensors(dtype="F8_E8M0"), "dtype 'F8_E8M0'", "one of F8_E4M3, F8_E5M2, F16"),
    "type in small letters": (safetensors(dtype="f32"), "dtype 'f32'", "one of F8_E4M3"),
    "type that is a list": (safetensors(dtype=["F32"]), "dtype \"['F32']\"", "one of F8_E4M3"),
    "another type": (safetensors(dtype="I32"), "dtype int32 in the file", "dtype float32"),
    "another shape": (safetensors(shape=[3, 2]), "shape [3, 2] in", "shape [2, 3]"),
    "no shape": (safetensors(shape=None), "a broken .safetensors header", LISTS),
    "decimal extent": (safetensors(shape=[2.0, 3]), "not JSON with natural numbers ('the number 2.0')", TENSORS),
    "extent of text": (safetensors(shape=["2", 3]), "a broken .safetensors", LISTS),
    "true for an extent": (safetensors(shape=[True, 6]), "a broken .safetensors", LISTS),
    "negative extents": (safetensors(shape=[-2, -3]), "('the number -2')", TENSORS),
    "no offsets": (safetensors(data_offsets=None), "a broken .safetensors", LISTS),
    "three offsets": (safetensors(data_offsets=[0, 24, 48]), "a broken", LISTS),
    "negative offset": (safetensors(data_offsets=[-24, 0]), "('the number -24')", TENSORS),
    "too few bytes": (safetensors(data_offsets=[0, 20]), "data_offsets [0, 20]", INSIDE),
    "too many bytes": (safetensors(data_offsets=[0, 28]), "data_offsets [0, 28]", INSIDE),
    "offsets turned round": (safetensors(data_offsets=[24, 0]), "data_offsets [24", INSIDE),
    "beyond the file": (safetensors(data_offsets=[1, 25]), "data_offsets [1, 25]", INSIDE),
    "far beyond the file": (safetensors(data_offsets=[10**17, 10**17 + 24]), "data_offsets [1000", INSIDE),
    "offsets of thirty digits": (safetensors(data_offsets=[10**30, 10**30 + 24]), "('the number 1000", TENSORS),
}  # fmt: skip
# name: (suffix, content, array name, found, expected)
NAMES_REFUSED = {
    "name for a .npy": (".npy", npy(), "keys", "array: 'keys'", "no array name: a .npy file holds one array"),
    "no name for a .npz": (".npz", npz(), None, "no array name", "of an array in the .npz file, as array: NAME"),
    "another name": (".npz", npz(), "key", "no array 'key'; the file has keys", "the member 'key.npy'"),
    "name with the suffix": (".npz", npz(), "keys.npy", "no array 'keys.npy'; the file has keys", "exactly one"),
    "no name for a .safetensors": (".safetensors", safetensors(), None, "no array name", "in the .safetensors file"),
    "other name": (".safetensors", safetensors(), "key", "no array 'key'; the file has keys", "an array of that name"),
    "name of the words": (".safetensors", WORDS, "__metadata__", "the file has keys", "an array of that name"),
}


@pytest.mark.parametrize("name", NPY_REFUSED)
def test_refused_npy(name: str) -> None:
    content, found, expected = NPY_REFUSED[name]
    refuse(lambda: located(".npy", content, None), found, expected)


@pytest.mark.parametrize("name", NPZ_REFUSED)
def test_refused_npz(name: str) -> None:
    content, found, expected = NPZ_REFUSED[name]
    refuse(lambda: located(".npz", content, "keys"), found, expected)


@pytest.mark.parametrize("name", SAFETENSORS_REFUSED)
def test_refused_safetensors(name: str) -> None:
    content, found, expected = SAFETENSORS_REFUSED[name]
    refuse(lambda: located(".safetensors", content, "keys"), found, expected)


@pytest.mark.parametrize("name", NAMES_REFUSED)
def test_refused_names(name: str) -> None:
    suffix, content, array, found, expected = NAMES_REFUSED[name]
    refuse(lambda: located(suffix, content, array), found, expected)


def refuse(action: Callable[[], object], found: str, expected: str) -> ArrayFormatError:
    with pytest.raises(ArrayFormatError) as caught:
        action()
    error = caught.value
    assert found in error.found, error.found
    assert expected in error.expected, error.expected
    assert f"{error.found}{error.expected}{error.hint}".isprintable()
    assert len(str(error)) < 1000
    return error


def test_a_hint_says_how_to_save_the_array() -> None:
    fortran = refuse(lambda: located(".npy", npy(np.asfortranarray(ARRAY)), None), "Fortran", "C order")
    assert fortran.hint == "save numpy.ascontiguousarray(array)"
    big = refuse(lambda: located(".npy", npy(ARRAY.astype(">f4")), None), "big-endian", "little-endian")
    assert big.hint == "save array.astype(array.dtype.newbyteorder('<'))"


def test_long_names_and_types_are_cut() -> None:
    refuse(lambda: located(".safetensors", safetensors({"k" * 10**5: {}}), "keys"), "has 'kkk", "that name")
    refuse(lambda: located(".npz", npz({f"{'k' * 10**4}.npy": npy()}), "keys"), "has 'kkk", "exactly one")
    refuse(lambda: located(".npy", npy_by_hand(npy_header(f"'{'f' * 10**4}'")), None), "numpy type 'fff", "one of")
    refuse(lambda: located(".safetensors", safetensors(dtype="F" * 10**5), "keys"), "dtype 'FFF", "one of")
    refuse(
        lambda: located(".safetensors", safetensors(shape=[1] * 10**5), "keys"), "shape 100000 extents", "shape [2, 3]"
    )


def test_many_names_are_cut() -> None:
    names: dict[str, Any] = {f"k{index:03}": {} for index in range(500)}
    refuse(lambda: located(".safetensors", safetensors(names), "keys"), "k000, k001, k002, k003", "that name")


# -- by the beginning of a large file


def test_the_header_is_enough() -> None:
    for suffix, content, array in ((".npy", npy(), None), (".safetensors", safetensors(), "keys")):
        start = content.index(BYTES)
        for length in range(start):
            cut = partial(located, suffix, content[:length], array, size=len(content))
            refuse(cut, "ends inside its header", "whole")
        layout = locate(suffix, content[:start], len(content), array, STATED, MANY)
        assert (layout.start, layout.stop) == (start, start + 24)


def test_a_wrong_beginning_is_seen_at_once() -> None:
    refuse(lambda: located(".npy", b"\x93NUMPX", None, size=10**9), "does not begin like a .npy file", "a .npy array")
    refuse(
        lambda: located(".safetensors", b"\0\0\0\0\1\0\0\0", "keys", size=10**9), "a header of 4294967296", "a .safe"
    )


# -- limits


def test_the_stated_size_is_limited_before_anything_is_read() -> None:
    error = refuse(lambda: locate(".npy", b"", 0, None, ("float64", (2, 4)), 63), "an array of 64 bytes", "at most 63")
    assert error.hint == "raise --max-tensor-bytes"
    refuse(lambda: locate(".npy", b"", 1, None, ("float64", (2, 4)), 64), "ends inside its header", "a whole")


def peak_and_seconds(action: Callable[[], object]) -> tuple[int, float]:
    before = time.perf_counter()
    tracemalloc.start()
    try:
        action()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return peak, time.perf_counter() - before


@pytest.mark.heavy
def test_a_zip_bomb_is_not_unpacked() -> None:
    body = npy_by_hand(npy_header(), BYTES + bytes(256 * 2**20))
    bomb = npz({"keys.npy": body}, zipfile.ZIP_DEFLATED)
    del body
    assert len(bomb) < 2**20
    peak, seconds = peak_and_seconds(
        lambda: refuse(lambda: located(".npz", bomb, "keys"), "more bytes than the array has", "24 bytes")
    )
    assert peak < 4 * 2**20
    assert seconds < 5


def test_an_archive_with_a_huge_directory_is_not_taken_apart() -> None:
    entry = struct.pack("<4s4B4HL2L5H2L", b"PK\x01\x02", 20, 3, 20, 0, 0, 0, 0, 33, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0) + b"x"
    count = 9 * 2**20 // len(entry)
    directory = entry * count
    content = directory + struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 0, 0, len(directory), 0, 0)
    found = f"a directory of {len(directory)} bytes"
    peak, seconds = peak_and_seconds(lambda: refuse(lambda: located(".npz", content, "keys"), found, ZIP))
    assert peak < 4 * 2**20
    assert seconds < 5


def test_a_header_over_eight_megabytes_is_not_parsed() -> None:
    content = struct.pack("<Q", 2**23 + 1) + b"{" + bytes(2**23)
    peak, _ = peak_and_seconds(
        lambda: refuse(lambda: located(".safetensors", content, "keys"), "a header of", "a .safe")
    )
    assert peak < 2**20


# -- archives that no program writes: the defect is in the directory


def patched(offset: int, value: bytes) -> bytes:
    """An archive with some bytes of its first directory entry replaced."""
    content = npz()
    start = content.index(b"PK\x01\x02") + offset
    return content[:start] + value + content[start + len(value) :]


def far_away() -> bytes:
    """An archive whose member is said to begin at 2^63, which no file position can be."""
    content = npz()
    start = content.index(b"PK\x01\x02")
    extra = struct.pack("<HHQ", 1, 8, 2**63)
    entry = bytearray(content[start : content.index(b"PK\x05\x06")])
    entry[30:32] = struct.pack("<H", len(extra))
    entry[42:46] = b"\xff\xff\xff\xff"
    end = bytearray(content[content.index(b"PK\x05\x06") :])
    end[12:16] = struct.pack("<L", len(entry) + len(extra))
    return content[:start] + bytes(entry) + extra + bytes(end)


BROKEN_DIRECTORIES = {
    "encrypted": patched(8, b"\x01\x00"),
    "strange version": patched(6, b"\xff\x00"),
    "unknown compression": patched(10, b"\x63\x00"),
    "shorter than it is": patched(20, b"\x10\x00\x00\x00"),
    "another checksum": patched(16, b"\0\0\0\0"),
    "behind the end": patched(42, b"\xff\xff\xff\x7f"),
    "inside itself": patched(42, b"\x01\x00\x00\x00"),
    "further than a file can be": far_away(),
}


@pytest.mark.parametrize("name", BROKEN_DIRECTORIES)
def test_broken_directories(name: str) -> None:
    with pytest.raises(
        ArrayFormatError, match=re.compile(r"broken \.npz|unusual zip|arrays named|no array|array of \d+ bytes|ends")
    ):
        located(".npz", BROKEN_DIRECTORIES[name], "keys")


def test_a_member_without_its_suffix_is_no_array() -> None:
    refuse(
        lambda: located(".npz", npz({"keys": npy(), "values.npy": npy()}), "keys"),
        "no array 'keys'; the file has values",
        "exactly one, as the member 'keys.npy'",
    )


def test_two_members_of_one_name() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("keys.npy", npy())
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("keys.npy", npy(ARRAY + 1))
    refuse(lambda: located(".npz", buffer.getvalue(), "keys"), "2 arrays named 'keys'", "exactly one")


def test_a_name_that_numpy_would_read_as_another_array_is_refused() -> None:
    def npy(value: float) -> bytes:
        buffer = io.BytesIO()
        np.save(buffer, np.array([[value]]))
        return buffer.getvalue()

    def npz(*members: tuple[str, float]) -> bytes:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for member, value in members:
                archive.writestr(member, npy(value))
        return buffer.getvalue()

    stated = ("float64", (1, 1))
    plain = npz(("a.npy", 0.0))
    assert locate(".npz", plain, len(plain), "a", stated, 2**20).source
    for double in (npz(("a.npy", 0.0), ("a", 1.0)), npz(("a", 1.0))):
        with pytest.raises(ArrayFormatError, match="exactly one"):
            locate(".npz", double, len(double), "a", stated, 2**20)
