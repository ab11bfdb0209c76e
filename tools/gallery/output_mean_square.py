"""The gallery of `output-mean-square`: tokens with the moments of a real head."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

import certattn

HEADS = Path(__file__).resolve().parents[2] / "certificates" / "attention" / "output-deviation" / "data"
# Moments of a head are rounded to multiples of this, so that no library's last digit matters.
_GRID = 2.0**-16


def write(folder: Path) -> None:
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
