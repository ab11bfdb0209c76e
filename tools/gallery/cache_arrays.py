"""Make the arrays of the family `cache-error`: two real heads in half precision, and caches of their keys and values.

    python tools/gallery/cache_arrays.py FOLDER

The gallery keeps what was made once, and regeneration reads it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from certattn.fast.rows import StoredRows
from certattn.testing.certificates import safetensors_bytes

ARRAYS = Path(__file__).resolve().parents[2] / "certificates" / "attention" / "output-deviation" / "data"
HEADS = ("layer0-head6", "layer1-head9")
# The last tokens are the queries, as where a model writes on; so many tokens are kept of each head.
QUERIES, KEPT = 64, 128
# Tokens whose keys share a scale in four bits, and channels of values.
OF_KEYS, OF_VALUES = 32, 16

Array = np.ndarray[Any, Any]


def main(folder: Path) -> None:
    heads = [np.load(ARRAYS / f"{name}.npz") for name in HEADS]
    q, k, v = (np.stack([head[name] for head in heads]).astype(np.float16) for name in ("queries", "keys", "values"))
    q = q[:, -QUERIES:]
    arrays = {"queries": q, "keys": k, "values": v, "heaviest": heavy_hitters(q, k)}
    # Eight bits: a scale for each channel of the keys, and for each token of the values.
    arrays["key8"], arrays["key8_scale"] = symmetric(k, axis=1)
    arrays["value8"], arrays["value8_scale"] = symmetric(v, axis=2)
    # Four bits, two in a byte: from the least to the largest of a group.
    arrays["key4"], arrays["key4_scale"], arrays["key4_offset"] = four_bits(k, OF_KEYS, axis=1)
    arrays["value4"], arrays["value4_scale"], arrays["value4_offset"] = four_bits(v, OF_VALUES, axis=2)
    # Each two neighbours as one.
    arrays["merged_keys"], arrays["merged_values"] = ((x[:, ::2] + x[:, 1::2]) / np.float16(2) for x in (k, v))
    arrays["twice"] = np.full((1, k.shape[1] // 2), 2, np.int32)
    held = {name: (array.dtype.name, np.ascontiguousarray(array)) for name, array in arrays.items()}
    for name, array in (("keyf8", k), ("valuef8", v)):
        codes, scale = float8(array)
        held[name], held[f"{name}_scale"] = ("float8_e4m3fn", codes), ("float32", scale)
    (folder / "caches.safetensors").write_bytes(safetensors_bytes(held))


def heavy_hitters(q: Array, k: Array) -> Array:
    """Of each head the tokens with the largest weights, summed over the queries, in their order."""
    scores = q.astype(np.float64) @ k.astype(np.float64).swapaxes(1, 2) / np.sqrt(q.shape[-1])
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    total = (weights / weights.sum(axis=-1, keepdims=True)).sum(axis=1)
    return np.sort(np.argsort(-total, axis=1, kind="stable")[:, :KEPT], axis=1).astype(np.int32)


def symmetric(array: Array, axis: int) -> tuple[Array, Array]:
    """Codes from -127 to 127 and their scales, one along an axis."""
    scale = (np.abs(array).max(axis=axis, keepdims=True) / np.float16(127)).astype(np.float16)
    codes = np.round(array.astype(np.float64) / scale.astype(np.float64))
    return np.clip(codes, -127, 127).astype(np.int8), scale


def four_bits(array: Array, size: int, axis: int) -> tuple[Array, Array, Array]:
    """Codes from 0 to 15, packed, with scales and offsets of groups of neighbours on an axis."""
    whole = array.astype(np.float64)
    groups = (whole.shape[0], -1, size, whole.shape[2]) if axis == 1 else (*whole.shape[:2], -1, size)
    inner = 2 if axis == 1 else 3
    low, high = whole.reshape(groups).min(axis=inner), whole.reshape(groups).max(axis=inner)
    scale, offset = ((high - low) / 15).astype(np.float16), low.astype(np.float16)
    steps, starts = (np.repeat(x.astype(np.float64), size, axis=axis) for x in (scale, offset))
    codes = np.clip(np.round((whole - starts) / steps), 0, 15).astype(np.uint8)
    return codes[..., ::2] | codes[..., 1::2] << 4, scale, offset


def float8(array: Array) -> tuple[Array, Array]:
    """The nearest patterns of float8_e4m3fn and a scale for each head, so that the largest number is 448."""
    whole = array.astype(np.float64)
    scale = (np.abs(whole).max(axis=(1, 2), keepdims=True) / 448).astype(np.float32)
    patterns = np.arange(256, dtype=np.uint8).reshape(1, -1)
    (values,) = StoredRows(patterns, "float8_e4m3fn").block(0, 1, np.empty((1, 256)))
    values = np.where(np.isnan(values), np.inf, values)
    # Ties go to the first, which is of the smaller size.
    nearest = np.abs((whole / scale)[..., None] - values).argmin(axis=-1)
    return nearest.astype(np.uint8), scale


if __name__ == "__main__":
    main(Path(sys.argv[1]))
