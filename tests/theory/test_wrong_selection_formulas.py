"""The derivations of `token-optimality` and `regularization-path` notice a kernel that runs another formula.

As in `test_wrong_formulas`: each case edits the source of one kernel module in one place and re-proves one step.
"""

from __future__ import annotations

import pytest

from certattn.theory import DERIVATIONS
from certattn.theory.derivation import Step, prove
from certattn.theory.kernel_reading import Kernel, source_of

STEPS = [*DERIVATIONS["regularization-path"].steps, *DERIVATIONS["token-optimality"].steps]
PATH, MIXING, ACTIVATIONS = "arithmetic.path_bound", "arithmetic.mixing", "arithmetic.activations"
MARGIN, LOCAL, LOSSES = "arithmetic.max_margin", "arithmetic.local_optimality", "arithmetic.losses"

WRONG = [
    ("Softmax weights", PATH, "fn.exp(-product)", "fn.exp(product)"),
    ("Softmax weights", PATH, "total = 1 + sum", "total = sum"),
    ("Weighted means", PATH, "fn.log(mass / share)", "fn.log(mass)"),
    ("Weighted means", PATH, "fn.log(mass / share)", "fn.log(mass * share)"),
    ("The bound of the angle", PATH, "1 / excess - 1 / least", "1 / excess"),
    ("The bound of the angle", PATH, "1 / excess - 1 / least", "1 / excess + 1 / least"),
    ("The bound of the angle", PATH, "progress / (margin * radius)", "progress / radius"),
    ("Slopes of the activations", ACTIVATIONS, "4 * decay", "2 * decay"),
    ("Slopes of the activations", ACTIVATIONS, "fn.exp(-2 * size)", "fn.exp(-size)"),
    ("Slopes of the activations", ACTIVATIONS, "1 / (1 + fn.exp(-low))", "1 / (1 + fn.exp(low))"),
    ("Slopes of the activations", ACTIVATIONS, "else self.slope * one", "else one"),
    ("The loss of a score", MIXING, "self.output(self.score - drop)", "self.output(self.score + drop)"),
    ("The loss of a score", MIXING, "self.activation.value(self.label * score", "self.activation.value(score"),
    ("The loss of a score", MIXING, "before - after, BALLS", "after - before, BALLS"),
    ("The loss of a score", LOSSES, "return 1 / (1 + fn.exp(x))", "return 1 / (1 + fn.exp(-x))"),
    ("Quadratic heads", MIXING, ".scaled(fmpq(2)) + v", " + v"),
    ("Quadratic heads", MIXING, "(-others).centred(-chosen)", "others.centred(chosen)"),
    ("Quadratic heads", MIXING, "tuple(label * gap for", "tuple(gap for"),
    ("Quadratic heads", MIXING, "differences @ A @ differences.T", "differences @ differences.T"),
    ("A point of least norm", MARGIN, "product - level for", "product + level for"),
    ("A point from its support", MARGIN, "[gram.denominator] * len(support)", "[2 * gram.denominator] * len(support)"),
    ("No point at all", LOCAL, "chosen - others", "chosen + others"),
]


@pytest.mark.parametrize(("title", "module", "old", "new"), WRONG)
def test_a_wrong_formula_is_not_proved(title: str, module: str, old: str, new: str) -> None:
    (step,) = [s for s in STEPS if s.title.startswith(title)]
    assert isinstance(step, Step)
    source = source_of(module)
    assert source.count(old) == 1, f"{source.count(old)} places in {module} read {old!r}"
    assert not prove(step, Kernel({module: source.replace(old, new)}), fail_fast=True).holds
