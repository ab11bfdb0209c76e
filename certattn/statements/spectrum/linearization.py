"""`linearization` in words."""

from __future__ import annotations

from collections.abc import Iterable

from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.spectrum.linearization import NONZERO, QUANTITIES, Attention, Quantity, StatedStages
from certattn.statements.ranges import range_latex, range_words
from certattn.statements.wording import Statement, Wording

# Stages as words and formulas.
_MATRICES = {
    "attention": ("M", "M"),
    "scores": ("T Pi", r"T\Pi"),
    "linear": ("L", "L"),
    "attention_less_scores": ("M - T Pi", r"M - T\Pi"),
    "scores_less_linear": ("T Pi - L", r"T\Pi - L"),
    "attention_less_linear": ("M - L", "M - L"),
}
# What obligations say of a size of a matrix X.
_SIZES = {
    "norm": "|{}|",
    "frobenius": "|{}|_F",
    "relative_norm": "|{}|/|M|",
    "relative_frobenius": "|{}|_F/|M|_F",
}
_SIZE_WORDS = {
    "norm": "the spectral norm of {}",
    "frobenius": "the Frobenius norm of {}",
    "relative_norm": "the spectral norm of {} over that of M",
    "relative_frobenius": "the Frobenius norm of {} over that of M",
}
_SIZE_LATEX = {
    "norm": r"\lVert {} \rVert",
    "frobenius": r"\lVert {} \rVert_F",
    "relative_norm": r"\lVert {} \rVert / \lVert M \rVert",
    "relative_frobenius": r"\lVert {} \rVert_F / \lVert M \rVert_F",
}
_OTHERS = {
    "distance": (
        "the Kolmogorov distance of the law of the singular values of M - L to the quarter circle law of variance "
        "alpha^2 = e^(beta^2) - 1 - beta^2",
        r"\sup_x \lvert F_{M - L}(x) - F_{\alpha^2}(x) \rvert",
    ),
    "largest": ("max_i |tbar_i|", r"\max_i \lvert \bar t_i \rvert"),
    "bound": ("max_i |tbar_i| |M|, which is at least |M - T Pi|,", r"\max_i \lvert \bar t_i \rvert \lVert M \rVert"),
    "wasserstein": (
        "the Wasserstein distance W_2 of the laws of the singular values of M and of T Pi",
        r"W_2(M, T\Pi)",
    ),
}


def statement(stated: StatedStages) -> Statement:
    ranges = stated.ranges
    pieces = [f"{_of(QUANTITIES[name], 0)} is {range_words(bounds)}" for name, bounds in ranges.items()]
    latex = [range_latex(bounds, _of(QUANTITIES[name], 1)) for name, bounds in ranges.items()]
    return Statement(f"{_given(stated.attention, ranges)}: {'; '.join(pieces)}.", r",\qquad ".join(latex))


def sentence(stated: StatedStages, name: str) -> str:
    if name == NONZERO:
        return "|M| > 0 (if M is 0, nothing has a size relative to it)"
    quantity, _, which = name.rpartition(".")
    return f"{left_side(QUANTITIES[quantity])} {'>=' if which == 'at_least' else '<='} bound"


def left_side(quantity: Quantity) -> str:
    """The left side of an obligation, in words."""
    if quantity.stage:
        return _SIZES[quantity.kind].format(_MATRICES[quantity.stage][0])
    return {
        "distance": "sup_x |F_N(x) - F(x)|",
        "largest": "max_i |tbar_i|",
        "bound": "max_i |tbar_i| |M|",
        "wasserstein": "W_2(M, T Pi)",
    }[quantity.kind]


def _given(attention: Attention, asserted: Iterable[str]) -> str:
    temperature = attention.temperature
    words = (
        f"For d = {attention.size} queries q = {attention.queries.words()} and keys k = {attention.keys.words()}, "
        f"scores s <q_i, k_j>, s = {describe(attention.scale)}"
    )
    if temperature is not None:
        words += (
            f" = beta u^2/sqrt(p) with beta = {describe(temperature.beta)}, u = {describe(temperature.unit)}, "
            f"p = {attention.width}"
        )
    words += (
        ", A their softmax by rows, Pi = I - 11'/d, M = sqrt(d) (A - 11'/d) and the linear part "
        "L = (s <q_i, k_j>) Pi/sqrt(d)"
    )
    if any(QUANTITIES[name].needs_beta and name != "remainder.distance" for name in asserted):
        words += (
            ", with T = (t_ij)/sqrt(d), t_ij = exp(s <q_i, k_j> - beta^2 u^2 |q_i|^2/(2p)) - 1, and tbar_i the mean of "
            "t_i1, t_i2, ..."
        )
    return words


def _of(quantity: Quantity, form: int) -> str:
    """In words (0) or as a formula (1)."""
    if quantity.stage:
        size = (_SIZE_WORDS, _SIZE_LATEX)[form][quantity.kind]
        return size.replace("{}", _MATRICES[quantity.stage][form])
    return _OTHERS[quantity.kind][form]


WORDING = Wording[StatedStages](statement, sentence)
