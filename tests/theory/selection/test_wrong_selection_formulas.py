"""A derivation must notice a kernel whose formulas of token selection are not the derived ones."""

from __future__ import annotations

from wrong_formulas import noticed

LANDSCAPE, CONSTANTS, GLOBAL = (
    "kernel.mathematics.selection_landscape", "kernel.theorems.selection.mathematics.selection_constants",
    "kernel.theorems.selection.mathematics.global_selection",
)  # fmt: skip
LOSSES, PATH = "kernel.mathematics.losses", "kernel.theorems.selection.mathematics.path_bound"

WRONG = [
    ("The losses", LOSSES, "return 1 / (1 + fn.exp(x))", "return 1 / (1 + fn.exp(-x))"),
    ("The losses", LOSSES, "return fn.exp(-score) * (fn.exp(gap) - 1)", "return fn.exp(-score) * fn.exp(gap)"),
    ("The losses", LOSSES, "return fn.log(1 + excess * fn.exp(score))", "return fn.log(1 + excess)"),
    ("The gradient", LANDSCAPE, "chosen = 1 / (sum(powers) + 1)", "chosen = 1 / sum(powers)"),
    ("The gradient", LANDSCAPE, "slope * s * (g - gap) for s", "slope * s * g for s"),
    ("The gradient", LANDSCAPE, "[exp(-inner(z, point))", "[exp(inner(z, point))"),
    ("The gradient", LANDSCAPE, "entry + weight * component", "entry - weight * component"),
    ("Second derivatives", LANDSCAPE, "upward = upward + curvature * inner(slide, slide)", "upward = upward"),
    ("Second derivatives", LANDSCAPE, "spread * self.fn.maximum(-excess, zero)", "spread * 0"),
    (
        "Second derivatives", LANDSCAPE, "slope * share * inner(away, away), g - gap",
        "slope * share * inner(away, away), g"),
    ("A bound of the", CONSTANTS, "steepest / 8", "steepest / 16"),
    ("A bound of the", CONSTANTS, "bend * scores / 16", "bend / 16"),
    ("Jensen", PATH, "share * fn.log(mass / share)", "share * fn.log(mass)"),
    ("What a step", GLOBAL, "unit * (1 - self.overshoot) * (pull * pull)", "unit * (pull * pull)"),
    ("What a step", GLOBAL, "self.excess / self.constants.least_gain\n", "self.excess\n"),
    (
        "What a step", GLOBAL, "return self.constants.concentration * self.selected / self.excess",
        "return self.selected"),
    ("What a step", GLOBAL, "+ self.first_overshoot / self._share", "- self.first_overshoot / self._share"),
    ("What a step", PATH, "fn.log(1 / excess - 1 / least)", "fn.log(1 / excess)"),
    ("Equal scores", GLOBAL, "(8 * self._kept)", "(4 * self._kept)"),
    ("Equal scores", GLOBAL, "return 1 - self.step * self.constants.curvature_bound / 2", "return 1 - 0 * self.step"),
    ("Equal scores", GLOBAL, "elapsed * self._kept * (pull * pull)", "elapsed * (pull * pull)"),
    ("Equal scores", GLOBAL, "(elapsed * self.excess / self._kept).sqrt()", "(elapsed * self.excess).sqrt()"),
]  # fmt: skip


test_a_wrong_formula_is_noticed = noticed(WRONG, "selection-direction")
