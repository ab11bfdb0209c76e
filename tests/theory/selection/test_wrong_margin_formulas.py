"""The derivation of `max-margin` notices a kernel that runs another formula.

As in `test_wrong_formulas`: each case edits the source of one kernel module in one place and re-proves one step.
"""

from __future__ import annotations

import pytest

from certattn.theory import DERIVATIONS
from certattn.theory.derivation import Step, prove
from certattn.theory.kernel_reading import Kernel, source_of

STEPS = {step.title: step for step in DERIVATIONS["max-margin"].steps}
MARGIN, THEOREM = "kernel.theorems.selection.mathematics.margin_points", "kernel.theorems.selection.max_margin"
SELECTION = "kernel.mathematics.token_selection"


def _step(start: str) -> Step:
    (found,) = [step for title, step in STEPS.items() if title.startswith(start)]
    return found


WRONG = [
    ("The rows", SELECTION, "flat.extend(x - y for", "flat.extend(x + y for"),
    ("The rows", SELECTION, "(0, *accumulate(self.lengths[:-1]))", "(0, *accumulate(self.lengths[1:]))"),
    ("The rows", THEOREM, "for weight in table[which]", "for weight in table[0]"),
    ("The rows", THEOREM, "for entry in row for weight in table[which]", "for weight in table[which] for entry in row"),
    ("The rows", THEOREM, "entry * label.p", "entry"),
    ("The Lagrangian", MARGIN, "product - level for", "product + level for"),
    ("The Lagrangian", MARGIN, "value * self.slacks[j]", "self.slacks[j]"),
    ("The Lagrangian", MARGIN, "1 / arb(self.norm_squared).sqrt()", "1 / arb(self.norm_squared)"),
    ("Sufficiency", MARGIN, "[weights[j] for j in active]", "[1 + 0 * weights[j] for j in active]"),
    ("Weak duality", THEOREM, "2 * total - point.inner", "total - point.inner"),
    ("Weak duality", THEOREM, "2 * total - point.inner", "2 * total + point.inner"),
    ("Weak duality", THEOREM, "value * self.levels[j]", "value"),
    ("The distance", THEOREM, "/ self.margin**2", "/ self.margin"),
    ("The distance", THEOREM, "/ self.margin**2", "* self.margin**2"),
    ("Loose", THEOREM, "row.inner(row) * radius**2", "row.inner(row) * radius"),
    ("Loose", THEOREM, "slack * abs(slack)", "slack * slack"),
    ("Loose", THEOREM, "- self.levels[j] - gap", "- self.levels[j]"),
    ("Contradictions", MARGIN, "weight * levels[j]", "weight"),
    ("Contradictions", MARGIN, "max(abs(entry)", "max(entry * 0"),
]


@pytest.mark.parametrize(("start", "module", "old", "new"), WRONG)
def test_another_formula_is_not_proved(start: str, module: str, old: str, new: str) -> None:
    source = source_of(module)
    assert source.count(old) == 1, f"{source.count(old)} places in {module} read {old!r}"
    assert not prove(_step(start), Kernel({module: source.replace(old, new)}), fail_fast=True).holds


def test_the_kernel_as_it_is_is_proved() -> None:
    assert all(outcome.holds for outcome in DERIVATIONS["max-margin"].prove())
