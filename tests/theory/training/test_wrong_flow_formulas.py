"""A derivation must notice a kernel whose Taylor method is not the derived one."""

from __future__ import annotations

from wrong_formulas import noticed

FIELD, FLOW = (
    "kernel.theorems.training.validated_flow",
    "kernel.theorems.training.validated_flow",
)

WRONG = [
    ("Taylor", FIELD, "factor = arb(-1) / (k + 1)", "factor = arb(-1) / (k + 2)"),
    ("Taylor", FIELD, "factor = arb(-1)", "factor = arb(1)"),
    ("Taylor", FIELD, "product - self._left if k == 0 else product", "product"),
    ("Taylor", FIELD, "enumerate(S.inner(A.last)[:k])", "enumerate(S.inner(A.last))"),
    ("Taylor", FIELD, "[*reversed(numbers), *", "[*numbers, *"),
    ("What the polynomial", FIELD, "S = A * b * self._cube", "S = A * b"),
    ("What the polynomial", FIELD, "S[0] = self._residual(coefficients[0])", "S[0] = arb(0)"),
    ("What the polynomial", FIELD, "left, right = b * S, A * S", "left, right = b * S, b * S"),
    ("How far paths", FIELD, "length * radius + radius * radius / 2", "length * radius"),
    ("The error", FLOW, "/ (order + i + 1) for", "/ (order + i + 2) for"),
    ("The error", FLOW, "growth = (h * rate.max(arb(0))).exp()", "growth = (h * rate).exp()"),
    ("The error", FLOW, "(h * rate).exp() * error + growth * defect", "error + growth * defect"),
    ("Between", FLOW, "range(len(moved) - 2, first - 1, -1)", "range(len(moved) - 2, first, -1)"),
    ("Between", FLOW, "[x - y for x, y in zip(*pair", "[x + y for x, y in zip(*pair"),
    ("Which points", FIELD, "2 * length * radius + radius * radius", "length * radius + radius * radius"),
]


test_a_wrong_formula_is_noticed = noticed(WRONG, "flow-trajectory")
