"""`singular-values` in words."""

from __future__ import annotations

from collections.abc import Sequence

from flint import arb

from certattn.kernel.document.quoting import counted
from certattn.kernel.document.schema import Values
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.spectrum.singular_values import (
    ABOVE,
    COUNT,
    COUNTS,
    INSIDE,
    NONZERO,
    OUTSIDE,
    RADIUS,
    VALUE,
    VALUES,
    StatedSpectrum,
)
from certattn.statements.given import bounds_words
from certattn.statements.ranges import range_latex, range_words
from certattn.statements.spectrum.matrices import matrix_latex, matrix_words
from certattn.statements.wording import Answer, Statement, Wording, cut, show

_SHOWN = 4
_NAMES = {
    "norm": "sigma_1",
    "energy": "|M|_F^2",
    "stable_rank": "|M|_F^2 / sigma_1^2",
    "entropy.values": "entropy of sigma_k / sum sigma",
    "entropy.squares": "entropy of sigma_k^2 / sum sigma^2",
    "effective_rank.values": "e^entropy of sigma_k / sum sigma",
    "effective_rank.squares": "e^entropy of sigma_k^2 / sum sigma^2",
}
_QUANTITIES = {
    "norm": ("the spectral norm sigma_1", r"\sigma_1"),
    "energy": ("the energy |M|_F^2", r"\lVert M\rVert_F^2"),
    "stable_rank": ("the stable rank |M|_F^2 / sigma_1^2", r"\lVert M\rVert_F^2/\sigma_1^2"),
    "entropy.values": ("the entropy of the shares sigma_k / sum sigma", r"H(\sigma/\textstyle\sum\sigma)"),
    "entropy.squares": ("the entropy of the shares sigma_k^2 / sum sigma^2", r"H(\sigma^2/\textstyle\sum\sigma^2)"),
    "effective_rank.values": (
        "the effective rank e^H, H the entropy of sigma_k / sum sigma,",
        r"e^{H(\sigma/\sum\sigma)}",
    ),
    "effective_rank.squares": (
        "the effective rank e^H, H the entropy of sigma_k^2 / sum sigma^2,",
        r"e^{H(\sigma^2/\sum\sigma^2)}",
    ),
}


def statement(stated: StatedSpectrum) -> Statement:
    matrix, asserts = stated.matrix, stated.asserts
    counts = asserts.items(COUNTS)
    pieces, latex = [], matrix_latex(matrix)
    if VALUES in asserts:
        pieces.append(_values(asserts[VALUES], matrix.count))
        many = asserts[VALUES][VALUE].shape[1]
        latex.append(rf"\lvert \sigma_k - s_k \rvert \le r_k \quad (k \le {many})")
    pieces += cut((_count(item, matrix.count) for item in counts), _SHOWN, "{} more counts are as stated")
    latex += [rf"\#\{{k : \sigma_k > {describe(item[ABOVE])}\}} = {item[COUNT]}" for item in counts]
    for name, bounds in stated.ranges.items():
        pieces.append(f"{_QUANTITIES[name][0]} is {range_words(bounds)}")
        latex.append(range_latex(bounds, _QUANTITIES[name][1]))
    words = f"For {matrix_words(matrix)}, with singular values sigma_1 >= sigma_2 >= ...: {'; '.join(pieces)}."
    return Statement(words, r",\qquad ".join(latex))


def _values(stated: Values, count: int) -> str:
    many, radius = stated[VALUE].shape[1], stated[RADIUS]
    whole = "its only one" if count == 1 else f"all {count}"
    which = f"the largest {many} of {count}" if many < count else whole
    error = f"up to {bounds_words(radius)}" if radius.common is not None else "each up to its own radius"
    if radius.each is not None and radius.each.written_out:
        error = f"up to {radius.each.words()} in this order"
    return f"{which} {'are' if many > 1 else 'is'} {stated[VALUE].words()}, {error}"


def _count(stated: Values, count: int) -> str:
    number = "none" if stated[COUNT] == 0 else str(stated[COUNT])
    verb = "is" if stated[COUNT] == 1 else "are"
    words = f"exactly {number} of the {counted(count, 'singular value')} {verb} > {describe(stated[ABOVE])}"
    if stated[COUNT] == 0:
        words = f"none of the {counted(count, 'singular value')} is > {describe(stated[ABOVE])}"
    if INSIDE in stated:
        words += f", these >= {describe(stated[INSIDE])}"
    if OUTSIDE in stated:
        words += f", the others <= {describe(stated[OUTSIDE])}"
    return words


def sentence(stated: StatedSpectrum, name: str) -> str:
    if name == NONZERO:
        return "sigma_1 > 0 (if M is 0, there are no shares of a sum and no stable rank)"
    quantity, _, which = name.rpartition(".")
    if quantity in _NAMES:
        return f"{_NAMES[quantity]} {'>=' if which == 'at_least' else '<='} bound"
    index = int(name.partition("[")[2].partition("]")[0])
    if name.startswith(VALUES.name):
        return f"|sigma_{index + 1} - value| <= radius"
    k = stated.asserts[COUNTS][index][COUNT]
    return {
        "above": f"sigma_{k} > threshold",
        "not_above": f"sigma_{k + 1} <= threshold",
        "at_least": f"sigma_{k} >= bound",
        "at_most": f"sigma_{k + 1} <= bound",
    }[which]


def findings(stated: StatedSpectrum, obligations: Sequence[Answer]) -> list[str]:
    errors = [o for o in obligations if o.name.startswith("values[") and isinstance(o.left, arb)]
    finite = [o for o in errors if isinstance(o.left, arb) and o.left.is_finite() is True]
    if len(finite) == 0 or len(finite) < len(errors):
        return []
    worst = max(finite, key=_upper_end)
    return [f"largest |sigma_k - value|: {show(worst.left, 3)}, at {worst.name}"]


def _upper_end(obligation: Answer) -> arb:
    return obligation.left.upper() if isinstance(obligation.left, arb) else arb(0)


WORDING = Wording[StatedSpectrum](statement, sentence, findings)
