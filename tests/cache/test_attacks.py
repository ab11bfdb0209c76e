"""Attempts to get `verified` for what is not: from somebody who writes certificates, arrays, entries or folders."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import sys
import time
import types
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from certattn.cache import cache, program
from certattn.cache.cache import Cache
from certattn.cache.entries import Entries
from certattn.cache.errors import UnbelievedError, UnusableError
from certattn.cache.folder import KEY
from certattn.kernel.checker import CheckOptions
from certattn.kernel.verdict import Verdict

from .conftest import Ask

Entry = Callable[[], list[Path]]


def entry_of(path: str) -> tuple[str, str]:
    """Program and question of a certificate, which are its entry's place."""
    opened = Cache()
    question = opened._question(Path(path), CheckOptions())
    assert question is not None
    return opened._program, question.name


# -- who writes the certificate


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        ("[[1/2]]", "[[1/3]]", "refuted"),
        ("[[1/2]]", "[[.5]]", "malformed"),
        ("values: [[0], [1]]", "values: [[0], [3]]", "refuted"),
        ("radius: 1e-9", "radius: -1e-9", "malformed"),
        ("certattn: 1", "certattn: 2", "malformed"),
        ("note: an example", "note: &a example", "malformed"),
        ("provenance:", "witness:", "malformed"),
    ],
)
def test_a_changed_certificate(ask: Ask, folder: Path, old: str, new: str, verdict: str) -> None:
    assert ask("true.yaml").verdicts == ["verified"]
    text = (folder / "true.yaml").read_text()
    assert old in text
    (folder / "true.yaml").write_text(text.replace(old, new))
    assert ask("true.yaml").verdicts == [verdict]


def test_a_false_certificate_beside_a_true_one(ask: Ask) -> None:
    for _ in range(2):
        assert ask("true.yaml", "false.yaml").verdicts[1] == "refuted"


def test_a_certificate_that_is_another_one_when_it_is_checked(ask: Ask, entries: Entry, folder: Path) -> None:
    """A false certificate is hashed, a true one checked, and the false one put back."""
    false, true = (folder / "false.yaml").read_bytes(), (folder / "true.yaml").read_bytes()
    asked = ask("false.yaml", before=lambda: (folder / "false.yaml").write_bytes(true))
    assert asked.verdicts == ["malformed"]
    assert "which the file had a moment ago" in asked.reports[0].reason
    assert entries() == []
    (folder / "false.yaml").write_bytes(false)
    assert ask("false.yaml").verdicts == ["refuted"]


def test_a_certificate_that_appears_when_it_is_checked(ask: Ask, entries: Entry, folder: Path) -> None:
    """It could not be hashed before, so nothing is noted of it."""
    true = (folder / "true.yaml").read_bytes()
    assert ask("late.yaml", before=lambda: (folder / "late.yaml").write_bytes(true)).verdicts == ["verified"]
    assert entries() == []


# -- who writes the array files


@pytest.mark.parametrize("what", ["another", "longer", "gone", "link", "pipe", "folder", "unreadable link"])
def test_a_changed_array_file(ask: Ask, folder: Path, tmp_path: Path, what: str) -> None:
    assert ask("true.yaml").verdicts == ["verified"]
    file = folder / "keys.npy"
    data = file.read_bytes()
    if what == "longer":
        file.write_bytes(data + b"\0")
    elif what == "another":
        np.save(file, np.array([[0], [1]], "float32"))
    else:
        file.unlink()
        (tmp_path / "elsewhere.npy").write_bytes(data)
    if what == "link":
        file.symlink_to(tmp_path / "elsewhere.npy")
    elif what == "pipe":
        os.mkfifo(file)
    elif what == "folder":
        file.mkdir()
    elif what == "unreadable link":
        file.symlink_to(file)
    asked = ask("true.yaml")
    assert asked.verdicts == ["malformed"]
    assert asked.checked == ["true.yaml"]
    assert asked.told == []


def test_an_array_file_elsewhere_needs_the_root_each_time(ask: Ask, folder: Path, tmp_path: Path) -> None:
    (folder / "keys.npy").rename(tmp_path / "keys.npy")
    (folder / "keys.npy").symlink_to(tmp_path / "keys.npy")
    larger = CheckOptions(root=tmp_path)
    assert [ask("true.yaml", options=larger).verdicts for _ in range(2)] == [["verified"], ["verified*"]]
    assert ask("true.yaml").verdicts == ["malformed"]


def test_the_same_certificate_where_the_array_is_another(ask: Ask, folder: Path) -> None:
    ask("true.yaml")
    (folder / "other").mkdir()
    shutil.copy("true.yaml", "other")
    np.save("other/keys.npy", np.ones((2, 1), "float64"))
    assert ask("other/true.yaml").verdicts == ["malformed"]


def test_an_array_file_that_is_another_one_when_it_is_checked(ask: Ask, entries: Entry, folder: Path) -> None:
    asked = ask("true.yaml", before=lambda: (folder / "keys.npy").write_bytes(b"something else"))
    assert asked.verdicts == ["malformed"]
    assert entries() == []


# -- who writes entries


def test_every_byte_of_an_entry_counts(ask: Ask, home: Path, entries: Entry) -> None:
    ask("true.yaml")
    (file,) = entries()
    data, place = file.read_bytes(), (file.parent.name, file.name)
    reader = Entries(home, (home / KEY).read_bytes())
    assert reader.read(*place) is not None
    changed = [data[:at] + bytes([data[at] ^ 1 << at % 8]) + data[at + 1 :] for at in range(len(data))]
    for wrong in (*changed, *(data[:length] for length in range(0, len(data), 7)), data + b"\n", data + data):
        file.write_bytes(wrong)
        with pytest.raises(UnbelievedError):
            reader.read(*place)


def test_a_damaged_entry_is_said_once_and_made_anew(ask: Ask, entries: Entry) -> None:
    ask("true.yaml")
    (file,) = entries()
    data = bytearray(file.read_bytes())
    data[-10] ^= 4
    file.write_bytes(data)
    asked = ask("true.yaml")
    assert asked.verdicts == ["verified"]
    (told,) = asked.told
    assert "not believed, so checked anew: the entry of true.yaml: its tag is not right" in told
    assert ask("true.yaml").verdicts == ["verified*"]


def test_an_entry_at_the_place_of_another(ask: Ask, home: Path, entries: Entry) -> None:
    ask("true.yaml")
    (file,) = entries()
    name, question = entry_of("false.yaml")
    shutil.copy(file, home / name / question)
    asked = ask("false.yaml")
    assert asked.verdicts == ["refuted"]
    assert len(asked.told) == 1


def test_an_entry_of_another_program(ask: Ask, home: Path, entries: Entry, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another kernel does not look at it; put at the place of that kernel's, it has the wrong tag."""
    ask("true.yaml")
    (file,) = entries()
    monkeypatch.setattr(cache, "program_digest", lambda: "ab" * 32)
    asked = ask("true.yaml", noting=False)
    assert (asked.verdicts, asked.told) == (["verified"], [])
    (home / ("ab" * 32)).mkdir()
    shutil.copy(file, home / ("ab" * 32))
    asked = ask("true.yaml")
    assert asked.verdicts == ["verified"]
    assert "tag is not right" in asked.told[0]


def test_an_entry_by_a_key_of_ones_own(ask: Ask, home: Path) -> None:
    """For a false certificate, as a cache would have noted it of a true one."""
    report = ask("true.yaml").reports[0]
    content = json.dumps({"time": int(time.time()), "report": report.to_dict()}).encode()
    Entries(home, b"\0" * 32).write(*entry_of("false.yaml"), content)
    asked = ask("false.yaml")
    assert asked.verdicts == ["refuted"]
    assert len(asked.told) == 1


def test_a_folder_that_brings_its_own_key(ask: Ask, tmp_path: Path) -> None:
    """As from an archive, which keeps modes and gives all files to who unpacks it."""
    report = ask("true.yaml").reports[0]
    theirs = tmp_path / "theirs"
    theirs.mkdir(mode=0o700)
    (theirs / KEY).write_bytes(b"\1" * 32)
    (theirs / KEY).chmod(0o600)
    content = json.dumps({"time": int(time.time()), "report": report.to_dict()}).encode()
    Entries(theirs, b"\1" * 32).write(*entry_of("false.yaml"), content)
    asked = ask("false.yaml", cache_dir=theirs)
    assert asked.verdicts == ["refuted"]
    assert "tag is not right" in asked.told[0]


@pytest.mark.parametrize(
    "change",
    [
        {"verdict": Verdict.REFUTED.value},
        {"verdict": "proved"},
        {"counts": {}},
        {"counts": {"proved": 1, "refuted": 1}},
        {"cached": "2026-01-01T00:00:00Z"},
        {"arrays": [["keys.npy"]]},
        {"unknown": 1},
    ],
)
def test_an_authentic_entry_that_is_no_proof(ask: Ask, home: Path, change: dict[str, object]) -> None:
    """Such a one is never written; should a bug write it, it is not believed."""
    report = ask("true.yaml").reports[0].to_dict()
    content = json.dumps({"time": int(time.time()), "report": {**report, **change}}).encode()
    Entries(home, (home / KEY).read_bytes()).write(*entry_of("false.yaml"), content)
    asked = ask("false.yaml")
    assert asked.verdicts == ["refuted"]
    assert len(asked.told) == 1


def test_a_clock_that_was_set_back(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time()
    monkeypatch.setattr(cache.time, "time", lambda: now + 3600)
    ask("true.yaml")
    assert ask("true.yaml").verdicts == ["verified*"]
    monkeypatch.setattr(cache.time, "time", lambda: now)
    asked = ask("true.yaml")
    assert asked.verdicts == ["verified"]
    assert "from the future" in asked.told[0]
    assert ask("true.yaml").verdicts == ["verified*"]


# -- who puts other things in the place of an entry


def _database(file: Path) -> None:
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE entries (verdict TEXT)")
    connection.close()


@pytest.mark.parametrize(
    "put",
    [
        lambda file: file.write_bytes(b""),
        lambda file: file.write_bytes(b"certattn-cache 1\n"),
        lambda file: file.write_bytes(b"certattn-cache 2\n" + b"0" * 64 + b"{}"),
        lambda file: file.write_bytes(b"\0" * (2**24 + 1)),
        _database,
        os.mkfifo,
        Path.mkdir,
        lambda file: file.symlink_to(file),
        lambda file: file.symlink_to(file.parent.parent / "kept"),
    ],
    ids=["empty", "head", "version", "huge", "database", "pipe", "folder", "loop", "link to an authentic one"],
)
def test_something_else_at_the_place_of_an_entry(
    ask: Ask, home: Path, entries: Entry, put: Callable[[Path], object]
) -> None:
    ask("true.yaml")
    (file,) = entries()
    file.rename(home / "kept")
    put(file)
    asked = ask("true.yaml")
    assert asked.verdicts == ["verified"]
    assert asked.told
    assert asked.told[0].startswith("not believed, so checked anew: the entry of true.yaml: ")


# -- who can write folders or the key


def refused(match: str) -> None:
    with pytest.raises(UnusableError, match=match):
        Cache()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o666, 0o601])
def test_a_key_that_is_open_to_others(ask: Ask, home: Path, mode: int) -> None:
    ask("true.yaml")
    (home / KEY).chmod(mode)
    refused(f"key is open to others .mode {mode:04o}.; remove it")


@pytest.mark.parametrize("length", [0, 31, 33, 1000])
def test_a_key_of_another_length(ask: Ask, home: Path, length: int) -> None:
    ask("true.yaml")
    (home / KEY).write_bytes(b"k" * length)
    refused("key is no key of 32 bytes")


def test_a_key_that_is_a_link_a_pipe_or_a_folder(ask: Ask, home: Path) -> None:
    ask("true.yaml")
    (home / KEY).rename(home / "kept")
    (home / KEY).symlink_to("kept")
    refused("key cannot be used")
    (home / KEY).unlink()
    os.mkfifo(home / KEY, 0o600)
    refused("key cannot be used .not a regular file")
    (home / KEY).unlink()
    (home / KEY).mkdir(0o700)
    refused("key cannot be used")


@pytest.mark.parametrize("mode", [0o750, 0o705, 0o770, 0o777, 0o1777])
def test_a_folder_that_is_open_to_others(ask: Ask, home: Path, mode: int) -> None:
    ask("true.yaml")
    home.chmod(mode)
    refused("certattn is open to others")


def test_a_folder_that_is_a_link(ask: Ask, home: Path) -> None:
    ask("true.yaml")
    home.rename(home.with_name("real"))
    home.symlink_to("real")
    refused("certattn is a link")


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_folder_above_that_others_may_change(ask: Ask, home: Path, mode: int) -> None:
    ask("true.yaml")
    home.parent.chmod(mode)
    refused("home, which is above the cache, may be changed by others")
    home.parent.chmod(mode | 0o1000)  # as that of /tmp, where others cannot replace what is mine
    assert ask("true.yaml").verdicts == ["verified*"]


def test_a_folder_and_a_key_of_another_user(ask: Ask, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ask("true.yaml")
    me = os.geteuid()
    monkeypatch.setattr("certattn.cache.folder.os.geteuid", lambda: me + 1)
    refused(f"certattn belongs to the user {me}; expected a folder of your own")
    answers = iter([me, *[me] * len(home.parents), me + 1])
    monkeypatch.setattr("certattn.cache.folder.os.geteuid", lambda: next(answers))
    refused(f"belongs to the user {me}")


def test_a_folder_that_is_a_file(home: Path) -> None:
    home.parent.mkdir()
    home.write_text("")
    refused("certattn cannot be used")


# -- which program decides


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the kernel's sources, taken for the ones that run; as if this program began in an hour."""
    copy = tmp_path / "kernel"
    shutil.copytree(Path(program.certattn.kernel.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(program.certattn.kernel, "__path__", [str(copy)])
    monkeypatch.setattr(program, "IMPORTED_NS", time.time_ns() + 3600 * 10**9)
    monkeypatch.setattr(program.sys, "dont_write_bytecode", False)
    return copy


def test_every_change_of_the_kernel_is_another_program(kernel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [program.program_digest(), program.program_digest()]
    assert found[0] == found[1]
    module = kernel / "verdict.py"
    module.write_text(module.read_text().replace("(value <= bound) is True", "(value >= bound) is True"))
    found.append(program.program_digest())
    module.rename(kernel / "other.py")
    found.append(program.program_digest())
    (kernel / "other.py").unlink()
    found.append(program.program_digest())
    for name in ("OPENBLAS_CORETYPE", "PYTHONHASHSEED", "LD_PRELOAD", "NPY_DISABLE_CPU_FEATURES"):
        monkeypatch.setenv(name, "1")
        found.append(program.program_digest())
    monkeypatch.setattr(program.sys, "version", "3.11.99")
    found.append(program.program_digest())
    monkeypatch.setattr(program, "_processor", lambda: ["flags: none"])
    found.append(program.program_digest())
    monkeypatch.setattr(program.flint, "__FLINT_VERSION__", "3.99.0")
    found.append(program.program_digest())
    assert len(set(found)) == len(found) - 1


def test_a_library_that_was_exchanged_is_another_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package, listed = tmp_path / "tame", tmp_path / "Tame_Lib-1.0.dist-info"
    package.mkdir()
    listed.mkdir()
    (package / "__init__.py").write_text("")
    (package / "core.so").write_bytes(b"one")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(UnusableError, match="has no lists of the files of tame-lib"):
        program._library("tame", "tame-lib")
    (listed / "RECORD").write_text("tame/__init__.py,sha256=a,0\ntame/core.so,sha256=b,3\n")
    found = [program._library("tame", "tame-lib")]
    (package / "core.so").write_bytes(b"others")
    found.append(program._library("tame", "tame-lib"))
    (listed / "RECORD").write_text("tame/__init__.py,sha256=c,0\ntame/core.so,sha256=b,3\n")
    found.append(program._library("tame", "tame-lib"))
    assert found[0] != found[1] != found[2] != found[0]
    (package / "unlisted.so").touch()
    found.append(program._library("tame", "tame-lib"))
    assert found[3] != found[2]
    (package / "core.so").unlink()
    with pytest.raises(UnusableError, match="does not list what is installed"):
        program._library("tame", "tame-lib")
    with pytest.raises(UnusableError, match="not to be found"):
        program._library("no_such_library", "no-such-library")


def test_a_kernel_that_was_changed_after_the_start(kernel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "IMPORTED_NS", time.time_ns())
    with pytest.raises(UnusableError, match="was changed after this program had begun"):
        program.program_digest()


@pytest.mark.parametrize("home", [".", "x/..", ""])
def test_a_home_that_depends_on_the_working_folder(monkeypatch: pytest.MonkeyPatch, home: str) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", home)
    refused(f"HOME is {home!r}, expected a folder with its whole path")


def test_bytecode_of_other_content_is_another_program(kernel: Path) -> None:
    honest = program.program_digest()
    compiled = Path(program.cache_from_source(str(kernel / "verdict.py")))
    kept = compiled.read_bytes()
    # The header names size and time of the source; Python looks at nothing else.
    compiled.write_bytes(kept[:16] + kept[16:][::-1])
    assert program.program_digest() != honest
    compiled.write_bytes(kept)
    assert program.program_digest() == honest
    for other in ("verdict.abi3.so", "verdict/__init__.py", "_data.bin"):
        (kernel / other).parent.mkdir(exist_ok=True)
        (kernel / other).touch()
        assert program.program_digest() != honest
        (kernel / other).unlink()


def test_what_calls_the_kernel_is_part_of_the_program(kernel: Path) -> None:
    package = kernel.parent
    (package / "cli").mkdir()
    found = [program.program_digest()]
    for text in ("", "import a"):
        (package / "cli" / "check.py").write_text(text)
        found.append(program.program_digest())
    assert len(set(found)) == 3


def test_a_customization_without_a_place(kernel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("usercustomize")
    monkeypatch.setitem(sys.modules, "usercustomize", module)
    with pytest.raises(UnusableError, match="usercustomize was loaded from nobody knows where"):
        program.program_digest()


@pytest.mark.parametrize("name", ["evil.pth", "sitecustomize.py", "usercustomize.py"])
def test_what_runs_before_the_program_is_part_of_it(
    kernel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    packages = tmp_path / "site-packages"
    packages.mkdir()
    monkeypatch.syspath_prepend(str(packages))
    monkeypatch.setattr(program.site, "getsitepackages", lambda: [str(packages)])
    honest = program.program_digest()
    for text in ("import a", "import b"):
        (packages / name).write_text(text)
        found = program.program_digest()
        assert found != honest
        honest = found


def test_bytecode_that_may_be_of_an_older_source(kernel: Path) -> None:
    module = kernel / "verdict.py"
    compiled = Path(program.cache_from_source(str(module)))
    second = 1_600_000_000 * 10**9
    os.utime(module, ns=(second, second))
    program.program_digest()
    os.utime(module, ns=(second + 500, second + 500))
    os.utime(compiled, ns=(second + 400, second + 400))
    with pytest.raises(UnusableError, match="in the second in which it was compiled"):
        program.program_digest()
    os.utime(compiled, ns=(second + 600, second + 600))
    program.program_digest()


def test_a_kernel_without_sources(kernel: Path) -> None:
    shutil.rmtree(kernel)
    with pytest.raises(UnusableError, match="no source files"):
        program.program_digest()


def test_a_program_that_changes_while_it_checks(ask: Ask, entries: Entry, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter(["ab" * 32, "cd" * 32])
    monkeypatch.setattr(cache, "program_digest", lambda: next(answers))
    asked = ask("true.yaml")
    assert asked.verdicts == ["verified"]
    assert "was changed meanwhile" in asked.told[0]
    assert entries() == []
