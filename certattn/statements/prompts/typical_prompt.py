"""`typical-prompt` in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from flint import fmpq

from certattn.kernel.document.quoting import counted
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.prompts.output_tail import DIRECTION, NORM_NAME
from certattn.kernel.theorems.prompts.tail_rules import EXCEEDS, PROBABILITY
from certattn.kernel.theorems.prompts.typical_prompt import HERE, StatedPromptBesideLaw
from certattn.statements.given import law_words, prompt_words
from certattn.statements.prompts import output_tail
from certattn.statements.wording import Answer, Outcome, Statement, Wording


@dataclass(frozen=True)
class _Height:
    """What is asserted twice: the name of its obligation in `output-tail`, what is measured, and both numbers."""

    name: str
    words: str
    size: str
    eps: fmpq
    delta: fmpq

    def latex(self) -> Iterator[str]:
        """What holds of the prompt here, and of those that are drawn."""
        eps = describe(self.eps)
        yield rf"{self.size.format('T')} \le {eps}"
        yield rf"\mathbb P({self.size.format('T_L')} > {eps}) \le {describe(self.delta)}"


def _heights(stated: StatedPromptBesideLaw) -> Iterator[_Height]:
    for index, one in enumerate(stated.tail.directions):
        words = f"<u, T - T_inf> for u = {one[DIRECTION].words()}"
        size = rf"\langle u_{{{{{index + 1}}}}}, {{0}} - T_\infty \rangle"
        yield _Height(f"directions[{index}]", words, size, one[EXCEEDS], one[PROBABILITY])
    if stated.tail.norm is not None:
        norm = stated.tail.norm.stated
        which = "2" if norm[NORM_NAME] == "l2" else r"\infty"
        size, words = rf"\| {{0}} - T_\infty \|_{which}", f"the {norm[NORM_NAME]} norm |T - T_inf|"
        yield _Height("norm", words, size, norm[EXCEEDS], norm[PROBABILITY])


def statement(stated: StatedPromptBesideLaw) -> Statement:
    compared, thresholds = stated.compared, list(_heights(stated))
    here = " and ".join(f"{one.words} is at most {describe(one.eps)}" for one in thresholds)
    there = " and ".join(
        f"{one.words} exceeds {describe(one.eps)} with probability at most {describe(one.delta)}" for one in thresholds
    )
    words = (
        f"For a prompt of {prompt_words(compared.prompt)}, let T be softmax attention at the query and T_inf attention "
        f"over an infinite prompt of {law_words(compared.law)}: {here}; and with "
        f"{counted(compared.prompt.length, 'independent token')} of that law in their place, {there}. "
        "This does not say whether the tokens of this prompt were drawn from that law."
    )
    return Statement(words, r",\qquad ".join(formula for one in thresholds for formula in one.latex()))


def sentence(stated: StatedPromptBesideLaw, name: str) -> str:
    for one in _heights(stated):
        if name == HERE + one.name:
            return f"{one.words} of this prompt"
    return output_tail.sentence(stated.tail, name)


def findings(stated: StatedPromptBesideLaw, obligations: Sequence[Answer]) -> list[str]:
    outcomes = {obligation.name: obligation.outcome for obligation in obligations}
    return [
        _exceptional(one, stated.compared.prompt.length, outcomes.get(one.name) is Outcome.PROVED)
        for one in _heights(stated)
        if outcomes.get(HERE + one.name) is Outcome.REFUTED
    ]


def _exceptional(stated: _Height, length: int, proved: bool) -> str:
    """What it means that this prompt exceeds a threshold."""
    tokens = counted(length, "independent token")
    if not proved:
        return f"this prompt exceeds {describe(stated.eps)}; how rarely {tokens} of the law do so is not proved"
    return (
        f"this prompt is one of the exceptional ones: {tokens} of the law exceed {describe(stated.eps)} "
        f"with probability at most {describe(stated.delta)}"
    )


WORDING = Wording[StatedPromptBesideLaw](statement, sentence, findings)
