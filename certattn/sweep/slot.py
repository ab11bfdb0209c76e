"""The program `python -m certattn.sweep.slot`: one task at a time, from standard input to standard output.

It is a single thread that has imported the kernel and no prover. Certificates are generated in processes forked from a
second one, `maker`, and checked in confined processes forked from this one, as `certattn check` does.

A request is a line, and so is its answer.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import chdir, closing
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

from certattn.isolation.interrupts import end_with_parent
from certattn.isolation.worker import check_files
from certattn.kernel.decide.proof import Verdict
from certattn.statements.reports import Report
from certattn.sweep.forks import fork
from certattn.sweep.results import CERTIFICATE, CHECKED, NOT_MADE, Result, filling, keep, kept, without_certificate
from certattn.sweep.tasks import Settings, Task


class _Maker:
    """The second process, and the pipes to it."""

    def __init__(self) -> None:
        orders, order = os.pipe()

        def program(answer: int) -> None:
            # What only this process needs is imported there and not here.
            import_module("certattn.sweep.maker").serve(orders, answer)

        self._child = fork(program, (orders,))
        os.close(orders)
        self._orders = open(order, "wb")  # noqa: SIM115
        self._answers = open(self._child.answers, "rb", closefd=False)  # noqa: SIM115

    def close(self) -> None:
        """No more orders: wait until it has ended."""
        self._orders.close()
        self._answers.read()
        self._child.end()

    def make(self, task: Task, folder: Path, settings: Settings) -> dict[str, Any]:
        """What it says of a task. Raises EOFError where it has ended."""
        order = {"task": task.to_dict(), "folder": str(folder), "settings": settings.to_dict()}
        self._orders.write(json.dumps(order).encode("ascii") + b"\n")
        self._orders.flush()
        line = self._answers.readline()
        if not line:
            raise EOFError("the generating process ended")
        answer: dict[str, Any] = json.loads(line)
        return answer


def main() -> None:
    """Answer requests until there are no more. The end of the program that asks ends this one."""
    end_with_parent(2)
    answers, requests = open(os.dup(1), "wb"), sys.stdin.buffer  # noqa: SIM115
    os.dup2(2, 1)  # what a library prints is no answer
    os.set_blocking(2, False)
    with closing(_Maker()) as maker:
        _warm()
        for line in requests:
            request = json.loads(line)
            task, settings = Task.from_dict(request["task"]), Settings.from_dict(request["settings"])
            result = done(task, Path(request["folder"]), settings, maker.make)
            answers.write(json.dumps(result.to_dict()).encode("ascii") + b"\n")
            answers.flush()


def _warm() -> None:
    """Import all that is trusted, so that no process of a check has to, and leave it to the processes as it lies."""
    for room in map(import_module, ("certattn.kernel", "certattn.fast", "certattn.isolation")):
        for module in walk_packages(room.__path__, f"{room.__name__}."):
            import_module(module.name)
    # Objects that the collector of garbage does not look at are not copied for each process.
    gc.collect()
    gc.freeze()


def done(
    task: Task, folder: Path, settings: Settings, make: Callable[[Task, Path, Settings], dict[str, Any]]
) -> Result:
    """Generate and check the certificate of a task, unless its result is there already, and put both in their place."""
    if (before := kept(folder, task)) is not None:
        return before
    with filling(folder, task.key) as made:
        start = time.perf_counter_ns()
        answer = make(task, made, settings)
        middle = time.perf_counter_ns()
        if "digest" in answer:
            result = Result(task.key, CHECKED, agreed(checked(made, settings), answer["digest"]))
        else:
            result = without_certificate(task, NOT_MADE, Verdict(answer["verdict"]), answer["reason"], answer["limit"])
        times = {"generate": middle - start, "check": time.perf_counter_ns() - middle}
        return keep(folder, made, replace(result, nanoseconds=times))


def checked(folder: Path, settings: Settings) -> Report:
    """The report on the certificate in a folder, with paths from there, by a process of its own as for every file."""
    with chdir(folder):
        (report,) = check_files([Path(CERTIFICATE)], settings.options)
    return report


def agreed(report: Report, digest: str) -> Report:
    """The report, if it is of the statement that was generated; else that this is a bug."""
    if report.digest == digest or (report.digest == "" and report.verdict is not Verdict.VERIFIED):
        return report
    reason = f"a bug in certattn: the statement {digest} was generated, and {report.digest} was checked"
    return replace(report, verdict=Verdict.ERROR, reason=reason)


if __name__ == "__main__":
    main()
