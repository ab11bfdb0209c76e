"""Which tests run: heavy ones are drawn, and no other is left out."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOME = "tests/test_contracts.py"
HEAVY = f"{SOME}::test_every_contract_can_be_broken"


def pytest_says(*arguments: str) -> str:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def collected(*arguments: str) -> tuple[set[str], str]:
    """The tests that would run, and all that is said."""
    said = pytest_says("-n", "0", "-q", "--collect-only", *arguments)
    return {line for line in said.splitlines() if "::" in line}, said


@pytest.mark.heavy
def test_a_sample_has_every_light_test_and_can_be_repeated() -> None:
    everything, _ = collected(SOME, "--all")
    heavy = {test for test in everything if test.startswith(HEAVY)}
    assert len(heavy) >= 20
    sample, said = collected(SOME, "--seed", "a word")
    assert sample < everything
    assert everything - sample <= heavy
    assert f"{len(sample)}/{len(everything)} tests collected ({len(everything - sample)} deselected)" in said
    assert collected(SOME, "tests/test_heavy.py", "--seed", "a word")[0] > sample


def test_one_in_twenty_is_drawn_and_others_with_another_seed(pytestconfig: pytest.Config) -> None:
    conftest: Any = pytestconfig.pluginmanager.get_plugin(str(ROOT / "tests" / "conftest.py"))
    assert conftest is not None
    one, other = ({n for n in range(4000) if conftest.is_drawn(seed, f"test {n}")} for seed in ("one", "other"))
    assert 150 < min(len(one), len(other)) <= max(len(one), len(other)) < 250
    assert len(one & other) < 30


def test_more_are_drawn_where_that_is_asked_for_and_every_page(pytestconfig: pytest.Config) -> None:
    conftest: Any = pytestconfig.pluginmanager.get_plugin(str(ROOT / "tests" / "conftest.py"))
    assert 900 < sum(conftest.is_drawn("one", f"test {n}", 4) for n in range(4000)) < 1100
    assert all(conftest.is_drawn("one", f"tests/test_docs.py::{n}", one_in) for n in range(400) for one_in in (4, 40))
    assert sum(conftest.is_drawn("one", f"tests/test_docs.py::{n}") for n in range(400)) < 40
    sample = collected(SOME, "--seed", "a word", "--one-in", "2")[0]
    assert sample > collected(SOME, "--seed", "a word")[0]


def test_what_is_named_runs() -> None:
    assert len(collected(HEAVY)[0]) >= 20


@pytest.mark.heavy
def test_the_first_lines_say_how_to_run_every_test_and_the_last_one_how_many_were_left_out() -> None:
    """Where processes of xdist run them, too."""
    said = pytest_says("-n", "1", "--seed", "a word", SOME, "-k", "numpy_is_wanted")
    assert "\nheavy tests: one in 20, drawn by --seed a word; `pytest --all` runs every one\n" in said
    assert re.search(r"^=+ 1 passed, \d+ deselected in ", said, re.MULTILINE)
