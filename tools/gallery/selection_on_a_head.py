"""The family `selection-on-a-head` of the gallery: two real heads."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np

import certattn

ARRAYS = Path(__file__).resolve().parents[2] / "certificates" / "attention" / "output-deviation" / "data"
HEAD = "layer {} head {} of all-MiniLM-L6-v2 on the first 512 tokens of the GNU GPL version 3: {}"


def write(folder: Path) -> None:
    (folder / "data").mkdir(exist_ok=True)
    whole = folder / "data" / "layer1-head9.npz"
    shutil.copyfile(ARRAYS / whole.name, whole)
    real: dict[str, Any] = {"source": whole, "scale": "1/sqrt(32)", "score": "value-norm"}
    certattn.generate(
        "selection-on-a-head",
        folder / "layer1-head9.yaml",
        per_query=True,
        note=HEAD.format(1, 9, "the token that each query selects, its margin and its weight"),
        **real,
    )
    certattn.generate(
        "selection-on-a-head",
        folder / "layer1-head9-causal.yaml",
        query_rows="1:512",
        causal=2,
        note=HEAD.format(1, 9, "the same where every query sees the tokens up to its own"),
        **real,
    )
    arrays = np.load(ARRAYS / "layer2-head6.npz")
    cut = folder / "data" / "layer2-head6-32-queries.npz"
    np.savez(cut, keys=arrays["keys"], values=arrays["values"], queries=arrays["queries"][:32])
    certattn.generate(
        "selection-on-a-head",
        folder / "layer2-head6.yaml",
        separability=["selected", "best"],
        exposure=[0, 84],
        note=HEAD.format(2, 6, "how clearly one matrix selects what 32 queries select, or their best token"),
        **{**real, "source": cut},
    )
