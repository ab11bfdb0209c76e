"""The derivation of `selection-on-a-head` notices a kernel that runs another formula, as in `test_wrong_formulas`."""

from __future__ import annotations

from wrong_formulas import noticed

MODULE = "kernel.theorems.selection.selection_on_a_head"
WRONG = [
    ("The weight", "(-gap).exp()", "gap.exp()"),
    ("The weight", "total = arb(1)", "total = arb(2)"),
    ("Gaps", "row[chosen] - row[t]", "row[t] - row[chosen]"),
    ("Gaps", "self.queries @ matrix.T", "self.queries @ matrix"),
    ("Gaps", "if t != chosen)", "if t > chosen)"),
    ("Weak duality", "[self.chosen[i]] += value", "[self.chosen[i]] += 1"),
    ("Weak duality", "[t] -= value", "[t] += value"),
    ("Weak duality", "differences.T @ self.queries", "differences.T @ -self.queries"),
    ("Weak duality", "return smallest / root(norm_squared)", "return smallest / norm_squared"),
    ("Weak duality", "return root(norm_squared) / total", "return root(norm_squared / total)"),
    ("Nothing is lost", "return root(norm_squared) / total", "return norm_squared / total"),
]


test_a_wrong_formula_is_noticed = noticed(WRONG, "selection-on-a-head", module=MODULE)
