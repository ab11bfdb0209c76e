"""A sweep's spec: one YAML file, read as strictly as a certificate, and the tasks that it stands for.

certattn-sweep: 1
claim: softmax-mean
arrays:
  keys: {draw: normal, shape: [$n, 2], seed: $seed}
  ...
inputs: {scale: 1/sqrt($n)}
grid:
  n: [4, 8, 16]
  seed: {from: 0, to: 99}
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from certattn.kernel.document.certificate import Section
from certattn.kernel.document.quoting import quote
from certattn.kernel.document.reader import read_tree
from certattn.kernel.document.regular_files import reason, regular_file
from certattn.kernel.document.schema import Choice, Field, Reading, Record, Values
from certattn.kernel.document.tree import Node
from certattn.kernel.limits import DEFAULT_LIMITS, Watch
from certattn.provers import PROVERS
from certattn.sweep.axes import Axes, Row, Rows, grid_rows, together, zip_rows
from certattn.sweep.draws import is_draw, read_draw
from certattn.sweep.inputs import Signature, read_inputs, signature_of
from certattn.sweep.tasks import Task
from certattn.sweep.templates import fill, names_in

VERSION = "1"


FORMAT = Field("certattn-sweep", Choice((VERSION,)), "version of the format of specs")
CLAIM = Field("claim", Choice(tuple(PROVERS)), "which certificates are generated")
INPUTS = Field("inputs", Section(), "inputs of the claim's prover", required=False)
ARRAYS = Field("arrays", Section(), "arrays that are drawn", required=False)


@dataclass(frozen=True)
class Spec:
    """A spec that has been read; `tasks` are read from it one by one."""

    path: Path
    claim: str
    values: Values
    rows: tuple[Row, ...]
    reading: Reading

    def tasks(self) -> list[Task]:
        """Every task, in order. Raises MalformedError at the place in the spec, and for two tasks that are the same."""
        signature = signature_of(self.claim)
        seen: dict[str, Task] = {}
        tasks = []
        files = _Files(self.path.parent)
        for position, row in enumerate(self.rows):
            task = self._task(position, row, signature, files)
            if task.key in seen:
                found = f"tasks {_named(seen[task.key])} and {_named(task)} are the same"
                hint = "a value may stand twice, or nothing may depend on a field"
                raise self.values.at.malformed("another certificate of each task", found, hint)
            seen[task.key] = task
            tasks.append(task)
        return tasks

    def _task(self, position: int, row: Row, signature: Signature, files: _Files) -> Task:
        values, arrays = self.values, {}
        template = fill(values[INPUTS], row) if INPUTS in values else _nothing(values.at)
        inputs = read_inputs(template, signature, self.reading)
        if ARRAYS in values:
            arrays = self._arrays(fill(values[ARRAYS], row), signature)
        assert isinstance(template.value, dict)
        source, sha256 = "", ""
        if "source" in inputs:
            source, sha256 = files.named(template.value["source"], inputs.pop("source"))
        named = self._named(template.value["names"], inputs["names"], files) if "names" in inputs else {}
        fields = {name: node.plain() for name, node in row.items()}
        return Task(position, fields, self.claim, inputs, arrays, source, sha256, named)

    def _named(self, node: Node, names: dict[str, Any], files: _Files) -> dict[str, tuple[str, str]]:
        """The array files among the names of arrays, which leave `names`."""
        assert isinstance(node.value, dict)
        found = [(array, name) for array, name in names.items() if isinstance(name, str) and name.endswith(".npy")]
        return {array: files.named(node.value[array], names.pop(array)) for array, _ in found}

    def _arrays(self, node: Node, signature: Signature) -> dict[str, Any]:
        assert isinstance(node.value, dict)
        if not signature.arrays:
            found = f"arrays for {self.claim}, which takes none"
            raise node.malformed("inputs that hold them, such as given: {K: {draw: ...}}", found)
        for name, item in node.value.items():
            if name in signature.hints or not name.isidentifier():
                raise item.malformed("the name of an array", quote(name))
            if not is_draw(item):
                raise item.malformed("a mapping with draw", "", "arrays in files are named by inputs.source")
        return {name: read_draw(item, name, self.reading) for name, item in node.value.items()}


@dataclass
class _Files:
    """Files that a spec names, and their hashes, each found out once."""

    folder: Path

    def __post_init__(self) -> None:
        self._known: dict[str, tuple[str, str]] = {}

    def named(self, node: Node, text: str) -> tuple[str, str]:
        """The absolute path and the SHA-256 of a file. Raises MalformedError."""
        if text not in self._known:
            path = (self.folder / text).absolute()
            try:
                with regular_file(path, follow_link=True) as file:
                    self._known[text] = str(path), hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
            except (OSError, ValueError) as error:
                raise node.malformed("a file, by its path from the spec", f"{quote(text)} ({reason(error)})") from None
        return self._known[text]


def read_spec(path: Path) -> Spec:
    """Read a spec file. Raises MalformedError with file, line and key path."""
    tree = read_tree(path, DEFAULT_LIMITS)
    folder = path.parent
    reading = Reading(DEFAULT_LIMITS, folder, folder, Watch())
    grid, zipped = Field("grid", Axes(folder), "fields in every combination", required=False), "zip"
    side = Field(zipped, Axes(folder), "fields whose values go together", required=False)
    rows = Field("list", Rows(), "rows that are written out", required=False)
    stated = tree.value.get(FORMAT.name) if isinstance(tree.value, dict) else None
    if stated is not None:
        FORMAT.kind.read(stated, reading)  # first of all: another version may well have other keys
    values = Record(FORMAT, CLAIM, INPUTS, ARRAYS, grid, side, rows).read(tree, reading)
    sections: list[list[Row]] = []
    if grid in values:
        sections.append(grid_rows(values.node(grid), values[grid]))
    if side in values:
        sections.append(zip_rows(values.node(side), values[side]))
    if rows in values:
        sections.append(values[rows])
    _require_names(values, [section[0] for section in sections])
    return Spec(path, values[CLAIM], values, tuple(together(tree, sections)), reading)


def _require_names(values: Values, sections: list[Row]) -> None:
    """Each field stands in one section and is used somewhere, and what is used is a field."""
    first: Row = {}
    for name, node in chain.from_iterable(row.items() for row in sections):
        if name in first:
            raise node.malformed("a field in one of grid, zip and list", f"the field {name} a second time")
        first[name] = node
    templates = [values[each] for each in (INPUTS, ARRAYS) if each in values]
    for template in templates:
        fill(template, first)
    unused = first.keys() - set(chain.from_iterable(map(names_in, templates)))
    for name in (name for name in first if name in unused):
        raise first[name].malformed(f"inputs or arrays that use ${name}", f"the field {name}, which nothing uses")


def _nothing(node: Node) -> Node:
    return Node(node.file, node.line, {}, node, "inputs")


def _named(task: Task) -> str:
    """A task for people: which it is, and its fields."""
    fields = ", ".join(f"{name}={value}" for name, value in task.fields.items())
    return f"{task.position} ({fields})" if fields else str(task.position)
