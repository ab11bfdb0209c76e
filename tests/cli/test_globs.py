"""Patterns match what glob matches, and what cannot be read is an error."""

from __future__ import annotations

import glob
import os
from pathlib import Path

import pytest

from certattn.cli import globs

FILES = [
    "a.yaml",
    "b.yml",
    ".hidden.yaml",
    "x/a.yaml",
    "x/y/a.yaml",
    "x/.h/a.yaml",
    "[x]/a.yaml",
    "z/b1.yaml",
    "z/b2.yaml",
]


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for file in FILES:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "pattern",
    [
        "*.yaml", "*/*.yaml", "**/*.yaml", "x/**/a.yaml", "z/b?.yaml", "z/b[!1].yaml", "[[]x]/*", "./z/*", "x/../z/*",
        ".*.yaml", "none/*.yaml", "a.yaml/*", "x/.h/*", "**/y/*",
    ],
)  # fmt: skip
def test_as_glob_does(tree: Path, pattern: str) -> None:
    wanted = sorted({Path(match) for match in glob.glob(pattern, recursive=True)})  # noqa: PTH207 - the reference
    assert globs.matching(pattern) == wanted
    assert globs.matching(str(tree / pattern)) == [tree / match for match in wanted]


@pytest.mark.parametrize("pattern", ["w/**/*.yaml", "w/*/*.yaml", "w/s*/a.yaml"])
def test_a_folder_that_cannot_be_read_is_an_error(tree: Path, monkeypatch: pytest.MonkeyPatch, pattern: str) -> None:
    (tree / "w" / "sub").mkdir(parents=True)
    (tree / "w" / "a.yaml").touch()
    scandir, listdir = os.scandir, os.listdir

    def refused(path: object) -> None:
        # As for a user without rights; the tests may run as root.
        if Path(str(path)).name == ("w" if "s*" in pattern else "sub"):
            raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "scandir", lambda path=".": (refused(path), scandir(path))[1])
    monkeypatch.setattr(os, "listdir", lambda path=".": (refused(path), listdir(path))[1])
    with pytest.raises(PermissionError):
        globs.matching(pattern)
