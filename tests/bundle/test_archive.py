"""Archives: what is read out of them is what a folder holds, and nothing hostile gets that far."""

from __future__ import annotations

import io
import re
import stat
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import certattn
from certattn.bundle.archive import open_archive
from certattn.bundle.container import MOST_MEMBERS
from certattn.cli.main import run
from certattn.kernel.errors import MalformedError
from certattn.kernel.limits import Limits

Members = dict[str, bytes]
Pack = Callable[..., Path]


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory) -> Members:
    """A certificate and its arrays."""
    folder = tmp_path_factory.mktemp("members")
    rng = np.random.default_rng(3)
    shapes = {"keys": (6, 2), "values": (6, 3), "queries": (4, 2)}
    arrays = {name: rng.normal(size=shape) for name, shape in shapes.items()}
    certattn.generate("output-deviation", folder / "head.yaml", at_most="50", data="copy", **arrays)
    return {f"certificates/{file.name}": file.read_bytes() for file in folder.iterdir()}


@pytest.fixture
def pack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pack:
    """Write `paper.zip` by the library's means."""
    monkeypatch.chdir(tmp_path)

    def call(members: dict[Any, bytes], compression: int = zipfile.ZIP_STORED, **attributes: Any) -> Path:
        with zipfile.ZipFile("paper.zip", "w", compression) as archive:
            for name, content in members.items():
                info = zipfile.ZipInfo(name) if isinstance(name, str) else name
                info.compress_type = compression
                for key, value in attributes.items():
                    setattr(info, key, value)
                archive.writestr(info, content)
        return Path("paper.zip")

    return call


def refused(capsys: pytest.CaptureFixture[str]) -> str:
    """What `certattn check` says of `paper.zip`, which it takes for no certificates at all."""
    capsys.readouterr()
    status = run(["check", "paper.zip"])
    captured = capsys.readouterr()
    assert "verified" not in captured.out
    assert status == 2, captured
    said = captured.out + captured.err
    assert "Traceback" not in said
    assert all(line.isprintable() for line in said.splitlines())
    return said


# -- accepted


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_an_archive_is_checked_as_its_folder_is(
    compression: int, members: Members, pack: Pack, capsys: pytest.CaptureFixture[str]
) -> None:
    pack(members, compression)
    assert run(["check", "paper.zip"]) == 0
    packed = capsys.readouterr().out
    with zipfile.ZipFile("paper.zip") as archive:
        archive.extractall("paper")
    assert run(["check", "paper"]) == 0
    unpacked = capsys.readouterr().out
    # Times differ, and so does what the verdict rests on: the program that reads the archive, too.
    differs = r"rests on .*?(?=\n  statement)|[0-9.]+ m?s\b|\s+"
    same = [re.sub(differs, " ", text, flags=re.DOTALL) for text in (packed, unpacked.replace("paper/", "paper.zip/"))]
    assert packed.startswith("verified  paper.zip/certificates/head.yaml\n")
    assert same[0] == same[1]


def test_folders_and_hidden_files_are_passed_over(
    members: Members, pack: Pack, capsys: pytest.CaptureFixture[str]
) -> None:
    pack({"certificates/": b"", **members, "__MACOSX/._head.yaml": b"x", ".hidden/a.yaml": b"x", "a.txt": b""})
    assert run(["check", "paper.zip", "--format", "github"]) == 0
    assert "1 of 1 certificates" in capsys.readouterr().out


def test_arrays_elsewhere_in_the_archive(members: Members, pack: Pack) -> None:
    text = members["certificates/head.yaml"].replace(b"head.npz", b"../data/head.npz")
    pack({"certificates/head.yaml": text, "data/head.npz": members["certificates/head.npz"]})
    assert run(["check", "paper.zip"]) == 0


@pytest.mark.parametrize("suffix", [".npy", ".safetensors", ".npz"])
def test_large_arrays_are_streamed(
    suffix: str, tmp_path: Path, pack: Pack, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("certattn.kernel.document.arrays._KEEP_BYTES", 16)
    rng = np.random.default_rng(4)
    arrays = {name: rng.normal(size=(50, 2)) for name in ("keys", "values", "queries")}
    if suffix == ".npz":
        np.savez("head.npz", **arrays)
    else:
        for name, array in arrays.items():
            write_one(Path(f"{name}{suffix}"), name, array)
    stated = "\n".join(f"  {name}: {reference(name, suffix)}" for name in arrays)
    text = f"""\
certattn: 1
claim: output-deviation
given:
{stated}
  scale: 1
  limit: {{kind: empirical}}
asserts: {{deviation: {{norm: l2, at_most: 90}}}}
"""
    files = {path.name: path.read_bytes() for path in Path().iterdir() if path.suffix == suffix}
    pack({"head.yaml": text.encode(), **files}, zipfile.ZIP_DEFLATED)
    assert run(["check", "paper.zip"]) == 0, capsys.readouterr().out
    pack({"head.yaml": text.encode(), **{name: data + b"0" for name, data in files.items()}}, zipfile.ZIP_DEFLATED)
    assert run(["check", "paper.zip"]) == 2


def write_one(path: Path, name: str, array: np.ndarray[Any, Any]) -> None:
    if path.suffix == ".npy":
        np.save(path, array)
    else:
        raw = f'{{"{name}": {{"dtype": "F64", "shape": [50, 2], "data_offsets": [0, 800]}}}}'.encode()
        path.write_bytes(struct.pack("<Q", len(raw)) + raw + array.tobytes())


def reference(name: str, suffix: str) -> str:
    import hashlib

    file = "head.npz" if suffix == ".npz" else f"{name}{suffix}"
    array = "" if suffix == ".npy" else f", array: {name}"
    digest = hashlib.sha256(Path(file).read_bytes()).hexdigest()
    return f"{{file: {file}{array}, sha256: {digest}, dtype: float64, shape: [50, 2]}}"


# -- names and kinds of members


@pytest.mark.parametrize(
    "name",
    [
        "/etc/passwd", "../up.yaml", "a/../../up.yaml", "a/../b.yaml", "./a.yaml", "a//b.yaml", "a/./b.yaml",
        "C:\\a.yaml", "a\\b.yaml", "\\\\host\\a", "a\nb.yaml", "a\x1b[31m.yaml", "\u202eliame.yaml", "..", ".", "/",
    ],
)  # fmt: skip
def test_names_that_lead_elsewhere(name: str, members: Members, pack: Pack, capsys: pytest.CaptureFixture[str]) -> None:
    pack({**members, name: b"x"})
    said = refused(capsys)
    assert "found:    the name '" in said
    assert "paths that lead down" in said


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a.yaml", "a.yaml"), ("a.yaml", "A.yaml"), ("a", "a/b.yaml"), ("A", "a/b.yaml"), ("a/b", "a/b/c/d"),
        ("\u00e9.yaml", "e\u0301.yaml"), ("a/", "A"), ("stra\u00dfe", "strasse"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_names_for_one_place(
    one: str, other: str, members: Members, pack: Pack, capsys: pytest.CaptureFixture[str]
) -> None:
    content = {zipfile.ZipInfo(name): b"" if name.endswith("/") else b"x" for name in (one, other)}
    pack({**members, **content})
    assert "no two names for one place" in refused(capsys)


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFSOCK, stat.S_IFDIR])
def test_links_and_devices(kind: int, members: Members, pack: Pack, capsys: pytest.CaptureFixture[str]) -> None:
    info = zipfile.ZipInfo("certificates/link.npz")
    info.external_attr = (kind | 0o777) << 16
    pack({**members, info: b"/etc/hostname"})
    assert "which is a link or no file" in refused(capsys)


def test_a_name_with_a_nul(members: Members, pack: Pack, capsys: pytest.CaptureFixture[str]) -> None:
    path = pack({**members, "a.yamlX.txt": b"x"})
    path.write_bytes(path.read_bytes().replace(b"a.yamlX.txt", b"a.yaml\0.txt"))
    assert "the name 'a.yaml\\x00.txt'" in refused(capsys)


def test_a_name_that_is_not_utf8(members: Members, pack: Pack, capsys: pytest.CaptureFixture[str]) -> None:
    path = pack({**members, "\u00e9\u00e9.yaml": b"x"})
    path.write_bytes(path.read_bytes().replace("\u00e9\u00e9".encode(), b"\xff\xfe\xff\xfe"))
    assert "a broken archive" in refused(capsys)


def test_a_name_in_an_old_encoding(members: Members, pack: Pack, capsys: pytest.CaptureFixture[str]) -> None:
    path = pack({**members, "ee.yaml": b"x"})
    path.write_bytes(path.read_bytes().replace(b"ee.yaml", b"\x82e.yaml"))
    assert "names in UTF-8" in refused(capsys)


def test_a_second_name_in_an_extra_field(members: Members, pack: Pack, capsys: pytest.CaptureFixture[str]) -> None:
    other = b"b.yaml"
    info = zipfile.ZipInfo("a.txt")
    info.extra = struct.pack("<HHBI", 0x7075, 5 + len(other), 1, 0) + other
    pack({**members, info: b"x"})
    assert "paper.zip" in refused(capsys)


def test_a_name_that_differs_in_the_two_headers(
    members: Members, pack: Pack, capsys: pytest.CaptureFixture[str]
) -> None:
    path = pack(members)
    data = path.read_bytes()
    first = data.index(b"certificates/head.yaml")
    path.write_bytes(data[:first] + b"certificates/tail.yaml" + data[first + 22 :])
    assert "a broken member" in refused(capsys)


# -- what else an archive may not be


@pytest.mark.parametrize("flag", [0x1, 0x40])
def test_encrypted(flag: int, members: Members, pack: Pack, capsys: pytest.CaptureFixture[str]) -> None:
    path = pack(members)
    data = bytearray(path.read_bytes())
    for match in re.finditer(rb"PK\x01\x02", bytes(data)):
        data[match.start() + 8] |= flag
    path.write_bytes(data)
    assert "an encrypted member" in refused(capsys)


@pytest.mark.parametrize("compression", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_unusual_compression(
    compression: int, members: Members, pack: Pack, capsys: pytest.CaptureFixture[str]
) -> None:
    pack(members, compression)
    assert "an unusual compression" in refused(capsys)


def test_a_bomb(members: Members, pack: Pack, capsys: pytest.CaptureFixture[str]) -> None:
    pack({**members, **{f"zeros/{i}": bytes(2**23) for i in range(9)}}, zipfile.ZIP_DEFLATED)
    assert "at most 100 times its size" in refused(capsys)


def test_members_that_overlap(members: Members, pack: Pack, capsys: pytest.CaptureFixture[str]) -> None:
    path = pack({**members, "a.txt": b"x", "b.txt": b"x"})
    data = bytearray(path.read_bytes())
    one, other = (match.start() for match in list(re.finditer(rb"PK\x01\x02", bytes(data)))[-2:])
    data[other + 42 : other + 46] = data[one + 42 : one + 46]
    path.write_bytes(data)
    assert "members that overlap" in refused(capsys)


def test_too_many_members(pack: Pack, capsys: pytest.CaptureFixture[str]) -> None:
    pack({f"{i}.yaml": b"" for i in range(MOST_MEMBERS + 1)})
    assert f"at most {MOST_MEMBERS}" in refused(capsys)


def test_a_directory_of_any_length(members: Members, pack: Pack, capsys: pytest.CaptureFixture[str]) -> None:
    path = pack(members)
    data = path.read_bytes()
    (size,) = struct.unpack_from("<I", data, len(data) - 10)
    for claimed in (size + 1, 2**31, 2**32 - 1):
        path.write_bytes(data[:-10] + struct.pack("<I", claimed) + data[-6:])
        refused(capsys)


@pytest.mark.parametrize("before", [b"#!/bin/sh\n", b"x"])
def test_bytes_before_the_archive(
    before: bytes, members: Members, pack: Pack, capsys: pytest.CaptureFixture[str]
) -> None:
    path = pack(members)
    path.write_bytes(before + path.read_bytes())
    assert "an archive and nothing else" in refused(capsys)


def test_two_archives_in_one(members: Members, pack: Pack, capsys: pytest.CaptureFixture[str]) -> None:
    first = pack({"other.yaml": b"x"}).read_bytes()
    path = pack(members)
    path.write_bytes(first + path.read_bytes())
    assert "an archive and nothing else" in refused(capsys)


@pytest.mark.parametrize("comment", [b"x", b"PK\x05\x06" + bytes(18)])
def test_a_comment(comment: bytes, members: Members, pack: Pack, capsys: pytest.CaptureFixture[str]) -> None:
    path = pack(members)
    with zipfile.ZipFile(path, "a") as archive:
        archive.comment = comment
    refused(capsys)


@pytest.mark.parametrize("content", [b"", b"PK", b"PK\x05\x06" + bytes(18), bytes(1000), b"PK\x03\x04" + bytes(1000)])
def test_no_archive(content: bytes, tmp_path: Path, pack: Pack, capsys: pytest.CaptureFixture[str]) -> None:
    Path("paper.zip").write_bytes(content)
    refused(capsys)


def test_every_cut_is_refused(members: Members, pack: Pack) -> None:
    path = pack(members)
    data = path.read_bytes()
    for stop in range(0, len(data), 37):
        path.write_bytes(data[:stop])
        with pytest.raises(MalformedError), open_archive(path):
            pass


# -- what is in the members


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("name", ["head.yaml", "head.npz"])
def test_every_damaged_byte_is_found(
    name: str, compression: int, members: Members, pack: Pack, capsys: pytest.CaptureFixture[str]
) -> None:
    path = pack(members, compression)
    with zipfile.ZipFile(path) as archive:
        info = archive.getinfo(f"certificates/{name}")
    start = info.header_offset + 30 + len(info.filename)
    data = path.read_bytes()
    # Not the ends: whether a compressed block is said to be the last one, and what fills its last byte, is no content.
    for place in range(start + 1, start + info.compress_size - 1, info.compress_size // 5):
        path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        refused(capsys)


@pytest.mark.parametrize("claimed", [1, 10**6])
def test_a_size_that_lies(claimed: int, members: Members, pack: Pack, capsys: pytest.CaptureFixture[str]) -> None:
    path = pack(members, zipfile.ZIP_DEFLATED)
    data = bytearray(path.read_bytes())
    for match in re.finditer(rb"PK\x01\x02", bytes(data)):
        struct.pack_into("<I", data, match.start() + 24, claimed)
    path.write_bytes(data)
    refused(capsys)


def test_other_arrays(members: Members, pack: Pack, capsys: pytest.CaptureFixture[str]) -> None:
    arrays = dict(np.load(io.BytesIO(members["certificates/head.npz"])))
    arrays["keys"][0, 0] += 1
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    pack({**members, "certificates/head.npz": buffer.getvalue()})
    assert "the array file is not the one that the certificate is about" in refused(capsys)


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("missing.npz", "no such file in the archive"),
        ("../../head.npz", "a path inside the archive"),
        ("/head.npz", "a path inside the archive"),
        ("..\\\\head.npz", "a path inside the archive"),
        ("..", "a path inside the archive"),
        ("head.txt", "a file ending in one of"),
        ("head", "a file ending in one of"),
        ("../paper.zip/certificates/head.npz", "no such file in the archive"),
    ],
)
def test_references_that_lead_elsewhere(
    file: str, said: str, members: Members, pack: Pack, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("head.npz").write_bytes(members["certificates/head.npz"])
    text = members["certificates/head.yaml"].replace(b"file: head.npz", f'file: "{file}"'.encode())
    pack({**members, "certificates/head.yaml": text, "certificates/head.txt": members["certificates/head.npz"]})
    assert said in refused(capsys)


def test_limits_hold_in_archives(members: Members, pack: Pack, capsys: pytest.CaptureFixture[str]) -> None:
    path = pack(members)
    for option, size in (("--max-document-bytes", 100), ("--max-tensor-bytes", 100), ("--max-nodes", 3)):
        assert run(["check", str(path), option, str(size)]) == 2
    with pytest.raises(MalformedError), open_archive(path, Limits(max_tensor_bytes=10, max_document_bytes=10)):
        pass


@pytest.mark.parametrize("content", [b"\xff", b"certattn: 1\n", b"certattn: 1\r\nclaim: x\tgiven: {}\n"])
def test_members_that_are_no_certificates(content: bytes, pack: Pack, capsys: pytest.CaptureFixture[str]) -> None:
    pack({"a.yaml": content})
    assert refused(capsys).startswith("malformed  paper.zip/a.yaml\n")


# -- the command line


def test_nothing_to_check(pack: Pack, capsys: pytest.CaptureFixture[str]) -> None:
    pack({"README.txt": b"x"})
    assert "no certificates (.yaml or .yml) in this archive" in refused(capsys)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--report", "json=paper.zip"], "would be an input by its name"),
        (["--root", "."], "leave out --root"),
        (["--strict"], "the second checker reads no archive; unpack it"),
        (["other.yaml"], "an archive is checked by itself"),
        (["--locked"], "no such file in the archive"),
    ],
)
def test_what_an_archive_does_not_go_with(
    options: list[str], said: str, members: Members, pack: Pack, capsys: pytest.CaptureFixture[str]
) -> None:
    pack(members)
    assert run(["check", "paper.zip", *options]) == 2
    assert said in capsys.readouterr().err
