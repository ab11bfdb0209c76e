"""Long work in parts, each written down when it is done, so that an interrupted run goes on where it was."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from certattn.writing import write_atomically

# Called with the parts that are done, of how many, and the seconds that are left.
Said = Callable[[int, int, float], None]


def in_parts(
    items: Sequence[int], size: int, work: Callable[[Sequence[int]], list[str]], notes: Notes, said: Said
) -> list[str]:
    """work(part) for parts of `size` items, one after the other; the results of all items, in order.

    What `notes` hold from an earlier run is not done again.
    """
    results: list[str] = []
    parts = [items[first : first + size] for first in range(0, len(items), size)]
    start, fresh = time.monotonic(), 0
    for index, part in enumerate(parts):
        known = notes.known(part)
        if known is None:
            known = work(part)
            notes.keep(part, known)
            fresh += 1
        results += known
        spent = time.monotonic() - start
        said(index + 1, len(parts), spent / max(fresh, 1) * (len(parts) - index - 1))
    return results


class Notes:
    """Results of parts of a run, in a file beside the certificate. `task` says exactly what is computed."""

    def __init__(self, path: Path, task: str) -> None:
        self._path = path
        self._key = hashlib.sha256(task.encode()).hexdigest()
        self._parts: dict[str, list[str]] = {}
        self._read()

    def known(self, part: Sequence[int]) -> list[str] | None:
        found = self._parts.get(_name(part))
        return found if found is not None and len(found) == len(part) else None

    def keep(self, part: Sequence[int], results: list[str]) -> None:
        self._parts[_name(part)] = results
        content = {"task": self._key, "parts": self._parts}
        write_atomically(self._path, json.dumps(content).encode())

    def _read(self) -> None:
        """Notes of another task, or what is no notes, count for nothing; nobody believes them in the end anyway."""
        try:
            content = json.loads(self._path.read_text())
            if content["task"] == self._key:
                self._parts = {str(name): [str(text) for text in texts] for name, texts in content["parts"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            self._parts = {}

    def discard(self) -> None:
        self._path.unlink(missing_ok=True)


def _name(part: Sequence[int]) -> str:
    return f"{part[0]}:{part[-1] + 1}"


@contextmanager
def notes_beside(out: Path, task: str) -> Iterator[Notes]:
    """Notes of a run that writes `out`; taken away when the run ends well, kept when it does not."""
    notes = Notes(out.with_name(out.name + ".partial"), task)
    yield notes
    notes.discard()
