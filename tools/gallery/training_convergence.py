"""The family `training-convergence` of the gallery: the paper's experiments in dimension 5, from the start and later.

Boursier and Boyer 2026, section 5: A(0) = alpha P with P positive semidefinite, b(0) = alpha. `small-outside` is a
start within their interval whose risk is above tr(Sigma)/2.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import certattn
from tools.gallery.training import BALANCED, COVARIANCES, RANK_ONE, exact, neighbours, start

FLOW = {"rule": "flow"}


def descent(step: str) -> dict[str, str]:
    return {"rule": "descent", "step": step}


def balanced(name: str, alpha: str, training: dict[str, str]) -> dict[str, Any]:
    covariance = COVARIANCES[name]
    return {"covariance": covariance, "start": start(alpha, BALANCED[len(covariance)]), "training": training}


def sixty_four() -> dict[str, Any]:
    """Correlated neighbours in dimension 64, from A = I/16, b = 1/2, in an array file."""
    covariance = np.array(exact(neighbours(64)), np.float32)
    return {"covariance": covariance, "start": {"A": np.eye(64, dtype=np.float32) / 16, "b": "1/2"}, "training": FLOW}


CERTIFICATES: dict[str, dict[str, Any]] = {
    "isotropic": {
        "given": balanced("isotropic", "3/4", FLOW),
        "risks": ["1", "10"],
        "note": "the flow in dimension 5, isotropic tokens, from the start",
    },
    "isotropic-later": {
        "given": balanced("isotropic", "3/4", FLOW),
        "begins": "2",
        "risks": ["10"],
        "note": "the same from time 2 on: the rate of the limit",
    },
    "anisotropic": {
        "given": balanced("anisotropic", "3/4", FLOW),
        "risks": ["1", "100"],
        "note": "anisotropic tokens: eigenvalues from 1/4 to 2",
    },
    "anisotropic-later": {
        "given": balanced("anisotropic", "3/4", FLOW),
        "begins": "29",
        "risks": ["1", "100"],
        "note": "the same from time 29 on: ten times the rate",
    },
    "anisotropic-by-rates": {
        "given": balanced("anisotropic", "3/4", FLOW),
        "begins": "200",
        "enclosed": "0",
        "note": "the same from time 200 on, where rates alone lead",
    },
    "anisotropic-unbalanced": {
        "given": {
            "covariance": COVARIANCES["anisotropic"],
            "start": {"A": start("1/2", RANK_ONE[5])["A"], "b": "1"},
            "training": FLOW,
        },
        "begins": "20",
        "note": "a start that is not balanced and does not commute with Sigma",
    },
    "correlated-descent": {
        "given": balanced("correlated", "3/4", descent("1/100")),
        "begins": "1000",
        "risks": ["50", "5000"],
        "note": "gradient descent with correlated tokens, from step 1000 on",
    },
    "plane": {
        "given": balanced("plane", "1", FLOW),
        "risks": ["5"],
        "note": "the flow in the plane",
    },
    "plane-through-zero": {
        "given": {
            "covariance": COVARIANCES["plane"],
            "start": {"A": [["3/5", "1/10"], ["0", "4/5"]], "b": "-3/4"},
            "training": descent("1/40"),
        },
        "begins": "239",
        "note": "descent that leads b from -3/4 through 0 to a Bayes point with b > 0",
    },
    "small-outside": {
        "given": balanced("small", "4", FLOW),
        "begins": "19",
        "note": "a start of the published interval where R(0) > tr(Sigma)/2: first enclosed",
    },
    "sixty-four": {
        "given": sixty_four(),
        "begins": "100",
        "enclosed": "0",
        "note": "dimension 64, correlated neighbours, where rates alone lead",
    },
}


def write(folder: Path) -> None:
    for name, inputs in CERTIFICATES.items():
        certattn.generate("training-convergence", folder / f"{name}.yaml", **inputs)
