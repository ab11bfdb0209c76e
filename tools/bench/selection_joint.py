"""Measure how sharp the bounds of `joint-max-margin` are: certified 1 - cos against that of a computed minimiser.

    python tools/bench/selection_joint.py                    the gallery's examples, 12 random instances and 12 of
                                                             which some support inputs have no multiplier
    python tools/bench/selection_joint.py --instances 40

The minimiser solves the conditions of Karush, Kuhn and Tucker to 40 digits by Newton's method with numerical
derivatives (mpmath), from the stated comparator.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from mpmath import mp, mpf

import certattn

GALLERY = Path(__file__).resolve().parents[1] / "gallery" / "selection" / "joint-max-margin.yaml"
_DIGITS = 40
# No bound is stated nearer to 1 than this.
FINEST = 1e-15
SIZES = (20, 60)
Point = list[Any]


@dataclass(frozen=True)
class Row:
    name: str
    norm: str
    head: float
    attention: float
    head_ratio: float
    attention_ratio: float


def random_instance(seed: int) -> dict[str, Any]:
    """Two to four inputs of two or three tokens in dimension 2 to 4, of which the first agrees with the label."""
    draw = random.Random(seed)
    inputs, tokens, dimension = draw.choice([2, 3, 4]), draw.choice([2, 3]), draw.choice([2, 3, 4])
    way = [draw.gauss(0, 1) for _ in range(dimension)]
    labels, found = [draw.choice([1, -1]) for _ in range(inputs)], []
    for label in labels:
        rows = [[draw.gauss(0, 0.4) for _ in way] for _ in range(tokens)]
        rows[0] = [2 * x + label * draw.uniform(1, 2) * w for x, w in zip(rows[0], way, strict=True)]
        found.append([[f"{x:.2f}" for x in row] for row in rows])
    return {"tokens": found, "labels": [str(y) for y in labels], "indices": ["0"] * inputs}


def degenerate_instance(seed: int) -> dict[str, Any]:
    """Labelled chosen tokens (1, b), (1, -c b) and one or two (1, b') on one side of these, so that v_mm is the first
    axis and the last ones are tight without multipliers. And sometimes an input that is not tight."""
    draw = random.Random(seed)
    dimension, tokens, extra = draw.choice([3, 4]), draw.choice([2, 3]), draw.choice([1, 2])
    point = lambda size: [Fraction(round(draw.gauss(0, size) * 100), 100) for _ in range(dimension - 1)]  # noqa: E731
    first, factor = point(1), Fraction(draw.choice([1, 2, 3]), 2)
    chosen = [[Fraction(1), *first], [Fraction(1), *(-factor * x for x in first)]]
    for _ in range(extra):
        other = point(1)
        side = 1 if first[0] * other[1] > first[1] * other[0] else -1
        chosen.append([Fraction(1), *(side * x for x in other)])
    chosen += [[Fraction(2), *point(1)]] if draw.choice([True, False]) else []
    labels, found = [draw.choice([1, -1]) for _ in chosen], []
    for label, row in zip(labels, chosen, strict=True):
        others = [[Fraction(round(draw.gauss(0, 0.3) * 100), 100), *point(0.3)] for _ in range(tokens - 1)]
        found.append([[str(x) for x in each] for each in ([label * x for x in row], *others)])
    return {"tokens": found, "labels": [str(y) for y in labels], "indices": ["0"] * len(chosen)}


class Loss:
    """The conditions for a minimiser on the two spheres, for inputs with W = I."""

    def __init__(self, given: dict[str, Any], loss: str) -> None:
        self.loss = loss
        labels = [int(str(y)) for y in given["labels"]]
        X = [[[_real(x) for x in row] for row in rows] for rows in given["tokens"]]
        chosen = [int(str(a)) for a in given["indices"]]
        self.rows = [[y * x for x in rows[a]] for rows, y, a in zip(X, labels, chosen, strict=True)]
        self.z = [
            [_minus(rows[a], row) for t, row in enumerate(rows) if t != a] for rows, a in zip(X, chosen, strict=True)
        ]
        self.w = [[[y * x for x in row] for row in rows] for rows, y in zip(self.z, labels, strict=True)]

    def pulls(self, v: Point, p: Point) -> tuple[Point, Point]:
        """Minus the gradients in v and p."""
        first, second = [mpf(0)] * len(v), [mpf(0)] * len(p)
        for row, w, z in zip(self.rows, self.w, self.z, strict=True):
            powers = [mp.exp(-_dot(x, p)) for x in z]
            s = [x / (1 + mp.fsum(powers)) for x in powers]
            g = [_dot(x, v) for x in w]
            margin = _dot(row, v) - _dot(s, g)
            slope = mp.exp(-margin) if self.loss == "exponential" else 1 / (1 + mp.exp(margin))
            middle = [_dot(s, column) for column in zip(*z, strict=True)] if z else []
            first = [
                a + slope * (b - mp.fsum(c * x[k] for c, x in zip(s, w, strict=True)))
                for k, (a, b) in enumerate(zip(first, row, strict=True))
            ]
            second = [
                a + slope * mp.fsum(c * h * (x[k] - middle[k]) for c, h, x in zip(s, g, z, strict=True))
                for k, a in enumerate(second)
            ]
        return first, second

    def minimiser(self, v: Point, p: Point, r: mpf, R: mpf) -> tuple[Point, Point]:
        scales = [mp.sqrt(_dot(x, x)) for x in self.pulls(v, p)]
        size = len(v)

        def conditions(*point: Any) -> Point:
            found = list[Any]()
            for x, pull, scale, norm in zip(
                (point[:size], point[size:]), self.pulls(point[:size], point[size:]), scales, (r, R), strict=True
            ):
                along = _dot(pull, x) / norm**2
                off = _dot(x, x) / norm**2 - 1
                found += [(a - along * b) / scale + off * b / norm for a, b in zip(pull, x, strict=True)]
            return found

        solved = list(mp.findroot(conditions, [*v, *p], tol=mpf(10) ** (-_DIGITS)))
        return solved[:size], solved[size:]


def _real(x: Any) -> mpf:
    fraction = Fraction(str(x))
    return mpf(fraction.numerator) / fraction.denominator


def _dot(a: Any, b: Any) -> mpf:
    return mp.fsum(x * y for x, y in zip(a, b, strict=True))


def _minus(a: Point, b: Point) -> Point:
    return [x - y for x, y in zip(a, b, strict=True)]


def one_less_cosine(a: Point, b: Point) -> mpf:
    a, b = ([x / mp.sqrt(_dot(y, y)) for x in y] for y in (a, b))
    gap = _minus(a, b)
    return _dot(gap, gap) / 2


def rows_of(name: str, given: dict[str, Any], at: list[tuple[str, str]], loss: str) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder, mp.workdps(_DIGITS + 10):
        path = Path(folder) / "joint.yaml"
        certificate = certattn.generate("joint-max-margin", path, given=given, at=at, loss=loss)
        if certattn.check(path).verdict is not certattn.Verdict.VERIFIED:
            raise SystemExit(f"not verified: {path.read_text()}")
        plain: Any = certificate.plain
        asserts = plain["asserts"]
        comparators = {int(each["entry"]): each for each in plain["witness"].get("comparators", [])}
        ways = [[_real(x) for x in asserts[name]] for name in ("v", "p")]
        for k, entry in enumerate(asserts["path"]["at"]):
            stated, norms = comparators.get(k, {}), [_real(entry[n]) for n in ("head_norm", "attention_norm")]
            start = [
                [_real(x) for x in stated[n]] if n in stated else [x * norm / mp.sqrt(_dot(way, way)) for x in way]
                for n, way, norm in zip(("head", "attention"), ways, norms, strict=True)
            ]
            found = Loss(given, loss).minimiser(start[0], start[1], norms[0], norms[1])
            bounds = [1 - _real(entry[n]) for n in ("head_cosine", "attention_cosine")]
            ratios = [
                float(bound / max(one_less_cosine(x, way), mpf(FINEST)))
                for bound, x, way in zip(bounds, found, ways, strict=True)
            ]
            yield Row(name, entry["head_norm"], *map(float, bounds), *ratios)


def gallery_rows() -> Iterator[Row]:
    for name, each in yaml.load(GALLERY.read_text(), Loader=yaml.BaseLoader).items():
        yield from rows_of(name, each["given"], [tuple(pair) for pair in each["at"]], each.get("loss", "logistic"))


def random_rows(
    instances: int, name: str = "random", instance: Callable[[int], dict[str, Any]] = random_instance
) -> Iterator[Row]:
    """At norms that are these numbers over the margins Gamma and Xi, both losses in turn."""
    found, seed = 0, 0
    while found < instances:
        seed += 1
        given = instance(seed)
        try:
            plain: Any = certattn.generate("joint-max-margin", Path(tempfile.mkdtemp()) / "c.yaml", given=given).plain
            if "drop" not in plain["asserts"]:
                continue
            sizes = [float(np.linalg.norm([float(Fraction(x)) for x in plain["asserts"][n]])) for n in ("v", "p")]
            at = [tuple(f"{size * x:.3g}" for x in sizes) for size in SIZES]
            rows = list(rows_of(f"{name} {seed}", given, at, ("logistic", "exponential")[seed % 2]))
        except certattn.CertattnError:
            continue  # not separable, or no bound at these norms
        found += 1
        yield from rows


def lines(rows: list[Row]) -> list[str]:
    table = [f"{'instance':20} {'r':>7}  head 1 - cos, over the true   attention 1 - cos, over the true"]
    table += [
        f"{r.name:20} {r.norm:>7}  {r.head:12.3g} {r.head_ratio:14.3f}   {r.attention:15.3g} {r.attention_ratio:14.3f}"
        for r in rows
    ]
    for what, ratios in (("head", [r.head_ratio for r in rows]), ("attention", [r.attention_ratio for r in rows])):
        within = sum(ratio <= 10 for ratio in ratios)
        table.append(
            f"{what}: median {statistics.median(ratios):.3f}, largest {max(ratios):.3g}, "
            f"at most 10 for {within} of {len(ratios)}"
        )
    return table


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--instances", type=int, default=12, help="how many random ones")
    arguments = parser.parse_args()
    every = {
        "gallery": gallery_rows(),
        "random": random_rows(arguments.instances),
        "degenerate": random_rows(arguments.instances, "degenerate", degenerate_instance),
    }
    for title, rows in every.items():
        print(f"{title}:", *lines(list(rows)), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
