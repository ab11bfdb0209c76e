"""The family `observed-prompt` of the gallery: drawn signs, tokens whose law changes by position, a real head."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import certattn

HEAD = Path(__file__).resolve().parents[2] / "certificates" / "attention" / "output-deviation" / "data"
_SIGN_QUERIES = np.array([[1.0, 0.5]])


def _uniform(seed: int, *shape: int) -> np.ndarray[Any, Any]:
    """Numbers from -1 to 1 on the grid of multiples of 2^-15, from a generator whose bits are fixed."""
    bits = np.random.PCG64(seed)
    drawn = [(int(bits.random_raw()) >> 48) - 2**15 for _ in range(int(np.prod(shape)))]
    return (np.array(drawn).reshape(shape) / 2.0**15).astype(np.float32)


def signs(count: int, seed: int) -> np.ndarray[Any, Any]:
    """Tokens of two independent signs."""
    return np.where(_uniform(seed, count, 2) < 0, -1, 1).astype(np.int8)


def turning(count: int, seed: int) -> np.ndarray[Any, Any]:
    """Tokens in the unit ball around a centre that goes round with the position."""
    angles = 2 * np.pi * np.arange(count) / count
    centres = 0.4 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return (np.round((centres + 0.4 * _uniform(seed, count, 2)) * 2**15) / 2**15).astype(np.float32)


DRAWN: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "signs-1000": (
        {"tokens": signs(1000, 11), "queries": _SIGN_QUERIES},
        {
            "between": (-1, 1),
            "norm": "l2",
            "another": 1000,
            "note": "1,000 tokens of two signs; T_inf = (tanh 1, tanh 1/2) = (.762, .462)",
        },
    ),
    "signs-10000": (
        {"tokens": signs(10_000, 12), "queries": _SIGN_QUERIES},
        {"between": (-1, 1), "norm": "l2", "note": "10,000 tokens of the same law"},
    ),
    "positions": (
        {"tokens": turning(1500, 13), "queries": np.array([[1.0, 0.0], [0.0, -1.0]])},
        {
            "radius": 1,
            "directions": [["1", "0"], ["1/2", "1/2"]],
            "probability": "0.01",
            "note": "1,500 tokens in the unit disc, whose law changes with the position; two queries, two directions",
        },
    ),
}


def write(folder: Path) -> None:
    (folder / "data").mkdir(exist_ok=True)
    for name, (arrays, inputs) in DRAWN.items():
        source = folder / "data" / f"{name}.npz"
        np.savez(source, **arrays)
        certattn.generate("observed-prompt", folder / f"{name}.yaml", source=source, **inputs)
    head = np.load(HEAD / "layer0-head6.npz")
    source = folder / "data" / "layer0-head6-query-10.npz"
    np.savez(source, keys=head["keys"], values=head["values"], queries=head["queries"][10:11])
    certattn.generate(
        "observed-prompt",
        folder / "layer0-head6.yaml",
        source=source,
        scale="1/sqrt(32)",
        largest_score=3,
        between=("-5/2", "5/2"),
        directions=[["1"] + ["0"] * 31],
        note="layer 0, head 6 of all-MiniLM-L6-v2, 512 tokens as if they were independent: one coordinate",
    )
