"""Work in a process forked from one that has everything imported, with limits of time and memory for each piece.

A process costs more than a small piece of work: 2 ms to fork and end it, and 6 more to copy the memory that it touches.
So it goes on with the next piece as long as all goes well.
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
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from certattn.isolation.interrupts import end_with_parent

# Pieces of work for one process, and what it may grow by: what stays behind of each must not add up.
MOST_PIECES = 200
_MOST_GROWTH = 2**26
# What a pipe holds at most.
_CHUNK = 2**16
_MOST_BYTES = 2**28
_COMPLAINT = 2000
_MOST_DESCRIPTORS = 2**16


@dataclass(frozen=True)
class Outcome:
    """What a process said: `answer`, or None where it did not end well, and why.

    `first`: the process had done nothing before, so nothing but this piece of work is to blame.
    """

    answer: Any
    reason: str = ""
    over_time: bool = False
    first: bool = True


@dataclass(frozen=True)
class Child:
    """A forked process, and the ends of its pipes: what it answers, what it complains of, and one that it lives by."""

    pid: int
    answers: int
    complaints: int
    life: int

    def complaint(self) -> bytes:
        """The end of what it has written on its error stream since it was last asked."""
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


class Series:
    """Pieces of work, one after another in one process, which is forked when it is needed.

    `begin` is called first in each process, with the limit of memory, and `work` with each piece; pieces and answers
    are plain data for JSON. The process ends after a piece without an answer or with one that is not `good`, after one
    that made it grow, and after some hundred of them: the next one begins in a new process.
    """

    def __init__(self, begin: Callable[[int], object], work: Callable[[Any], Any], good: Callable[[Any], bool]) -> None:
        self._begin, self._work, self._good = begin, work, good
        self._child: Child | None = None
        self._pieces: BinaryIO | None = None
        self._memory = self._done = 0

    def ask(self, piece: Any, seconds: int, memory: int) -> Outcome:
        """What `work` makes of a piece in a process with these limits. It is tried once."""
        if memory != self._memory:
            self.end()
        first = self._child is None
        if self._child is None:
            self._start(memory)
        try:
            outcome = replace(self._asked(piece, seconds), first=first)
        except BaseException:
            self.end()
            raise
        self._done += 1
        if outcome.answer is None or not self._good(outcome.answer) or self._done >= MOST_PIECES:
            self.end()
        return outcome

    def end(self) -> int:
        """End the process, if there is one; its exit code."""
        child, self._child = self._child, None
        if self._pieces is not None:
            with suppress(BrokenPipeError):
                self._pieces.close()
            self._pieces = None
        return child.end() if child is not None else 0

    def _start(self, memory: int) -> None:
        inner, outer = os.pipe()

        def program(answer: int) -> None:
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            self._begin(memory)
            before = _memory()
            # What answers go to stays open: its end is the end of the process, after all complaints.
            with open(inner, "rb") as pieces, open(answer, "wb", closefd=False) as answers:
                for line in pieces:
                    seconds, piece = json.loads(line)
                    # For systems where a parent that is killed does not end it.
                    signal.alarm(min(seconds + 60, 10**9))
                    content = json.dumps([self._work(piece), _memory() - before > _MOST_GROWTH])
                    signal.alarm(0)
                    answers.write(content.encode("ascii") + b"\n")
                    answers.flush()

        self._child = fork(program, (inner,))
        os.close(inner)
        self._pieces = open(outer, "wb")  # noqa: SIM115
        self._memory, self._done = memory, 0

    def _asked(self, piece: Any, seconds: int) -> Outcome:
        assert self._child is not None
        assert self._pieces is not None
        deadline = time.monotonic() + seconds
        with suppress(BrokenPipeError):  # it has ended: its answer will say so
            self._pieces.write(json.dumps([seconds, piece]).encode("ascii") + b"\n")
            self._pieces.flush()
        said = bytearray()
        waiting = select.poll()
        waiting.register(self._child.answers, select.POLLIN)
        while not said.endswith(b"\n"):
            if not waiting.poll(max(0, 1000 * (deadline - time.monotonic()))):
                return Outcome(None, f"stopped at the time limit of {seconds} s (--timeout)", over_time=True)
            chunk = os.read(self._child.answers, _CHUNK)
            said += chunk
            if not chunk or len(said) > _MOST_BYTES:
                return Outcome(None, self._how_it_ended())
        self._child.complaint()  # what is not read would fill the pipe in the end
        try:
            answer, grown = json.loads(said)
        except (ValueError, TypeError):
            return Outcome(None, "the process sent what is no answer")
        if grown:
            self.end()
        return Outcome(answer)

    def _how_it_ended(self) -> str:
        assert self._child is not None
        last = self._child.complaint().decode("utf-8", "replace").strip().rpartition("\n")[2]
        code = self.end()
        how = f"signal {-code}, {signal.strsignal(-code)}" if code < 0 else f"exit status {code}"
        return f"the process ended without a result ({how}{': ' if last else ''}{last[:200]})"


def limit_memory(memory: int) -> None:
    """What a process may have of address space, from here on."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    least = memory if hard == resource.RLIM_INFINITY else min(memory, hard)
    resource.setrlimit(resource.RLIMIT_AS, (min(least, sys.maxsize),) * 2)


def _memory() -> int:
    """Bytes of address space that this process has; where the system does not say, of memory that it had at most."""
    try:
        return int(Path("/proc/self/statm").read_bytes().split()[0]) * resource.getpagesize()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
