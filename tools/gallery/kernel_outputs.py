"""Make the arrays of the family `attention-error`: outputs of an attention kernel, with its queries, keys and values.

    python tools/gallery/kernel_outputs.py FOLDER

Needs torch, whose kernel for processors it runs; another version may round in other places. The gallery keeps what was
made once, and regeneration reads it.
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


def main(folder: Path) -> None:
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
