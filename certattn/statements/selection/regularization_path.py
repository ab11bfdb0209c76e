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
    NormPath,
    PathInputs,
    PathProblem,
    obligations,
)
from certattn.kernel.theorems.selection.stated_norms import NORM
from certattn.statements.selection.stated_norms import norm_words
from certattn.statements.selection.stated_tokens import Trained, kkt_sentences, point_words, token_words
from certattn.statements.wording import Answer, Outcome, Statement, Wording, show

_FORMULAS = {"linear": "l(x) = -x", "logistic": "l(x) = log(1 + e^-x)", "exponential": "l(x) = e^-x"}
_HEADS = {
    "linear": "psi (linear, with Y psi(x) the score)",
    "tanh": "psi(x) = tanh(v'x)",
    "softplus": "psi(x) = log(1 + e^(v'x))",
}
_SENTENCES = {
    **kkt_sentences("p_mm", "p_mm"),
    "limit": "limit = p_mm",
    "gaps": "a lower bound on the cost of mixing: the smallest score gap minus the largest curvature",
}
_IN_NORM = {
    "p_mm.multipliers": "the smallest multiplier",
    "dual_norm": "the dual norm of y = sum lambda z against 1, or how many signs show that it is larger",
    "gaps": _SENTENCES["gaps"],
    "inside": "a bound on the norm of the comparator, against R",
    "separates": "the smallest <z, p> of the comparator",
    "excess": "F of the comparator, against the least cost",
    "inward": "a lower bound on how fast F falls along the comparator",
    "share": "a lower bound on the smallest <z, p_R>, over R times the largest margin",
    "apart": "a bound on the distance of the unit vectors, both sides to the power max(l, 2)",
}
_PATH = {
    "inside": "the squared norm of the comparator, against R^2",
    "excess": "F of the comparator, against the least cost",
    "inward": "a lower bound on how fast F falls along p_mm",
    "cosine": "the cosine of the angle between p_R and p_mm",
}


def statement(problem: PathProblem | NormPath) -> Statement:
    if isinstance(problem, NormPath):
        return _in_norm(problem)
    given, trained = problem.given, Trained(problem.given.stated.variable)
    x, norm = trained.variable, trained.norm
    chosen = ", ".join(map(str, problem.selection.indices))
    bounds = ", ".join(f"{describe(s.cosine)} for R = {describe(s.radius)}" for s in problem.path)
    words = (
        f"{_minimisers(problem)} over {norm(x)} <= R has {norm(f'{x}_R')} = R, and the "
        f"cosine of its angle with the max-margin solution {trained.solution} of the selection ({chosen}) is at least "
        f"{bounds}{trained.angles}"
    )
    if problem.limit is not None:
        words += f"; {trained.solution} = {point_words(problem.limit, given.stated.shape)}"
    cosine, least = rf"\cos \angle({x}_R, {x}_{{mm}}(\alpha)) \ge c_R", rf"\arg\min_{{|{x}| \le R}} L({x})"
    return Statement(f"{words}.", rf"{cosine}, \quad |{x}_R| = R, \qquad {x}_R \in {least}")


def _in_norm(problem: NormPath) -> Statement:
    """Of another norm."""
    given, x = problem.given, problem.given.stated.variable
    norm = given.stated.given[NORM]
    chosen, (entries, sign) = ", ".join(map(str, problem.selection.indices)), norm_words(norm, x)
    margin = Trained(x).product("k_(i alpha_i) - k_it")
    shares = ", ".join(f"{describe(s.share)} for R = {describe(s.radius)}" for s in problem.path)
    words = (
        f"{_minimisers(problem)} over {sign(x)} <= R, {entries}, has {sign(f'{x}_R')} = R; the smallest {margin} of "
        f"the selection alpha = ({chosen}) at {x}_R / R is at least the largest one on the unit ball, times {shares}"
    )
    apart = [f"{describe(s.apart)} for R = {describe(s.radius)}" for s in problem.path if s.apart is not None]
    if apart:
        far = sign(f"{x}_R / R - {x}_mm")
        words += (
            f"; where {x}_mm is the one point of the unit ball with the largest, {far} is at most {', '.join(apart)}"
        )
    bound = rf"\min_j \langle z_j, {x}_R\rangle \ge c_R\, R \max_{{\|{x}\| \le 1}} \min_j \langle z_j, {x}\rangle"
    return Statement(f"{words}.", rf"{bound}, \quad \|{x}_R\| = R")


def _minimisers(problem: PathInputs) -> str:
    """What is given, and which function is minimised."""
    given, trained = problem.given, Trained(problem.given.stated.variable)
    x = trained.variable
    return (
        f"For {token_words(given.stated)}, the head {_head(given.stated.given)} and the {given.loss.name} loss "
        f"{_FORMULAS[given.loss.name]}: every minimiser {x}_R of L({x}) = (1/n) sum_i l(Y_i psi(sum_t s_it x_it)), "
        f"s_i the softmax of {trained.product('k_it')} over t,"
    )


def _head(given: Values) -> str:
    kind, values = given.get(HEAD) or ("linear", None)
    if kind == "quadratic" and values is not None:
        return f"psi(x) = x'Ax + v'x with A = {values[QUADRATIC].words()}"
    if kind == "leaky-relu" and values is not None:
        return f"psi(x) = phi(v'x), phi(r) = max(r, {describe(values[NEGATIVE_SLOPE])} r)"
    return _HEADS[kind]


def sentence(problem: PathProblem | NormPath, name: str) -> str:
    if isinstance(problem, NormPath):
        return _IN_NORM[name.split(".")[1] if name.startswith("path[") else name]
    words = _PATH[name.split(".")[1]] if name.startswith("path[") else _SENTENCES[name]
    return Trained(problem.given.stated.variable).said(words)


def findings(problem: PathProblem | NormPath, answers: Sequence[Answer]) -> list[str]:
    """Of every radius whose bound is proved, how small the angle is."""
    if isinstance(problem, NormPath):
        return []
    proved = {o.name: o for o in answers if o.outcome is Outcome.PROVED}
    names, shown = [o.name for o in obligations(problem)], []
    for k, stated in enumerate(problem.path):
        bound = proved.get(f"path[{k}].cosine")
        needed = [n for n in names if not n.startswith("path[") or n.startswith(f"path[{k}].")]
        if bound is not None and proved.keys() >= set(needed) and isinstance(bound.left, arb):
            with working_precision(bound.bits or 2):
                shown.append(f"R = {describe(stated.radius)}: 1 - cosine is at most {show(1 - bound.left, 5)}")
    return shown


WORDING = Wording[PathProblem | NormPath](statement, sentence, findings)
