"""The family `descent-trajectory` of the gallery: descent on drawn prompts beside infinite ones.

The paper's experiments are in dimension 5; the plane can be drawn; with signs and boxes the infinite prompt's operator
is not linear. Prompts lie in `data`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import certattn
from tools.gallery.training import (
    BALANCED,
    COVARIANCES,
    RANK_ONE,
    Prompts,
    box_tokens,
    prompts,
    sign_prompts,
    sign_tokens,
    start,
)

_SIGNS = {"kind": "rademacher", "sizes": ["1", "1", "1"]}
_HALVES = [["1/2", "0", "0"], ["0", "1/2", "0"], ["0", "0", "1/2"]]


def regression(
    covariance: str, P: list[list[str]], drawn: Prompts, step: str, steps: int, note: str, **options: Any
) -> dict[str, Any]:
    given = {
        "model": "regression",
        "covariance": COVARIANCES[covariance],
        "start": start("1/2", P),
        "step": step,
        "steps": str(steps),
    }
    arrays = {name: getattr(drawn, name) for name in ("tokens", "labels", "queries", "targets", "tasks")}
    return {"given": given, "arrays": arrays, "note": note, **options}


def instances() -> dict[str, dict[str, Any]]:
    """What the certificates are made of, by name."""
    return {
        "isotropic-16": regression(
            "isotropic", BALANCED[5], prompts(11, 32, 16, COVARIANCES["isotropic"]), "1/20", 30,
            "d = 5, Sigma = I: 32 prompts of 16 tokens", checkpoints=[10, 20],
        ),
        "isotropic-128": regression(
            "isotropic", BALANCED[5], prompts(12, 16, 128, COVARIANCES["isotropic"]), "1/20", 30,
            "d = 5, Sigma = I: 16 prompts of 128 tokens", checkpoints=[10, 20],
        ),
        "isotropic-1024": regression(
            "isotropic", BALANCED[5], prompts(13, 8, 1024, COVARIANCES["isotropic"]), "1/20", 12,
            "d = 5, Sigma = I: 8 prompts of 1,024 tokens", at="infinite",
        ),
        "anisotropic-256": regression(
            "anisotropic", BALANCED[5], prompts(14, 8, 256, COVARIANCES["anisotropic"]), "1/40", 30,
            "d = 5, Sigma diagonal: 8 prompts of 256 tokens",
        ),
        "correlated-all-tasks": regression(
            "correlated", RANK_ONE[5], prompts(15, 32, 64, COVARIANCES["correlated"]), "1/40", 20,
            "d = 5, Sigma not diagonal: beside infinite prompts of all tasks", tasks=False,
        ),
        "plane": regression(
            "plane", BALANCED[2], prompts(16, 8, 256, COVARIANCES["plane"]), "1/20", 60,
            "two dimensions: 8 prompts of 256 tokens", checkpoints=[10, 30],
        ),
        "plane-gronwall": regression(
            "plane", BALANCED[2], prompts(17, 8, 1024, COVARIANCES["plane"]), "1/100", 6,
            "two dimensions, short steps: the closed bound of Gronwall's lemma", gronwall=6, at="infinite",
        ),
        "signs-regression": regression(
            "isotropic", BALANCED[5], sign_prompts(18, 16, 64, 5), "1/20", 20,
            "d = 5: prompts of signs (Rademacher), beside the Gaussian tokens that the formula is of",
        ),
        "signs-attention": _attention(
            19, _SIGNS, sign_tokens, "1/100", "attention to signs in dimension 3", gronwall=3
        ),
        "box-attention": _attention(
            20, {"kind": "box", "sizes": ["3/2", "3/2", "3/2"]}, box_tokens, "1/20", "attention to tokens of a box"
        ),
    }  # fmt: skip


def _attention(seed: int, law: dict[str, Any], draw: Any, step: str, note: str, **options: Any) -> dict[str, Any]:
    """Attention that is to return half the query, 8 prompts of 64 tokens."""
    bits = np.random.PCG64(seed)
    tokens, queries = draw(bits, 8 * 64, 3), draw(bits, 8, 3)
    identity = [[str(int(i == j)) for j in range(3)] for i in range(3)]
    given = {
        "model": "attention",
        "laws": [law],
        "start": {"U": _HALVES, "V": identity},
        "step": step,
        "steps": "20",
    }
    return {
        "given": given,
        "arrays": {"tokens": tokens, "queries": queries, "targets": queries / 2},
        "note": note,
        **options,
    }


def write(folder: Path) -> None:
    (folder / "data").mkdir(exist_ok=True)
    for name, inputs in instances().items():
        arrays = {field: _stored(field, array) for field, array in inputs.pop("arrays").items()}
        source = folder / "data" / f"{name}.npz"
        np.savez(source, **arrays)
        certattn.generate("descent-trajectory", folder / f"{name}.yaml", source=source, **inputs)


def _stored(field: str, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Drawn numbers are short enough for half the room; labels and targets, products of two, are not."""
    small = array.astype(np.float32)
    return small if field not in ("labels", "targets") and bool((small == array).all()) else array
