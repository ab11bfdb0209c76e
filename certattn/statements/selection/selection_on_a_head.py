"""`selection-on-a-head` in words."""

from __future__ import annotations

from collections.abc import Sequence

from flint import arb, fmpq

from certattn.kernel.document.quoting import counted
from certattn.kernel.document.schema import Values
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.selection.selection_on_a_head import (
    AT_LEAST,
    AT_MOST,
    BEST,
    MARGIN,
    RANK,
    SCORE_DIRECTION,
    SELECTED,
    WEIGHT,
    HeadStatement,
    StatedMargin,
    compares_others,
)
from certattn.statements.given import bounds_words, prompt_words, score_words, sight_words
from certattn.statements.ranges import between
from certattn.statements.wording import Answer, Statement, Wording, cut, show

LOWER = AT_LEAST.name
# Numbers of queries that are written out.
_SHOWN = 16
_NOUNS = {MARGIN.name: "margin", WEIGHT.name: "softmax weight"}


def statement(problem: HeadStatement) -> Statement:
    return Statement(_words(problem), _latex(problem))


def sentence(problem: HeadStatement, name: str) -> str:
    if name.startswith("separability."):
        _, of, end = name.split(".")
        return f"{'a lower' if end == LOWER else 'an upper'} bound on {_margin(of)}"
    kind, rest = name.split("[")
    place, end = rest.split("]")
    i = int(place)
    if kind == "exposure":
        return f"{'a lower' if end == f'.{LOWER}' else 'an upper'} bound on {_margin(i)}"
    if kind == BEST.name and problem.best is not None:
        return f"by how much token {problem.best[i]} scores higher than every other that query {i} sees"
    token = problem.selected[i]
    if kind == SELECTED.name:
        return f"the smallest gap at query {i} between the logit of token {token} and another, over |scale|"
    if kind == RANK.name:
        return f"how many tokens score higher than token {token} at query {i}"
    number, end = kind.split(".")
    bounds = problem.ranges[number][AT_LEAST if end == LOWER else AT_MOST]
    less = "1 minus " * compares_others(number, bounds.at(i))
    return f"{less}the {_NOUNS[number]} of token {token} at query {i}"


def findings(problem: HeadStatement, obligations: Sequence[Answer]) -> list[str]:
    lines = []
    for name, what in ((MARGIN.name, "margin"), (WEIGHT.name, "weight")):
        kind = f"{name}.{LOWER}["
        sides = [(o.left, o.name) for o in obligations if o.name.startswith(kind)]
        found = [(left, place) for left, place in sides if isinstance(left, arb | fmpq)]
        if found:
            left, place = min(found, key=lambda pair: arb(pair[0]).mid())
            lines.append(f"smallest {what} of a selected token: {show(left)} at query {place[len(kind) : -1]}")
    if problem.rank is not None:
        count = problem.head.prompt.count
        first = sum(rank == 0 for rank in problem.rank)
        last = sum(rank + 1 == seen for rank, seen in zip(problem.rank, problem.head.seen, strict=True))
        lines.append(
            f"of the {counted(count, 'selected token')}, {first} have the largest score and {last} score "
            "below every other token"
        )
    return lines


def _margin(of: str | int) -> str:
    """What the largest margin of these tokens is."""
    if isinstance(of, int):
        return f"the distance of key {of} from the convex hull of the other keys"
    return f"the largest margin with which one matrix W, |W|_F <= 1, selects the {of} tokens at all queries"


def _words(problem: HeadStatement) -> str:
    """The statement."""
    head, prompt = problem.head, problem.head.prompt
    queries = f"each of {prompt.count} queries q" if prompt.count > 1 else "one query q"
    sight = sight_words(prompt, head.causal)
    selected = _listed(problem.selected)
    parts = [f"the selected token, the one with the largest logit {score_words(prompt)}, is {selected}"]
    said = {MARGIN.name: "its logit exceeds the largest other one by", WEIGHT.name: "its softmax weight is"}
    parts += [f"{said[kind]} {_range(bounds)}" for kind, bounds in problem.ranges.items()]
    parts += [*_score_parts(problem), *_margin_parts(problem)]
    return f"For {queries} and a prompt of {prompt_words(prompt)}{sight}: {'; '.join(parts)}."


def _score_parts(problem: HeadStatement) -> list[str]:
    """About scores: how the selected tokens compare, and which are the best."""
    if problem.head.score is None:
        return []
    kind, values = problem.head.score
    worth = "|value|" if kind == "value-norm" else f"<v, value> with v = {values[SCORE_DIRECTION].words()}"
    parts = []
    if problem.rank is not None:
        count = _listed(problem.rank)
        parts.append(f"the number of tokens with a larger score {worth} than the selected one is {count}")
    if problem.best is not None:
        parts.append(f"the best token, the one with the largest score {worth}, is {_listed(problem.best)}")
    return parts


def _margin_parts(problem: HeadStatement) -> list[str]:
    """About largest margins."""
    weights = problem.head.prompt.weights
    keys = "key" if weights is None else "token" if weights.U is not None else "K token"
    parts = []
    for of, stated in problem.largest.items():
        what = _margin(of)
        if isinstance(of, int):
            what += " (the keys being the tokens)" * (keys == "token")
        else:
            what += f" (the smallest <{keys} of it - {keys} of another, W q>)"
        impossible = " (nothing selects it)" if isinstance(of, int) else " (no matrix selects them)"
        parts.append(f"{what} is {_ends(stated)}{impossible * (stated.upper == 0)}")
    return parts


def _latex(problem: HeadStatement) -> str:
    """The same as a formula."""
    gap = r"\ell_{i \alpha_i} - \ell_{it}"
    found = [rf"\min_{{t \ne \alpha_i}} {gap} > 0 \;\forall i"]
    terms = {MARGIN.name: rf"\min_{{t \ne \alpha_i}} ({gap})", WEIGHT.name: r"p_{i \alpha_i}"}
    for kind, bounds in problem.ranges.items():
        low = r"a_i \le " if AT_LEAST in bounds else ""
        found.append(f"{low}{terms[kind]}" + (r" \le b_i" if AT_MOST in bounds else ""))
    for of, stated in problem.largest.items():
        low = "" if stated.lower is None else rf"{describe(stated.lower)} \le "
        index = str(of) if isinstance(of, int) else rf"\mathrm{{{of}}}"
        found.append(rf"{low}\Xi_{{{index}}}" + ("" if stated.upper is None else rf" \le {describe(stated.upper)}"))
    return r",\qquad ".join(found)


def _range(stated: Values) -> str:
    ends = (("at least", AT_LEAST), ("at most", AT_MOST))
    return " and ".join(f"{side} {bounds_words(stated[end])}" for side, end in ends if end in stated)


def _ends(stated: StatedMargin) -> str:
    return between(stated.lower, stated.upper)


def _listed(numbers: Sequence[int]) -> str:
    """A number for each query; one where it is the same for all."""
    if len(numbers) > 1 and len(set(numbers)) == 1:
        return f"{numbers[0]} at every query"
    return ", ".join(cut(map(str, numbers), _SHOWN))


WORDING = Wording[HeadStatement](statement, sentence, findings)
