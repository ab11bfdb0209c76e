"""How far attention moves over a region of queries: certattn's cells beside the bounds of neural network verifiers.

    python tools/bench/verifiers.py [--head layer0-head6] [--query 5] [--norm linf]

One head of the gallery over 512 tokens, one of its queries c, and balls and boxes around it. Bounds of |T(q) - T(c)|
for all q of a region, with T(c) rounded to doubles; by default of the largest coordinate, as verifiers bound these one
by one:

    attack   the largest distance that a search in doubles finds: no bound can be smaller
    cell     certattn, with the region as one cell: proved in ball arithmetic
    vertex   every coordinate of T is largest where each score is at an end of its range, the upper one for the tokens
             whose values are above some number: the exact optimum over a box of scores. In doubles
    CROWN    auto_LiRPA's linear relaxation of the map from q to T, as it is configured by default. In doubles

Times are of one bound in this process, with everything loaded: milliseconds of one processor, the least of five.
auto_LiRPA and torch are measured where they are installed; without them a line says so, and their columns are left out.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from flint import fmpq

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.operator import AffineMap
from certattn.kernel.mathematics.reals import real_root
from certattn.kernel.mathematics.softmax import Prompt
from certattn.kernel.theorems.attention.cells import Ball, Box, Deviation, box_pieces

Array = np.ndarray[Any, Any]
# A bound, as a number or for each coordinate of T a lower and an upper one.
Bound = Callable[["Head", "Around"], float]

DATA = Path(__file__).resolve().parents[2] / "certificates" / "attention" / "output-deviation" / "data"
BALLS = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0)
BOXES = (0.05, 0.25)


@dataclass(frozen=True)
class Head:
    """Keys, values and a query of a head, and T there, in doubles; keys are scaled."""

    keys: Array
    values: Array
    centre: Array
    scale: fmpq
    norm: str

    @classmethod
    def stored(cls, name: str, query: int, norm: str) -> Head:
        with np.load(DATA / f"{name}.npz") as file:
            keys, values, queries = (file[part].astype(np.float64) for part in ("keys", "values", "queries"))
        return cls(keys, values, queries[query], fmpq(1, keys.shape[1]), norm)

    @property
    def factor(self) -> float:
        return float(np.sqrt(int(self.scale.p) / int(self.scale.q)))

    def outputs(self, queries: Array) -> Array:
        scores = self.factor * queries @ self.keys.T
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(weights @ self.values / weights.sum(axis=1, keepdims=True))

    def sizes(self, rows: Array) -> Array:
        return np.asarray(np.linalg.norm(rows, axis=1) if self.norm == "l2" else np.abs(rows).max(axis=1))

    @property
    def at_centre(self) -> Array:
        return np.asarray(self.outputs(self.centre[None])[0])


@dataclass(frozen=True)
class Around:
    """The queries within `radius` of the centre: in l2, or in every coordinate."""

    radius: float
    is_box: bool

    def __str__(self) -> str:
        return f"{'box' if self.is_box else 'ball'} {self.radius:g}"

    def nearest(self, steps: Array) -> Array:
        if self.is_box:
            return np.clip(steps, -self.radius, self.radius)
        lengths = np.linalg.norm(steps, axis=1, keepdims=True)
        return np.asarray(steps * np.minimum(1, self.radius / np.maximum(lengths, 1e-300)))


def attack(head: Head, around: Around) -> float:
    """From many points, and from the best again and again, to where the distance is larger."""
    draw, base = np.random.default_rng(0), head.at_centre

    def sizes(steps: Array) -> Array:
        return head.sizes(head.outputs(head.centre + steps) - base)

    # Where it is steepest: the axes of T's slope, and the slopes of its coordinates.
    slope = _slope(head)
    slope = np.vstack([np.linalg.svd(slope, full_matrices=False)[2], slope])
    if around.is_box:
        slope = np.sign(slope)
    slope /= np.linalg.norm(slope, axis=1, keepdims=True)
    starts = np.vstack([slope, -slope, draw.normal(size=(400, len(head.centre)))])
    steps = around.nearest(around.radius * np.sqrt(len(head.centre)) * starts)
    best, step = steps[sizes(steps).argmax()], around.radius
    for _ in range(60):
        steps = np.vstack([best, around.nearest(best + step * draw.normal(size=(200, len(best))) / np.sqrt(len(best)))])
        best, step = steps[sizes(steps).argmax()], 0.9 * step
    return float(sizes(best[None])[0])


def _slope(head: Head) -> Array:
    weights = np.exp(head.factor * head.keys @ head.centre)
    weights /= weights.sum()
    return np.asarray(head.factor * ((head.values - weights @ head.values).T * weights) @ head.keys)


# -- certattn


def cell(head: Head) -> Bound:
    keys, values, centre, output = (_exact(part) for part in (head.keys, head.values, head.centre, head.at_centre))
    limit = AffineMap(ExactMatrix.zero(values.columns, keys.columns), output, fmpq(1))
    deviation = Deviation(Prompt(keys, values, real_root(head.scale)), limit)

    def bound(_: Head, around: Around) -> float:
        radius = fmpq(*around.radius.as_integer_ratio())
        with working_precision(64):
            if not around.is_box:
                return float(deviation.over(Ball(centre, radius).cell(None), head.norm).upper.upper())
            half = ExactMatrix.row_vector([radius] * centre.columns)
            (whole,) = box_pieces(centre.columns, [None])
            return float(deviation.over(Box(centre - half, centre + half).cell(whole), head.norm).upper.upper())

    return bound


def _exact(table: Array) -> ExactMatrix:
    rows = np.atleast_2d(table).tolist()
    return ExactMatrix.rational([[fmpq(*entry.as_integer_ratio()) for entry in row] for row in rows])


# -- verifiers


def _from_coordinates(head: Head, lower: Array, upper: Array) -> float:
    base = head.at_centre
    return float(head.sizes(np.maximum(upper - base, base - lower)[None])[0])


def vertex(head: Head, around: Around) -> float:
    """The largest and the smallest value of each coordinate over the box of scores that holds the region's."""
    order = 1 if around.is_box else 2
    middle = head.factor * head.keys @ head.centre
    reach = around.radius * head.factor * np.linalg.norm(head.keys, order, axis=1)
    top = (middle + reach).max()
    low, high = np.exp(middle - reach - top), np.exp(middle + reach - top)

    def largest(values: Array) -> Array:
        found = np.empty(values.shape[1])
        for j, column in enumerate(values.T):
            ranks = np.argsort(-column)
            v, a, b = column[ranks], low[ranks], high[ranks]
            # The first k tokens, those of the largest values, at their upper ends.
            masses = np.append(0, np.cumsum(b)) + np.append(np.cumsum(a[::-1])[::-1], 0)
            moments = np.append(0, np.cumsum(b * v)) + np.append(np.cumsum((a * v)[::-1])[::-1], 0)
            found[j] = (moments / masses).max()
        return found

    return _from_coordinates(head, -largest(-head.values), largest(head.values))


def crown(head: Head) -> Bound | str:
    """auto_LiRPA's bound; or why there is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import auto_LiRPA
            import torch
    except ImportError as error:
        return f"no figures of auto_LiRPA: {error.name} is not installed"

    class Attention(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scores = torch.nn.Parameter(torch.tensor(head.factor * head.keys.T))
            self.values = torch.nn.Parameter(torch.tensor(head.values))

        def forward(self, query: Any) -> Any:
            return torch.softmax(query @ self.scores, dim=-1) @ self.values

    torch.set_num_threads(1)
    centre = torch.tensor(head.centre[None])
    module = auto_LiRPA.BoundedModule(Attention(), centre)

    def bound(_: Head, around: Around) -> float:
        norm = np.inf if around.is_box else 2
        region = auto_LiRPA.PerturbationLpNorm(norm=norm, eps=around.radius)
        with torch.no_grad():
            lower, upper = module.compute_bounds(x=(auto_LiRPA.BoundedTensor(centre, region),), method="CROWN")
        return _from_coordinates(head, lower.numpy()[0], upper.numpy()[0])

    print(f"auto_LiRPA {auto_LiRPA.__version__}, torch {torch.__version__}")
    return bound


def timed(bound: Bound, head: Head, around: Around) -> tuple[float, float]:
    seconds = []
    for _ in range(5):
        begun = time.process_time()
        found = bound(head, around)
        seconds.append(time.process_time() - begun)
    return found, min(seconds)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--head", default="layer0-head6")
    parser.add_argument("--query", type=int, default=5)
    parser.add_argument("--balls", type=float, nargs="*", default=BALLS)
    parser.add_argument("--boxes", type=float, nargs="*", default=BOXES)
    parser.add_argument("--norm", choices=("linf", "l2"), default="linf")
    options = parser.parse_args(arguments)
    head = Head.stored(options.head, options.query, options.norm)
    verifier = crown(head)
    bounds: dict[str, Bound] = {"cell": cell(head), "vertex": vertex}
    if isinstance(verifier, str):
        print(verifier)
    else:
        bounds["CROWN"] = verifier
    print(f"{options.head}, query {options.query}, {len(head.keys)} tokens, d = {len(head.centre)}, {options.norm}\n")
    print(f"{'region':<10}{'attack':>10}" + "".join(f"{name:>10}{'ms':>7}" for name in bounds))
    regions = [Around(r, False) for r in options.balls] + [Around(r, True) for r in options.boxes]
    for around in regions:
        found = [timed(bound, head, around) for bound in bounds.values()]
        shown = "".join(f"{value:>10.4g}{1e3 * seconds:>7.0f}" for value, seconds in found)
        print(f"{around!s:<10}{attack(head, around):>10.4g}{shown}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
