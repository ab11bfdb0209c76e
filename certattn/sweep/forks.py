"""Work in a process of its own, forked from one that has everything imported, with limits of time and memory.

For generating, which is not trusted and writes files. Checks have `certattn.kernel.worker`.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NoReturn

from certattn.kernel.interrupts import end_with_parent

_CHUNK = 2**16
_COMPLAINT = 2000
_MOST_DESCRIPTORS = 2**16


@dataclass(frozen=True)
class Outcome:
    """What a process said: `answer`, or None where it did not end well, and why."""

    answer: Any
    reason: str = ""
    over_time: bool = False


@dataclass(frozen=True)
class Child:
    """A forked process, and the ends of its pipes: what it answers, and what it complains of."""

    pid: int
    answers: int
    complaints: int

    def end(self) -> int:
        """End it if it has not ended, and close its pipes; its exit code."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        _, status = os.waitpid(self.pid, 0)
        os.close(self.answers)
        os.close(self.complaints)
        return os.waitstatus_to_exitcode(status)


def fork(program: Callable[[int], None], inherited: tuple[int, ...] = ()) -> Child:
    """Run `program`, which gets the descriptor to answer on, in a process that ends when this one does.

    Of this process's descriptors it keeps those `inherited`; it has no standard input, and what it prints is a
    complaint.
    """
    answers, answer = os.pipe()
    complaints, complaint = os.pipe()
    pid = os.fork()
    if pid == 0:
        _live(program, answer, complaint, inherited)
    os.close(answer)
    os.close(complaint)
    return Child(pid, answers, complaints)


def _live(program: Callable[[int], None], answer: int, complaint: int, inherited: tuple[int, ...]) -> NoReturn:
    status = 1
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(complaint, 1)
        os.dup2(complaint, 2)
        kept = [2, *sorted({answer, *inherited}), _MOST_DESCRIPTORS]
        for before, after in pairwise(kept):
            os.closerange(before + 1, after)
        sys.stdout = sys.stderr = open(2, "w", buffering=1, closefd=False, errors="backslashreplace")  # noqa: SIM115
        os.set_blocking(2, False)
        end_with_parent(2)
        program(answer)
        status = 0
    except BaseException as error:
        with suppress(OSError):
            os.write(2, f"{type(error).__name__}: {error}".encode("utf-8", "backslashreplace")[:_COMPLAINT])
    finally:
        os._exit(status)


def run_limited(work: Callable[[], Any], seconds: int, memory: int) -> Outcome:
    """What `work` returns, plain data for JSON, from a process with these limits."""

    def program(answer: int) -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        least = memory if hard == resource.RLIM_INFINITY else min(memory, hard)
        resource.setrlimit(resource.RLIMIT_AS, (min(least, sys.maxsize),) * 2)
        # It stays open: its end is the end of the process, after all complaints.
        with open(answer, "wb", closefd=False) as file:
            file.write(json.dumps(work()).encode("ascii"))

    child = fork(program)
    said, deadline = bytearray(), time.monotonic() + seconds
    waiting = select.poll()
    waiting.register(child.answers, select.POLLIN)
    try:
        while True:
            if not waiting.poll(max(0, 1000 * (deadline - time.monotonic()))):
                return Outcome(None, f"stopped at the time limit of {seconds} s (--timeout)", over_time=True)
            chunk = os.read(child.answers, _CHUNK)
            said += chunk
            if not chunk:
                break
    except BaseException:
        said.clear()
        raise
    finally:
        complaint = b"" if said else _complaint(child)
        code = child.end()
    # With an answer that is whole, how the process ends says nothing: this process may have ended it.
    with suppress(ValueError):
        return Outcome(json.loads(said))
    how = f"signal {-code}, {signal.strsignal(-code)}" if code < 0 else f"exit status {code}"
    last = complaint.decode("utf-8", "replace").strip().rpartition("\n")[2]
    return Outcome(None, f"the process ended without a result ({how}{': ' if last else ''}{last[:200]})")


def _complaint(child: Child) -> bytes:
    """What a process that has closed its answer wrote on its error stream."""
    os.set_blocking(child.complaints, False)
    with suppress(BlockingIOError):
        return os.read(child.complaints, _COMPLAINT)
    return b""
