"""`spectral-distance` in words."""

from __future__ import annotations

from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.spectrum.spectral_distance import BOUNDED, TAKES, Solution, StatedDistances
from certattn.statements.spectrum.matrices import matrix_latex
from certattn.statements.spectrum.spectral_distances import (
    NAMES,
    bound_sentence,
    distance_words,
    latex_of_range,
    sign_found,
    words_of_range,
)
from certattn.statements.wording import Statement, Wording

_OF_TAU = {
    "fixed_point.below": "(tau - r)^2 <= d m(tau - r)",
    "fixed_point.above": "(tau + r)^2 >= d m(tau + r)",
    "fixed_point.growth": "d Q(c) <= (E f)^2 at tau - r, from where t^2 - d m(t) then grows",
}


def statement(stated: StatedDistances) -> Statement:
    bounded, point = [field for field in BOUNDED if field in stated.asserts], stated.fixed_point
    words = [words_of_range(field, stated) for field in bounded]
    formulas = [latex_of_range(field, stated) for field in bounded]
    if point is not None:
        words.insert(0, _point_words(point))
        formulas.insert(0, _point_latex(point))
    if stated.matrix is not None:
        formulas = matrix_latex(stated.matrix) + formulas
    return Statement(f"{distance_words(stated)} {'; '.join(words)}.", r",\qquad ".join(formulas))


def _point_words(point: Solution) -> str:
    found = (
        f"t^2 - d m(t), d = {point.tokens} and m(t) = alpha_t^2 + beta_t^2, is at most 0 at tau - r and at least 0 "
        f"at tau + r, r = {describe(point.radius)}, so that tau is within r of a solution t of t^2 = d m(t)"
    )
    return f"{found}, which is the largest one" if point.largest else found


def _point_latex(point: Solution) -> str:
    found = rf"\lvert t - \tau \rvert \le {describe(point.radius)}, \quad t^2 = {point.tokens}\, m(t)"
    largest = rf"\max\{{t : t^2 = {point.tokens}\, m(t)\}}"
    return rf"\lvert \tau - {largest} \rvert \le {describe(point.radius)}" if point.largest else found


def sentence(stated: StatedDistances, name: str) -> str:
    if name in _OF_TAU:
        return _OF_TAU[name]
    quantity = name.partition(".")[0]
    return bound_sentence(NAMES[quantity], name, exact=quantity not in TAKES)


WORDING = Wording[StatedDistances](statement, sentence, sign_found)
