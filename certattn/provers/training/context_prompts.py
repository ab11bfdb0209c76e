"""Prompts to train on: arrays from a file or from Python, or regression prompts drawn with numpy on a dyadic grid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from certattn.kernel.document.quoting import listed
from certattn.kernel.errors import UsageError
from certattn.kernel.theorems.training.descent_trajectory import REGRESSION, TASKS
from certattn.kernel.theorems.training.stated_prompts import LABELS, QUERIES, TARGETS, TOKENS
from certattn.provers.array_files import ONLY, open_array_file
from certattn.provers.array_inputs import Source, by_field

Array = np.ndarray[Any, Any]

FIELDS = tuple(field.name for field in (TOKENS, LABELS, QUERIES, TARGETS, TASKS))
# Numbers are multiples of 2^-10, and labels and targets, sums of products of two, are exact.
_GRID = 2.0**10
_LARGEST = 2**24


@dataclass(frozen=True)
class Drawing:
    """So many prompts of that length, by that seed."""

    prompts: int
    length: int
    seed: int = 0


def sources(
    source: Path | None, names: Mapping[str, str], arrays: Mapping[str, Any], given: Mapping[str, Any]
) -> dict[str, Source]:
    """The arrays of the prompts by field: those of a file, under other names if need be, and those from Python.

    Raises UsageError for arrays that no field has, and for fields that are neither there nor `given`.
    """
    model = str(given.get("model"))
    fields = [name for name in FIELDS if model == REGRESSION or name not in (LABELS.name, TASKS.name)]
    unknown = (set(arrays) | set(names)) - set(fields)
    if unknown:
        raise UsageError(f"unknown arrays {listed(sorted(unknown))}; the model {model!r} has {', '.join(fields)}")
    found: dict[str, Source] = {}
    if source is not None:
        file = open_array_file(source)
        if ONLY in file.headers:
            raise UsageError(f"{source}: one array only; expected a .npz or .safetensors file with several")
        found = by_field(file, fields, names)
        for field in fields:
            if field not in (*found, *arrays, *given, TASKS.name):
                raise UsageError(
                    f"{source}: no array {field!r}; it holds {file.listed()}. "
                    f"If it has another name there: --array {field}=NAME"
                )
    elif names:
        raise UsageError("names of arrays were given, but no file that holds them")
    return found | {field: np.asarray(array) for field, array in arrays.items()}


def drawn(drawing: Drawing, covariance: Array) -> dict[str, Source]:
    """Tokens x ~ N(0, Sigma), tasks w ~ N(0, I), labels and targets <w, x>, all on the grid. Raises UsageError."""
    count, length, size = drawing.prompts, drawing.length, len(covariance)
    if count < 1 or length < 1 or count * length * size > _LARGEST:
        raise UsageError(
            f"{count} prompts of {length} tokens: expected at least one of each, and at most {_LARGEST} numbers"
        )
    if drawing.seed < 0:
        raise UsageError(f"the seed is {drawing.seed}, expected one >= 0")
    random, root = np.random.default_rng(drawing.seed), np.linalg.cholesky(covariance)
    tokens = _on_grid(random.standard_normal((count * length, size)) @ root.T)
    queries = _on_grid(random.standard_normal((count, size)) @ root.T)
    tasks = _on_grid(random.standard_normal((count, size)))
    labels = (tokens * np.repeat(tasks, length, axis=0)).sum(axis=1, keepdims=True)
    targets = (queries * tasks).sum(axis=1, keepdims=True)
    return {"tokens": tokens, "labels": labels, "queries": queries, "targets": targets, "tasks": tasks}


def _on_grid(numbers: Array) -> Array:
    return np.asarray(np.round(numbers * _GRID) / _GRID)
