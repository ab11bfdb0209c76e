"""The kernel's bound over a cell in doubles, to search with: fast, and believed by nobody.

The formulas are those of `certattn.kernel.theorems.attention.cells`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from flint import fmpq

from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.operator import AffineMap
from certattn.kernel.mathematics.reals import Real, Surd
from certattn.kernel.theorems.attention.cells import Cell, Deviation, Difference
from certattn.kernel.theorems.attention.quadratic_forms import SMALL
from certattn.kernel.theorems.attention.unit_sets import ClippedCube, UnitBall, UnitSimplex

Array = np.ndarray[Any, Any]

# A sum so many times smaller than its terms is taken for 0, and numbers that agree up to this for equal: what is
# left of them is rounding, which differs between machines and must not choose.
_ROUNDING = 1e-13
_EQUAL = 1e-9


@dataclass(frozen=True)
class FloatBound:
    """`upper` over the cell; `highest`, a point x of the unit set at which the deviation is large to first order;
    `bending`, a symmetric matrix that says along which directions the cell should be cut."""

    upper: float
    highest: Array
    bending: Array


@dataclass(frozen=True)
class FloatAffine:
    """x -> offset + slopes x; the entries are sums, of terms whose absolute values sum up to `offset_terms` and
    `slopes_terms`."""

    offset: Array
    slopes: Array
    offset_terms: Array
    slopes_terms: Array

    @classmethod
    def settled(cls, offset: Array, slopes: Array, offset_terms: Array, slopes_terms: Array) -> FloatAffine:
        """With 0 for the entries that are all rounding."""
        return cls(_settled(offset, offset_terms), _settled(slopes, slopes_terms), offset_terms, slopes_terms)

    def less(self, other: FloatAffine) -> FloatAffine:
        offset_terms, slopes_terms = self.offset_terms + other.offset_terms, self.slopes_terms + other.slopes_terms
        return self.settled(self.offset - other.offset, self.slopes - other.slopes, offset_terms, slopes_terms)

    def gradient(self) -> Array:
        """Half the gradient of the squared l2 norm at 0."""
        terms = np.abs(self.slopes).T @ self.offset_terms + self.slopes_terms.T @ np.abs(self.offset)
        return _settled(self.slopes.T @ self.offset, terms)

    def gradient_of_largest(self) -> Array:
        """That of the largest entry's absolute value."""
        row = first_largest(np.abs(self.offset))
        return np.asarray(np.sign(self.offset[row]) * self.slopes[row])


@dataclass(frozen=True)
class FloatDeviation:
    """T - T_inf in doubles."""

    exact: Deviation
    norm: str

    @cached_property
    def keys(self) -> Array:
        keys = self.exact.prompt.keys
        return table(keys.centred(keys.take_rows([0]))) * number(self.exact.prompt.scale)

    @cached_property
    def times(self) -> Array:
        return np.array([1.0]) if self.exact.times is None else vector(tuple(self.exact.times))

    @cached_property
    def values(self) -> Array:
        values = self.exact.prompt.values
        return table(values.centred(values.mean_row()))

    @cached_property
    def limit(self) -> tuple[Array, Array]:
        """Slope, and offset relative to the mean value."""
        limit: AffineMap = self.exact.limit
        offset = limit.offset - self.exact.prompt.values.mean_row()
        return number(limit.scale) * table(limit.matrix), table(offset)[0]

    def size(self, vector: Array) -> float:
        return _size(vector, self.norm)

    def at(self, query: Array) -> FloatAffine:
        """T - T_inf with its slope there."""
        return self.seen(query, np.eye(len(query)))[1]

    def seen(self, query: Array, directions: Array) -> tuple[Array, FloatAffine, Array, Array, Array]:
        """Weights and T - T_inf at a query and along directions; tilts, w_i (v_i - T), and the slope of T."""
        scores = self.keys @ query
        weights = np.exp(scores - scores.max()) * self.times
        weights /= weights.sum()
        slope, offset = self.limit
        tilts = self.keys @ directions.T
        tilts -= weights @ tilts
        output = weights @ self.values
        weighed = (weights[:, None] * (self.values - output)).T
        turn, limit_slope = weighed @ tilts, slope @ directions.T
        affine = FloatAffine.settled(
            output - offset - slope @ query,
            turn - limit_slope,
            weights @ np.abs(self.values) + np.abs(offset) + np.abs(slope) @ np.abs(query),
            np.abs(weighed) @ np.abs(tilts) + np.abs(slope) @ np.abs(directions.T),
        )
        return weights, affine, tilts, weighed, turn

    def over(self, cell: Cell) -> FloatBound:
        """The bound over a cell."""
        weights, affine, tilts, weighed, turn = self.seen(table(cell.centre)[0], table(cell.directions))
        offset, slopes = affine.offset, affine.slopes
        unit = _unit(cell)
        tails = _tail(unit.reach(tilts))
        growth = _moment(weights * tails, tilts)
        curves = np.array([_moment(row, tilts) for row in weighed])
        rests = np.array([_moment(np.abs(row) * (2 * tails - 1), tilts) for row in weighed])
        rho = unit.forms(curves, rests, self.norm) / 2
        eta = unit.form(growth)
        theta = eta / (1 + eta)
        first = unit.affine(offset, slopes, self.norm) + rho
        last = unit.affine(offset, slopes - theta * turn, self.norm) + (1 - theta) * rho
        bending = _moment(np.linalg.norm(weighed, axis=0), tilts)
        return FloatBound(max(first, last), unit.highest(affine), bending)


@dataclass(frozen=True)
class FloatDifference:
    """T' - T in doubles."""

    exact: Difference
    norm: str

    @cached_property
    def parts(self) -> tuple[FloatDeviation, FloatDeviation]:
        return FloatDeviation(self.exact.first, self.norm), FloatDeviation(self.exact.second, self.norm)

    def size(self, vector: Array) -> float:
        return _size(vector, self.norm)

    def at(self, query: Array) -> FloatAffine:
        """T' - T with its slope there."""
        first, second = (part.at(query) for part in self.parts)
        return first.less(second)

    def over(self, cell: Cell) -> FloatBound:
        """The bound over a cell."""
        seen = [part.seen(table(cell.centre)[0], table(cell.directions)) for part in self.parts]
        (w, own, a, y, turn), (v, others, b, z, _) = seen
        affine = own.less(others)
        unit, offset, slopes = _unit(cell), affine.offset, affine.slopes
        first, second = _tail(unit.reach(a)), _tail(unit.reach(b))

        def apart(row: Array, other: Array) -> Array:
            return np.asarray(_moment(row, a) - _moment(other, b))

        there = np.array(self.exact.partners, int)
        held = np.arange(len(there))
        moves = unit.reach(a[held] - b[there]) * np.maximum(first[held], second[there])

        def together(row: Array, other: Array) -> Array:
            ours, theirs = np.abs(row) * (2 * first - 1), np.abs(other) * (2 * second - 1)
            both = np.abs(other[there]) * moves
            one = np.abs(row[held] - other[there]) * (2 * first[held] - 1) + both
            near = one + both < ours[held] + theirs[there]
            ours[held[near]], theirs[there[near]] = one[near], both[near]
            return np.asarray(_moment(ours, a) + _moment(theirs, b))

        pairs = list(zip(y, z, strict=True))
        curves, rests = (np.array([of(*pair) for pair in pairs]) for of in (apart, together))
        rho = unit.forms(curves, rests, self.norm) / 2
        delta = unit.forms(apart(w, v)[None], together(w, v)[None], "linf") / 2
        whole = np.array([_moment(np.abs(row) * first, a) for row in y])
        rest = 1 / (1 + unit.form(_moment(v * second, b)))
        most = unit.affine(offset, slopes, self.norm) + rho
        least = unit.affine(offset, rest * slopes, self.norm) + rest * rho
        moved = delta * (unit.affine(0 * offset, turn, self.norm) + unit.forms(whole, whole, self.norm) / 2)
        bending = _moment(np.linalg.norm(y, axis=0), a) + _moment(np.linalg.norm(z, axis=0), b)
        return FloatBound(max(most, least) + moved, unit.highest(affine), bending)


def in_doubles(around: Deviation | Difference, norm: str) -> FloatDeviation | FloatDifference:
    return FloatDeviation(around, norm) if isinstance(around, Deviation) else FloatDifference(around, norm)


def table(matrix: ExactMatrix) -> Array:
    """The entries as doubles."""
    denominator = int(matrix.denominator)
    return np.array([[_quotient(int(entry), denominator) for entry in row] for row in matrix.numerators.tolist()])


def number(value: Real) -> float:
    if isinstance(value, Surd):
        return float(np.sqrt(_quotient(int(value.radicand.p), int(value.radicand.q))))
    return _quotient(int(value.p), int(value.q))


def vector(entries: tuple[fmpq, ...]) -> Array:
    return np.array([number(entry) for entry in entries])


def _quotient(numerator: int, denominator: int) -> float:
    try:
        return numerator / denominator
    except OverflowError:
        return float("inf") if numerator > 0 else float("-inf")


def first_largest(values: Array) -> int:
    """The index of the first entry that is about the largest of numbers >= 0; the first NaN where there is one."""
    largest = values.max()
    return int(np.argmax((values >= largest * (1 - _EQUAL)) | np.isnan(values)))


def coarse(value: float) -> float:
    """With ten digits, so that numbers that differ by rounding are equal."""
    return float(f"{value:.9e}")


def _settled(value: Array, terms: Array) -> Array:
    return np.asarray(np.where(np.abs(value) <= _ROUNDING * terms, 0.0, value))


def _tail(t: Array) -> Array:
    """See `exp_tail`."""
    power, safe = np.exp(t), np.maximum(t, 1)
    series = 1 / 2 + t * (1 / 6 + t * (1 / 24 + t * (power + 5) / 720))
    return np.asarray(np.where(t >= 1, (power - 1 - t) / safe**2, series))


def _moment(factor: Array, tilts: Array) -> Array:
    """sum f a a'."""
    moment: Array = (factor[:, None] * tilts).T @ tilts
    return moment


def _size(vector: Array, norm: str) -> float:
    return float(np.linalg.norm(vector) if norm == "l2" else np.abs(vector).max())


# -- unit sets


def _together(matrices: Array) -> float:
    """See `QuadraticForms.over_ball`."""
    if not np.isfinite(matrices).all():
        return float("inf")
    flat, traces = matrices.reshape(len(matrices), -1), np.trace(matrices, axis1=1, axis2=2)
    bound, length = float(np.linalg.norm(flat, 2)), float(np.linalg.norm(traces))
    if length == 0:
        return bound
    direction = traces / length
    along = direction @ flat
    rest = float(np.linalg.norm(flat - np.outer(direction, along), 2))
    return min(bound, float(np.hypot(np.linalg.norm(along.reshape(matrices[0].shape), 2), rest)))


class _Ball:
    def reach(self, slopes: Array) -> Array:
        return np.asarray(np.linalg.norm(slopes, axis=-1))

    def form(self, matrix: Array) -> float:
        return float(np.linalg.norm(matrix, 2)) if np.isfinite(matrix).all() else float("inf")

    def forms(self, curves: Array, rests: Array, norm: str) -> float:
        if norm == "l2" and curves.size * len(curves[0]) > SMALL:
            return _together(curves) + _together(rests)
        each = np.array([max(self.form(c + r), self.form(c - r)) for c, r in zip(curves, rests, strict=True)])
        return _size(each, norm) if norm == "linf" else min(_size(each, norm), _together(curves) + _together(rests))

    def affine(self, offset: Array, slopes: Array, norm: str) -> float:
        if norm == "linf":
            return float((np.abs(offset) + self.reach(slopes)).max())
        along = float(self.reach(slopes.T @ offset))
        return float(np.sqrt(offset @ offset + 2 * along + self.form(slopes.T @ slopes)))

    def highest(self, affine: FloatAffine) -> Array:
        along = affine.gradient()
        length = np.linalg.norm(along)
        return np.asarray(along / length) if length > 0 else along


class _Cube(_Ball):
    def reach(self, slopes: Array) -> Array:
        return np.asarray(np.abs(slopes).sum(-1))

    def form(self, matrix: Array) -> float:
        return float(np.abs(matrix).sum())

    def forms(self, curves: Array, rests: Array, norm: str) -> float:
        sizes = [np.abs(matrices).sum((1, 2)) for matrices in (curves, rests)]
        together = _size(sizes[0] + sizes[1], norm)
        if norm == "linf":
            return together
        apart = [min(_size(size, norm), len(both[0]) * _together(both))
                 for size, both in zip(sizes, (curves, rests), strict=True)]  # fmt: skip
        return min(together, sum(apart))

    def highest(self, affine: FloatAffine) -> Array:
        return np.asarray(np.sign(affine.gradient()))


class _Clipped(_Cube):
    def __init__(self, unit: ClippedCube) -> None:
        self.middle, self.halves = vector(unit.middle), vector(unit.halves)

    def affine(self, offset: Array, slopes: Array, norm: str) -> float:
        moved = offset - slopes @ (self.middle / self.halves)
        return min(super().affine(offset, slopes, norm), _Ball().affine(moved, slopes / self.halves, norm))

    def highest(self, affine: FloatAffine) -> Array:
        z = self.middle + self.halves * super().highest(affine)
        return np.asarray((z / max(1.0, float(np.linalg.norm(z))) - self.middle) / self.halves)


class _Simplex(_Ball):
    def reach(self, slopes: Array) -> Array:
        return np.asarray(np.abs(slopes).max(-1))

    def form(self, matrix: Array) -> float:
        return float(np.abs(matrix).max())

    def forms(self, curves: Array, rests: Array, norm: str) -> float:
        sums = np.abs(curves) + np.abs(rests)
        return max(_size(vector, norm) for vector in sums.reshape(len(curves), -1).T)

    def affine(self, offset: Array, slopes: Array, norm: str) -> float:
        order = 2 if norm == "l2" else np.inf
        return float(np.linalg.norm(offset[:, None] + slopes, order, axis=0).max())

    def highest(self, affine: FloatAffine) -> Array:
        best = first_largest(np.linalg.norm(affine.offset[:, None] + affine.slopes, axis=0))
        return np.asarray(np.eye(affine.slopes.shape[1])[best])


def _unit(cell: Cell) -> _Ball:
    if isinstance(cell.unit, ClippedCube):
        return _Clipped(cell.unit)
    if isinstance(cell.unit, UnitSimplex):
        return _Simplex()
    return _Ball() if isinstance(cell.unit, UnitBall) else _Cube()
