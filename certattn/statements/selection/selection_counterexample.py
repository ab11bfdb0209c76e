"""`selection-counterexample` in words."""

from __future__ import annotations

from collections.abc import Sequence

from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.selection.selection_counterexample import APART, SMOOTHNESS, Counterexample, obligations
from certattn.kernel.theorems.selection.stated_tokens import KEYS
from certattn.statements.selection import selection_direction
from certattn.statements.selection.stated_tokens import Trained, kkt_sentences, point_words
from certattn.statements.wording import Answer, Outcome, Statement, Wording

_OF_KEYS = " of the tokens x = (key, score) with W = [I 0] and v = (0, ..., 0, 1)"
_OF_LIFTED_KEYS = " of the tokens x = (k_it q_i' in one row, score) with [I 0] for this W and v = (0, ..., 0, 1)"
_SENTENCES = {
    **kkt_sentences("p_best", "p_best"),
    "unique": "the smallest gap between a best score and another of its input",
    "equal": "the largest difference between two other scores of an input",
    "apart": "1 - cos angle(p_best, p_mm)",
    "smoothness": "a bound on the paper's L_p, against L",
    "step": "eta L",
}


def statement(problem: Counterexample) -> Statement:
    direction = selection_direction.statement(problem.direction)
    trained = Trained(problem.direction.stated.variable)
    x, solution = trained.variable, trained.solution
    best, apart = ", ".join(map(str, problem.best.indices)), describe(problem.asserts[APART])
    words = [
        direction.words.removesuffix("."),
        f"in every input the token listed in ({best}) has the largest score and all other scores are equal, these best "
        f"tokens have a max-margin point {x}_best as well, and "
        f"1 - cos angle({x}_best, {solution}) >= {apart}",
    ]
    rule = problem.direction.rule
    if SMOOTHNESS in problem.asserts and rule.step is not None:
        bound = describe(problem.asserts[SMOOTHNESS])
        keys, matrix = KEYS in problem.direction.stated.given, trained.is_matrix
        of_keys = _OF_LIFTED_KEYS if matrix else _OF_KEYS if keys else ""
        words.append(
            f"eta = {describe(rule.step)} <= 1/L for L = {bound}, which is at least the paper's L_p = (1/n) sum_i "
            f"(M0 |v|^2 |W|^2 |X_i|^4 + 3 M1 |v| |W|^2 |X_i|^3) with spectral norms{of_keys}"
        )
    words.append(
        f"so gradient descent from this {x}(0) does not converge in the direction of {x}_best: for "
        f"these {problem.best.tokens.count} inputs it is false that, where all "
        "other scores of an input are equal, descent converges in direction to the max-margin point of the best "
        f"tokens from any {x}(0)"
    )
    latex = rf"{direction.latex},\qquad 1 - \cos \angle({x}_{{mm}}(\alpha), {x}_{{mm}}(\alpha')) \ge {apart}"
    return Statement("; ".join(words) + ".", latex)


def sentence(problem: Counterexample, name: str) -> str:
    if name in _SENTENCES:
        return Trained(problem.direction.stated.variable).said(_SENTENCES[name])
    return selection_direction.sentence(problem.direction, name)


def findings(problem: Counterexample, answers: Sequence[Answer]) -> list[str]:
    proved = {o.name for o in answers if o.outcome is Outcome.PROVED}
    if not proved.issuperset(o.name for o in obligations(problem)):
        return []
    found = selection_direction.findings(problem.direction, answers)
    stated = problem.direction.stated
    return [*found, f"{stated.variable}_best = {point_words(problem.best_solution.solution, stated.shape)}"]


WORDING = Wording[Counterexample](statement, sentence, findings)
