"""The family `output-tail` of the gallery: the moments of a real head."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

import certattn

Given = dict[str, Any]
Array = np.ndarray[Any, Any]

HEADS = Path(__file__).resolve().parents[2] / "certificates" / "attention" / "output-deviation" / "data"
# Moments are rounded to multiples of 2^-14, so that no library's last digit matters.
GRID = 2**14


def head_given(folder: Path) -> tuple[Given, Array]:
    """Gaussian tokens with the moments of a real head's keys and values, at its first query; and their covariance.

    The arrays are written into the folder's own folder of data.
    """
    arrays = np.load(HEADS / "layer0-head6.npz")
    tokens = np.hstack([arrays["keys"], arrays["values"]]).astype(np.float64)
    size, outputs = arrays["keys"].shape[1], arrays["values"].shape[1]
    covariance = rounded(np.cov(tokens.T, bias=True))
    data = folder / "data"
    data.mkdir(exist_ok=True)
    stored = {
        "mean": rounded(tokens.mean(0)),
        "covariance": (covariance + covariance.T) / 2,
        "query": arrays["queries"][0].astype(np.float64),
        "K": np.eye(size, size + outputs),
        "V": np.eye(outputs, size + outputs, size),
    }
    np.savez(data / "layer0-head6-moments.npz", **stored)
    reference = references(data / "layer0-head6-moments.npz", stored)
    given = {
        "law": {"kind": "gaussian", "mean": reference["mean"], "covariance": reference["covariance"]},
        "K": reference["K"],
        "V": reference["V"],
        "query": reference["query"],
        "scale": "1/sqrt(32)",
        "length": "512",
    }
    return given, covariance[size:, size:]


def write(folder: Path) -> None:
    given, covariance = head_given(folder)
    widest = np.linalg.eigh(covariance)[1][:, -1]
    direction = [f"{entry:.2f}" for entry in widest * np.sign(widest[np.argmax(np.abs(widest))])]
    certattn.generate(
        "output-tail",
        folder / "layer0-head6.yaml",
        given=given,
        directions=[direction, [entry.removeprefix("-") if "-" in entry else f"-{entry}" for entry in direction]],
        probability="0.01",
        note="Gaussian tokens with the moments of layer 0 head 6 of all-MiniLM-L6-v2, at a query of its own",
    )
    certattn.generate(
        "output-tail",
        folder / "layer0-head6-mean-square.yaml",
        given={name: part for name, part in given.items() if name != "length"},
        norm="l2",
        method="mean-square",
        exceeds="1/2",
        probability="0.01",
        note="the same tokens: how long a prompt has to be for the whole output, 32 entries, to be within 1/2",
    )


def rounded(array: Array) -> Array:
    return np.asarray(np.round(array * GRID) / GRID)


def references(path: Path, arrays: dict[str, Array]) -> dict[str, Given]:
    """The arrays of a file as certificates beside its folder refer to them."""
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return {
        name: {
            "file": f"{path.parent.name}/{path.name}",
            "array": name,
            "sha256": digest,
            "dtype": str(array.dtype),
            "shape": [str(extent) for extent in array.shape],
        }
        for name, array in arrays.items()
    }
