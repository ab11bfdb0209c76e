"""The family `proposition-3-1` of the gallery: the published display at two instances, and two repaired forms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import certattn

Given = dict[str, Any]


def normal(dimension: int, variance: str) -> Given:
    covariance = [[variance if i == j else "0" for j in range(dimension)] for i in range(dimension)]
    return {"kind": "gaussian", "mean": ["0"] * dimension, "covariance": covariance}


def box(*sizes: str) -> Given:
    return {"kind": "box", "sizes": list(sizes)}


# d = 1, K = 0, Q = V = 1: scores that are all 0.
ONE_TOKEN: Given = {
    "law": normal(1, "1"),
    "queries": normal(1, "1"),
    "K": [["0"]],
    "Q": [["1"]],
    "V": [["1"]],
    "length": "1",
}
PLANE: Given = {"law": normal(2, "1/4"), "queries": normal(2, "1"), "sigma": "1"}
BOXES: Given = {"law": box("1", "1"), "queries": box("1", "1"), "sigma": "1"}

CERTIFICATES: dict[str, dict[str, Any]] = {
    "published": {
        "given": ONE_TOKEN,
        "note": "one token: the left side is E x^2 = 1 and the right side 0, as ln 1 = 0",
    },
    "published-small-sigma": {
        "given": {
            "law": normal(1, "1e-8"),
            "queries": normal(1, "1e-8"),
            "U": [["0"]],
            "length": "1000",
            "sigma": "1e-4",
            "constants": {"c1": "1e6", "c2": "1e-8"},
        },
        "note": "a thousand tokens: sigma^2 / L against c1 sigma^6 ln L / L^(c2/sigma^2) with sigma far below 1",
    },
    "repaired-gaussian": {
        "given": PLANE,
        "c2": "9/10",
        "note": "Gaussian tokens and queries in the plane, K = Q = V = I",
    },
    "repaired-gaussian-d1": {
        "given": {"law": normal(1, "1"), "queries": normal(1, "1"), "sigma": "1"},
        "c2": "1/3",
        "note": "standard Gaussian tokens and queries, where no exponent of 1/2 or more is proved",
    },
    "repaired-box": {
        "given": BOXES,
        "c2": "1",
        "note": "tokens uniform on a square, queries on another, K = Q = V = I",
    },
}


def write(folder: Path) -> None:
    for name, inputs in CERTIFICATES.items():
        certattn.generate("proposition-3-1", folder / f"{name}.yaml", **inputs)
