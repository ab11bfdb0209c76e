"""The family `gradient-mean-square` of the gallery: Gaussian tokens exactly, a real head's among them, other laws."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import certattn
from tools.gallery.output_tail import PAPER, head_given

CERTIFICATES: dict[str, dict[str, Any]] = {
    "gaussian-u": {
        "given": {**PAPER, "length": "1000"},
        "gradient": "U",
        "note": "Gaussian tokens of dimension 4, K = Q = V = I: the gradient in U, exactly",
    },
    "gaussian-v": {
        "given": {**PAPER, "length": "1000000"},
        "gradient": "V",
        "digits": 12,
        "note": "the gradient in V over a million tokens, to 12 digits",
    },
    "gaussian-logistic": {
        "given": {**PAPER, "length": "1000"},
        "gradient": "U",
        "method": "logistic",
        "note": "the same as gaussian-u by the closed bound",
    },
    "gaussian-singular": {
        "given": {
            "law": {
                "kind": "gaussian",
                "mean": ["0", "0", "1"],
                "covariance": [["1", "2", "0"], ["2", "4", "0"], ["0", "0", "0"]],
            },
            "query": ["1/2", "0", "0"],
            "scale": "1/sqrt(3)",
            "V": [["1", "0", "1"]],
            "length": "500",
        },
        "gradient": "U",
        "note": "a covariance of rank one, values in one dimension",
    },
    "box": {
        "given": {"law": {"kind": "box", "sizes": ["1", "1/2"]}, "query": ["1", "1"], "length": "2000"},
        "gradient": "U",
        "note": "tokens uniform on a box: the bound for every law",
    },
    "mixture": {
        "given": {
            "law": {
                "kind": "mixture",
                "components": [
                    {"weight": "1/2", "law": {"kind": "gaussian", "mean": ["0", "0"],
                                              "covariance": [["1/4", "0"], ["0", "1/4"]]}},
                    {"weight": "1/2", "law": {"kind": "rademacher", "sizes": ["1", "1"]}},
                ],
            },
            "tilt": ["1", "1/2"],
            "length": "2000",
        },
        "gradient": "V",
        "note": "half Gaussian, half signs: the gradient in V",
    },
}  # fmt: skip


def write(folder: Path) -> None:
    for name, inputs in CERTIFICATES.items():
        certattn.generate("gradient-mean-square", folder / f"{name}.yaml", **inputs)
    given, _ = head_given(folder)
    certattn.generate(
        "gradient-mean-square",
        folder / "layer0-head6.yaml",
        given=given,
        gradient="U",
        note="Gaussian tokens with the moments of layer 0 head 6 of all-MiniLM-L6-v2, at a query of its own",
    )
