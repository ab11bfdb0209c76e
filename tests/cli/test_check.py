"""`certattn check`: what is checked, in what order, what is said, with which exit status."""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from certattn.cli.check import _conclude, find_certificates
from certattn.kernel.decide.proof import Verdict
from certattn.kernel.errors import UsageError
from certattn.statements.reports import Report

Run = Callable[..., Any]
Write = Callable[..., Path]

STATUS = {"verified": 0, "refuted": 1, "rejected": 1, "malformed": 2, "inconclusive": 3}


# -- verdicts


@pytest.mark.parametrize(("verdict", "status"), STATUS.items())
def test_one_certificate(certattn_run: Run, write: Write, verdict: str, status: int) -> None:
    done = certattn_run("check", write(verdict).name, "--max-bits", "40")
    assert done.status == status
    assert done.out.startswith(f"{verdict}  {verdict}.yaml\n")
    assert done.err == ""
    assert "certificates:" not in done.out


def test_several_certificates_and_their_sum(certattn_run: Run, write: Write) -> None:
    for verdict in STATUS:
        write(verdict)
    done = certattn_run("check", ".", "--max-bits", "40", "--jobs", "3")
    assert done.status == 1
    heads = [line.split()[0] for line in done.out.splitlines() if line.endswith(".yaml") and not line.startswith(" ")]
    assert heads == ["inconclusive", "malformed", "refuted", "rejected", "verified"]
    assert done.out.endswith("\n5 certificates: 1 verified, 1 refuted, 1 rejected, 1 inconclusive, 1 malformed\n")


@pytest.mark.parametrize("word", ["I", "2*I", "diag(1, 1)"])
def test_a_certificate_has_no_short_forms_and_says_how_to_write_them(
    certattn_run: Run, folder: Path, word: str
) -> None:
    text = (
        f"certattn: 1\nclaim: risk-transfer\ngiven: {{covariance: '{word}', start: {{A: [[0]], b: 1}}, length: 100}}\n"
        "asserts: {risk: 1, time: 1}\n"
    )
    (folder / "a.yaml").write_text(text)
    done = certattn_run("check", "a.yaml")
    assert done.status == 2
    assert "given.covariance\n" in done.out
    assert "hint:     certificates write all rows, such as [[1, 0], [0, 1]]" in done.out


@pytest.mark.parametrize("form", ["text", "json", "junit"])
def test_progress_is_shown_on_a_terminal_in_every_format(
    certattn_run: Run, write: Write, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    write("verified", "a.yaml")
    write("verified", "b.yaml")
    monkeypatch.setattr("certattn.report.progress.is_drawn_on", lambda stream: True)
    done = certattn_run("check", ".", "--format", form, "--jobs", "1")
    assert "[0/2] 0 s  checking a.yaml" in done.err
    assert "  checking b.yaml" in done.err
    assert done.err.endswith("\r\x1b[K")
    assert "\x1b[K" not in done.out
    assert form != "json" or len(json.loads(done.out)["reports"]) == 2


@pytest.mark.parametrize(
    ("verdicts", "status"),
    [
        (["verified", "verified"], 0),
        (["verified", "inconclusive"], 3),
        (["inconclusive", "malformed"], 2),
        (["malformed", "refuted"], 1),
        (["rejected", "verified"], 1),
    ],
)
def test_the_worst_verdict_gives_the_status(certattn_run: Run, write: Write, verdicts: list[str], status: int) -> None:
    paths = [write(verdict, f"{i}.yaml") for i, verdict in enumerate(verdicts)]
    assert certattn_run("check", *paths, "--max-bits", "40").status == status
    assert certattn_run("check", *paths[::-1], "--max-bits", "40").status == status


def test_explain_prints_every_obligation(certattn_run: Run, write: Write) -> None:
    done = certattn_run("check", write("verified"), "--explain")
    lines = [line for line in done.out.splitlines() if line.startswith("  + ")]
    assert [line.split(":")[0] for line in lines] == ["  + operator.matrix", "  + operator.offset"]


def test_only_checks_a_part_and_never_verifies(certattn_run: Run, write: Write) -> None:
    done = certattn_run("check", write("verified"), "--only", "operator.matrix", "--explain")
    assert done.status == 3
    assert "only 1 of 2 obligations" in done.out
    assert done.out.count("  + ") == 1
    assert certattn_run("check", write("verified"), "--only", "operator.*").status == 3
    assert certattn_run("check", write("refuted"), "--only", "operator.matrix").status == 1
    missing = certattn_run("check", write("verified"), "--only", "nothing")
    assert missing.status == 3
    assert "no obligation has the name that was asked for (--only); they are operator.matrix" in missing.out


def test_fail_fast_stops_at_the_first(certattn_run: Run, write: Write) -> None:
    paths = [write("verified", "a.yaml"), write("refuted", "b.yaml"), write("verified", "c.yaml")]
    done = certattn_run("check", *paths, "--fail-fast", "--jobs", "1")
    assert done.status == 1
    assert done.out.endswith("3 certificates: 1 verified, 1 refuted, 1 not checked\n")
    assert certattn_run("check", *paths[::2], "--fail-fast").status == 0


def test_verbose_says_what_confines_a_check_and_nothing_else(certattn_run: Run, write: Write) -> None:
    path = write("verified")
    quiet, loud = (
        certattn_run("check", path, "--format", "json"),
        certattn_run("check", path, "--format", "json", "--verbose"),
    )
    assert "each check is confined by audit, limits" in loud.err
    assert "confined" not in quiet.err + quiet.out + loud.out
    assert [json.loads(run.out)["reports"][0]["verdict"] for run in (quiet, loud)] == ["verified"] * 2


def test_a_time_limit(certattn_run: Run, slow: Path) -> None:
    done = certattn_run("check", slow, "--timeout", "1")
    assert done.status == 4
    assert "time limit of 1 s (--timeout)," in done.out
    assert "give it longer" in done.out


def test_a_memory_limit(program: Run, write: Write) -> None:
    done = program("check", write("verified"), "--memory", "10M")
    assert done.returncode == 4
    assert b"memory limit of 10 MiB was reached (--memory)" in done.stdout


@pytest.mark.parametrize(
    ("option", "value"),
    [("--max-nodes", "3"), ("--max-depth", "1"), ("--max-digits", "1"), ("--max-document-bytes", "10")],
)
def test_limits_of_reading(certattn_run: Run, write: Write, option: str, value: str) -> None:
    done = certattn_run("check", write("verified"), option, value)
    assert done.status == 2
    assert option in done.out


# -- which files


def find(*texts: str) -> list[str]:
    return [str(path) for path in find_certificates(texts)]


@pytest.fixture
def tree(folder: Path) -> Path:
    for name in (
        "b.yaml", "a.yml", "notes.txt", "deep/down/c.yaml", "deep/d.yaml", ".hidden.yaml", ".git/e.yaml",
        "deep/.cache/f.yaml", "odd*[1].yaml", "empty/notes.txt",
    ):  # fmt: skip
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")
    return folder


def test_a_folder_stands_for_what_is_in_it_and_below(tree: Path) -> None:
    assert find(".") == ["a.yml", "b.yaml", "deep/d.yaml", "deep/down/c.yaml", "odd*[1].yaml"]
    assert find("deep") == ["deep/d.yaml", "deep/down/c.yaml"]
    assert find(str(tree / "deep")) == [str(tree / "deep/d.yaml"), str(tree / "deep/down/c.yaml")]


INPUT = "# of a law\nlaw: {kind: gaussian, mean: [0], covariance: I}\ntilt: [1]\n"


def test_an_input_beside_certificates_is_left_out_and_named(write: Write, folder: Path, certattn_run: Run) -> None:
    write("verified", "all/good.yaml")
    (folder / "all/law.yaml").write_text(INPUT)
    note = "certattn: note: all/law.yaml: an input of `certattn generate`, not a certificate: left out\n"
    for paths in (["all"], ["all/*.yaml"], ["."]):
        done = certattn_run("check", *paths)
        assert (done.status, done.err) == (0, note)
        assert "law.yaml" not in done.out
    # What is named is checked.
    assert certattn_run("check", "all/law.yaml").status == certattn_run("check", "all", "all/law.yaml").status == 2
    assert certattn_run("lock", "all").out == "1 statement locked in certattn.lock\n"
    (folder / "all/good.yaml").unlink()
    # A check of nothing is no success.
    assert "no certificates" in certattn_run("check", "all").err


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text.replace("certattn: 1\n", ""),
        lambda text: text.replace("certattn: 1\nclaim: infinite-prompt-operator\n", ""),
        lambda text: text[text.index("asserts") :],
        lambda text: text[text.index("provenance") :],
        lambda text: text[text.index("{operator") :],
        lambda text: text[: len(text) // 4],
        lambda text: text[:5],
        lambda text: "",
        lambda text: "\n".join(f" {line}" for line in text.splitlines()),
        lambda text: f"{INPUT}\n{text}",
        lambda text: f"{INPUT}'certattn': 1\n",
        lambda text: f"{INPUT}? certattn\n",
        lambda text: f"{INPUT}\rcertattn: 1\n",
        lambda text: f"{INPUT}\u2028certattn: 1\n",
        lambda text: f"---\n{INPUT}",
        lambda text: f"{{{INPUT}}}",
        lambda text: f"\ufeff{text}",
        lambda text: INPUT.replace("law:", "laws:"),
        lambda text: f"{INPUT}more: 1\n",
        lambda text: INPUT + "#" * 2**16,
        lambda text: INPUT.encode("utf-16"),
        lambda text: INPUT.encode() + b"\xff",
        lambda text: b"\0" * 10,
    ],
)
def test_a_damaged_certificate_is_never_left_out(
    write: Write, certattn_run: Run, damage: Callable[[str], str | bytes]
) -> None:
    write("verified", "all/good.yaml")
    file = write("verified", "all/other.yaml")
    found = damage(file.read_text())
    file.write_bytes(found if isinstance(found, bytes) else found.encode())
    done = certattn_run("check", "all")
    assert done.status == (0 if done.out.endswith("2 certificates: 2 verified\n") else 2)
    assert "left out" not in done.err
    assert "2 certificates: " in done.out


def test_a_lock_misses_a_certificate_that_became_an_input(write: Write, certattn_run: Run) -> None:
    write("verified", "all/good.yaml")
    file = write("verified", "all/other.yaml")
    assert certattn_run("lock", "all").status == 0
    file.write_text(INPUT)
    assert certattn_run("check", "all").status == 0
    done = certattn_run("check", "all", "--locked")
    assert done.status == 2
    assert "malformed  all/other.yaml" in done.out


def test_globs(tree: Path) -> None:
    assert find("*.y*ml") == ["a.yml", "b.yaml", "odd*[1].yaml"]
    assert find("**/*.yaml") == ["b.yaml", "deep/d.yaml", "deep/down/c.yaml", "odd*[1].yaml"]
    assert find("d??p") == ["deep/d.yaml", "deep/down/c.yaml"]
    assert find(f"{tree}/dee*/*.yaml") == [str(tree / "deep/d.yaml")]
    assert find("*") == ["a.yml", "b.yaml", "deep/d.yaml", "deep/down/c.yaml", "odd*[1].yaml"]


def test_a_file_whose_name_looks_like_a_glob(tree: Path) -> None:
    assert find("odd*[1].yaml") == ["odd*[1].yaml"]


def test_any_file_that_is_named_is_kept(tree: Path) -> None:
    assert find("notes.txt", "missing.yaml", ".hidden.yaml") == ["notes.txt", "missing.yaml", ".hidden.yaml"]


def test_each_file_once_in_the_order_given(tree: Path) -> None:
    assert find("b.yaml", "a.yml", "./b.yaml", str(tree / "b.yaml"), "*.yaml") == ["b.yaml", "a.yml", "odd*[1].yaml"]


@pytest.mark.parametrize("text", ["", "empty", "empty/*.yaml", "*.toml", "[", "nothing/**"])
def test_a_check_of_nothing_is_refused(tree: Path, certattn_run: Run, text: str) -> None:
    with pytest.raises(UsageError):
        find(text)
    done = certattn_run("check", text)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("certattn: ")


def test_a_folder_that_cannot_be_read_is_no_empty_folder(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scan = os.scandir

    def deny(path: str) -> Any:
        if str(path).endswith("down"):
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", deny)
    with pytest.raises(PermissionError):
        find("deep")


def test_links_to_certificates(certattn_run: Run, write: Write, folder: Path) -> None:
    write("verified", "real/a.yaml")
    (folder / "link.yaml").symlink_to("real/a.yaml")
    (folder / "broken.yaml").symlink_to("nowhere.yaml")
    (folder / "circle.yaml").symlink_to("circle.yaml")
    assert certattn_run("check", "link.yaml").status == 0
    assert certattn_run("check", "broken.yaml").status == 2
    assert certattn_run("check", "circle.yaml").status == 2


# -- odd files


def test_what_is_no_certificate_is_malformed_in_words(folder: Path) -> None:
    (folder / "empty.yaml").write_bytes(b"")
    (folder / "binary.yaml").write_bytes(bytes(range(256)) * 4)
    (folder / "zeros.yaml").write_bytes(b"\0" * 100)
    (folder / "cut.yaml").write_text("certattn: 1\nclaim: output-deviation\ngiven: {keys: [[1, 2")
    (folder / "deep.yaml").write_text("[" * 100_000)
    (folder / "wide.yaml").write_text("{a: " * 10_000)
    (folder / "stairs.yaml").write_text("".join(" " * depth + "a:\n" for depth in range(2000)))
    (folder / "python.yaml").write_text("!!python/object/apply:os.system ['touch owned']")
    os.mkfifo(folder / "pipe.yaml")
    with open(folder / "huge.yaml", "wb") as file:
        file.truncate(2**30)
    names = sorted(path.name for path in folder.iterdir())
    # In a process of its own: what other tests have left in this one counts towards its memory.
    command = [sys.executable, "-m", "certattn", "check", *names, "missing.yaml", "--timeout", "60", "--memory", "1G"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert [line for line in done.stdout.splitlines() if line.startswith("malformed")] == [
        f"malformed  {name}" for name in [*names, "missing.yaml"]
    ]
    assert done.stdout.count("    found:    ") == done.stdout.count("    expected: ") == len(names) + 1
    assert not (folder / "owned").exists()


@pytest.mark.parametrize(
    "name", [b"a b.yaml", "ünï→😀.yaml".encode(), b"new\nline.yaml", b"\xff.yaml", b"\x1b[31mred.yaml", b"'\"$`.yaml"]
)
@pytest.mark.parametrize("form", ["text", "json", "github", "junit"])
def test_odd_names(certattn_run: Run, write: Write, folder: Path, name: bytes, form: str) -> None:
    odd = folder / os.fsdecode(name)
    write("verified").rename(odd)
    for argument in (odd, odd.name, "."):
        done = certattn_run("check", argument, "--format", form)
        assert done.status == 0, done.out + done.err
        assert "\x1b" not in done.out
    write("malformed").rename(odd)
    assert certattn_run("check", ".", "--format", form).status == 2


# -- array files that are not as stated


def zip_bomb() -> bytes:
    """Half a gigabyte of zeros where an array of a few bytes is stated."""
    buffer = io.BytesIO(npz(values=VALUES, queries=QUERIES))
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (6, 2)})
    with zipfile.ZipFile(buffer, "a", zipfile.ZIP_DEFLATED) as archive, archive.open("keys.npy", "w") as stream:
        stream.write(header.getvalue())
        for _ in range(64):
            stream.write(b"\0" * 2**23)
    return buffer.getvalue()


def npz(**arrays: Any) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **{"values": VALUES, "queries": QUERIES, **arrays})
    return buffer.getvalue()


# Of the shapes that `head` has.
KEYS, VALUES, QUERIES = np.arange(12.0).reshape(6, 2), np.ones((6, 3)), np.ones((4, 2))
WRONG: dict[str, tuple[Callable[[], bytes], str]] = {
    "empty": (lambda: b"", "broken .npz file"),
    "noise": (lambda: bytes(range(256)), "broken .npz file"),
    "cut": (lambda: npz(keys=KEYS)[:200], "broken .npz file"),
    "another name": (lambda: npz(kees=KEYS), "kees"),
    "another dtype": (lambda: npz(keys=KEYS.astype("f4")), "dtype float32 in the file"),
    "another shape": (lambda: npz(keys=KEYS[:5]), "shape"),
    "another dimension": (lambda: npz(keys=KEYS[None]), "shape"),
    "Fortran order": (lambda: npz(keys=np.asfortranarray(KEYS)), "Fortran order"),
    "big-endian": (lambda: npz(keys=KEYS.astype(">f8")), "big-endian"),
    "objects": (lambda: npz(keys=KEYS.astype(object)), "Python objects"),
    "NaN": (lambda: npz(keys=np.full_like(KEYS, np.nan)), "a NaN at row 0, column 0"),
    "infinity": (lambda: npz(keys=np.full_like(KEYS, np.inf)), "an infinity"),
    "zip bomb": (zip_bomb, "more bytes"),
}


@pytest.mark.parametrize("name", WRONG)
def test_an_array_file_with_the_right_hash_and_wrong_content(
    certattn_run: Run, head: Path, folder: Path, name: str
) -> None:
    assert certattn_run("generate", "output-deviation", head, "-o", "cert.yaml").status == 0
    content, words = WRONG[name]
    before, data = hashlib.sha256(head.read_bytes()).hexdigest(), content()
    head.write_bytes(data)
    text = (folder / "cert.yaml").read_text()
    (folder / "cert.yaml").write_text(text.replace(before, hashlib.sha256(data).hexdigest()))
    done = certattn_run("check", "cert.yaml", "--memory", "2G", "--timeout", "20")
    assert (done.status, done.out.split()[0]) == (2, "malformed")
    assert words in done.out
    assert "cert.yaml:" in done.out


@pytest.mark.parametrize("name", ["changed", "missing", "folder", "pipe", "link outside"])
def test_an_array_file_that_is_not_the_one(certattn_run: Run, head: Path, folder: Path, name: str) -> None:
    (folder / "in").mkdir()
    head.rename(folder / "in" / "head.npz")
    head = folder / "in" / "head.npz"
    assert certattn_run("generate", "output-deviation", head, "-o", "in/cert.yaml").status == 0
    data = head.read_bytes()
    head.unlink()
    if name == "changed":
        head.write_bytes(data[:-1] + b"\1")
    elif name == "folder":
        head.mkdir()
    elif name == "pipe":
        os.mkfifo(head)
    elif name == "link outside":
        (folder / "outside.npz").write_bytes(data)
        head.symlink_to("../outside.npz")
    done = certattn_run("check", "in/cert.yaml", "--timeout", "20")
    assert (done.status, done.out.split()[0]) == (2, "malformed")
    assert "head.npz" in done.out
    if name == "link outside":
        assert certattn_run("check", "in/cert.yaml", "--root", ".").status == 0


# -- formats


def test_json(certattn_run: Run, write: Write) -> None:
    for verdict in STATUS:
        write(verdict)
    done = certattn_run("check", ".", "--format", "json", "--max-bits", "40")
    content = json.loads(done.out)
    assert content["exit_status"] == done.status == 1
    reports = [Report.from_dict(report) for report in content["reports"]]
    assert [report.verdict.value for report in reports] == sorted(STATUS)
    assert json.loads(json.dumps([report.to_dict() for report in reports])) == content["reports"]
    assert done.err == ""


def test_json_with_obligations(certattn_run: Run, write: Write) -> None:
    content = json.loads(certattn_run("check", write("verified"), "--format", "json", "--explain").out)
    assert [o["outcome"] for o in content["reports"][0]["obligations"]] == ["proved", "proved"]


def test_junit(certattn_run: Run, write: Write) -> None:
    write("verified")
    write("refuted")
    suites = ElementTree.fromstring(certattn_run("check", ".", "--format", "junit").out)
    assert (suites.get("tests"), suites.get("failures"), suites.get("errors")) == ("2", "1", "0")


def test_github(certattn_run: Run, write: Write) -> None:
    write("verified")
    write("malformed")
    lines = certattn_run("check", ".", "--format", "github").out.splitlines()
    assert lines[0].startswith("::error file=malformed.yaml,line=1,title=certattn%3A malformed::")
    assert lines[1:] == ["certattn: 1 of 2 certificates verified"]


def test_machine_formats_are_printed_after_fail_fast(certattn_run: Run, write: Write) -> None:
    paths = [write("refuted", "a.yaml"), write("verified", "b.yaml")]
    done = certattn_run("check", *paths, "--fail-fast", "--format", "json")
    first, second = map(Report.from_dict, json.loads(done.out)["reports"])
    assert first.verdict is Verdict.REFUTED
    assert (second.verdict, second.path) == (Verdict.INCONCLUSIVE, str(paths[1]))
    assert second.reason == "not checked: --fail-fast stopped before it"
    assert certattn_run("check", *paths, "--fail-fast", "--format", "junit").out.count("<failure") == 2


def test_fail_fast_keeps_the_status_of_what_was_reached(certattn_run: Run, write: Write, slow: Path) -> None:
    done = certattn_run("check", slow, write("verified"), "--fail-fast", "--timeout", "1", "--format", "json")
    assert done.status == json.loads(done.out)["exit_status"] == 4


def test_what_has_been_printed_is_kept_only_for_another_report(
    certattn_run: Run, write: Write, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each process that checks is forked: memory that adds up makes every one of a hundred thousand dearer."""
    kept: list[Sequence[Report]] = []

    def conclude(form: str, reports: Sequence[Report], listed: Sequence[Report]) -> None:
        kept.append(reports)
        _conclude(form, reports, listed)

    monkeypatch.setattr("certattn.cli.check._conclude", conclude)
    write("verified", "a.yaml")
    write("refuted", "b.yaml")
    for options in ((), ("--report", "json=r.json"), ("--format", "json")):
        assert certattn_run("check", ".", "--explain", *options).status == 1
    assert [[bool(report.statement and report.obligations) for report in reports] for reports in kept] == [
        [False, False], [True, True], [True, True],
    ]  # fmt: skip
    assert [report.verdict for report in kept[0]] == [report.verdict for report in kept[1]]
    assert all(report.claim and report.nanoseconds["total"] for report in kept[0])


@pytest.mark.parametrize("name", ["b.yaml", "link.json", "data.npz", "to-data.json", "new.yml", "-"])
def test_no_report_takes_the_place_of_an_input(certattn_run: Run, write: Write, folder: Path, name: str) -> None:
    paths = [write("refuted", "a.yaml"), write("verified", "b.yaml")]
    (folder / "data.npz").write_bytes(b"arrays")
    (folder / "link.json").symlink_to("b.yaml")
    (folder / "to-data.json").symlink_to("data.npz")
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    done = certattn_run("check", *paths, "--report", "markdown=r.md", "--report", f"json={name}")
    assert done.status == 2
    assert "input" in done.err or "expected the name of a file" in done.err
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before


def test_a_certificate_of_any_name_is_no_place_for_a_report(certattn_run: Run, write: Write) -> None:
    path = write("verified", "plain.txt")
    done = certattn_run("check", path, "--report", f"json={path}")
    assert done.status == 2
    assert "is a certificate to be checked, and would be overwritten" in done.err


def test_reports_in_files_beside_the_text(certattn_run: Run, write: Write, folder: Path) -> None:
    write("refuted")
    (folder / "r.md").write_text("an old report" * 1000)
    done = certattn_run("check", "refuted.yaml", "--report", "json=r.json", "--report", "markdown=r.md")
    assert done.status == 1
    assert done.out.startswith("refuted  refuted.yaml\n")
    assert json.loads((folder / "r.json").read_text())["exit_status"] == 1
    assert (folder / "r.md").read_text().startswith("### certattn: 0 of 1 certificates verified\n")


def test_no_old_report_is_left_when_a_check_does_not_end(certattn_run: Run, folder: Path) -> None:
    (folder / "r.json").write_text("an old report")
    assert certattn_run("check", "", "--report", "json=r.json").status == 2
    assert (folder / "r.json").read_text() == "an old report"  # nothing was begun
    done = certattn_run("check", "none.yaml", "--report", "json=r.json", "--report", "junit=none/r.xml")
    assert (done.status, done.out, done.err) == (2, "", "certattn: none/r.xml: no such file or directory\n")
    assert (folder / "r.json").read_text() == ""


@pytest.mark.parametrize("report", ["json", "=r", "json=", "text=r", "xml=r"])
def test_refused_report_files(certattn_run: Run, write: Write, folder: Path, report: str) -> None:
    done = certattn_run("check", write("verified"), "--report", report)
    assert done.status == 2
    assert "is not FORM=FILE" in done.err
    assert sorted(path.name for path in folder.iterdir()) == ["verified.yaml"]


def test_two_reports_in_one_file_are_refused(certattn_run: Run, write: Write) -> None:
    done = certattn_run("check", write("verified"), "--report", "json=r", "--report", "junit=r")
    assert done.status == 2
    assert "two reports in one file" in done.err


# -- usage


@pytest.mark.parametrize(
    "arguments",
    [
        ["check"], ["check", "a.yaml", "--jobs", "0"], ["check", "a.yaml", "--format", "xml"],
        ["check", "a.yaml", "--memory", "3Q"], ["check", "a.yaml", "--memory", "0"],
        ["check", "a.yaml", "--timeout", "0"],
        ["check", "a.yaml", "--max-bits", "1"], ["check", "a.yaml", "--root", "nowhere"], ["check", "--nothing"],
    ],
)  # fmt: skip
def test_usage_errors(certattn_run: Run, write: Write, arguments: list[str]) -> None:
    write("verified", "a.yaml")
    done = certattn_run(*arguments)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("Usage: certattn check")
    assert "Error: " in done.err


def test_help_has_examples_and_the_exit_status(certattn_run: Run) -> None:
    done = certattn_run("check", "--help")
    assert done.status == 0
    assert "certattn check certificates/ --jobs 2" in done.out
    assert "3 inconclusive; 4 a resource limit; 70 a bug; 130 interrupted" in done.out
