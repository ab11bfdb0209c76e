"""The family `selection-direction` of the gallery: the examples of Ataee Tarzanagh, Li, Zhang and Oymak 2023."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import certattn
from tools.gallery.local_selection import LOCAL
from tools.gallery.seven_tokens import IN_SPACE, IN_THE_PLANE

_TOY: dict[str, Any] = {
    "keys": [[["-0.1", "1"], ["1", "0"], ["0", "0"]]],
    "scores": [["1", "0.9", "0.9"]],
    "loss": "logistic",
    "descent": {"rule": "gradient", "step": "1"},
}
# p(0) = (0, height), the six starts of the paper's picture.
_HEIGHTS = ("1", "0.5", "0", "-0.5", "-1", "-1.5")
_THREE: dict[str, Any] = {
    "tokens": [[["0", "0"], ["1", "1"]], [["0", "0"], ["1", "-1"]], [["0", "0"], ["0.5", "1"]]],
    "v": ["0", "1"],
    "labels": ["1", "-1", "1"],
    "loss": "logistic",
    "descent": {"rule": "gradient", "step": "1"},
    "start": ["0", "0"],
}
_FROM_ZERO: dict[str, Any] = {"loss": "logistic", "descent": {"rule": "gradient", "step": "1"}}
_LOSSES = ("linear", "logistic", "exponential")
_FAR = ["1000", "1000000000"]


def _two(loss: str) -> dict[str, Any]:
    return {
        "keys": [[["0", "0"], ["1", "1"]], [["0", "0"], ["1", "-1"]]],
        "scores": [["0", "3"], ["0", "1"]],
        "loss": loss,
        "descent": {"rule": "gradient", "step": "1"},
        "start": ["0", "0"],
    }


CERTIFICATES: dict[str, dict[str, Any]] = {
    **{
        f"toy-start-{number}": {
            "given": {**_TOY, "start": ["0", height]},
            "angles": _FAR,
            "note": f"one input of three tokens, from (0, {height})",
        }
        for number, height in enumerate(_HEIGHTS, 1)
    },
    "toy-at-once": {
        "given": {**_TOY, "start": ["0", "-1.5"]},
        "note": "the theorem applied at the start itself",
    },
    "toy-every-start": {"given": {**_TOY, "start": "every"}, "note": "the same, from every start at once"},
    "toy-box": {
        "given": {**_TOY, "start": {"lower": ["-0.1", "0.4"], "upper": ["0.1", "0.6"]}},
        "note": "the same, from every point of a square",
    },
    "toy-small-box": {
        "given": {**_TOY, "start": {"lower": ["-0.01", "0.49"], "upper": ["0.01", "0.51"]}},
        "angles": ["100"],
        "note": "a smaller square, whose points are followed for 100 steps",
    },
    "toy-flow": {
        "given": {**_TOY, "descent": {"rule": "flow"}, "start": ["0", "1"]},
        "note": "the gradient flow",
    },
    "three-inputs": {"given": _THREE, "angles": _FAR, "note": "three inputs with labels 1, -1, 1"},
    **{
        f"two-inputs-{loss}": {"given": _two(loss), "angles": _FAR, "note": f"two inputs, the {loss} loss"}
        for loss in _LOSSES
    },
    "seven-tokens-plane": {
        "given": {**IN_THE_PLANE, **_FROM_ZERO, "start": ["0", "0"]},
        "angles": ["10000", "1000000000000"],
        "note": "three inputs of seven drawn tokens in the plane: locally optimal ones are selected",
    },
    "seven-tokens-space": {
        "given": {**IN_SPACE, **_FROM_ZERO, "start": ["0", "0", "0"]},
        "angles": ["10000", "1000000000000"],
        "note": "three inputs of seven drawn tokens in space: the best ones are selected",
    },
    **LOCAL,
}


def write(folder: Path) -> None:
    for name, inputs in CERTIFICATES.items():
        certattn.generate("selection-direction", folder / f"{name}.yaml", **inputs)
