"""Bounds on largest margins of a head: a matrix from below, multipliers from above, rounded and written down.

Doubles find the matrix and the multipliers; what they bound is then computed by the kernel's own formulas.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat

from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import UsageError
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import format_rational
from certattn.kernel.theorems.selection.selection_on_a_head import ChosenTokens
from certattn.provers.rounding import lower_rational, round_down, round_nearest, round_up, upper_rational
from certattn.provers.selection.min_norm_point import min_norm_point

_STEPS = 5000
# Digits of a bound; and of the entries of a witness, counted from the largest: as few as lose no more than this.
_DIGITS = 3
_DIGITS_OF_DOUBLES = 17
_WITNESS_DIGITS, _LOSS = (4, 8, _DIGITS_OF_DOUBLES), 0.02

Array = np.ndarray[Any, Any]
Pair = tuple[int, int]


@dataclass(frozen=True)
class Bounds:
    """A matrix, where there is one that selects, and multipliers, with what they prove of the largest margin."""

    lower: fmpq | None
    matrix: ExactMatrix | None
    upper: fmpq
    multipliers: Mapping[Pair, fmpq]

    def asserted(self) -> dict[str, Plain]:
        """The bounds as certificates write them."""
        lower: dict[str, Plain] = {} if self.lower is None else {"at_least": format_rational(self.lower)}
        return {**lower, "at_most": format_rational(self.upper)}


def bounds(chosen: ChosenTokens, gap: float) -> Bounds:
    """Bounds on the largest margin that differ by a factor of about 1 - gap; at most 0 where that is proved.

    To be called at a working precision.
    """
    search = _Search.of(chosen)
    found = min_norm_point(search.lowest, search.first(), gap, _STEPS)
    if found.is_zero:
        exact = _contradiction(chosen, sorted(found.weights))
        if exact is not None:
            return Bounds(None, None, fmpq(0), exact)
        return _rounded(chosen, None, found.weights, _DIGITS_OF_DOUBLES)
    for digits in _WITNESS_DIGITS:
        rounded = _rounded(chosen, found.point.reshape(search.shape), found.weights, digits)
        if rounded.lower is not None and rounded.lower >= (1 - fmpq(*(gap + _LOSS).as_integer_ratio())) * rounded.upper:
            break
    return rounded


def _rounded(chosen: ChosenTokens, point: Array | None, weights: Mapping[Pair, float], digits: int) -> Bounds:
    """What a matrix, if there is one, and multipliers prove when they are rounded to so many digits."""
    multipliers = _positive(weights, digits)
    upper = round_up(upper_rational(chosen.from_multipliers(multipliers)), _DIGITS)
    if point is None:
        return Bounds(None, None, upper, multipliers)
    # Scaled to 1: only the direction matters.
    unit = point / np.abs(point).max()
    matrix = ExactMatrix.rational([[_to_grid(value, 1.0, digits) for value in row] for row in unit.tolist()])
    lower = lower_rational(chosen.from_matrix(matrix))
    if lower <= 0:
        return Bounds(None, None, upper, multipliers)
    return Bounds(round_down(lower, _DIGITS), matrix, upper, multipliers)


# -- in doubles


@dataclass(frozen=True)
class _Search:
    """The points (k_{alpha_i} - k_t) z_i', in doubles, of which the lowest in a direction is found by one product."""

    keys: Array
    queries: Array
    chosen: Array
    hidden: Array

    @classmethod
    def of(cls, chosen: ChosenTokens) -> _Search:
        keys, queries = _doubles(chosen.keys), _doubles(chosen.queries)
        tokens = np.arange(len(keys))
        hidden = tokens[None, :] >= np.array(chosen.seen)[:, None]
        hidden[np.arange(len(queries)), list(chosen.chosen)] = True
        return cls(keys, queries, np.array(chosen.chosen), hidden)

    @property
    def shape(self) -> tuple[int, int]:
        return self.keys.shape[1], self.queries.shape[1]

    def lowest(self, direction: Array) -> tuple[Pair, Array]:
        """The pair of query and token of the smallest gap under a matrix, and its point."""
        products = self.queries @ direction.reshape(self.shape).T @ self.keys.T
        gaps = products[np.arange(len(products)), self.chosen][:, None] - products
        gaps[self.hidden] = np.inf
        query, token = divmod(int(gaps.argmin()), len(self.keys))
        return (query, token), self.point(query, token)

    def point(self, query: int, token: int) -> Array:
        return np.outer(self.keys[self.chosen[query]] - self.keys[token], self.queries[query]).ravel()

    def first(self) -> Array:
        """A direction to begin with: the sum of the points, as if every query saw every token."""
        centred = self.keys[self.chosen] - self.keys.mean(axis=0)
        return np.asarray((centred.T @ self.queries).ravel())


def _doubles(matrix: ExactMatrix) -> Array:
    denominator = int(matrix.denominator)
    try:
        table = np.array([[int(entry) / denominator for entry in row] for row in matrix.numerators.tolist()])
    except OverflowError:
        raise UsageError("numbers beyond the range of doubles, in which largest margins are looked for") from None
    return table


def _to_grid(value: float, largest: float, digits: int) -> fmpq:
    """A number rounded to the last of so many digits of the largest."""
    places = digits - 1 - math.floor(math.log10(largest))
    scaled = fmpq(*value.as_integer_ratio()) * fmpq(10) ** places
    return round_nearest(scaled, fmpq(1)) / fmpq(10) ** places


def _positive(weights: Mapping[Pair, float], digits: int) -> dict[Pair, fmpq]:
    largest = max(weights.values())
    rounded = {pair: _to_grid(weights[pair], largest, digits) for pair in sorted(weights)}
    return {pair: value for pair, value in rounded.items() if value > 0}


# -- exactly


def _contradiction(chosen: ChosenTokens, pairs: list[Pair]) -> dict[Pair, fmpq] | None:
    """Multipliers > 0 of sum 1 with sum mu (k_alpha - k_t) z' = 0, exactly; None where these pairs have none."""
    columns = [chosen.combination({pair: fmpq(1)}).to_rows() for pair in pairs]
    table = [[entry for row in column for entry in row] for column in columns]
    rows = [[column[r] for column in table] for r in range(len(table[0]))] + [[fmpq(1)] * len(pairs)]
    right = [fmpq(0)] * len(table[0]) + [fmpq(1)]
    augmented = fmpq_mat(len(rows), len(pairs) + 1, [x for row, b in zip(rows, right, strict=True) for x in [*row, b]])
    reduced, rank = augmented.rref()
    values = [fmpq(0)] * len(pairs)
    for r in range(rank):
        pivot = next(c for c in range(len(pairs) + 1) if reduced[r, c] != 0)
        if pivot == len(pairs):
            return None
        values[pivot] = reduced[r, len(pairs)]
    found = {pair: value for pair, value in zip(pairs, values, strict=True) if value != 0}
    return found if all(value > 0 for value in found.values()) else None
