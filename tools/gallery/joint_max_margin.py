"""The family `joint-max-margin` of the gallery: the authors' two joint examples, ties outside the support, random data.

Ataee Tarzanagh, Li, Zhang and Oymak 2023, the figure of joint convergence: three inputs whose labels are 1, -1, 1.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import certattn

PAIRS = (("10", "10"), ("40", "40"), ("160", "160"))


def three_inputs(last: list[list[str]]) -> dict[str, Any]:
    """The authors' inputs with another third one."""
    return {
        "tokens": [[["0", "0"], ["1", "1"]], [["0", "0"], ["1", "-1"]], last],
        "labels": ["1", "-1", "1"],
        "indices": ["1", "1", "1"],
    }


def drawn(seed: int, inputs: int, tokens: int, dimension: int) -> dict[str, Any]:
    """Inputs with a token that agrees with the label and others that are small, to two places."""
    draw = random.Random(seed)
    labels = [draw.choice([1, -1]) for _ in range(inputs)]
    way = [draw.gauss(0, 1) for _ in range(dimension)]
    found = []
    for label in labels:
        rows = [[draw.gauss(0, 0.4) for _ in way] for _ in range(tokens)]
        rows[0] = [2 * x + label * draw.uniform(1, 2) * w for x, w in zip(rows[0], way, strict=True)]
        found.append([[f"{x:.2f}" for x in row] for row in rows])
    return {"tokens": found, "labels": [str(y) for y in labels], "indices": ["0"] * inputs}


CERTIFICATES: dict[str, dict[str, Any]] = {
    "tight": {
        "given": three_inputs([["0", "0"], ["1/2", "1"]]),
        "at": PAIRS,
        "note": "the authors' example where every input is a support input: p solves (Att-SVM)",
    },
    "not-tight": {
        "given": three_inputs([["0", "0"], ["1/2", "3/2"]]),
        "at": PAIRS,
        "note": "the authors' example where the third input is none: p solves the relaxed problem",
    },
    "held-back": {
        "given": three_inputs([["1", "0"], ["1/2", "3/2"]]),
        "at": (("40", "40"), ("160", "160")),
        "loss": "exponential",
        "note": "the third input is no support input, and its relaxed constraint turns p",
    },
    "random-all-support": {
        "given": drawn(8, 3, 3, 4),
        "at": (("60", "60"), ("240", "240")),
        "note": "three random inputs of three tokens in dimension 4, all of them support inputs",
    },
    "random-relaxed": {
        "given": drawn(11, 4, 3, 3),
        "at": (("60", "60"), ("240", "240")),
        "loss": "exponential",
        "note": "four random inputs of three tokens in dimension 3, some of them no support inputs",
    },
}


def write(folder: Path) -> None:
    for name, inputs in CERTIFICATES.items():
        certattn.generate("joint-max-margin", folder / f"{name}.yaml", **inputs)
