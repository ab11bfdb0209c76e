"""A derivation must notice a kernel whose formulas about singular values are not the derived ones."""

from __future__ import annotations

from wrong_formulas import noticed

ROWS, VALUES, SHAPE = (
    "kernel.mathematics.attention_matrix",
    "kernel.mathematics.singular_values",
    "kernel.theorems.spectrum.singular_values",
)

WRONG = [
    ("Rows", ROWS, "size * weight - mass", "weight - mass"),
    ("Rows", ROWS, "1 / (arb(size).sqrt() * mass)", "1 / (size * mass)"),
    ("Rows", ROWS, "arb(len(weights)).sqrt() / total", "len(weights) / total"),
    ("Rows", ROWS, "        found += weight\n", "        found = weight\n"),
    ("Causal", ROWS, "(arb(len(weights)) / seen).sqrt()", "arb(len(weights)) / seen"),
    ("Causal", ROWS, "(arb(len(weights)) / seen).sqrt()", "arb(1)"),
    ("Causal", ROWS, "in row(weights[:seen])]", "in row(weights)[:seen]]"),
    ("Causal", ROWS, "[arb(0)] * (len(weights) - seen)", "[arb(1)] * (len(weights) - seen)"),
    ("Distortion", VALUES, "((1 + off_left) * (1 + off_right)).sqrt() - 1", "(1 + off_left) * (1 + off_right) - 1"),
    ("Distortion", VALUES, "((1 + off_left) * (1 + off_right))", "((1 + off_left) * (1 - off_right))"),
    ("Distortion", VALUES, "(1 - off_left).nonnegative_part() * ", ""),
    ("Distortion", VALUES, "grown.max(shrunk)", "grown"),
    ("Distortion", VALUES, "grown.max(shrunk)", "grown.min(shrunk)"),
    ("Distortion", VALUES, "residual + centre * factor", "residual + factor"),
    ("Entropy", SHAPE, "total.log() - middle - _sum", "total.log() + middle - _sum"),
    ("Entropy", SHAPE, "for share in shares]) / total", "for share in shares])"),
    ("Entropy", SHAPE, "share * (share.log() - middle)", "share * (share.log() + middle)"),
    ("Entropy", SHAPE, "return entropy_in_nats.exp()", "return entropy_in_nats"),
    ("Stable", SHAPE, "energy / (norm * norm)", "energy / norm"),
]  # fmt: skip


test_a_wrong_formula_is_noticed = noticed(WRONG, "singular-values")
