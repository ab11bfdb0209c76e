"""`certattn derive`."""

from __future__ import annotations

import subprocess
import sys
from types import MappingProxyType

import pytest
from click.testing import CliRunner

from certattn import CLAIMS, UsageError, theory
from certattn.cli.derive import derive
from certattn.theory.derivation import Derivation, Step
from certattn.theory.exactness import Check


def _run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(derive, list(arguments))
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.output


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two derivations that take no time; the second does not hold."""

    def derivation(name: str, holds: bool) -> Derivation:
        steps = [Step(f"{name} {i}", "Some words.", ("x = x",), ("x &= x",), _checks(holds or i == 0)) for i in (0, 1)]
        return Derivation(name, f"Title of {name}", "source", tuple(steps))

    found = {name: derivation(name, name == "good") for name in ("good", "bad")}
    monkeypatch.setattr(theory, "DERIVATIONS", MappingProxyType(found))


def _checks(holds: bool) -> object:
    return lambda kernel: [Check("x = x", True), Check("the claim", holds)]


def test_without_a_name_it_lists_what_there_is() -> None:
    status, output = _run()
    assert status == 0
    assert [line.split()[0] for line in output.splitlines()] == list(CLAIMS)


@pytest.mark.parametrize("name", CLAIMS)
def test_text_and_latex(name: str) -> None:
    status, text = _run(name)
    assert status == 0
    assert text.splitlines()[0] == theory.DERIVATIONS[name].title
    status, latex = _run(name, "--latex")
    assert status == 0
    assert latex.startswith("% certattn derive")
    assert latex.count(r"\begin{align*}") == len(theory.DERIVATIONS[name].steps)


def test_check_proves_a_real_derivation() -> None:
    status, output = _run("token-optimality", "--check")
    assert status == 0
    lines = output.splitlines()
    count = len(theory.DERIVATIONS["token-optimality"].steps)
    assert len(lines) == count + 2
    assert all(line.startswith("proved ") for line in lines[1:-1])
    assert lines[-1].startswith(f"{count} of {count} steps proved, ")


@pytest.mark.usefixtures("small")
def test_one_step_that_fails_is_named_and_exits_1() -> None:
    status, output = _run("bad", "--check")
    assert status == 1
    assert "proved   1. bad 0 (2 checks" in output
    assert "FAILED   2. bad 1 (1 of 2 checks" in output
    assert "not proved: the claim" in output
    assert "1 of 2 steps proved" in output


@pytest.mark.usefixtures("small")
def test_what_holds_exits_0() -> None:
    status, output = _run("good", "--check")
    assert status == 0
    assert "FAILED" not in output


@pytest.mark.usefixtures("small")
def test_without_a_name_check_means_all_of_them() -> None:
    status, output = _run("--check")
    assert status == 1
    assert "Title of good" in output
    assert "Title of bad" in output


@pytest.mark.usefixtures("small")
def test_latex_with_check_stays_a_fragment() -> None:
    status, output = _run("bad", "--latex", "--check")
    assert status == 1
    after = output[output.rindex(r"\end{align*}") :].splitlines()[1:]
    assert after
    assert all(line.startswith("% ") for line in after)


def test_an_unknown_name_exits_2_and_names_the_known_ones() -> None:
    status, output = _run("output-derivation")
    assert status == 2
    assert "'output-derivation'" in output
    assert all(name in output for name in CLAIMS)


def test_without_sympy_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("certattn.theory")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "sympy", None)
    error = CliRunner().invoke(derive, ["--check"]).exception
    assert isinstance(error, UsageError)
    assert str(error) == "derivations need sympy: pip install sympy"


def test_another_missing_module_is_not_blamed_on_sympy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("certattn.theory")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "certattn.theory.rendering", None)
    monkeypatch.setitem(sys.modules, "certattn.theory.operators", None)
    assert isinstance(CliRunner().invoke(derive, []).exception, ModuleNotFoundError)


def test_importing_the_command_does_not_import_sympy() -> None:
    code = "import sys, certattn.cli.derive; sys.exit('sympy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_help_has_examples_and_exit_statuses() -> None:
    status, output = _run("--help")
    assert status == 0
    assert "certattn derive infinite-prompt-operator --check" in output
    assert "Exit status" in output
