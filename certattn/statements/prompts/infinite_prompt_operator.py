"""`infinite-prompt-operator` in words."""

from __future__ import annotations

from collections.abc import Sequence

from flint import fmpq

from certattn.kernel.document.schema import Values
from certattn.kernel.given.token_laws import COVARIANCE, MEAN
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.prompts.infinite_prompt_operator import (
    MATRIX,
    OFFSET,
    OPERATOR,
    PUSHFORWARD,
    QUERY,
    RADIUS,
    VALUE,
    VALUES,
    StatedOperator,
)
from certattn.statements.given import law_words, weights_words
from certattn.statements.wording import Answer, Outcome, Statement, Wording, cut, show

_SHOWN_VALUES = 4
_SENTENCES = {
    "operator": "T is affine",
    "operator.matrix": "matrix = V Gamma U",
    "operator.offset": "offset = T(0)",
    "pushforward": "T is affine, so that it maps the Gaussian law of z to a Gaussian",
    "pushforward.mean": "mean = V m + s V Gamma U m_z",
    "pushforward.covariance": "covariance = s^2 V Gamma U S_z U' Gamma V'",
}


def statement(stated: StatedOperator) -> Statement:
    given = stated.given
    words = [
        f"For {law_words(given.law)}, with {weights_words(given.weights)} and scale {describe(given.truth.scale)}, "
        "attention over the whole law, T(z) = V tau(scale * U z) with U = K'Q and tau the tilted mean,",
        *_maps(stated),
    ]
    latex = []
    if OPERATOR in stated.asserts:
        latex.append(r"T[\mu](z) = b + s A z \quad \forall z")
    if PUSHFORWARD in stated.asserts:
        latex.append(r"T[\mu]_\# \mathcal N(m_z, S_z) = \mathcal N(m, S)")
    values = stated.asserts.items(VALUES)
    if values:
        each = (f"is {_value(value)} in every coordinate" for value in values)
        words += cut(each, _SHOWN_VALUES, "has {} more values as stated")
        latex.append(rf"\| T[\mu](z_i) - y_i \|_\infty \le r_i, \quad i = 1, \dots, {len(values)}")
    head, *rest = words
    return Statement(f"{head} {' and '.join(rest)}.", r",\qquad ".join(latex))


def _maps(stated: StatedOperator) -> list[str]:
    """What is asserted of T as a map: the numbers where few are written out, else their shape and source."""
    words, queries = [], stated.given.stated_queries
    if OPERATOR in stated.asserts:
        asserted = stated.asserts[OPERATOR]
        scale = describe(stated.given.truth.scale)
        factor = "" if scale == "1" else f"{scale} * "
        offset, matrix = asserted[OFFSET].words(), asserted[MATRIX].words()
        words.append(f"is the affine map {offset} + {factor}A z with A = {matrix}")
    if queries is not None and PUSHFORWARD in stated.asserts:
        words.append(f"maps {_normal(queries)} to {_normal(stated.asserts[PUSHFORWARD])}")
    return words


def _normal(law: Values) -> str:
    return f"N({law[MEAN].words()}, {law[COVARIANCE].words()})"


def _value(stated: Values) -> str:
    return f"{stated[VALUE].load()} at z = {stated[QUERY].load()} up to {describe(stated[RADIUS])}"


def sentence(stated: StatedOperator, name: str) -> str:
    if name == "pushforward.mean" and _has_irrational_part(stated):
        return f"{_SENTENCES[name]}, irrational part"
    if name in _SENTENCES:
        return _SENTENCES[name]
    index = int(name[name.index("[") + 1 : -1])
    if name.startswith("values["):
        return f"|T(z) - value|_linf <= radius at query {index}"
    shown = ", ".join(describe(entry) for entry in stated.suspects.row(index))
    return f"T(z) = offset + scale * matrix z at z = ({shown})"


def _has_irrational_part(stated: StatedOperator) -> bool:
    affine, law = stated.given.affine, stated.given.query_law
    if affine is None or law is None or isinstance(affine.scale, fmpq):
        return False
    return not (ExactMatrix.row_vector(law.mean) @ affine.matrix.T).is_zero()


def findings(stated: StatedOperator, obligations: Sequence[Answer]) -> list[str]:
    for o in obligations:
        if o.name.startswith("operator.at[") and o.outcome is Outcome.REFUTED:
            return [f"not the stated map, as one query shows: {sentence(stated, o.name)} is off by {show(o.left)}"]
    return []


WORDING = Wording[StatedOperator](statement, sentence, findings)
