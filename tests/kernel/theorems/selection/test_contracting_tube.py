"""Theorem T of `selection-direction`: a sabotaged kernel, and descents that stay where it says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from corpus import Cases
from flint import arb, fmpq
from sabotage import Sabotage, always, noticed
from selection_instances import random_instance

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.token_selection import Selection
from certattn.kernel.theorems.selection.mathematics import contracting_tube
from certattn.kernel.theorems.selection.mathematics.contracting_tube import (
    TubeConvergence,
    drifted,
    smallest_pivot,
)
from certattn.kernel.theorems.selection.mathematics.frames import Frame
from certattn.kernel.theorems.selection.mathematics.margin_points import hard_margin
from certattn.kernel.theorems.selection.mathematics.selection_constants import (
    FLOW,
    GRADIENT,
    NORMALISED,
    Rule,
    SelectionConstants,
)
from certattn.provers.selection.active_set import NotSeparableError
from certattn.provers.selection.quadratic_program import max_margin_multipliers
from certattn.provers.selection.tube_trial import find_tube

cases = Cases("local_cases")
TUBE = [case for case in cases.CASES if "tube" in case.name]

SABOTAGE: dict[str, Sabotage] = {
    "a start inside": (TubeConvergence, "inside", always(arb(0))),
    "nothing beside": (TubeConvergence, "outside", always(arb(0))),
    "every covariance is large": (contracting_tube, "smallest_pivot", lambda table: arb(1)),
    "no push": (TubeConvergence, "drift", always(arb(0))),
    "a strong pull": (contracting_tube, "contraction", lambda *numbers: arb(10) ** 9),
    "an offset of 0": (TubeConvergence, "offset", lambda self, total: arb(0)),
    "far out": (TubeConvergence, "reached", lambda self, elapsed: (arb(10) ** 9, arb(10) ** 9)),
    "no swerve": (contracting_tube, "sum_of_squares", lambda terms, move: arb(0)),
    "straight ahead": (TubeConvergence, "straightness", always((arb(1), arb(0)))),
    "a steep argument": (TubeConvergence, "argument", lambda self, elapsed: (arb(10) ** 9, arb(10) ** 9)),
}

test_a_sabotaged_kernel_fails = noticed(TUBE, SABOTAGE)


def test_a_frame_is_orthonormal_and_spans_the_rows() -> None:
    rng = np.random.default_rng(3)
    for rank, dimension in ((0, 3), (1, 4), (2, 4), (4, 4)):
        factor = rng.integers(-5, 6, (5, rank)) @ rng.integers(-5, 6, (rank, dimension))
        table = ExactMatrix.rational([[fmpq(int(x), 3) for x in row] for row in factor])
        with working_precision(128):
            frame = Frame(table)
            rows = np.array([[float(x) for x in row] for row in frame.rows]).reshape(-1, dimension)
            rests = [float(entry) for row in table.to_rows() for entry in frame.beside([arb(x) for x in row])]
        assert frame.rank == np.linalg.matrix_rank(factor.astype(float)) == len(rows)
        assert np.allclose(rows @ rows.T, np.eye(len(rows)))
        assert np.allclose(rests, 0)


def test_pivots_tell_what_is_positive_definite() -> None:
    rng = np.random.default_rng(4)
    for _ in range(100):
        factor = rng.standard_normal((3, 3))
        table = factor @ factor.T - rng.choice([0.1, 0.5, 2]) * np.eye(3)
        positive = (smallest_pivot([[arb(x) for x in row] for row in table]) > 0) is True
        assert positive is bool(np.linalg.eigvalsh(table)[0] > 0)


def tubes(kind: str, seed: int, trials: int) -> Iterator[tuple[TubeConvergence, np.ndarray, np.ndarray]]:
    """Points of random instances at which the theorem holds, by some rule, and the directions."""
    rng = np.random.default_rng(seed)
    for _ in range(trials):
        instance = random_instance(int(rng.integers(10**6)))
        tokens = instance.selection.tokens
        selection = Selection(tokens, tuple(int(rng.integers(length)) for length in tokens.lengths))
        try:
            solution = hard_margin(selection.differences, max_margin_multipliers(selection.differences))
        except NotSeparableError:
            continue
        if any(solution.slacks[t] == 0 for t in selection.bad):
            continue
        constants = SelectionConstants(selection, instance.loss, solution)
        rule = Rule(kind, None if kind == FLOW else fmpq(1, 10 if kind == NORMALISED else 1), tokens.count)
        u = np.array([float(x) for x in constants.direction])
        start = float(rng.choice([4, 8, 16])) / float(constants.margin) * u + 0.2 * rng.standard_normal(len(u))
        trial = find_tube(constants, rule, [arb(x) for x in start])
        if trial is not None:
            yield TubeConvergence(constants, rule, [arb(x) for x in start], trial), start, u


@pytest.mark.heavy
@pytest.mark.parametrize("kind", [GRADIENT, NORMALISED, FLOW])
def test_descents_stay_in_their_tubes(kind: str) -> None:
    """For 400 steps after points of random instances at which the theorem holds; the flow by short steps."""
    with working_precision(64):
        found = [_walked(proof, start, u, 400) for proof, start, u in tubes(kind, 5, 200)]
    assert len(found) >= 10


@pytest.mark.parametrize("kind", [GRADIENT, NORMALISED, FLOW])
def test_what_is_said_from_the_other_side_is_what_the_page_says(kind: str) -> None:
    """In doubles, with what the other tests are about taken from the proof: the weights, and the bound of |y'|."""
    inputs, clipped = set(), 0
    rng = np.random.default_rng(7)
    with working_precision(64):
        for held, start, u in tubes(kind, 6, 150):
            # Of another reference, too: the formulas do not ask for conditions.
            shift = fmpq(int(rng.integers(0, 3)), 2)
            other = ExactMatrix.row_vector([x + shift * (i % 2) for i, x in enumerate(held.trial.reference.row(0))])
            trial = replace(held.trial, reference=other)
            proof = TubeConvergence(held.constants, held.rule, [arb(x) for x in start], trial)
            for elapsed in (0, 7, 1000):
                wanted = _from_the_other_side(proof, start, u, elapsed)
                at = fmpq(elapsed)
                found = [proof.least_angle(at), proof.most_norm(at), 1 - proof.most_weight(at), proof.least_gap(at)]
                assert np.allclose([float(x) for x in found], wanted, rtol=1e-6, atol=1e-18)
                clipped += wanted[0] == 0
            inputs.add(len(proof.constants.scores))
    assert len(inputs) > 1
    assert clipped > 0


def test_a_loss_that_bad_tokens_may_bring_below_its_limit_is_so_low_at_the_least_height() -> None:
    seen = 0
    with working_precision(64):
        for proof, _, _ in tubes(GRADIENT, 6, 150):
            if not proof.near.reaches:
                continue
            proof.near.reaches = {t: 10**6 * reach for t, reach in proof.near.reaches.items()}
            k, (nearest, total) = proof.constants, proof.reached(fmpq(7))
            share = float(proof.least_weight(fmpq(7)) * k.concentration)
            for t, reach in proof.near.reaches.items():
                size = k.slopes[k.input_of[t]] * abs(k.selection.gaps[t]) * reach
                share -= float(size * (-k.slacks[t] * proof.near.forward * total).exp())
            if share < 0:
                wanted = share * np.exp(-float(k.margin * nearest)) / proof.rule.inputs
                assert np.isclose(float(proof.least_gap(fmpq(7))), wanted, rtol=1e-9, atol=0)
                seen += 1
    assert seen > 0


def _from_the_other_side(proof: TubeConvergence, start: np.ndarray, u: np.ndarray, elapsed: int) -> list[float]:
    k, near, rule, nu = proof.constants, proof.near, proof.rule, float(proof.trial.aside)
    number = lambda x: float(arb(x))  # noqa: E731
    table = np.array([[number(x) for x in row] for row in k.across.to_rows()])
    slacks, xi, w, x = np.array([number(d) for d in k.slacks]), number(k.margin), number(k.concentration), start @ u
    q = np.array([number(x) for x in proof.trial.reference.row(0)])
    q = q - (q @ u) * u
    neighbours = [j for j in k.good if k.solution.slacks[j] == 0]
    others = [j for j in k.good if k.solution.slacks[j] != 0]
    _, sizes, axes = np.linalg.svd(table[neighbours], full_matrices=False)
    axes = axes[sizes > 1e-9]
    along, beside = np.linalg.norm(table @ axes.T, axis=1), np.linalg.norm(table - table @ axes.T @ axes, axis=1)
    gains = {j: number(gain) for j, gain in k.gains.items()}
    rho, far, total = number(proof.trial.radius), *map(float, proof.reached(fmpq(elapsed)))
    f = {j: gains[j] / w * np.exp(-slacks[j] * x - table[j] @ q + beside[j] * nu + along[j] * rho) for j in others}
    masses = np.array([gains[j] * np.exp(-table[j] @ q) for j in neighbours])
    mean = masses @ table[neighbours] / masses.sum()
    apart = table[neighbours][:, None] - table[neighbours][None]
    diameter = np.linalg.norm(apart, axis=2).max()
    top = masses.sum() * np.exp(np.linalg.norm(mean) * rho + diameter**2 * rho**2 / 8) + w * sum(f.values())
    bad = {t: float(near.kappas[t]) * float(reach) for t, reach in near.reaches.items()}
    pace = xi + float(near.high) / float(near.low) * sum(f[j] * slacks[j] for j in others)
    pace += sum(weight * number(k.heights[t]) for t, weight in bad.items())
    h, move = number(rule.unit), float(proof.move)
    factor = np.expm1(xi * pace * move) / (xi * pace * move) if move else 1.0
    rise = xi * pace * h * float(near.high) * top * factor
    highest = x + h * elapsed if rule.kind == NORMALISED else np.log(np.exp(xi * x) + rise * elapsed) / xi
    offset = float(proof.offset(arb(total)))
    inside, outside = np.linalg.norm(axes @ q), np.linalg.norm(q - axes.T @ (axes @ q))
    across = np.hypot(max(inside - offset, 0), max(outside - nu, 0))
    angle = 1 - 1 / np.sqrt(1 + (across / highest) ** 2)
    if across / highest < 1e-4:
        angle = (across / highest) ** 2 / 2
    norm = np.sqrt(highest**2 + (inside + offset) ** 2 + (outside + nu) ** 2)
    sums = dict.fromkeys(k.scores, 0.0)
    for j in neighbours:
        sums[k.input_of[j]] += np.exp(-xi * highest - table[j] @ q - along[j] * offset)
    lacking = max(sums.values()) / (1 + max(sums.values()))
    share = w * float(proof.least_weight(fmpq(elapsed)))
    for t, reach in near.reaches.items():
        size = float(k.slopes[k.input_of[t]]) * abs(number(k.selection.gaps[t])) * float(reach)
        share -= size * np.exp(-slacks[t] * float(near.forward) * total)
    gap = share * np.exp(-xi * (highest if share > 0 else far)) / rule.inputs
    return [angle, norm, lacking, gap]


def _walked(proof: TubeConvergence, point: np.ndarray, u: np.ndarray, steps: int) -> None:
    k, trial, rule = proof.constants, proof.trial, proof.rule
    q = np.array([float(x) for x in trial.reference.row(0)])
    q = q - (q @ u) * u
    frame = Frame(k.across.take_rows([j for j in k.good if k.solution.slacks[j] == 0]))
    rows = np.array([[float(x) for x in row] for row in frame.rows]).reshape(-1, len(u))
    short = fmpq(1, 20) if not rule.discrete else fmpq(1)
    for step in range(steps):
        x = float(point @ u)
        apart = point - x * u - q
        inside = rows @ apart
        far, total = proof.reached(short * step)
        assert np.linalg.norm(inside) <= float(proof.offset(total).upper()) + 1e-4
        assert np.linalg.norm(apart - rows.T @ inside) <= float(trial.aside) + 1e-9
        assert x >= float(far.lower()) - (1e-9 if rule.discrete else 1e-4)
        _bounded_from_both_sides(proof, short * step, point, u, 1e-9 if rule.discrete else 1e-4)
        downhill = _downhill(k.selection, k.loss.name, point)
        if rule.kind == NORMALISED:
            downhill = downhill / np.linalg.norm(downhill)
        point = point + float(rule.unit * short) * downhill


def _bounded_from_both_sides(
    proof: TubeConvergence, elapsed: fmpq, point: np.ndarray, u: np.ndarray, error: float
) -> None:
    weight, gap = _weight_and_gap(proof.constants.selection, proof.constants.loss.name, point)
    norm = float(np.linalg.norm(point))
    sine = float(np.linalg.norm(point - (point @ u) * u)) / norm
    angle = sine**2 / (1 + np.sqrt(1 - sine**2))
    gap /= proof.rule.inputs
    assert float(proof.farthest(elapsed).upper()) >= point @ u - error
    for low, value, high in (
        (proof.least_angle(elapsed), angle, proof.at(elapsed)),
        (proof.least_norm(elapsed), norm, proof.most_norm(elapsed)),
        (proof.least_gap(elapsed), gap, proof.loss_gap(elapsed)),
        (1 - proof.most_weight(elapsed), 1 - weight, 1 - proof.least_weight(elapsed)),
    ):
        assert float(low.lower()) <= value * (1 + 10 * error) + 1e-12
        assert float(high.upper()) >= value * (1 - 10 * error) - 1e-12


@pytest.mark.parametrize("seed", range(20))
def test_what_is_pushed_stays_within_its_drift(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pull, move, inside = rng.uniform(0.05, 0.5), rng.uniform(0.1, 1), rng.uniform(0, 2)
    sizes, rates = rng.uniform(0, 1, 4), np.append(0, rng.uniform(0.01, 3, 3))
    with working_precision(64):
        pushes = [(arb(size), arb(rate)) for size, rate in zip(sizes, rates, strict=True)]
        bound = float(drifted(arb(inside), pushes, arb(pull), arb(move)).upper())
    far, way = inside, 0.0
    for _ in range(400):
        step = rng.uniform(0, move)
        far = (1 - pull * step) * far + step * float(sizes @ np.exp(-rates * way))
        way += step
        assert far <= bound * (1 + 1e-9)


@pytest.mark.parametrize("pull", ["0", "-1", "0 +/- 1", "nan"])
def test_nothing_is_held_without_a_pull(pull: str) -> None:
    assert not drifted(arb(0), [(arb(1), arb(0))], arb(pull), arb(1)).is_finite()


def _downhill(selection: Selection, loss: str, point: np.ndarray) -> np.ndarray:
    """-grad F in doubles, with weights relative to those of the chosen tokens, so that nothing cancels."""
    table = np.array([[float(x.p) / float(x.q) for x in row] for row in selection.differences.to_rows()])
    gaps = np.array([float(x.p) / float(x.q) for x in selection.gaps])
    total = np.zeros(len(point))
    for i, positions in selection.pairs_of.items():
        z, g = table[positions], gaps[positions]
        weights = np.exp(-z @ point)
        weights /= 1 + weights.sum()
        gap = weights @ g
        score = float(selection.score(i).p) / float(selection.score(i).q) - gap
        slope = {"linear": 1.0, "logistic": 1 / (1 + np.exp(score)), "exponential": np.exp(-score)}[loss]
        total += slope * (weights * (g - gap)) @ z
    return total


def _weight_and_gap(selection: Selection, loss: str, point: np.ndarray) -> tuple[float, float]:
    """The least weight of a chosen token, and F, in doubles without cancellation."""
    table = np.array([[float(x.p) / float(x.q) for x in row] for row in selection.differences.to_rows()])
    gaps = np.array([float(x.p) / float(x.q) for x in selection.gaps])
    weights, total = [], 0.0
    for i, positions in selection.pairs_of.items():
        powers = np.exp(-table[positions] @ point)
        weights.append(1 / (1 + powers.sum()))
        gap, score = weights[-1] * powers @ gaps[positions], float(selection.score(i).p) / float(selection.score(i).q)
        total += {
            "linear": gap,
            "logistic": np.log1p(np.expm1(gap) / (1 + np.exp(score))),
            "exponential": np.exp(-score) * np.expm1(gap),
        }[loss]
    return min(weights), float(total)
