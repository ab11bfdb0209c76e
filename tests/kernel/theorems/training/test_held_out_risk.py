"""The claim `held-out-risk`: its words, its rule against simulated truth, and sabotaged kernels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corpus import Cases, check
from flint import arb, fmpq
from sabotage import Sabotage, holding, noticed

from certattn.kernel.document.certificate import loads
from certattn.kernel.mathematics import betting
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.training import held_out_risk
from certattn.kernel.theorems.training.held_out_risk import HeldOut, p_value, read
from certattn.provers.training.held_out_rule import ends, lower_end

cases = Cases("held_out_cases")


def test_the_statement_says_every_number(tmp_path: Path) -> None:
    said = check(next(cases.FOUR.cases()).text, tmp_path).statement
    for piece in (
        "At confidence 0.5, the risk R = 1/2 E (b sum_i p_i y_i - t)^2 of attention with A = (1) and b = 1 is at least "
        "0.029 and at most 0.6234",
        "Observed: 4 prompts of 2 tokens",
        "absolute values of at most 1 with certainty, and parameters, bound, probability and the number of prompts",
        "both ends are no sharper than those of a rule that is fixed beforehand",
        "that rule fails with probability at most 0.5",
    ):
        assert piece in said, said
    said = check(next(cases.NINE.cases()).text, tmp_path).statement
    assert "2, 1, 2, 1, 2, 1, 2, 1, 1 tokens in this order" in said
    assert "certainty" not in said
    assert "the end is no sharper than that of a rule" in said


# -- the rule, beside other computations of it


def test_losses_are_those_of_a_softmax(tmp_path: Path) -> None:
    stated = read(loads(next(cases.FOUR.cases()).text, tmp_path / "case.yaml"))
    with working_precision(64):
        losses = [float(loss) for loss in stated.held_out.losses()]
    tokens = np.array([[1, -1], [1, -1], [1, 1], [-1, 1]], float)
    labels = np.array([[1, -1], [-1, 1], [1, 1], [1, -1]], float)
    queries, targets = np.array([1, 1, -1, -1.0]), np.array([1, -1, 0.5, 1])
    weights = np.exp(tokens * queries[:, None])
    expected = ((weights * labels).sum(axis=1) / weights.sum(axis=1) - targets) ** 2 / 2
    assert np.allclose(losses, expected, rtol=1e-13)


@pytest.mark.heavy
def test_the_rule_fails_no_more_often_than_it_says() -> None:
    """Of rare and large losses, of losses that are alike, and of two laws by turns: 2,000 times 60 prompts each."""
    bits = np.random.default_rng(7)
    chance, size, times = 0.05, 60, 2_000
    draws = {
        0.05: lambda: (bits.random(size) < 0.05) * 1.0,
        0.5: lambda: bits.random(size),
        0.3: lambda: np.where(np.arange(size) % 2, 0.6 * bits.random(size), (bits.random(size) < 0.3) * 1.0),
        0.95: lambda: 1.0 - (bits.random(size) < 0.05),
    }
    for mean, draw in draws.items():
        found = [ends(draw(), 1.0, chance) for _ in range(times)]
        low, high = (sum(below) for below in zip(*((a > mean, b < mean) for a, b in found), strict=True))
        # Three standard errors above the chance.
        most = times * chance + 3 * (times * chance) ** 0.5
        assert max(low, high) < most


def test_the_prover_finds_where_the_rule_turns() -> None:
    bits = np.random.default_rng(8)
    numbers, chance = bits.random(50) ** 3, fmpq(1, 40)
    end = lower_end(numbers, 1 / 40)
    with working_precision(128):
        balls = [arb(float(number)) for number in numbers]
        below, above = (p_value(balls, fmpq(*(end * factor).as_integer_ratio())) for factor in (1 - 1e-9, 1 + 1e-9))
    assert (below <= chance) is True
    assert (above > chance) is True


def test_numbers_that_are_all_alike_are_bet_on_with_everything() -> None:
    with working_precision(64):
        assert float(p_value([arb(1)] * 4, fmpq(1, 2))) == 1 / 16
        assert p_value([arb(1)] * 4, fmpq(0)) == 0
        assert p_value([arb(1)] * 4, fmpq(2)) == 1


# -- kernels with one part sabotaged

SABOTAGE: dict[str, Sabotage] = {
    "nothing is looked at": (held_out_risk, "Obligation", holding("<=")),
    "losses are 0": (HeldOut, "losses", lambda self: [arb(0)] * self.prompts.count),
    "losses without the half": (
        HeldOut, "losses", lambda self, losses=HeldOut.losses: [2 * loss for loss in losses(self)]),
    "the largest loss is that of the target alone": (
        HeldOut, "largest_loss", property(lambda self: self.given[held_out_risk.LARGEST] ** 2 / 2)),
    "each side may err with the whole probability": (
        HeldOut, "chance", property(lambda self: self.given[held_out_risk.PROBABILITY])),
    "nothing is above the largest": (held_out_risk, "_largest", lambda column: fmpq(0)),
    "one bet": (betting, "bets", lambda length: [fmpq(1)]),
    "the best bet alone": (betting, "bets", lambda length: [fmpq(1, 2)]),
    "bets of debtors": (betting, "bets", lambda length: [fmpq(3, 2)]),
    "the p-value is 0": (held_out_risk, "p_value", lambda numbers, mean: arb(0)),
}  # fmt: skip


test_a_sabotaged_kernel_fails = noticed(cases.CASES, SABOTAGE)


def test_an_average_of_two_laws(tmp_path: Path) -> None:
    """E prod (1 + c (X_n - r)/r) <= 1 where only the average of the means is r, exactly for two points each."""
    means = [fmpq(1, 4), fmpq(3, 4)]
    total: Any = fmpq(0)
    for first in (0, 1):
        for second in (0, 1):
            chance = (means[0] if first else 1 - means[0]) * (means[1] if second else 1 - means[1])
            with working_precision(64):
                total += chance * betting.wealth([arb(2 * x - 1) for x in (first, second)])
    assert (total < 1) is True
