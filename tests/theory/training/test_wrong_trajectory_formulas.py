"""A derivation must notice a kernel whose formulas of training on prompts are not the derived ones."""

from __future__ import annotations

from wrong_formulas import noticed

LOSSES, DESCENT, MOMENTS, FUNCTIONS = (
    "kernel.theorems.training.context_losses",
    "kernel.theorems.training.descent_trajectory",
    "kernel.mathematics.law_moments",
    "kernel.mathematics.functions",
)

WRONG = [
    ("A finite", LOSSES, "self._mean + arb_mat", "arb_mat"),
    ("A finite", LOSSES, 'covariance("values-keys")', 'covariance("values")'),
    ("A finite", LOSSES, "[weight / total for weight in weights]", "list(weights)"),
    ("A finite", LOSSES, "[p * c * entry for", "[p * entry for"),
    ("A law", MOMENTS, "-2 * t * (1 - natural", "2 * t * (1 - natural"),
    ("A law", MOMENTS, "+ langevin_ratio_slope(x))", "- langevin_ratio_slope(x))"),
    ("A law", MOMENTS, "[c * c * box_variance(c * a)", "[box_variance(c * a)"),
    ("A law", MOMENTS, "[_square(minus(y, mean)) for y in law.points]", "[_square(y) for y in law.points]"),
    ("A law", MOMENTS, "x * e + f * y for y, e", "x * e for y, e"),
    ("A law", FUNCTIONS, "- 3 * ratio) / x", "- 2 * ratio) / x"),
    ("A law", FUNCTIONS, "quotient / 15", "quotient / 9"),
    ("Infinite", DESCENT, "Moments(self.slope * arb_mat(len(tilt), 1, tilt)", "Moments(self.slope"),
    ("Infinite", DESCENT, "Trained(gradient.A.balls,", "Trained(point.U,"),
    ("The gradient", LOSSES, "residual * moments.mean.transpose()", "residual * moments.mean.transpose() * 2"),
    ("The gradient", LOSSES, "(point.V.transpose() * residual))", "(point.V.transpose() * residual) * 2)"),
    ("The gradient", LOSSES, "Evaluation(risk * share / 2,", "Evaluation(risk * share,"),
    ("The second", LOSSES, "_square(_norm(V * moments.slope) * length)", "_square(_norm(V * moments.slope))"),
    ("The second", LOSSES, "+ _norm(bend) * _square(length)", ""),
    ("The second", LOSSES, "rest += _norm(residual) * _norm(moments.slope)", "rest += _norm(residual)"),
    ("Gronwall", DESCENT, "(natural_power(1 + step * rate, steps) - 1)", "natural_power(1 + step * rate, steps)"),
    ("Gronwall", DESCENT, "natural_power(1 + step * rate, steps)", "(1 + step * rate * steps)"),
]  # fmt: skip


test_a_wrong_formula_is_noticed = noticed(WRONG, "descent-trajectory")
