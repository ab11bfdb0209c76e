"""The family `regularization-path` of the gallery: the authors' examples, several losses and heads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import certattn
from tools.gallery.seven_tokens import IN_SPACE

THREE_INPUTS = {
    "tokens": [[["0", "0"], ["1", "1"]], [["0", "0"], ["1", "-1"]], [["0", "0"], ["0.5", "1"]]],
    "v": ["0", "1"],
    "labels": ["1", "-1", "1"],
    "loss": "logistic",
}

# The scores C of input 0 in the comparison of losses; that of input 1 is 1.
LOSS_SCORES = ("1", "10", "100")


def _two_inputs(loss: str, score: str) -> dict[str, Any]:
    return {
        "keys": [[["0", "0"], ["1", "1"]], [["0", "0"], ["1", "-1"]]],
        "scores": [["0", score], ["0", "1"]],
        "loss": loss,
    }


def _random() -> dict[str, Any]:
    """Three inputs of three tokens in dimension 6, of which the first is the best."""
    rng = np.random.default_rng(5)
    keys = rng.integers(-200, 201, size=(3, 3, 6))
    others = rng.integers(0, 91, size=(3, 2))
    return {
        "keys": [[[f"{x}/100" for x in row] for row in rows] for rows in keys.tolist()],
        "scores": [["1", *(f"{x}/100" for x in row)] for row in others.tolist()],
        "loss": "exponential",
    }


CERTIFICATES: dict[str, dict[str, Any]] = {
    "single-input": {
        "given": {
            "keys": [[["-0.1", "1"], ["1", "0"], ["0", "0"]]],
            "scores": [["1", "0.9", "0.9"]],
            "loss": "logistic",
        },
        "radii": ["10", "40", "160"],
        "note": "one input of three tokens",
    },
    **{
        f"two-inputs-{loss}-{score}": {
            "given": _two_inputs(loss, score),
            "radii": ["200"],
            "note": f"comparison of losses: {loss}, scores {score} and 1",
        }
        for loss in ("linear", "logistic", "exponential")
        for score in LOSS_SCORES
    },
    "three-inputs": {"given": THREE_INPUTS, "radii": ["20", "80"], "note": "three inputs with labels, a linear head"},
    "three-inputs-tanh": {
        "given": {**THREE_INPUTS, "head": {"kind": "tanh"}},
        "radii": ["20", "80"],
        "note": "the same with tanh in the head",
    },
    "three-inputs-leaky-relu": {
        "given": {**THREE_INPUTS, "head": {"kind": "leaky-relu", "slope": "1/10"}},
        "radii": ["20", "80"],
        "note": "the same with a leaky rectifier",
    },
    "quadratic-head": {
        "given": {
            "tokens": [[["1", "1"], ["0", "0"], ["-1", "1/2"]], [["2", "0"], ["0", "1"]]],
            "v": ["2", "1"],
            "head": {"kind": "quadratic", "A": [["1/4", "0"], ["0", "-1/4"]]},
            "loss": "exponential",
        },
        "radii": ["30"],
        "note": "a head that is quadratic in the attended token",
    },
    "seven-tokens": {
        "given": {**IN_SPACE, "loss": "logistic"},
        "note": "three inputs of seven drawn tokens in space",
    },
    "random": {"given": _random(), "note": "three inputs of three random tokens in dimension 6"},
}


def write(folder: Path) -> None:
    for name, inputs in CERTIFICATES.items():
        certattn.generate("regularization-path", folder / f"{name}.yaml", **inputs)
