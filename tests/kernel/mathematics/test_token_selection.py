"""Chosen tokens, their pairs, and exact max-margin points."""

from __future__ import annotations

import pytest
from flint import arb, fmpq

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.losses import LOSSES
from certattn.kernel.mathematics.token_selection import Pair, Selection, Tokens, best_tokens
from certattn.kernel.theorems.selection.mathematics.margin_points import hard_margin


def rationals(rows):
    return ExactMatrix.rational([[fmpq(*map(int, str(x).split("/"))) for x in row] for row in rows])


@pytest.fixture
def two_inputs():
    keys = rationals([[-3, 1], [0, 0], [1, 0], [0, 0], [2, 2]])
    return Tokens(keys, (2, 3), tuple(fmpq(x) for x in (1, 0, 1, 1, 2)))


def test_pairs_run_over_all_other_tokens(two_inputs):
    selection = Selection(two_inputs, (0, 1))
    assert selection.pairs == (Pair(0, 1), Pair(1, 0), Pair(1, 2))
    assert selection.differences == rationals([[-3, 1], [-1, 0], [-2, -2]])
    assert selection.gaps == (1, 0, -1)
    assert selection.good == (0,)
    assert selection.bad == (1, 2)


def test_an_input_of_one_token_has_no_pairs():
    tokens = Tokens(rationals([[1], [2], [3]]), (1, 2), (fmpq(0),) * 3)
    assert Selection(tokens, (0, 0)).pairs == (Pair(1, 1),)


def test_every_token_of_the_largest_score_is_best(two_inputs):
    assert best_tokens(two_inputs) == [[0], [2]]
    assert best_tokens(Tokens(two_inputs.keys, (5,), (fmpq(1),) * 5)) == [[0, 1, 2, 3, 4]]


def test_the_point_of_proposition_c():
    found = hard_margin(rationals([[-3, 1], [1, 0]]), {0: fmpq(4), 1: fmpq(13)})
    assert found.solution == rationals([[1, 4]])
    assert found.products == [1, 1]
    assert found.tight == (0, 1)
    assert (found.conditions.slack, found.complementarity, found.norm_squared) == (0, 0, 17)
    with working_precision(64):
        assert abs(found.margin() * arb(17).sqrt() - 1) < arb(2) ** -60


def test_a_relaxed_constraint_asks_for_less():
    found = hard_margin(rationals([[1, 0], [0, -1]]), {0: fmpq(1)})
    assert found.conditions.slack == -1
    relaxed = type(found)(found.rows, found.multipliers, (fmpq(1), fmpq(0)))
    assert relaxed.conditions.slack == 0
    assert relaxed.tight == (0, 1)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("score", ["-3/2", "1/7", "4"])
def test_losses_agree_with_their_definition(name, score):
    loss = LOSSES[name]
    with working_precision(256):
        c, G, h = arb(fmpq(*map(int, score.split("/")))), arb("0.3"), arb(2) ** -100
        excess = loss.excess(c, G)
        assert (excess - (loss.value(c - G) - loss.value(c))).overlaps(arb(0))
        assert (loss.inverse_excess(c, excess) - G).overlaps(arb(0))
        slope = (loss.value(c - h) - loss.value(c + h)) / (2 * h)
        assert abs(slope - loss.slope(c)) < arb(2) ** -90
        curvature = (loss.slope(c - h) - loss.slope(c + h)) / (2 * h)
        assert abs(curvature - loss.curvature(c)) < arb(2) ** -90


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize(("low", "high"), [("-3", "-1"), ("-1", "2"), ("0", "2"), ("1", "5"), ("-2", "0")])
def test_the_largest_curvature_is_reached_and_never_exceeded(name, low, high):
    loss = LOSSES[name]
    with working_precision(128):
        a, b = arb(low), arb(high)
        bound = loss.largest_curvature(a, b)
        values = [loss.curvature(a + (b - a) * k / 60) for k in range(61)]
        assert all((bound >= value.lower() - arb(2) ** -100) is True for value in values)
        assert any((bound <= value.upper() + arb(2) ** -20) is True for value in values)
