"""Lemmas 3 and 4 against the gradient itself, at random points of random instances, in doubles."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
from flint import arb, fmpq

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.losses import LOSSES
from certattn.kernel.mathematics.token_selection import Selection, Tokens
from certattn.kernel.theorems.selection.mathematics.local_convergence import (
    LocalConvergence,
    LocalTrial,
    NearbyWeights,
    decaying_sum,
    largest_weight,
    progress,
)
from certattn.kernel.theorems.selection.mathematics.margin_points import hard_margin
from certattn.kernel.theorems.selection.mathematics.selection_constants import FLOW, Rule, SelectionConstants
from certattn.provers.selection.active_set import NotSeparableError
from certattn.provers.selection.local_trial import locally_optimal_by
from certattn.provers.selection.quadratic_program import max_margin_multipliers

ROUNDING = 1e-9


def instances(seed: int, count: int) -> Iterator[tuple[SelectionConstants, np.random.Generator]]:
    """Random selections that are locally optimal, with bad tokens and without."""
    rng = np.random.default_rng(seed)
    found = 0
    while found < count:
        dimension = int(rng.integers(2, 5))
        lengths = tuple(int(length) for length in rng.integers(1, 6, size=int(rng.integers(1, 4))))
        rows = np.round(rng.normal(size=(sum(lengths), dimension)), 2)
        scores = np.round(rng.normal(size=sum(lengths)), 2)
        keys = ExactMatrix.rational([[fmpq(round(100 * x), 100) for x in row] for row in rows])
        tokens = Tokens(keys, lengths, tuple(fmpq(round(100 * x), 100) for x in scores))
        selection = Selection(tokens, tuple(int(rng.integers(length)) for length in lengths))
        if not selection.pairs:
            continue
        try:
            solution = hard_margin(selection.differences, max_margin_multipliers(selection.differences))
        except NotSeparableError:
            continue
        constants = SelectionConstants(selection, LOSSES[["linear", "logistic", "exponential"][found % 3]], solution)
        slack = locally_optimal_by(constants)
        if slack is None or slack > 0:
            found += 1
            yield constants, rng


class Point:
    """Everything at one point by its definition, in doubles."""

    def __init__(self, k: SelectionConstants, point: np.ndarray) -> None:  # type: ignore[type-arg]
        s = k.selection
        self.z = np.array([[float(x) for x in map(arb, row)] for row in s.differences.to_rows()])
        self.g = np.array([float(arb(x)) for x in s.gaps])
        self.u = np.array([float(x) for x in k.direction])
        self.E = np.exp(-self.z @ point)
        self.x = float(point @ self.u)
        inputs = np.array([pair.input for pair in s.pairs])
        self.omega = np.zeros(len(self.g))
        self.c, self.F, self.least_weight = np.zeros(len(self.g)), 0.0, 1.0
        for i in set(inputs):
            mine, score = inputs == i, float(arb(s.score(i)))
            share = self.E[mine] / (1 + self.E[mine].sum())
            mean = float(share @ self.g[mine])
            self.least_weight = min(self.least_weight, 1 / (1 + self.E[mine].sum()))
            self.F += float(k.loss.excess(arb(score), arb(mean)))
            self.omega[mine] = float(k.loss.slope(arb(score - mean))) * share * (self.g[mine] - mean)
            self.c[mine] = float(k.loss.slope(arb(score)))
        self.good, self.bad = list(k.good), list(k.bad)
        strength = (self.c * self.g * self.E)[self.good]
        self.P, self.W = strength.sum(), self.omega[self.good].sum()
        self.v = strength @ self.z[self.good] / self.P
        self.V = self.omega[self.good] @ self.z[self.good] / self.W
        self.e = self.omega[self.bad] @ self.z[self.bad] / self.W
        self.r = {t: self.E[t] * math.exp(float(k.margin) * self.x) for t in self.bad}


def demoted(k: SelectionConstants, rng: np.random.Generator) -> SelectionConstants:
    """The same, with good tokens of more than some slack among the bad ones."""
    return k.within(k.solution.slacks[int(rng.choice(k.good))])


@pytest.mark.parametrize("far", [False, True], ids=["all good tokens", "far ones demoted"])
def test_lemma_3_holds_at_random_points(far: bool) -> None:
    applied, rising = 0, 0
    with working_precision(64):
        for given, rng in instances(1, 120):
            k = demoted(given, rng) if far else given
            for distance in (2.0, 5.0, 12.0):
                u = np.array([float(x) for x in k.direction])
                at = Point(k, u * distance / float(k.margin) + rng.normal(size=len(u)) * 0.2)
                # Bounds that the point keeps, as wide as the lemma allows them to be.
                level, wider = at.P * rng.uniform(1, 3), rng.uniform(1, 3)
                near = NearbyWeights(k, arb(level), {t: arb(r * wider) for t, r in at.r.items()})
                if (near.smallest_factor > 0) is not True:
                    continue
                applied += 1
                low, high = float(near.low), float(near.high)
                assert low * at.P <= at.W * (1 + ROUNDING)
                assert high * at.P * (1 + ROUNDING) >= at.W
                spread = at.P / level * float(near.spread)
                assert np.linalg.norm(at.V - at.v) <= spread + ROUNDING
                assert np.linalg.norm(at.e) <= float(near.error) + ROUNDING
                for t in at.bad:
                    assert abs(at.omega[t]) / at.W <= float(near.kappas[t]) * at.r[t] * (1 + ROUNDING)
                rising += any(k.selection.gaps[t] > 0 for t in at.bad)
                assert float(near.excess(arb(at.P))) * (1 + ROUNDING) >= at.F
                assert at.least_weight >= float(near.least_weight(arb(at.P))) * (1 - ROUNDING)
                assert at.V @ at.u >= float(k.margin) - ROUNDING
                assert float(k.concentration) * math.exp(-float(k.margin) * at.x) <= at.P * (1 + ROUNDING)
    assert applied > 150
    assert (rising > 50) is far


def test_lemma_4_holds_for_one_step() -> None:
    applied = 0
    with working_precision(64):
        for k, rng in instances(2, 120):
            u = np.array([float(x) for x in k.direction])
            point = u * rng.uniform(2, 12) / float(k.margin) + rng.normal(size=len(u)) * 0.2
            at = Point(k, point)
            near = NearbyWeights(k, arb(at.P), {t: arb(r) for t, r in at.r.items()})
            if (near.smallest_factor > 0) is not True:
                continue
            move = rng.uniform(0, 1) * float(k.margin)
            chi = float(progress(near.spread, near.error, arb(move), k.good_diameter, k.margin))
            after = Point(k, point + move * (at.V + at.e))
            assert after.x - at.x >= move * float(near.forward) - ROUNDING
            if chi >= 0:
                applied += 1
                assert math.log(at.P / after.P) >= chi * float(k.margin) ** 2 * move - ROUNDING
    assert applied > 30


@pytest.mark.parametrize("rate", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("move", [1e-9, 0.1, 5.0])
def test_decaying_sums_bound_sums_of_any_moves(rate: float, move: float) -> None:
    rng = np.random.default_rng(3)
    bound = float(decaying_sum(arb(rate), arb(move)))
    assert bound == pytest.approx(move / -math.expm1(-rate * move), rel=1e-9)
    for _ in range(50):
        moves = rng.uniform(0, move, size=500)
        sigma = np.concatenate([[0], np.cumsum(moves)[:-1]])
        assert (moves * np.exp(-rate * sigma)).sum() <= bound * (1 + ROUNDING)
    constant = np.arange(100_000) * move
    assert move * np.exp(-rate * constant).sum() <= bound * (1 + ROUNDING)


def test_the_sum_without_moves_is_that_of_the_flow() -> None:
    assert decaying_sum(arb(4), arb(0)).overlaps(arb(1) / 4)


@pytest.mark.parametrize(("bottom", "weight"), [(15, fmpq(17, 2)), (3, fmpq(4))])
def test_the_largest_weight_is_that_of_the_worse_bound(bottom: int, weight: fmpq) -> None:
    # 1 + max((1/4) 6 / (1/2), bottom / 2)
    slope, curvature, gap, top = arb(1) / 2, arb(1) / 4, fmpq(2), arb(6)
    assert largest_weight(slope, curvature, gap, top, arb(bottom)) == arb(weight)


def test_a_product_of_two_negative_factors_is_no_proof() -> None:
    """A hundred good tokens (1, 0) and a bad one (3/2, 3): both factors of theta_- are negative near 0."""
    rows = [[fmpq(1), fmpq(1)], *([[fmpq(0), fmpq(1)]] * 100), [fmpq(-1, 2), fmpq(-2)]]
    keys = ExactMatrix.rational(rows)
    tokens = Tokens(keys, (102,), (fmpq(0), *([fmpq(-1)] * 100), fmpq(1)))
    selection = Selection(tokens, (0,))
    constants = SelectionConstants(
        selection, LOSSES["linear"], hard_margin(selection.differences, {j: fmpq(1, 100) for j in range(100)})
    )
    level = 100 * (arb(-1) / 2).exp()
    near = NearbyWeights(constants, level, {100: (arb(-1) / 4).exp()})
    assert near.low > 0
    assert near.smallest_factor < 0


def test_what_neighbours_add_to_the_weights_is_in_the_excess() -> None:
    """kappa of Theorem D for the flow: sum over good j of c_j g_j / w e^(-delta_j x - <z_j^, q>), less 1."""
    seen = 0
    for k, rng in instances(11, 30):
        dimension = k.selection.differences.columns
        reference = rng.integers(-9, 10, size=dimension) / 4
        row = ExactMatrix.row_vector([fmpq(int(4 * x), 4) for x in reference])
        start = [3 * x for x in map(arb, k.solution.solution.row(0))]
        trial = LocalTrial(
            row, {t: fmpq(1, 2) for t in k.bad}, fmpq(2), fmpq(0), fmpq(1, 2), fmpq(0), fmpq(10**6), fmpq(0)
        )
        proof = LocalConvergence(k, Rule(FLOW, None, 1), start, trial)
        point = Point(k, reference)
        x = 3 / float(k.margin)
        shares = np.array([float(k.gains[j]) / float(k.concentration) for j in k.good])
        slacks = np.array([float(k.slacks[j]) for j in k.good])
        across = (point.z @ (reference - point.x * point.u))[list(k.good)]
        neighbours = float(np.sum(shares * np.exp(-slacks * x - across))) - 1
        assert float(proof.growth * k.margin / 2) == pytest.approx(max(0, neighbours), rel=1e-9, abs=1e-9)
        seen += neighbours > 0.01
    assert seen > 10
