"""`risk-gap` in words."""

from __future__ import annotations

from certattn.kernel.document.schema import Values
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.training.gap_at_parameters import GapAtParameters
from certattn.kernel.theorems.training.gap_over_ball import GapOverBall
from certattn.kernel.theorems.training.regression_task import COVARIANCE
from certattn.kernel.theorems.training.risk_gap import POINT, StatedGap
from certattn.statements.training.given import parameters_words
from certattn.statements.wording import Statement, Wording

_BOUND = "an upper bound of {} over the ball is <= the stated {}"
_IDENTITY = "R_L - R (the exact identity, averaged over the query) is {} the stated bound"
_SENTENCES = {
    "rate": "the rate d of the fits in e^(-k d v)",
    "growth": "theta, with which the misses of the fits are weighed",
    "nodes.first": "the first variance of the nodes",
    "nodes.increase": "the least distance of a variance of the nodes from the one before",
    "gap.at_least": _IDENTITY.format(">="),
    "gap.at_most": _IDENTITY.format("<="),
    "theta.above": "theta, the exponent of the power",
    "theta.below": "theta, the exponent of the power",
    "majorant.convex": "the first slope of the table and every growth of its slopes are >= 0",
    "majorant.end": "the last value of the table is >= 1, as E sum p_i^2 may be",
    "excess": _BOUND.format("R_L - R", "excess"),
    "shortfall": _BOUND.format("R - R_L", "shortfall"),
}


def statement(stated: StatedGap) -> Statement:
    gap = stated.gap
    return _at_parameters(stated.given, gap) if isinstance(gap, GapAtParameters) else _over_ball(stated.given, gap)


def _at_parameters(given: Values, gap: GapAtParameters) -> Statement:
    sides = [("at least", gap.least), ("at most", gap.most)]
    stated = " and ".join(f"{side} {describe(bound)}" for side, bound in sides if bound is not None)
    words = (
        f"For in-context linear regression with covariance {given[COVARIANCE].words()} of tokens and query, "
        f"prompts of {gap.length} tokens and {parameters_words(given[POINT])}: the risk R_L of a prompt less the risk "
        f"R of the infinite prompt is {stated}."
    )
    low = rf"\text{{{describe(gap.least)}}} \le " if gap.least is not None else ""
    high = rf" \le \text{{{describe(gap.most)}}}" if gap.most is not None else ""
    return Statement(words, rf"{low}R_{{{gap.length}}}(A, b) - R_\infty(A, b){high}")


def _over_ball(given: Values, gap: GapOverBall) -> Statement:
    stated = {
        "excess": "the risk R_L of a prompt is at most {} above the risk R of the infinite prompt",
        "shortfall": "R_L is at most {} below R",
    }
    parts = [stated[name].format(describe(bound)) for name, bound in gap.bounds.items()]
    words = (
        f"For in-context linear regression with covariance {given[COVARIANCE].words()} of tokens and query, "
        f"prompts of L tokens for every L >= {gap.length}, and all parameters with "
        f"|A|_F^2 <= {describe(gap.A_squared)} and b^2 <= {describe(gap.b_squared)}: {' and '.join(parts)}."
    )
    sides = {"excess": "R_L - R_\\infty", "shortfall": "R_\\infty - R_L"}
    lines = [rf"{sides[name]} \le \text{{{describe(bound)}}}" for name, bound in gap.bounds.items()]
    region = rf"\|A\|_F^2 \le \text{{{describe(gap.A_squared)}}},\ b^2 \le \text{{{describe(gap.b_squared)}}}"
    return Statement(words, r",\qquad ".join(lines) + rf" \qquad ({region},\ L \ge {gap.length})")


def sentence(stated: StatedGap, name: str) -> str:
    if name == "majorant.above":
        return f"the table less E sum p_i^2 at length {stated.gap.length} is >= 0, between the nodes too"
    return _SENTENCES[name]


WORDING = Wording[StatedGap](statement, sentence)
