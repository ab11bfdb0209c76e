"""The family `finite-moments` of the gallery: how near random score matrices of finite size are to their limit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import certattn

INSTANCES: dict[str, dict[str, Any]] = {
    "size-100": {"beta": "1/2", "d": 100, "note": "beta = 1/2, d = 100: all moments, below the thresholds"},
    "size-1000": {"beta": "1", "d": 1000, "note": "beta = 1, d = 1000: single entries dominate the eighth moment"},
    "infinite": {"beta": "3/2", "d": 64, "note": "beta = 3/2, d = 64: moments of order 6 and 8 are infinite"},
    "narrow": {"beta": "1/2", "lambda_": "1/4", "d": 1000, "note": "width a quarter of the size"},
    "smallest-4": {"beta": "1/2", "orders": [4], "within": "0.05", "note": "the fourth moment to 5 %, beta = 1/2"},
    "smallest-6": {"beta": "1/2", "orders": [6], "within": "0.05", "note": "the sixth moment to 5 %, beta = 1/2"},
    "smallest-8": {"beta": "1/2", "orders": [8], "within": "0.05", "note": "the eighth moment to 5 %, beta = 1/2"},
    "smallest-4-warm": {"beta": "1", "orders": [4], "within": "0.05", "note": "the fourth moment to 5 %, beta = 1"},
}


def write(folder: Path) -> None:
    for name, inputs in INSTANCES.items():
        certattn.generate("finite-moments", folder / f"{name}.yaml", **inputs)
