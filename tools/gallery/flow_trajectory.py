"""The family `flow-trajectory` of the gallery: flows in dimension 5 to within a millionth of the limit, and tubes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import certattn
from tools.gallery.training import BALANCED, COVARIANCES, RANK_ONE, start


def _flow(covariance: str, *at: Any) -> dict[str, Any]:
    return {"covariance": COVARIANCES[covariance], "start": start(*at)}


def instances() -> dict[str, dict[str, Any]]:
    """What the certificates are made of, by name."""
    return {
        "isotropic": {
            "given": _flow("isotropic", "1/2", BALANCED[5]),
            "within": "1e-6",
            "note": "d = 5, Sigma = I: to within a millionth of the limit",
        },
        "anisotropic": {
            "given": _flow("anisotropic", "1/2", BALANCED[5]),
            "within": "1e-6",
            "note": "d = 5, eigenvalues from 1/4 to 2: to within a millionth of the limit",
        },
        "correlated": {
            "given": _flow("correlated", "-1/2", RANK_ONE[5]),
            "times": ["1", "10", "50"],
            "note": "d = 5, a start of rank one that does not commute with Sigma; b < 0",
        },
        "anisotropic-tube": {
            "given": _flow("anisotropic", "1/2", BALANCED[5]),
            "times": ["36"],
            "points": 8,
            "radius": "1e-12",
            "tube": True,
            "note": "d = 5: a tube around the path",
        },
        "plane-tube": {
            "given": _flow("plane", "1/2", BALANCED[2]),
            "times": ["9"],
            "points": 12,
            "radius": "1e-12",
            "tube": True,
            "note": "two dimensions: a tube around the path",
        },
        "plane-late": {
            "given": _flow("plane", "1/2", RANK_ONE[2]),
            "times": ["1000000"],
            "radius": "1e-20",
            "note": "two dimensions: a million units of time, in which the flow comes to rest",
        },
        "line": {
            "given": _flow("line", "1/2", BALANCED[1]),
            "times": ["1", "3"],
            "radius": "1e-40",
            "note": "d = 1: A = b = (1 + 3 e^(-2t))^(-1/2), to forty digits",
        },
        "small": {
            "given": _flow("small", "4", BALANCED[1]),
            "times": ["1/2", "10", "80"],
            "note": "d = 1, Sigma = 1/4: a start of the published interval whose risk exceeds tr(Sigma)/2",
        },
    }


def write(folder: Path) -> None:
    for name, inputs in instances().items():
        certattn.generate("flow-trajectory", folder / f"{name}.yaml", **inputs)
