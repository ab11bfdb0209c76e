"""The derivation of `equivalent-law` notices a kernel that runs another formula, as in `test_wrong_formulas`."""

from __future__ import annotations

from wrong_formulas import noticed

FORMULAS = "kernel.theorems.spectrum.equivalent_formulas"
WRONG = [
    ("The two parts", "return square * exp_remainder(2, square)", "return exp_remainder(2, square)"),
    ("The two parts", "return square * energy_ratio(square)", "return energy_ratio(square)"),
    ("The two parts", "return self.alpha2 / self.variance", "return self.beta2 / self.variance"),
    ("The two parts", "return share / (1 - share)", "return share / (1 + share)"),
    ("Free cumulants", "return self.beta2 / self.lambda_", "return self.beta2 * self.lambda_"),
    ("Free cumulants", "if n == 1 else found[-1]) * self.pole", "if n == 1 else found[-1]) * self.beta2"),
    ("Free cumulants", "1 / w + self.alpha2 * w + self.beta2", "1 / w - self.alpha2 * w + self.beta2"),
    ("The quartic", "b - self.variance", "b + self.variance"),
    ("The quartic", "-(z * b)", "z * b"),
    ("A primitive", "self.alpha2 - 1 / (w * w)", "self.alpha2 + 1 / (w * w)"),
    ("A primitive", "self.lambda_ * v / (1 - v) + logarithms", "self.lambda_ * v / (1 + v) + logarithms"),
    ("A primitive", "(1 + square_root).log()) / 2 - w.log()", "(1 + square_root).log()) - w.log()"),
    ("The moments", "power[n] / (2 * n + 1)", "power[n] / (2 * n)"),
    ("The moments", "square = _times(series, series)", "square = series"),
    ("The largest", "2 / (half +", "1 / (half +"),
    ("The largest", "4 * self.alpha2 * self.pole)", "4 * self.alpha2)"),
    ("The critical", "2 + slope + self.lambda_", "2 + slope - self.lambda_"),
    ("The critical", "self.lambda_ - 1 - 2 * slope", "self.lambda_ - 1 - slope"),
    ("Where the gap", "(5 * s + 26) * s + 5", "(5 * s + 25) * s + 5"),
    ("Where the gap", "(lambda_ + 6 * rest)", "(lambda_ - 6 * rest)"),
    ("Where the gap", "lambda_ * (1 + 3 * t)", "lambda_ * (1 + 2 * t)"),
    ("Where the gap", "t * t * (3 + t)", "t * t * (3 - t)"),
]


test_a_wrong_formula_is_noticed = noticed(WRONG, "equivalent-law", module=FORMULAS)
