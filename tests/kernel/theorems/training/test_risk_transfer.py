"""Checking `risk-transfer`: what is said, and a sabotaged kernel."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from corpus import REFUTED, REJECTED, Cases, Family, check
from flint import arb
from sabotage import Sabotage, holding, noticed

from certattn.kernel.theorems.training import risk_transfer
from certattn.kernel.theorems.training.context_losses import ContextLoss, Curvatures
from certattn.kernel.theorems.training.risk_transfer import Distance, GapBounds
from certattn.kernel.theorems.training.validated_flow import RegressionFlow

cases = Cases("transfer_cases")

Tool = Callable[[str], ModuleType]
EXPANSION, RISK = RegressionFlow.expansion, GapBounds.risk


def first(family: Family) -> str:
    return next(family.cases()).text


def test_the_statement_says_every_number(arrays: Path) -> None:
    said = check(first(cases.PLANE), arrays).statement
    for piece in (
        "prompts of L tokens x_i ~ N(0, Sigma) with labels <w, x_i>", "w ~ N(0, I)", "half the mean square error",
        "b sum_i p_i <w, x_i> of <w, x>, p the softmax of <x_i, A x>", "Sigma = ((1, 0.5), (0.5, 1.25))",
        "from A = ((0.15, 0), (0, 0.2)) and b = 0.25", "for every L >= 1700000000000000000",
        "R_L <= 0.1 at all times t >= 3.696, and so in the limit", "over infinite prompts the risk tends to 0",
        "up to t = 3.696 the two runs (A, b) are within 0.0441 of each other (Euclidean distance)",
    ):  # fmt: skip
        assert piece in said, said


def test_the_statement_about_given_prompts_says_every_number(arrays: Path) -> None:
    said = check(first(cases.PROMPTS), arrays).statement
    for piece in (
        "2 prompts of 3 tokens", "tokens: ((1), (-0.5), (2), (0.25), (-1), (1.5))", "queries: ((1), (-0.5))",
        "labels: ((1), (-0.5), (2), (-0.5), (2), (-3))", "targets: ((1), (1))", "from A = (0.5) and b = 1.5 exists",
        "R_L <= 0.221 at all times t >= 1, and so in the limit", "N(0, Sigma), Sigma = (1), the risk of the flow",
    ):  # fmt: skip
        assert piece in said, said


# -- a kernel with a part that is wrong

SABOTAGE: dict[str, Sabotage] = {
    "gradients without gap": (GapBounds, "gradient", lambda self: arb(0)),
    "no gap at the end": (GapBounds, "risk", lambda self: arb(0)),
    "half of the gap": (GapBounds, "risk", lambda self: RISK(self) / 2),
    "a flow that nothing parts": (RegressionFlow, "expansion", lambda self, ball: 0 * EXPANSION(self, ball)),
    "the tube is not closed": (Distance, "closed", property(lambda self: self.reached.is_finite())),
    "the largest power of all": (risk_transfer, "log_average", lambda length, theta, of, k: -length.log()),
    "no risk over infinite prompts": (risk_transfer.FinitePrompts, "root_of_risk", lambda self, near: arb(0)),
    "bounds are not looked at": (risk_transfer, "Obligation", holding("tube", "risk")),
    "paths are not looked at": (risk_transfer, "Obligation", holding("path")),
    "starts are not looked at": (risk_transfer, "Obligation", holding("infinite")),
    "losses are not curved": (ContextLoss, "curvatures", lambda self, around, radius: Curvatures(arb(0), arb(0))),
}  # fmt: skip

REJECTS = [
    case
    for family in (cases.LINE, cases.OUTSIDE, cases.PROMPTS)
    for case in family.cases()
    if case.verdict in (REJECTED, REFUTED)
]


test_a_sabotaged_kernel_fails = noticed(REJECTS, SABOTAGE)
