"""`output-tail` in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flint import arb

from certattn.kernel.document.quoting import counted
from certattn.kernel.document.schema import Values
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.prompts.output_tail import (
    AT_LEAST,
    AT_MOST,
    DIRECTION,
    NORM_NAME,
    StatedNorm,
    StatedTails,
)
from certattn.kernel.theorems.prompts.tail_rules import EXCEEDS, PROBABILITY
from certattn.statements.prompts.random_prompts import (
    CONDITIONS,
    by_ranges,
    lengths_latex,
    probability_words,
    prompt_words,
)
from certattn.statements.wording import Answer, Statement, Wording, show, show_lower

_CONDITIONS = {
    **{f"norm.{what}": words for what, words in CONDITIONS.items()},
    "norm.tilt_norm": "0 if U'Gamma U <= tilt_norm^2 I, 1 if not",
    "norm.value_norm": "0 if V Gamma V' <= value_norm^2 I, 1 if not",
    "norm.shells": "the largest norm of a tilt, against the end of the last shell",
    "norm.exceeds": "the sum of the squared levels, against exceeds^2",
}

_SIDES = {"most": AT_MOST, "least": AT_LEAST}


def statement(stated: StatedTails) -> Statement:
    clauses = [_direction(one) for one in stated.directions] + ([_norm(stated.norm)] if stated.norm is not None else [])
    averaged = "tokens" if stated.prompt.weights.V is None else "values"
    words = (
        f"For a prompt of {prompt_words(stated.prompt)}, let T_L be the softmax-weighted average of the {averaged} "
        f"and T its limit for infinite prompts: {'; '.join(clauses)}."
    )
    latex: list[str] = []
    latex += _directions_latex(stated.directions)
    if stated.norm is not None:
        norm, said = stated.norm, stated.norm.stated
        index = "2" if said[NORM_NAME] == "l2" else r"\infty"
        eps, delta = describe(said[EXCEEDS]), describe(said[PROBABILITY])
        sup = ""
        if norm.over_ball is not None:
            sup = rf"\sup_{{|z - z_0| \le {describe(norm.over_ball.prompt.radius)}}} "
        latex.append(rf"\mathbb P({sup}\| T_L - T \|_{index} > {eps}) \le {delta}")
    return Statement(words, r",\qquad ".join(latex) + lengths_latex(stated.prompt))


def _directions_latex(directions: Sequence[Values]) -> Iterator[str]:
    """With the numbers where there is one direction; the sentence says those of several."""
    last = len(directions)
    for sign, field, symbol in ((r"\le", AT_MOST, r"\delta_i"), (r"\ge", AT_LEAST, r"\alpha_i")):
        bounded = [i for i, one in enumerate(directions, 1) if field in one]
        if bounded and last == 1:
            (one,) = directions
            yield rf"\mathbb P(\langle u, T_L - T \rangle > {describe(one[EXCEEDS])}) {sign} {describe(one[field])}"
        elif bounded:
            numbers = (
                rf"i = 1, \dots, {last}" if len(bounded) == last else rf"i \in \{{{', '.join(map(str, bounded))}\}}"
            )
            yield rf"\mathbb P(\langle u_i, T_L - T \rangle > \varepsilon_i) {sign} {symbol}, \quad {numbers}"


def _direction(stated: Values) -> str:
    bounds = [f"at {side} {describe(stated[field])}" for side, field in _SIDES.items() if field in stated]
    return (
        f"the probability that <u, T_L - T> > {describe(stated[EXCEEDS])} is {' and '.join(bounds)} "
        f"for u = {stated[DIRECTION].words()}"
    )


def _norm(norm: StatedNorm) -> str:
    stated = norm.stated
    of_any = "at one of these queries or more " if norm.over_ball is not None else ""
    return (
        f"the probability that {of_any}the {stated[NORM_NAME]} norm |T_L - T| > {describe(stated[EXCEEDS])} "
        f"is at most {describe(stated[PROBABILITY])}"
    )


def sentence(stated: StatedTails, name: str) -> str:
    if name in _CONDITIONS:
        return _CONDITIONS[name]
    if name == "norm":
        assert stated.norm is not None
        if stated.norm.over_ball is not None:
            return "the bound for every query of the ball <= probability"
        if stated.norm.rules is None:
            order = stated.norm.order
            bound = (
                "a bound on E|T_L - T|^2, over exceeds^2," if order is None else f"E|T_L - T|^{order} / exceeds^{order}"
            )
            return f"{by_ranges(stated.norm.starts)}{bound} <= probability"
        return f"the sum of {counted(len(stated.norm.rules), 'one-sided bound')} <= probability"
    index = int(name.removeprefix("directions[").partition("]")[0])
    if name.endswith(".at_least"):
        return f"the probability in direction {index} >= at_least"
    rule = stated.rules[index]
    kind = "the probability" if rule.exact else f"the {rule.name} bound on the probability"
    return f"{kind} in direction {index} <= probability"


def findings(stated: StatedTails, obligations: Sequence[Answer]) -> list[str]:
    return [f"{o.name}: {words}" for o in obligations for words in _proved(o)]


def _proved(obligation: Answer) -> list[str]:
    """What is proved of a probability, from the side that the obligation needs."""
    found = obligation.left
    if obligation.name == "norm.shells":
        # A norm of tilts, which is no probability.
        return []
    if not obligation.name.endswith(".at_least"):
        return probability_words(obligation)
    if not isinstance(found, arb) or found.is_finite() is not True:
        return []
    return [f"probability at least {show_lower(found)}, stated {show(obligation.right)}"]


WORDING = Wording[StatedTails](statement, sentence, findings)
