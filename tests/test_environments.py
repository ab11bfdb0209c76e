"""What a check assumes of its process: a sample of the matrix of environments, and that the matrix can fail."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT))
from tools.environments import records  # noqa: E402

CERTIFICATES = (
    "attention/softmax-mean/three-tokens",
    "attention/softmax-mean/gaussian-prompt.yaml",
    "keys-float32",
    "text-float64",
    "keys-npy",
    "long",
)
SAMPLE = [
    ("FTZ and DAZ, preloaded, no bytecode", "api"),
    ("FTZ and DAZ, preloaded, no bytecode", "recheck"),
    ("FTZ and DAZ, in a new thread", "api"),
    ("FTZ and DAZ, in a new thread", "isolated"),
    ("bytecode written under FTZ and DAZ, but for the guards", "api"),
    ("rounding upward, preloaded", "api"),
    ("rounding toward zero, between import and check", "api"),
    ("x87 in single precision, preloaded", "recheck"),
    ("SIGFPE: all", "api"),
    ("OpenBLAS for Prescott", "api"),
    ("LC_ALL=tr_TR", "api"),
    ("PYTHONHASHSEED=4242", "api"),
    ("set_int_max_str_digits(640)", "api"),
    ("-X int_max_str_digits=640", "recheck"),
    ("recursion limit 120", "api"),
    ("PYTHONOPTIMIZE=2", "command"),
    ("-W error", "command"),
    ("a subinterpreter", "api"),
    ("numpy calls", "api"),
    ("FLINT: 2 bits", "api"),
    ("decimal in one digit", "recheck"),
    ("sitecustomize", "command"),
    ("SIGCHLD ignored", "isolated"),
    ("no standard streams", "command"),
]
NAMES = {environment.name: environment for environment in records.environments()}
HERE = [(name, how) for name, how in SAMPLE if not NAMES[name].missing()]


@pytest.fixture(scope="module")
def program(tool: Callable[[str], ModuleType]) -> ModuleType:
    return tool("environments.environments")


@pytest.fixture(scope="module")
def matrix(program: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("environments")
    certificates = program.gathered(folder, "all", "0", CERTIFICATES)
    assert len(certificates.lies) > 2
    return program.Matrix(program.Laboratory(folder), certificates, longest=float("inf"))


@pytest.mark.heavy
@pytest.mark.parametrize(("name", "how"), HERE)
def test_every_verdict_is_that_of_the_clean_environment(matrix: Any, name: str, how: str) -> None:
    finding = matrix.ask(NAMES[name], how)
    assert finding.wrong == []
    assert finding.certificates > 5


def test_every_record_has_a_name_of_its_own_and_somebody_to_ask() -> None:
    assert len(NAMES) == len(records.environments()) > 90
    assert all(environment.how for environment in NAMES.values())


@pytest.mark.parametrize(
    "how", ["api", *(pytest.param(how, marks=pytest.mark.heavy) for how in ("command", "isolated", "recheck"))]
)
def test_no_probe_is_satisfied_by_the_clean_environment(program: ModuleType, matrix: Any, how: str) -> None:
    """So that a record whose means do nothing any more is an error, and not one more row that is the same."""
    clean = matrix.clean(how)
    for environment in NAMES.values():
        if how in environment.how and not environment.usual and not environment.missing():
            assert "not in force" in program.in_force(environment, how, clean, clean), environment.name


def test_an_environment_that_is_not_in_force_is_wrong(matrix: Any) -> None:
    without = replace(NAMES["PYTHONOPTIMIZE=2"], variables={})
    assert any("not in force" in line for line in matrix.ask(without, "api").wrong)


# -- controls, which are wrong on purpose: a matrix in which they pass measures nothing


def control(interlude: str) -> Any:
    code = f"import certattn.kernel.decide.checker as checker\n{interlude}\nsys.control = True"
    return records.Environment("control", "", "hasattr(sys, 'control')", "True", interlude=code, how=("api",))


def ask(matrix: Any, environment: Any) -> Any:
    """Of an environment that no clean run has been asked about."""
    clean = matrix.clean("api")
    clean.seen[environment.probe] = "False"
    return matrix.ask(environment, "api")


def test_false_verdicts_are_found(matrix: Any) -> None:
    finding = ask(matrix, control("checker.Proof.verdict = lambda proof, wanted: checker.Verdict.VERIFIED"))
    lies = [line for line in finding.wrong if line.startswith("FALSE VERIFIED")]
    assert len(lies) == len(matrix.certificates.lies)


def test_a_checker_that_forgets_an_obligation_is_found(matrix: Any) -> None:
    less = "pending = checker._pending; checker._pending = lambda proof, wanted: pending(proof, wanted)[1:]"
    finding = ask(matrix, control(less))
    assert any("became inconclusive" in line or "obligations" in line for line in finding.wrong)


def test_a_checker_that_has_no_answer_is_found(matrix: Any) -> None:
    finding = ask(matrix, control("def fail(*_): raise RuntimeError('no')\nchecker.Proof.verdict = fail"))
    assert finding.certificates == len(finding.stopped)
    assert set(finding.stopped) <= set(finding.wrong)


def test_a_check_that_changes_its_process_is_found(matrix: Any) -> None:
    change = "ignored = checker.ignored\ndef forget(*a):\n    vars(sys).pop('control', 0)\n    return ignored(*a)\n"
    finding = ask(matrix, control(f"{change}checker.ignored = forget"))
    assert any("changes the process" in line for line in finding.wrong)


def test_another_digit_is_found(matrix: Any) -> None:
    change = "import certattn.statements.digits as d\nshow = d.show\nd.show = lambda *a, **b: show(*a, **b) + '0'"
    finding = ask(matrix, control(change))
    assert any("prints" in line for line in finding.wrong)


def test_a_reason_to_stop_that_nothing_needs_is_wrong(matrix: Any) -> None:
    environment = replace(NAMES["PYTHONHASHSEED=1"], stops={"api": "no reason"})
    assert any("nothing was stopped" in line for line in matrix.ask(environment, "api").wrong)


# -- what was found by it


def test_the_second_checker_runs_without_docstrings(tmp_path: Path) -> None:
    import subprocess

    path = ROOT / "certificates" / "attention" / "softmax-mean" / "three-tokens.yaml"
    command = [sys.executable, "-I", "-S", "-OO", str(ROOT / "tools" / "recheck")]
    done = subprocess.run([*command, str(path)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    asked = subprocess.run([*command, "--what"], capture_output=True, text=True, check=False)
    assert asked.returncode == 2
    assert "second-checker.md" in asked.stderr
