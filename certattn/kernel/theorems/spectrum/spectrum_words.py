"""What `singular-values` states, in words and as formulas."""

from __future__ import annotations

from certattn.kernel.document.quoting import counted
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.spectrum.matrix_inputs import StatedMatrix
from certattn.kernel.theorems.spectrum.spectrum_assertions import Assertions, StatedCount, StatedValues

_SHOWN = 4
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


def words_of(matrix: StatedMatrix, asserted: Assertions) -> str:
    """The statement, every number in it."""
    pieces = [] if asserted.values is None else [_values(asserted.values, matrix.count)]
    pieces += [_count(stated, matrix.count) for stated in asserted.counts[:_SHOWN]]
    if len(asserted.counts) > _SHOWN:
        pieces.append(f"{len(asserted.counts) - _SHOWN} more counts are as stated")
    pieces += [f"{_QUANTITIES[name][0]} is {stated.words()}" for name, stated in asserted.ranges.items()]
    return f"For {matrix.words()}, with singular values sigma_1 >= sigma_2 >= ...: {'; '.join(pieces)}."


def latex_of(matrix: StatedMatrix, asserted: Assertions) -> str:
    """The same as formulas."""
    found = [matrix.latex] if matrix.latex else []
    if asserted.values is not None:
        found.append(rf"\lvert \sigma_k - s_k \rvert \le r_k \quad (k \le {asserted.values.count})")
    found += [rf"\#\{{k : \sigma_k > {describe(stated.above)}\}} = {stated.count}" for stated in asserted.counts]
    for name, stated in asserted.ranges.items():
        found.append(stated.latex(_QUANTITIES[name][1]))
    return r",\qquad ".join(found)


def _values(stated: StatedValues, count: int) -> str:
    many = stated.count
    whole = "its only one" if count == 1 else f"all {count}"
    which = f"the largest {many} of {count}" if many < count else whole
    radius = stated.radius
    error = f"up to {radius.words()}" if radius.common is not None else "each up to its own radius"
    if radius.each is not None and radius.each.written_out:
        error = f"up to {radius.each.words()}, one after the other"
    value = stated.value.words()
    # Many that are written out are not repeated.
    value = "as stated" if value == counted(many, "number") else value
    return f"{which} {'are' if many > 1 else 'is'} {value}, {error}"


def _count(stated: StatedCount, count: int) -> str:
    number = "none" if stated.count == 0 else str(stated.count)
    words = f"exactly {number} of the {counted(count, 'singular value')} > {describe(stated.above)}"
    if stated.count == 0:
        words = f"none of the {counted(count, 'singular value')} is > {describe(stated.above)}"
    if stated.inside is not None:
        words += f", these >= {describe(stated.inside)}"
    if stated.outside is not None:
        words += f", the others <= {describe(stated.outside)}"
    return words
