"""What `selection-on-a-head` states, in words and as a formula."""

from __future__ import annotations

from certattn.kernel.given.causal import sight_words
from certattn.kernel.theorems.selection.head_assertions import MARGIN, WEIGHT, listed
from certattn.kernel.theorems.selection.head_problem import DIRECTION, Problem


def margin_words(of: str | int) -> str:
    """What the largest margin of these tokens is."""
    if isinstance(of, int):
        return f"the distance of key {of} from the convex hull of the other keys"
    return f"the largest margin with which one matrix W, |W|_F <= 1, selects the {of} tokens at all queries"


def words(problem: Problem) -> str:
    """The statement."""
    head, prompt = problem.head, problem.head.prompt
    queries = f"each of {prompt.count} queries q" if prompt.count > 1 else "one query q"
    sight = sight_words(prompt, head.causal)
    selected = listed(problem.selected, "token")
    parts = [f"the selected token, the one of the largest logit {prompt.score_words}, is {selected}"]
    said = {MARGIN.name: "its logit exceeds the largest other one by", WEIGHT.name: "its softmax weight is"}
    parts += [f"{said[kind]} {bounds.words()}" for kind, bounds in problem.ranges.items()]
    parts += [*_score_parts(problem), *_margin_parts(problem)]
    return f"For {queries} and a prompt of {prompt.words()}{sight}: {'; '.join(parts)}."


def _score_parts(problem: Problem) -> list[str]:
    """About scores: how the selected tokens compare, and which are the best."""
    if problem.head.score is None:
        return []
    kind, values = problem.head.score
    worth = "|value|" if kind == "value-norm" else f"<v, value> with v = {values[DIRECTION].words()}"
    parts = []
    if problem.rank is not None:
        count = listed(problem.rank, "number")
        parts.append(f"the number of tokens with a larger score {worth} than the selected one is {count}")
    if problem.best is not None:
        parts.append(f"the best token, the one of the largest score {worth}, is {listed(problem.best, 'token')}")
    return parts


def _margin_parts(problem: Problem) -> list[str]:
    """About largest margins."""
    weights = problem.head.prompt.weights
    keys = "key" if weights is None else "token" if weights.U is not None else "K token"
    parts = []
    for of, stated in problem.largest.items():
        what = margin_words(of)
        if isinstance(of, int):
            what += " (the keys being the tokens)" * (keys == "token")
        else:
            what += f", the smallest <{keys} of it - {keys} of another, W q>,"
        impossible = " (nothing selects it)" if isinstance(of, int) else " (no matrix selects them)"
        parts.append(f"{what} is {stated.words()}{impossible * (stated.upper == 0)}")
    return parts


def latex(problem: Problem) -> str:
    """The same as a formula."""
    gap = r"\ell_{i \alpha_i} - \ell_{it}"
    found = [rf"\min_{{t \ne \alpha_i}} {gap} > 0 \;\forall i"]
    terms = {MARGIN.name: rf"\min_{{t \ne \alpha_i}} ({gap})", WEIGHT.name: r"p_{i \alpha_i}"}
    for kind, bounds in problem.ranges.items():
        low = r"a_i \le " if bounds.lower is not None else ""
        found.append(f"{low}{terms[kind]}" + (r" \le b_i" if bounds.upper is not None else ""))
    for of, stated in problem.largest.items():
        low = r"a \le " if stated.lower is not None else ""
        index = str(of) if isinstance(of, int) else rf"\mathrm{{{of}}}"
        found.append(rf"{low}\Xi_{{{index}}}" + (r" \le b" if stated.upper is not None else ""))
    return r",\qquad ".join(found)
