"""A derivation must notice a kernel whose formulas about distances of laws are not the derived ones."""

from __future__ import annotations

import pytest
from wrong_formulas import assert_noticed

from certattn.theory import DERIVATIONS

STEPS, CIRCLE = "kernel.theorems.spectrum.law_distance", "kernel.theorems.spectrum.law_distance"
LAW, CELLS = (
    "kernel.theorems.spectrum.equivalent_formulas",
    "kernel.theorems.spectrum.law_distance",
)
CUT = "kernel.theorems.spectrum.limit_law"
DISTANCE, OTHER = "spectral-distance", "not-marchenko-pastur"

WRONG = [
    (DISTANCE, "Steps", STEPS, "fmpq(k, count) - tail", "fmpq(k - 1, count) - tail"),
    (DISTANCE, "Steps", STEPS, "tail - fmpq(k - 1, count)", "tail - fmpq(k, count)"),
    (DISTANCE, "Steps", STEPS, "above.max(excess(", "above.min(excess("),
    (DISTANCE, "Steps", STEPS, "enumerate(values, 1)", "enumerate(values, 2)"),
    (DISTANCE, "Steps", STEPS, "return self.above.max(self.below)", "return self.above"),
    (DISTANCE, "Scales", STEPS, "tail(x / scale)", "tail(x * scale)"),
    (DISTANCE, "Scales", STEPS, "self.above.min(self.below)", "self.above.max(self.below)"),
    (DISTANCE, "Tails", CIRCLE, "ratio.acos() - ratio", "ratio.acos() + ratio"),
    (DISTANCE, "Tails", CIRCLE, "(1 + ratio)).sqrt()) / arb.pi()", "(1 + ratio))) / arb.pi()"),
    (DISTANCE, "Tails", CIRCLE, "return 2 * (ratio.acos()", "return (ratio.acos()"),
    (DISTANCE, "Weights", CUT, "top.log() / beta + beta / 2", "top.log() / beta - beta / 2"),
    (DISTANCE, "Weights", CUT, "below + top * self.share_cut", "below + self.share_cut"),
    (DISTANCE, "Weights", CUT, "below = normal_tail(beta - cut)", "below = normal_tail(cut - beta)"),
    (DISTANCE, "Weights", CUT, "self.slope = beta * below", "self.slope = beta * self.mean"),
    (DISTANCE, "Weights", CUT, "normal_tail(2 * beta - cut)", "normal_tail(beta - cut)"),
    (DISTANCE, "Weights", CUT, "+ top * top * self.share_cut", "+ top * self.share_cut"),
    (DISTANCE, "Weights", CUT, "square.exp() *", "(square / 2).exp() *"),
    (DISTANCE, "Weights", CUT, "self.second / (self.mean * self.mean) - 1", "self.second / self.mean - 1"),
    (DISTANCE, "Weights", CUT, "root = self.slope / self.mean", "root = self.slope"),
    (DISTANCE, "Weights", CUT, "self.variance - self.beta2", "self.variance + self.beta2"),
    (DISTANCE, "Without", CUT, "square.exp() *", "square *"),
    (DISTANCE, "Where", CUT, "return tokens * self.share_cut, ", "return self.share_cut, "),
    (DISTANCE, "Where", CUT, "self.share_cut, self.mean * self.mean", "self.share_cut, self.mean"),
    (DISTANCE, "Where", CUT, "self.share_cut = normal_tail(cut)", "self.share_cut = normal_tail(cut - beta)"),
    (OTHER, "Fourth", LAW, "return self.beta2 * self.pole", "return self.beta2 * self.beta2"),
    (OTHER, "Fourth", LAW, "self.fourth_excess / (self.variance * self.variance)", "self.fourth_excess"),
    (OTHER, "Cells", CELLS, "return left[1] - right[2]", "return left[1] - left[2]"),
    (OTHER, "Cells", CELLS, "return left[1] - right[2]", "return right[1] - right[2]"),
]  # fmt: skip


@pytest.mark.parametrize(("claim", "title", "module", "old", "new"), WRONG, ids=[f"{w[1]}: {w[4]}" for w in WRONG])
def test_a_wrong_formula_is_noticed(claim: str, title: str, module: str, old: str, new: str) -> None:
    assert_noticed([step for step in DERIVATIONS[claim].steps if step.title.startswith(title)], module, old, new)
