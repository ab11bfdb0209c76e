"""`token-optimality` in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from certattn.kernel.document.quoting import counted
from certattn.kernel.mathematics.token_selection import Pair, Selection
from certattn.kernel.theorems.selection.token_optimality import OptimalityStatement
from certattn.statements.selection.stated_tokens import Trained, kkt_sentences, token_words
from certattn.statements.wording import Statement, Wording, cut

# So many selections or inputs are listed.
_SHOWN = 20

_ALL = {
    "all.cuts": "the largest |entry| of sum mu z of every cut",
    "all.coverage": "the number of selections with neither a cut nor a support, and of supports too many",
    "all.supports": "the number of supports with linearly dependent differences, or with a chosen token",
    **kkt_sentences("all", "every p_mm"),
    "all.missing": "the number of locally optimal selections that are left out",
    "all.wrong": "the number of listed selections that are not locally optimal",
}


def statement(problem: OptimalityStatement) -> Statement:
    words, latex = [], []
    if problem.optimal is not None:
        words.append(f"the tokens with the largest score are, input by input, {_shown(map(_set, problem.optimal))}")
        latex.append(r"\arg\max_t \gamma_{it} = O_i")
    if problem.accepted:
        words.append(f"locally optimal: {_shown(_tuple(s.indices) for s, _ in problem.accepted)}")
        latex.append(r"\gamma_{it} < \gamma_{i \alpha_i} \ \forall (i, t): \langle z_{it}, p_{mm}(\alpha) \rangle = 1")
    if problem.refused:
        words.append(f"not locally optimal: {_shown(_refusal(s, because) for s, because, _ in problem.refused)}")
        latex.append(
            r"\exists (i, t): \langle z_{it}, p_{mm}(\alpha) \rangle = 1,\ \gamma_{it} \ge \gamma_{i \alpha_i}"
        )
    if problem.enumeration is not None:
        listed = sorted(problem.enumeration.stated)
        said = f"exactly {_shown(map(_tuple, listed))} {'is' if len(listed) == 1 else 'are'}" if listed else "none is"
        total = counted(prod(problem.stated.tokens.lengths), "selection")
        words.append(f"of all {total}, {said} locally optimal")
        latex.append(r"\{ \alpha \text{ locally optimal} \} = A")
    trained = Trained(problem.stated.variable)
    of = f", with {trained.product('k_it')} in the place of <k_it, p> and a matrix W in that of p" * trained.is_matrix
    said = r",\qquad ".join(latex).replace("p_{mm}", f"{trained.variable}_{{mm}}")
    return Statement(f"For {token_words(problem.stated)}{of}: {'; '.join(words)}.", said)


def sentence(problem: OptimalityStatement, name: str) -> str:
    return Trained(problem.stated.variable).said(_sentence(problem, name))


def _sentence(problem: OptimalityStatement, name: str) -> str:
    if name in _ALL:
        return _ALL[name]
    form, rest = name.split("[")
    number, what = rest.split("]")
    k = int(number)
    if form == "optimal":
        return f"the number of tokens of input {k} that are listed wrongly or left out"
    if form == "locally_optimal":
        neighbours = f"the smallest score gap of a neighbour of {_tuple(problem.accepted[k][0].indices)}"
        return {**kkt_sentences("", "p_mm"), ".neighbours": neighbours}[what]
    because = problem.refused[k][1]
    said = {
        ".combination": "the largest |entry| of sum mu z",
        ".tight": f"the slack of token {because} at p_mm",
        ".score": f"the score gap of token {because}",
    }
    return {**kkt_sentences("", "p_mm"), **said}[what]


def _tuple(indices: Sequence[int]) -> str:
    return f"({', '.join(map(str, indices))})"


def _set(tokens: Sequence[int]) -> str:
    return f"{{{', '.join(map(str, sorted(tokens)))}}}"


def _refusal(selection: Selection, because: Pair | None) -> str:
    if because is None:
        return f"{_tuple(selection.indices)} (cannot be separated)"
    reason = f"token {because.token} of input {because.input} is a neighbour with no smaller score"
    return f"{_tuple(selection.indices)} ({reason})"


def _shown(items: Iterable[str]) -> str:
    return ", ".join(cut(items, _SHOWN))


WORDING = Wording[OptimalityStatement](statement, sentence)
