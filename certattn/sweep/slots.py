"""Slots: programs that do one task at a time, as seen by the process that gives them tasks."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
from collections import deque
from collections.abc import Generator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from certattn.kernel.decide.proof import Verdict
from certattn.sweep.results import LOST, Result, without_certificate
from certattn.sweep.tasks import Settings, Task

# A task whose worker ends is given to another so often before it is given up.
MOST_ATTEMPTS = 3
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
        """Give it something to do, when it has nothing. Nothing is raised if it has ended: `answer` will say so."""
        with suppress(BrokenPipeError):
            self._requests.write(json.dumps(request).encode("ascii") + b"\n")
            self._requests.flush()

    def answer(self) -> dict[str, Any]:
        """Wait for what it says of that. Raises LostError where it has ended."""
        while not self._said.endswith(b"\n"):
            chunk = os.read(self.answers.fileno(), _CHUNK)
            if not chunk:
                raise LostError(self._how_it_ended())
            self._said += chunk
        answer: dict[str, Any] = json.loads(self._said)
        self._said = b""
        return answer

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


def do_locally(
    tasks: Sequence[Task], folder: Path, settings: Settings, jobs: int
) -> Generator[Result | None, None, None]:
    """Do every task, `jobs` at a time; results come as they are there, and None where time passes without one.

    Closing the iterator, or an exception such as KeyboardInterrupt, ends all slots.
    """
    waiting = deque((task, 1) for task in tasks)
    running: dict[Slot, tuple[Task, int]] = {}
    idle = [Slot() for _ in range(min(jobs, len(tasks)))]
    request = {"folder": str(folder), "settings": settings.to_dict()}
    try:
        with selectors.DefaultSelector() as selector:
            while waiting or running:
                while waiting and idle:
                    slot = idle.pop()
                    task, attempt = running[slot] = waiting.popleft()
                    selector.register(slot.answers, selectors.EVENT_READ, slot)
                    slot.ask({"task": task.to_dict(), **request})
                ready = selector.select(0.2)
                if not ready:
                    yield None
                for key, _ in ready:
                    slot = key.data
                    task, attempt = running[slot]
                    try:
                        result = Result.from_dict(slot.answer())
                        kept = slot
                    except LostError as error:
                        slot.end()
                        kept = Slot()
                        result = lost(task, f"{error}, {attempt} times")
                    selector.unregister(slot.answers)
                    del running[slot]
                    idle.append(kept)
                    if kept is not slot and attempt < MOST_ATTEMPTS:
                        waiting.append((task, attempt + 1))
                    else:
                        yield result
        while idle:
            idle.pop().close()
    finally:
        for slot in (*idle, *running):
            slot.end()


def lost(task: Task, reason: str) -> Result:
    """The result of a task that nobody lived to do."""
    return without_certificate(task, LOST, Verdict.INCONCLUSIVE, reason, "processes")
