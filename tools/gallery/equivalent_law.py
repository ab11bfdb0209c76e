"""The family `equivalent-law` of the gallery: limit laws of the singular values of softmax attention."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import certattn


def instances() -> dict[str, dict[str, Any]]:
    """What the certificates are made of, by name."""
    return {
        "square": {
            "beta": "1",
            "lambda_": "1",
            "cdf": ["1/2", "1", "2", "3"],
            "density": ["1", "2"],
            "stieltjes": [("0", "1"), ("1", "1/10")],
            "shares": ["1/10", "1/4", "1/2", "3/4", "9/10"],
            "note": "beta = 1, d_qk = d: the law, and the beta at which parts of the variance are not linear",
        },
        "gap": {
            "beta": "1/2",
            "lambda_": "1/4",
            "cdf": ["0.37", "1"],
            "density": ["0", "0.2", "0.37", "0.6", "1"],
            "digits": 30,
            "note": "beta = 1/2, d_qk = d/4: a gap, with a quarter of the singular values above it; 30 digits",
        },
        "narrow-gap": {
            "beta": "0.83",
            "lambda_": "1/4",
            "moments": 1,
            "note": "just below beta_c(1/4) = 0.8342...",
        },
        "no-gap": {"beta": "0.84", "lambda_": "1/4", "moments": 1, "note": "just above beta_c(1/4)"},
        "low-rank": {
            "beta": "1/2",
            "lambda_": "1/64",
            "cdf": ["1"],
            "note": "d_qk = d/64, as for heads of dimension 64 and 4096 tokens",
        },
        "closing": {
            "alpha2": "7",
            "beta2": "1",
            "lambda_": "1/20",
            "moments": 6,
            "cdf": ["1"],
            "note": "alpha^2/beta^2 = rho_c(1/20) = 7: the gap just closes; moments are rational",
        },
        "high-moments": {
            "alpha2": "1/3",
            "beta2": "2/3",
            "lambda_": "1/2",
            "moments": 20,
            "note": "variance 1: moments up to order 40 as rational numbers",
        },
    }


def write(folder: Path) -> None:
    for name, inputs in instances().items():
        certattn.generate("equivalent-law", folder / f"{name}.yaml", **inputs)
