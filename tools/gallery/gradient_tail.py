"""The family `gradient-tail` of the gallery: tails of both gradients for several laws, and a length."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import certattn
from tools.gallery.output_tail import PAPER, standard

CERTIFICATES: dict[str, dict[str, Any]] = {
    "gaussian-u": {
        "given": {**PAPER, "scale": "1/2", "length": "10000"},
        "gradient": "U",
        "probability": "0.01",
        "note": "Gaussian tokens of dimension 4, K = Q = V = I and the scale 1/sqrt(4): the gradient in U",
    },
    "gaussian-v": {
        "given": {**PAPER, "scale": "1/2", "length": "10000"},
        "gradient": "V",
        "probability": "0.01",
        "note": "the same for the gradient in V",
    },
    "gaussian-length": {
        "given": {"law": standard(2), "query": ["1/2", "1/2"], "V": [["1", "1"]]},
        "gradient": "U",
        "exceeds": "0.1",
        "probability": "0.01",
        "note": "how long must a prompt be for the gradient in U to be within 0.1 in 99 of 100 cases?",
    },
    "rademacher": {
        "given": {"law": {"kind": "rademacher", "sizes": ["1", "1/2"]}, "query": ["1/2", "1"], "length": "2000"},
        "gradient": "U",
        "exceeds": "0.2",
        "note": "independent signs: how rarely the gradient in U is off by a fifth",
    },
    "box": {
        "given": {"law": {"kind": "box", "sizes": ["1", "1"]}, "tilt": ["1", "-1"], "length": "500"},
        "gradient": "V",
        "probability": "0.001",
        "note": "tokens uniform on a square: the gradient in V",
    },
    "atoms": {
        "given": {
            "law": {"kind": "atoms", "points": [["0", "0"], ["1", "0"], ["0", "1"]], "weights": ["1/2", "1/4", "1/4"]},
            "query": ["1", "2"],
            "V": [["1", "-1"]],
            "length": "1000",
        },
        "gradient": "U",
        "probability": "0.001",
        "note": "three possible tokens: entries by Chernoff's bound, summed exactly",
    },
}


def write(folder: Path) -> None:
    for name, inputs in CERTIFICATES.items():
        certattn.generate("gradient-tail", folder / f"{name}.yaml", **inputs)
