"""Mutants of the kernel that no test notices, and why each does no harm: the file `kernel_survivors.yaml`.

An entry names the module, the lines before and after the change (each stripped, joined by single spaces), and why the
changed kernel proves nothing that the kernel does not: it is the same function, or only slower, less sharp, or says
its words in another way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

FILE = Path(__file__).resolve().parent / "kernel_survivors.yaml"


@dataclass(frozen=True)
class Explained:
    """A survivor that does no harm: the changed lines of a module, what they became, and why it is none."""

    module: str
    before: str
    after: str
    why: str

    def stands_in(self, source: str) -> bool:
        """Whether the module still has these lines."""
        return self.before in " ".join(source.split())


def explained(path: Path = FILE) -> list[Explained]:
    """The survivors that are explained, from a list of mappings with the four fields of `Explained`."""
    return [Explained(**entry) for entry in yaml.safe_load(path.read_text())]


def unexplained(entries: Iterable[Mapping[str, Any]], known: Iterable[Explained]) -> list[Mapping[str, Any]]:
    """Those of the results of mutants that no entry is about."""
    reasons = {(entry.module, entry.before, entry.after) for entry in known}
    return [entry for entry in entries if (entry["module"], entry["before"], entry["after"]) not in reasons]
