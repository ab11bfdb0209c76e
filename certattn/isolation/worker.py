"""Checks in processes of their own: a limit, a crash in native code or Ctrl-C never takes the run down.

A worker is forked for each certificate; it reads, checks, writes one report as JSON and exits. Its
report counts only if it is all that was sent and the process then ended with status 0. Whatever
else happens (killed at the time limit, out of memory, an abort inside a library, garbage) becomes a
report that does not verify.
"""

from __future__ import annotations

import fcntl
import importlib
import json
import os
import re
import select
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NoReturn

from certattn.isolation.interrupts import end_with_parent, uninterrupted
from certattn.isolation.meter import Meter
from certattn.isolation.sandbox import confine, refusals
from certattn.kernel.decide.checker import CLAIMS, CheckOptions
from certattn.kernel.decide.floating_point import set_default
from certattn.kernel.decide.proof import Verdict
from certattn.kernel.limits import Limits
from certattn.statements.checking import check_file
from certattn.statements.reports import Report
from certattn.statements.wording import WORDINGS

Check = Callable[[Path, CheckOptions], Report]

_POLL_MILLISECONDS = 200
_CHUNK = 2**16
_REPORT_BYTES = 2**28
_STDERR_BYTES = 4096
_MOST_DESCRIPTORS = 2**16
# What exhausted memory looks like in Python, FLINT, OpenBLAS and the dynamic linker.
_OUT_OF_MEMORY = re.compile("MemoryError|allocate memory|memory allocation|out of memory|failed to map segment", re.I)


@dataclass(eq=False)
class _Worker:
    """A process and its pipes; `report` is what it has sent so far."""

    index: int
    path: Path
    pid: int
    results: int
    stderr: int
    started: int
    meter: Meter
    report: bytearray = field(default_factory=bytearray)
    sending: bool = True
    left: bool = False
    ended: bool = False
    exit_code: int | None = None


def check_files(
    paths: Sequence[Path],
    options: CheckOptions,
    *,
    jobs: int = 1,
    check: Check = check_file,
    started: Callable[[Path], None] = lambda path: None,
    waited: Callable[[int, int], None] = lambda done, total: None,
    left: Callable[[Path, str], None] = lambda path, reason: None,
) -> Generator[Report, None, None]:
    """Check every file, `jobs` at a time; reports come in the order of `paths`.

    To show progress, `started` is called with each path, and `waited` about five times a second, with
    the bytes of large array files that the running checks have read, and of how many; `left` with a path, and why its
    check has left binary64, once it goes on in Arb.
    Closing the iterator, or an exception such as KeyboardInterrupt, ends all workers.
    """
    waiting = list(enumerate(paths))[::-1]
    running: list[_Worker] = []
    done: dict[int, Report] = {}
    following = 0
    try:
        while waiting or running:
            while waiting and len(running) < max(1, jobs):
                index, path = waiting.pop()
                try:
                    with uninterrupted():
                        running.append(_start(index, path, options, check))
                except OSError as error:
                    # Too many processes or open files: go on when another worker has ended.
                    if running:
                        waiting.append((index, path))
                        break
                    done[index] = _not_started(path, error)
                else:
                    started(path)
            for worker in _ended(running, options.limits):
                with uninterrupted():
                    running.remove(worker)
                    done[worker.index] = _report(worker, options.limits)
                if waiting:
                    _learn(done[worker.index])
            for worker in running:
                if not worker.left and (reason := worker.meter.reason):
                    worker.left = True
                    left(worker.path, reason)
            waited(*map(sum, zip((0, 0), *(worker.meter.state for worker in running), strict=True)))
            while following in done:
                yield done.pop(following)
                following += 1
    finally:
        while running:
            try:
                with uninterrupted():
                    while running:
                        _end(running.pop())
            except KeyboardInterrupt:
                continue  # a second Ctrl-C; the first is being dealt with


# -- the life of a worker process


def _start(index: int, path: Path, options: CheckOptions, check: Check) -> _Worker:
    """Raises OSError where the system has no process or no file descriptors left."""
    if threading.active_count() > 1:
        # A thread that is importing meanwhile leaves its lock locked in the worker for ever: what
        # the worker of a threaded program needs must be there before.
        importlib.import_module("certattn.kernel.document.bit_patterns")
        for claim in CLAIMS:
            _import(claim)
    meter = Meter()
    pipes: list[int] = []
    try:
        pipes += os.pipe()
        pipes += os.pipe()
        pid = os.fork()
    except OSError:
        _close(*pipes)
        raise
    results, report, stderr, complaint = pipes
    if pid == 0:
        _work(path, replace(options, watch=meter), check, report, complaint)
    _close(report, complaint)
    os.set_blocking(results, False)
    os.set_blocking(stderr, False)
    return _Worker(index, path, pid, results, stderr, time.monotonic_ns(), meter)


def _import(claim: str) -> None:
    """The theorem of a claim, and its words."""
    CLAIMS[claim], WORDINGS[claim]


def _learn(report: Report) -> None:
    """Import what the check of a certificate like this one has needed: the processes that follow have it then."""
    if report.claim in CLAIMS:
        _import(report.claim)
    if "marshalling" in report.nanoseconds:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        importlib.import_module("certattn.kernel.document.bit_patterns")
    if "binary64" in report.arithmetic:
        importlib.import_module("certattn.fast.attention")


def _work(path: Path, options: CheckOptions, check: Check, results: int, stderr: int) -> NoReturn:
    """Check, send the report and exit; nothing of the parent's program runs after it."""
    status = 1
    try:
        results = _isolate(options.limits, results, stderr)
        content = json.dumps(confined_report(path, options, check).to_dict()).encode("ascii")
        with open(results, "wb") as file:
            file.write(content)
        status = 0
    except BaseException as error:
        os.write(2, f"{type(error).__name__}: {error}".encode("utf-8", "backslashreplace")[:_STDERR_BYTES])
    finally:
        os._exit(status)


def _isolate(limits: Limits, results: int, stderr: int) -> int:
    """Leave nothing of the parent's files, terminal, signals and memory to the worker; its new `results`."""
    first, second = sorted((results, stderr))
    for start, stop in ((3, first), (first + 1, second), (second + 1, _MOST_DESCRIPTORS)):
        os.closerange(start, stop)
    # The parent may have had no standard streams, so that the pipes have their numbers.
    results, stderr = (fcntl.fcntl(number, fcntl.F_DUPFD, 3) for number in (results, stderr))
    os.dup2(stderr, 1)
    os.dup2(stderr, 2)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.stdout = sys.stderr = open(2, "w", buffering=1, closefd=False, errors="backslashreplace")  # noqa: SIM115
    os.set_blocking(stderr, False)  # one that complains a lot must not wait to be read
    end_with_parent(stderr)
    # For systems where a parent that is killed does not end its worker.
    signal.alarm(min(limits.timeout_seconds + 60, 10**9))
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    set_default()
    confine(limits.memory_bytes)
    return results


def confined_report(path: Path, options: CheckOptions, check: Check = check_file) -> Report:
    """What a process that has been confined says of a file: an error if it ever tried what was refused."""
    before = time.perf_counter_ns()
    try:
        report = check(path, options)
    except Exception as error:
        if isinstance(error, MemoryError) or _OUT_OF_MEMORY.search(str(error)):
            report = _memory_report(path, options.limits)
        else:
            report = Report(str(path), Verdict.ERROR, reason=bug(error))
    if reason := refusals():
        report = Report(str(path), Verdict.ERROR, reason=reason)
    return replace(report, nanoseconds={**report.nanoseconds, "total": time.perf_counter_ns() - before})


def bug(error: BaseException) -> str:
    """What is said of an exception that nobody expected, with the file and line that raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"a bug in certattn: {type(error).__name__}: {error}{where}; please report it"


# -- the parent's side


def _ended(running: list[_Worker], limits: Limits) -> list[_Worker]:
    """Workers that have ended, are over time or send without end; waits a moment for one."""
    poll = select.poll()
    sending = [worker.results for worker in running if worker.sending]
    for results in sending:
        poll.register(results, select.POLLIN)
    # A worker that has closed its pipe is about to exit.
    poll.poll(_POLL_MILLISECONDS if len(sending) == len(running) else 1)
    return [worker for worker in running if _has_ended(worker, limits)]


def _has_ended(worker: _Worker, limits: Limits) -> bool:
    # In this order: what a process wrote before it ended is in the pipe when it is found ended.
    _notice_exit(worker)
    over_time = time.monotonic_ns() - worker.started > limits.timeout_seconds * 10**9
    with suppress(BlockingIOError):
        while worker.sending and len(worker.report) <= _REPORT_BYTES:
            chunk = os.read(worker.results, _CHUNK)
            worker.report += chunk
            worker.sending = bool(chunk)
    return worker.ended or over_time or len(worker.report) > _REPORT_BYTES


def _notice_exit(worker: _Worker) -> None:
    try:
        pid, status = os.waitpid(worker.pid, os.WNOHANG)
    except ChildProcessError:
        worker.ended = True  # somebody else has waited for it, so its exit status is not known
        return
    if pid == worker.pid:
        worker.ended, worker.exit_code = True, os.waitstatus_to_exitcode(status)


def _report(worker: _Worker, limits: Limits) -> Report:
    """What a worker that has ended, or is over a limit, has to say. Ends it."""
    path, ended, said, asked = str(worker.path), worker.ended, b"", worker.meter.asked
    with suppress(BlockingIOError):
        said = os.read(worker.stderr, _STDERR_BYTES)
    _end(worker)
    if len(worker.report) > _REPORT_BYTES:
        return Report(path, Verdict.ERROR, reason=f"the worker process sent over {_REPORT_BYTES} bytes")
    if not ended:
        reason = f"stopped at the time limit of {limits.timeout_seconds} s (--timeout)"
        reason += f", {asked}; give it longer" if asked else ", while it read the certificate; give it longer"
        return Report(path, Verdict.INCONCLUSIVE, reason=reason, limit="time")
    if worker.exit_code != 0 or not worker.report:
        return _death(worker, said.decode("utf-8", "replace").strip(), limits)
    try:
        report = Report.from_dict(json.loads(worker.report.decode("ascii")))
    except Exception as error:
        reason = f"the worker process did not send one report ({type(error).__name__}: {error})"
        return Report(path, Verdict.ERROR, reason=reason)
    if report.path != path:
        return Report(path, Verdict.ERROR, reason=f"the worker process sent a report of another file, {report.path!r}")
    return report


def _death(worker: _Worker, said: str, limits: Limits) -> Report:
    """The report of a worker that ended without one."""
    if _OUT_OF_MEMORY.search(said):
        return _memory_report(worker.path, limits)
    code, last = worker.exit_code, f": {said.splitlines()[-1][:200]}" if said else ""
    how = f"exit status {'unknown' if code is None else code}"
    if code is not None and code < 0:
        how = f"signal {-code}, {signal.strsignal(-code)}"
    reason = f"the worker process ended without a report ({how}{last})"
    if code == -signal.SIGKILL:
        reason += "; the machine may have run out of memory: try --jobs 1 or a lower --memory"
    return Report(str(worker.path), Verdict.ERROR, reason=reason)


def _memory_report(path: Path, limits: Limits) -> Report:
    most = limits.memory_bytes
    shown = f"{most >> 20} MiB" if most >= 2**20 else f"{most} bytes"
    reason = f"the memory limit of {shown} was reached (--memory)"
    return Report(str(path), Verdict.INCONCLUSIVE, reason=reason, limit="memory")


def _not_started(path: Path, error: OSError) -> Report:
    reason = f"no process could be started for it ({(error.strerror or str(error)).lower()})"
    return Report(str(path), Verdict.INCONCLUSIVE, reason=reason, limit="processes")


def _end(worker: _Worker) -> None:
    """Kill the process if it is there still, wait for it, close its pipes."""
    if not worker.ended:
        with suppress(ProcessLookupError):
            os.kill(worker.pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(worker.pid, 0)
        worker.ended = True
    _close(worker.results, worker.stderr)
    worker.meter.close()


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
