"""`joint-max-margin` in words."""

from __future__ import annotations

from collections.abc import Sequence

from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.selection.joint_max_margin import JointSolution, StatedPath
from certattn.kernel.theorems.selection.stated_tokens import kkt_names
from certattn.statements.ranges import range_words
from certattn.statements.selection.stated_tokens import kkt_sentences, label_words, token_words
from certattn.statements.wording import Answer, Outcome, Statement, Wording

_SQUARED = "1/|v_mm|, squared, against its bound, squared"
_SENTENCES = {
    **kkt_sentences("v", "v"),
    "v.solution": "v_mm is the sum of multipliers times labelled chosen tokens",
    "support": "the support inputs are all those with Y <v_mm, chosen token> = 1",
    "label_margin.at_least": _SQUARED,
    "label_margin.at_most": _SQUARED,
    **kkt_sentences("p"),
    "p.solution": "p_mm is the sum of multipliers times differences of keys",
    "drop.multipliers": "the smallest multiplier of a support input of which `drop` says something",
    "quadratic_drop": "a lower bound on nu' of the label-margin condition with squares",
}
_CHOICES = (
    "a lower bound on nu of the label-margin condition, by every choice of one token for each input with a multiplier"
)
_PAIRS = "a lower bound on nu of the label-margin condition, by pairs of tokens (there are too many choices)"
_PATH = {
    "comparator_head": "the squared norm of the comparator's head, against the square of its bound",
    "comparator_attention": "the squared norm of the comparator's attention, against the square of its bound",
    "unattended": "an upper bound, to be below 1, on the weight that a support input puts on other tokens",
    "alignment": "a lower bound, to be above 0, on <v, v_mm/|v_mm|>/r for the v of every minimiser",
    "outside": "a lower bound on what inputs without multiplier lack of their margin, over r, by other tokens alone",
    "head_cosine": "a lower bound on the cosine with v_mm of every minimiser's v",
    "attention_cosine": "a lower bound on the cosine with p_mm of every minimiser's p",
    "mass": "a lower bound on the softmax weight of the chosen token of every support input, for every minimiser",
}
_BOUNDS = {
    "head_cosine": "cos(v, v_mm) >= ",
    "attention_cosine": "cos(p, p_mm) >= ",
    "mass": "softmax weight of the chosen token of every support input >= ",
}


_OTHERS = "other tokens than its chosen one"


def statement(problem: JointSolution) -> Statement:
    inputs = ", ".join(map(str, problem.support))
    every = len(problem.support) == problem.given.selection.tokens.count
    others = "" if every else " and >= 0 for the others"
    words = [
        f"the shortest v with Y <v, chosen token> >= 1 for every input is v_mm = {problem.v}",
        f"its support inputs are {inputs}{' (all of them)' if every else ''}",
        "the shortest p with <key of the chosen token - key of another, p> >= 1 for every other token of the "
        f"support inputs{others} is p_mm = {problem.p}",
    ]
    latex = [r"v_{mm} = v", r"p_{mm} = p"]
    if problem.label_margin is not None:
        words.append(f"the label margin 1/|v_mm| is {range_words(problem.label_margin)}")
    slow = ", ".join(map(str, problem.quadratic[0])) if problem.quadratic is not None else ""
    if problem.drop is not None:
        which = f"a support input{f' other than {slow}' if slow else ''}"
        words.append(_drop(f"{describe(problem.drop)} * (the largest weight that {which} puts on {_OTHERS})"))
        besides = rf" \setminus \{{{slow}\}}" if slow else ""
        latex.append(rf"\Gamma(s) \le \Gamma - \nu \max_{{i \in S{besides}}} (1 - s_{{i \alpha_i}})")
    if problem.quadratic is not None:
        which = f"one of the support inputs {slow}" if "," in slow else f"support input {slow}"
        squared = f"the square of the largest weight that {which} puts on {_OTHERS}"
        words.append(_drop(f"{describe(problem.quadratic[1])} * ({squared})"))
        latex.append(rf"\Gamma(s) \le \Gamma - \nu' \max_{{i \in \{{{slow}\}}}} (1 - s_{{i \alpha_i}})^2")
    if problem.path:
        words.append(
            f"every minimiser (v, p) of the sum of the {problem.path[0].loss} loss of Y <v, X'softmax(X W'p)> "
            "satisfies: " + "; ".join(map(_path, problem.path))
        )
        latex.append(r"\cos(v_r, v_{mm}) \ge c_v,\ \cos(p_R, p_{mm}) \ge c_p")
    given = problem.given
    chosen = ", ".join(map(str, given.selection.indices))
    inputs, labels = token_words(given.stated), label_words(given.stated.given)
    about = f"{inputs}, labels Y {labels} and chosen tokens {chosen}, counted from 0"
    return Statement(f"For {about}: {'; '.join(words)}.", r",\qquad ".join(latex))


def _drop(loss: str) -> str:
    return (
        f"whatever weights attention puts on the tokens, no v with |v| <= 1 has a label margin above 1/|v_mm| - {loss}"
    )


def _path(stated: StatedPath) -> str:
    r, R = stated.norms
    said = [_BOUNDS[name] + describe(bound) for name, bound in stated.bounds.items()]
    return f"over |v| <= {describe(r)} and |p| <= {describe(R)}, {', '.join(said)}"


def sentence(problem: JointSolution, name: str) -> str:
    if name.startswith("path["):
        return _PATH[name.split(".")[1]]
    if name == "drop":
        return _CHOICES if problem.head.enumerated else _PAIRS
    return _SENTENCES[name]


def findings(problem: JointSolution, obligations: Sequence[Answer]) -> list[str]:
    proved = {o.name for o in obligations if o.outcome is Outcome.PROVED}
    if not proved.issuperset([*kkt_names("v"), "v.solution", "support"]):
        return []
    lines = []
    if (problem.drop is not None or problem.quadratic is not None or problem.path) and problem.head.enumerated:
        choice, _ = problem.head.nearest_choice
        others = [
            f"token {t} of input {i}"
            for i, t in zip(problem.head.support, choice, strict=True)
            if t != problem.given.selection.indices[i]
        ]
        if others:
            lines.append(f"the label margin drops least for {', '.join(others)}")
    return lines


WORDING = Wording[JointSolution](statement, sentence, findings)
