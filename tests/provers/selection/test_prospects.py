"""What doubles say of chosen tokens beforehand: never that nothing holds where a theorem does."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from flint import arb, fmpq

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.losses import LOSSES
from certattn.kernel.mathematics.token_selection import Selection, Tokens
from certattn.kernel.theorems.selection.mathematics.margin_points import MaxMargin, hard_margin
from certattn.kernel.theorems.selection.mathematics.selection_constants import GRADIENT, Rule, SelectionConstants
from certattn.provers.selection.active_set import NotSeparableError
from certattn.provers.selection.local_trial import Failure, find_trial
from certattn.provers.selection.prospects import Prospect, TokensInDoubles, prospect
from certattn.provers.selection.quadratic_program import max_margin_multipliers
from certattn.provers.selection.tube_trial import find_tube

LOGISTIC = LOSSES["logistic"]


def selections(seed: int, count: int) -> Iterator[tuple[Selection, MaxMargin | None, Prospect | None]]:
    """Random tokens, chosen at random; their max-margin point, exactly, and what doubles say of them."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        lengths, dimension = tuple(map(int, rng.integers(1, 5, int(rng.integers(1, 4))))), int(rng.integers(2, 4))
        draw = lambda *size: np.vectorize(lambda x: fmpq(int(x), 4))(rng.integers(-8, 9, size))  # noqa: E731
        tokens = Tokens(
            ExactMatrix.rational(draw(sum(lengths), dimension).tolist()), lengths, tuple(draw(sum(lengths)))
        )
        selection = Selection(tokens, tuple(int(rng.integers(length)) for length in tokens.lengths))
        if not selection.pairs:
            continue
        try:
            solution = hard_margin(selection.differences, max_margin_multipliers(selection.differences))
        except NotSeparableError:
            solution = None
        yield selection, solution, prospect(TokensInDoubles(tokens), LOGISTIC, selection.indices)


def test_doubles_tell_what_can_be_separated_and_the_max_margin_point() -> None:
    separable = rest = 0
    for _, solution, found in selections(1, 150):
        assert (found is None) is (solution is None)
        if found is None or solution is None:
            rest += 1
            continue
        separable += 1
        point = np.array([float(arb(x)) for x in solution.solution.row(0)])
        assert np.allclose(found.solution, point, rtol=1e-9, atol=1e-9)
        assert np.allclose(found.slacks, [float(arb(x)) for x in solution.slacks], rtol=1e-6, atol=1e-8)
        assert found.margin == pytest.approx(float(1 / np.linalg.norm(point)))
    assert separable > 20
    assert rest > 20


def test_neighbours_that_score_no_less_are_found() -> None:
    kinds = {True: 0, False: 0}
    for selection, solution, found in selections(2, 150):
        if found is not None and solution is not None:
            expected = any(solution.slacks[t] == 0 for t in selection.bad)
            assert found.has_bad_neighbours is expected
            kinds[expected] += 1
    assert min(kinds.values()) > 10


def test_a_theorem_holds_only_where_doubles_say_that_one_may() -> None:
    """At random points at random distances along p_mm: near 0 nothing holds, and far out something does."""
    rng = np.random.default_rng(3)
    held = dismissed = 0
    for selection, solution, found in selections(3, 250):
        if found is None or solution is None or not selection.bad or found.has_bad_neighbours:
            continue
        with working_precision(64):
            constants = SelectionConstants(selection, LOGISTIC, solution)
            rule = Rule(GRADIENT, fmpq(1), selection.tokens.count)
            for distance in (0, 1, 8, 64):
                point = distance * found.solution + 0.3 * rng.standard_normal(len(found.solution))
                start = [arb(x) for x in point]
                trial = find_trial(constants, rule, start)
                holds = not isinstance(trial, Failure) or find_tube(constants, rule, start) is not None
                assert found.may_hold(point) or not holds
                held, dismissed = held + holds, dismissed + (not found.may_hold(point))
    assert held > 10
    assert dismissed > 5


def test_without_bad_tokens_another_theorem_may_hold_anywhere() -> None:
    keys = ExactMatrix.rational([[fmpq(0), fmpq(1)], [fmpq(1), fmpq(0)]])
    found = prospect(TokensInDoubles(Tokens(keys, (2,), (fmpq(1), fmpq(0)))), LOGISTIC, (0,))
    assert found is not None
    assert found.may_hold(np.array([50.0, -50.0]))


def test_tokens_of_equal_keys_cannot_be_separated() -> None:
    keys = ExactMatrix.rational([[fmpq(1), fmpq(1)], [fmpq(1), fmpq(1)]])
    assert prospect(TokensInDoubles(Tokens(keys, (2,), (fmpq(1), fmpq(0)))), LOGISTIC, (0,)) is None


def test_the_heaviest_tokens_are_the_first_of_equals() -> None:
    keys = ExactMatrix.rational([[fmpq(x), fmpq(0)] for x in (0, 1, 1, 3, 2)])
    tokens = TokensInDoubles(Tokens(keys, (3, 2), (fmpq(0),) * 5))
    assert tokens.heaviest(np.array([1.0, 0.0])) == (1, 0)
    assert tokens.heaviest(np.array([-1.0, 7.0])) == (0, 1)
