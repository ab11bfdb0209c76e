"""The family `risk-transfer` of the gallery: given prompts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import certattn
from tools.gallery.training import BALANCED, COVARIANCES, prompts, start


def _unlearnt(size: int, b: str) -> dict[str, Any]:
    """A = 0: scores stay small where b is large."""
    return {"A": [["0"] * size for _ in range(size)], "b": b}


_SEED = 1
EMPIRICAL: dict[str, tuple[str, dict[str, Any], str, int, str]] = {
    "line-prompts": ("line", _unlearnt(1, "2"), "1", 100, "d = 1: eight given prompts of 64 tokens"),
    "plane-prompts": ("plane", start("1", BALANCED[2]), "1/2", 250, "two dimensions: eight given prompts of 64 tokens"),
}


def write(folder: Path) -> None:
    """All of them into the folder."""
    for name, (covariance, begin, time, pieces, note) in EMPIRICAL.items():
        drawn = prompts(_SEED, 8, 64, COVARIANCES[covariance])
        arrays = {"tokens": drawn.tokens, "labels": drawn.labels, "queries": drawn.queries, "targets": drawn.targets}
        given = {"covariance": COVARIANCES[covariance], "start": begin, **arrays}
        certattn.generate("risk-transfer", folder / f"{name}.yaml", given=given, time=time, pieces=pieces, note=note)
