"""The certificates of the family `universality-bound` of the gallery about drawn queries."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

import certattn

_SIZE, _STEPS = 64, 256


def write(folder: Path) -> None:
    (folder / "data").mkdir(exist_ok=True)
    path = folder / "data" / "queries-64.npy"
    np.save(path, drawn_queries())
    stored = {
        "file": f"data/{path.name}",
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "dtype": "float32",
        "shape": [str(_SIZE), str(_SIZE)],
    }
    for name, beta in (("queries-cold-64", "1/4"), ("queries-64", "1/2")):
        given = {"beta": beta, "eta": "1", "queries": stored}
        note = f"64 drawn queries in dimension 64, beta = {beta}"
        certattn.generate("universality-bound", folder / f"{name}.yaml", given=given, note=note)


def drawn_queries() -> np.ndarray[Any, Any]:
    """64 x 64 multiples of 2^-8, each a centred sum of twelve uniform integers: nearly N(0, 1), by integers alone."""
    bits = np.random.PCG64(640)
    entries = []
    for _ in range(_SIZE * _SIZE):
        entries.append(sum((int(bits.random_raw()) >> 40) % _STEPS for _ in range(12)) - 6 * (_STEPS - 1))
    return (np.array(entries, np.float32) / _STEPS).reshape(_SIZE, _SIZE)
