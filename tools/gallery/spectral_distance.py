"""The families `spectral-distance` and `not-marchenko-pastur` of the gallery: drawn weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import certattn
from tools.gallery import singular_values as drawn

UNIT = "1024"
# d and d_qk, beta^2.
DRAWN: dict[str, dict[str, Any]] = {
    "square-200": {
        "arrays": "square-200", "size": (200, 200), "square": (1, 4),
        "note": "beta = 1/2, d_qk = d = 200: near to the law, and far from all quarter circles",
    },
    "square-200-hot": {
        "arrays": "square-200", "size": (200, 200), "square": (9, 4),
        "note": "the same weights at beta = 3/2, where 200 tokens are too few: a quarter circle is nearer than the law",
    },
    "square-200-truncated": {
        "arrays": "square-200", "size": (200, 200), "square": (9, 4), "truncate_at": "fixed-point",
        "note": "beta = 3/2 beside the law truncated where 200 tokens ask for it: nearer than all quarter circles",
    },
    "gap-200": {
        "arrays": "gap-200", "size": (200, 50), "square": (1, 16),
        "note": "beta = 1/4, d_qk = d/4: a law with a gap",
    },
}  # fmt: skip


def scale(square: tuple[int, int], columns: int) -> str:
    """beta/sqrt(d_qk) for weights in units of 2^-10, where beta^2 is the fraction `square`."""
    above, below = square
    return f"sqrt({above}/{below * columns * int(UNIT) ** 4})"


def write(folder: Path) -> None:
    data = folder / "data"
    data.mkdir(exist_ok=True)
    for name, inputs in DRAWN.items():
        rows, columns = inputs["size"]
        certattn.generate(
            "spectral-distance",
            folder / f"{name}.yaml",
            source=drawn.draw(data, inputs["arrays"], rows, columns),
            scale=scale(inputs["square"], columns),
            unit=UNIT,
            truncate_at=inputs.get("truncate_at"),
            places=4,
            note=inputs["note"],
        )


def write_laws(folder: Path) -> None:
    data = folder / "data"
    data.mkdir(exist_ok=True)
    certattn.generate(
        "not-marchenko-pastur",
        folder / "gap-200.yaml",
        beta="1/4",
        lambda_="1/4",
        source=drawn.draw(data, "gap-200", 200, 50),
        scale=scale((1, 16), 50),
        places=3,
        note="the law at beta = 1/4, lambda = 1/4, and 200 tokens beside it",
    )
