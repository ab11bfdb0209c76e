"""The derivation of `joint-max-margin` notices a formula of the kernel that is not the derived one."""

from __future__ import annotations

import pytest
from wrong_formulas import assert_noticed

from certattn.theory import DERIVATIONS

BOUNDS, LOSSES = "kernel.theorems.selection.mathematics.joint_path", "kernel.mathematics.losses"
DERIVATION = DERIVATIONS["joint-max-margin"]

WRONG = [
    ("The label-margin", BOUNDS, "2 * gap / norm_squared", "gap / norm_squared"),
    ("The label-margin", BOUNDS, "/ norm_squared - square", "/ norm_squared"),
    ("The label-margin", BOUNDS, "least / (2 * self.solution.margin())", "least / self.solution.margin()"),
    ("Sums of", BOUNDS, "total + power + total * power", "total + power"),
    ("Sums of", BOUNDS, "power = fn.exp(-margin)", "power = fn.exp(margin)"),
    ("Sums of", LOSSES, "return fn.log(1 + fn.exp(-x))", "return fn.log(2 + fn.exp(-x))"),
    ("What is lost", BOUNDS, "return log_e0 - entropy", "return log_e0 - 2 * entropy"),
    ("What is lost", BOUNDS, "return -sum((w * fn.log(one * w)", "return sum((w * fn.log(one * w)"),
    ("Other weights", BOUNDS, "return (theta - 1) * (log_e0", "return theta * (log_e0"),
    ("Other weights", BOUNDS, "/ (theta - 1) for i", "/ theta for i"),
    ("The angle of the head", BOUNDS, "1 - (lost + moved) / gamma", "1 - lost / gamma"),
    ("The angle of the head", BOUNDS, "fn.sqrt(1 - cosine * cosine)", "1 - cosine"),
    ("The angle of the head", BOUNDS, "- sine(cosine, fn) * across", "+ sine(cosine, fn) * across"),
    ("The angle of the head", BOUNDS, "fn.maximum(-along, -cosine * along)", "-along"),
    ("The same head", BOUNDS, "fn.exp(gap) - 1 if", "fn.exp(gap) if"),
    ("The same head", BOUNDS, "gap * exp_remainder(1, gap, fn)", "exp_remainder(1, gap, fn)"),
    ("The same head", BOUNDS, 'return 0 * bound if loss == "exponential"', 'return 0 * bound if loss == "logistic"'),
    ("The angle of attention", BOUNDS, "(required - others) / (chosen - others)", "(required - others) / chosen"),
    ("The angle of attention", BOUNDS, "fn.log(share / (1 - share))", "fn.log(share)"),
]  # fmt: skip


@pytest.mark.parametrize(("title", "module", "right", "wrong"), WRONG, ids=[f"{w[0]}: {w[3]}" for w in WRONG])
def test_a_wrong_formula_is_noticed(title: str, module: str, right: str, wrong: str) -> None:
    steps = [step for step in DERIVATION.steps if step.title.startswith(title) and step.title != f"{title}s"]
    assert_noticed(steps, module, right, wrong)


def test_every_step_holds() -> None:
    assert all(outcome.holds for outcome in DERIVATION.prove())
