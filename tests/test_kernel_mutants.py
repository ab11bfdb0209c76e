"""Changes of the kernel's code are noticed: ten fixed ones here, hundreds by `tools/mutation/mutate_kernel.py`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent
Tool = Callable[[str], ModuleType]

MODULE = """
from functools import cache
LIMIT = 3

@cache
def small(x):
    return [y for y in range(x) if y < LIMIT]

class Pair:
    size = 2

    def first(self):
        return 1
"""


@pytest.fixture
def runs(tool: Tool) -> ModuleType:
    return tool("mutation.mutant_runs")


@pytest.fixture
def survivors(tool: Tool) -> ModuleType:
    return tool("mutation.kernel_survivors")


@pytest.mark.heavy
def test_known_changes_of_the_kernel_are_noticed_each_by_its_test() -> None:
    script = ROOT / "tools" / "mutation" / "known_kernel_mutants.py"
    done = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    unchanged, *lines = done.stdout.splitlines()
    assert unchanged.startswith("unchanged: passed")
    assert len(lines) == 10
    assert all(line.startswith("killed: certattn/kernel/") for line in lines)


# -- survivors


def test_every_explained_survivor_still_stands_in_the_kernel(survivors: ModuleType) -> None:
    entries = survivors.explained()
    assert len(entries) > 0
    for entry in entries:
        assert entry.module.startswith(("certattn/kernel/", "certattn/fast/", "certattn/isolation/"))
        assert entry.stands_in((ROOT / entry.module).read_text()), entry
        assert entry.before != entry.after
        assert len(entry.why) > 10
    assert len({(entry.module, entry.before, entry.after) for entry in entries}) == len(entries)


def test_a_survivor_whose_line_is_gone_is_noticed(survivors: ModuleType) -> None:
    entry = survivors.Explained("certattn/kernel/decide/proof.py", "DOUBLE = 54", "DOUBLE = 55", "no such line")
    assert not entry.stands_in((ROOT / entry.module).read_text())


def test_a_reason_is_for_one_change_only(survivors: ModuleType) -> None:
    known = [survivors.Explained("m.py", "x = 1", "x = 2", "x is not used")]
    same, other = {"module": "m.py", "before": "x = 1", "after": "x = 2"}, {"module": "m.py", "before": "x = 1"}
    assert survivors.unexplained([same, {**other, "after": "x = 0"}], known) == [{**other, "after": "x = 0"}]


# -- how changes are run


def test_a_change_inside_a_function_is_told_from_one_that_imports_run(runs: ModuleType) -> None:
    def names(before: str, after: str) -> list[str] | None:
        found = runs.changed_functions(MODULE, MODULE.replace(before, after), "m.py")
        return None if found is None else [code.co_qualname for code in found]

    assert names("y < LIMIT", "y <= LIMIT") == ["small"]
    assert names("return 1", "return 2") == ["Pair.first"]
    assert names("LIMIT = 3", "LIMIT = 4") is None
    assert names("size = 2", "size = 3") is None
    assert names("@cache\n", "\n") is None
    assert names("LIMIT = 3", "LIMIT = 3") is None


def test_code_is_exchanged_in_functions_that_are_held_elsewhere(runs: ModuleType) -> None:
    names: dict[str, object] = {}
    exec(compile(MODULE, "some module.py", "exec", dont_inherit=True), names)
    small = names["small"]
    assert callable(small)
    assert small(5) == [0, 1, 2]
    changed = runs.changed_functions(MODULE, MODULE.replace("y < LIMIT", "y <= LIMIT"), "some module.py")
    live = runs.live_functions()
    assert runs.exchange(live[__file__], changed) == 0
    assert runs.exchange(live["some module.py"], changed) == 1
    assert small(6) == [0, 1, 2, 3]


def test_a_changed_file_is_put_back(runs: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text("x = 1\n")

    def interrupted() -> None:
        with runs.applied(tmp_path, "m.py", "x = 2\n"):
            assert (tmp_path / "m.py").read_text() == "x = 2\n"
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        interrupted()
    assert (tmp_path / "m.py").read_text() == "x = 1\n"


def test_what_a_process_with_limits_answers(runs: ModuleType) -> None:
    def forever() -> tuple[str, int]:
        while True:
            pass

    assert runs.limited(lambda: ("", 3), 5) == runs.Answer("passed", "", 3)
    assert runs.limited(lambda: ("some test", 2), 5) == runs.Answer("killed", "some test", 2)
    assert runs.limited(forever, 0.1) == runs.Answer("timeout", "", 0)


# -- which tests


def test_tests_that_run_a_line_are_found_fastest_first(tool: Tool, tmp_path: Path) -> None:
    maps = tool("mutation.kernel_test_map")
    slow = maps.Test("tests/test_b.py::slow", 2.0, {"k/m.py": frozenset({1, 2})})
    fast = maps.Test("tests/test_b.py::fast", 1.0, {"k/m.py": frozenset({2}), "k/n.py": frozenset({1})})
    other = maps.Test("tests/test_n.py::other", 0.1, {})
    tests = [slow, fast, other]
    assert maps.covering(tests, "k/m.py", frozenset({2})) == [fast, slow]
    assert maps.covering(tests, "k/m.py", frozenset({1})) == [slow]
    # A line that none is seen to run: all that run some line of the module, and those in the file of its name.
    assert maps.covering(tests, "k/n.py", frozenset({9})) == [other, fast]


def test_a_map_is_read_without_tests_that_fail(tool: Tool, tmp_path: Path) -> None:
    maps = tool("mutation.kernel_test_map")
    lines = [
        '{"test": "a", "seconds": 1, "passed": false, "lines": {}}',
        '{"test": "b", "seconds": 1, "passed": true, "lines": {"k/m.py": [1, 2]}}',
        '{"test": "b", "seconds": 2, "passed": true, "lines": {"k/m.py": [2]}}',
    ]
    (tmp_path / "map.jsonl").write_text("\n".join(lines))
    assert maps.read(tmp_path / "map.jsonl") == [maps.Test("b", 2, {"k/m.py": frozenset({2})})]
