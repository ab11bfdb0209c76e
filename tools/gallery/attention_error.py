"""The family `attention-error` of the gallery: kernels on two real heads, and one that leaves out a key.

`kernel_outputs.py` has made the arrays.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import certattn

HEADS = "heads 6 of layer 0 and 9 of layer 1 of all-MiniLM-L6-v2 on the first 512 tokens of the GNU GPL version 3: {}"

OUTPUTS: dict[str, dict[str, Any]] = {
    "torch-float16-causal": {
        "data": "torch-float16-causal",
        "causal": "top-left",
        "states": ["error", "relative", "rms"],
        "note": "torch 2.13.0 on a processor, in half precision under a causal mask",
    },
    "torch-bfloat16": {
        "data": "torch-bfloat16",
        "states": ["error", "relative", "ulps", "rms"],
        "beyond": "1/128",
        "note": "the same in bfloat16 without a mask",
    },
    "soft-cap-and-sink": {
        "data": "capped-float16-causal",
        "causal": "top-left",
        "soft_cap": "20",
        "states": ["error", "relative", "lse"],
        "note": "96 tokens in half precision, with a soft cap, slopes and sinks under a causal mask",
    },
    "dropped-key": {
        "data": "torch-bfloat16",
        "names": {"output": "dropped"},
        "states": ["error", "relative"],
        "lower": True,
        "note": "the same kernel without the last key: its error, from both sides",
    },
}


def write(folder: Path) -> None:
    for name, inputs in OUTPUTS.items():
        options = {key: value for key, value in inputs.items() if key != "data"}
        options["note"] = HEADS.format(options["note"])
        source = folder / "data" / f"{inputs['data']}.safetensors"
        certattn.generate("attention-error", folder / f"{name}.yaml", source=source, scale="1/sqrt(32)", **options)
