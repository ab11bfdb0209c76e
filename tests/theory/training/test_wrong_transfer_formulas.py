"""A derivation must notice a kernel whose bounds of the gap between risks are not the derived ones."""

from __future__ import annotations

from wrong_formulas import noticed

GAP = "kernel.theorems.training.risk_transfer"

WRONG = [
    ("Norms", "trace * trace + 2 * square_trace", "trace * trace + square_trace"),
    ("Norms", "root(root(fmpq(3, 1)", "root(root(fmpq(2, 1)"),
    ("Gaussian averages", "- (of.copies + 2 * k) * inside / 2", "- (of.copies + k) * inside / 2"),
    ("Gaussian averages", "- theta * (length - 1).log()", "- theta * length.log()"),
    ("Gaussian averages", "inside / 2 - rest / 2", "inside / 2"),
    ("Gaussian averages", "self.total - self.copies * self.largest", "self.total - self.largest"),
    ("The bounds", "+ a[1]) * self._trace / 2", "+ a[0]) * self._trace / 2"),
    ("The bounds", "error * error + 2 * value", "error * error + value"),
    ("The bounds", "2 * value * x + 3 * value", "value * x + 3 * value"),
    ("The bounds", "smaller(far, near)", "far.max(near)"),
    ("The bounds", "(a[0] * b * self._trace).max(spread)", "spread"),
    ("The bounds", "+ b * lam * self.error.second", "- b * lam * self.error.second"),
    ("The bounds", "sides += fmpq(3, 2)", "sides += fmpq(1, 4)"),
    ("The bounds", "tau.fourth * along.fourth", "tau.second * along.fourth"),
    ("The bounds", "matrix * matrix + factor * factor", "matrix * matrix"),
]


test_a_wrong_formula_is_noticed = noticed(WRONG, "risk-transfer", module=GAP)
