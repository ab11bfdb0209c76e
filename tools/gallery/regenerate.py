"""Regenerate the gallery `certificates/`.

    python tools/gallery/regenerate.py            write every certificate anew
    python tools/gallery/regenerate.py --check    only compare with what is there; exit 1 if it says something else

On the machine that it was written on the gallery comes out byte for byte the same; comparison.py says what
may differ on another one, and why.

The arrays of real heads lie in certificates/attention/output-deviation/data and are not made here, only cut; the
synthetic prompt is drawn here from a generator whose bits are fixed and rounded to a grid, so that
no library's last digit matters.
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

import certattn
from tools.gallery import (
    descent_trajectory,
    equivalent_law,
    finite_moments,
    flow_trajectory,
    gaussian_equivalence,
    gradient_mean_square,
    gradient_tail,
    joint_max_margin,
    linearization,
    local_selection,
    max_margin,
    output_mean_square,
    output_tail,
    proposition_3_1,
    proposition_3_4,
    regression_risk,
    regularization_path,
    risk_gap,
    risk_transfer,
    selection_direction,
    selection_on_a_head,
    singular_values,
    spectral_distance,
    token_optimality,
    training_convergence,
    typical_prompt,
)
from tools.gallery.comparison import says_the_same

GALLERY = Path(__file__).resolve().parents[2] / "certificates"
SUFFIXES = (".yaml", ".npz", ".npy")
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


OPERATORS: dict[str, Given] = {
    "gaussian-d1": {
        "given": {
            "law": {"kind": "gaussian", "mean": ["1/3"], "covariance": [["2"]]},
            "K": [["1"]],
            "Q": [["3/2"]],
            "V": [["-1"]],
            "queries": {"mean": ["0"], "covariance": [["1"]]},
        },
        "note": "one-dimensional Gaussian tokens: attention over the infinite prompt is affine",
    },
    "gaussian-d3": {
        "given": {
            "law": {
                "kind": "gaussian",
                "mean": ["1", "0", "-1/2"],
                "covariance": [["2", "1", "0"], ["1", "2", "1/2"], ["0", "1/2", "1"]],
            },
            "K": [["1", "0", "1"], ["0", "1", "0"]],
            "Q": [["1", "1/2"], ["0", "-1"]],
            "V": [["1", "0", "0"], ["0", "1", "1"]],
            "queries": {"mean": ["1", "1"], "covariance": [["1", "1/4"], ["1/4", "1"]]},
        },
        "note": "three-dimensional Gaussian tokens with key, query and value matrices",
    },
    "gaussian-singular": {
        "given": {
            "law": {
                "kind": "gaussian",
                "mean": ["0", "0", "1"],
                "covariance": [["1", "2", "0"], ["2", "4", "0"], ["0", "0", "0"]],
            },
            "scale": "1/sqrt(3)",
            "queries": {"mean": ["0", "0", "0"], "covariance": [["1", "0", "0"], ["0", "1", "0"], ["0", "0", "1"]]},
        },
        "note": "a covariance of rank one, and the usual scale 1/sqrt(d)",
    },
    "rademacher": {
        "given": {"law": {"kind": "rademacher", "sizes": ["1", "2"]}},
        "queries": [["1", "0"], ["1/2", "-1/3"], ["0", "3"]],
        "note": "independent signs: the tilted mean is c tanh(c a), which is not linear",
    },
    "box": {
        "given": {"law": {"kind": "box", "sizes": ["1", "1/2"]}},
        "queries": [["1", "0"], ["-2", "5"], ["1/1000", "1000"]],
        "note": "tokens uniform on a box: the tilted mean is the Langevin function",
    },
    "atoms": {
        "given": {
            "law": {"kind": "atoms", "points": [["0", "0"], ["1", "0"], ["0", "1"]], "weights": ["1/2", "1/4", "1/4"]},
            "V": [["1", "-1"]],
        },
        "queries": [["1", "2"], ["-3", "1"]],
        "note": "three possible tokens",
    },
    "mixture": {
        "given": {
            "law": {
                "kind": "mixture",
                "components": [
                    {"weight": "1/2", "law": {"kind": "gaussian", "mean": ["-1"], "covariance": [["1"]]}},
                    {"weight": "1/3", "law": {"kind": "gaussian", "mean": ["2"], "covariance": [["1/4"]]}},
                    {"weight": "1/6", "law": {"kind": "rademacher", "sizes": ["3"]}},
                ],
            }
        },
        "queries": [["0"], ["1"], ["-2"]],
        "note": "two Gaussians and a sign, mixed",
    },
}

# A prompt small enough to be checked by hand: three tokens in the plane.
THREE_TOKENS: Given = {
    "keys": [["1", "0"], ["0", "1"], ["-1", "-1"]],
    "values": [["1", "0"], ["0", "1"], ["0", "0"]],
    "queries": [["0", "0"], ["1", "-1"]],
}

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
}


def write_operators(folder: Path) -> None:
    for name, inputs in OPERATORS.items():
        certattn.generate("infinite-prompt-operator", folder / f"{name}.yaml", **inputs)


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


def write_exponentials(folder: Path) -> None:
    for name, tail, note in (
        ("exponential", False, "the exponential of the checker's fast arithmetic"),
        ("exponential-with-tail", True, "the same with a tail, for scores in two parts"),
    ):
        certattn.generate("binary64-exponential", folder / f"{name}.yaml", tail=tail, note=note)


def write_means(folder: Path) -> None:
    everything: Given = {"covariance": True, "eigenvalues": True, "log_normaliser": True}
    certattn.generate(
        "softmax-mean",
        folder / "three-tokens.yaml",
        given=THREE_TOKENS,
        **everything,
        note="three tokens in the plane, everything written out",
    )
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


FAMILIES: dict[str, Callable[[Path], None]] = {
    "arithmetic/binary64-exponential": write_exponentials,
    "training/descent-trajectory": descent_trajectory.write,
    "spectrum/equivalent-law": equivalent_law.write,
    "spectrum/finite-moments": finite_moments.write,
    "training/flow-trajectory": flow_trajectory.write,
    "prompts/gradient-mean-square": gradient_mean_square.write,
    "prompts/gradient-tail": gradient_tail.write,
    "prompts/infinite-prompt-operator": write_operators,
    "selection/joint-max-margin": joint_max_margin.write,
    "spectrum/linearization": linearization.write,
    "selection/max-margin": max_margin.write,
    "spectrum/normalizer-bound": gaussian_equivalence.write_normalisers,
    "spectrum/not-marchenko-pastur": spectral_distance.write_laws,
    "attention/output-deviation": write_deviations,
    "prompts/output-mean-square": output_mean_square.write,
    "prompts/output-tail": output_tail.write,
    "prompts/proposition-3-1": proposition_3_1.write,
    "prompts/proposition-3-4": proposition_3_4.write,
    "training/regression-risk": regression_risk.write,
    "selection/regularization-path": regularization_path.write,
    "training/risk-gap": risk_gap.write,
    "training/risk-transfer": risk_transfer.write,
    "selection/selection-counterexample": local_selection.write_counterexamples,
    "selection/selection-direction": selection_direction.write,
    "selection/selection-on-a-head": selection_on_a_head.write,
    "spectrum/singular-values": singular_values.write,
    "attention/softmax-mean": write_means,
    "spectrum/spectral-distance": spectral_distance.write,
    "selection/token-optimality": token_optimality.write,
    "training/training-convergence": training_convergence.write,
    "prompts/typical-prompt": typical_prompt.write,
    "spectrum/universality-bound": gaussian_equivalence.write_universality,
}


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
            FAMILIES[family](fresh / family)
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
    for family, write in FAMILIES.items():
        (GALLERY / family).mkdir(parents=True, exist_ok=True)
        write(GALLERY / family)
        print(f"wrote {family}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
