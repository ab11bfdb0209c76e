"""The family `selection-basins` of the gallery: a plane of starts for tokens of a real head."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from flint import fmpq

import certattn
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.token_selection import Selection, Tokens
from certattn.kernel.theorems.selection.mathematics.margin_points import hard_margin
from certattn.provers.selection.quadratic_program import max_margin_multipliers

HEADS = Path(__file__).resolve().parents[2] / "certificates" / "attention" / "output-deviation" / "data"
COUNT = 8
# Tokens whose max-margin directions span the plane, the best and a locally optimal one, and how far the region reaches.
SIDES = ((6, 3), (4, 6))


def write(folder: Path) -> None:
    arrays = np.load(HEADS / "layer1-head9.npz")
    keys, values = arrays["keys"][:COUNT], arrays["values"][:COUNT].astype(float)
    (folder / "data").mkdir(exist_ok=True)
    source = folder / "data" / "layer1-head9-8-tokens.npz"
    np.savez(source, keys=keys)
    certattn.generate(
        "selection-basins",
        folder / "layer1-head9.yaml",
        keys=str(source),
        scores=[[f"{score:.2f}" for score in np.linalg.norm(values, axis=1)]],
        loss="logistic",
        descent={"rule": "gradient", "step": "1/10"},
        region={"corner": ["0"] * keys.shape[1], "sides": [_side(keys, token, reach) for token, reach in SIDES]},
        depth=4,
        most_steps=8,
        note="layer 1 head 9 of all-MiniLM-L6-v2 on the first 8 tokens of the GNU GPL version 3, whose scores are the "
        "norms of their values to two places: from 0 along the max-margin directions of the best token and of another",
    )


def _side(keys: np.ndarray, token: int, reach: int) -> list[str]:
    """So far along the max-margin direction of a token, to two places."""
    exact = ExactMatrix.rational([[fmpq(*float(x).as_integer_ratio()) for x in row] for row in keys])
    differences = Selection(Tokens(exact, (len(keys),), None), (token,)).differences
    point = hard_margin(differences, max_margin_multipliers(differences))
    return [f"{reach * float(x * point.margin()):.2f}" for x in point.solution.row(0)]
