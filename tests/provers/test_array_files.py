"""Array files as people have them: every kind is read, or refused in words."""

from __future__ import annotations

import io
import json
import os
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from certattn.kernel.document.references import DTYPES
from certattn.kernel.errors import UsageError
from certattn.provers.array_files import Header, open_array_file
from certattn.provers.array_inputs import InFile, InMemory, Source, placed
from certattn.provers.safetensors import carrier, file_bytes

Arrays = dict[str, np.ndarray[Any, Any]]
Prompt = Callable[..., Arrays]


def safetensors(path: Path, entries: dict[str, tuple[str, list[int], bytes]], **extra: Any) -> Path:
    header: dict[str, Any] = dict(extra)
    body = b""
    for name, (dtype, shape, data) in entries.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)
    return path


# -- accepted


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int64", "uint16"])
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz(tmp_path: Path, prompt: Prompt, dtype: str, save: Callable[..., None]) -> None:
    arrays = prompt(dtype)
    save(tmp_path / "a.npz", **arrays)
    file = open_array_file(tmp_path / "a.npz")
    assert file.headers == {name: Header(dtype, array.shape, True) for name, array in arrays.items()}
    for name, array in arrays.items():
        assert np.array_equal(file.read(name), array)


def test_what_a_certificate_cannot_refer_to_as_it_stands(tmp_path: Path) -> None:
    row = np.arange(4.0).reshape(1, 4)
    arrays = {
        "big": np.arange(6, dtype=">f4").reshape(2, 3),
        "fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "one_row": np.asfortranarray(row),
        "byte": np.arange(6, dtype="u1").reshape(2, 3),
    }
    np.savez(tmp_path / "a.npz", **arrays)  # type: ignore[arg-type]
    file = open_array_file(tmp_path / "a.npz")
    assert {name: header.plain for name, header in file.headers.items()} == {
        "big": False, "fortran": False, "one_row": True, "byte": True,
    }  # fmt: skip
    assert file.headers["big"].dtype == "float32"
    for name, array in arrays.items():
        assert np.array_equal(file.read(name), array)


def test_names_that_look_like_paths(tmp_path: Path, prompt: Prompt) -> None:
    np.savez(tmp_path / "a.npz", **{f"layer.0/{name}": array for name, array in prompt().items()})  # type: ignore[arg-type]
    assert list(open_array_file(tmp_path / "a.npz").headers) == ["layer.0/keys", "layer.0/values", "layer.0/queries"]


def test_safetensors(tmp_path: Path) -> None:
    array = np.arange(6, dtype="<f4").reshape(2, 3)
    bfloat16 = (array.view("<u4") >> 16).astype("<u2")
    path = safetensors(
        tmp_path / "a.safetensors",
        {"x": ("F32", [2, 3], array.tobytes()), "b": ("BF16", [2, 3], bfloat16.tobytes())},
        __metadata__={"format": "pt"},
    )
    file = open_array_file(path)
    assert file.headers == {"x": Header("float32", (2, 3), True), "b": Header("bfloat16", (2, 3), True)}
    assert np.array_equal(file.read("x"), array)
    assert np.array_equal(file.read("b"), array)
    assert file.read("b").dtype == np.float32


@pytest.mark.parametrize(("code", "dtype"), [("BF16", ml_dtypes.bfloat16), ("F8_E4M3", ml_dtypes.float8_e4m3fn),
                                             ("F8_E5M2", ml_dtypes.float8_e5m2)])  # fmt: skip
def test_types_that_numpy_does_not_have_come_as_bits_or_widened(tmp_path: Path, code: str, dtype: Any) -> None:
    every = np.arange(2 ** (8 * np.dtype(dtype).itemsize), dtype=f"u{np.dtype(dtype).itemsize}")
    path = safetensors(tmp_path / "a.safetensors", {"x": (code, [2, len(every) // 2], every.tobytes())})
    file, name = open_array_file(path), np.dtype(dtype).name
    assert file.headers == {"x": Header(name, (2, len(every) // 2), True)}
    assert np.array_equal(file.bits("x").ravel(), every)
    assert file.read("x").dtype == np.float32
    expected = every.view(dtype).astype(np.float32)
    if code != "BF16":
        expected[np.isinf(expected)] = np.nan
    assert np.array_equal(file.read("x").ravel(), expected, equal_nan=True)
    assert file_bytes({"x": (name, file.bits("x"))})[-every.nbytes :] == every.tobytes()


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    arrays = {dtype: np.arange(6).reshape(3, 2).astype(carrier(dtype)) for dtype in DTYPES}
    (tmp_path / "a.safetensors").write_bytes(file_bytes({dtype: (dtype, bits) for dtype, bits in arrays.items()}))
    file = open_array_file(tmp_path / "a.safetensors")
    assert file.headers == {dtype: Header(dtype, (3, 2), True) for dtype in DTYPES}
    for dtype, bits in arrays.items():
        assert np.array_equal(file.bits(dtype), bits)
        assert file.bits(dtype).dtype == bits.dtype


@pytest.mark.parametrize("data", ["auto", "copy"])
def test_copies_keep_their_number_types(tmp_path: Path, data: str) -> None:
    """Whether an array lies in a file elsewhere, or in memory, as its bits or as another library has it."""
    narrow = np.arange(6).reshape(3, 2).astype(ml_dtypes.bfloat16)
    safetensors(tmp_path / "a.safetensors", {"x": ("BF16", [3, 2], narrow.tobytes())})
    file = open_array_file(tmp_path / "a.safetensors")
    (tmp_path / "there").mkdir()
    sources: dict[str, Source] = {
        "file": InFile(file, "x"), "bits": InMemory(narrow.view(np.uint16), "bfloat16"), "array": narrow,
        "plain": np.asfortranarray(np.ones((3, 2), ">f8")),
    }  # fmt: skip
    with placed(tmp_path / "there" / "c.yaml", sources, data) as references:
        assert {r["file"] for r in references.values()} == {"c.safetensors"}
        assert [r["dtype"] for r in references.values()] == ["bfloat16"] * 3 + ["float64"]
    copied = open_array_file(tmp_path / "there" / "c.safetensors")
    for field in ("file", "bits", "array"):
        assert np.array_equal(copied.bits(field), narrow.view(np.uint16))
    assert np.array_equal(copied.bits("plain"), np.ones((3, 2)))
    with placed(tmp_path / "there" / "d.yaml", {"plain": np.ones((3, 2))}, data) as references:
        assert references["plain"]["file"] == "d.npz"


def test_arrays_of_unknown_kinds_do_not_matter_until_they_are_used(tmp_path: Path) -> None:
    path = safetensors(tmp_path / "a.safetensors", {"x": ("C64", [2], b"12"), "y": ("F64", [1], b"\0" * 8)})
    file = open_array_file(path)
    assert file.headers["x"].dtype == "C64"
    assert file.read("y") == 0
    with pytest.raises(UsageError, match="'x' cannot be read"):
        file.read("x")


def test_headers_are_read_without_the_numbers(tmp_path: Path) -> None:
    """A gigabyte is promised, far less is there, and nobody asks."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (2**26, 2)})
    with (
        zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("x.npy", "w") as stream,
    ):
        stream.write(header.getvalue())
        for _ in range(16):
            stream.write(b"\0" * 2**20)
    assert open_array_file(tmp_path / "a.npz").headers == {"x": Header("float64", (2**26, 2), True)}


# -- refused


def _zip_of(content: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("x.npy", content)
    return buffer.getvalue()


BROKEN = {
    "empty.npz": b"",
    "noise.npz": b"\x80\x04noise" * 50,
    "truncated.npz": _zip_of(b"\x93NUMPY\x01\x00")[:60],
    "no array.npz": _zip_of(b"hello"),
    "evil header.npz": _zip_of(b"\x93NUMPY\x01\x00\x20\x00" + b"__import__('os').abort()".ljust(32)),
    "short.safetensors": b"abc",
    "no header.safetensors": struct.pack("<Q", 2**60) + b"{}",
    "list.safetensors": struct.pack("<Q", 2) + b"[]",
    "deep.safetensors": struct.pack("<Q", 10**5) + b"[" * 10**5,
    "entry.safetensors": struct.pack("<Q", 9) + b'{"x": {}}',
    "words.safetensors": struct.pack("<Q", 9) + b"not json!",
    "text.csv": b"1,2\n",
    "array.npy": b"\x93NUMPY",
    "no suffix": b"",
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_are_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(BROKEN[name])
    with pytest.raises(UsageError) as caught:
        open_array_file(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "pickle" not in str(caught.value)


@pytest.mark.parametrize("kind", ["missing", "folder", "pipe", "null"])
@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
def test_what_is_no_file_is_refused_without_waiting(tmp_path: Path, kind: str, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "null":
        path = tmp_path / f"a\0{suffix}"
    with pytest.raises(UsageError):
        open_array_file(path)


def test_objects_are_not_unpickled(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.array([{"a": 1}], dtype=object))
    file = open_array_file(tmp_path / "a.npz")
    assert file.headers["x"].dtype == "object"
    with pytest.raises(UsageError, match="'x' cannot be read"):
        file.read("x")


@pytest.mark.parametrize("offsets", [[0, 8], [8, 0], [0, 10**15], [-8, 8], "ab"])
def test_safetensors_that_lie_are_refused(tmp_path: Path, offsets: Any) -> None:
    header = json.dumps({"x": {"dtype": "F64", "shape": [3], "data_offsets": offsets}}).encode()
    path = tmp_path / "a.safetensors"
    path.write_bytes(struct.pack("<Q", len(header)) + header + b"\0" * 24)
    with pytest.raises(UsageError, match=r"the array .x."):
        open_array_file(path).read("x")
