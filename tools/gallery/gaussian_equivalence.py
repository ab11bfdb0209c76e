"""The families `normalizer-bound` and `universality-bound` of the gallery: attention beside Gaussian matrices."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

import certattn

NORMALISERS: dict[str, dict[str, Any]] = {
    "cool-1000": {"beta": "1/2", "d": 1000, "note": "beta = 1/2, d = p = 1000"},
    "warm-1000": {"beta": "1", "d": 1000, "note": "beta = 1, d = p = 1000"},
    "warm-10000": {"beta": "1", "d": 10000, "note": "beta = 1, d = p = 10,000"},
    "hot-1000": {"beta": "3/2", "d": 1000, "note": "beta = 3/2, d = p = 1000: the bound is useless there"},
}
RANDOM: dict[str, dict[str, Any]] = {
    "random-cool-1000": {"beta": "1/2", "eta": "1", "lambda": "1", "d": "1000"},
    "random-warm-10000": {"beta": "1", "eta": "4", "lambda": "1", "d": "10000"},
    "random-narrow-4000": {"beta": "1/2", "eta": "1", "lambda": "1/4", "d": "4000"},
}
_SIZE, _STEPS = 64, 256


def write_normalisers(folder: Path) -> None:
    for name, inputs in NORMALISERS.items():
        certattn.generate("normalizer-bound", folder / f"{name}.yaml", **inputs)


def write_universality(folder: Path) -> None:
    for name, given in RANDOM.items():
        note = f"random queries, beta = {given['beta']}, d = {given['d']}"
        certattn.generate("universality-bound", folder / f"{name}.yaml", given=given, note=note)
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
    given = {"beta": "1/2", "eta": "1", "queries": [["1", "0", "1/2"], ["0", "1", "-1"], ["1/2", "1/2", "1"]]}
    certattn.generate("universality-bound", folder / "queries-3.yaml", given=given, note="three queries, written out")


def drawn_queries() -> np.ndarray[Any, Any]:
    """64 x 64 multiples of 2^-8, each a centred sum of twelve uniform integers: nearly N(0, 1), by integers alone."""
    bits = np.random.PCG64(640)
    entries = []
    for _ in range(_SIZE * _SIZE):
        entries.append(sum((int(bits.random_raw()) >> 40) % _STEPS for _ in range(12)) - 6 * (_STEPS - 1))
    return (np.array(entries, np.float32) / _STEPS).reshape(_SIZE, _SIZE)
