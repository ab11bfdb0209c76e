"""The derivations of the propositions and of typical prompts notice a kernel that runs another formula.

As in `test_wrong_formulas`: each case edits the source of one kernel module in one place and re-proves one step.
"""

from __future__ import annotations

import pytest
from wrong_formulas import noticed

from certattn.theory import DERIVATIONS
from certattn.theory.derivation import prove
from certattn.theory.kernel_reading import Kernel, source_of

NAMES = ("proposition-3-1", "proposition-3-4", "typical-prompt")


PROPOSITIONS = "kernel.theorems.prompts.propositions"
QUERIES, LENGTHS, BOXES = (
    "kernel.theorems.prompts.mathematics.over_queries",
    "kernel.mathematics.every_length",
    "kernel.theorems.prompts.mathematics.over_queries",
)
TYPICAL, DEVIATION = "kernel.theorems.prompts.typical_prompt", "kernel.given.prompts"
COVARIANCE = "The softmax covariance of tokens on a box"

WRONG = [
    ("Instances", PROPOSITIONS, "return spread / length + apart", "return spread + apart"),
    ("Instances", PROPOSITIONS, "if length == 1 else fmpq(0)", "if length == 2 else fmpq(0)"),
    ("Instances", PROPOSITIONS, "fmpq(length - 1, length**2)", "fmpq(length, length**2)"),
    ("Instances", PROPOSITIONS, "square_norm / length**2 + several", "square_norm / length + several"),
    ("Instances", PROPOSITIONS, "(square_norm + spread * C.trace())", "(spread * C.trace())"),
    ("Averages", QUERIES, ".scaled(2 * rate)", ".scaled(rate)"),
    ("Averages", QUERIES, "total * fmpq(2 ** len(parts))", "total * fmpq(2 ** (len(parts) + 1))"),
    ("Averages", QUERIES, "(W @ S)", "(S @ W)"),
    ("Averages", QUERIES, "for order in permutations(parts)", "for order in [parts]"),
    ("From the logistic", LENGTHS, "for part in (theta, 1 - theta)", "for part in (theta, theta)"),
    ("From the logistic", LENGTHS, "determinant.log() / 2", "determinant.log()"),
    ("From the logistic", LENGTHS, "(length - 1).log()", "length.log()"),
    ("The first length", LENGTHS, "sigma**6", "sigma**5"),
    ("The first length", LENGTHS, "(-rho * log_length).exp()", "(rho * log_length).exp()"),
    ("The bound for", BOXES, "return t * t / (2 * self.second_weight)", "return t * t / self.second_weight"),
    ("The bound for", BOXES, "(length * (1 - t) ** 2)", "(length * (1 - t))"),
    ("The bound for", BOXES, "found = found * (1 + y * mean)", "found = found * (1 + mean)"),
    ("The bound for", BOXES, "sum(part**2 / 3 - drift**2", "sum(part**2 / 4 - drift**2"),
    ("The bound for", BOXES, "found = found + sum(drifts) ** 2", "found = found + 0 * sum(drifts)"),
    ("The bound for", BOXES, "fmpq(1, 4)", "fmpq(1, 5)"),
    ("The bound for", BOXES, "[c * (1 + mean)", "[c * (1 - mean)"),
    ("The bound for", BOXES, "return (x + y - abs(x - y)) / 2", "return (x + y + abs(x - y)) / 2"),
    (COVARIANCE, BOXES, "6 * reach", "5 * reach"),
    (COVARIANCE, BOXES, "4 * product", "3 * product"),
    (COVARIANCE, BOXES, "largest = 2 * (", "largest = ("),
    (COVARIANCE, BOXES, "** 2 / 9 for row", "** 2 / 81 for row"),
    (COVARIANCE, BOXES, "return BoxBounds(R, factor * moment", "return BoxBounds(R, moment"),
    ("One tilt", TYPICAL, "stated_queries @ self.prompt.score_map.T", "stated_queries @ self.prompt.query_map.T"),
    ("One tilt", TYPICAL, "self.prompt.scale, weights", "2 * self.prompt.scale, weights"),
    ("One tilt", TYPICAL, "weights, self.prompt.length", "weights, self.prompt.count"),
    ("One tilt", DEVIATION, "exact.outputs_from_mean(stated @ prompt.query_map.T)", "exact.outputs_from_mean(stated)"),
    ("One tilt", DEVIATION, "[[x - y for x, y in zip(*pair", "[[x + y for x, y in zip(*pair"),
]


test_a_wrong_formula_is_noticed = noticed(WRONG, *NAMES)


AVERAGED = [
    (PROPOSITIONS, "(V @ Gamma @ V.T).trace()) + quadratic", "(V @ V.T).trace()) + quadratic", "f(z)"),
    (PROPOSITIONS, "quadratic(slope.T @ slope, setting.squared_scale)", "quadratic(slope.T @ slope)", "f(z)"),
    (PROPOSITIONS, "shift=quadratic(shift.T @ shift, factor)", "shift=quadratic(shift.T @ shift)", "the six numbers"),
    (
        PROPOSITIONS, "cross=constant((moved @ moved.T).trace())", "cross=constant((moved @ V.T).trace())",
        "the six numbers"),
    (PROPOSITIONS, ".scaled(total / 2)", ".scaled(total)", "the kernel's matrix"),
]  # fmt: skip


@pytest.mark.parametrize(("module", "old", "new", "what"), AVERAGED, ids=[new for _, _, new, _ in AVERAGED])
def test_another_function_of_the_query_is_noticed(module: str, old: str, new: str, what: str) -> None:
    """Both propositions have a step of this title."""
    source = source_of(module)
    assert source.count(old) == 1
    name = "proposition-3-1" if what == "f(z)" else "proposition-3-4"
    (step,) = [step for step in DERIVATIONS[name].steps if step.title == "What is averaged"]
    outcome = prove(step, Kernel({module: source.replace(old, new)}), fail_fast=True)
    assert outcome.failed[0].startswith(what)
