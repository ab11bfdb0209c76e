"""Regenerate the gallery `certificates/`.

    python tools/gallery/regenerate.py            write every certificate anew
    python tools/gallery/regenerate.py --check    only compare with what is there; exit 1 if it says something else

On the machine that it was written on the gallery comes out byte for byte the same; comparison.py says what
may differ on another one, and why.

What a certificate is made of stands in `CHAPTER/CLAIM.yaml` beside this file, as `certattn.generate` takes it; what is
about drawn arrays or real heads is made by the modules. The arrays of real heads lie in
certificates/attention/output-deviation/data and are not made here, only cut; the synthetic prompt is drawn here from a
generator whose bits are fixed and rounded to a grid, so that no library's last digit matters.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

import certattn
from certattn.kernel.theorems import CHAPTERS
from certattn.provers.exact_inputs import exact
from tools.gallery import (
    attention_error,
    cache_error,
    descent_trajectory,
    gaussian_equivalence,
    gradient_mean_square,
    held_out_risk,
    linearization,
    max_margin,
    observed_prompt,
    output_mean_square,
    output_moves,
    output_tail,
    regression_risk,
    risk_transfer,
    selection_basins,
    selection_on_a_head,
    singular_values,
    spectral_distance,
    training_convergence,
    typical_prompt,
)
from tools.gallery.comparison import says_the_same

GALLERY = Path(__file__).resolve().parents[2] / "certificates"
SUFFIXES = (".yaml", ".npz", ".npy", ".safetensors")
HEAD = "certificate of layer {} head {} of all-MiniLM-L6-v2 on the first 512 tokens of the GNU GPL version 3: {}"

Given = dict[str, Any]


def gaussian_prompt() -> dict[str, Any]:
    """1,000 Gaussian tokens of dimension 4 and 100 Gaussian queries, on the grid of multiples of 2^-16.

    As in the numerical experiments of Boursier and Boyer 2026: K = Q = V = I.
    """
    bits = np.random.PCG64(20260)
    uniform = [(int(bits.random_raw()) >> 12) + 0.5 for _ in range(2 * 1100 * 4)]
    u, v = np.array(uniform).reshape(2, 1100, 4) / 2.0**52
    normal = np.sqrt(-2 * np.log(u)) * np.cos(2 * np.pi * v)
    grid = (np.round(normal * 2**16) / 2**16).astype(np.float32)
    return {"tokens": grid[:1000], "queries": grid[1000:]}


def standard_gaussian(dimension: int) -> Given:
    identity = [["1" if i == j else "0" for j in range(dimension)] for i in range(dimension)]
    return {"kind": "gaussian", "mean": ["0"] * dimension, "covariance": identity}


HEADS = {
    "layer0-head6": (0, 6, "close to linear"),
    "layer1-head9": (1, 9, "peaked, far from linear"),
    "layer2-head6": (2, 6, "in between"),
}

HEADS_OTHERWISE: dict[str, dict[str, Any]] = {
    "layer0-head6-relative": {
        "relative": True,
        "note": "the deviation beside the output at each query",
    },
    "layer1-head9-causal": {
        "causal": 1,
        "relative": True,
        "note": "every query sees the tokens up to its own, and is compared with the moments of these",
    },
}

REGIONS: dict[str, dict[str, Any]] = {
    "gaussian-prompt-ball": {
        "data": "gaussian-prompt",
        "limit": {"kind": "law", "law": standard_gaussian(4)},
        "query_rows": "0:1",
        "region": {"kind": "ball", "radius": "0.46"},
        "cells": 60,
        "note": "1,000 Gaussian tokens against the infinite prompt: a ball in which the deviation changes by half",
    },
    "gaussian-prompt-box": {
        "data": "gaussian-prompt",
        "region": {"kind": "box", "lower": ["-1/2", "-1/2", "0", "0"], "upper": ["1/2", "1/2", "0", "0"]},
        "cells": 30,
        "note": "1,000 Gaussian tokens, their own moments: a box whose last two intervals are points",
    },
    "layer0-head6-hull": {
        "data": "layer0-head6",
        "scale": "1/sqrt(32)",
        "query_rows": "312:315",
        "region": {"kind": "hull"},
        "cells": 30,
        "note": HEAD.format(0, 6, "all convex combinations of three neighbouring queries, the worst one among them"),
    },
    "layer0-head6-balls": {
        "data": "layer0-head6",
        "scale": "1/sqrt(32)",
        "query_rows": "200:203",
        "region": {"kind": "ball", "radius": "1/4"},
        "causal": 201,
        "note": HEAD.format(0, 6, "balls around three queries, each of which sees the tokens up to its own"),
    },
}


def write_deviations(folder: Path) -> None:
    for name, (layer, head, note) in HEADS.items():
        certattn.generate(
            "output-deviation",
            folder / f"{name}.yaml",
            source=folder / "data" / f"{name}.npz",
            scale="1/sqrt(32)",
            note=HEAD.format(layer, head, note),
        )
    prompt = folder / "data" / "gaussian-prompt.npz"
    np.savez(prompt, **gaussian_prompt())
    for name, limit, note in (
        ("gaussian-prompt", {"kind": "law", "law": standard_gaussian(4)}, "the infinite prompt"),
        ("gaussian-prompt-empirical", "empirical", "the linear map with the prompt's own moments"),
    ):
        certattn.generate(
            "output-deviation",
            folder / f"{name}.yaml",
            source=prompt,
            limit=limit,
            note=f"1,000 Gaussian tokens of dimension 4, K = Q = V = I, against {note}",
        )
    write_heads_otherwise(folder)
    write_regions(folder)
    output_moves.write(folder)


def write_heads_otherwise(folder: Path) -> None:
    """Two of the heads beside their outputs, one of them under a causal mask."""
    for name, options in HEADS_OTHERWISE.items():
        head, _, _ = name.rpartition("-")
        layer, number, _ = HEADS[head]
        certattn.generate(
            "output-deviation",
            folder / f"{name}.yaml",
            source=folder / "data" / f"{head}.npz",
            scale="1/sqrt(32)",
            **{**options, "note": HEAD.format(layer, number, options["note"])},
        )


def write_regions(folder: Path) -> None:
    """The same prompts over regions of queries."""
    for name, inputs in REGIONS.items():
        source = folder / "data" / f"{inputs['data']}.npz"
        options = {key: value for key, value in inputs.items() if key != "data"}
        certattn.generate("output-deviation", folder / f"{name}.yaml", source=source, lower_bound=True, **options)


def write_means(folder: Path) -> None:
    everything: Given = {"covariance": True, "eigenvalues": True, "log_normaliser": True}
    # The prompts of output-deviation, where these certificates may refer to them.
    (folder / "data").mkdir(exist_ok=True)
    prompt = folder / "data" / "gaussian-prompt.npz"
    np.savez(prompt, **gaussian_prompt())
    certattn.generate(
        "softmax-mean",
        folder / "gaussian-prompt.yaml",
        source=prompt,
        query_rows="0:3",
        **everything,
        note="1,000 Gaussian tokens of dimension 4, K = Q = V = I; the law's own covariance is I",
    )
    certattn.generate(
        "softmax-mean",
        folder / "gaussian-prompt-slope.yaml",
        source=prompt,
        query_rows="0:1",
        covariance=True,
        of="values-keys",
        radius="1e-20",
        note="the covariance of values and keys, which is the derivative of the softmax mean, to 20 places",
    )
    head = folder / "data" / "layer0-head6-four-queries.npz"
    arrays = np.load(GALLERY / "attention" / "output-deviation" / "data" / "layer0-head6.npz")
    np.savez(head, keys=arrays["keys"], values=arrays["values"], queries=arrays["queries"][:4])
    certattn.generate(
        "softmax-mean",
        folder / "layer0-head6.yaml",
        source=head,
        scale="1/sqrt(32)",
        eigenvalues=True,
        log_normaliser=True,
        per_query=True,
        note=HEAD.format(0, 6, "outputs for the first four of its tokens"),
    )
    for name, stated, what in (
        ("entropy", {"entropy": True}, "how evenly its first four tokens attend: entropies; log 512 is 6.2383"),
        ("heavy-hitters", {"top": [8, 32]}, "how much weight its first four tokens give to 8 and to 32 of 512 tokens"),
    ):
        certattn.generate(
            "softmax-mean",
            folder / f"layer0-head6-{name}.yaml",
            source=head,
            scale="1/sqrt(32)",
            digits=9,
            per_query=True,
            note=HEAD.format(0, 6, what),
            **stated,
        )


# What writes the certificates of a family that are about drawn arrays or real heads.
DRAWN: dict[str, Callable[[Path], None]] = {
    "training/descent-trajectory": descent_trajectory.write,
    "prompts/gradient-mean-square": gradient_mean_square.write,
    "spectrum/linearization": linearization.write,
    "selection/max-margin": max_margin.write,
    "spectrum/not-marchenko-pastur": spectral_distance.write_laws,
    "attention/attention-error": attention_error.write,
    "attention/cache-error": cache_error.write,
    "prompts/observed-prompt": observed_prompt.write,
    "attention/output-deviation": write_deviations,
    "prompts/output-mean-square": output_mean_square.write,
    "prompts/output-tail": output_tail.write,
    "training/held-out-risk": held_out_risk.write,
    "training/regression-risk": regression_risk.write,
    "training/risk-transfer": risk_transfer.write,
    "selection/selection-basins": selection_basins.write,
    "selection/selection-on-a-head": selection_on_a_head.write,
    "spectrum/singular-values": singular_values.write,
    "attention/softmax-mean": write_means,
    "spectrum/spectral-distance": spectral_distance.write,
    "training/training-convergence": training_convergence.write,
    "prompts/typical-prompt": typical_prompt.write,
    "spectrum/universality-bound": gaussian_equivalence.write,
}
FAMILIES = [f"{chapter}/{claim}" for chapter, claims in CHAPTERS.items() for claim in claims]


def stated(family: str) -> dict[str, dict[str, Any]]:
    """Inputs of `generate` by the names of certificates, as `CHAPTER/CLAIM.yaml` in this folder has them."""
    path = Path(__file__).parent / f"{family}.yaml"
    found: dict[str, dict[str, Any]] = yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else {}
    for inputs in found.values():
        if "given" in inputs:
            inputs["given"] = exact(inputs["given"], "given")
    return found


def write_family(family: str, folder: Path) -> None:
    """Every certificate of a family."""
    for name, inputs in stated(family).items():
        certattn.generate(Path(family).name, folder / f"{name}.yaml", **inputs)
    if family in DRAWN:
        DRAWN[family](folder)


@dataclass(frozen=True)
class Comparison:
    """The files of the gallery that regeneration would change, add or leave out, and those that would only say the
    same with other last digits."""

    changed: list[str]
    respelt: list[str]


def compare(gallery: Path, families: Collection[str] = FAMILIES) -> Comparison:
    """A gallery beside those families of it that are made anew."""
    with tempfile.TemporaryDirectory() as temporary:
        fresh = Path(temporary)
        for family in families:
            (fresh / family).mkdir(parents=True)
            if (gallery / family / "data").is_dir():
                shutil.copytree(gallery / family / "data", fresh / family / "data")
            write_family(family, fresh / family)
        both = [(folder, folder / family) for folder in (gallery, fresh) for family in families]
        names = {path.relative_to(top) for top, f in both for path in f.rglob("*") if path.suffix in SUFFIXES}
        different = sorted(name for name in names if _bytes(gallery / name) != _bytes(fresh / name))
        same = {name: says_the_same(gallery / name, fresh / name) for name in different}
        return Comparison(*([str(name) for name in different if same[name] is kind] for kind in (False, True)))


def _bytes(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare only")
    if parser.parse_args().check:
        found = compare(GALLERY)
        lines = [f"differs: {name}" for name in found.changed]
        lines += [f"says the same in other digits: {name}" for name in found.respelt]
        print("\n".join(lines) or "the gallery is as it would be regenerated")
        return 1 if found.changed else 0
    for family in FAMILIES:
        (GALLERY / family).mkdir(parents=True, exist_ok=True)
        write_family(family, GALLERY / family)
        print(f"wrote {family}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
