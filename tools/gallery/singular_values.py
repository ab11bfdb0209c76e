"""The family `singular-values` of the gallery: attention with drawn weights, and two real heads.

Weights are drawn by integers alone: each is a sum of 192 bytes of SHAKE-256, centred, so that its standard deviation is
1023.99 and a 1,024th of it about a standard normal number. The bytes come from a text: every machine draws the same.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

import certattn

ARRAYS = Path(__file__).resolve().parents[2] / "certificates" / "attention" / "output-deviation" / "data"
HEAD = "layer {} head {} of all-MiniLM-L6-v2 on the first 512 tokens of the GNU GPL version 3: {}"
_BYTES = 192
# What a weight is divided by, and so does the scale, twice.
_GRID = 2**10


# d and d_qk, 1 / beta^2, thresholds.
DRAWN: dict[str, dict[str, Any]] = {
    "drawn-200-gap": {
        "size": (200, 50), "inverse": 16, "above": ["0.15"],
        "note": "beta = 1/4, d_qk = d/4, d = 200: exactly d_qk singular values are above a gap",
    },
    "drawn-200": {
        "size": (200, 100), "inverse": 1, "above": [],
        "note": "beta = 1, d_qk = d/2, d = 200: all singular values",
    },
    "drawn-500-gap": {
        "size": (500, 100), "inverse": 4, "above": ["0.45"],
        "note": "beta = 1/2, d_qk = d/5, d = 500: exactly d_qk singular values are above a gap",
    },
}  # fmt: skip

HEADS = {
    "layer0-head6": (0, 6, "singular values of its centred attention matrix"),
    "layer1-head9": (1, 9, "the same of a head whose attention is peaked"),
}


def weights(text: str, rows: int, columns: int) -> np.ndarray[Any, Any]:
    """About normal integers of variance 2^20, the same on every machine, rows x columns in int16."""
    drawn = hashlib.shake_256(text.encode()).digest(rows * columns * _BYTES)
    sums = np.frombuffer(drawn, np.uint8).reshape(rows, columns, _BYTES).sum(axis=2, dtype=np.int64)
    return (sums - _BYTES * 255 // 2).astype(np.int16)


def scale(inverse: int, columns: int) -> str:
    """beta / sqrt(d_qk) for weights in units of 2^-10, where beta^2 = 1 / `inverse`."""
    return f"1/sqrt({inverse * columns * _GRID**4})"


def draw(folder: Path, name: str, rows: int, columns: int) -> Path:
    """A file with queries and keys."""
    path = folder / f"{name}.npz"
    queries, keys = (weights(f"certattn {name} {which}", rows, columns) for which in ("queries", "keys"))
    np.savez(path, queries=queries, keys=keys)
    return path


def write(folder: Path) -> None:
    data = folder / "data"
    data.mkdir(exist_ok=True)
    for name, inputs in DRAWN.items():
        rows, columns = inputs["size"]
        certattn.generate(
            "singular-values",
            folder / f"{name}.yaml",
            source=draw(data, name, rows, columns),
            scale=scale(inputs["inverse"], columns),
            radius="1e-9",
            above=inputs["above"],
            note=inputs["note"],
        )
    certattn.generate(
        "singular-values",
        folder / "drawn-200-keys.yaml",
        source=data / "drawn-200-gap.npz",
        names={"matrix": "keys"},
        largest=3,
        radius="1e-6",
        note="the keys of drawn-200-gap themselves, 200 x 50 integers: the three largest singular values",
    )
    write_heads(folder)


def write_heads(folder: Path) -> None:
    """Queries and keys of real heads."""
    data = folder / "data"
    for name, (layer, head, note) in HEADS.items():
        arrays = np.load(ARRAYS / f"{name}.npz")
        cut = data / f"{name}-queries-keys.npz"
        np.savez(cut, queries=arrays["queries"], keys=arrays["keys"])
        certattn.generate(
            "singular-values",
            folder / f"{name}.yaml",
            source=cut,
            scale="1/sqrt(32)",
            radius="1e-8",
            above=["1"],
            note=HEAD.format(layer, head, note),
        )
    certattn.generate(
        "singular-values",
        folder / "layer1-head9-causal.yaml",
        source=data / "layer1-head9-queries-keys.npz",
        scale="1/sqrt(32)",
        causal=True,
        largest=16,
        radius="1e-8",
        above=["1"],
        note=HEAD.format(1, 9, "the same where every query sees the tokens up to its own"),
    )
