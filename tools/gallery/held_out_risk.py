"""The family `held-out-risk` of the gallery: prompts of signs, of different lengths, and of Gaussian labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import certattn
from tools.gallery.training import Prompts, prompts, sign_tokens, start

_ONE = start("1", [["1"]])


def signs(seed: int, count: int, length: int, dimension: int) -> Prompts:
    """Tokens, queries and tasks of signs: no label or target is above the dimension."""
    bits = np.random.PCG64(seed)
    tokens, queries, tasks = (sign_tokens(bits, n, dimension) for n in (count * length, count, count))
    labels = (tokens * np.repeat(tasks, length, axis=0)).sum(axis=1, keepdims=True)
    return Prompts(length, tokens, labels, queries, (queries * tasks).sum(axis=1, keepdims=True), tasks)


def instances() -> dict[str, tuple[Prompts, dict[str, Any], str]]:
    """Prompts, what else is given, and a note, by name."""
    plane = {"A": [["0.84", "0"], ["0", "0.84"]], "b": "1.19"}
    return {
        "signs-line": (
            signs(41, 300, 20, 1), {"parameters": _ONE, "largest": "1", "probability": "1/20"},
            "d = 1: 300 prompts of 20 signs each",
        ),
        "signs-plane": (
            signs(42, 1000, 32, 2), {"parameters": plane, "largest": "2", "probability": "1/20"},
            "d = 2, near the Bayes point: 1,000 prompts of 32 tokens",
        ),
        "signs-untrained": (
            signs(43, 200, 16, 2),
            {"parameters": {"A": [["0", "0"], ["0", "0"]], "b": "1/2"}, "largest": "2", "probability": "1/100"},
            "A = 0, where every token weighs the same, at confidence 0.99",
        ),
        "gaussian-below": (
            prompts(44, 200, 20, [["1"]]), {"parameters": _ONE, "probability": "1/20"},
            "Gaussian labels have no bound: the risk from below alone",
        ),
        "two-lengths": (
            signs(45, 60, 12, 1),
            {"parameters": _ONE, "largest": "1", "probability": "1/10", "lengths": ["6", "18"] * 30},
            "prompts of 6 and of 18 tokens: the average of the two risks",
        ),
    }  # fmt: skip


def write(folder: Path) -> None:
    (folder / "data").mkdir(exist_ok=True)
    for name, (drawn, given, note) in instances().items():
        path = folder / "data" / f"{name}.npz"
        arrays = {field: getattr(drawn, field) for field in ("tokens", "labels", "queries", "targets")}
        exact = np.float32 if name.startswith("gaussian") else np.int8
        np.savez(path, **{field: array.astype(exact) for field, array in arrays.items()})
        certattn.generate("held-out-risk", folder / f"{name}.yaml", given=given, source=path, note=note)
