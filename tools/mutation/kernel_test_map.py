"""Which test runs which line of the kernel, and how long each test takes.

    python tools/mutation/kernel_test_map.py FOLDER tests/kernel tests/fast    notes it in FOLDER/map.jsonl

One line of JSON per test, written when the test is over: its name, its time with set-up, whether it passed, and by
module the lines that it ran, from coverage.py. What a test runs in another process is not seen; `covering` makes up
for that by names. A test that is in the file already is not run again, so an interrupted run goes on where it was.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import sys
from collections import Counter
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

# The kernel, and what was written apart from it and is looked at with it.
TRUSTED = tuple(PurePosixPath("certattn", room) for room in ("kernel", "fast", "isolation"))
MAP = "map.jsonl"


@dataclass(frozen=True)
class Test:
    """A passing test: its name for pytest, its seconds, the lines it runs by module of the kernel."""

    name: str
    seconds: float
    lines: Mapping[str, frozenset[int]]

    @property
    def stem(self) -> str:
        """What the file of the test is about, by its name: `balls` of tests/kernel/mathematics/test_balls.py."""
        return PurePosixPath(self.name.split("::")[0]).stem.removeprefix("test_")


def read(path: Path) -> list[Test]:
    """The passing tests of a map; where a test stands twice, as it was noted last."""
    notes = {note["test"]: note for note in map(json.loads, path.read_text().splitlines())}
    return [
        Test(note["test"], note["seconds"], {module: frozenset(lines) for module, lines in note["lines"].items()})
        for note in notes.values()
        if note["passed"]
    ]


def covering(tests: Iterable[Test], module: str, lines: frozenset[int]) -> list[Test]:
    """The tests that run one of `lines` of a module, fastest first.

    Lines that no test is seen to run are run while the module is imported, or in processes that tests start: they
    belong to every test that runs any line of the module, and to those in a file of its name.
    """
    tests = list(tests)
    own = PurePosixPath(module).stem
    running = [test for test in tests if lines & test.lines.get(module, frozenset())]
    chosen = running or [test for test in tests if module in test.lines or test.stem == own]
    return sorted(chosen, key=lambda test: test.seconds)


class Recorder:
    """A plugin of pytest that writes the map."""

    def __init__(self, root: Path, path: Path, each: int | None = None) -> None:
        from coverage import Coverage

        self.each = each

        self.path = path
        self.root = root
        self.known = {json.loads(line)["test"] for line in path.read_text().splitlines()} if path.exists() else set()
        self.coverage = Coverage(
            data_file=None, config_file=False, include=[str(root / room / "*") for room in TRUSTED]
        )
        self.passed = True

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        seen: Counter[str] = Counter()
        chosen = []
        for item in items:
            function = item.nodeid.split("[")[0]
            seen[function] += 1
            if item.nodeid not in self.known and (self.each is None or seen[function] <= self.each):
                chosen.append(item)
        items[:] = chosen

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.passed &= report.passed

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        self.passed = True
        self.coverage.start()
        self.coverage.switch_context(item.nodeid)
        start = _spent()
        try:
            return (yield)
        finally:
            seconds = _spent() - start
            self.coverage.stop()
            self.note(item.nodeid, seconds)

    def note(self, name: str, seconds: float) -> None:
        data = self.coverage.get_data()
        data.set_query_context(name)
        lines = {str(Path(file).relative_to(self.root)): data.lines(file) for file in data.measured_files()}
        note = {
            "test": name,
            "seconds": round(seconds, 4),
            "passed": self.passed,
            "lines": {module: sorted(run) for module, run in sorted(lines.items()) if run},
        }
        with self.path.open("a") as file:
            file.write(json.dumps(note) + "\n")


def _spent() -> float:
    """Seconds of processors that this process and those it has waited for used: the same on a busy machine."""
    return sum(os.times()[:4])


@functools.cache
def ordinary_options() -> tuple[str, ...]:
    """Options of pytest for one process without files of its own."""
    addopts = "addopts=--strict-markers --import-mode=importlib --all"
    return ("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-o", addopts)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the map is kept")
    parser.add_argument("tests", nargs="+", help="what pytest is to run")
    parser.add_argument("--each", type=int, metavar="N", help="of a test with many parameters, the first N only")
    options = parser.parse_args(arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    recorder = Recorder(Path.cwd().resolve(), options.folder / MAP, options.each)
    return int(pytest.main([*ordinary_options(), *options.tests], plugins=[recorder]))


if __name__ == "__main__":
    # The tree it is run in is measured, wherever this script and an installed certattn lie.
    sys.path.insert(0, str(Path.cwd()))
    sys.exit(main())
