"""The audit of a model: every head stated, by several processes; then every certificate checked."""

from __future__ import annotations

import math
import multiprocessing
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from certattn.audit.statements import STATES, Task, complete
from certattn.audit.subject import Subject
from certattn.isolation.worker import check_files
from certattn.kernel.decide.checker import CheckOptions
from certattn.kernel.decide.proof import Verdict
from certattn.kernel.document.numbers import NumberError, parse_real
from certattn.kernel.errors import LimitExceededError, UsageError
from certattn.kernel.limits import DEFAULT_LIMITS
from certattn.kernel.mathematics.balls import scale_ball
from certattn.models.heads import LayerHeads
from certattn.statements.reports import Report

# Called with what is done, and of how many.
Said = Callable[[int, int], None]


@dataclass(frozen=True)
class Plan:
    """Which layers and heads, None for all; what is stated of each; delta; how many processes."""

    layers: Sequence[int] | None = None
    heads: Sequence[int] | None = None
    states: Sequence[str] = tuple(STATES)
    probability: str = "0.01"
    jobs: int = 1


def state_all(out: Path, subject: Subject, plan: Plan, said: Said) -> list[dict[str, Any]]:
    """The notes of every head, in order; certificates in folders of `out`. Raises UsageError, LimitExceededError."""
    layers = chosen(plan.layers, subject.shape.layers, "layer")
    heads = chosen(plan.heads, subject.shape.heads, "head")
    total = len(subject.prompts) * len(layers) * len(heads)
    found: dict[tuple[int, int, int], dict[str, Any]] = {}
    for task, notes in _completed(_tasks(out, subject, plan, layers, heads), plan.jobs):
        place = {"prompt": task.prompt, "layer": task.layer, "head": task.head}
        found[task.prompt, task.layer, task.head] = {
            **place,
            "folder": task.folder.relative_to(out).as_posix(),
            **notes,
        }
        said(len(found), total)
    if not found:
        raise UsageError(f"--layers: none of the layers {', '.join(map(str, layers))} is there")
    return [found[key] for key in sorted(found)]


def chosen(wanted: Sequence[int] | None, count: int, what: str) -> list[int]:
    """The indices that are meant, in order. Raises UsageError for one that is not there."""
    if wanted is None:
        return list(range(count))
    for index in wanted:
        if not 0 <= index < count:
            raise UsageError(f"--{what}s: there is no {what} {index}, expected 0 to {count - 1}")
    return sorted(set(wanted))


def _tasks(out: Path, subject: Subject, plan: Plan, layers: list[int], heads: list[int]) -> Iterator[Task]:
    shape, several = subject.shape, len(subject.prompts) > 1
    factor = factor_of(shape.scale)
    for prompt in range(len(subject.prompts)):
        for found in subject.run(prompt, layers[-1] + 1):
            if found.layer not in layers:
                continue
            for head in heads:
                name = f"layer{found.layer:02}-head{head:02}"
                folder = out / f"prompt{prompt}" / name if several else out / name
                queries, keys, values = _arrays(found, head, str(subject.model["source"]), causal=shape.causal)
                yield Task(
                    prompt=prompt,
                    layer=found.layer,
                    head=head,
                    folder=folder,
                    scale=shape.scale,
                    factor=factor,
                    causal=shape.causal,
                    cap=shape.cap,
                    states=[state for state in STATES if state in plan.states],
                    probability=plan.probability,
                    queries=queries,
                    keys=keys,
                    values=values,
                    cut=_cut(found),
                    shares=None if found.shares is None else found.shares[head, : len(queries)],
                )


def _cut(found: LayerHeads) -> str:
    """Why a head is stated of fewer tokens than the prompt has; empty where it is of all."""
    tokens, window = found.queries.shape[1], found.window
    if window is None or tokens <= window:
        return ""
    return f"a query sees the last {window} tokens: of {tokens} queries the first {window} are stated, which see all"


def _arrays(found: LayerHeads, head: int, source: str, *, causal: bool) -> list[np.ndarray[Any, Any]]:
    """Queries, keys and values of a head in float32: these exact numbers are what is certified. Raises UsageError.

    Of a head with a window, as far as that leaves nothing out: there it is a head with a causal mask.
    """
    if head >= len(found.queries):
        raise UsageError(
            f"--heads: there is no head {head} in layer {found.layer}, expected 0 to {len(found.queries) - 1}"
        )
    with np.errstate(over="ignore"):
        arrays = [part[head, : found.window].astype("<f4") for part in (found.queries, found.keys, found.values)]
    if any(bool(np.isfinite(array).all()) is not True for array in arrays):
        raise UsageError(
            f"{source}: layer {found.layer}, head {head}: numbers beyond float32, in which heads are certified; "
            "expected numbers up to 3.4e38"
        )
    if causal and len(arrays[0]) > len(arrays[1]):
        raise UsageError(f"layer {found.layer}: more queries than keys, expected a key for each under a mask")
    return arrays


def factor_of(scale: str) -> float:
    """A scale as certificates write it, as a double. Raises UsageError."""
    try:
        factor = float(scale_ball(parse_real(scale, DEFAULT_LIMITS)).mid())
    except NumberError:
        raise UsageError(f"the scale is {scale!r}, expected a number such as 0.125 or 1/sqrt(32)") from None
    if not 0 < abs(factor) < math.inf:
        raise UsageError(f"the scale is {scale!r}, expected a number that doubles hold, other than 0")
    return factor


def _completed(tasks: Iterator[Task], jobs: int) -> Iterator[tuple[Task, dict[str, Any]]]:
    """Every task with its notes, in the order in which they end."""
    if jobs == 1:
        for task in tasks:
            yield task, complete(task)
        return
    with _processes(jobs) as pool:
        running: dict[Future[dict[str, Any]], Task] = {}
        waiting = True
        while waiting or running:
            # A few more than are worked on: layers come one by one, and take memory.
            while waiting and len(running) < 2 * jobs:
                following = next(tasks, None)
                if following is None:
                    waiting = False
                else:
                    running[pool.submit(complete, following)] = following
            if running:
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    yield running.pop(future), _result(future)


def _result(future: Future[dict[str, Any]]) -> dict[str, Any]:
    from concurrent.futures.process import BrokenProcessPool

    try:
        return future.result()
    except BrokenProcessPool:
        raise LimitExceededError(
            "a process that states certificates was ended; the machine may have run out of memory: try --jobs 1"
        ) from None


@contextmanager
def _processes(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that end at once when the block is left early."""
    pool = ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("fork"), initializer=_begin)
    try:
        yield pool
    except BaseException:
        for process in multiprocessing.active_children():
            process.terminate()
        pool.shutdown(wait=True, cancel_futures=True)
        raise
    pool.shutdown()


def _begin() -> None:
    """In a new process: the parent decides what Ctrl-C means, and ends it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def check_all(out: Path, heads: list[dict[str, Any]], jobs: int, said: Said) -> list[Report]:
    """Check every certificate, and note the verdict of every statement and what its check took, in seconds."""
    places = [
        (statement, out / head["folder"] / name, digest)
        for head in heads
        for statement in head["statements"]
        for name, digest in zip(statement["certificates"], statement["digests"], strict=True)
    ]
    reports: list[Report] = []
    found = check_files([path for _, path, _ in places], CheckOptions(), jobs=jobs)
    for (statement, path, digest), checked in zip(places, found, strict=True):
        report = about(digest, path, checked)
        reports.append(report)
        statement.setdefault("verdicts", []).append(report.verdict.value)
        taken = statement.get("check_seconds", 0) + report.nanoseconds.get("total", 0) / 1e9
        statement["check_seconds"] = round(taken, 3)
        said(len(reports), len(places))
    return reports


def about(digest: str, path: Path, report: Report) -> Report:
    """The report, unless it is about another statement than the figures are from: then nothing is verified."""
    if report.verdict is not Verdict.VERIFIED or report.digest == digest:
        return report
    return replace(
        report, verdict=Verdict.INCONCLUSIVE, reason=f"{path}: changed since its figures were read; audit it again"
    )


def seconds_since(start: float) -> float:
    return round(time.monotonic() - start, 2)
