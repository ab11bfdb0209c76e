"""All statements about one head: made in its folder, and noted there when they are complete."""

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
from certattn.audit.head import ARRAYS, Head, Statement, reason
from certattn.kernel.errors import MalformedError, NotProvedError, UsageError
from certattn.provers.output import write_file

NOTES = "head.json"
# What may be stated, and what has to be stated before.
STATES: Mapping[str, tuple[str, ...]] = {
    deviation.NAME: (),
    prompt_length.NAME: (deviation.NAME,),
    selection.NAME: (),
    spectrum.SINGULAR: (),
    spectrum.DISTANCE: (),
}


@dataclass(frozen=True)
class Task:
    """One head of one layer on one prompt, with its arrays in float32, and what is to be stated of it."""

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

    @property
    def digest(self) -> str:
        """Of all that the certificates are made from, and of the version that makes them."""
        settings = [__version__, self.scale, self.causal, list(self.states), self.probability]
        found = hashlib.sha256(json.dumps(settings).encode("ascii"))
        for array in (self.queries, self.keys, self.values):
            found.update(f"{array.shape}{array.dtype}".encode("ascii"))
            found.update(array.tobytes())
        return found.hexdigest()


def complete(task: Task) -> dict[str, Any]:
    """What is noted of a head that was complete, or of one that is made complete now."""
    kept = noted(task)
    return kept if kept is not None else stated(task)


def noted(task: Task) -> dict[str, Any] | None:
    """What stands in a head's folder, if it was complete, made of the same inputs, and nothing changed since."""
    try:
        found = json.loads((task.folder / NOTES).read_text("utf-8"))
        if not isinstance(found, dict) or found.pop("inputs") != task.digest:
            return None
        same = all(_sha256(task.folder / name) == digest for name, digest in found["files"].items())
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return None
    return found if same else None


def stated(task: Task) -> dict[str, Any]:
    """State everything anew. What was in the folder before is removed."""
    task.folder.mkdir(parents=True, exist_ok=True)
    for pattern in (NOTES, ARRAYS, *(f"{name}*.yaml" for name in STATES)):
        for old in task.folder.glob(pattern):
            with suppress(FileNotFoundError):
                old.unlink()
    np.savez(task.folder / ARRAYS, queries=task.queries, keys=task.keys, values=task.values)
    head = Head(task.folder, task.scale, task.factor, task.causal, task.queries, task.keys, task.values)
    makers: dict[str, Callable[[], Statement]] = {
        deviation.NAME: lambda: deviation.state(head),
        prompt_length.NAME: lambda: prompt_length.state(head, task.probability),
        selection.NAME: lambda: selection.state(head),
        spectrum.SINGULAR: lambda: spectrum.singular(head),
        spectrum.DISTANCE: lambda: spectrum.distance(head),
    }
    found: list[dict[str, Any]] = []
    missing: set[str] = set()
    for name in STATES:
        if name in task.states:
            before = next((other for other in STATES[name] if other in missing), None)
            made = _made(makers[name]) if before is None else (Statement(missing=f"it needs the {before}"), 0.0)
            if not made[0].certificates:
                missing.add(name)
            found.append({"name": name, **asdict(made[0]), "seconds": round(made[1], 3)})
    files = [ARRAYS, *(name for statement in found for name in statement["certificates"])]
    notes = {
        "tokens": head.tokens,
        "dimension": head.keys.shape[1],
        "statements": found,
        "files": {name: _sha256(task.folder / name) for name in files},
    }
    # Last of all: without it the head is not complete.
    write_file(task.folder / NOTES, json.dumps({"inputs": task.digest, **notes}, indent=1).encode("utf-8") + b"\n")
    return notes


def _made(make: Callable[[], Statement]) -> tuple[Statement, float]:
    """A statement, or why there is none, and the processor time that it took."""
    before = time.process_time()
    try:
        found = make()
    except (NotProvedError, UsageError, MalformedError) as error:
        found = Statement(missing=reason(error))
    return found, time.process_time() - before


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
