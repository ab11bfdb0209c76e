"""`regularization-path` in words."""

from __future__ import annotations

from collections.abc import Sequence

from flint import arb

from certattn.kernel.document.schema import Values
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.selection.regularization_path import (
    HEAD,
    NEGATIVE_SLOPE,
    QUADRATIC,
    PathProblem,
    obligations,
)
from certattn.statements.selection.stated_tokens import kkt_sentences, token_words
from certattn.statements.wording import Answer, Outcome, Statement, Wording, show

_FORMULAS = {"linear": "l(x) = -x", "logistic": "l(x) = log(1 + e^-x)", "exponential": "l(x) = e^-x"}
_HEADS = {
    "linear": "psi (linear, with Y psi(x) the score)",
    "tanh": "psi(x) = tanh(v'x)",
    "softplus": "psi(x) = log(1 + e^(v'x))",
}
_SENTENCES = {
    **kkt_sentences("p_mm", "p_mm"),
    "gaps": "a lower bound on the cost of mixing: the smallest score gap minus the largest curvature",
}
_PATH = {
    "inside": "the squared norm of the comparator, against R^2",
    "excess": "F of the comparator, against the least cost",
    "inward": "a lower bound on how fast F falls along p_mm",
    "cosine": "the cosine of the angle between p_R and p_mm",
}


def statement(problem: PathProblem) -> Statement:
    given = problem.given
    chosen = ", ".join(map(str, problem.selection.indices))
    bounds = ", ".join(f"{describe(s.cosine)} for R = {describe(s.radius)}" for s in problem.path)
    words = (
        f"For {token_words(given.stated)}, the head {_head(given.stated.given)} and the {given.loss.name} loss "
        f"{_FORMULAS[given.loss.name]}: every minimiser p_R of L(p) = (1/n) sum_i l(Y_i psi(sum_t s_it x_it)), "
        f"s_i the softmax of <k_it, p> over t, over |p| <= R has |p_R| = R, and the cosine of its angle with the "
        f"max-margin solution p_mm of the selection ({chosen}) is at least {bounds}."
    )
    latex = r"\cos \angle(p_R, p_{mm}(\alpha)) \ge c_R, \quad |p_R| = R, \qquad p_R \in \arg\min_{|p| \le R} L(p)"
    return Statement(words, latex)


def _head(given: Values) -> str:
    kind, values = given.get(HEAD) or ("linear", None)
    if kind == "quadratic" and values is not None:
        return f"psi(x) = x'Ax + v'x with A = {values[QUADRATIC].words()}"
    if kind == "leaky-relu" and values is not None:
        return f"psi(x) = phi(v'x), phi(r) = max(r, {describe(values[NEGATIVE_SLOPE])} r)"
    return _HEADS[kind]


def sentence(problem: PathProblem, name: str) -> str:
    return _PATH[name.split(".")[1]] if name.startswith("path[") else _SENTENCES[name]


def findings(problem: PathProblem, answers: Sequence[Answer]) -> list[str]:
    """Of every radius whose bound is proved, how small the angle is."""
    proved = {o.name: o for o in answers if o.outcome is Outcome.PROVED}
    names, shown = [o.name for o in obligations(problem)], []
    for k, stated in enumerate(problem.path):
        bound = proved.get(f"path[{k}].cosine")
        needed = [n for n in names if not n.startswith("path[") or n.startswith(f"path[{k}].")]
        if bound is not None and proved.keys() >= set(needed) and isinstance(bound.left, arb):
            with working_precision(bound.bits or 2):
                shown.append(f"R = {describe(stated.radius)}: 1 - cosine is at most {show(1 - bound.left, 5)}")
    return shown


WORDING = Wording[PathProblem](statement, sentence, findings)
