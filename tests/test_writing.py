"""Writing certificates: what is written is read back, and files are whole or untouched."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from certattn.kernel.document.reader import UNSHOWN, parse_tree
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import MalformedError
from certattn.kernel.limits import DEFAULT_LIMITS
from certattn.writing import to_text, unflushed, write_atomically

DEEP = replace(DEFAULT_LIMITS, max_depth=100)


def read_back(text: str) -> Plain:
    return parse_tree(text, "f", DEEP).plain()


# -- writing, then reading, is the identity

AWKWARD = [
    "", " ", "  a", "a ", "- a", "-", "--- a", "---", "...", "null", "~", "true", "1.0", "0x1p0", "1e3", "a: b",
    "a:", ":", ": a", "#", "# a", "a #b", "a # b", "\n", "\n\n", "a\n", "\na", "a\nb", "a\n  b", " a\n b", "\xa0",
    "\xad", "\u200b", "�", "é", "数", "😀", "\U0010ffff", "\ue000", "'", '"', "''", "\\", "\\n", '\\"', "?", "? a",
    "a?", "!", "!!str", "&a", "*a", "%", "%TAG", "@", "`", "|", ">", "[", "]", "{", "}", ",", "a,b", "[1]", "a[1]",
    "{a: 1}", "<<", "=", "1:30", "2026-01-01", "sqrt(2)", "1/sqrt(32)", "x" * 200, "word " * 60, "it's", "-a", "--a",
    ("word " * 60).strip(), "x" * 1025, "x" * 3000, "a:b", "a :b", "a:,", "b\n'\"",
]  # fmt: skip
# What no document holds.
UNFIT = [
    "\t", "a\tb", "\r", "a\r\nb", "\0", "\x1b[31m", "\x7f", "\x85", "\u2028", "\u2029", "\u202e", "\ufeff", "\ud800",
    "\uffff", "a\u2028" * 60,
]  # fmt: skip
SHOWN = st.characters(exclude_categories=["Cs"]).filter(lambda character: not UNSHOWN.search(character))
TEXTS = st.sampled_from(AWKWARD) | st.text(SHOWN)
KEYS = st.from_regex(r"[A-Za-z][A-Za-z0-9_-]{0,20}", fullmatch=True)
TREES: st.SearchStrategy[Any] = st.recursive(
    TEXTS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)


@pytest.mark.parametrize("text", AWKWARD, ids=ascii)
def test_awkward_texts(text: str) -> None:
    trees: list[dict[str, Any]] = [{"a": text}, {"a": [text, text]}, {"a": [{"b": [text]}, [[text]]]}]
    for tree in trees:
        assert read_back(to_text(tree)) == tree


@pytest.mark.parametrize("text", UNFIT, ids=ascii)
def test_what_no_document_holds_is_written_so_that_it_is_refused(text: str) -> None:
    trees: list[dict[str, Any]] = [{"a": text}, {"a": [text]}, {"a": [["b"], text]}]
    for tree in trees:
        with pytest.raises(MalformedError, match="a value"):
            read_back(to_text(tree))


@pytest.mark.parametrize("key", ["", "a b", "a:", "1", "é", "'a'", "a\n", "k" * 101, "\x1b", "-", "{a"], ids=ascii)
def test_what_is_no_key_is_written_so_that_it_is_refused(key: str) -> None:
    trees: list[dict[str, Any]] = [{key: "1"}, {"a": {key: "1"}}, {"a": [{key: ["1"]}]}]
    for tree in trees:
        with pytest.raises(MalformedError):
            read_back(to_text(tree))


@given(st.dictionaries(KEYS, TREES, min_size=1, max_size=4))
@example({"a": {}, "b": [], "c": [[], {}]})
def test_any_tree(tree: dict[str, Plain]) -> None:
    assert read_back(to_text(tree)) == tree


@given(st.dictionaries(KEYS, TREES, min_size=1, max_size=4))
def test_what_is_read_is_written_as_it_was(tree: dict[str, Plain]) -> None:
    text = to_text(tree)
    again = read_back(text)
    assert isinstance(again, dict)
    assert to_text(again) == text


@given(st.dictionaries(KEYS, TREES, min_size=1, max_size=4))
def test_other_readers_of_yaml_read_what_is_written(tree: dict[str, Plain]) -> None:
    for loader in (yaml.CBaseLoader, yaml.BaseLoader):
        assert yaml.load(to_text(tree), Loader=loader) == tree


def test_the_order_of_keys_is_kept() -> None:
    tree: dict[str, Plain] = {"b": "1", "a": {"d": "2", "c": "3"}}
    assert to_text(tree) == "b: 1\na:\n  d: 2\n  c: 3\n"


def test_vectors_stand_on_a_line() -> None:
    assert to_text({"a": ["1", "1/2"], "b": [["1", "2"], ["3", "4"]]}) == "a: [1, 1/2]\nb:\n- [1, 2]\n- [3, 4]\n"


def test_lists_are_broken_behind_the_hundredth_column() -> None:
    numbers: list[Plain] = [f"{i}/7" for i in range(100, 130)]
    text = to_text({"a": numbers, "b": [{"c": numbers}]})
    first = "a: [" + ", ".join(map(str, numbers[:14])) + ",\n"
    assert text.startswith(first)
    assert len(first) == 102
    assert f"\n  {numbers[14]}, " in text
    assert f"\n    {numbers[14]}, " in text
    assert read_back(text) == {"a": numbers, "b": [{"c": numbers}]}


def test_texts_stay_on_their_line() -> None:
    tree: dict[str, Plain] = {"a": "word " * 100 + "end", "b": "two\nlines: " + "word " * 100}
    assert to_text(tree) == f'a: {tree["a"]}\nb: "two\\nlines: {"word " * 100}"\n'


def test_a_deep_tree() -> None:
    tree: Plain = "leaf"
    for level in range(40):
        tree = {"a": tree} if level % 2 else [tree]
    assert isinstance(tree, dict)
    assert read_back(to_text(tree)) == tree


# -- files


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_new_file(tmp_path: Path) -> None:
    write_atomically(tmp_path / "x.yaml", b"a: 1\n")
    assert files(tmp_path) == {"x.yaml": b"a: 1\n"}


def test_a_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_bytes(b"before, and longer")
    write_atomically(tmp_path / "x.yaml", b"after")
    assert files(tmp_path) == {"x.yaml": b"after"}


def test_a_file_in_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_atomically(Path("x.yaml"), b"a: 1\n")
    assert files(tmp_path) == {"x.yaml": b"a: 1\n"}


def test_the_longest_name(tmp_path: Path) -> None:
    name = "n" * 250 + ".yaml"
    write_atomically(tmp_path / name, b"a: 1\n")
    assert files(tmp_path) == {name: b"a: 1\n"}


def test_the_permissions_are_those_of_a_new_file(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_atomically(tmp_path / "x.yaml", b"a: 1\n")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "x.yaml").stat().st_mode) == 0o640


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"mine")
    (tmp_path / "x.yaml").symlink_to("target")
    write_atomically(tmp_path / "x.yaml", b"a: 1\n")
    assert files(tmp_path) == {"target": b"mine", "x.yaml": b"a: 1\n"}
    assert not (tmp_path / "x.yaml").is_symlink()


# -- refused, and nothing is written


def test_a_folder_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_atomically(tmp_path / "missing" / "x.yaml", b"a: 1\n")
    assert files(tmp_path) == {}


def test_a_file_for_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"mine")
    with pytest.raises(NotADirectoryError):
        write_atomically(tmp_path / "file" / "x.yaml", b"a: 1\n")
    assert files(tmp_path) == {"file": b"mine"}


def test_what_is_there_but_no_file_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "null").symlink_to("/dev/null")
    for name in ("pipe", "folder", "null"):
        with pytest.raises(OSError, match="not a regular file"):
            write_atomically(tmp_path / name, b"a: 1\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "null", "pipe"]
    with pytest.raises(OSError, match="not a regular file"):
        write_atomically(Path("/dev/null"), b"a: 1\n")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_a_folder_without_permission(tmp_path: Path, not_root: AbstractContextManager[None]) -> None:
    tmp_path.chmod(0o500)
    with not_root, pytest.raises(PermissionError):
        write_atomically(tmp_path / "x.yaml", b"a: 1\n")


def fail(*_: Any, **__: Any) -> Any:
    raise OSError(errno.ENOSPC, "No space left on device")


STEPS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "making the file": lambda patch: patch.setattr(tempfile, "mkstemp", fail),
    "flushing": lambda patch: patch.setattr(os, "fsync", fail),
    "setting permissions": lambda patch: patch.setattr(Path, "chmod", fail),
    "renaming": lambda patch: patch.setattr(Path, "replace", fail),
}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("before", [None, b"before"])
def test_a_full_disk_at_any_step(step: str, before: bytes | None, tmp_path: Path, monkeypatch: Any) -> None:
    path = tmp_path / "x.yaml"
    if before is not None:
        path.write_bytes(before)
    STEPS[step](monkeypatch)
    with pytest.raises(OSError, match="No space left on device"):
        write_atomically(path, b"a: 1\n")
    monkeypatch.undo()
    assert files(tmp_path) == ({} if before is None else {"x.yaml": before})


def test_an_interrupt_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(tmp_path / "x.yaml", b"a: 1\n")
    assert files(tmp_path) == {}


def test_a_real_limit_on_the_size_of_files(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_bytes(b"before")
    script = """
import resource, signal, sys
from pathlib import Path
from certattn.writing import write_atomically
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2**16, 2**16))
try:
    write_atomically(Path(sys.argv[1]), b"x" * 2**20)
except OSError as error:
    print(error.strerror)
"""
    command = [sys.executable, "-B", "-c", script, str(tmp_path / "x.yaml")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.stdout, result.stderr) == ("File too large\n", "")
    assert files(tmp_path) == {"x.yaml": b"before"}


def test_files_are_on_the_disk_before_they_have_their_name_except_where_that_is_not_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[set[str]] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: flushed.append({each.name for each in tmp_path.glob("*.yaml")}))
    write_atomically(tmp_path / "a.yaml", b"a")
    with unflushed():
        write_atomically(tmp_path / "b.yaml", b"b")
    write_atomically(tmp_path / "c.yaml", b"c")
    assert flushed == [set(), {"a.yaml", "b.yaml"}]
    assert files(tmp_path) == {"a.yaml": b"a", "b.yaml": b"b", "c.yaml": b"c"}
