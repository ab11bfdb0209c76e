"""`certattn lock` and `certattn check --locked`: what is promised, and that nothing else passes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import certattn

Run = Callable[..., Any]
Write = Callable[..., Path]


@pytest.fixture
def locked(folder: Path, head: Path, write: Write, certattn_run: Run) -> Path:
    """A folder of two certificates, one of them about arrays, and their lock."""
    write("verified", "certificates/operator.yaml")
    arrays = dict(np.load(head))
    certattn.generate("output-deviation", folder / "certificates/head.yaml", at_most="50", data="copy", **arrays)
    done = certattn_run("lock", "certificates")
    assert (done.status, done.out) == (0, "2 statements locked in certattn.lock\n")
    return folder / "certificates"


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def verdicts(out: str) -> dict[str, str]:
    lines = [line.split() for line in out.splitlines() if line.endswith(".yaml") and not line.startswith(" ")]
    return {path: verdict for verdict, path in lines}


# -- what is kept


@pytest.mark.parametrize("paths", [[], ["certificates"], ["certificates/head.yaml"], ["certificates/../certificates"]])
def test_what_is_promised_is_checked_whatever_is_named(locked: Path, certattn_run: Run, paths: list[str]) -> None:
    done = certattn_run("check", *paths, "--locked", "--no-unlocked")
    assert done.status == 0, done.out
    assert done.out.endswith("2 certificates: 2 verified\n")


def test_another_spelling_of_the_statement_is_the_statement(locked: Path, certattn_run: Run) -> None:
    change(locked / "operator.yaml", "1/2", "0.50")
    change(locked / "operator.yaml", "somebody", "somebody else")
    assert certattn_run("check", "--locked").status == 0


def test_the_lock_is_the_same_for_the_same_statements(locked: Path, certattn_run: Run) -> None:
    before = Path("certattn.lock").read_bytes()
    assert certattn_run("lock", "certificates/operator.yaml", "certificates/head.yaml").status == 0
    assert certattn_run("lock").status == 0
    assert Path("certattn.lock").read_bytes() == before


def test_what_is_not_promised_is_said_and_passes(locked: Path, write: Write, certattn_run: Run) -> None:
    write("verified", "certificates/new.yaml")
    done = certattn_run("check", "certificates", "--locked")
    assert done.status == 0
    assert "  not in certattn.lock\n" in done.out
    strict = certattn_run("check", "certificates", "--locked", "--no-unlocked")
    assert strict.status == 1
    assert verdicts(strict.out)["certificates/new.yaml"] == "rejected"


def test_a_lock_elsewhere(locked: Path, certattn_run: Run) -> None:
    assert certattn_run("lock", locked, "-o", locked / "my.lock").status == 0
    Path("certattn.lock").unlink()
    assert certattn_run("check", "--lock", locked / "my.lock").status == 0
    change(locked / "operator.yaml", "[[1, 1/2]], offset", "[[2, 1]], offset")
    change(locked / "operator.yaml", "V: [[1, 0]]", "V: [[2, 0]]")
    assert certattn_run("check", "--lock", locked / "my.lock").status == 1


# -- what is broken


def test_a_weaker_bound(locked: Path, certattn_run: Run) -> None:
    change(locked / "head.yaml", "at_most: 50", "at_most: 51")
    assert certattn_run("check", "certificates").status == 0
    done = certattn_run("check", "certificates", "--locked", "--format", "json")
    assert done.status == 1
    report = json.loads(done.out)["reports"][0]
    first, second, *digests = report["reason"].splitlines()
    assert report["verdict"] == "rejected"
    assert first == "not as certattn.lock promises: a weaker statement: the old one implies it"
    assert second == "  asserts.deviation.at_most: 50 -> 51  (weaker)"
    assert [line.split()[0] for line in digests] == ["promised", "stated"]
    file, line, path = report["place"]
    assert (file, path) == ("certificates/head.yaml", "asserts.deviation.at_most")
    assert "at_most: 51" in (locked / "head.yaml").read_text().splitlines()[line - 1]


def test_a_stronger_bound_is_another_statement(locked: Path, certattn_run: Run) -> None:
    change(locked / "head.yaml", "at_most: 50", "at_most: 49")
    done = certattn_run("check", "--locked")
    assert done.status == 1
    assert "a stronger statement: it implies the old one" in done.out


def test_other_arrays_under_the_old_certificate(locked: Path, certattn_run: Run) -> None:
    (file,) = locked.glob("*.npz")
    arrays = dict(np.load(file))
    arrays["keys"][0, 0] += 1
    np.savez(file, **arrays)
    done = certattn_run("check", "--locked")
    assert done.status == 2
    assert verdicts(done.out)["certificates/head.yaml"] == "malformed"
    assert "the array file is not the one that the certificate is about" in done.out


def test_other_arrays_and_a_certificate_about_them(locked: Path, certattn_run: Run) -> None:
    (file,) = locked.glob("*.npz")
    arrays = dict(np.load(file))
    arrays["keys"][0, 0] += 1e-3
    for old in locked.glob("head.*"):
        old.unlink()
    certattn.generate("output-deviation", locked / "head.yaml", at_most="50", data="copy", **arrays)
    done = certattn_run("check", "--locked")
    assert done.status == 1
    assert "not as certattn.lock promises: another statement" in done.out
    assert "  given.keys: an array file, sha256 " in done.out


def test_a_removed_file(locked: Path, certattn_run: Run) -> None:
    (locked / "operator.yaml").unlink()
    for paths in ([], ["certificates"], ["certificates/operator.yaml"]):
        done = certattn_run("check", *paths, "--locked")
        assert done.status == 1
        assert verdicts(done.out) == {"certificates/head.yaml": "verified", "certificates/operator.yaml": "rejected"}
        assert "promised by certattn.lock, but missing\n" in done.out


def test_nothing_is_left(locked: Path, certattn_run: Run) -> None:
    for file in locked.iterdir():
        file.unlink()
    done = certattn_run("check", "--locked", "--format", "github")
    assert done.status == 1
    assert done.out.count("::error ") == 2


def test_a_renamed_file(locked: Path, certattn_run: Run) -> None:
    (locked / "operator.yaml").rename(locked / "moved.yaml")
    done = certattn_run("check", "certificates", "--locked")
    assert done.status == 1
    assert "missing; certificates/moved.yaml states the same" in done.out
    assert certattn_run("lock", "certificates").out.splitlines() == [
        "no longer promised: certificates/operator.yaml",
        "newly promised: certificates/moved.yaml",
        "2 statements locked in certattn.lock",
    ]
    assert certattn_run("check", "--locked").status == 0


def test_a_lock_says_how_a_statement_has_changed(locked: Path, certattn_run: Run) -> None:
    change(locked / "head.yaml", "at_most: 50", "at_most: 51")
    assert certattn_run("lock").out.splitlines() == [
        "promises a weaker statement: certificates/head.yaml",
        "  asserts.deviation.at_most: 50 -> 51  (weaker)",
        "2 statements locked in certattn.lock",
    ]
    change(locked / "operator.yaml", "offset: [0]", "offset: [1]")
    assert certattn_run("lock").out.splitlines()[0] == "promises another statement: certificates/operator.yaml"


def test_two_files_that_have_changed_places(locked: Path, write: Write, certattn_run: Run) -> None:
    text = write("verified", "certificates/other.yaml").read_text()
    (locked / "other.yaml").write_text(text.replace("V: [[1, 0]]", "V: [[0, 1]]").replace("offset: [0]", "offset: [1]"))
    change(locked / "other.yaml", "matrix: [[1, 1/2]]", "matrix: [[1/2, 1]]")
    assert certattn_run("lock", "certificates").status == 0
    (locked / "other.yaml").rename("third.yaml")
    (locked / "operator.yaml").rename(locked / "other.yaml")
    Path("third.yaml").rename(locked / "operator.yaml")
    assert certattn_run("check", "certificates").status == 0
    done = certattn_run("check", "--locked")
    assert done.status == 1
    assert list(verdicts(done.out).values()).count("rejected") == 2


def test_words_and_numbers_of_the_lock_decide_nothing(locked: Path, certattn_run: Run) -> None:
    change(Path("certattn.lock"), "at_most: 50", "at_most: 5000")
    assert certattn_run("check", "--locked").status == 0
    change(locked / "head.yaml", "at_most: 50", "at_most: 5000")
    done = certattn_run("check", "--locked")
    assert done.status == 1
    assert "another statement, of which the lock shows the same: has it been edited?\n" in done.out


def test_what_is_false_stays_refuted(locked: Path, certattn_run: Run) -> None:
    change(locked / "operator.yaml", "1/2]], offset", "0.6]], offset")
    done = certattn_run("check", "--locked")
    assert done.status == 1
    assert verdicts(done.out)["certificates/operator.yaml"] == "refuted"
    assert "not as certattn.lock promises" in done.out


def test_long_lists_are_shortened_and_still_told_apart(folder: Path, certattn_run: Run) -> None:
    rng = np.random.default_rng(5)
    tokens = [[str(round(x, 3)) for x in row] for row in rng.normal(size=(60, 2))]
    rows = ", ".join(f"[{', '.join(row)}]" for row in tokens)
    text = f"""\
certattn: 1
claim: softmax-mean
given: {{keys: [{rows}], values: [{rows}], queries: [[0, 0]]}}
asserts: {{mean: {{value: [[0, 0]], radius: 1}}}}
"""
    (folder / "mean.yaml").write_text(text)
    assert certattn_run("lock", "mean.yaml").status == 0
    assert "keys: 120 entries, sha256 " in Path("certattn.lock").read_text()
    assert certattn_run("check", "--locked").status == 0
    change(folder / "mean.yaml", f"keys: [[{tokens[0][0]},", "keys: [[0.5,")
    done = certattn_run("check", "--locked")
    assert done.status == 1
    assert "  given.keys: 120 entries, sha256 " in done.out


# -- what is no lock


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("certattn-lock: 1", "certattn-lock: 2"),
        ("path: certificates/operator.yaml", "path: /etc/operator.yaml"),
        ("path: certificates/operator.yaml", "path: ../operator.yaml"),
        ("path: certificates/operator.yaml", "path: certificates/./operator.yaml"),
        ("path: certificates/operator.yaml", "path: certificates//operator.yaml"),
        ("path: certificates/operator.yaml", "path: certificates/head.yaml"),
        ("path: certificates/operator.yaml", "path: 'certificates\\operator.yaml'"),
        ("  statement: ", "  statement: 0"),
        ("  statement: ", "  digest: "),
        ("certificates:", "promises:"),
    ],
)
def test_a_lock_that_is_none(locked: Path, certattn_run: Run, old: str, new: str) -> None:
    change(Path("certattn.lock"), old, new)
    for command in (["check", "--locked"], ["lock"]):
        done = certattn_run(*command)
        assert (done.status, done.out) == (2, "")
        assert done.err.startswith("certattn: certattn.lock")
        assert "Traceback" not in done.err


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"certattn-lock: 1\ncertificates: []\n"])
def test_bytes_that_are_no_lock(locked: Path, certattn_run: Run, content: bytes) -> None:
    Path("certattn.lock").write_bytes(content)
    done = certattn_run("check", "certificates", "--locked")
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("certattn: certattn.lock")


def test_no_lock(write: Write, certattn_run: Run) -> None:
    write("verified")
    assert "`certattn lock PATH...` writes a lock" in certattn_run("check", "verified.yaml", "--locked").err
    assert "nothing to lock: there is no certattn.lock yet" in certattn_run("lock").err
    assert "--no-unlocked is for --locked" in certattn_run("check", "verified.yaml", "--no-unlocked").err
    assert certattn_run("check").status == 2


def test_what_cannot_be_locked(write: Write, certattn_run: Run, tmp_path_factory: pytest.TempPathFactory) -> None:
    write("malformed")
    assert certattn_run("lock", "malformed.yaml").status == 2
    outside = tmp_path_factory.mktemp("outside") / "certificate.yaml"
    outside.write_text(write("verified").read_text())
    done = certattn_run("lock", outside)
    assert done.status == 2
    assert "or below" in done.err
    assert certattn_run("lock", "verified.yaml", "-o", "verified.yaml").status == 2
    assert not Path("certattn.lock").exists()


def test_no_report_takes_the_place_of_a_lock(locked: Path, certattn_run: Run) -> None:
    before = Path("certattn.lock").read_bytes()
    assert certattn_run("check", "--locked", "--report", "json=certattn.lock").status == 2
    assert Path("certattn.lock").read_bytes() == before


def test_reports_for_machines(locked: Path, certattn_run: Run) -> None:
    (locked / "operator.yaml").unlink()
    reports = [f"{form}=report.{form}" for form in ("json", "junit", "markdown", "github")]
    options = [word for report in reports for word in ("--report", report)]
    assert certattn_run("check", "--locked", *options).status == 1
    assert json.loads(Path("report.json").read_text())["exit_status"] == 1
    assert 'tests="2" failures="1" errors="0"' in Path("report.junit").read_text()
    assert "| **rejected** | <code>certificates/operator.yaml</code>" in Path("report.markdown").read_text()


@pytest.mark.heavy
def test_a_strict_check_holds_to_the_lock(locked: Path, certattn_run: Run) -> None:
    assert certattn_run("check", "--locked", "--strict").status == 0
    change(locked / "head.yaml", "at_most: 50", "at_most: 51")
    assert certattn_run("check", "--locked", "--strict").status == 1


def test_the_first_that_is_not_as_promised_stops_a_check(locked: Path, certattn_run: Run) -> None:
    change(locked / "head.yaml", "at_most: 50", "at_most: 51")
    done = certattn_run("check", "--locked", "--fail-fast", "-j1")
    assert done.status == 1
    assert "1 rejected, 1 not checked" in done.out
