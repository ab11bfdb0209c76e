"""A derivation must notice a kernel whose rates of training are not the derived ones."""

from __future__ import annotations

from wrong_formulas import noticed

RATES = "kernel.theorems.training.training_convergence"
TASK = "kernel.theorems.training.regression"

WRONG = [
    ("The product", RATES, "square_root = root(2 * risk)\n        far", "square_root = root(risk)\n        far"),
    ("The product", RATES, "/ root(self.trace_fourth)", "/ self.trace_fourth"),
    ("The product", RATES, "root * root(self.trace_inverse_fifth)", "root * self.trace_inverse_fifth"),
    ("The product", RATES, "far.max(near).max(0 * risk)", "far.max(near)"),
    ("The product", RATES, "/ root(self.smallest) / self.smallest", "/ self.smallest"),
    ("From the product", TASK, "4 * product * product", "2 * product * product"),
    ("From the product", TASK, "- invariant) / 2", "+ invariant) / 2"),
    ("The flow", RATES, "return l * l * l * task.squared_factor", "return l * l * task.squared_factor"),
    ("The flow", RATES, "return 2 * self.rate(risk)", "return 4 * self.rate(risk)"),
    ("Second derivatives", RATES, "return 2 * self.step * self.first_risk", "return self.step * self.first_risk"),
    ("Second derivatives", RATES, "abs(self.invariant) + self.drift", "abs(self.invariant)"),
    ("Second derivatives", RATES, "squared_factor(self.invariant + self.drift", "squared_factor(self.invariant"),
    ("Second derivatives", RATES, "squared_factor(self.invariant - self.drift", "squared_factor(self.invariant"),
    ("Second derivatives", RATES, "square + square_root * square_root / square", "square + square_root / square"),
    ("Second derivatives", RATES, "lam * root(lam) * root(2 * risk)", "lam * root(2 * risk)"),
    ("Descent", RATES, "self.smoothness(risk) / 2", "self.smoothness(risk) / 4"),
    ("Descent", RATES, "return self.share(risk) * l", "return l"),
    ("Descent", RATES, "1 - 2 * self.step * self.rate(risk)", "1 - 4 * self.step * self.rate(risk)"),
    ("Descent", RATES, "self.step * risk / self.share(risk)", "self.step * risk"),
    ("Descent", RATES, "2 * risk / (self.share(risk) * self.rate(risk))", "2 * risk / self.rate(risk)"),
]


test_a_wrong_formula_is_noticed = noticed(WRONG, "training-convergence")
