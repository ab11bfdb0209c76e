"""Array files: hash, place, links, files that change, and the numbers that come out."""

from __future__ import annotations

import hashlib
import io
import json
import os
import struct
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flint import fmpq

from certattn.kernel.document import arrays
from certattn.kernel.document.arrays import ArrayFiles
from certattn.kernel.document.references import ArrayReference
from certattn.kernel.document.regular_files import regular_file
from certattn.kernel.document.tree import Node
from certattn.kernel.limits import DEFAULT_LIMITS, Limits, Watch
from certattn.kernel.mathematics.exact_matrix import ExactMatrix

AT = "cert.yaml:7: given"
ARRAY = np.arange(12, dtype="<f4").reshape(4, 3) / 8


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def save_safetensors(path: Path, arrays: dict[str, np.ndarray[Any, Any]]) -> None:
    header: dict[str, Any] = {}
    body = b""
    for name, array in arrays.items():
        header[name] = {
            "dtype": "F32",
            "shape": list(array.shape),
            "data_offsets": [len(body), len(body) + array.nbytes],
        }
        body += array.tobytes()
    raw = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(raw)) + raw + body)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A certificate's folder with the same array in every format, and a file outside."""
    inside = tmp_path / "paper"
    (inside / "data").mkdir(parents=True)
    np.save(inside / "data" / "x.npy", ARRAY)
    np.savez(inside / "data" / "x.npz", keys=ARRAY, values=ARRAY + 1)
    save_safetensors(inside / "data" / "x.safetensors", {"keys": ARRAY, "values": ARRAY + 1})
    np.save(tmp_path / "outside.npy", ARRAY)
    return inside


@pytest.fixture
def refer(folder: Path, node: Node) -> Callable[..., ArrayReference]:
    """A reference to an array file as it is, with changes."""

    def make(file: str, **changes: Any) -> ArrayReference:
        array = None if file.endswith(".npy") else "keys"
        path = folder / file
        digest = sha256(path) if len(file) < 200 and path.is_file() else "0" * 64
        reference = ArrayReference(node, file, digest, array, "float32", (4, 3), (0, 4))
        return replace(reference, **changes)

    return make


def read(
    folder: Path, reference: ArrayReference, limits: Limits = DEFAULT_LIMITS, root: Path | None = None
) -> list[list[Fraction]]:
    return rows(ArrayFiles(folder, root or folder, limits, Watch()).read(reference))


def rows(matrix: ExactMatrix) -> list[list[Fraction]]:
    return [[Fraction(int(x.p), int(x.q)) for x in row] for row in matrix.to_rows()]


def fractions(array: np.ndarray[Any, Any]) -> list[list[Fraction]]:
    return [[Fraction(float(x)) for x in row] for row in array]


FORMATS = ["data/x.npy", "data/x.npz", "data/x.safetensors"]

# -- accepted


@pytest.mark.parametrize("file", FORMATS)
def test_every_format(file: str, folder: Path, refer: Any) -> None:
    assert read(folder, refer(file)) == fractions(ARRAY)


@pytest.mark.parametrize("file", FORMATS)
def test_some_rows(file: str, folder: Path, refer: Any) -> None:
    assert read(folder, refer(file, rows=(1, 3))) == fractions(ARRAY[1:3])


def test_two_arrays_of_one_file(folder: Path, refer: Any) -> None:
    files = ArrayFiles(folder, folder, DEFAULT_LIMITS, Watch())
    for file in FORMATS[1:]:
        assert rows(files.read(refer(file))) == fractions(ARRAY)
        assert rows(files.read(refer(file, array="values"))) == fractions(ARRAY + 1)


def test_a_vector_is_one_row(folder: Path, refer: Any) -> None:
    np.save(folder / "v.npy", ARRAY[0])
    reference = refer("v.npy", shape=(3,), rows=(0, 3))
    assert reference.extents == (3,)
    assert read(folder, reference) == fractions(ARRAY[:1])
    assert read(folder, replace(reference, rows=(1, 3))) == fractions(ARRAY[:1, 1:])


def test_wide_exponents_are_exact(folder: Path, refer: Any) -> None:
    values = [5e-324, -1.7976931348623157e308, 0.1, -0.0]
    np.save(folder / "w.npy", np.array([values]))
    assert read(folder, refer("w.npy", dtype="float64", shape=(1, 4), rows=(0, 1))) == [[Fraction(x) for x in values]]


def test_the_denominator_is_a_power_of_two(folder: Path, refer: Any) -> None:
    matrix = ArrayFiles(folder, folder, DEFAULT_LIMITS, Watch()).read(refer("data/x.npy"))
    assert matrix.denominator == 8
    assert matrix.entry(3, 2) == fmpq(11, 8)


def test_a_link_inside_the_folder_is_followed(folder: Path, refer: Any) -> None:
    (folder / "link.npy").symlink_to("data/x.npy")
    assert read(folder, refer("link.npy")) == fractions(ARRAY)


def test_a_certificate_in_a_linked_folder(folder: Path, refer: Any) -> None:
    (folder.parent / "alias").symlink_to("paper")
    assert read(folder.parent / "alias", refer("data/x.npy")) == fractions(ARRAY)


def test_a_way_out_and_back_in(folder: Path, refer: Any) -> None:
    assert read(folder, refer("../paper/data/x.npy")) == fractions(ARRAY)


def test_a_larger_root_allows_more(folder: Path, refer: Any) -> None:
    reference = refer("../outside.npy")
    assert read(folder, reference, root=folder.parent) == fractions(ARRAY)
    assert read(folder, reference, root=Path("/")) == fractions(ARRAY)


# -- refused: each is one change away from an accepted reference


@pytest.mark.parametrize("file", FORMATS)
def test_a_wrong_hash(file: str, folder: Path, refer: Any, refused: Any) -> None:
    true, wrong = sha256(folder / file), "0" * 64
    message = refused(
        lambda: read(folder, refer(file, sha256=wrong)),
        found=f"sha256 {true} of '{file}'",
        expected=f"sha256 {wrong}",
        at=AT,
    )
    assert "not the one that the certificate is about" in message


def test_a_wrong_hash_of_a_file_that_was_read_before(folder: Path, refer: Any, refused: Any) -> None:
    files = ArrayFiles(folder, folder, DEFAULT_LIMITS, Watch())
    files.read(refer("data/x.npz"))
    refused(
        lambda: files.read(refer("data/x.npz", sha256="1" * 64)), found="sha256", expected=f"sha256 {'1' * 64}", at=AT
    )


# name: (file, changes, found, expected)
REFUSED: dict[str, tuple[str, dict[str, Any], str, str]] = {
    "another type": ("data/x.npy", {"dtype": "int32"}, "dtype float32 in the file", "dtype int32, as stated"),
    "another shape": ("data/x.npz", {"shape": (3, 4)}, "shape [4, 3] in the file", "shape [3, 4], as stated"),
    "another array": ("data/x.npz", {"array": "queries"}, "x.npz[queries]: no array 'queries'", "exactly one"),
    "larger than allowed": ("data/x.npy", {"shape": (2**40, 3)}, f"an array of {12 * 2**40} bytes", "at most 42949672"),
    "enormous": ("data/x.npy", {"shape": (10**17, 10**17)}, "an array of 4", "at most 4294967296"),
    "missing": ("data/y.npy", {}, "no such file or directory: '", "a readable array file"),
    "folder in between missing": ("dat/x.npy", {}, "no such file or directory: '", "a readable array file"),
    "file for a folder": ("data/x.npy/x.npy", {}, "not a directory: '", "a readable array file"),
    "long name": (f"{'n' * 300}.npy", {}, "file name too long: '", "a readable array file"),
    "other format": ("data/x.bin", {}, "file: 'data/x.bin'", "a file ending in one of .npy, .npz, .safetensors"),
    "format in capitals": ("data/x.NPY", {}, "file: 'data/x.NPY'", "a file ending in one of .npy, .npz, .safetensors"),
    "nothing but a format": ("data/.npy", {}, "file: 'data/.npy'", "a file ending in one of .npy, .npz, .safetensors"),
    "name of a folder": ("data/x.npy/", {}, "file: 'data/x.npy/'", "a file ending in one of .npy, .npz, .safetensors"),
    "folder itself": ("data/x.npy/.", {}, "file: 'data/x.npy/.'", "a file ending in one of .npy, .npz, .safetensors"),
    "pickle": ("data/x.pkl", {}, "file: 'data/x.pkl'", "a file ending in one of .npy, .npz, .safetensors"),
    "absolute": ("/etc/x.npy", {}, "file: '/etc/x.npy'", "a path relative to the certificate, with forward slashes"),
    "backslashes": ("data\\x.npy", {}, "file: 'data\\\\x.npy'", "a path relative to the certificate, with forward"),
    "outside": ("../outside.npy", {}, "file: '../outside.npy', which leads to '", "a file inside the folder"),
    "far outside": (f"{'../' * 40}etc/x.npy", {}, "which leads to '/etc/x.npy'", "a file inside the folder"),
    "sibling of a longer name": ("../paper2/x.npy", {}, "which leads to '", "a file inside the folder"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str, folder: Path, refer: Any, refused: Any) -> None:
    file, changes, found, expected = REFUSED[name]
    refused(lambda: read(folder, refer(file, **changes)), found=found, expected=expected, at=AT)


def test_the_hint_to_allow_a_larger_folder(folder: Path, refer: Any, refused: Any) -> None:
    message = refused(
        lambda: read(folder, refer("../outside.npy")), found="leads to", expected=f"inside the folder {folder}"
    )
    assert "--root DIR" in message


LINKS: dict[str, tuple[str, str, str]] = {
    "link out": ("../outside.npy", "which leads to '", "a file inside the folder"),
    "absolute link out": ("/etc/passwd", "which leads to '/etc/passwd'", "a file inside the folder"),
    "link to itself": ("link.npy", "too many levels of symbolic links", "a readable array file"),
    "link to nothing": ("data/nothing.npy", "no such file or directory", "a readable array file"),
    "link to a folder": ("data", "is a directory", "a readable array file"),
}


@pytest.mark.parametrize("name", LINKS)
def test_refused_links(name: str, folder: Path, refer: Any, refused: Any) -> None:
    target, found, expected = LINKS[name]
    (folder / "link.npy").symlink_to(target)
    refused(lambda: read(folder, refer("link.npy")), found=found, expected=expected, at=AT)


def test_a_linked_folder_that_leads_out(folder: Path, refer: Any, refused: Any) -> None:
    (folder / "up").symlink_to("..")
    refused(lambda: read(folder, refer("up/outside.npy")), found="leads to", expected="a file inside the folder", at=AT)


def test_what_is_no_file(folder: Path, refer: Any, refused: Any) -> None:
    os.mkfifo(folder / "pipe.npy")
    (folder / "folder.npy").mkdir()
    (folder / "device.npy").symlink_to("/dev/zero")
    refused(
        lambda: read(folder, refer("pipe.npy")), found="not a regular file", expected="a readable array file", at=AT
    )
    refused(lambda: read(folder, refer("folder.npy")), found="is a directory", expected="a readable array file", at=AT)
    refused(
        lambda: read(folder, refer("device.npy"), root=Path("/")),
        found="not a regular file: '/dev/zero'",
        expected="a readable array file",
        at=AT,
    )


def test_a_name_with_an_escape_is_shown_escaped(folder: Path, refer: Any, refused: Any) -> None:
    refused(lambda: read(folder, refer("\x1b[2J.npy")), found="\\x1b[2J.npy", expected="a readable array file")
    refused(lambda: read(folder, refer("\x1b[2J.txt")), found="\\x1b[2J.txt", expected="a file ending in")


NOT_FINITE = {"a NaN": np.nan, "an infinity": -np.inf}


@pytest.mark.parametrize("kind", NOT_FINITE)
@pytest.mark.parametrize("file", ["bad.npy", "bad.npz"])
def test_not_finite(kind: str, file: str, folder: Path, refer: Any, refused: Any) -> None:
    array = ARRAY.copy()
    array[2, 1] = NOT_FINITE[kind]
    np.save(folder / "bad.npy", array)
    np.savez(folder / "bad.npz", keys=array)
    for meant in ((0, 4), (1, 4), (2, 3)):
        refused(
            lambda meant=meant: read(folder, refer(file, rows=meant)),
            found=f"{kind} at row 2, column 1 (counted from 0) in {file}[keys]"
            if file == "bad.npz"
            else f"column 1 (counted from 0) in {file}",
            expected="finite numbers",
            at=AT,
        )
    # Rows that are not meant are not part of the statement.
    assert read(folder, refer(file, rows=(0, 2))) == fractions(array[:2])


@pytest.mark.parametrize(
    ("shape", "place"),
    [((12,), "entry 7"), ((4, 3), "row 2, column 1"), ((2, 2, 3), "[1, 0, 1]"), ((2, 2, 1, 3), "[1, 0, 0, 1]")],
)
def test_what_is_not_finite_is_named_by_its_place_in_the_array(
    shape: tuple[int, ...], place: str, folder: Path, refer: Any, refused: Any
) -> None:
    array = ARRAY.copy().reshape(shape)
    array.flat[7] = np.nan
    np.save(folder / "bad.npy", array)
    found = f"a NaN at {place} (counted from 0) in bad.npy"
    files = ArrayFiles(folder, folder, DEFAULT_LIMITS, Watch())
    for first in {0, np.unravel_index(7, shape)[0]}:
        meant = refer("bad.npy", shape=shape, rows=(int(first), shape[0]))
        refused(lambda meant=meant: read(folder, meant), found=found, expected="finite numbers", at=AT)
        for at_once in (1, 2, 5):
            refused(
                lambda meant=meant, at_once=at_once: files.require_finite(meant, at_once),
                found=found,
                expected="finite numbers",
                at=AT,
            )
            assert files.not_finite(meant, at_once) == 1
    assert files.not_finite(refer("data/x.npy"), 3) == 0


@pytest.mark.parametrize("file", FORMATS)
def test_arrays_of_three_and_four_axes_are_their_rows(file: str, folder: Path, refer: Any) -> None:
    for shape in ((2, 2, 3), (2, 2, 1, 3), (1, 4, 1, 3)):
        array = ARRAY.reshape(shape)
        np.save(folder / "data" / "x.npy", array)
        np.savez(folder / "data" / "x.npz", keys=array)
        save_safetensors(folder / "data" / "x.safetensors", {"keys": array})
        assert read(folder, refer(file, shape=shape, rows=(0, shape[0]))) == fractions(ARRAY)
        last = refer(file, shape=shape, rows=(shape[0] - 1, shape[0]))
        assert read(folder, last) == fractions(array[-1].reshape(-1, 3))


# -- the suffix that the certificate states decides how a file is read, not what a link leads to


def test_a_link_with_another_suffix_is_read_as_stated(folder: Path, refer: Any, refused: Any) -> None:
    (folder / "link.npy").symlink_to("data/x.npz")
    (folder / "link.npz").symlink_to("data/x.npy")
    refused(lambda: read(folder, refer("link.npy")), found="does not begin like a .npy file", expected="a .npy array")
    refused(lambda: read(folder, refer("link.npz")), found="a broken .npz file", expected="a zip archive")


def test_a_large_archive_behind_a_link_is_not_streamed(
    folder: Path, refer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Streaming an archive would look for it in its first piece, and take other bytes for the array.
    monkeypatch.setattr(arrays, "_KEEP_BYTES", 0)
    monkeypatch.setattr(arrays, "_CHUNK", 2**20)
    (folder / "y.npy").write_bytes((folder / "data" / "x.npz").read_bytes())
    (folder / "link.npz").symlink_to("y.npy")
    assert read(folder, refer("link.npz")) == fractions(ARRAY)


# -- large files are streamed


@pytest.fixture
def streaming(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every .npy and .safetensors file is a large one, and comes in pieces of seven bytes after its header."""
    monkeypatch.setattr(arrays, "_KEEP_BYTES", 0)
    monkeypatch.setattr(arrays, "HEAD_BYTES", 160)
    monkeypatch.setattr(arrays, "_CHUNK", 7)


@pytest.mark.usefixtures("streaming")
@pytest.mark.parametrize("file", FORMATS)
@pytest.mark.parametrize("meant", [(0, 4), (0, 1), (3, 4), (1, 3)])
def test_streamed_rows(file: str, meant: tuple[int, int], folder: Path, refer: Any) -> None:
    assert read(folder, refer(file, rows=meant)) == fractions(ARRAY[meant[0] : meant[1]])
    if file != "data/x.npy":
        values = refer(file, array="values", rows=meant)
        assert read(folder, values) == fractions(ARRAY[meant[0] : meant[1]] + 1)


@pytest.mark.usefixtures("streaming")
@pytest.mark.parametrize("file", FORMATS)
def test_a_wrong_hash_of_a_streamed_file(file: str, folder: Path, refer: Any, refused: Any) -> None:
    refused(lambda: read(folder, refer(file, sha256="0" * 64)), found="sha256", expected="sha256 000", at=AT)


@pytest.mark.usefixtures("streaming")
def test_a_streamed_file_that_is_not_as_stated(folder: Path, refer: Any, refused: Any) -> None:
    reference = refer("data/x.npy", shape=(3, 4), rows=(0, 3))
    refused(lambda: read(folder, reference), found="shape [4, 3] in the file", expected="shape [3, 4]", at=AT)
    (folder / "cut.npy").write_bytes((folder / "data" / "x.npy").read_bytes()[:50])
    refused(
        lambda: read(folder, refer("cut.npy")), found="ends inside its header", expected="a whole .npy array", at=AT
    )


@pytest.mark.usefixtures("streaming")
def test_a_streamed_array_takes_the_memory_of_its_rows(
    folder: Path, refer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrays, "_CHUNK", 2**20)
    monkeypatch.setattr(arrays, "HEAD_BYTES", 2**20)
    np.save(folder / "long.npy", np.zeros((2**23, 1), "<f4"))
    reference = refer("long.npy", shape=(2**23, 1), rows=(2**22, 2**22 + 2))
    tracemalloc.start()
    try:
        assert read(folder, reference) == [[0], [0]]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * 2**20


# -- files that change while they are read


class Meddling(io.BytesIO):
    """A file of one content that is said to be of another size."""

    def __init__(self, content: bytes, descriptor: int) -> None:
        super().__init__(content)
        self.descriptor = descriptor

    def fileno(self) -> int:
        return self.descriptor


@pytest.mark.parametrize("keep", [0, 2**20])
@pytest.mark.parametrize("file", FORMATS)
def test_a_file_that_changes(file: str, keep: int, folder: Path, refer: Any, refused: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(arrays, "_KEEP_BYTES", keep)
    reference = refer(file)
    content = (folder / file).read_bytes()
    other = ("sha256 ", f"sha256 {reference.sha256}")
    # Where a file is streamed, its end is found before its hash.
    short = other if keep or file.endswith(".npz") else ("a file that ends too early", "the whole array")
    changes = {
        content + b"\0": ("a file that grows while it is read", "a file that stays as it is"),
        # The last byte of x.safetensors belongs to another array.
        content[:-1]: other if file.endswith(".safetensors") else short,
        content[:-1] + b"\x7f": other,
        b"": short if keep or file.endswith(".npz") else ("ends inside its header", "a whole"),
    }
    for changed, (found, expected) in changes.items():
        with (folder / file).open("rb") as opened:
            monkeypatch.setattr("builtins.open", lambda *_, c=changed, o=opened, **__: Meddling(c, o.fileno()))
            refused(lambda: read(folder, reference), found=found, expected=expected, at=AT)
            monkeypatch.undo()
            monkeypatch.setattr(arrays, "_KEEP_BYTES", keep)


def test_an_error_while_reading(folder: Path, refer: Any, refused: Any, monkeypatch: Any) -> None:
    reference = refer("data/x.npy")
    with (folder / "data" / "x.npy").open("rb") as opened:
        meddling = Meddling(b"", opened.fileno())
        monkeypatch.setattr(meddling, "read", lambda _: os.read(-1, 1))
        monkeypatch.setattr("builtins.open", lambda *_, **__: meddling)
        refused(lambda: read(folder, reference), found="bad file descriptor", expected="a readable array file", at=AT)
        monkeypatch.undo()


@pytest.mark.parametrize("keep", [0, 2**20])
@pytest.mark.parametrize("left", [9, 100])
def test_a_file_that_shrinks_to_what_the_hash_is_of(
    left: int, keep: int, folder: Path, refer: Any, refused: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr(arrays, "_KEEP_BYTES", keep)
    content = (folder / "data" / "x.npy").read_bytes()[:left]
    reference = refer("data/x.npy", sha256=hashlib.sha256(content).hexdigest())
    with (folder / "data" / "x.npy").open("rb") as opened:
        monkeypatch.setattr("builtins.open", lambda *_, **__: Meddling(content, opened.fileno()))
        refused(lambda: read(folder, reference), found="ends inside its header", expected="whole", at=AT)
        monkeypatch.undo()


class Endless(Meddling):
    """A file that somebody goes on writing to."""

    pieces = 0

    def read(self, size: int | None = -1, /) -> bytes:
        assert size is not None
        assert size >= 0
        self.pieces += 1
        return super().read(size) or bytes(size)


@pytest.mark.parametrize("keep", [0, 2**20])
@pytest.mark.parametrize("file", FORMATS)
def test_a_file_that_grows_without_end(
    file: str, keep: int, folder: Path, refer: Any, refused: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr(arrays, "_KEEP_BYTES", keep)
    reference = refer(file)
    content = (folder / file).read_bytes()
    with (folder / file).open("rb") as opened:
        endless = Endless(content + b"more", opened.fileno())
        monkeypatch.setattr("builtins.open", lambda *_, **__: endless)
        refused(
            lambda: read(folder, reference), found="a file that grows", expected="a file that stays as it is", at=AT
        )
        monkeypatch.undo()
    assert endless.pieces <= 2


def test_the_bytes_that_are_hashed_are_the_bytes_that_are_used(folder: Path, refer: Any, monkeypatch: Any) -> None:
    files = ArrayFiles(folder, folder, DEFAULT_LIMITS, Watch())
    reference = refer("data/x.npz")
    files.read(reference)
    np.savez(folder / "data" / "x.npz", keys=ARRAY + 5, values=ARRAY)
    assert rows(files.read(replace(reference, array="values"))) == fractions(ARRAY + 1)


# -- limits


@pytest.mark.parametrize("file", FORMATS)
def test_a_file_over_the_limit(file: str, folder: Path, refer: Any, refused: Any) -> None:
    size = (folder / file).stat().st_size
    limits = replace(DEFAULT_LIMITS, max_tensor_bytes=size - 1)
    message = refused(
        lambda: read(folder, refer(file), limits),
        found=f"a file of {size} bytes",
        expected=f"at most {size - 1}",
        at=AT,
    )
    assert "raise --max-tensor-bytes" in message
    assert read(folder, refer(file), replace(limits, max_tensor_bytes=size)) == fractions(ARRAY)


def test_kept_files_take_bounded_memory(folder: Path, refer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    size = (folder / "data" / "x.npz").stat().st_size
    monkeypatch.setattr(arrays, "_KEEP_BYTES", 3 * size)
    opened = []

    def recorded(path: Path, **options: Any) -> Any:
        opened.append(path.name)
        return regular_file(path, **options)

    monkeypatch.setattr(arrays, "regular_file", recorded)
    files = ArrayFiles(folder, folder, DEFAULT_LIMITS, Watch())
    for index in range(5):
        (folder / f"{index}.npz").write_bytes((folder / "data" / "x.npz").read_bytes())
    for index in (0, 1, 2, 3, 4, 0, 1, 2, 3, 4):
        assert rows(files.read(refer(f"{index}.npz"))) == fractions(ARRAY)
    assert sorted(opened) == [f"{i}.npz" for i in (0, 1, 2, 3, 3, 4, 4)]
