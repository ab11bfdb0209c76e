"""The family `max-margin` of the gallery: the examples of Ataee Tarzanagh et al. 2023, and drawn data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import certattn

SINGLE = {"keys": [[["-0.1", "1"], ["1", "0"], ["0", "0"]]]}
TIGHT = [[["0", "0"], ["1", "1"]], [["0", "0"], ["1", "-1"]], [["0", "0"], ["1/2", "1"]]]
LOOSE = [*TIGHT[:2], [["0", "0"], ["1/2", "3/2"]]]
LAST = ["1", "1", "1"]

CERTIFICATES: dict[str, dict[str, Any]] = {
    "single-input": {
        "given": {**SINGLE, "indices": ["0"]},
        "note": "the paper's single input, its globally optimal token",
    },
    "single-input-local": {
        "given": {**SINGLE, "indices": ["1"]},
        "note": "the paper's single input, its locally optimal token",
    },
    "three-inputs": {
        "given": {"keys": TIGHT, "indices": LAST},
        "note": "the paper's three inputs of two tokens, third token (0.5, 1)",
    },
    "three-inputs-other": {
        "given": {"keys": LOOSE, "indices": LAST},
        "note": "the paper's three inputs of two tokens, third token (0.5, 1.5)",
    },
    "three-inputs-relaxed": {
        "given": {"keys": TIGHT, "indices": LAST, "relaxed": ["2"]},
        "note": "three inputs, the constraint of the third one relaxed",
    },
    "three-inputs-matrix": {
        "given": {"keys": TIGHT, "indices": LAST, "queries": [["1", "2"]]},
        "note": "the problem for W with one query: W = p q'/|q|^2",
    },
    "three-inputs-queries": {
        "given": {"keys": TIGHT, "indices": LAST, "queries": [["1", "0"], ["0", "1"], ["1", "1"]]},
        "note": "the problem for W with a query for each input",
    },
    "three-inputs-labels": {
        "given": {"points": [["1", "1"], ["1", "-1"], ["1/2", "1"]], "labels": ["1", "-1", "1"]},
        "note": "the hard-margin problem for v over the selected tokens of the three inputs",
    },
    "two-inputs": {
        "given": {"keys": TIGHT[:2], "indices": LAST[:2]},
        "note": "the paper's two inputs",
    },
    "not-separable": {
        "given": {"keys": [[["0", "0"], ["-1", "-1"], ["1", "0"], ["0", "1"]]], "indices": ["0"]},
        "note": "a chosen token inside the convex hull of the others",
    },
}


def drawn(inputs: int, tokens: int, dimension: int, seed: int) -> dict[str, Any]:
    """Keys on the grid of multiples of 2^-16 whose first token of each input is ahead along one direction."""
    bits = np.random.PCG64(seed)
    count = inputs * tokens * dimension
    uniform = np.array([(int(bits.random_raw()) >> 12) + 0.5 for _ in range(2 * count)]).reshape(2, -1) / 2.0**52
    normal = np.sqrt(-2 * np.log(uniform[0])) * np.cos(2 * np.pi * uniform[1])
    keys = (np.round(normal * 2**16) / 2**16).reshape(inputs, tokens, dimension)
    keys[:, 0] += 3 / 2
    return {
        "keys": keys.reshape(-1, dimension).astype(np.float32),
        "lengths": [tokens] * inputs,
        "indices": [0] * inputs,
    }


# Inputs, tokens of each, dimension, seed; the form; and what is said of it.
DRAWN: dict[str, tuple[tuple[int, int, int, int], str, str]] = {
    "drawn-d16": ((40, 6, 16, 16), "exact", "200 constraints in dimension 16, exactly"),
    "drawn-d64": ((40, 11, 64, 64), "direction", "400 constraints in dimension 64, up to a distance"),
}


def write(folder: Path) -> None:
    for name, inputs in CERTIFICATES.items():
        certattn.generate("max-margin", folder / f"{name}.yaml", **inputs)
    (folder / "data").mkdir(exist_ok=True)
    for name, (shape, form, note) in DRAWN.items():
        arrays = drawn(*shape)
        source = folder / "data" / f"{name}.npz"
        np.savez(source, keys=arrays.pop("keys"))
        certattn.generate("max-margin", folder / f"{name}.yaml", source=source, form=form, note=note, **arrays)
