"""The family `risk-gap` of the gallery: how long is long enough, and what finite prompts add at given parameters."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import certattn
from tools.gallery import training

# sqrt(d) as certificates write it: the balanced Bayes point of Sigma = I has |A|_F^2 = b^2 = sqrt(d).
_ROOTS = {1: "1", 2: "sqrt(2)", 4: "2"}
# Near the Bayes points (Sigma^-1 / b, b), b^4 = tr Sigma^-2, on a grid.
_BAYES = {"isotropic": "3/2", "anisotropic": "69/32"}
_LENGTHS = {
    "smallest-length-d1": (1, "table", 49),
    "smallest-length-d2": (2, "table", 227),
    "smallest-length-d4": (4, "table", 2349),
    "logistic-d2": (2, "logistic", 11_816),
    "power-d2": (2, "power", 1_382_825),
}
_NOTES = {
    "table": "by a table of the exact E sum p_i^2",
    "logistic": "by its logistic bound",
    "power": "in closed form",
}


def write(folder: Path) -> None:
    """Every certificate of the family."""
    for name, (size, majorant, length) in _LENGTHS.items():
        given = {
            "covariance": training.identity(size),
            "ball": {"A_squared": _ROOTS[size], "b_squared": _ROOTS[size]},
        }
        certattn.generate(
            "risk-gap",
            folder / f"{name}.yaml",
            given=given,
            length=length,
            excess="1/10",
            majorant=majorant,
            note=f"Sigma = I in dimension {size}, the ball of the balanced Bayes point, {_NOTES[majorant]}",
        )
    _at(folder / "start-isotropic-16.yaml", "isotropic", 16, training.start("1/2", training.BALANCED[5]), "a start")
    for covariance, length in (("isotropic", 16), ("isotropic", 1024), ("anisotropic", 256)):
        _at(
            folder / f"bayes-{covariance}-{length}.yaml",
            covariance,
            length,
            _near_bayes(covariance),
            "next to the balanced Bayes point",
        )


def _near_bayes(covariance: str) -> dict[str, Any]:
    b = Fraction(_BAYES[covariance])
    inverse = training.exact(training.inverse(training.COVARIANCES[covariance]))
    return {"A": [[str(entry / b) for entry in row] for row in inverse], "b": str(b)}


def _at(path: Path, covariance: str, length: int, parameters: dict[str, Any], where: str) -> None:
    given = {"covariance": training.COVARIANCES[covariance], "length": str(length), "parameters": parameters}
    note = f"{covariance} tokens in dimension 5, prompts of {length}: what they add to the risk at {where}"
    certattn.generate("risk-gap", path, given=given, digits=3 if length > 1000 else 2, note=note)
