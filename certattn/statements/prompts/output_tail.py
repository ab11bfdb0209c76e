"""`output-tail` in words."""

from __future__ import annotations

from collections.abc import Sequence

from certattn.kernel.document.quoting import counted
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.prompts.output_tail import StatedDirection, StatedNorm, StatedTails
from certattn.statements.prompts.stated_tails import CONDITIONS, probability_words
from certattn.statements.wording import Answer, Statement, Wording

_CONDITIONS = {
    **{f"norm.{what}": words for what, words in CONDITIONS.items()},
    "norm.exceeds": "squares of levels sum to at most exceeds^2",
}


def statement(stated: StatedTails) -> Statement:
    clauses = [_direction(one) for one in stated.directions] + ([_norm(stated.norm)] if stated.norm is not None else [])
    words = (
        f"For a prompt of {stated.prompt.words()}, let T_L be the softmax-weighted average of the values and T "
        f"its limit for infinite prompts: {'; '.join(clauses)}."
    )
    latex = []
    if stated.directions:
        latex.append(
            r"\mathbb P(\langle u_i, T_L - T \rangle > \varepsilon_i) \le \delta_i, \quad "
            rf"i = 1, \dots, {len(stated.directions)}"
        )
    if stated.norm is not None:
        index = "2" if stated.norm.norm == "l2" else r"\infty"
        latex.append(rf"\mathbb P(\| T_L - T \|_{index} > \varepsilon) \le \delta")
    return Statement(words, r",\qquad ".join(latex))


def _direction(stated: StatedDirection) -> str:
    return (
        f"the probability that <u, T_L - T> > {describe(stated.eps)} is at most {describe(stated.delta)} "
        f"for u = {stated.direction_words}"
    )


def _norm(stated: StatedNorm) -> str:
    return (
        f"the probability that the {stated.norm} norm |T_L - T| > {describe(stated.eps)} "
        f"is at most {describe(stated.delta)}"
    )


def sentence(stated: StatedTails, name: str) -> str:
    if name in _CONDITIONS:
        return _CONDITIONS[name]
    if name == "norm":
        assert stated.norm is not None
        rules = f"the sum of {counted(len(stated.norm.rules), 'one-sided bound')}"
        what = rules if stated.norm.tokens is None else "a bound of E|T_L - T|^2, over exceeds^2,"
        return f"{what} <= probability"
    index = int(name.removeprefix("directions[").removesuffix("]"))
    rule = stated.directions[index].rule
    kind = "the probability" if rule.exact else f"the {rule.name} bound of the probability"
    return f"{kind} in direction {index} <= probability"


def findings(stated: StatedTails, obligations: Sequence[Answer]) -> list[str]:
    return [f"{o.name}: {words}" for o in obligations for words in probability_words(o)]


WORDING = Wording[StatedTails](statement, sentence, findings)
