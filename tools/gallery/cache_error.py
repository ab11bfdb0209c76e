"""The family `cache-error` of the gallery: caches of two real heads, evicted, in eight and in four bits, and merged.

Of one of the heads also a ball of queries, around the last one, which sees all tokens.

`cache_arrays.py` has made the arrays.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import certattn
from certattn.provers.array_files import open_array_file
from certattn.provers.exact_inputs import exact

HEADS = (
    "heads 6 of layer 0 and 9 of layer 1 of all-MiniLM-L6-v2, the last 64 of the first 512 tokens of the GNU GPL "
    "version 3 as queries: {}"
)


def quantised(bits: str, *steps: str) -> dict[str, str]:
    """Names of arrays, by field."""
    named = {f"{part}_codes": f"{part}{bits}" for part in ("key", "value")}
    return named | {f"{part}_{step}": f"{part}{bits}_{step}" for part in ("key", "value") for step in steps}


CACHES: dict[str, dict[str, Any]] = {
    "int8": {
        "names": quantised("8", "scale"),
        "lower": True,
        "note": "codes of eight bits, with a scale for each channel of the keys and for each token of the values",
    },
    "int4": {
        "names": quantised("4", "scale", "offset"),
        "packed": "low-first",
        "lower": True,
        "note": "codes of four bits, of 32 tokens of a channel of the keys and of 16 channels of a token of the values",
    },
    "float8": {
        "names": quantised("f8", "scale"),
        "lower": True,
        "note": "float8_e4m3fn with one scale for each head",
    },
    "streaming": {
        "keep": [*range(4), *range(384, 512)],
        "lower": True,
        "note": "the first four tokens and the last 128 are kept",
    },
    "heavy-hitters": {
        "names": {"kept": "heaviest"},
        "lower": True,
        "note": "the 128 tokens with the most weight are kept, of each head its own",
    },
    "merged": {
        "names": {"cached_keys": "merged_keys", "cached_values": "merged_values", "multiplicities": "twice"},
        "causal": None,
        "lower": True,
        "note": "each two neighbours as one that counts twice, without a mask",
    },
    "sinks": {
        "tokens": [0],
        "everywhere": True,
        "lower": True,
        "digits": 4,
        "note": "the weight on the first token",
    },
}


BALL = (
    "head 9 of layer 1 of all-MiniLM-L6-v2, all queries around the one of the last of the first 512 tokens of the GNU "
    "GPL version 3: {}"
)
BALLS: dict[str, dict[str, Any]] = {
    "int8": {"tokens": [0], "note": "codes of eight bits, and the weight on the first token"},
    "streaming": {"note": "the first four tokens and the last 128 are kept"},
}


def write(folder: Path) -> None:
    source = folder / "data" / "caches.safetensors"
    for name, inputs in CACHES.items():
        options = {"causal": "bottom-right", **inputs, "note": HEADS.format(inputs["note"])}
        certattn.generate("cache-error", folder / f"{name}.yaml", source=source, scale="1/sqrt(32)", **options)
    last = open_array_file(source).read("queries")[1, -1]
    region = {"kind": "ball", "centre": [Fraction(float(x)) for x in last], "radius": "1/4"}
    for name, inputs in BALLS.items():
        given = of_head(certattn.load(folder / f"{name}.yaml").plain["given"])
        parts = {part: given[part] for part in ("keys", "values", "scale", "cache")}
        options = {**inputs, "note": BALL.format(inputs["note"]), "lower": True, "everywhere": True}
        given = {"region": exact(region, "region"), **parts}
        certattn.generate("cache-error", folder / f"{name}-ball.yaml", given=given, **options)


def of_head(node: Any) -> Any:
    """The same of the second of two heads."""
    if not isinstance(node, dict):
        return node
    found = {key: of_head(item) for key, item in node.items()}
    return {**found, "rows": "1:2"} if "file" in node else found
