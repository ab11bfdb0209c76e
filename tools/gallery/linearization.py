"""The family `linearization` of the gallery: weights of the family `singular-values`, a real head."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import certattn
from tools.gallery.singular_values import ARRAYS, HEAD, draw

# d and d_qk of the weights that are drawn by this name, a name of the certificate, and beta.
DRAWN = "drawn-200", (200, 100)
BETAS: dict[str, tuple[str, str]] = {
    "drawn-200": (
        "1/2",
        "beta = 1/2, d_qk = d/2: the remainder, which tends to a quarter circle and not to 0, and all stages",
    ),
    "drawn-200-hot": ("1", "beta = 1, the same weights: single large entries stand out of the quarter circle"),
}


def write(folder: Path) -> None:
    data = folder / "data"
    data.mkdir(exist_ok=True)
    drawn = draw(data, DRAWN[0], *DRAWN[1])
    for name, (beta, note) in BETAS.items():
        certattn.generate("linearization", folder / f"{name}.yaml", source=drawn, beta=beta, unit="1/1024", note=note)
    arrays = np.load(ARRAYS / "layer0-head6.npz")
    cut = data / "layer0-head6-queries-keys.npz"
    np.savez(cut, queries=arrays["queries"], keys=arrays["keys"])
    certattn.generate(
        "linearization",
        folder / "layer0-head6.yaml",
        source=cut,
        scale="1/sqrt(32)",
        note=HEAD.format(0, 6, "its linear part is no approximation"),
    )
