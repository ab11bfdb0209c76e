"""Compiled lemmas: once for a run, in a folder that nobody else may write to, and never taken from elsewhere."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from certattn.coq.compiled import CompiledLibrary, compiled_library
from certattn.coq.coqc import Coq
from certattn.coq.export import library_text
from certattn.kernel.errors import UsageError


def compiler(tmp_path: Path, status: int) -> tuple[Coq, Path]:
    """A program in the place of coqc that notes what it is called with, and the file with these notes."""
    program, notes = tmp_path / "coqc", tmp_path / "notes"
    program.write_text(
        f'#!/bin/sh\nfor file; do :; done\necho "${{file##*/}}" >> {notes}\necho strange >&2\nexit {status}\n'
    )
    program.chmod(0o755)
    return Coq(str(program), 60, 2**33), notes


def test_each_module_is_compiled_once(tmp_path: Path) -> None:
    coq, notes = compiler(tmp_path, 0)
    with compiled_library() as library:
        library.provide(["Statements", "Digits"], coq)
        library.provide(["Statements", "Integers"], coq)
        assert (library.folder / "Integers.v").read_text() == library_text("Integers")
    assert notes.read_text().split() == ["Statements.v", "Digits.v", "Integers.v"]


def test_a_module_that_does_not_compile_is_not_taken_for_compiled(tmp_path: Path) -> None:
    coq, notes = compiler(tmp_path, 1)
    with compiled_library() as library:
        for _ in range(2):
            # That this Coq is of no use says nothing of a certificate: no RejectedError.
            with pytest.raises(
                UsageError, match=r"(?s)apt-get install coq libcoq-interval.*Nothing was tried.*strange"
            ):
                library.provide(["Statements", "Digits"], coq)
    assert notes.read_text().split() == ["Statements.v"] * 2


def test_what_lies_in_the_folder_is_compiled_anew(tmp_path: Path) -> None:
    """Somebody's compiled module, of a text that is certattn's own."""
    coq, notes = compiler(tmp_path, 0)
    (tmp_path / "library").mkdir()
    for name, text in (("Statements.v", library_text("Statements")), ("Statements.vo", "")):
        (tmp_path / "library" / name).write_text(text)
    CompiledLibrary(tmp_path / "library").provide(["Statements"], coq)
    assert notes.read_text().split() == ["Statements.v"]


def test_no_other_user_may_write_there_and_nothing_is_kept(tmp_path: Path) -> None:
    coq, _ = compiler(tmp_path, 0)
    with compiled_library() as library, compiled_library() as another:
        library.provide(["Statements"], coq)
        assert library.folder != another.folder
        assert stat.S_IMODE(library.folder.parent.stat().st_mode) == 0o700
    assert not library.folder.parent.exists()
