"""Exact multipliers of max-margin problems: the active set is found in doubles, exact arithmetic does the rest.

What doubles say is a guess only: wherever it is wrong or not to be believed, `active_set` goes on from there over the
rationals. So the answer is exact always; a bad guess costs time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from flint import arb, arb_mat, fmpq, fmpz

from certattn.kernel.errors import UsageError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.selection.mathematics.margin_points import MaxMargin
from certattn.provers.rounding import midpoint
from certattn.provers.selection.active_set import ActiveSet, NotSeparableError, independent_rows, lifted, unlifted
from certattn.provers.selection.active_set_in_doubles import multipliers_in_doubles

# Numbers of at most so many bits become doubles without overflow.
_MOST_BITS = 900
# A multiplier that is smaller than this part of the largest one counts as 0 in the guess.
_NEGLIGIBLE = 1e-11

__all__ = ["NotSeparableError", "max_margin_multipliers", "near_multipliers"]


def max_margin_multipliers(rows: ExactMatrix, levels: Sequence[fmpq] | None = None) -> dict[int, fmpq]:
    """Multipliers lambda_j > 0, by row, so that p = sum lambda_j z_j has least norm with <z_j, p> >= r_j for all j.

    `rows` hold the z_j and `levels` the r_j: 1, or 0 where a constraint is relaxed; all 1 if left out, and at least
    one is 1. Where multipliers are not unique, these are those of linearly independent rows.
    Raises NotSeparableError, with a proof, where no p satisfies the constraints.
    """
    levels = checked_levels(rows, levels)
    guess = guessed_multipliers(rows, levels)
    if guess is not None:
        return ActiveSet(rows, levels).solve(list(guess))
    return _lifted_multipliers(rows, levels)


def near_multipliers(
    rows: ExactMatrix, levels: Sequence[fmpq] | None = None, digits: int = 30, most_active: int = 32
) -> tuple[dict[int, fmpq], bool]:
    """Multipliers of about that solution, and whether they are exact.

    They are exact where at most `most_active` constraints are active. Otherwise they have about so many digits where
    the guess is right, which takes one system of linear equations in balls, and those of doubles where it is not.
    Raises NotSeparableError.
    """
    levels = checked_levels(rows, levels)
    guess = guessed_multipliers(rows, levels)
    if guess is None:
        return _lifted_multipliers(rows, levels), True
    active = independent_rows(rows, list(guess))
    if len(active) <= most_active:
        return ActiveSet(rows, levels).solve(active), True
    return _enclosed_multipliers(rows, levels, active, digits) or guess, False


def checked_levels(rows: ExactMatrix, levels: Sequence[fmpq] | None) -> list[fmpq]:
    """The levels, all 1 if left out. Raises UsageError, and NotSeparableError for a row of zeros with level 1."""
    levels = [fmpq(1)] * rows.rows if levels is None else list(levels)
    if len(levels) != rows.rows or all(level == 0 for level in levels) or any(level < 0 for level in levels):
        raise UsageError("expected a level for every row: 1, or 0 where the constraint is relaxed, and not only 0")
    for row, (entries, level) in enumerate(zip(rows.numerators.tolist(), levels, strict=True)):
        if level > 0 and not any(entries):
            raise NotSeparableError({row: fmpq(1)})
    return levels


def _enclosed_multipliers(
    rows: ExactMatrix, levels: Sequence[fmpq], active: Sequence[int], digits: int
) -> dict[int, fmpq] | None:
    """The multipliers for which these constraints hold with equality, to so many digits; None if this is no solution.

    No solution: one of them is not positive, or their point misses another constraint by more than rounding.
    """
    part = rows.take_rows(active)
    gram = part @ part.T
    bits = 4 * digits + 128
    with working_precision(bits):
        matrix = arb_mat(len(active), len(active), [arb(entry) for row in gram.to_rows() for entry in row])
        right = arb_mat(len(active), 1, [arb(levels[row]) for row in active])
        try:
            solved = matrix.solve(right)
        except ZeroDivisionError:
            return None
        entries = solved.entries()
        if any((entry > 0) is not True or entry.rel_accuracy_bits() < 4 * digits for entry in entries):
            return None
        multipliers = {row: midpoint(entry) for row, entry in zip(active, entries, strict=True)}
    slack = MaxMargin(rows, multipliers, tuple(levels)).conditions.slack
    return multipliers if slack > -fmpq(1, 10**digits) else None


def _lifted_multipliers(rows: ExactMatrix, levels: Sequence[fmpq]) -> dict[int, fmpq]:
    """The same where in doubles the constraints contradict each other: the lifted problem has a solution even so."""
    unit = _largest_entry(rows)
    table = lifted(rows, levels, unit)
    return unlifted(ActiveSet(table, levels).solve(list(guessed_multipliers(table, levels) or [])), levels, unit)


def _largest_entry(rows: ExactMatrix) -> fmpq:
    """The size of the largest entry, up to a factor of 4: a power of 2."""
    exponent = max(entry.bit_length() for entry in rows.numerators.entries()) - rows.denominator.bit_length()
    return fmpq(2) ** exponent


def guessed_multipliers(rows: ExactMatrix, levels: Sequence[fmpq]) -> dict[int, fmpq] | None:
    """The multipliers according to doubles, by row, the largest first; None where they show no solution."""
    table, lengths = _unit_rows(rows)
    kept = [int(row) for row in np.flatnonzero(np.isfinite(lengths))]
    # <z, p> >= r divided by |z|, and p measured in units of 1 / (the smallest |z|)
    smallest = min(lengths[kept])
    right = np.array([float(levels[j].p) / float(levels[j].q) * 2.0 ** (smallest - lengths[j]) for j in kept])
    multipliers = multipliers_in_doubles(table[kept], right)
    if multipliers is None or not np.all(np.isfinite(multipliers)):
        return None
    largest = float(multipliers.max())
    order = np.argsort(-multipliers, kind="stable")
    positive = [j for j in order if multipliers[j] > _NEGLIGIBLE * largest]
    # The lengths are those of the numerators: what is divided by the denominator has multipliers times its square.
    factor = fmpq(rows.denominator**2)
    return {kept[j]: factor * _scaled(float(multipliers[j]), -float(lengths[kept[j]] + smallest)) for j in positive}


def _scaled(value: float, exponent: float) -> fmpq:
    """About value * 2^exponent."""
    whole = math.floor(exponent)
    return fmpq(*(value * 2.0 ** (exponent - whole)).as_integer_ratio()) * fmpq(2) ** whole


def _unit_rows(rows: ExactMatrix) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The rows divided by their lengths, in doubles, and log2 of the lengths, -inf for a row of zeros."""
    table = np.zeros(rows.shape)
    lengths = np.full(rows.rows, -math.inf)
    for row, numerators in enumerate(rows.numerators.tolist()):
        shift = max(0, max(entry.bit_length() for entry in numerators) - _MOST_BITS)
        entries = np.array([_double(entry, shift) for entry in numerators])
        largest = float(np.abs(entries).max())
        if largest > 0:
            unit = entries / largest
            length = float(np.linalg.norm(unit))
            table[row] = unit / length
            lengths[row] = math.log2(largest) + math.log2(length) + shift
    return table, lengths


def _double(entry: fmpz, shift: int) -> float:
    return float(int(entry) >> shift)
