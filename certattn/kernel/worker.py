"""Checks in processes of their own: a limit, a crash in native code or Ctrl-C never takes the run down.

A worker reads, checks, and sends back one report as JSON. Whatever else happens to it (killed at
the time limit, out of memory, an abort inside a library) becomes a report that does not verify.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from certattn.kernel.checker import CheckOptions, check_file
from certattn.kernel.limits import Limits
from certattn.kernel.verdict import Report, Verdict

try:
    import resource
except ImportError:  # not a POSIX system: no memory limit there
    resource = None  # type: ignore[assignment]

_POLL_SECONDS = 1
_MESSAGE_BYTES = 2**30
_STDERR_BYTES = 4096

Check = Callable[[Path, CheckOptions], Report]


@dataclass
class _Running:
    index: int
    path: Path
    process: Any
    results: Connection
    stderr: int
    started: int


def check_files(
    paths: Sequence[Path],
    options: CheckOptions,
    *,
    jobs: int = 1,
    check: Check = check_file,
    started: Callable[[Path], None] = lambda path: None,
) -> Generator[Report, None, None]:
    """Check every file, `jobs` at a time; reports come in the order of `paths`.

    Closing the iterator, or an exception such as KeyboardInterrupt, ends all workers.
    """
    waiting = list(enumerate(paths))[::-1]
    running: dict[Connection, _Running] = {}
    done: dict[int, Report] = {}
    following = 0
    try:
        while waiting or running:
            while waiting and len(running) < max(1, jobs):
                index, path = waiting.pop()
                started(path)
                worker = _start(index, path, options, check)
                running[worker.results] = worker
            for worker in _finished(running, options.limits):
                del running[worker.results]
                done[worker.index] = _collect(worker, options.limits)
            while following in done:
                yield done.pop(following)
                following += 1
    finally:
        for worker in running.values():
            _end(worker)


def _start(index: int, path: Path, options: CheckOptions, check: Check) -> _Running:
    context: Any = multiprocessing.get_context("fork" if hasattr(os, "fork") else "spawn")
    receiver, sender = context.Pipe(duplex=False)
    read_stderr, write_stderr = os.pipe()
    # A full pipe must not block a worker that complains a lot.
    os.set_blocking(write_stderr, False)
    process = context.Process(target=_work, args=(path, options, check, sender, write_stderr), daemon=True)
    process.start()
    sender.close()
    os.close(write_stderr)
    return _Running(index, path, process, receiver, read_stderr, time.monotonic_ns())


def _work(path: Path, options: CheckOptions, check: Check, results: Connection, stderr: int) -> None:
    """The life of a worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C means
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    if hasattr(os, "fork"):
        os.dup2(stderr, 2)
    _limit_memory(options.limits.memory_bytes)
    before = time.perf_counter_ns()
    try:
        report = check(path, options)
    except MemoryError:
        report = _memory_report(path, options.limits)
    except RecursionError:
        report = Report(str(path), Verdict.ERROR, reason="a bug in certattn: recursion without end")
    except Exception as error:
        where = _innermost_line(error)
        reason = f"a bug in certattn: {type(error).__name__}: {error} ({where}); please report it"
        report = Report(str(path), Verdict.ERROR, reason=reason)
    total = {**report.nanoseconds, "total": time.perf_counter_ns() - before}
    results.send_bytes(json.dumps(replace(report, nanoseconds=total).to_dict()).encode())
    results.close()


def _limit_memory(limit: int) -> None:
    if resource is None:
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    allowed = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(resource.RLIMIT_AS, (allowed, hard))


def _innermost_line(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return "nowhere"
    return f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"


def _finished(running: dict[Connection, _Running], limits: Limits) -> list[_Running]:
    """Workers that have sent something, died or are over time; waits a moment for one."""
    ready = set(wait(list(running), timeout=_POLL_SECONDS))
    now = time.monotonic_ns()
    deadline = limits.timeout_seconds * 10**9
    return [w for c, w in running.items() if c in ready or now - w.started > deadline]


def _collect(worker: _Running, limits: Limits) -> Report:
    path = str(worker.path)
    try:
        if worker.results.poll() is not True:
            reason = f"stopped after {limits.timeout_seconds} s (--timeout)"
            return Report(path, Verdict.INCONCLUSIVE, reason=reason, limit="time")
        report = Report.from_dict(json.loads(worker.results.recv_bytes(_MESSAGE_BYTES)))
        return report if report.path == path else Report(path, Verdict.ERROR, reason="a report of another file")
    except (EOFError, OSError):
        return _death(worker, limits)
    finally:
        _end(worker)


def _death(worker: _Running, limits: Limits) -> Report:
    """The report of a worker that ended without one."""
    worker.process.join()
    code = worker.process.exitcode
    said = os.read(worker.stderr, _STDERR_BYTES).decode("utf-8", "replace").strip()
    # FLINT aborts where it cannot allocate; Python says MemoryError even while starting up.
    if "allocate memory" in said or "MemoryError" in said or "out of memory" in said.lower():
        return _memory_report(worker.path, limits)
    how = signal.Signals(-code).name if code is not None and code < 0 else f"exit status {code}"
    last = f": {said.splitlines()[-1][:200]}" if said else ""
    reason = f"the worker process died ({how}{last})"
    return Report(str(worker.path), Verdict.ERROR, reason=reason)


def _memory_report(path: Path, limits: Limits) -> Report:
    reason = f"the memory limit of {limits.memory_bytes >> 20} MiB was reached (--memory)"
    return Report(str(path), Verdict.INCONCLUSIVE, reason=reason, limit="memory")


def _end(worker: _Running) -> None:
    worker.process.kill()
    worker.process.join()
    worker.results.close()
    os.close(worker.stderr)
