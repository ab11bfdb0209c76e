"""Regenerate the gallery `certificates/`.

    python tools/regenerate_gallery.py            write every certificate anew
    python tools/regenerate_gallery.py --check    only compare with what is there; exit 1 if it says something else

On the machine that it was written on the gallery comes out byte for byte the same; gallery_comparison.py says what may
differ on another one, and why.

The arrays of real heads lie in certificates/output-deviation/data and are not made here, only cut; the
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

import gallery_descent_trajectory
import gallery_equivalent_law
import gallery_finite_moments
import gallery_flow_trajectory
import gallery_gaussian_equivalence
import gallery_gradient_mean_square
import gallery_gradient_tail
import gallery_joint_max_margin
import gallery_linearization
import gallery_local_selection
import gallery_max_margin
import gallery_output_mean_square
import gallery_output_tail
import gallery_proposition_3_1
import gallery_proposition_3_4
import gallery_regression_risk
import gallery_regularization_path
import gallery_risk_gap
import gallery_risk_transfer
import gallery_selection_direction
import gallery_selection_on_a_head
import gallery_singular_values
import gallery_spectral_distance
import gallery_token_optimality
import gallery_training_convergence
import gallery_typical_prompt
import numpy as np
from gallery_comparison import says_the_same

import certattn

GALLERY = Path(__file__).resolve().parent.parent / "certificates"
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
    arrays = np.load(GALLERY / "output-deviation" / "data" / "layer0-head6.npz")
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
    "binary64-exponential": write_exponentials,
    "descent-trajectory": gallery_descent_trajectory.write,
    "equivalent-law": gallery_equivalent_law.write,
    "finite-moments": gallery_finite_moments.write,
    "flow-trajectory": gallery_flow_trajectory.write,
    "gradient-mean-square": gallery_gradient_mean_square.write,
    "gradient-tail": gallery_gradient_tail.write,
    "infinite-prompt-operator": write_operators,
    "joint-max-margin": gallery_joint_max_margin.write,
    "linearization": gallery_linearization.write,
    "max-margin": gallery_max_margin.write,
    "normalizer-bound": gallery_gaussian_equivalence.write_normalisers,
    "not-marchenko-pastur": gallery_spectral_distance.write_laws,
    "output-deviation": write_deviations,
    "output-mean-square": gallery_output_mean_square.write,
    "output-tail": gallery_output_tail.write,
    "proposition-3-1": gallery_proposition_3_1.write,
    "proposition-3-4": gallery_proposition_3_4.write,
    "regression-risk": gallery_regression_risk.write,
    "regularization-path": gallery_regularization_path.write,
    "risk-gap": gallery_risk_gap.write,
    "risk-transfer": gallery_risk_transfer.write,
    "selection-counterexample": gallery_local_selection.write_counterexamples,
    "selection-direction": gallery_selection_direction.write,
    "selection-on-a-head": gallery_selection_on_a_head.write,
    "singular-values": gallery_singular_values.write,
    "softmax-mean": write_means,
    "spectral-distance": gallery_spectral_distance.write,
    "token-optimality": gallery_token_optimality.write,
    "training-convergence": gallery_training_convergence.write,
    "typical-prompt": gallery_typical_prompt.write,
    "universality-bound": gallery_gaussian_equivalence.write_universality,
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
            (fresh / family).mkdir()
            if (gallery / family / "data").is_dir():
                shutil.copytree(gallery / family / "data", fresh / family / "data")
            FAMILIES[family](fresh / family)
        both = [folder / family for folder in (gallery, fresh) for family in families]
        names = {p.relative_to(f.parent) for f in both for p in f.rglob("*") if p.suffix in SUFFIXES}
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
