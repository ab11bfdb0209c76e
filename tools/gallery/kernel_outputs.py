"""Make the arrays of the family `attention-error`: outputs of an attention kernel, with its queries, keys and values.

    python tools/gallery/kernel_outputs.py FOLDER

Needs torch, whose kernel for processors it runs; another version may round in other places. What that kernel has not,
soft caps, slopes and sinks, is done in numpy, in single precision. The gallery keeps what was made once, and
regeneration reads it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from certattn.provers.safetensors import file_bytes
from certattn.testing.arrays import Numbers

ARRAYS = Path(__file__).resolve().parents[2] / "certificates" / "attention" / "output-deviation" / "data"
HEADS = ("layer0-head6", "layer1-head9")


# What is done to the scores of the two heads, on so many tokens.
CAP, TOKENS = 20.0, 96
SLOPES, SINKS = np.array([1 / 16, 1 / 256], np.float32), np.array([1.5, -2], np.float32)


def with_rules(folder: Path) -> None:
    """A soft cap, a slope and a sink, under a causal mask."""
    heads = [np.load(ARRAYS / f"{name}.npz") for name in HEADS]
    q, k, v = (
        np.stack([head[name][:TOKENS] for head in heads]).astype(np.float16) for name in ("queries", "keys", "values")
    )
    wide = [array.astype(np.float32) for array in (q, k, v)]
    scores = wide[0] @ wide[1].swapaxes(-1, -2) * np.float32(32**-0.5)
    scores = np.float32(CAP) * np.tanh(scores / np.float32(CAP))
    distance = np.arange(TOKENS)[:, None] - np.arange(TOKENS)
    scores = np.where(distance >= 0, scores - SLOPES[:, None, None] * distance.astype(np.float32), -np.inf)
    top = np.maximum(scores.max(axis=-1, keepdims=True), SINKS[:, None, None])
    weights = np.exp(scores - top)
    total = weights.sum(axis=-1, keepdims=True) + np.exp(SINKS[:, None, None] - top)
    logarithms = (np.log(total) + top)[..., 0]
    arrays = {"queries": q, "keys": k, "values": v, "output": (weights @ wide[2] / total).astype(np.float16)}
    held = {name: Numbers.of(array, name) for name, array in arrays.items()}
    held |= {
        name: Numbers.of(array, name) for name, array in (("alibi", SLOPES), ("sinks", SINKS), ("lse", logarithms))
    }
    content = file_bytes({name: (numbers.dtype, numbers.bits) for name, numbers in held.items()})
    (folder / "capped-float16-causal.safetensors").write_bytes(content)


def main(folder: Path) -> None:
    with_rules(folder)
    import torch
    from torch.nn.functional import scaled_dot_product_attention as attend

    heads = [np.load(ARRAYS / f"{name}.npz") for name in HEADS]
    for dtype, causal in ((torch.float16, True), (torch.bfloat16, False)):
        q, k, v = (
            torch.stack([torch.from_numpy(head[name]) for head in heads]).to(dtype)
            for name in ("queries", "keys", "values")
        )
        arrays: dict[str, Any] = {"queries": q, "keys": k, "values": v, "output": attend(q, k, v, is_causal=causal)}
        if not causal:
            arrays["dropped"] = attend(q, k[:, :-1], v[:, :-1])
        held = {name: Numbers.of(array, name) for name, array in arrays.items()}
        name = f"torch-{str(dtype).removeprefix('torch.')}{'-causal' if causal else ''}.safetensors"
        (folder / name).write_bytes(file_bytes({n: (held[n].dtype, held[n].bits) for n in held}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
