"""Runs of the tests over a changed kernel: in processes of their own, and quickly where that is possible.

Most changes are inside a function. For these, `Collected` imports all tests once and keeps a process that has them;
a mutant's run is a fork of it in which the code of the live functions is exchanged. What a module computed while it
was imported stays as it was in such a run, so that a mutant can pass that would not pass afresh, never the other way
round: what passes there is run once more by `afresh`, which imports everything from the changed file.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import inspect
import math
import multiprocessing
import os
import resource
import shutil
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from types import CodeType, FunctionType

import pytest

from tools.mutation.kernel_test_map import ordinary_options

ROOT = Path(__file__).resolve().parents[2]
_FORK = multiprocessing.get_context("fork")
_MEMORY = 6 << 30


@dataclass(frozen=True)
class Answer:
    """What tests said: "passed", "killed" or "timeout"; the test that failed; how many were run."""

    outcome: str
    by: str
    ran: int


def copy_tree(to: Path) -> None:
    """What tests need, copied as it is now: no change is ever made in the tree itself."""
    shutil.rmtree(to, ignore_errors=True)
    ignored = shutil.ignore_patterns("__pycache__", ".*_cache", "_build", ".hypothesis")
    for folder in ("certattn", "tests", "tools", "certificates", "docs"):
        shutil.copytree(ROOT / folder, to / folder, ignore=ignored)
    for file in ("pyproject.toml", "README.md", "CHANGELOG.md", "CITATION.cff", "LICENSE"):
        shutil.copy2(ROOT / file, to / file)


@contextlib.contextmanager
def applied(tree: Path, module: str, code: str) -> Iterator[None]:
    """A block during which a module of a tree has other code."""
    path = tree / module
    before = path.read_text()
    _write(path, code)
    try:
        yield
    finally:
        _write(path, before)


def _write(path: Path, code: str) -> None:
    path.write_text(code)
    # A compiled module of the same size and second would be taken for this one.
    for compiled in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"):
        compiled.unlink()


# -- a process with limits


def limited(work: Callable[[], tuple[str, int]], seconds: float, temporary: Path | None = None) -> Answer:
    """The answer of `work` (what failed, or ""; how many tests were run) in a fork that may take so many seconds.

    What it leaves in the folder `temporary` is deleted.
    """
    receiver, sender = _FORK.Pipe(duplex=False)
    process = _FORK.Process(target=_work, args=(work, sender, seconds))
    process.start()
    sender.close()
    try:
        # On a busy machine seconds of a processor take longer.
        if not receiver.poll(4 * seconds):
            return Answer("timeout", "", 0)
        failed, ran = receiver.recv()
        return Answer("killed" if failed else "passed", failed, ran)
    except EOFError:
        process.join()
        if process.exitcode in (-signal.SIGXCPU, -signal.SIGKILL):
            return Answer("timeout", "", 0)
        return Answer("killed", f"the process ended with {process.exitcode}", 0)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid or 0, signal.SIGKILL)
        process.kill()
        process.join()
        receiver.close()
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)
            temporary.mkdir()


def _work(work: Callable[[], tuple[str, int]], sender: Connection, seconds: float) -> None:
    os.setsid()
    limit = math.ceil(seconds + sum(os.times()[:2]))
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    sender.send(work())
    sender.close()
    # Neither the clean-up of the process that was forked, nor its standard output, belong to this one.
    os._exit(0)


def _enter(tree: Path) -> None:
    """Make this process, and those it starts, use the kernel of a tree, silently."""
    os.chdir(tree)
    sys.path.insert(0, str(tree))
    os.environ["PYTHONPATH"] = str(tree)
    # Not where other runs of pytest tidy up.
    _temporary(tree).mkdir(exist_ok=True)
    os.environ["PYTEST_DEBUG_TEMPROOT"] = os.environ["TMPDIR"] = str(_temporary(tree))
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)


def _temporary(tree: Path) -> Path:
    return tree.parent / "temporary"


class _Watch:
    """A plugin of pytest: what failed first, and what was run."""

    def __init__(self) -> None:
        self.failed = ""
        self.ran: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.ran.add(report.nodeid)
        if report.failed and not self.failed:
            self.failed = report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and not self.failed:
            self.failed = f"{report.nodeid} (while it is imported)"


# -- afresh


class _Chosen(_Watch):
    """Only these tests, in this order."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__()
        self.place = {name: i for i, name in enumerate(names)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted((i for i in items if i.nodeid in self.place), key=lambda item: self.place[item.nodeid])


def afresh(tree: Path, names: Sequence[str], seconds: float) -> Answer:
    """Run tests of a tree in a process that imports its kernel; the caller has not imported any."""
    assert "certattn" not in sys.modules

    def work() -> tuple[str, int]:
        _enter(tree)
        chosen = _Chosen(names)
        files = list(dict.fromkeys(name.split("::")[0] for name in names))
        code = pytest.main([*ordinary_options(), "-x", *files], plugins=[chosen])
        return chosen.failed or ("" if code in (0, 5) else f"pytest ended with {code}"), len(chosen.ran)

    return limited(work, seconds, _temporary(tree))


# -- with all tests imported before


class Collected(_Watch):
    """A process that has imported tests, and runs some of them with changed functions, again and again."""

    def __init__(self, tree: Path, files: Sequence[str]) -> None:
        super().__init__()
        self.tree = tree
        self.files = list(files)
        self.requests, self._received = _FORK.Pipe()
        self.process = _FORK.Process(target=self._serve)
        self.process.start()
        self._received.close()
        # A change that is made before everything is imported would be imported.
        self.requests.recv()

    def run(self, module: str, exchanged: Mapping[CodeType, CodeType], names: Sequence[str], seconds: float) -> Answer:
        """Run tests, by their names with or without parameters, where functions of a module have other code."""
        import marshal

        self.requests.send((module, [tuple(map(marshal.dumps, pair)) for pair in exchanged.items()], names, seconds))
        answer = self.requests.recv()
        assert isinstance(answer, Answer)
        return answer

    def stop(self) -> None:
        """End the process."""
        self.requests.close()
        self.process.join()

    def _serve(self) -> None:
        self.requests.close()
        _enter(self.tree)
        pytest.main([*ordinary_options(), *self.files], plugins=[self])
        os._exit(0)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        import marshal

        items: dict[str, list[pytest.Item]] = {}
        for item in session.items:
            # By its name, and without its parameters.
            for name in {item.nodeid, item.nodeid.split("[")[0]}:
                items.setdefault(name, []).append(item)
        # What is imported once is looked through once, not by each fork, nor by each collection of garbage there.
        live = live_functions()
        gc.freeze()
        self._received.send(len(items))
        with contextlib.suppress(EOFError):
            while True:
                module, exchanged, names, seconds = self._received.recv()
                file = str(self.tree / module)
                codes = {marshal.loads(old): marshal.loads(new) for old, new in exchanged}
                chosen = [item for name in names for item in items.get(name, [])]
                work = functools.partial(self._run, live.get(file, []), codes, chosen)
                self._received.send(limited(work, seconds, _temporary(self.tree)))
        return True

    def _run(
        self, functions: Sequence[FunctionType], codes: Mapping[CodeType, CodeType], chosen: Sequence[pytest.Item]
    ) -> tuple[str, int]:
        if codes and exchange(functions, codes) == 0:
            # Nothing that was imported has this function; the caller sees that no test was run.
            return "", 0
        for item, following in zip(chosen, [*chosen[1:], None], strict=False):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.failed:
                break
        return self.failed, len(self.ran)


def live_functions() -> dict[str, list[FunctionType]]:
    """All functions that there are, by the file that they stand in."""
    functions: dict[str, list[FunctionType]] = {}
    for thing in gc.get_objects():
        if type(thing) is FunctionType:
            functions.setdefault(thing.__code__.co_filename, []).append(thing)
    return functions


def exchange(functions: Iterable[FunctionType], codes: Mapping[CodeType, CodeType]) -> int:
    """Give every function that has one of these codes the other one; how many there were."""
    # Not by equality: codes that have run before differ from those that have not.
    others = {_identity(old): new for old, new in codes.items()}
    found = [function for function in functions if _identity(function.__code__) in others]
    for function in found:
        function.__code__ = others[_identity(function.__code__)]
    return len(found)


def _identity(code: CodeType) -> tuple[object, ...]:
    return code.co_qualname, code.co_firstlineno, code.co_code


def changed_functions(old: str, new: str, file: str) -> dict[CodeType, CodeType] | None:
    """The codes of functions that differ between two texts of a module; None where anything else differs."""
    pairs: dict[CodeType, CodeType] = {}
    first, second = (compile(text, file, "exec", dont_inherit=True) for text in (old, new))
    return pairs if _compared(first, second, pairs) and pairs else None


def _compared(old: CodeType, new: CodeType, pairs: dict[CodeType, CodeType]) -> bool:
    """Whether two codes differ inside functions only; the outermost ones are added to the pairs."""
    if old == new:
        return True
    if old.co_flags & inspect.CO_OPTIMIZED:
        pairs[old] = new
        return old.co_freevars == new.co_freevars
    mine, other = ([c for c in code.co_consts if isinstance(c, CodeType)] for code in (old, new))
    if _own(old) != _own(new) or len(mine) != len(other):
        return False
    return all(_compared(first, second, pairs) for first, second in zip(mine, other, strict=True))


def _own(code: CodeType) -> tuple[object, ...]:
    """What a module or class does itself, without the code of its functions."""
    consts = tuple(c.co_name if isinstance(c, CodeType) else c for c in code.co_consts)
    return code.co_code, consts, code.co_names, code.co_varnames
