"""`risk-gap` in words."""

from __future__ import annotations

from certattn.kernel.document.schema import Values
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.training.regression import COVARIANCE
from certattn.kernel.theorems.training.risk_gap import (
    A_SQUARED,
    B_SQUARED,
    BALL,
    EXCESS,
    GAP,
    LENGTH,
    POINT,
    PROMPT_LENGTH,
    SHORTFALL,
    StatedGap,
)
from certattn.statements.ranges import range_latex, range_words
from certattn.statements.training.given import parameters_words
from certattn.statements.wording import Statement, Wording

_BOUND = "an upper bound on {} over the ball is at most the stated {}"
_IDENTITY = "R_L - R (by the exact identity, averaged over the query) is {} the stated bound"
_SENTENCES = {
    "nodes.first": "the first variance of the nodes",
    "nodes.increase": "the smallest increase from one variance of the nodes to the next",
    "gap.at_least": _IDENTITY.format("at least"),
    "gap.at_most": _IDENTITY.format("at most"),
    "theta.above": "theta, the exponent of the power",
    "theta.below": "theta, the exponent of the power",
    "majorant.convex": "the smallest of the table's first slope and of the increases of its slopes",
    "majorant.end": "the last value of the table (E sum p_i^2 may be 1)",
    "nodes.reach": "the last variance of the nodes, against the largest there is",
    "slopes": "the least slope of a line",
    "excess": _BOUND.format("R_L - R", "excess"),
    "shortfall": _BOUND.format("R - R_L", "shortfall"),
}


def statement(stated: StatedGap) -> Statement:
    words = _over_ball if BALL in stated.given else _at_parameters
    return words(stated.given, stated.asserts)


def _at_parameters(given: Values, asserts: Values) -> Statement:
    bounds, length = asserts[GAP], given[PROMPT_LENGTH]
    words = (
        f"For in-context linear regression with covariance {given[COVARIANCE].words()} of tokens and query, "
        f"prompts of {length} tokens and {parameters_words(given[POINT])}: the risk R_L of a prompt minus the risk "
        f"R of the infinite prompt is {range_words(bounds)}."
    )
    return Statement(words, range_latex(bounds, rf"R_{{{length}}}(A, b) - R_\infty(A, b)"))


def _over_ball(given: Values, asserts: Values) -> Statement:
    said = {
        EXCESS: ("the risk R_L of a prompt is at most {} above the risk R of the infinite prompt", "R_L - R_\\infty"),
        SHORTFALL: ("R_L is at most {} below R", "R_\\infty - R_L"),
    }
    bounds = [(*said[field], describe(asserts[field])) for field in said if field in asserts]
    A, b = describe(given[BALL][A_SQUARED]), describe(given[BALL][B_SQUARED])
    words = (
        f"For in-context linear regression with covariance {given[COVARIANCE].words()} of tokens and query, "
        f"prompts of L tokens for every L >= {asserts[LENGTH]}, and all parameters with "
        f"|A|_F^2 <= {A} and b^2 <= {b}: {' and '.join(text.format(bound) for text, _, bound in bounds)}."
    )
    lines = [rf"{side} \le {bound}" for _, side, bound in bounds]
    region = rf"\|A\|_F^2 \le {A},\ b^2 \le {b}"
    return Statement(words, r",\qquad ".join(lines) + rf" \qquad ({region},\ L \ge {asserts[LENGTH]})")


def sentence(stated: StatedGap, name: str) -> str:
    if name == "majorant.above":
        return f"the table minus E sum p_i^2 at length {stated.asserts[LENGTH]}, at its nodes and between them"
    return _SENTENCES[name]


WORDING = Wording[StatedGap](statement, sentence)
