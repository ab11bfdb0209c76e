"""`coq-check` refuses whatever was changed, before Coq runs; and proves what was not."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import certattn
from certattn.cli import main
from certattn.coq.check import check_folder
from certattn.coq.compiled import CompiledLibrary
from certattn.coq.coqc import Coq, RejectedError
from certattn.coq.export import export, instance_of, modules_for, sha256
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


def test_a_manifest_that_is_a_link_or_a_pipe_is_refused_as_such(folder: Path) -> None:
    manifest = folder / "manifest.json"
    manifest.rename(folder.parent / "elsewhere.json")
    manifest.symlink_to(folder.parent / "elsewhere.json")
    with pytest.raises(RejectedError, match="expected a regular file"):
        check_folder(folder, NO_COQ)
    manifest.unlink()
    os.mkfifo(manifest)
    with pytest.raises(RejectedError, match="expected a regular file"):
        check_folder(folder, NO_COQ)


def test_a_false_certificate_in_the_folder_is_rejected(read: Read, tmp_path: Path) -> None:
    export(read(FALSE_MEAN.replace("RADIUS", "5")), tmp_path / "out")
    edit("certificate/certificate.yaml", "radius: 5", "radius: 1/9")(tmp_path / "out")
    rehash(tmp_path / "out")
    with pytest.raises(RejectedError, match="a bound is not kept"):
        check_folder(tmp_path / "out", NO_COQ)


# -- the commands


@pytest.mark.heavy
def test_the_way_of_certificates_and_what_the_page_shows_of_it(
    coq: Coq, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Three folders in one run, of which one was changed: it does not stop the others.

    tests/test_docs.py runs what needs no Coq; the output of `coq-check` stands in a block of text.
    """
    monkeypatch.chdir(tmp_path)
    certificates = {"changed": "selection/max-margin/two-inputs", "atoms-coq": "prompts/infinite-prompt-operator/atoms"}
    certificates["margin-coq"] = certificates["changed"]
    for out, name in certificates.items():
        assert main.run(["export", str(GALLERY / f"{name}.yaml"), "--format", "coq", "-o", out]) == 0
    assert "the whole statement" in capsys.readouterr().out
    edit("Instance.v", "Qed.", "Admitted.")(tmp_path / "changed")
    compiled, compiling = [], Coq.compile
    monkeypatch.setattr(
        Coq, "compile", lambda self, file, *rest: compiled.append(file.stem) or compiling(self, file, *rest)
    )
    assert main.run(["coq-check", *certificates]) == 1
    first, second, third = re.split(r"(?m)^(?=\S)", capsys.readouterr().out)[1:]
    assert first == "not proved     changed\n  changed/Instance.v: has not the SHA-256 of the manifest\n"
    page = (GALLERY.parent / "docs" / "coq.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^```text\n\$ certattn coq-check atoms-coq\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    seconds = re.compile(r"^  [\d.]+ s$", re.MULTILINE)
    assert seconds.sub("TIME", second) == seconds.sub("TIME", shown)
    assert third.startswith("proved in Coq  margin-coq\n")
    assert "ClassicalDedekindReals.sig_forall_dec" in third
    assert certattn.load(GALLERY / f"{certificates['margin-coq']}.yaml").digest in third
    # Each module of the library once.
    assert Counter(compiled).most_common(3)[2][1] == 1
    assert Counter(compiled)["Instance"] == Counter(compiled)["Question"] == 2


def test_of_several_reasons_the_loudest_is_the_exit_status(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "coqc"
    program.write_text("#!/bin/sh\nsleep 1000\n")
    program.chmod(0o755)
    monkeypatch.setattr("certattn.coq.coqc.find_coq", lambda *arguments: Coq(str(program), 0, 2**33))
    assert main.run(["coq-check", str(folder)]) == 4
    assert main.run(["coq-check", str(folder), str(tmp_path / "nothing")]) == 2
    edit("Instance.v", "Qed.", "Admitted.")(folder)
    assert main.run(["coq-check", str(tmp_path / "nothing"), str(folder)]) == 1
    assert capsys.readouterr().out.count("not proved") == 5


def test_a_folder_that_cannot_be_read_does_not_stop_the_others(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The system refuses before Coq runs, and says of which file."""
    monkeypatch.setattr("certattn.coq.coqc.find_coq", lambda *arguments: NO_COQ)
    refusals = {"EACCES": "permission denied", "EIO": "input/output error", "ENOSPC": "no space left on device"}
    others = [folder.with_name(name) for name in refusals]

    def check(place: Path, *arguments: object, **options: object) -> object:
        if place.name in refusals:
            code = getattr(errno, place.name)
            raise OSError(code, os.strerror(code), str(place / "manifest.json"))
        return check_folder(place, NO_COQ)

    monkeypatch.setattr("certattn.coq.check.check_folder", check)
    edit("Instance.v", "Qed.", "Admitted.")(folder)
    for refused, status in zip(others, (2, 2, 4), strict=True):
        assert main.run(["coq-check", str(refused)]) == status
        assert f"{refused / 'manifest.json'}: {refusals[refused.name]}" in " ".join(capsys.readouterr().out.split())
        assert main.run(["coq-check", str(refused), str(folder)]) == 1
        first, second = re.findall(r"^not proved +(\S+)$", capsys.readouterr().out, re.MULTILINE)
        assert (first, second) == (str(refused), str(folder))


def test_a_reader_who_has_gone_ends_the_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checked = []

    def check(place: Path, *arguments: object, **options: object) -> object:
        checked.append(place)
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    monkeypatch.setattr("certattn.coq.coqc.find_coq", lambda *arguments: NO_COQ)
    monkeypatch.setattr("certattn.coq.check.check_folder", check)
    assert main.run(["coq-check", str(folder), str(folder)]) == 141
    assert len(checked) == 1


def test_coqchk_goes_through_a_proof_again(coq: Coq, library: CompiledLibrary, tmp_path: Path) -> None:
    export(certattn.load(GALLERY / "selection" / "max-margin" / "two-inputs.yaml"), tmp_path / "out")
    assert check_folder(tmp_path / "out", coq, library, recheck=True).rechecked


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


# -- the script, for who has Coq and no certattn


def run_script(folder: Path, coqc: str) -> subprocess.CompletedProcess[str]:
    path = f"{Path(coqc).parent}:{os.environ['PATH']}"
    return subprocess.run(
        ["sh", "check.sh"], cwd=folder, env={"PATH": path}, capture_output=True, text=True, timeout=300, check=False
    )


SMALLEST = GALLERY / "selection" / "max-margin" / "two-inputs.yaml"


@pytest.fixture
def margin(tmp_path: Path) -> Path:
    """The smallest theorem, of the quickest library."""
    export(certattn.load(SMALLEST), tmp_path / "margin")
    return tmp_path / "margin"


@pytest.mark.heavy
def test_the_script_proves_and_prints_the_theorem_and_its_axioms(coq: Coq, margin: Path) -> None:
    before = {path: path.read_bytes() for path in margin.rglob("*") if path.is_file()}
    done = run_script(margin, coq.coqc)
    assert done.returncode == 0, done.stderr
    for words in (
        "least_point",
        "Axioms:",
        "ClassicalDedekindReals.sig_forall_dec",
        "proved in Coq, with no axioms but",
    ):
        assert words in done.stdout
    assert before == {path: path.read_bytes() for path in margin.rglob("*") if path.is_file()}


SCRIPT_CHANGES = {
    "another theorem": edit("Instance.v", "margin_at_most_num : Z := 0x1", "margin_at_most_num : Z := 0x2"),
    "a proof that is left out": edit("Instance.v", "Qed.", "Admitted."),
    "an axiom": edit("Instance.v", "Theorem", "Axiom wrong : False. Theorem"),
    "a definition of the library": edit("library/Statements.v", "r <= dot z q", "0 <= dot z q"),
    "a module gone": remove,
}


@pytest.mark.parametrize("change", SCRIPT_CHANGES)
def test_the_script_refuses_files_that_were_changed(change: str, margin: Path) -> None:
    """By their hashes, before it runs Coq, which need not be installed."""
    SCRIPT_CHANGES[change](margin)
    done = subprocess.run(
        ["/bin/sh", "check.sh"], cwd=margin, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "proved" not in done.stdout
    assert ("Statements.v" if change == "a module gone" else "is not the file that was exported") in done.stderr


@pytest.fixture
def quick_coqc(coq: Coq, library: CompiledLibrary, margin: Path, tmp_path: Path) -> str:
    """Coq's compiler, which takes modules of the library from those that are compiled, where the text is the same."""
    library.provide(modules_for(instance_of(certattn.load(SMALLEST))), coq)
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "coqc"
    program.write_text(f"""#!/bin/sh
for file; do :; done
if cmp -s "$file" "{library.folder}/$file"; then exec cp "{library.folder}/${{file}}o" .; fi
exec "{coq.coqc}" "$@"
""")
    program.chmod(0o755)
    return str(program)


WRONG_AXIOM = "Axiom wrong : 0 = 1. Theorem certificate : 0 = 1. Proof. exact wrong. Qed. Theorem proved :"
NOT_PROVED = {
    "a false theorem": (
        edit("Instance.v", "margin_at_most_num : Z := 0x1", "margin_at_most_num : Z := 0x0"),
        "Instance.v is not proved by Coq"),
    "a proof that is left out": (edit("Instance.v", "Qed.", "Admitted."), "the proof rests on certificate"),
    "an axiom": (edit("Instance.v", "Theorem certificate :", WRONG_AXIOM), "the proof rests on wrong"),
}  # fmt: skip


@pytest.mark.parametrize("change", NOT_PROVED)
def test_the_script_refuses_what_is_not_proved_whatever_the_hashes(change: str, quick_coqc: str, margin: Path) -> None:
    """Somebody has changed a file and its hash in the script, and not what the script does."""
    alter, words = NOT_PROVED[change]
    old = sha256((margin / "Instance.v").read_bytes())
    alter(margin)
    edit("check.sh", old, sha256((margin / "Instance.v").read_bytes()))(margin)
    done = run_script(margin, quick_coqc)
    assert done.returncode == 1
    assert words in done.stderr
    assert "proved in Coq" not in done.stdout
