"""The family `max-margin` of the gallery: drawn data, and keys of a real head."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import certattn

HEADS = Path(__file__).resolve().parents[2] / "certificates" / "attention" / "output-deviation" / "data"


def drawn(inputs: int, tokens: int, dimension: int, seed: int) -> dict[str, Any]:
    """Keys on the grid of multiples of 2^-16 whose first token of each input is ahead along one direction."""
    bits = np.random.PCG64(seed)
    count = inputs * tokens * dimension
    uniform = np.array([(int(bits.random_raw()) >> 12) + 0.5 for _ in range(2 * count)]).reshape(2, -1) / 2.0**52
    normal = np.sqrt(-2 * np.log(uniform[0])) * np.cos(2 * np.pi * uniform[1])
    keys = (np.round(normal * 2**16) / 2**16).reshape(inputs, tokens, dimension)
    keys[:, 0] += 3 / 2
    return {
        "keys": keys.reshape(-1, dimension).astype(np.float32),
        "lengths": [tokens] * inputs,
        "indices": [0] * inputs,
    }


# Inputs, tokens of each, dimension, seed; the form; and what is said of it.
DRAWN: dict[str, tuple[tuple[int, int, int, int], str, str]] = {
    "drawn-d16": ((40, 6, 16, 16), "exact", "200 constraints in dimension 16, exactly"),
    "drawn-d64": ((40, 11, 64, 64), "direction", "400 constraints in dimension 64, up to a distance"),
}


def write(folder: Path) -> None:
    (folder / "data").mkdir(exist_ok=True)
    for name, (shape, form, note) in DRAWN.items():
        arrays = drawn(*shape)
        source = folder / "data" / f"{name}.npz"
        np.savez(source, keys=arrays.pop("keys"))
        certattn.generate("max-margin", folder / f"{name}.yaml", source=source, form=form, note=note, **arrays)
    keys = np.load(HEADS / "layer1-head9.npz")["keys"][:32].reshape(4, 8, -1)
    cut = folder / "data" / "layer1-head9-32-tokens.npz"
    np.savez(cut, keys=keys.reshape(32, -1))
    longest = (keys.astype(float) ** 2).sum(axis=2).argmax(axis=1)
    certattn.generate(
        "max-margin",
        folder / "layer1-head9.yaml",
        source=cut,
        lengths=[8] * 4,
        indices=longest,
        norm="3/2",
        digits=18,
        note="layer 1 head 9 of all-MiniLM-L6-v2 on the first 32 tokens of the GNU GPL version 3, four inputs of "
        "eight: the longest key of each, and the norm of exponent 3/2",
    )
