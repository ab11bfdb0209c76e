"""Which tests run, and fixtures for every one.

A test that is marked `heavy` takes a second or more and shows what others show too, on more examples. One in twenty of
these runs, drawn by the date; `--one-in N` draws one in N, but leaves out nothing that is compared with files of the
repository, which go stale with any change. `--all` runs all, `--seed` repeats a draw, and a test that is named
(`file.py::test`) runs anyway.
"""

from __future__ import annotations

import datetime
import fcntl
import gc
import importlib
import os
import random
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import hypothesis
import pytest

from certattn.coq.compiled import CompiledLibrary
from certattn.coq.coqc import Coq, find_coq

ROOT = Path(__file__).resolve().parent.parent
ONE_IN = 20
# What is compared with files of the repository; left out only where little is run.
STORED = (
    "tests/test_docs.py::", "tests/test_gallery.py::", "tests/test_figures.py::", "tests/statements/test_trust.py::",
    "tests/report/test_codes.py::",
)  # fmt: skip
# Of the heavy tests those that take tens of seconds, by how their names begin: they come first, or one process would
# still be at one of them when the others have nothing left.
LONGEST = (
    "tests/test_gallery.py::test_the_script_regenerates_the_gallery[training/risk-transfer]",
    "tests/test_gallery.py::test_the_script_regenerates_the_gallery[selection/selection-basins]",
    "tests/test_gallery.py::test_the_script_regenerates_the_gallery[prompts/output-tail]",
    "tests/arena/test_arena.py::test_coq_proves_what_is_true_and_nothing_else",
    "tests/test_docs.py::test_a_page_shows_what_happens[docs/claims/training/risk-transfer.md]",
    "tests/kernel/theorems/test_cases.py::test_the_cases_of_a_family[risk-transfer: one dimension]",
    "tests/test_docs.py::test_a_page_shows_what_happens[docs/engineer.md]",
    "tests/test_docs.py::test_a_page_shows_what_happens[docs/audit.md]",
    "tests/test_docs.py::test_a_page_shows_what_happens[docs/claims/prompts/output-tail.md]",
    "tests/audit/test_audit.py::test_every_head_of_a_model_has_certificates_that_verify",
    "tests/coq/test_export.py::test_the_page_counts_what_of_the_gallery_has_a_form_in_coq",
    "tests/coq/test_check.py::test_the_way_of_certificates_and_what_the_page_shows_of_it",
    "tests/arena/test_arena.py::test_another_checker_accepts_nothing_false_or_is_said_to_be_missing[recheck]",
)


# -- which tests run


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("certattn")
    group.addoption("--all", action="store_true", help="run every test, the heavy ones too")
    group.addoption("--one-in", type=int, metavar="N", help="draw one in N of the heavy tests, and every page")
    group.addoption("--seed", help="draw the sample of heavy tests by this word instead of today's date")


def pytest_configure(config: pytest.Config) -> None:
    # Tests start some hundred programs and some processes of pytest: modules, those of the tests among them, are
    # compiled once, whatever the environment says.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    # There are as many processes as processors: threads of linear algebra would wait for each other, busily.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # What little certificates of tests say is no matter; what is warned of has tests of its own.
    config.addinivalue_line("filterwarnings", "ignore::certattn.DoubtWarning")
    # No test fails because the machine was busy.
    hypothesis.settings.register_profile("untimed", deadline=None)
    hypothesis.settings.load_profile("untimed")
    # Ten thousand tests are collected and stay: nothing of them is garbage.
    gc.disable()
    # Here, because the processes of xdist are told what is set by now: no midnight lies between them.
    if config.option.seed is None:
        config.option.seed = datetime.date.today().isoformat()


def pytest_report_header(config: pytest.Config) -> str:
    if config.option.all:
        return "heavy tests: all"
    drawn = f"one in {config.option.one_in or ONE_IN}, drawn by --seed {config.option.seed}"
    return f"heavy tests: {drawn}; `pytest --all` runs every one"


def pytest_itemcollected(item: pytest.Item) -> None:
    # Coq compiles its library, and proves something.
    if "library" in getattr(item, "fixturenames", ()):
        item.add_marker("heavy")


def pytest_collection_finish() -> None:
    gc.enable()


def is_drawn(seed: str, test: str, one_in: int | None = None) -> bool:
    """Whether a heavy test is in the sample. It does not depend on which other tests there are."""
    if one_in is not None and test.startswith(STORED):
        return True
    return random.Random(f"{seed} {test}").random() < 1 / (one_in or ONE_IN)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not item.nodeid.startswith(LONGEST))
    if config.option.all or any("::" in named for named in config.args):
        return
    heavy = [item for item in items if item.get_closest_marker("heavy")]
    left_out = {item for item in heavy if not is_drawn(config.option.seed, item.nodeid, config.option.one_in)}
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=list(left_out))
    if hasattr(config, "workeroutput"):
        config.workeroutput["left out"] = len(left_out)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Every process of xdist leaves out the same tests: those of the first are counted in pytest's last line."""
    if node.gateway.id == "gw0":
        left_out = getattr(node, "workeroutput", {}).get("left out", 0)
        node.config.hook.pytest_deselected(items=[SimpleNamespace()] * left_out)


# -- fixtures


@pytest.fixture(scope="session")
def tool() -> Callable[[str], ModuleType]:
    """A script of `tools/` as a module, by its folder and its name, as in `tool("bench.spectrum")`."""

    def load(name: str) -> ModuleType:
        # Scripts import each other from the top of the repository.
        if str(ROOT) not in sys.path:
            sys.path.append(str(ROOT))
        return importlib.import_module(f"tools.{name}")

    return load


@pytest.fixture
def not_root() -> AbstractContextManager[None]:
    """A block whose file accesses are those of an ordinary user, for whoever runs the tests."""

    @contextmanager
    def ordinary() -> Iterator[None]:
        before = os.geteuid()
        if before == 0:
            os.seteuid(65534)
        try:
            yield
        finally:
            os.seteuid(before)

    return ordinary()


@pytest.fixture(scope="session")
def coq() -> Coq:
    """Coq, where it is installed; where the tests must not pass without it, its absence is a failure."""
    if shutil.which("coqc") is None:
        assert not os.environ.get("CERTATTN_REQUIRE_COQ"), "CERTATTN_REQUIRE_COQ is set, and coqc was not found"
        pytest.skip("coqc is not installed; tests/coq/test_check.py checks what is said then")
    return find_coq(300, 2**33)


class SharedLibrary(CompiledLibrary):
    """One that all processes of a run of the tests share."""

    def provide(self, modules: Iterable[str], coq: Coq) -> None:
        with self.folder.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._compiled |= {path.stem for path in self.folder.glob("*.vo")}
            super().provide(modules, coq)


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> CompiledLibrary:
    """The library, each module compiled once."""
    folder = tmp_path_factory.getbasetemp()
    # With several processes, each has a folder of its own below that of the run.
    return SharedLibrary((folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "library")


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The figures that are drawn from here on, which are kept instead of written."""
    figures: list[Any] = []
    monkeypatch.setattr("certattn.provers.figures._write", lambda figure, target: figures.append(figure))
    return figures


@pytest.fixture(scope="module")
def chromium(tool: Callable[[str], ModuleType]) -> Iterator[Any]:
    """Debian's browser, without a window. Its absence is a failure where CERTATTN_REQUIRE_CHROMIUM is set.

    For a module and not for the session: while it is open, no other test of the process can run an event loop.
    """
    if shutil.which("chromium") is None:
        assert not os.environ.get("CERTATTN_REQUIRE_CHROMIUM"), "chromium is not installed: apt-get install chromium"
        pytest.skip("chromium is not installed: apt-get install chromium")
    with tool("browser").chromium() as browser:
        yield browser
