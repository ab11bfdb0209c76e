"""Strict checks: an interpreter that the caller cannot have changed, Arb alone, a second checker that can say no."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from certattn import Limits, Report, UsageError, Verdict, check, strict
from certattn.cli.main import cli
from certattn.isolation import fresh
from certattn.isolation.fresh import check_in_new_interpreter, check_in_new_interpreters
from certattn.kernel.decide.checker import CheckOptions

ROOT = Path(__file__).resolve().parent.parent
GALLERY = ROOT / "certificates"
COVERED = GALLERY / "prompts/infinite-prompt-operator/gaussian-d1.yaml"
ARRAYS = GALLERY / "attention/softmax-mean/gaussian-prompt.yaml"
# A caller whose kernel finds everything verified.
LIAR = """\
import sys, certattn
from certattn.kernel.decide import checker
checker.Proof.verdict = lambda proof, wanted: certattn.Verdict.VERIFIED
print([certattn.check(sys.argv[1], isolated=isolated).verdict.value for isolated in (False, True)])
"""


@pytest.fixture
def false(tmp_path: Path) -> Path:
    text = COVERED.read_text(encoding="utf-8")
    line = next(line for line in text.splitlines() if line.strip().startswith("offset: ["))
    path = tmp_path / "false.yaml"
    path.write_text(text.replace(line, line.replace("[", "[1").replace("[1-", "[-1")), encoding="utf-8")
    return path


def second(folder: Path, monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    """Another program as the second checker."""
    path = folder / "second.py"
    path.write_text(program, encoding="utf-8")
    monkeypatch.setattr(strict, "_SECOND_CHECKERS", (path,))


SAYS = 'import json; print(json.dumps({{"certificates": [{{"verdict": "{}", "why": "so it is"}}]}}))'


def test_a_strict_check_says_how_it_was_made() -> None:
    report = check(COVERED, strict=True)
    assert report.verdict is Verdict.VERIFIED
    assert report.strict == (
        "Arb alone",
        "an interpreter of its own",
        "the default floating-point environment, set and proved",
        "second checker: verified",
    )
    assert "binary64" not in check(ARRAYS, strict=True).arithmetic
    assert "binary64" in check(ARRAYS).arithmetic


def test_the_command_line_says_so_too(tmp_path: Path) -> None:
    out = tmp_path / "report.json"
    run = CliRunner().invoke(
        cli, ["check", "--strict", "--jobs", "2", "--report", f"json={out}", str(COVERED), str(ARRAYS)]
    )
    assert run.exit_code == 0, run.output
    assert "strict: Arb alone; an interpreter of its own;" in run.output
    said = [report["strict"][-1] for report in json.loads(out.read_text(encoding="utf-8"))["reports"]]
    assert said == ["second checker: verified"] * 2


def test_what_is_false_is_refuted(false: Path) -> None:
    report = check(false, strict=True)
    assert report.verdict is Verdict.REFUTED
    assert len(report.strict) == 3


@pytest.mark.parametrize("said", ["not proved", "something else"])
def test_the_second_checker_can_take_a_verdict_away(said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    second(tmp_path, monkeypatch, SAYS.format(said))
    report = check(COVERED, strict=True)
    assert report.verdict is Verdict.ERROR
    assert f"the two checkers disagree: the second one says {said} (so it is)" in report.reason


def test_what_the_second_checker_does_not_take_is_inconclusive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a number beyond its limits, where those of the kernel were raised."""
    second(tmp_path, monkeypatch, SAYS.format("rejected"))
    report = check(COVERED, strict=True)
    assert report.verdict is Verdict.INCONCLUSIVE
    assert report.reason == "the second checker does not take the file: so it is"


def test_the_second_checker_reads_the_bytes_that_the_kernel_has_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that is exchanged between the two is none that both have verified."""
    original = strict.check_in_new_interpreter

    def exchanged(path: Path, options: CheckOptions) -> Report:
        report = original(path, options)
        path.write_bytes(COVERED.read_bytes() + b"# another file\n")
        return report

    path = tmp_path / "exchanged.yaml"
    path.write_bytes(COVERED.read_bytes())
    monkeypatch.setattr(strict, "check_in_new_interpreter", exchanged)
    report = check(path, strict=True)
    assert report.verdict is Verdict.INCONCLUSIVE
    assert "other bytes than those that were asked about" in report.reason


def test_where_no_check_was_made_nothing_is_claimed_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check("no such file", strict=True).strict == ()
    monkeypatch.setattr(sys, "executable", "/no/such/program")
    assert check(COVERED, strict=True).strict == ()


@pytest.mark.parametrize("program", ["", "raise SystemExit(3)", "print('[]')", "print('{}')"])
def test_a_second_checker_that_breaks_takes_it_away_too(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    second(tmp_path, monkeypatch, program)
    assert check(COVERED, strict=True).verdict is Verdict.ERROR


def test_the_second_checker_cannot_give_one(false: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    second(tmp_path, monkeypatch, SAYS.format("verified"))
    assert check(false, strict=True).verdict is Verdict.REFUTED


@pytest.mark.parametrize("said", ["not covered", "undecided"])
def test_what_it_has_no_method_or_time_for_is_said(said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    second(tmp_path, monkeypatch, SAYS.format(said))
    report = check(COVERED, strict=True)
    assert report.verdict is Verdict.VERIFIED
    assert report.strict[-1] == f"second checker: {said} (so it is)"


def test_without_a_second_checker_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strict, "_SECOND_CHECKERS", ())
    assert check(COVERED, strict=True).strict[-1] == "second checker: not covered (it is not installed)"


def test_array_files_may_lie_in_a_folder_that_is_named(tmp_path: Path) -> None:
    (tmp_path / "proofs").mkdir()
    text = ARRAYS.read_text().replace("file: data/", "file: ../data/")
    (tmp_path / "proofs" / "a.yaml").write_text(text)
    shutil.copytree(ARRAYS.parent / "data", tmp_path / "data")
    report = check(tmp_path / "proofs" / "a.yaml", strict=True, root=tmp_path)
    assert report.strict[-1] == "second checker: verified"
    (found, why) = strict.second_opinion(tmp_path / "proofs" / "a.yaml", CheckOptions(), report.sha256)
    assert found == "rejected"
    assert "in the folder of the certificate" in why


def test_options_that_say_otherwise_are_refused() -> None:
    with pytest.raises(UsageError, match="leave out --only"):
        check(COVERED, strict=True, only="offset")
    with pytest.raises(UsageError, match="leave out --arithmetic binary64"):
        check(COVERED, strict=True, arithmetic="binary64")


def test_what_the_caller_has_changed_is_not_in_the_new_interpreter(false: Path) -> None:
    run = subprocess.run([sys.executable, "-c", LIAR, str(false)], capture_output=True, text=True, check=True, cwd=ROOT)
    assert run.stdout.strip() == "['verified', 'refuted']"


def test_variables_and_start_up_files_are_not_there_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sitecustomize.py").write_text("import os; os._exit(9)", encoding="utf-8")
    (tmp_path / "json.py").write_text("raise SystemExit(9)", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PYTHONOPTIMIZE", "2")
    monkeypatch.setenv("LD_PRELOAD", str(tmp_path / "none.so"))
    monkeypatch.chdir(tmp_path)
    report = check_in_new_interpreter(COVERED, CheckOptions())
    assert report.verdict is Verdict.VERIFIED, report.reason


def test_a_caller_that_ignores_the_end_of_its_children_gets_a_verdict() -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        report = check(COVERED, isolated=True)
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert report.verdict is Verdict.VERIFIED, report.reason


def test_options_and_limits_arrive(tmp_path: Path) -> None:
    limits = Limits(max_document_bytes=10)
    report = check_in_new_interpreter(COVERED, CheckOptions(limits=limits))
    assert report.verdict is Verdict.MALFORMED
    report = check_in_new_interpreter(
        COVERED, CheckOptions(root=GALLERY, only="no such", detail=True, arithmetic="arb")
    )
    assert report.verdict is Verdict.INCONCLUSIVE
    assert "no obligation has the name" in report.reason


def test_paths_that_are_no_text_arrive(tmp_path: Path) -> None:
    path = Path(os.fsdecode(bytes(tmp_path) + b"/\xff\n.yaml"))
    path.write_bytes(COVERED.read_bytes())
    assert check_in_new_interpreter(path, CheckOptions()).verdict is Verdict.VERIFIED


@pytest.mark.parametrize("program", ["raise SystemExit(1)", "print('{}')", "print()", "import sys; sys.exit('broken')"])
def test_an_interpreter_that_breaks_does_not_verify(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fresh, "_PROGRAM", program)
    report = check_in_new_interpreter(COVERED, CheckOptions())
    assert report.verdict is Verdict.ERROR
    assert "the new interpreter did not send a report" in report.reason


def test_without_an_interpreter_it_is_inconclusive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/program")
    report = check_in_new_interpreter(COVERED, CheckOptions())
    assert (report.verdict, report.limit) == (Verdict.INCONCLUSIVE, "processes")


def test_reports_come_in_the_order_of_the_files() -> None:
    files = [COVERED, Path("none.yaml"), ARRAYS, COVERED]
    found = list(check_in_new_interpreters(files, CheckOptions(), jobs=2))
    assert [report.path for report in found] == [str(path) for path in files]
