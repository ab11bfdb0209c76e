"""The derivation of `joint-max-margin` notices a formula of the kernel that is not the derived one."""

from __future__ import annotations

from wrong_formulas import noticed

BOUNDS, LOSSES = "kernel.theorems.selection.mathematics.joint_path", "kernel.mathematics.losses"

WRONG = [
    ("The label-margin", BOUNDS, "2 * gap / norm_squared", "gap / norm_squared"),
    ("The label-margin", BOUNDS, "/ norm_squared - square", "/ norm_squared"),
    ("The label-margin", BOUNDS, "least / (2 * self.solution.margin())", "least / self.solution.margin()"),
    ("Sums of", BOUNDS, "total + power + total * power", "total + power"),
    ("Sums of", BOUNDS, "power = (-margin).exp()", "power = margin.exp()"),
    ("Sums of", LOSSES, "return (1 + (-x).exp()).log()", "return (2 + (-x).exp()).log()"),
    ("What is lost", BOUNDS, "return log_e0 - entropy", "return log_e0 - 2 * entropy"),
    ("What is lost", BOUNDS, "return -sum((w * arb(w).log()", "return sum((w * arb(w).log()"),
    ("Other weights", BOUNDS, "return (theta - 1) * (log_e0", "return theta * (log_e0"),
    ("Other weights", BOUNDS, "/ (theta - 1) for i", "/ theta for i"),
    ("The angle of the head", BOUNDS, "1 - (lost + moved) / gamma", "1 - lost / gamma"),
    ("The angle of the head", BOUNDS, "root(1 - cosine * cosine)", "1 - cosine"),
    ("The angle of the head", BOUNDS, "- sine(cosine) * across", "+ sine(cosine) * across"),
    ("The angle of the head", BOUNDS, "(-along).max(-cosine * along)", "-along"),
    ("The same head", BOUNDS, "gap.exp() - 1 if", "gap.exp() if"),
    ("The same head", BOUNDS, "gap * exp_remainder(1, gap)", "exp_remainder(1, gap)"),
    ("The same head", BOUNDS, 'return 0 * bound if loss == "exponential"', 'return 0 * bound if loss == "logistic"'),
    ("The angle of attention", BOUNDS, "(required - others) / (chosen - others)", "(required - others) / chosen"),
    ("The angle of attention", BOUNDS, "(share / (1 - share)).log()", "share.log()"),
]  # fmt: skip


test_a_wrong_formula_is_noticed = noticed(WRONG, "joint-max-margin")
