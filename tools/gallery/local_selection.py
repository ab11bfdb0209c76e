"""The certificates about locally optimal tokens: of `selection-direction`, and the family `selection-counterexample`.

The paper's local example (one input of three tokens of which the second is selected although the first is better), and
two pairs of inputs for which descent misses the best tokens.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import certattn

_TOY: dict[str, Any] = {
    "keys": [[["-0.1", "1"], ["1", "0"], ["0", "0"]]],
    "scores": [["1", "0.9", "0"]],
    "loss": "logistic",
    "descent": {"rule": "gradient", "step": "1"},
    "start": ["4", "0"],
}
_FAR = ["10000000", "1000000000000"]

LOCAL: dict[str, dict[str, Any]] = {
    **{
        f"local-{loss}": {
            "given": {**_TOY, "loss": loss}, "indices": (1,), "steps": 1000, "angles": _FAR,
            "note": f"the second token of three is selected although the first is better, the {loss} loss",
        }
        for loss in ("linear", "logistic", "exponential")
    },
    "local-flow": {
        "given": {**_TOY, "descent": {"rule": "flow"}, "start": ["7", "0.1"]}, "indices": (1,), "angles": _FAR,
        "note": "the gradient flow to the second token of three",
    },
    "local-normalised": {
        "given": {**_TOY, "descent": {"rule": "normalised", "step": "1/100"}}, "indices": (1,), "steps": 300,
        "angles": ["1000000"], "note": "normalised descent to the second token of three",
    },
    "local-cone": {
        "given": {**_TOY, "start": {"cone": {"opening": "1/1000", "norm": "40"}}}, "indices": (1,),
        "note": "every start in a cone: the paper's theorem on local convergence with its numbers",
    },
}  # fmt: skip

COUNTEREXAMPLES: dict[str, dict[str, Any]] = {
    "from-afar": {
        "given": {
            "keys": [[["-3", "1"], ["0", "0"]], [["1", "0"], ["0", "0"]]], "scores": [["1", "0"], ["1", "0"]],
            "loss": "linear", "descent": {"rule": "gradient", "step": "1/60"}, "start": ["3", "0"],
        },
        "note": "two inputs of two tokens, from (3, 0): the first ends on its worse token",
    },
    "from-zero": {
        "given": {
            "keys": [[["-2", "1"], ["0", "0"]], [["1", "0"], ["0", "0"]]], "scores": [["0.1", "0"], ["1", "0"]],
            "loss": "linear", "descent": {"rule": "gradient", "step": "1/22"}, "start": ["0", "0"],
        },
        "steps": 1000,
        "note": "two inputs of two tokens, from 0 by steps of at most 1/L_p",
    },
}  # fmt: skip


def write_counterexamples(folder: Path) -> None:
    for name, inputs in COUNTEREXAMPLES.items():
        certattn.generate("selection-counterexample", folder / f"{name}.yaml", **inputs)
