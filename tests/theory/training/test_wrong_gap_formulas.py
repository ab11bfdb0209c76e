"""The derivation of `risk-gap` notices a kernel that runs another formula, as in `test_wrong_formulas`."""

from __future__ import annotations

from wrong_formulas import noticed

GAP, MAJORANTS, COMPLEX = (
    "kernel.theorems.training.risk_gap",
    "kernel.theorems.training.risk_gap",
    "kernel.theorems.training.exponential_fits",
)
WRONG = [
    ("The gap", GAP, "return b * b, b, -b * b", "return b * b, -b, b * b"),
    ("The gap", GAP, "-6 * b * b", "-5 * b * b"),
    ("Over a ball", GAP, "self.largest * self.largest * self.A_squared", "self.largest * self.A_squared"),
    ("Over a ball", GAP, "(weighted - plain)", "(weighted + plain)"),
    ("Over a ball", GAP, "self.query_average(plain, weighted)) / 2", "self.query_average(plain, weighted))"),
    ("Over a ball", GAP, "5 * X / 4 + root(X * Y)", "5 * X / 4 + root(X * Y) / 2"),
    ("Functions above", MAJORANTS, "- theta * (length - 1).log()", "- theta * length.log()"),
    ("Functions above", MAJORANTS, "found * odd / rest", "found * odd"),
    ("Functions above", MAJORANTS, "scale * upper - start * lower", "scale * upper + start * lower"),
    ("Functions above", MAJORANTS, "MOST_CONCAVE * step * step / 8 * last", "MOST_CONCAVE * step * step / 9 * last"),
    ("How fast", MAJORANTS, "MOST_CONCAVE = fmpq(13, 12)", "MOST_CONCAVE = fmpq(12, 12)"),
    ("How fast", COMPLEX, "MOST_CURVED = fmpq(17, 4)", "MOST_CURVED = fmpq(16, 4)"),
    ("The moments", COMPLEX, "(slope * height / 8).exp()", "(slope * height / 9).exp()"),
    ("The moments", COMPLEX, "1 - growth * height / 3", "1 - growth * height / 4"),
    ("The moments", COMPLEX, "2 * variance.exp() / (share * length)", "variance.exp() / (share * length)"),
]


test_a_wrong_formula_is_noticed = noticed(WRONG, "risk-gap")
