"""`certattn bundle`: what is packed, byte for byte, and that a reader can check it in every way that it says."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import certattn

Run = Callable[..., Any]
Write = Callable[..., Path]


@pytest.fixture
def paper(folder: Path, head: Path, write: Write) -> Path:
    """A folder of two certificates, one of them about arrays."""
    write("verified", "paper/laws/operator.yaml")
    certattn.generate("output-deviation", folder / "paper/head.yaml", at_most="50", data="copy", **dict(np.load(head)))
    (folder / "paper/notes.txt").write_text("not for readers")
    return folder / "paper"


def names(archive: str = "paper.zip") -> list[str]:
    with zipfile.ZipFile(archive) as opened:
        return opened.namelist()


def read(name: str, archive: str = "paper.zip") -> str:
    with zipfile.ZipFile(archive) as opened:
        return opened.read(name).decode()


# -- what is packed


def test_everything_that_a_reader_needs(paper: Path, certattn_run: Run) -> None:
    done = certattn_run("bundle", "paper", "-o", "paper.zip")
    assert done.status == 0
    digest = hashlib.sha256(Path("paper.zip").read_bytes()).hexdigest()
    assert done.out == f"2 certificates and 1 array file in paper.zip\nsha256 {digest}\n"
    found = [name for name in names() if not name.startswith("second-checker/")]
    assert found == [
        "README.txt", "SHA256SUMS", "certattn.lock", "certificates/head.npz", "certificates/head.yaml",
        "certificates/laws/operator.yaml", "latex/certattn.bib", "latex/certattn.sty", "latex/statements.tex",
        "report.html", "versions.txt",
    ]  # fmt: skip
    assert "second-checker/__main__.py" in names()
    assert all(word in read("README.txt") for word in ("2 certificates", "report.html", "second-checker", "at most 50"))
    assert f"certattn {certattn.__version__}\n" in read("versions.txt")
    statements = read("latex/statements.tex")
    assert statements.count(r"\begin{certified}") == 2
    lock = read("certattn.lock")
    for digest in re.findall(r"statement: ([0-9a-f]{12})", lock):
        assert digest in statements
    # LaTeX may break it anywhere.
    assert "certificates/laws/operator.yaml" in re.sub(r"\\[a-z]+ ?|[^a-z/.]", "", statements)


def test_no_page(paper: Path, certattn_run: Run) -> None:
    assert certattn_run("bundle", "paper", "-o", "paper.zip", "--no-page").status == 0
    assert "report.html" not in names()
    assert "report.html" not in read("README.txt") + read("SHA256SUMS")


def test_nothing_of_this_machine(paper: Path, certattn_run: Run) -> None:
    assert certattn_run("bundle", paper, "-o", "paper.zip").status == 0
    with zipfile.ZipFile("paper.zip") as archive:
        for info in archive.infolist():
            assert info.date_time == (1980, 1, 1, 0, 0, 0)
            assert info.compress_type == zipfile.ZIP_STORED
            assert str(paper.parent).encode() not in archive.read(info)


@pytest.mark.heavy
def test_the_same_bytes_from_everywhere(paper: Path, certattn_run: Run, program: Any) -> None:
    assert certattn_run("bundle", "paper", "-o", "paper.zip", "-j1").status == 0
    shutil.copytree("paper", "elsewhere/again")
    for file in Path("elsewhere/again").rglob("*"):
        os.utime(file, (10**9, 10**9))
        file.chmod(0o700)
    environment = {"TZ": "Asia/Tokyo", "LC_ALL": "C", "PYTHONHASHSEED": "7"}
    done = program("bundle", "elsewhere/again", "-o", "other.zip", "-j2", env=environment)
    assert done.returncode == 0, done.stderr
    assert Path("other.zip").read_bytes() == Path("paper.zip").read_bytes()


# -- what a reader does with it


def test_a_reader_checks_the_archive(paper: Path, certattn_run: Run) -> None:
    certattn_run("bundle", "paper", "-o", "paper.zip")
    shutil.rmtree("paper")
    done = certattn_run("check", "paper.zip", "--locked", "--no-unlocked")
    assert done.status == 0
    assert done.out.endswith("2 certificates: 2 verified\n")


def test_what_opens_archives_is_counted_among_what_a_verdict_rests_on(paper: Path, certattn_run: Run) -> None:
    certattn_run("bundle", "paper", "-o", "paper.zip")
    reports = json.loads(certattn_run("check", "paper.zip", "--format", "json").out)["reports"]
    (inside,) = (report["rests_on"] for report in reports if report["path"].endswith("head.yaml"))
    alone = certattn.check("paper/head.yaml").rests_on
    assert inside["uses"] == [*alone["uses"], "archives"]
    assert inside["rooms"] == [*alone["rooms"], "bundle"]
    assert inside["files"] == alone["files"] + 3
    assert inside["lines"] > alone["lines"]


@pytest.mark.heavy
def test_a_reader_follows_the_readme(paper: Path, certattn_run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    certattn_run("bundle", "paper", "-o", "paper.zip")
    with zipfile.ZipFile("paper.zip") as archive:
        archive.extractall("unpacked")
    monkeypatch.chdir("unpacked")
    commands = [line.split() for line in read("README.txt", "../paper.zip").splitlines() if line.startswith("    ")]
    sums, check, second = (next(each for each in commands if word in each) for word in ("-c", "--strict", "python3"))
    if shutil.which(sums[0]):
        assert subprocess.run(sums, capture_output=True, check=False).returncode == 0
    done = certattn_run(*check[1:])
    assert done.status == 0
    assert done.out.count("second checker: verified") == 2
    assert subprocess.run([sys.executable, *second[1:]], capture_output=True, check=False).returncode == 0


def test_arrays_above_their_certificates(paper: Path, certattn_run: Run) -> None:
    text = (paper / "head.yaml").read_text().replace("file: head.npz", "file: ../head.npz")
    (paper / "heads").mkdir()
    (paper / "heads/head.yaml").write_text(text)
    (paper / "head.yaml").unlink()
    assert certattn_run("bundle", "paper", "-o", "paper.zip").status == 2
    assert certattn_run("bundle", "paper", "-o", "paper.zip", "--root", "paper").status == 0
    assert "--strict --root certificates\n" in read("README.txt")
    assert certattn_run("check", "paper.zip", "--locked").status == 0


@pytest.mark.parametrize("lost", ["certificates/laws/operator.yaml", "certificates/head.npz", "certattn.lock"])
def test_an_archive_without_a_member(lost: str, paper: Path, certattn_run: Run) -> None:
    certattn_run("bundle", "paper", "-o", "paper.zip", "--no-page")
    with zipfile.ZipFile("paper.zip") as archive, zipfile.ZipFile("less.zip", "w") as less:
        for name in archive.namelist():
            if name != lost:
                less.writestr(name, archive.read(name))
    assert certattn_run("check", "less.zip", "--locked").status in (1, 2)


def test_an_archive_that_states_less(paper: Path, certattn_run: Run) -> None:
    certattn_run("bundle", "paper", "-o", "paper.zip", "--no-page")
    with zipfile.ZipFile("paper.zip") as archive, zipfile.ZipFile("less.zip", "w") as less:
        for name in archive.namelist():
            less.writestr(name, archive.read(name).replace(b"at_most: 50", b"at_most: 60"))
    assert certattn_run("check", "less.zip").status == 0
    done = certattn_run("check", "less.zip", "--locked")
    assert done.status == 1
    assert "not as less.zip/certattn.lock promises" in done.out


# -- what is not packed


@pytest.mark.parametrize("verdict", ["refuted", "rejected", "malformed"])
def test_what_is_not_verified(verdict: str, paper: Path, write: Write, certattn_run: Run) -> None:
    write(verdict, "paper/bad.yaml")
    done = certattn_run("bundle", "paper", "-o", "paper.zip", "--max-bits", "40")
    assert done.status in (1, 2)
    assert done.out.startswith(f"{verdict}  paper/bad.yaml\n")
    assert "no archive is written" in done.out
    assert not Path("paper.zip").exists()


def test_arrays_outside_of_the_folder(paper: Path, certattn_run: Run) -> None:
    (paper / "head.npz").rename("away.npz")
    text = (paper / "head.yaml").read_text()
    (paper / "head.yaml").write_text(text.replace("file: head.npz", "file: ../away.npz"))
    done = certattn_run("bundle", "paper", "-o", "paper.zip", "--root", ".")
    assert done.status == 2
    assert "its array file ../away.npz lies outside of paper" in done.err
    assert not Path("paper.zip").exists()


@pytest.mark.parametrize("other", ["Head.yaml", "HEAD.yaml"])
def test_names_that_some_system_takes_for_one(other: str, paper: Path, certattn_run: Run) -> None:
    shutil.copy(paper / "head.yaml", paper / other)
    if len(list(paper.glob("*.yaml"))) == 1:
        pytest.skip("this is such a system")
    done = certattn_run("bundle", "paper", "-o", "paper.zip", "--no-page")
    assert done.status == 2
    assert "are one name to some systems" in done.err


@pytest.mark.parametrize("out", ["paper.tar", "nowhere/paper.zip", "paper/head.yaml", "paper"])
def test_places_where_no_archive_is_written(out: str, paper: Path, certattn_run: Run) -> None:
    before = sorted(Path().rglob("*"))
    assert certattn_run("bundle", "paper", "-o", out).status == 2
    assert sorted(Path().rglob("*")) == before


def test_a_name_that_cannot_be_printed(paper: Path, certattn_run: Run) -> None:
    shutil.copy(paper / "head.yaml", paper / "a\x1b[31mb.yaml")
    done = certattn_run("bundle", "paper", "-o", "paper.zip")
    assert done.status == 2
    assert "with a name that can be printed" in done.err
    assert "\x1b" not in done.err


def test_a_folder_without_certificates(folder: Path, certattn_run: Run) -> None:
    (folder / "empty").mkdir()
    assert certattn_run("bundle", "empty", "-o", "paper.zip").status == 2
    assert certattn_run("bundle", "missing", "-o", "paper.zip").status == 2


def test_a_file_that_changes_meanwhile(paper: Path, certattn_run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    import certattn.cli.confined as confined

    find = confined.find

    def later(*arguments: Any) -> Any:
        found = find(*arguments)
        (paper / "head.npz").write_bytes(b"other")
        return found

    monkeypatch.setattr(confined, "find", later)
    done = certattn_run("bundle", "paper", "-o", "paper.zip", "--no-page")
    assert done.status == 2
    assert "changed since it was checked" in done.err
    assert not Path("paper.zip").exists()
