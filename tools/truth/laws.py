"""Laws of tokens by mpmath: E e^{<a,x>} and E x e^{<a,x>}, from the definitions. A part of `certificate_truth`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from mpmath import mp, mpf

from tools.truth.reading import (
    NotAStatement,
    Table,
    Vector,
    inner_product,
    is_semidefinite,
    read_count,
    read_number,
    read_scale,
    read_table,
    read_vector,
    require,
    require_mapping,
    require_record,
    to_real,
)


class Law:
    dimension: int

    def moments(self, tilt: Sequence[mpf]) -> tuple[mpf, list[mpf]]:
        raise NotImplementedError

    def tilted_mean(self, tilt: Sequence[mpf]) -> list[mpf]:
        mass, first = self.moments(tilt)
        return [entry / mass for entry in first]


@dataclass(frozen=True)
class Gaussian(Law):
    """E e^{<a,x>} = e^{<a,m> + a'Sa/2} by completing the square, which moves the mean to m + Sa."""

    mean: Vector
    covariance: Table

    @property
    def dimension(self) -> int:  # type: ignore[override]
        return len(self.mean)

    def moments(self, tilt: Sequence[mpf]) -> tuple[mpf, list[mpf]]:
        moved = [inner_product(row, tilt) for row in self.covariance]
        mass = mp.exp(inner_product(self.mean, tilt) + mp.fsum(a * c for a, c in zip(tilt, moved, strict=True)) / 2)
        return mass, [mass * (to_real(m) + c) for m, c in zip(self.mean, moved, strict=True)]


@dataclass(frozen=True)
class Points(Law):
    """Finitely many points with weights."""

    points: Table
    weights: Vector

    @property
    def dimension(self) -> int:  # type: ignore[override]
        return len(self.points[0])

    def moments(self, tilt: Sequence[mpf]) -> tuple[mpf, list[mpf]]:
        shares = [
            to_real(w) * mp.exp(inner_product(point, tilt)) for w, point in zip(self.weights, self.points, strict=True)
        ]
        return mp.fsum(shares), [inner_product(column, shares) for column in zip(*self.points, strict=True)]


@dataclass(frozen=True)
class Independent(Law):
    """Independent coordinates of the sizes c: the averages of e^{ax} and x e^{ax}, one coordinate at a time."""

    sizes: Vector

    @property
    def dimension(self) -> int:  # type: ignore[override]
        return len(self.sizes)

    def averages(self, c: mpf, a: mpf) -> tuple[mpf, mpf]:
        raise NotImplementedError

    def moments(self, tilt: Sequence[mpf]) -> tuple[mpf, list[mpf]]:
        pairs = [self.averages(to_real(c), a) for c, a in zip(self.sizes, tilt, strict=True)]
        mass = mp.fprod(zeroth for zeroth, _ in pairs)
        return mass, [mass * first / zeroth for zeroth, first in pairs]


@dataclass(frozen=True)
class Round(Law):
    """Uniform on a sphere, or on a ball: a Bessel function of the order d/2 - 1, or d/2."""

    dimension: int  # type: ignore[assignment]
    squared_radius: Fraction
    solid: bool

    def moments(self, tilt: Sequence[mpf]) -> tuple[mpf, list[mpf]]:
        square, b = to_real(self.squared_radius), mpf(self.dimension) / 2 + self.solid
        z = square * mp.fsum(a * a for a in tilt) / 4
        slope = mp.hyp0f1(b + 1, z) / b * square / 2
        return mp.hyp0f1(b, z), [slope * a for a in tilt]


@dataclass(frozen=True)
class Truncated(Law):
    """Independent coordinates N(m, v) between two ends: a tilt moves m by a v, and the rest are error functions."""

    mean: Vector
    variances: Vector
    lower: Vector
    upper: Vector

    @property
    def dimension(self) -> int:  # type: ignore[override]
        return len(self.mean)

    def moments(self, tilt: Sequence[mpf]) -> tuple[mpf, list[mpf]]:
        rows = zip(self.mean, self.variances, self.lower, self.upper, strict=True)
        pairs = [_of_interval(*map(to_real, row), a) for row, a in zip(rows, tilt, strict=True)]
        mass = mp.fprod(zeroth for zeroth, _ in pairs)
        return mass, [mass * mean for _, mean in pairs]


def _of_interval(m: mpf, v: mpf, low: mpf, high: mpf, a: mpf) -> tuple[mpf, mpf]:
    """E e^{ax}, and E x e^{ax} over it, of N(m, v) between low and high."""
    with mp.extradps(60):
        s = mp.sqrt(v)
        before, (start, end) = _share((low - m) / s, (high - m) / s), ((x - m - a * v) / s for x in (low, high))
        after = _share(start, end)
        mean = m + a * v - s * (mp.npdf(end) - mp.npdf(start)) / after
        return mp.exp(a * m + a * a * v / 2) * after / before, mean


def _share(low: mpf, high: mpf) -> mpf:
    """Of a standard normal between two numbers, on the side where nothing cancels."""
    if low > 0:
        low, high = -high, -low
    return mp.ncdf(high) - mp.ncdf(low)


@dataclass(frozen=True)
class About(Law):
    """m + x for x of such a law."""

    law: Independent | Round
    centre: Vector

    @property
    def dimension(self) -> int:  # type: ignore[override]
        return self.law.dimension

    def moments(self, tilt: Sequence[mpf]) -> tuple[mpf, list[mpf]]:
        mass, first = self.law.moments(tilt)
        size = mp.exp(inner_product(self.centre, tilt))
        return size * mass, [size * (f + to_real(m) * mass) for f, m in zip(first, self.centre, strict=True)]


class Signs(Independent):
    """Two points, c and -c."""

    def averages(self, c: mpf, a: mpf) -> tuple[mpf, mpf]:
        up, down = mp.exp(c * a), mp.exp(-c * a)
        return (up + down) / 2, c * (up - down) / 2


class Box(Independent):
    """Uniform on [-c, c]."""

    def averages(self, c: mpf, a: mpf) -> tuple[mpf, mpf]:
        return _interval(c, a)


def _interval(c: mpf, a: mpf) -> tuple[mpf, mpf]:
    """The averages of e^{ax} and of x e^{ax} over [-c, c]."""
    t = c * a
    if abs(t) > 2:
        up, down = mp.exp(t), mp.exp(-t)
        return (up - down) / (2 * t), c * ((up + down) / (2 * t) - (up - down) / (2 * t * t))
    # Power series of both integrals, term by term: nothing cancels.
    zeroth = first = mpf(0)
    power = mpf(1)  # t^k / k!
    for k in range(4 * mp.dps):
        if k % 2 == 0:
            zeroth += power / (k + 1)
        else:
            first += power / (k + 2)
        power *= t / (k + 1)
    return zeroth, c * first


@dataclass(frozen=True)
class Mixture(Law):
    parts: list[Law]
    weights: Vector

    @property
    def dimension(self) -> int:  # type: ignore[override]
        return self.parts[0].dimension

    def moments(self, tilt: Sequence[mpf]) -> tuple[mpf, list[mpf]]:
        found = [part.moments(tilt) for part in self.parts]
        mass = mp.fsum(to_real(w) * m for w, (m, _) in zip(self.weights, found, strict=True))
        firsts = zip(*(first for _, first in found), strict=True)
        return mass, [mp.fsum(to_real(w) * f for w, f in zip(self.weights, column, strict=True)) for column in firsts]


def _about(law: Independent | Round, node: Any, folder: Path) -> Law:
    if "centre" not in node:
        return law
    centre = read_vector(node["centre"], folder)
    require(len(centre) == law.dimension, "another number of entries of the centre than dimensions")
    return About(law, centre)


def read_law(node: Any, folder: Path) -> Law:
    kind = require_mapping(node, "a law").get("kind")
    if kind == "gaussian":
        return read_gaussian({key: item for key, item in node.items() if key != "kind"}, folder, "a Gaussian")
    if kind in ("rademacher", "box"):
        require_record(node, "a law", {"kind", "sizes"}, {"centre"})
        sizes = read_vector(node["sizes"], folder)
        require(min(sizes) >= 0, "a negative size")
        return _about(Box(sizes) if kind == "box" else Signs(sizes), node, folder)
    if kind in ("sphere", "ball"):
        require_record(node, "a law", {"kind", "dimension", "radius"}, {"centre"})
        dimension, square = read_count(node["dimension"]), _squared_radius(node["radius"])
        require(0 < dimension <= 10000, "no such dimension")
        return _about(Round(dimension, square, kind == "ball"), node, folder)
    if kind == "truncated-gaussian":
        names = ["mean", "variances", "lower", "upper"]
        require_record(node, "a law", {"kind", *names})
        rows = [read_vector(node[name], folder) for name in names]
        require(len(set(map(len, rows))) == 1, "rows of different lengths")
        require(min(rows[1]) > 0, "a variance that is not positive")
        require(all(low < high for low, high in zip(*rows[2:], strict=True)), "an empty interval")
        return Truncated(*rows)
    if kind == "atoms":
        require_record(node, "a law", {"kind", "points"}, {"weights"})
        points = read_table(node["points"], folder)
        require("weights" not in node or isinstance(node["weights"], list), "weights must be written out")
        weights = (
            read_vector(node["weights"], folder) if "weights" in node else [Fraction(1, len(points))] * len(points)
        )
        require(len(weights) == len(points), "another number of weights than atoms")
        require_probabilities(weights)
        return Points(points, weights)
    if kind == "mixture":
        require_record(node, "a law", {"kind", "components"})
        components = node["components"]
        require(isinstance(components, list) and components != [], "components must be a list")
        for component in components:
            require_record(component, "a component", {"weight", "law"})
        parts = [read_law(component["law"], folder) for component in components]
        require(len({part.dimension for part in parts}) == 1, "components of different dimensions")
        weights = [read_number(component["weight"]) for component in components]
        require_probabilities(weights)
        return Mixture(parts, weights)
    raise NotAStatement(f"the law {kind!r}")


def _squared_radius(text: Any) -> Fraction:
    if isinstance(text, str) and "sqrt" in text:
        return read_scale({"scale": text}).square
    radius = read_number(text)
    require(radius >= 0, "a negative radius")
    return radius**2


def read_gaussian(node: Any, folder: Path, what: str) -> Gaussian:
    require_record(node, what, {"mean", "covariance"})
    mean, covariance = read_vector(node["mean"], folder), read_table(node["covariance"], folder)
    require((len(covariance), len(covariance[0])) == (len(mean), len(mean)), "a covariance of another shape")
    require(
        covariance == [list(column) for column in zip(*covariance, strict=True)], "a covariance that is not symmetric"
    )
    require(is_semidefinite(covariance), "a covariance with a negative eigenvalue")
    return Gaussian(mean, covariance)


def require_probabilities(weights: Vector) -> None:
    require(min(weights) > 0 and sum(weights) == 1, "weights that are no probabilities")
