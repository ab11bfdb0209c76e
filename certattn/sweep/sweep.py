"""A sweep from its spec to a folder of results: what is left to do is done, and written down as it comes."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

from certattn._version import __version__
from certattn.kernel.decide.proof import Verdict
from certattn.kernel.errors import UsageError
from certattn.sweep.index import INDEX, Index
from certattn.sweep.results import CERTIFICATES, CHANGED, Result, kept
from certattn.sweep.spec import Spec
from certattn.sweep.tasks import Settings, Task

# Results are entered into the index together, at most so many and at least so often.
_MOST = 200
_SECONDS = 1.0

Scheduler = Callable[[Sequence[Task], Path, Settings], Generator[Result | None, None, None]]


def run_sweep(
    spec: Spec,
    folder: Path,
    settings: Settings,
    scheduler: Scheduler,
    *,
    begun: Callable[[int, int], None] = lambda done, total: None,
    told: Callable[[Result | None], None] = lambda result: None,
) -> None:
    """Do the tasks of `spec` that are not done in `folder`, by `scheduler`.

    `begun` is called with the numbers of tasks that are done already and of all, `told` with each result as it comes,
    and with None while nothing does. An exception such as KeyboardInterrupt leaves a folder with which to go on.
    Raises MalformedError for a spec that makes no sense, UsageError for a folder that is not a sweep's or is in use.
    """
    tasks = spec.tasks()
    with _held(folder), closing(Index(folder)) as index:
        shutil.rmtree(folder / "work", ignore_errors=True)
        shutil.copyfile(spec.path, folder / "sweep.yaml")
        known = index.begin(tasks, _facts(spec))
        done = [_compared(result, known) for task in tasks if (result := kept(folder, task)) is not None]
        index.enter(done)
        ready = {result.key for result in done}
        begun(len(done), len(tasks))
        left = [task for task in tasks if task.key not in ready]
        if left:
            with closing(scheduler(left, folder.absolute(), settings)) as results:
                _enter(index, results, known, told)
        shutil.rmtree(folder / "work", ignore_errors=True)


def _enter(
    index: Index, results: Iterator[Result | None], known: dict[str, str], told: Callable[[Result | None], None]
) -> None:
    fresh: list[Result] = []
    last = time.monotonic()
    try:
        for result in results:
            if result is not None:
                result = _compared(result, known)
                fresh.append(result)
            told(result)
            if fresh and (len(fresh) >= _MOST or time.monotonic() - last > _SECONDS):
                index.enter(fresh)
                fresh, last = [], time.monotonic()
    finally:
        index.enter(fresh)


def _compared(result: Result, known: dict[str, str]) -> Result:
    """The result, unless the same task has made another statement before."""
    before, now = known.get(result.key), result.report.digest
    if result.version != __version__:
        reason = f"a worker has certattn {result.version}, and this is {__version__}; install the same on both"
        return replace(result, report=replace(result.report, verdict=Verdict.ERROR, reason=reason))
    if before is None or now in ("", before):
        return result
    reason = (
        f"this task made the statement {before} before and {now} now, as another version of numpy may; "
        "sweep into another folder to keep the new one"
    )
    return replace(result, state=CHANGED, report=replace(result.report, verdict=Verdict.REJECTED, reason=reason))


def _facts(spec: Spec) -> dict[str, str]:
    digest = hashlib.sha256(spec.path.read_bytes()).hexdigest()
    return {"claim": spec.claim, "spec_sha256": digest, "version": __version__, "tasks": str(len(spec.rows))}


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """The folder, made if need be, for this process alone. Raises UsageError."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is no folder; choose another name for -o")
    if not folder.parent.is_dir():
        raise UsageError(f"{folder.parent}: no such folder")
    certificates = folder / CERTIFICATES
    if certificates.is_symlink():
        raise UsageError(f"{certificates}: a link, expected a folder: what it leads to is not this sweep's")
    # Without its index, which can be made anew, a sweep's folder has still its lock and its certificates.
    ours = (folder / INDEX).exists() or ((folder / "lock").exists() and certificates.is_dir())
    if folder.is_dir() and not ours and any(entry.name != "lock" for entry in folder.iterdir()):
        raise UsageError(f"{folder} holds other things; expected an empty folder or that of a sweep")
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(
                f"{folder}: another sweep is at work there; wait for it, or choose another folder"
            ) from None
        yield
