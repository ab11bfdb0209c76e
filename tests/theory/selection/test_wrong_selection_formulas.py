"""A derivation must notice a kernel whose formulas of token selection are not the derived ones."""

from __future__ import annotations

from wrong_formulas import noticed

LANDSCAPE, CONSTANTS, GLOBAL = (
    "kernel.mathematics.selection_landscape", "kernel.theorems.selection.mathematics.selection_constants",
    "kernel.theorems.selection.mathematics.global_selection",
)  # fmt: skip
LOSSES, POINTS = "kernel.mathematics.losses", "kernel.theorems.selection.mathematics.margin_points"

WRONG = [
    ("The losses", LOSSES, "return 1 / (1 + x.exp())", "return 1 / (1 + (-x).exp())"),
    ("The losses", LOSSES, "return (-score).exp() * (gap.exp() - 1)", "return (-score).exp() * gap.exp()"),
    ("The losses", LOSSES, "return (1 + excess * score.exp()).log()", "return (1 + excess).log()"),
    ("The gradient", LANDSCAPE, "(sum(powers, arb(0)) + 1)", "sum(powers, arb(0))"),
    ("The gradient", LANDSCAPE, "slope * s * (g - gap) for s", "slope * s * g for s"),
    ("The gradient", LANDSCAPE, "(-inner(z, point)).exp()", "inner(z, point).exp()"),
    ("The gradient", LANDSCAPE, "entry + weight * component", "entry - weight * component"),
    ("Second derivatives", LANDSCAPE, "upward = upward + curvature * inner(slide, slide)", "upward = upward"),
    ("Second derivatives", LANDSCAPE, "spread * (-excess).max(zero)", "spread * 0"),
    (
        "Second derivatives", LANDSCAPE, "slope * share * inner(away, away), g - gap",
        "slope * share * inner(away, away), g"),
    ("A bound of the", CONSTANTS, "steepest / 8", "steepest / 16"),
    ("A bound of the", CONSTANTS, "bend * scores / 16", "bend / 16"),
    ("Jensen", POINTS, "masses.get(j, arb.nan()) / share)", "masses.get(j, arb.nan()))"),
    ("What a step", GLOBAL, "unit * (1 - overshoot) * (pull * pull)", "unit * (pull * pull)"),
    ("What a step", GLOBAL, "excess / k.least_gain) / share", "excess) / share"),
    (
        "What a step", GLOBAL, "return k.concentration * selected / excess, slope",
        "return selected, slope"),
    ("What a step", GLOBAL, "+ first / share", "- first / share"),
    ("What a step", POINTS, "(1 / excess - 1 / least).log()", "(1 / excess).log()"),
    ("Equal scores", GLOBAL, "(8 * kept(k, step))", "(4 * kept(k, step))"),
    ("Equal scores", GLOBAL, "return 1 - step * k.curvature_bound / 2", "return 1 - 0 * step"),
    ("Equal scores", GLOBAL, "elapsed * kept(k, step) * (pull * pull)", "elapsed * (pull * pull)"),
    ("Equal scores", GLOBAL, "(elapsed * excess / kept(k, step)).sqrt()", "(elapsed * excess).sqrt()"),
]  # fmt: skip


test_a_wrong_formula_is_noticed = noticed(WRONG, "selection-direction")
