"""Exact max-margin multipliers: for every kind of data, and whatever the guess in doubles was."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from flint import fmpq

from certattn.kernel.errors import UsageError
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.selection.mathematics.margin_points import MaxMargin
from certattn.provers.exact_inputs import exact_rational
from certattn.provers.selection import quadratic_program
from certattn.provers.selection.active_set import ActiveSet, independent_rows
from certattn.provers.selection.quadratic_program import NotSeparableError, max_margin_multipliers


def matrix(rows: list[list[object]]) -> ExactMatrix:
    return ExactMatrix.rational([[exact_rational(entry, "entry") for entry in row] for row in rows])


def solve(rows: ExactMatrix, levels: list[fmpq] | None = None) -> MaxMargin | dict[int, fmpq]:
    """The solution with its conditions, or the weights that show that there is none; either is proved here."""
    levels = levels or [fmpq(1)] * rows.rows
    try:
        found = max_margin_multipliers(rows, levels)
    except NotSeparableError as error:
        weights = error.weights
        assert all(value > 0 for value in weights.values())
        assert (ExactMatrix.row_vector(list(weights.values())) @ rows.take_rows(list(weights))).is_zero()
        assert sum((value * levels[row] for row, value in weights.items()), fmpq(0)) > 0
        return weights
    solution = MaxMargin(rows, found, tuple(levels))
    assert solution.conditions.multiplier > 0
    assert solution.conditions.slack >= 0
    assert solution.complementarity == 0
    return solution


def small_integers(rng: random.Random, rows: int, columns: int) -> list[list[fmpq]]:
    return [[fmpq(rng.randint(-2, 3)) for _ in range(columns)] for _ in range(rows)]


def all_magnitudes(rng: random.Random, rows: int, columns: int) -> list[list[fmpq]]:
    return [[fmpq(rng.randint(0, 9)) * fmpq(10) ** rng.randint(-300, 300) for _ in range(columns)] for _ in range(rows)]


def nearly_equal(rng: random.Random, rows: int, columns: int) -> list[list[fmpq]]:
    return [[1 + fmpq(rng.randint(-3, 3)) * fmpq(10) ** -30 for _ in range(columns)] for _ in range(rows)]


def with_duplicates(rng: random.Random, rows: int, columns: int) -> list[list[fmpq]]:
    found = small_integers(rng, rows, columns)
    return found + found + [[2 * entry for entry in found[0]]]


def opposed(rng: random.Random, rows: int, columns: int) -> list[list[fmpq]]:
    found = nearly_equal(rng, rows, columns)
    return [*found, [-entry for entry in found[-1]]]


@pytest.mark.parametrize("make", [small_integers, all_magnitudes, nearly_equal, with_duplicates, opposed])
def test_every_instance_is_solved_or_proved_to_be_contradictory(make):
    rng = random.Random(5)
    for _ in range(120):
        rows = ExactMatrix.rational(make(rng, rng.randint(1, 10), rng.randint(1, 5)))
        levels = [fmpq(rng.choice([0, 1, 1, 1])) for _ in range(rows.rows)]
        levels[rng.randrange(rows.rows)] = fmpq(1)
        solve(rows, levels)


def test_the_solution_is_that_of_every_active_set():
    """Small enough to try all active sets."""
    rng = random.Random(6)
    for _ in range(60):
        rows = ExactMatrix.rational(small_integers(rng, rng.randint(1, 5), 2))
        found = solve(rows)
        if isinstance(found, dict):
            continue
        norms = []
        for size in (1, 2):
            for active in itertools.combinations(range(rows.rows), size):
                if independent_rows(rows, active) == list(active):
                    multipliers = ActiveSet(rows, [fmpq(1)] * rows.rows).solved(active, [fmpq(1)] * size)
                    point = MaxMargin(rows, dict(zip(active, multipliers, strict=True)), (fmpq(1),) * rows.rows)
                    if point.conditions.slack >= 0:
                        norms.append(point.norm_squared)
        assert found.norm_squared == min(norms)


@pytest.mark.parametrize("guess", [[], [0], [3, 2, 1, 0], [2, 2], [4]])
def test_any_guess_leads_to_the_solution(guess, monkeypatch):
    rows = matrix([[1, 0], [0, 1], [2, 1], [1, 1], [3, 0]])
    monkeypatch.setattr(quadratic_program, "guessed_multipliers", lambda rows, levels: dict.fromkeys(guess, fmpq(1)))
    assert max_margin_multipliers(rows) == {0: 1, 1: 1}


@pytest.mark.parametrize("rows", [[[1, 0], [-1, 0]], [[1, 2], [3, -1], [-4, -1]], [[1], [0]]])
def test_contradictions_are_found_from_any_guess(rows, monkeypatch):
    assert isinstance(solve(matrix(rows)), dict)
    monkeypatch.setattr(quadratic_program, "guessed_multipliers", lambda rows, levels: {0: fmpq(1)})
    assert isinstance(solve(matrix(rows)), dict)


def test_a_solver_that_gives_up_wrongly_changes_nothing(monkeypatch):
    rows = matrix([[1, 0], [0, 1], ["2", "1/3"]])
    expected = max_margin_multipliers(rows)
    monkeypatch.setattr(quadratic_program, "multipliers_in_doubles", lambda table, right: None)
    assert max_margin_multipliers(rows) == expected


def test_a_margin_that_is_tiny_is_exact():
    found = solve(matrix([["1", "1e-40"], ["-1", "1e-40"]]))
    assert isinstance(found, MaxMargin)
    assert found.solution == matrix([[0, "1e40"]])


def test_relaxed_constraints_hold_with_level_0():
    found = solve(matrix([[1, 0], [-1, 1]]), [fmpq(1), fmpq(0)])
    assert isinstance(found, MaxMargin)
    assert found.solution == matrix([[1, 1]])


def test_rows_of_zeros():
    assert solve(matrix([[1, 0], [0, 0]])) == {1: 1}
    relaxed = solve(matrix([[1, 0], [0, 0]]), [fmpq(1), fmpq(0)])
    assert isinstance(relaxed, MaxMargin)
    assert relaxed.solution == matrix([[1, 0]])


def test_levels_must_ask_for_something():
    with pytest.raises(UsageError, match="not only 0"):
        max_margin_multipliers(matrix([[1, 0]]), [fmpq(0)])
    with pytest.raises(UsageError, match="a level for every row"):
        max_margin_multipliers(matrix([[1, 0]]), [fmpq(1), fmpq(1)])


def test_a_thousand_constraints_in_16_dimensions():
    rng = np.random.default_rng(7)
    table = rng.standard_normal((1000, 16))
    axis = np.full(16, 0.25)
    table += np.outer(0.1 + np.abs(rng.standard_normal(1000)) - table @ axis, axis)
    rows = matrix([[fmpq(*float(entry).as_integer_ratio()) for entry in row] for row in table])
    found = solve(rows)
    assert isinstance(found, MaxMargin)
    assert len(found.multipliers) == 16
