"""A derivation must notice a kernel whose rates of training are not the derived ones."""

from __future__ import annotations

import pytest

from certattn.theory import DERIVATIONS
from certattn.theory.derivation import prove
from certattn.theory.kernel_reading import Kernel, source_of

RATES = "kernel.theorems.training.training_convergence"
TASK = "kernel.theorems.training.regression"

WRONG = [
    (0, "square_root = root(2 * risk)\n        far", "square_root = root(risk)\n        far"),
    (0, "/ root(self.trace_fourth)", "/ self.trace_fourth"),
    (0, "root * root(self.trace_inverse_fifth)", "root * self.trace_inverse_fifth"),
    (0, "far.max(near).max(0 * risk)", "far.max(near)"),
    (0, "/ root(self.smallest) / self.smallest", "/ self.smallest"),
    (1, "4 * product * product", "2 * product * product"),
    (1, "- invariant) / 2", "+ invariant) / 2"),
    (2, "return l * l * l * task.squared_factor", "return l * l * task.squared_factor"),
    (2, "return 2 * self.rate(risk)", "return 4 * self.rate(risk)"),
    (3, "return 2 * self.step * self.first_risk", "return self.step * self.first_risk"),
    (3, "abs(self.invariant) + self.drift", "abs(self.invariant)"),
    (3, "squared_factor(self.invariant + self.drift", "squared_factor(self.invariant"),
    (3, "squared_factor(self.invariant - self.drift", "squared_factor(self.invariant"),
    (3, "square + square_root * square_root / square", "square + square_root / square"),
    (3, "lam * root(lam) * root(2 * risk)", "lam * root(2 * risk)"),
    (4, "self.smoothness(risk) / 2", "self.smoothness(risk) / 4"),
    (4, "return self.share(risk) * l", "return l"),
    (4, "1 - 2 * self.step * self.rate(risk)", "1 - 4 * self.step * self.rate(risk)"),
    (4, "self.step * risk / self.share(risk)", "self.step * risk"),
    (4, "2 * risk / (self.share(risk) * self.rate(risk))", "2 * risk / self.rate(risk)"),
]


@pytest.mark.parametrize(("index", "old", "new"), WRONG, ids=[new for _, _, new in WRONG])
def test_a_wrong_formula_is_noticed(index: int, old: str, new: str) -> None:
    module = TASK if index == 1 else RATES
    source = source_of(module)
    assert source.count(old) == 1, f"{source.count(old)} places in {module} read {old!r}"
    step = DERIVATIONS["training-convergence"].steps[index]
    assert not prove(step, Kernel({module: source.replace(old, new)}), fail_fast=True).holds
