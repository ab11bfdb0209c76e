"""How far the output of a head moves when its query does, over balls and boxes: the table of docs/comparison.md as a
certificate. Beside the head's arrays it needs its output at the query, as a limit that does not depend on q.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from certattn.kernel.document.tree import Plain
from certattn.kernel.theorems.attention.output_deviation import THEOREM
from certattn.provers.attention.region_certificates import over_regions
from certattn.provers.output import Draft

NAME, HEAD, QUERY = "layer0-head6-moves", "layer0-head6", 5
BALLS, BOXES = ("0.01", "0.05", "0.1", "0.25", "0.5", "1", "2"), ("0.05", "0.25")
NOTE = (
    "layer 0 head 6 of all-MiniLM-L6-v2 on the first 512 tokens of the GNU GPL version 3: "
    "how far the output moves from that of query 5 over balls and boxes around it"
)
# A grid on which the last digit of an exponential does not matter.
_GRID = 2.0**20


def write(folder: Path) -> None:
    stored = folder / "data" / f"{HEAD}.npz"
    with np.load(stored) as head:
        keys, values, query = (head[name].astype(np.float64) for name in ("keys", "values", "queries"))
    query = query[QUERY]
    weights = np.exp(keys @ query / np.sqrt(32))
    output = np.round(weights @ values / weights.sum() * _GRID) / _GRID
    ends = {f"{end}{size}": query + side * float(size) for size in BOXES for end, side in (("lower", -1), ("upper", 1))}
    own = folder / "data" / "output-moves.npz"
    np.savez(own, matrix=np.zeros((32, 32), np.float32), offset=output, **ends)
    centre = {**reference(stored, "queries"), "rows": f"{QUERY}:{QUERY + 1}"}
    regions: list[Plain] = [{"kind": "ball", "centre": centre, "radius": radius} for radius in BALLS]
    regions += [
        {"kind": "box", "lower": reference(own, f"lower{size}"), "upper": reference(own, f"upper{size}")}
        for size in BOXES
    ]
    given: dict[str, Plain] = {
        "keys": reference(stored, "keys"),
        "values": reference(stored, "values"),
        "regions": regions,
        "scale": "1/sqrt(32)",
        "limit": {"kind": "affine", "matrix": reference(own, "matrix"), "offset": reference(own, "offset")},
    }
    draft = Draft(THEOREM, folder / f"{NAME}.yaml", given, NOTE)
    draft.write(*over_regions(draft, "linf", None, 1, lower_bound=False))


def reference(path: Path, array: str) -> dict[str, Any]:
    """An array of a file in the folder `data`, as certificates name it."""
    with np.load(path) as file:
        found = file[array]
    return {
        "file": f"data/{path.name}",
        "array": array,
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "dtype": str(found.dtype),
        "shape": [str(extent) for extent in found.shape],
    }
