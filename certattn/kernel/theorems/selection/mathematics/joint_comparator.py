"""A head and attention that minimisers are compared with: the margins Y_i f(X_i) that they give the inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from flint import arb

from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.token_selection import Selection


@dataclass(frozen=True)
class Scaled:
    """The vector factor * direction, 1 x d."""

    direction: ExactMatrix
    factor: arb


@dataclass(frozen=True)
class Comparator:
    """The head v and the attention p; `label_rows` hold the Y_i x_it, one per row."""

    selection: Selection
    label_rows: Sequence[Sequence[arb]]
    head: Scaled
    attention: Scaled

    @cached_property
    def softmax(self) -> list[list[arb]]:
        """The softmax weights by input, computed relative to the chosen token."""
        tokens = self.selection.tokens
        logits = tokens.keys @ self.attention.direction.T
        found = []
        for i, index in enumerate(self.selection.indices):
            chosen = logits.entry(tokens.row(i, index), 0)
            powers = [(self.attention.factor * (logits.entry(row, 0) - chosen)).exp() for row in tokens.rows_of(i)]
            total = sum(powers, arb(0))
            found.append([power / total for power in powers])
        return found

    @cached_property
    def attended(self) -> list[list[arb]]:
        """The Y_i sum_t s_it x_it."""
        found = []
        for i, weights in enumerate(self.softmax):
            rows = [self.label_rows[row] for row in self.selection.tokens.rows_of(i)]
            columns = zip(*rows, strict=True)
            found.append([sum((s * x for s, x in zip(weights, xs, strict=True)), arb(0)) for xs in columns])
        return found

    @cached_property
    def margins(self) -> list[arb]:
        """The Y_i <v, sum_t s_it x_it>."""
        head = [self.head.factor * x for x in self.head.direction.row(0)]
        return [sum((a * x for a, x in zip(row, head, strict=True)), arb(0)) for row in self.attended]
