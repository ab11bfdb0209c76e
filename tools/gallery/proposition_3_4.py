"""The family `proposition-3-4` of the gallery: both gradients, the published displays and repaired forms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import certattn
from tools.gallery.proposition_3_1 import BOXES, ONE_TOKEN, PLANE

CERTIFICATES: dict[str, dict[str, Any]] = {
    "published-v": {
        "given": ONE_TOKEN,
        "gradient": "V",
        "note": "one token: the gradient in V is off by x, and E x^2 = 1; the right side is 0, as ln 1 = 0",
    },
    "published-u": {
        "given": ONE_TOKEN,
        "gradient": "U",
        "note": "one token has no covariance: the gradient in U is off by z, and E z^2 = 1",
    },
    "repaired-gaussian-v": {
        "given": PLANE,
        "gradient": "V",
        "c2": "9/10",
        "note": "Gaussian tokens and queries in the plane, K = Q = I: the gradient in V",
    },
    "repaired-gaussian-u": {
        "given": PLANE,
        "gradient": "U",
        "c2": "9/10",
        "note": "Gaussian tokens and queries in the plane, K = Q = V = I: the gradient in U",
    },
    "repaired-box-v": {
        "given": BOXES,
        "gradient": "V",
        "c2": "1",
        "note": "tokens uniform on a square, queries on another, K = Q = I: the gradient in V",
    },
    "repaired-box-u": {
        "given": BOXES,
        "gradient": "U",
        "c2": "1",
        "note": "tokens uniform on a square, queries on another, K = Q = V = I: the gradient in U",
    },
}


def write(folder: Path) -> None:
    for name, inputs in CERTIFICATES.items():
        certattn.generate("proposition-3-4", folder / f"{name}.yaml", **inputs)
