"""All statements about one head: made in its folder, and kept there when they are complete."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from certattn._version import __version__
from certattn.audit import deviation, prompt_length, selection, spectrum
from certattn.audit.head import ARRAYS, Head, Plan, Statement, Unfit, reason
from certattn.audit.measures import measures
from certattn.audit.notes import NOTES, Notes, read_notes, sha256, write_notes
from certattn.kernel.document.certificate import load
from certattn.kernel.errors import MalformedError, NotProvedError, UsageError
from certattn.provers.array_files import open_array_file

# What may be stated, and what has to be stated before.
STATES: Mapping[str, tuple[str, ...]] = {
    deviation.NAME: (),
    prompt_length.NAME: (deviation.NAME,),
    selection.NAME: (),
    spectrum.SINGULAR: (),
    spectrum.DISTANCE: (),
}
# Heads whose scores are not s but c tanh(s / c) are no softmax attention of s.
CAPPED = "scores go through a soft cap before the softmax, and no statement of an audit is about such heads"


@dataclass(frozen=True)
class Task:
    """One head of one layer on one prompt, with its arrays in float32, and what is to be stated of it.

    cut: why there are not all tokens of the prompt, empty where there are. shares: see `LayerHeads`.
    """

    prompt: int
    layer: int
    head: int
    folder: Path
    scale: str
    factor: float
    causal: bool
    states: Sequence[str]
    probability: str
    queries: np.ndarray[Any, Any]
    keys: np.ndarray[Any, Any]
    values: np.ndarray[Any, Any]
    cap: float | None = None
    cut: str = ""
    shares: np.ndarray[Any, Any] | None = None

    @property
    def digest(self) -> str:
        """Of all that the certificates are made from, and of the version that makes them."""
        settings = [__version__, self.scale, self.causal, self.cap, list(self.states), self.probability]
        found = hashlib.sha256(json.dumps(settings).encode("ascii"))
        for array in (self.queries, self.keys, self.values):
            found.update(f"{array.shape}{array.dtype}".encode("ascii"))
            found.update(array.tobytes())
        return found.hexdigest()


def complete(task: Task) -> dict[str, Any]:
    """All statements about a head: kept where its folder has them, made where not.

    Nothing is believed of the folder: what is said comes from certificates of the demanded kind about the demanded
    arrays, and what could not be stated is tried again.
    """
    kept = _kept(task)
    try:
        return _completed(task, kept)
    except (Unfit, OSError, MalformedError):
        if kept is None:
            raise
        return _completed(task, None)


def _kept(task: Task) -> Notes | None:
    """What is noted of a head that was complete and made of the same; None where it is made anew."""
    notes = read_notes(task.folder)
    return notes if notes is not None and notes.inputs == task.digest else None


def _completed(task: Task, kept: Notes | None) -> dict[str, Any]:
    """Raises Unfit, OSError and MalformedError for a folder that is not what its notes say."""
    if kept is None:
        _begin(task)
    else:
        _require_arrays(task)
    head = Head(task.folder, task.scale, task.factor, task.causal, task.queries, task.keys, task.values, task.cap)
    plans: dict[str, Callable[[Mapping[str, Statement]], Plan]] = {
        deviation.NAME: lambda _: deviation.plan(head),
        prompt_length.NAME: lambda done: prompt_length.plan(
            head, task.probability, done[deviation.NAME].figures["at_most"]
        ),
        selection.NAME: lambda _: selection.plan(head),
        spectrum.SINGULAR: lambda _: spectrum.singular(head),
        spectrum.DISTANCE: lambda _: spectrum.distance(head),
    }
    done: dict[str, Statement] = {}
    seconds: dict[str, float] = {}
    for name in (name for name in STATES if name in task.states):
        before = time.process_time()
        needed = next((other for other in STATES[name] if other not in done or not done[other].certificates), None)
        if task.cap is not None:
            done[name] = Statement(missing=f"{CAPPED}, here {task.cap:g}")
        elif needed is None:
            done[name] = _stated(head, lambda name=name: plans[name](done), kept)  # type: ignore[misc]
        else:
            done[name] = Statement(missing=f"it needs the {needed}")
        spent = round(time.process_time() - before, 3)
        seconds[name] = spent if kept is None else kept.seconds.get(name, spent)
    files = [ARRAYS, *(name for statement in done.values() for name in statement.certificates)]
    notes = Notes(task.digest, {name: sha256(task.folder / name) for name in files}, seconds)
    if kept is not None and not set(kept.files) <= set(files):
        raise Unfit(f"{task.folder}: files that are no part of the head")
    if kept is None or kept.files != notes.files:
        write_notes(task.folder, notes)
    return {
        "tokens": head.tokens,
        "dimension": head.keys.shape[1],
        "cut": task.cut,
        "measures": measures(head, task.shares),
        "statements": [{"name": name, **asdict(done[name]), "seconds": seconds[name]} for name in done],
        "files": notes.files,
    }


def _begin(task: Task) -> None:
    """The arrays alone: what was in the folder before is removed."""
    task.folder.mkdir(parents=True, exist_ok=True)
    for pattern in (NOTES, ARRAYS, *(f"{name}*.yaml" for name in STATES)):
        for old in task.folder.glob(pattern):
            with suppress(FileNotFoundError):
                old.unlink()
    np.savez(task.folder / ARRAYS, queries=task.queries, keys=task.keys, values=task.values)


def _require_arrays(task: Task) -> None:
    """Raises Unfit where the arrays in the folder are others than those of the head."""
    try:
        file = open_array_file(task.folder / ARRAYS)
        same = all(_bits(file.read(name)) == _bits(getattr(task, name)) for name in ("queries", "keys", "values"))
    except (UsageError, KeyError) as error:
        raise Unfit(str(error)) from None
    if not same:
        raise Unfit(f"{task.folder / ARRAYS}: other arrays than those of the head")


def _bits(array: np.ndarray[Any, Any]) -> tuple[str, tuple[int, ...], bytes]:
    return array.dtype.str, array.shape, array.tobytes()


def _stated(head: Head, planned: Callable[[], Plan], kept: Notes | None) -> Statement:
    """A statement with its figures, or why there is none. Raises Unfit."""
    try:
        plan = planned()
        if kept is None or not set(plan.files) <= set(kept.files):
            plan.write()
    except (NotProvedError, UsageError, MalformedError) as error:
        return Statement(missing=reason(error))
    found = [load(head.folder / name) for name in plan.files]
    return Statement(list(plan.files), [made.digest for made in found], plan.figures(found), plan.left)
