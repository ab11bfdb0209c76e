"""Work in a process forked from one that has everything imported, with limits of time and memory."""

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

from certattn.isolation.interrupts import end_with_parent

# What a pipe holds at most.
_CHUNK = 2**16
_MOST_BYTES = 2**28
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
    """A forked process, and the ends of its pipes: what it answers, what it complains of, and one that it lives by."""

    pid: int
    answers: int
    complaints: int
    life: int

    def complaint(self) -> bytes:
        """The end of what it has written on its error stream."""
        os.set_blocking(self.complaints, False)
        with suppress(BlockingIOError):
            return os.read(self.complaints, _CHUNK)[-_COMPLAINT:]
        return b""

    def end(self) -> int:
        """End it if it has not ended, and close its pipes; its exit code."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        _, status = os.waitpid(self.pid, 0)
        os.close(self.answers)
        os.close(self.complaints)
        os.close(self.life)
        return os.waitstatus_to_exitcode(status)


def fork(program: Callable[[int], None], inherited: tuple[int, ...] = ()) -> Child:
    """Run `program`, which gets the descriptor to answer on, in a process that ends when this one does.

    Of this process's descriptors it keeps those `inherited`; it has no standard input, and what it prints is a
    complaint.
    """
    answers, answer = os.pipe()
    complaints, complaint = os.pipe()
    # Nothing is ever read from it: reading would send the signal that the end of this process sends.
    life, lifeline = os.pipe()
    pid = os.fork()
    if pid == 0:
        _live(program, answer, complaint, lifeline, inherited)
    for end in (answer, complaint, lifeline):
        os.close(end)
    return Child(pid, answers, complaints, life)


def _live(
    program: Callable[[int], None], answer: int, complaint: int, lifeline: int, inherited: tuple[int, ...]
) -> NoReturn:
    status = 1
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(complaint, 1)
        os.dup2(complaint, 2)
        kept = [2, *sorted({answer, lifeline, *inherited}), _MOST_DESCRIPTORS]
        for before, after in pairwise(kept):
            os.closerange(before + 1, after)
        sys.stdout = sys.stderr = open(2, "w", buffering=1, closefd=False, errors="backslashreplace")  # noqa: SIM115
        os.set_blocking(2, False)
        end_with_parent(lifeline)
        program(answer)
        status = 0
    except BaseException as error:
        with suppress(OSError):
            os.write(2, f"{type(error).__name__}: {error}".encode("utf-8", "backslashreplace")[:_COMPLAINT])
    finally:
        os._exit(status)


def done(work: Callable[[], Any], seconds: int, memory: int) -> Outcome:
    """What a piece of work comes to in a process of its own, with limits of time and memory; plain data for JSON."""

    def program(answer: int) -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        limit_memory(memory)
        # For systems where a parent that is killed does not end it.
        signal.alarm(min(seconds + 60, 10**9))
        # What answers go to stays open: its end is the end of the process, after all complaints.
        with open(answer, "wb", closefd=False) as answers:
            answers.write(json.dumps(work()).encode("ascii") + b"\n")

    child = fork(program)
    try:
        said = _said(child, seconds)
        last = child.complaint().decode("utf-8", "replace").strip().rpartition("\n")[2]
    finally:
        code = child.end()
    if said is None:
        return Outcome(None, f"stopped at the time limit of {seconds} s (--timeout)", over_time=True)
    if said.endswith(b"\n"):
        try:
            return Outcome(json.loads(said))
        except ValueError:
            return Outcome(None, "the process sent what is no answer")
    how = f"signal {-code}, {signal.strsignal(-code)}" if code < 0 else f"exit status {code}"
    return Outcome(None, f"the process ended without a result ({how}{': ' if last else ''}{last[:200]})")


def _said(child: Child, seconds: int) -> bytes | None:
    """A line, or less if the process has ended or says too much; None where time is over."""
    deadline, said = time.monotonic() + seconds, bytearray()
    waiting = select.poll()
    waiting.register(child.answers, select.POLLIN)
    while not said.endswith(b"\n"):
        if not waiting.poll(max(0, 1000 * (deadline - time.monotonic()))):
            return None
        chunk = os.read(child.answers, _CHUNK)
        said += chunk
        if not chunk or len(said) > _MOST_BYTES:
            return bytes(said).rstrip(b"\n")
    return bytes(said)


def limit_memory(memory: int) -> None:
    """What a process may have of address space, from here on."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    least = memory if hard == resource.RLIM_INFINITY else min(memory, hard)
    resource.setrlimit(resource.RLIMIT_AS, (min(least, sys.maxsize),) * 2)
