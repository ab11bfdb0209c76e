"""The family `output-tail` of the gallery: tails for every kind of law, a length, and the moments of a real head."""

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


def standard(dimension: int) -> Given:
    identity = [["1" if i == j else "0" for j in range(dimension)] for i in range(dimension)]
    return {"kind": "gaussian", "mean": ["0"] * dimension, "covariance": identity}


# As in the numerical experiments of Boursier and Boyer 2026: d = 4, standard Gaussian tokens, K = Q = V = I.
PAPER: Given = {"law": standard(4), "query": ["1", "1/2", "0", "-1/2"]}

CERTIFICATES: dict[str, dict[str, Any]] = {
    "gaussian-directions": {
        "given": {**PAPER, "length": "1000"},
        "directions": [["1", "1/2", "0", "-1/2"], ["-1", "-1/2", "0", "1/2"], ["0", "0", "1", "0"]],
        "probability": "0.01",
        "note": "Gaussian tokens of dimension 4, K = Q = V = I: along the query, against it, across",
    },
    "gaussian-norm": {
        "given": {**PAPER, "length": "1000"},
        "norm": "l2",
        "probability": "0.01",
        "note": "Gaussian tokens of dimension 4, K = Q = V = I: the whole output",
    },
    "gaussian-length": {
        "given": PAPER,
        "norm": "l2",
        "exceeds": "0.3",
        "probability": "0.01",
        "note": "how long must a prompt be? So long that the output is within 0.3 in 99 of 100 cases",
    },
    "gaussian-singular": {
        "given": {
            "law": {
                "kind": "gaussian",
                "mean": ["0", "0", "1"],
                "covariance": [["1", "2", "0"], ["2", "4", "0"], ["0", "0", "0"]],
            },
            "query": ["1", "0", "0"],
            "scale": "1/sqrt(3)",
            "length": "500",
        },
        "directions": [["1", "0", "0"], ["-1", "0", "0"], ["0", "0", "1"]],
        "exceeds": "1/2",
        "note": "a covariance of rank one: nothing varies but the score, and along (0, 0, 1) nothing at all",
    },
    "rademacher": {
        "given": {"law": {"kind": "rademacher", "sizes": ["1", "2", "1/2"]}, "tilt": ["1/2", "1/2", "1"]},
        "norm": "linf",
        "exceeds": "1/10",
        "probability": "0.001",
        "note": "independent signs: the length at which no coordinate of the output is off by more than a tenth",
    },
    "box": {
        "given": {"law": {"kind": "box", "sizes": ["1", "1/2"]}, "tilt": ["1", "-2"], "length": "200"},
        "directions": [["1", "0"], ["0", "1"]],
        "probability": "1e-6",
        "note": "tokens uniform on a box: one prompt in a million",
    },
    "atoms": {
        "given": {
            "law": {"kind": "atoms", "points": [["0", "0"], ["1", "0"], ["0", "1"]], "weights": ["1/2", "1/4", "1/4"]},
            "tilt": ["1", "2"],
            "V": [["1", "-1"]],
            "length": "100",
        },
        "directions": [["1"], ["-1"]],
        "exceeds": "1/4",
        "note": "three possible tokens",
    },
    "mixture": {
        "given": {
            "law": {
                "kind": "mixture",
                "components": [
                    {"weight": "1/2", "law": {"kind": "gaussian", "mean": ["-1"], "covariance": [["1"]]}},
                    {"weight": "1/3", "law": {"kind": "gaussian", "mean": ["2"], "covariance": [["1/4"]]}},
                    {"weight": "1/6", "law": {"kind": "atoms", "points": [["0"], ["3"]]}},
                ],
            },
            "tilt": ["1/2"],
            "length": "1000",
        },
        "directions": [["1"], ["-1"]],
        "probability": "0.01",
        "note": "two Gaussians and two points, mixed",
    },
}


def write(folder: Path) -> None:
    for name, inputs in CERTIFICATES.items():
        certattn.generate("output-tail", folder / f"{name}.yaml", **inputs)
    write_head(folder)


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


def write_head(folder: Path) -> None:
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
