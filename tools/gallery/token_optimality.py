"""The family `token-optimality` of the gallery: the authors' examples, and random ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import certattn
from tools.gallery.seven_tokens import IN_THE_PLANE

SINGLE = [[["-0.1", "1"], ["1", "0"], ["0", "0"]]]


def _random() -> dict[str, Any]:
    """Four inputs of six tokens in dimension 3: coordinates in hundredths, scores in tenths, which may be equal."""
    rng = np.random.default_rng(20)
    keys = rng.integers(-200, 201, size=(4, 6, 3))
    scores = rng.integers(0, 11, size=(4, 6))
    return {
        "keys": [[[f"{x}/100" for x in row] for row in rows] for rows in keys.tolist()],
        "scores": [[f"{x}/10" for x in row] for row in scores.tolist()],
    }


CERTIFICATES: dict[str, dict[str, Any]] = {
    "single-input-global": {
        "given": {"keys": SINGLE, "scores": [["1", "0.9", "0.9"]]},
        "selections": [[0], [1], [2]],
        "note": "one input whose other tokens are equally good: one selection is locally optimal",
    },
    "single-input-local": {
        "given": {"keys": SINGLE, "scores": [["1", "0.9", "0"]]},
        "selections": [[0], [1], [2]],
        "note": "the same keys with another score: two selections are locally optimal",
    },
    "two-inputs": {
        "given": {"keys": [[["-3", "1"], ["0", "0"]], [["1", "0"], ["0", "0"]]], "scores": [["1", "0"], ["1", "0"]]},
        "selections": [[0, 0], [1, 0], [0, 1], [1, 1]],
        "note": "two inputs of two tokens: input 0 has no neighbour where it settles on its worse token",
    },
    "three-inputs": {
        "given": {
            "tokens": [[["0", "0"], ["1", "1"]], [["0", "0"], ["1", "-1"]], [["0", "0"], ["0.5", "1"]]],
            "v": ["0", "1"],
            "labels": ["1", "-1", "1"],
        },
        "selections": [[1, 1, 1]],
        "note": "three inputs with labels",
    },
    "middle-token": {
        "given": {"keys": [[["-1", "0"], ["0", "0"], ["2", "0"]]], "scores": [["0", "1", "0"]]},
        "selections": [[1]],
        "note": "the best token lies between two others: no p selects it, and no selection is locally optimal",
    },
    "seven-tokens": {"given": IN_THE_PLANE, "note": "343 selections of three inputs of seven tokens in the plane"},
    "random": {"given": _random(), "note": "1,296 selections of four inputs of six tokens in dimension 3"},
}


def write(folder: Path) -> None:
    for name, inputs in CERTIFICATES.items():
        certattn.generate("token-optimality", folder / f"{name}.yaml", **inputs)
