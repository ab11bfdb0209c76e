"""The family `risk-transfer` of the gallery: how long prompts have to be for a final risk of 0.1, and given prompts.

The lengths are the smallest of two digits that `certattn generate risk-transfer` proves; stated here, they need not be
searched for again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import certattn
from tools.gallery.training import BALANCED, COVARIANCES, RANK_ONE, prompts, start


def _unlearnt(size: int, b: str) -> dict[str, Any]:
    """A = 0: scores stay small where b is large."""
    return {"A": [["0"] * size for _ in range(size)], "b": b}


INSTANCES: dict[str, tuple[str, dict[str, Any], str, str]] = {
    "line-balanced": ("line", start("1/2", BALANCED[1]), "27000", "d = 1: a balanced start"),
    "line-small-start": ("line", start("1/10", BALANCED[1]), "31000", "d = 1: a small balanced start, near a saddle"),
    "line-large-b": ("line", _unlearnt(1, "2"), "76", "d = 1: A = 0 and b = 2"),
    "small-outside": (
        "small", start("4", BALANCED[1]), "13000000", "d = 1, Sigma = 1/4: at the start R > tr(Sigma)/2",
    ),
    "plane-balanced": ("plane", start("1/4", BALANCED[2]), "17e17", "two dimensions: a balanced start"),
    "plane-large-b": ("plane", _unlearnt(2, "3"), "1700", "two dimensions: A = 0 and b = 3"),
    "isotropic-balanced": ("isotropic", start("1/2", BALANCED[5]), "170000", "d = 5, Sigma = I: a balanced start"),
    "isotropic-large-b": ("isotropic", _unlearnt(5, "3"), "740", "d = 5, Sigma = I: A = 0 and b = 3"),
    "anisotropic-balanced": (
        "anisotropic", start("1/2", BALANCED[5]), "28e19", "d = 5, Sigma diagonal: a balanced start",
    ),
    "anisotropic-large-b": ("anisotropic", _unlearnt(5, "10"), "30000", "d = 5, Sigma diagonal: A = 0 and b = 10"),
    "correlated-rank-one": (
        "correlated", start("-1/2", RANK_ONE[5]), "57e26", "d = 5, Sigma not diagonal: a balanced start of rank one",
    ),
    "correlated-large-b": ("correlated", _unlearnt(5, "10"), "18000", "d = 5, Sigma not diagonal: A = 0 and b = 10"),
}  # fmt: skip

_SEED = 1
EMPIRICAL: dict[str, tuple[str, dict[str, Any], str, int, str]] = {
    "line-prompts": ("line", _unlearnt(1, "2"), "1", 100, "d = 1: eight given prompts of 64 tokens"),
    "plane-prompts": ("plane", start("1", BALANCED[2]), "1/2", 250, "two dimensions: eight given prompts of 64 tokens"),
}


def write(folder: Path) -> None:
    """All of them into the folder."""
    for name, (covariance, begin, length, note) in INSTANCES.items():
        given = {"covariance": COVARIANCES[covariance], "start": begin, "length": length}
        certattn.generate("risk-transfer", folder / f"{name}.yaml", given=given, risk="0.1", note=note)
    for name, (covariance, begin, time, pieces, note) in EMPIRICAL.items():
        drawn = prompts(_SEED, 8, 64, COVARIANCES[covariance])
        arrays = {"tokens": drawn.tokens, "labels": drawn.labels, "queries": drawn.queries, "targets": drawn.targets}
        given = {"covariance": COVARIANCES[covariance], "start": begin, **arrays}
        certattn.generate("risk-transfer", folder / f"{name}.yaml", given=given, time=time, pieces=pieces, note=note)
