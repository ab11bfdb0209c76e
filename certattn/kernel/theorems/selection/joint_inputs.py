"""What `joint-max-margin` is given, and how its certificates state solutions and multipliers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import pairwise

from flint import fmpq

from certattn.kernel.document.matrices import Vector
from certattn.kernel.document.schema import Count, Field, Listing, Rational, Record, Values
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.mathematics.token_selection import Selection
from certattn.kernel.theorems.selection.kkt import INPUT, MULTIPLIER
from certattn.kernel.theorems.selection.stated_tokens import (
    INDICES,
    KEY_MAP,
    LABELS,
    LENGTHS,
    TOKENS,
    StatedTokens,
    read_labels,
    read_selection,
    read_tokens,
)

GIVEN = Record(TOKENS, LENGTHS, KEY_MAP, LABELS, INDICES)

HEAD = Field("v", Vector(), "v_mm, exactly")
SUPPORT = Field("support", Listing(Count(0)), "the support inputs, all of them, counted from 0, in order")
ATTENTION = Field("p", Vector(), "p_mm, exactly")
AT_LEAST = Field("at_least", Rational(minimum=0), "Gamma is at least this", required=False)
AT_MOST = Field("at_most", Rational(minimum=0), "Gamma is at most this", required=False)
LABEL_MARGIN = Field("label_margin", Record(AT_LEAST, AT_MOST), "bounds on Gamma = 1/|v_mm|", required=False)
DROP = Field("drop", Rational(above=0), "nu of the label-margin condition, > 0", required=False)

HEAD_MULTIPLIERS = Field(
    "head_multipliers", Listing(Record(INPUT, MULTIPLIER)), "multipliers of the support inputs for v_mm"
)


@dataclass(frozen=True)
class LabelledInputs:
    """Inputs with labels and a chosen token each, all exact."""

    stated: StatedTokens
    selection: Selection
    labels: tuple[fmpq, ...]
    values: Values

    @property
    def labelled(self) -> ExactMatrix:
        """The Y_i x_{i alpha_i}, one per row."""
        tokens, selection = self.selection.tokens, self.selection
        rows = self.stated.rows.take_rows([tokens.row(i, t) for i, t in enumerate(selection.indices)]).to_rows()
        return ExactMatrix.rational([[y * x for x in row] for y, row in zip(self.labels, rows, strict=True)])

    def levels(self, support: Collection[int]) -> tuple[fmpq, ...]:
        """1 for the pairs of support inputs, 0 for the others."""
        return tuple(fmpq(1 if pair.input in support else 0) for pair in self.selection.pairs)


def read_given(values: Values) -> LabelledInputs:
    """The inputs in a record of GIVEN. Raises MalformedError."""
    stated = read_tokens("tokens", values)
    selection = read_selection(stated, values[INDICES], values.node(INDICES))
    labels = tuple(read_labels(values, selection.tokens.count))
    return LabelledInputs(stated, selection, labels, values)


def read_support(asserts: Values, count: int) -> tuple[int, ...]:
    stated = asserts[SUPPORT]
    node = asserts.node(SUPPORT)
    if any(index >= count for index in stated):
        raise node.malformed(f"inputs below {count}, counted from 0", f"{max(stated)}")
    if any(a >= b for a, b in pairwise(stated)):
        raise node.malformed("every input once, in order", ", ".join(map(str, stated)))
    return tuple(stated)


def read_head_multipliers(witness: Values, given: LabelledInputs) -> dict[int, fmpq]:
    found: dict[int, fmpq] = {}
    count = given.selection.tokens.count
    for values in witness[HEAD_MULTIPLIERS]:
        i = values[INPUT]
        if i >= count:
            raise values.node(INPUT).malformed(f"an input below {count}, counted from 0", f"{i}")
        if i in found:
            raise values.at.malformed("every input at most once", f"the input {i} again")
        found[i] = values[MULTIPLIER]
    return found


def read_label_margin(stated: Values | None) -> tuple[fmpq | None, fmpq | None]:
    if stated is None:
        return None, None
    low, high = stated.get(AT_LEAST), stated.get(AT_MOST)
    if low is None and high is None:
        raise stated.at.malformed("at_least or at_most", "no bound")
    if low is not None and high is not None and low > high:
        raise stated.at.malformed("at_least <= at_most", f"{describe(low)} above {describe(high)}")
    return low, high
