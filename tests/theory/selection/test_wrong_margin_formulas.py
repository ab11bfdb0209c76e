"""The derivation of `max-margin` notices a kernel that runs another formula.

As in `test_wrong_formulas`: each case edits the source of one kernel module in one place and re-proves one step.
"""

from __future__ import annotations

from wrong_formulas import noticed

MARGIN, THEOREM = "kernel.theorems.selection.mathematics.margin_points", "kernel.theorems.selection.max_margin"
SELECTION = "kernel.mathematics.token_selection"


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


test_a_wrong_formula_is_noticed = noticed(WRONG, "max-margin")
