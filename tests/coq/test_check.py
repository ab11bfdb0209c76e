"""`coq-check` refuses whatever was changed, before Coq runs; and proves what was not."""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import certattn
from certattn.cli import main
from certattn.coq.check import check_folder
from certattn.coq.coqc import Coq, RejectedError
from certattn.coq.export import export, sha256
from certattn.kernel.errors import LimitExceededError, UsageError

from .conftest import FALSE_MEAN, GALLERY, SMALL, Read

NO_COQ = Coq("/nonexistent/coqc", 1, 2**30)


@pytest.fixture
def folder(read: Read, tmp_path: Path) -> Path:
    export(read(SMALL["mean"]), tmp_path / "out")
    return tmp_path / "out"


def rehash(folder: Path) -> None:
    """The manifest as somebody would write it who has changed a file."""
    manifest = json.loads((folder / "manifest.json").read_text())
    files = [p for p in folder.rglob("*") if p.is_file() and p.name != "manifest.json"]
    manifest["files"] = {p.relative_to(folder).as_posix(): sha256(p.read_bytes()) for p in sorted(files)}
    (folder / "manifest.json").write_text(json.dumps(manifest))


def edit(name: str, old: str, new: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new, 1))

    return change


def add(name: str, text: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        (folder / name).write_text(text)

    return change


def remove(folder: Path) -> None:
    (folder / "library" / "Statements.v").unlink()


def link(folder: Path) -> None:
    target = folder / "library" / "Statements.v"
    shutil.copy(target, folder.parent / "Statements.v")
    target.unlink()
    target.symlink_to(folder.parent / "Statements.v")


CHANGES = {
    "a radius": edit("Instance.v", "mean_radius : list Z := [0x5", "mean_radius : list Z := [0x6"),
    "a proof": edit("Instance.v", "Qed.", "Admitted."),
    "an axiom": edit("Instance.v", "Theorem", "Axiom wrong : False. Theorem"),
    "a sentence that runs programs": edit("Instance.v", "Theorem", 'Redirect "x" Check 1. Theorem'),
    "a definition of the library": edit("library/Statements.v", "r <= size", "0 <= size"),
    "a number of the certificate": edit("certificate/certificate.yaml", "radius: [5", "radius: [4"),
    "the script": edit("check.sh", "set -e", "set -e; true"),
    "a new file in the library": add("library/Extra.v", "Axiom wrong : False."),
    "a new file": add("Extra.v", ""),
    "a module gone": remove,
    "a module that is a link": link,
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("hashes", ["old hashes", "new hashes"])
def test_a_changed_folder_is_rejected_before_coq_runs(change: str, hashes: str, folder: Path) -> None:
    CHANGES[change](folder)
    if hashes == "new hashes":
        rehash(folder)
    with pytest.raises(RejectedError):
        check_folder(folder, NO_COQ)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("states", "something else"), ("claim", "max-margin"), ("digest", "0" * 64), ("theorem", "another"),
        ("fast", True), ("fast", "no"), ("certattn_coq", 2), ("certattn_coq", True),
        ("certificate", "certificate/../../other.yaml"), ("certificate", "Instance.v"), ("files", {}), ("files", []),
    ],
)  # fmt: skip
def test_a_changed_manifest_is_rejected(key: str, value: object, folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest[key] = value
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(RejectedError):
        check_folder(folder, NO_COQ)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"files": {}, "files": {}}', "[" * 10**5, "{}"])
def test_a_manifest_that_is_none_is_rejected(text: str, folder: Path) -> None:
    (folder / "manifest.json").write_text(text)
    with pytest.raises(RejectedError):
        check_folder(folder, NO_COQ)


def test_a_folder_without_a_manifest_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no manifest\.json"):
        check_folder(tmp_path, NO_COQ)


def test_a_false_certificate_in_the_folder_is_rejected(read: Read, tmp_path: Path) -> None:
    export(read(FALSE_MEAN.replace("RADIUS", "5")), tmp_path / "out")
    edit("certificate/certificate.yaml", "radius: 5", "radius: 1/9")(tmp_path / "out")
    rehash(tmp_path / "out")
    with pytest.raises(RejectedError, match="a bound is not kept"):
        check_folder(tmp_path / "out", NO_COQ)


# -- the commands


def test_the_way_of_a_certificate(coq: Coq, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    certificate = GALLERY / "max-margin" / "two-inputs.yaml"
    out = tmp_path / "out"
    assert main.run(["export", str(certificate), "--format", "coq", "-o", str(out)]) == 0
    assert "the whole statement" in capsys.readouterr().out
    assert main.run(["coq-check", str(out)]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("proved in Coq  ")
    assert "ClassicalDedekindReals.sig_forall_dec" in printed
    assert certattn.load(certificate).digest in printed


def test_the_page_shows_what_coq_check_prints(
    coq: Coq, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """tests/test_docs.py runs what needs no Coq; the output of `coq-check` stands in a block of text."""
    monkeypatch.chdir(tmp_path)
    page = (GALLERY.parent / "docs" / "coq.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^```text\n\$ certattn coq-check atoms-coq\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    export(certattn.load(GALLERY / "infinite-prompt-operator" / "atoms.yaml"), tmp_path / "atoms-coq")
    assert main.run(["coq-check", "atoms-coq"]) == 0
    seconds = re.compile(r"^  [\d.]+ s$", re.MULTILINE)
    assert seconds.sub("TIME", capsys.readouterr().out) == seconds.sub("TIME", shown)


def test_coqchk_goes_through_a_proof_again(coq: Coq, tmp_path: Path) -> None:
    export(certattn.load(GALLERY / "max-margin" / "two-inputs.yaml"), tmp_path / "out")
    assert check_folder(tmp_path / "out", coq, recheck=True).rechecked


def test_time_is_limited(coq: Coq, folder: Path) -> None:
    with pytest.raises(LimitExceededError, match="--timeout"):
        check_folder(folder, Coq(coq.coqc, 0, coq.memory_bytes))


def test_memory_is_limited(coq: Coq, folder: Path) -> None:
    with pytest.raises(LimitExceededError, match="--memory"):
        check_folder(folder, Coq(coq.coqc, 100, 2**27))


def test_a_certificate_that_is_not_verified_is_not_exported(read: Read, tmp_path: Path) -> None:
    read(FALSE_MEAN.replace("RADIUS", "1/9"))
    arguments = ["export", str(tmp_path / "certificate.yaml"), "--format", "coq", "-o", str(tmp_path / "out")]
    assert main.run(arguments) == 1
    assert not (tmp_path / "out").exists()


def test_without_coq_the_message_says_what_to_install(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "")
    assert main.run(["coq-check", str(folder)]) == 2
    said = capsys.readouterr().err
    assert "`coqc` is not on the path" in said
    assert "apt-get install coq libcoq-interval" in said


def test_a_coq_that_fails_is_not_a_proof(folder: Path, tmp_path: Path) -> None:
    """A program that says nothing and exits with 0, as a broken installation might."""
    program = tmp_path / "coqc"
    program.write_text("#!/bin/sh\nexit 0\n")
    program.chmod(0o755)
    with pytest.raises(RejectedError, match="did not answer as expected"):
        check_folder(folder, Coq(str(program), 10, 2**33))


def test_nothing_of_the_user_s_settings_reaches_coq(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COQPATH", "/somewhere")
    program, seen = tmp_path / "coqc", tmp_path / "seen"
    program.write_text(f'#!/bin/sh\n{{ env; echo "$@"; }} >> {seen}\nexit 0\n')
    program.chmod(0o755)
    with pytest.raises(RejectedError):
        check_folder(folder, Coq(str(program), 10, 2**33))
    text = seen.read_text()
    assert "COQPATH" not in text
    assert all(line.startswith("-q ") for line in text.splitlines() if "-Q" in line)


def test_an_interrupted_check_leaves_no_coq_behind(folder: Path, tmp_path: Path) -> None:
    """Ctrl-C while Coq runs: the program is ended, with what it has started."""
    program, started = tmp_path / "coqc", tmp_path / "started"
    program.write_text(f"#!/bin/sh\nsleep 1000 &\necho $! > {started}\nwait\n")
    program.chmod(0o755)

    def interrupt() -> None:
        if started.exists() and started.read_text().strip():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        check_folder(folder, Coq(str(program), 60, 2**33, interrupt))
    sleeper = int(started.read_text())
    for _ in range(100):
        state = Path(f"/proc/{sleeper}/stat")
        if not state.exists() or state.read_text().split()[2] == "Z":
            return
        time.sleep(0.05)
    raise AssertionError("the program that Coq had started goes on")
