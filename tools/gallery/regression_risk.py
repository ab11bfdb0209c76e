"""The family `regression-risk` of the gallery: starts of training, and where it ends.

The paper's experiments are in dimension 5. In dimension 64 the matrices lie in files.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

import certattn
from tools.gallery.training import BALANCED, COVARIANCES, RANK_ONE, Table, exact, inverse, neighbours, start

# w, and a query: both of no particular direction.
TASK, QUERY = ["1", "-1/2", "3/4", "0", "2"], ["1/3", "2", "-1", "5/4", "1"]
_LARGE = 64


def _at_a_start(covariance: str, alpha: str, P: Table, note: str) -> dict[str, Any]:
    parameters = start(alpha, P)
    return {"given": {"covariance": COVARIANCES[covariance], "parameters": parameters}, "note": note}


def _learnt(covariance: str, b: str, note: str) -> dict[str, Any]:
    """A = Sigma^-1 / b."""
    Sigma = COVARIANCES[covariance]
    factor = exact([[b]])[0][0]
    A = [[str(entry / factor) for entry in row] for row in exact(inverse(Sigma))]
    given = {"covariance": Sigma, "parameters": {"A": A, "b": b}}
    return {"given": given, "predictions": [(TASK, QUERY)], "note": note}


def instances() -> dict[str, dict[str, Any]]:
    """What the certificates without files are made of, by name."""
    saddle = {"A": [["-5/4", "1"], ["2", "-1"]], "b": "0"}
    return {
        "isotropic-start": _at_a_start("isotropic", "1/2", BALANCED[5], "d = 5, Sigma = I: a balanced start"),
        "isotropic-learnt": _learnt("isotropic", "3/2", "d = 5, Sigma = I: a Bayes point, and a prediction"),
        "anisotropic-start": _at_a_start("anisotropic", "1/2", BALANCED[5], "d = 5, Sigma diagonal: a balanced start"),
        "anisotropic-learnt": _learnt("anisotropic", "2", "d = 5, Sigma diagonal: the inverse is learnt, not I"),
        "correlated-start": _at_a_start(
            "correlated", "-1/2", RANK_ONE[5], "d = 5, Sigma not diagonal: a start of rank one that does not commute"
        ),
        "correlated-learnt": _learnt("correlated", "-2", "d = 5, Sigma not diagonal: a Bayes point with b < 0"),
        "plane-start": _at_a_start("plane", "1/2", RANK_ONE[2], "two dimensions: a balanced start of rank one"),
        "plane-saddle": {
            "given": {"covariance": COVARIANCES["plane"], "parameters": saddle},
            "along": {"A": [["1", "0"], ["0", "1"]], "b": "1/4"},
            "note": "two dimensions: b = 0 and tr(Sigma^2 A) = 0, with a direction in which the risk falls",
        },
        "small-start": _at_a_start(
            "small", "4", BALANCED[1], "d = 1, Sigma = 1/4: in the published interval of starts, but R > tr(Sigma)/2"
        ),
    }


def write(folder: Path) -> None:
    for name, inputs in instances().items():
        certattn.generate("regression-risk", folder / f"{name}.yaml", **inputs)
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
