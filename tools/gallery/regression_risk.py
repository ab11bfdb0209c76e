"""The certificate of the family `regression-risk` of the gallery in dimension 64, whose matrices lie in files."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

import certattn
from tools.gallery.training import exact, neighbours

_LARGE = 64


def write(folder: Path) -> None:
    (folder / "data").mkdir(exist_ok=True)
    covariance = np.array(exact(neighbours(_LARGE)), np.float32)
    given = {
        "covariance": _stored(folder / "data" / "neighbours.npy", covariance),
        "parameters": {"A": _stored(folder / "data" / "half.npy", np.eye(_LARGE, dtype=np.float32) / 2), "b": "1"},
    }
    certattn.generate(
        "regression-risk",
        folder / "large-start.yaml",
        given=given,
        states=["risk", "invariant"],
        note="d = 64, matrices in files: risk and invariant",
    )


def _stored(path: Path, array: np.ndarray[Any, Any]) -> dict[str, Any]:
    """An array in a file, as a certificate in the folder above refers to it."""
    np.save(path, array)
    return {
        "file": f"{path.parent.name}/{path.name}",
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "dtype": array.dtype.name,
        "shape": [str(extent) for extent in array.shape],
    }
