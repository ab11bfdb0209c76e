"""`tools/pages/write_benchmarks.py`: the page has what each benchmark printed, and nothing that a failed one did."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def writer(tool: Callable[[str], ModuleType]) -> ModuleType:
    return tool("pages.write_benchmarks")


def test_the_page_has_every_benchmark_once_and_with_the_command_of_today(writer: ModuleType) -> None:
    page = writer.PAGE.read_text(encoding="utf-8")
    found = writer.sections(page)
    assert list(found) == sorted(writer.programs())
    assert page == writer.whole(found)
    for name, text in found.items():
        assert f"python {' '.join(writer.command(name))}\n" in text
        assert writer.first_sentence(writer.programs()[name]) in text


def test_arguments_are_options_of_the_program(writer: ModuleType) -> None:
    for name, arguments in writer.ARGUMENTS.items():
        tree = ast.parse(writer.programs()[name].read_text(encoding="utf-8"))
        known = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
        assert {text for text in arguments if text.startswith("-")} <= known


def test_one_section_is_written_and_the_others_are_kept(writer: ModuleType, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(writer.whole({"check": "## check\n\nkept\n", "gone": "## gone\n\nno such program\n"}))
    assert writer.main(["flow", "--page", str(page)]) == 0
    found = writer.sections(page.read_text())
    assert list(found) == ["check", "flow"]
    assert found["check"].strip() == "## check\n\nkept"
    assert "rotation, 100 turns" in found["flow"]
    assert "s of a processor, on " in found["flow"]
    assert str(ROOT) not in found["flow"]


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (subprocess.CalledProcessError(1, "x", stderr="no solver"), "failed with status 1:\nno solver"),
        (subprocess.TimeoutExpired("x", 1), "took longer than 3600 s"),
    ],
)
def test_what_fails_is_not_written(
    writer: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    problem: Exception,
    said: str,
) -> None:
    page = tmp_path / "page.md"
    page.write_text(writer.whole({"flow": "## flow\n\nkept\n"}))
    before = page.read_text()

    def failing(name: str, seconds: float) -> str:
        raise problem

    monkeypatch.setattr(writer, "measured", failing)
    assert writer.main(["flow", "--page", str(page)]) == 1
    assert page.read_text() == before
    assert said in capsys.readouterr().err


def test_unknown_names_are_named(writer: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        writer.main(["flows"])
    assert "no program flows; there are" in capsys.readouterr().err
