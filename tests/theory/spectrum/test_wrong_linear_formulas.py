"""A derivation must notice a kernel whose formulas about linear parts are not the derived ones."""

from __future__ import annotations

from wrong_formulas import noticed

STAGES, INPUTS = "kernel.mathematics.linearization", "kernel.theorems.spectrum.linearization"
ROWS, ENERGY = "kernel.mathematics.attention_matrix", "kernel.theorems.spectrum.equivalent_formulas"

WRONG = [
    ("Attention", ROWS, "size * weight - mass", "size * weight + mass"),
    ("Attention", STAGES, "keys.centred(keys.mean_row()).T", "keys.T"),
    ("Attention", STAGES, "scale_ball(scale) / arb(keys.rows).sqrt()", "scale_ball(scale) / arb(keys.rows)"),
    ("Attention", STAGES, "exponent.exp() / size - 1", "exponent.exp() / size"),
    ("Attention", STAGES, "exponent.exp() / size - 1", "exponent.exp() - 1"),
    ("Attention", STAGES, "score - half_variance(rate, query)", "-half_variance(rate, query)"),
    ("Attention", STAGES, "score - half_variance(rate, query)", "score - 2 * half_variance(rate, query)"),
    ("Attention", STAGES, "SCORES: Stage(1, 1, 0)", "SCORES: Stage(1, -1, 0)"),
    ("Stages", STAGES, "CHANGE: Stage(0, -1, 0)", "CHANGE: Stage(0, 1, 0)"),
    ("Stages", STAGES, '"scores_less_linear": Stage(1, 1, -1)', '"scores_less_linear": Stage(1, 0, -1)'),
    ("Stages", STAGES, "REMAINDER: Stage(1, 0, -1)", "REMAINDER: Stage(1, 0, 1)"),
    ("Stages", STAGES, "factor * m + self.linear * entry", "factor * m + entry"),
    ("Stages", STAGES, "self.constant + self.slope * excess", "self.constant + excess"),
    ("Scale", INPUTS, "root = self.beta * self.unit * self.unit", "root = self.beta * self.unit"),
    ("Scale", INPUTS, "return root * root / width", "return root * root"),
    ("Scale", INPUTS, "root * root / (2 * width)", "root * root / width"),
    ("Covariance", ENERGY, "square * exp_remainder(2, square)", "exp_remainder(2, square)"),
    ("Distances", STAGES, "(x - y) * (x - y) for", "(x + y) * (x + y) for"),
    ("Distances", STAGES, "/ len(squares))", ")"),
]  # fmt: skip


test_a_wrong_formula_is_noticed = noticed(WRONG, "linearization")
