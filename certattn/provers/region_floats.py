"""The kernel's bound over a cell in doubles, to search with: fast, and believed by nobody.

The formulas are those of `certattn.kernel.arithmetic.mean_value` and `unit_sets`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from flint import fmpq

from certattn.kernel.arithmetic.exact_matrix import ExactMatrix
from certattn.kernel.arithmetic.mean_value import Deviation
from certattn.kernel.arithmetic.operator import AffineMap
from certattn.kernel.arithmetic.reals import Real, Surd
from certattn.kernel.arithmetic.regions import Cell
from certattn.kernel.arithmetic.unit_sets import ClippedCube, UnitBall, UnitSimplex

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class FloatBound:
    """`upper` over the cell; `highest`, a point x of the unit set at which the deviation is large to first order;
    `bending`, a symmetric matrix that says along which directions the cell should be cut."""

    upper: float
    highest: Array
    bending: Array


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
        return float(np.linalg.norm(vector) if self.norm == "l2" else np.abs(vector).max())

    def at(self, query: Array) -> tuple[Array, Array, Array]:
        """Weights, T - T_inf, and its slope there."""
        scores = self.keys @ query
        weights = np.exp(scores - scores.max())
        weights /= weights.sum()
        slope, offset = self.limit
        output = weights @ self.values
        tilts = self.keys - weights @ self.keys
        turn = (weights[:, None] * (self.values - output)).T @ tilts
        return weights, output - offset - slope @ query, turn - slope

    def over(self, cell: Cell) -> FloatBound:
        """The bound over a cell."""
        centre, directions = table(cell.centre)[0], table(cell.directions)
        weights, offset, _ = self.at(centre)
        tilts = self.keys @ directions.T
        tilts -= weights @ tilts
        weighed = (weights[:, None] * (self.values - weights @ self.values)).T
        limit_slope = self.limit[0] @ directions.T
        turn = weighed @ tilts
        unit = _unit(cell)
        tails = _tail(unit.reach(tilts))
        growth = _moment(weights * tails, tilts)
        curves = [_moment(row, tilts) for row in weighed]
        rests = [_moment(np.abs(row) * (2 * tails - 1), tilts) for row in weighed]
        rho = unit.forms(curves, rests, self.size) / 2
        eta = unit.form(growth)
        theta = eta / (1 + eta)
        slopes = turn - limit_slope
        first = unit.affine(offset, slopes, self.norm) + rho
        last = unit.affine(offset, slopes - theta * turn, self.norm) + (1 - theta) * rho
        bending = _moment(np.linalg.norm(weighed, axis=0), tilts)
        return FloatBound(max(first, last), unit.highest(offset, slopes), bending)


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


def _tail(t: Array) -> Array:
    """See `exp_tail`."""
    power, safe = np.exp(t), np.maximum(t, 1)
    series = 1 / 2 + t * (1 / 6 + t * (1 / 24 + t * (power + 5) / 720))
    return np.asarray(np.where(t >= 1, (power - 1 - t) / safe**2, series))


def _moment(factor: Array, tilts: Array) -> Array:
    """sum f a a'."""
    moment: Array = (factor[:, None] * tilts).T @ tilts
    return moment


# -- unit sets


class _Ball:
    def reach(self, slopes: Array) -> Array:
        return np.asarray(np.linalg.norm(slopes, axis=-1))

    def form(self, matrix: Array) -> float:
        return float(np.linalg.norm(matrix, 2)) if np.isfinite(matrix).all() else float("inf")

    def forms(self, curves: list[Array], rests: list[Array], size: Any) -> float:
        return float(size(np.array([self.form(c) + self.form(r) for c, r in zip(curves, rests, strict=True)])))

    def affine(self, offset: Array, slopes: Array, norm: str) -> float:
        if norm == "linf":
            return float((np.abs(offset) + self.reach(slopes)).max())
        along = float(self.reach(slopes.T @ offset))
        return float(np.sqrt(offset @ offset + 2 * along + self.form(slopes.T @ slopes)))

    def highest(self, offset: Array, slopes: Array) -> Array:
        along = slopes.T @ offset
        length = np.linalg.norm(along)
        return np.asarray(along / length) if length > 0 else along


class _Cube(_Ball):
    def reach(self, slopes: Array) -> Array:
        return np.asarray(np.abs(slopes).sum(-1))

    def form(self, matrix: Array) -> float:
        return float(np.abs(matrix).sum())

    def highest(self, offset: Array, slopes: Array) -> Array:
        return np.asarray(np.sign(slopes.T @ offset))


class _Clipped(_Cube):
    def __init__(self, unit: ClippedCube) -> None:
        self.middle, self.halves = vector(unit.middle), vector(unit.halves)

    def affine(self, offset: Array, slopes: Array, norm: str) -> float:
        moved = offset - slopes @ (self.middle / self.halves)
        return min(super().affine(offset, slopes, norm), _Ball().affine(moved, slopes / self.halves, norm))

    def highest(self, offset: Array, slopes: Array) -> Array:
        z = self.middle + self.halves * super().highest(offset, slopes)
        return np.asarray((z / max(1.0, float(np.linalg.norm(z))) - self.middle) / self.halves)


class _Simplex(_Ball):
    def reach(self, slopes: Array) -> Array:
        return np.asarray(np.abs(slopes).max(-1))

    def form(self, matrix: Array) -> float:
        return float(np.abs(matrix).max())

    def forms(self, curves: list[Array], rests: list[Array], size: Any) -> float:
        sums = np.abs(np.array(curves)) + np.abs(np.array(rests))
        return max(float(size(vector)) for vector in sums.reshape(len(curves), -1).T)

    def affine(self, offset: Array, slopes: Array, norm: str) -> float:
        order = 2 if norm == "l2" else np.inf
        return float(np.linalg.norm(offset[:, None] + slopes, order, axis=0).max())

    def highest(self, offset: Array, slopes: Array) -> Array:
        best = np.linalg.norm(offset[:, None] + slopes, axis=0).argmax()
        return np.asarray(np.eye(slopes.shape[1])[best])


def _unit(cell: Cell) -> _Ball:
    if isinstance(cell.unit, ClippedCube):
        return _Clipped(cell.unit)
    if isinstance(cell.unit, UnitSimplex):
        return _Simplex()
    return _Ball() if isinstance(cell.unit, UnitBall) else _Cube()
