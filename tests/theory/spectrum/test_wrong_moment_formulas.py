"""A derivation must notice a kernel whose formulas of random score matrices are not the derived ones."""

from __future__ import annotations

import pytest
from wrong_formulas import assert_noticed

from certattn.theory import DERIVATIONS

WALKS, MOMENTS, LAW = (
    "kernel.theorems.spectrum.score_matrix",
    "kernel.theorems.spectrum.score_matrix",
    "kernel.theorems.spectrum.equivalent_formulas",
)
BOUNDS = "kernel.theorems.spectrum.gaussian_equivalence"
NORMALISER, UNIVERSALITY = "normalizer-bound", "universality-bound"

WRONG = [
    ("finite-moments", "Means of products", WALKS, "- (sum(row) if i == j else 0)", "- (1 if i == j else 0)"),
    ("finite-moments", "Means of products", WALKS, "for i in range(size)) // step)", "for i in range(size)))"),
    ("finite-moments", "Walks by set", WALKS, "(a + 1) % len(rows)", "(a + 2) % len(rows)"),
    ("finite-moments", "Walks by set", WALKS, "comb(m, n) * (-1)", "(-1)"),
    ("finite-moments", "Walks by set", WALKS, "* (-1) ** (m - n)", ""),
    ("finite-moments", "Walks by set", WALKS, "+= times * coefficient", "+= coefficient"),
    ("finite-moments", "Walks by set", WALKS, "for label in range(used + 1)", "for label in range(used)"),
    ("finite-moments", "The second and fourth", MOMENTS, "* (-self.p) / 2).exp()", "* (-self.p)).exp()"),
    ("finite-moments", "The second and fourth", MOMENTS, "product = product * (d - i)", "product = product * d"),
    ("finite-moments", "The second and fourth", MOMENTS, "arb(self.d) ** (k + 1)", "arb(self.d) ** k"),
    ("finite-moments", "The second and fourth", MOMENTS, "= -coefficient * k", "= coefficient * k"),
    ("finite-moments", "The second and fourth", MOMENTS, "** (order // 2 - 1)", "** (order // 2)"),
    ("finite-moments", "Two entries of", MOMENTS, "(1 - 6 * b) * (1 + 2 * b)", "(1 - 6 * b)"),
    ("finite-moments", "Two entries of", MOMENTS, "- 2 * mean * mean", "- mean * mean"),
    ("finite-moments", "Limits of the", MOMENTS, "square.exp() - 1 - square,", "square.exp() - 1,"),
    ("finite-moments", "Limits of the", LAW, "self.beta2 / self.lambda_", "self.beta2 * self.lambda_"),
    ("finite-moments", "Limits of the", LAW, "power[n] / (2 * n + 1)", "power[n] / (2 * n)"),
    ("finite-moments", "The part of single", MOMENTS, "order * (order - 1) * beta2", "order * beta2"),
    (NORMALISER, "Rows with a", BOUNDS, "(phi(2) - 2 * phi(1) + 1) * (scores.d - 1) +", "(phi(2) - 2 * phi(1) + 1) +"),
    (NORMALISER, "Rare rows", BOUNDS, "/ arb(1 - theta) ** 2", "/ arb(1 - theta)"),
    (NORMALISER, "Rare rows", BOUNDS, "+ 1 - arb(cut)) * p / 2", "- arb(cut)) * p / 2"),
    (NORMALISER, "Rare rows", BOUNDS, "theta * theta * scores.d) / 2", "theta * theta * scores.d)"),
    (NORMALISER, "Rare rows", BOUNDS, "long_query(scores.p, cut)) * (scores.d - 1)", "long_query(scores.p, cut))"),
    (UNIVERSALITY, "The distance of", BOUNDS, "- 2 * rising * arb(p * square)", "- rising * arb(p * square)"),
    (UNIVERSALITY, "The distance of", BOUNDS, "/ arb(1 - 2 * b) * arb(beta2)", "* arb(beta2)"),
    (UNIVERSALITY, "The distance of", BOUNDS, "c, phi = arb(beta2).exp() - arb(beta2)", "c, phi = arb(beta2)"),
    (UNIVERSALITY, "The distance of", BOUNDS, "/ (alpha2 * scores.d)", "/ scores.d"),
    (UNIVERSALITY, "Sizes of given", BOUNDS, "U = [[entry * (entry + 2)", "U = [[entry * (entry + 1)"),
    (UNIVERSALITY, "Sizes of given", BOUNDS, "slopes += factor * sum", "slopes += sum"),
    (UNIVERSALITY, "Sizes of given", BOUNDS, "sizes.longest**5", "sizes.longest**4"),
    (UNIVERSALITY, "Sizes of given", BOUNDS, "arb(eta) ** 3 *", "arb(eta) ** 2 *"),
    (UNIVERSALITY, "Random queries", BOUNDS, "power(1 - 16 * square)", "power(1 - 8 * square)"),
    (UNIVERSALITY, "Random queries", BOUNDS, "longest * slopes, (phi(1) - 1)", "slopes, (phi(1) - 1)"),
    (UNIVERSALITY, "Random queries", BOUNDS, "long_query(scores.p, cut) * scores.d +", "long_query(scores.p, cut) +"),
    (UNIVERSALITY, "Random queries", BOUNDS, "(2 if given_queries else 1)", "(1 if given_queries else 2)"),
    (UNIVERSALITY, "Random queries", BOUNDS, "3 * arb(3).sqrt() / 8", "arb(3) / 8"),
    (UNIVERSALITY, "Random queries", BOUNDS, "+ 1 / (arb(eta) * scores.d)", ""),
]  # fmt: skip


@pytest.mark.parametrize(("name", "title", "module", "old", "new"), WRONG, ids=[f"{t}: {n}" for _, t, _, _, n in WRONG])
def test_a_wrong_formula_is_noticed(name: str, title: str, module: str, old: str, new: str) -> None:
    assert_noticed([step for step in DERIVATIONS[name].steps if step.title.startswith(title)], module, old, new)
