"""Theorems A and A2 on random instances: no long run ever exceeds a bound."""

from __future__ import annotations

import numpy as np
import pytest
from flint import arb, fmpq
from selection_instances import Instance, number, random_instance

from certattn.kernel.decide.proof import Outcome, Proof
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.selection_landscape import landscape
from certattn.kernel.theorems.selection.direction_theorems import EVERY_START, GLOBAL, Situation
from certattn.kernel.theorems.selection.mathematics.global_selection import GlobalBasin
from certattn.kernel.theorems.selection.mathematics.margin_points import MaxMargin, hard_margin
from certattn.kernel.theorems.selection.mathematics.selection_constants import FLOW, GRADIENT, Rule, SelectionConstants
from certattn.provers.selection.active_set import NotSeparableError
from certattn.provers.selection.quadratic_program import max_margin_multipliers

BITS, STEPS = 100, 800


def solved(instance: Instance) -> MaxMargin | None:
    try:
        return hard_margin(instance.selection.differences, max_margin_multipliers(instance.selection.differences))
    except NotSeparableError:
        return None


def step_of(instance: Instance, constants: SelectionConstants, rng: np.random.Generator) -> fmpq:
    """A step eta, often the longest one that is allowed everywhere."""
    inputs = instance.selection.tokens.count
    longest = 1.9 / float(constants.curvature_bound) * inputs
    return fmpq(int(1000 * rng.choice([0.1, 1, 10, longest])) + 1, 1000)


@pytest.mark.heavy
@pytest.mark.parametrize("block", range(6))
def test_no_long_run_exceeds_a_bound(block: int) -> None:
    applied = 0
    for seed in range(25 * block, 25 * block + 25):
        instance = random_instance(seed, equal=seed % 2 == 0)
        solution = solved(instance)
        if solution is None:
            continue
        rng = np.random.default_rng(seed)
        with working_precision(BITS):
            constants = SelectionConstants(instance.selection, instance.loss, solution)
            eta = step_of(instance, constants, rng)
            rule = Rule(GRADIENT, eta, instance.selection.tokens.count)
            point = 2 * rng.normal(size=instance.selection.tokens.dimension)
            for before in (0, 40):
                for _ in range(before):
                    point = point - number(eta) / rule.inputs * instance.gradient(point)
                applied += _held(instance, constants, rule, point)
    assert applied > 10


def _held(instance: Instance, constants: SelectionConstants, rule: Rule, start: np.ndarray) -> int:
    """How many theorems apply at the point; each of them is followed."""
    surface = landscape(instance.selection, instance.loss)
    situation = Situation(constants, surface, rule, [arb(float(x)) for x in start])
    u = np.array([float(x) for x in constants.direction])
    rates = []
    for theorem, parameters in ((GLOBAL, None), (EVERY_START, fmpq(0)), (EVERY_START, fmpq(100))):
        conclusion = theorem.apply(lambda: situation, parameters, instance.selection, ())
        proof = Proof(conclusion.conditions)
        proof.ask(proof.obligations, BITS)
        if all(answer.outcome is Outcome.PROVED for answer in proof.answers.values()):
            assert conclusion.rate is not None
            rates.append((int((parameters or fmpq(0)).p), conclusion.rate()))
    point, h = start.copy(), number(rule.step) / rule.inputs
    excess = instance.excess(start)
    for k in range(STEPS + 1 if rates else 0):
        if k % 20 == 0:
            value = 1 - point @ u / np.linalg.norm(point)
            for begins, rate in rates:
                assert k < begins or value <= float(rate.at(fmpq(k - begins))) + 1e-12
            later = instance.excess(point)
            assert k == 0 or later < excess or later < 1e-12
            excess = later
        point = point - h * instance.gradient(point)
    return len(rates)


@pytest.mark.parametrize("seed", range(0, 120))
def test_the_inequalities_of_the_proof(seed: int) -> None:
    """Lemma 2 and the bound K_2 F, at random points where F < a*."""
    instance = random_instance(seed)
    solution = solved(instance)
    if solution is None:
        return
    rng = np.random.default_rng(seed)
    with working_precision(BITS):
        constants = SelectionConstants(instance.selection, instance.loss, solution)
        u, margin = np.array([float(x) for x in constants.direction]), float(constants.margin)
        for scale in (1, 4, 16):
            point = scale * u / margin + rng.normal(size=len(u))
            F = instance.excess(point)
            basin = GlobalBasin(constants, Rule(GRADIENT, fmpq(1), 1), arb(F), arb(float(np.linalg.norm(point))))
            if F < 1e-6 or not float(basin.threshold) > F:
                continue
            gradient, along = instance.gradient(point), point @ u
            slack = 1e-6 * (1 + abs(along))
            assert -gradient @ u >= margin * float(basin.selected) * F * (1 - 1e-6)
            assert margin * along >= np.log(float(basin.start)) - slack
            assert np.linalg.norm(instance.hessian(point), 2) <= float(basin.bend) * F + 1e-5


def test_flow_is_the_limit_of_short_steps() -> None:
    instance = random_instance(4)
    solution = solved(instance)
    assert solution is not None
    with working_precision(BITS):
        constants = SelectionConstants(instance.selection, instance.loss, solution)
        excess, norm = arb(0.001), arb(9)
        step = fmpq(1, 10**15)
        flow = GlobalBasin(constants, Rule(FLOW, None, 1), excess, norm)
        short = GlobalBasin(constants, Rule(GRADIENT, step, 1), excess, norm)
        assert (flow.overshoot == 0) is True
        assert float(flow.numerator) == pytest.approx(float(short.numerator), rel=1e-9)
        assert float(flow.slope) == pytest.approx(float(short.slope / step), rel=1e-9)
