"""The family `typical-prompt` of the gallery: the Gaussian prompt of `output-deviation` beside its law."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import certattn

PROMPT = (
    Path(__file__).resolve().parents[2]
    / "certificates"
    / "attention"
    / "output-deviation"
    / "data"
    / "gaussian-prompt.npz"
)
IDENTITY = [["1" if i == j else "0" for j in range(4)] for i in range(4)]

CERTIFICATES: dict[str, dict[str, Any]] = {
    "gaussian-prompt": {
        "query": 5,
        "norm": "l2",
        "probability": "0.01",
        "note": "1,000 Gaussian tokens of dimension 4, K = Q = V = I: the whole output at query 5",
    },
    "gaussian-prompt-direction": {
        "query": 0,
        "directions": [["1", "0", "0", "0"], ["-1", "0", "0", "0"]],
        "probability": "1e-3",
        "note": "the same prompt at query 0: the first coordinate, on either side",
    },
}


def write(folder: Path) -> None:
    (folder / "data").mkdir(exist_ok=True)
    source = folder / "data" / PROMPT.name
    shutil.copyfile(PROMPT, source)
    law = {"kind": "gaussian", "mean": ["0"] * 4, "covariance": IDENTITY}
    for name, inputs in CERTIFICATES.items():
        certattn.generate("typical-prompt", folder / f"{name}.yaml", source=source, law=law, **inputs)
