"""Slots: programs that do one task at a time, as seen by the process that gives them tasks."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import time
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from certattn.kernel.decide.proof import Verdict
from certattn.sweep.results import LOST, Result, without_certificate
from certattn.sweep.tasks import Settings, Task

# A task whose worker ends is given to another so often before it is given up.
MOST_ATTEMPTS = 3
# What a slot is asked for: certificates to make and check, or to check only.
TASKS, CHECKS = "tasks", "checks"
# A slot is given so many tasks at once at most, and as many as take about so long.
_LARGEST_BATCH = 32
_SECONDS_OF_BATCH = 0.2
_COMPLAINT = 2000
_CHUNK = 2**16
_SECONDS_TO_END = 5


class LostError(Exception):
    """A slot has ended without an answer; the message says what is known of it."""


class Slot:
    """A process of `certattn.sweep.slot`. It does not come with the threads, locks and modules of this one."""

    # -P: what lies in the working folder is not imported.
    program = ("-P", "-m", "certattn.sweep.slot")

    def __init__(self) -> None:
        command = [sys.executable, *self.program]
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment)
        assert self._process.stdin
        assert self._process.stdout
        assert self._process.stderr
        self._requests, self.answers, self._complaints = (
            self._process.stdin, self._process.stdout, self._process.stderr
        )  # fmt: skip
        self._said = b""

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, request: dict[str, Any]) -> None:
        """Give it things to do, when it has none. Nothing is raised if it has ended: `answer` will say so."""
        with suppress(BrokenPipeError):
            self._requests.write(json.dumps(request).encode("ascii") + b"\n")
            self._requests.flush()

    def answer(self) -> dict[str, Any]:
        """Wait for what it says of the next thing. Raises LostError where it has ended."""
        while not self.has_answered:
            chunk = os.read(self.answers.fileno(), _CHUNK)
            if not chunk:
                raise LostError(self._how_it_ended())
            self._said += chunk
        line, _, self._said = self._said.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        return answer

    @property
    def has_answered(self) -> bool:
        """Whether `answer` need not wait."""
        return b"\n" in self._said

    def close(self) -> None:
        """Let it end by itself, as it does where there are no more requests."""
        with suppress(BrokenPipeError):
            self._requests.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_SECONDS_TO_END)
        self.end()

    def end(self) -> None:
        """End it and, by the end of their pipes, all that it has forked."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._requests, self.answers, self._complaints):
            with suppress(BrokenPipeError):
                pipe.close()

    def _how_it_ended(self) -> str:
        os.set_blocking(self._complaints.fileno(), False)
        said = (self._complaints.read(_COMPLAINT) or b"").decode("utf-8", "replace").strip()
        last = said.rpartition("\n")[2][:200]
        code = self._process.wait()
        return f"a worker ended (exit status {code}{': ' if last else ''}{last})"


def request_of(folder: Path, settings: Settings) -> dict[str, Any]:
    """What a slot is told with the tasks that it is asked to do."""
    return {"folder": str(folder), "settings": settings.to_dict()}


@dataclass
class Batch:
    """What a slot has been given and not yet answered: tasks, each with the number of the attempt."""

    left: deque[tuple[Task, int]]
    size: int
    begun: float = field(default_factory=time.monotonic)

    def results(self, slot: Slot) -> Iterator[Result]:
        """Those that `slot` has: the next one, and more that have come with it. Raises LostError."""
        yield self._next(slot)
        while self.left and slot.has_answered:
            yield self._next(slot)

    def _next(self, slot: Slot) -> Result:
        result = Result.from_dict(slot.answer())
        self.left.popleft()
        return result

    @property
    def next_size(self) -> int:
        """How many tasks to give it when it has answered all: more where it was quick."""
        quick = time.monotonic() - self.begun < _SECONDS_OF_BATCH
        return min(2 * self.size, _LARGEST_BATCH) if quick else max(1, self.size // 2)


def do_locally(
    tasks: Sequence[Task], folder: Path, settings: Settings, jobs: int
) -> Generator[Result | None, None, None]:
    """Do every task, `jobs` at a time; results come as they are there, and None where time passes without one.

    Closing the iterator, or an exception such as KeyboardInterrupt, ends all slots.
    """
    waiting = deque((task, 1) for task in tasks)
    running: dict[Slot, Batch] = {}
    # Slots with nothing to do, and how many tasks each is given next.
    idle = [(Slot(), 1) for _ in range(min(jobs, len(tasks)))]
    request = request_of(folder, settings)
    try:
        with selectors.DefaultSelector() as selector:
            while waiting or running:
                while waiting and idle:
                    slot, size = idle.pop()
                    # None takes what would keep another busy.
                    size = min(size, -(-len(waiting) // jobs))
                    batch = running[slot] = Batch(deque(waiting.popleft() for _ in range(size)), size)
                    selector.register(slot.answers, selectors.EVENT_READ, slot)
                    slot.ask({TASKS: [task.to_dict() for task, _ in batch.left], **request})
                ready = selector.select(0.2)
                if not ready:
                    yield None
                for key, _ in ready:
                    slot = key.data
                    batch = running[slot]
                    try:
                        yield from batch.results(slot)
                    except LostError as error:
                        selector.unregister(slot.answers)
                        slot.end()
                        del running[slot]
                        idle.append((Slot(), 1))
                        # Answers come in order: what it ended with is the first that it has not answered.
                        task, attempt = batch.left.popleft()
                        waiting.extend(batch.left)
                        if attempt < MOST_ATTEMPTS:
                            waiting.append((task, attempt + 1))
                        else:
                            yield lost(task, f"{error}, {attempt} times")
                        continue
                    if not batch.left:
                        selector.unregister(slot.answers)
                        del running[slot]
                        idle.append((slot, batch.next_size))
        while idle:
            idle.pop()[0].close()
    finally:
        for slot in (*(slot for slot, _ in idle), *running):
            slot.end()


def lost(task: Task, reason: str) -> Result:
    """The result of a task that nobody lived to do."""
    return without_certificate(task, LOST, Verdict.INCONCLUSIVE, reason, "processes")
