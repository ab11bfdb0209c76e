"""A derivation must notice a kernel whose formulas of in-context regression are not the derived ones."""

from __future__ import annotations

from wrong_formulas import noticed

REGRESSION = "kernel.theorems.training.regression"

WRONG = [
    ("The risk", REGRESSION, "inner(E) / 2", "inner(E)"),
    ("The risk", REGRESSION, ".scaled(at.b) - self.identity", ".scaled(at.b) + self.identity"),
    ("The risk", REGRESSION, "(E @ self.covariance).inner(E)", "(self.covariance @ E).inner(E)"),
    ("Its gradient", REGRESSION, "Parameters(residual.scaled(at.b)", "Parameters(residual"),
    ("Its gradient", REGRESSION, "at.A.inner(residual))", "at.A.T.inner(residual))"),
    ("Its gradient", REGRESSION, "self.covariance @ self.error(at) @ self", "self.error(at) @ self"),
    ("Its gradient", REGRESSION, "+ 2 * along.b * along.A", "+ along.b * along.A"),
    ("Its gradient", REGRESSION, "along.A).scaled(at.b)", "along.A).scaled(along.b)"),
    ("The flow", REGRESSION, "Parameters(residual.scaled(at.b)", "Parameters(residual.scaled(-at.b)"),
    ("The flow", REGRESSION, "self.A.inner(self.A) - self.b", "self.A.inner(self.A) + self.b"),
    ("Stationary", REGRESSION, "+ 2 * along.b * along.A", "- 2 * along.b * along.A"),
    ("The Bayes", REGRESSION, "4 * product * product", "2 * product * product"),
    ("The Bayes", REGRESSION, "- invariant) / 2", "+ invariant) / 2"),
    ("How fast neighbouring", REGRESSION, "+ 2 * along.b * along.A", "- 2 * along.b * along.A"),
    ("How fast neighbouring", REGRESSION, "self.covariance @ self.error(at) @ self.covariance", "self.error(at)"),
    ("How fast the risk", REGRESSION, "Parameters(residual.scaled(at.b)", "Parameters(residual"),
]  # fmt: skip


test_a_wrong_formula_is_noticed = noticed(WRONG, "regression-risk")
