"""The gallery of `output-mean-square`: how far random prompts are from their infinite prompt, on average."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

import certattn

HEADS = Path(__file__).resolve().parents[2] / "certificates" / "attention" / "output-deviation" / "data"
# Moments of a head are rounded to multiples of this, so that no library's last digit matters.
_GRID = 2.0**-16
_STANDARD = {
    "kind": "gaussian",
    "mean": ["0"] * 4,
    "covariance": [["1" if i == j else "0" for j in range(4)] for i in range(4)],
}
_QUARTER = {"kind": "gaussian", "mean": ["0", "0"], "covariance": [["1/4", "0"], ["0", "1/4"]]}
_PLANE = {"mean": ["0", "0"], "covariance": [["1", "0"], ["0", "1"]]}
_UNIT = ["1/2"] * 4

PROMPTS: dict[str, dict[str, Any]] = {
    "gaussian-d4": {
        "given": {"law": _STANDARD, "query": _UNIT, "length": "1000"},
        "digits": 12,
        "note": "1,000 Gaussian tokens, K = Q = V = I, a query of length 1: exactly",
    },
    "gaussian-d4-long": {
        "given": {"law": _STANDARD, "query": ["1"] * 4, "length": "1000000"},
        "digits": 12,
        "note": "a million Gaussian tokens, a query of length 2: exactly",
    },
    "gaussian-d4-closed": {
        "given": {"law": _STANDARD, "query": _UNIT, "length": "1000"},
        "method": "logistic",
        "note": "the same tokens as in gaussian-d4.yaml, by closed bounds",
    },
    "gaussian-singular": {
        "given": {
            "law": {"kind": "gaussian", "mean": ["1", "0"], "covariance": [["1", "2"], ["2", "4"]]},
            "tilt": ["1/2", "0"],
            "V": [["1", "0"], ["0", "1"], ["1", "1"]],
            "length": "200",
        },
        "note": "Gaussian tokens on a line",
    },
    "mixture": {
        "given": {
            "law": {
                "kind": "mixture",
                "components": [
                    {"weight": "1/2", "law": {"kind": "box", "sizes": ["1", "2"]}},
                    {"weight": "1/4", "law": {"kind": "rademacher", "sizes": ["1", "1/2"]}},
                    {
                        "weight": "1/4",
                        "law": {"kind": "gaussian", "mean": ["0", "1"], "covariance": [["1", "0"], ["0", "0"]]},
                    },
                ],
            },
            "tilt": ["1/2", "-1/2"],
            "length": "2000",
        },
        "note": "the bound for any law, for a mixture of three",
    },
    "queries": {
        "given": {"law": _QUARTER, "queries": _PLANE, "length": "1000"},
        "note": "averaged over Gaussian queries: one integral",
    },
    "queries-closed": {
        "given": {"law": _QUARTER, "queries": _PLANE, "length": "1000"},
        "method": "closed",
        "note": "the same average in closed form: Proposition 3.1 of Boursier and Boyer 2026 with a named constant",
    },
}


def write(folder: Path) -> None:
    """Every certificate of the family, and the array file of one."""
    for name, inputs in PROMPTS.items():
        certattn.generate("output-mean-square", folder / f"{name}.yaml", **inputs)
    _write_head(folder)


def _write_head(folder: Path) -> None:
    """Gaussian keys and values with the moments of a head: tokens are key and value side by side."""
    data = folder / "data"
    data.mkdir(exist_ok=True)
    arrays = np.load(HEADS / "layer0-head6.npz")
    pairs = np.hstack([arrays["keys"], arrays["values"]]).astype(np.float64)
    width = arrays["keys"].shape[1]
    mean, covariance = pairs.mean(axis=0), np.cov(pairs.T, bias=True)
    parts = {"mean": mean, "covariance": (covariance + covariance.T) / 2, "query": arrays["queries"][0]}
    eye = np.eye(pairs.shape[1])
    tables = {name: (np.round(part / _GRID) * _GRID).astype(np.float32) for name, part in parts.items()}
    tables |= {"U": eye[:, :width].astype(np.float32), "V": eye[width:].astype(np.float32)}
    for name, table in tables.items():
        np.save(data / f"layer0-head6-{name}.npy", table)

    given = {name: _reference(data / f"layer0-head6-{name}.npy", table) for name, table in tables.items()}
    law = {"kind": "gaussian", "mean": given.pop("mean"), "covariance": given.pop("covariance")}
    certattn.generate(
        "output-mean-square",
        folder / "layer0-head6.yaml",
        given={"law": law, **given, "scale": "1/sqrt(32)", "length": "512"},
        note="Gaussian keys and values with the moments of layer 0 head 6 of all-MiniLM-L6-v2, 512 of them",
    )


def _reference(path: Path, table: np.ndarray[Any, Any]) -> dict[str, Any]:
    """A reference to an array file as certificates write it."""
    shape = [str(extent) for extent in table.shape]
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return {"file": f"data/{path.name}", "sha256": digest, "dtype": "float32", "shape": shape}
