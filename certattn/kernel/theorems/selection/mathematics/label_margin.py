"""The head of joint training: its max-margin direction over chosen tokens, and what attending to others costs.

Inputs X_i with rows x_it, labels Y_i = 1 or -1, chosen tokens alpha_i. v_mm is the shortest v with
Y_i <v, x_{i alpha_i}> >= 1 for all i; Gamma = 1 / |v_mm| is the label margin and u = Gamma v_mm. With the multipliers
mu_i of v_mm, which are positive on the support inputs S only, and mu^_i = mu_i / sum mu,

    sum_i mu^_i Y_i x_{i alpha_i} = Gamma u.

Attention with weights s_it yields r_i = sum_t s_it x_it. For e = max_{i in S} (1 - s_{i alpha_i}),

    max_{|v| <= 1} min_i Y_i <v, r_i>  <=  |sum_i mu^_i Y_i r_i|  <=  Gamma - nu e.

The middle is a convex function of the weights; so is its sum with nu e, and it has its largest value where every input
of S attends to one token. This gives nu by enumeration; where that is too long, single pairs give a smaller one.
Ataee Tarzanagh, Li, Zhang and Oymak 2023, the section on joint convergence.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from flint import arb, fmpq

from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.token_selection import Selection
from certattn.kernel.theorems.selection.mathematics.margin_points import MaxMargin

# So many choices of one token for every support input are enumerated.
MOST_CHOICES = 10_000


@dataclass(frozen=True)
class LabelMargin:
    """The head of `solution`, which is a solution where its conditions are proved; `rows` hold the Y_i x_it."""

    rows: ExactMatrix
    selection: Selection
    solution: MaxMargin

    @cached_property
    def support(self) -> tuple[int, ...]:
        """The inputs with a multiplier, S."""
        return tuple(i for i, value in sorted(self.solution.multipliers.items()) if value > 0)

    @cached_property
    def weights(self) -> dict[int, fmpq]:
        """The mu^_i of S."""
        total = sum((self.solution.multipliers[i] for i in self.support), fmpq(0))
        return {i: self.solution.multipliers[i] / total for i in self.support}

    @cached_property
    def _differences(self) -> ExactMatrix:
        """The Y_i (x_{i alpha_i} - x_it), by pair."""
        chosen, pairs, tokens = self.selection.rows, self.selection.pairs, self.selection.tokens
        others = self.rows.take_rows([tokens.row(pair.input, pair.token) for pair in pairs])
        return self.rows.take_rows([chosen[pair.input] for pair in pairs]) - others

    @cached_property
    def gaps(self) -> tuple[fmpq, ...]:
        """The Y_i <v_mm, x_{i alpha_i} - x_it>, by pair. Times Gamma they are the h_j."""
        return tuple((self._differences @ self.solution.solution.T).T.row(0))

    @cached_property
    def distances(self) -> tuple[fmpq, ...]:
        """The |x_{i alpha_i} - x_it|^2, by pair."""
        return tuple(sum((x * x for x in row), fmpq(0)) for row in self._differences.to_rows())

    @property
    def enumerated(self) -> bool:
        """Whether all ways to choose a token of every support input are gone through."""
        return math.prod(self.selection.tokens.lengths[i] for i in self.support) <= MOST_CHOICES

    @cached_property
    def nearest_choice(self) -> tuple[tuple[int, ...], fmpq]:
        """Of all choices of a token of each support input but alpha itself, the one of the largest
        |sum_i mu^_i Y_i x_{i t_i}|^2, and this number; alpha and 0 where there is no other choice."""
        tokens, support = self.selection.tokens, self.support
        weighted = [self.rows.take_rows(tokens.rows_of(i)).scaled(self.weights[i]) for i in support]
        stacked = ExactMatrix.stacked(weighted)
        integers = iter([[int(x) for x in row] for row in stacked.numerators.tolist()])
        parts = [list(islice(integers, matrix.rows)) for matrix in weighted]
        alpha = tuple(self.selection.indices[i] for i in support)
        best, largest = alpha, -1
        for choice, norm in _choices(parts):
            if norm > largest and choice != alpha:
                best, largest = choice, norm
        return best, fmpq(max(largest, 0)) / (fmpq(stacked.denominator) ** 2)

    @cached_property
    def smallest_pair(self) -> fmpq:
        """min over S of mu^_i min_t (2 Gamma h_it - |x_{i alpha_i} - x_it|^2): an input of one token has none."""
        least = []
        for i, positions in self.selection.pairs_of.items():
            if i in self.weights:
                kept = [2 * self.gaps[j] / self.solution.norm_squared - self.distances[j] for j in positions]
                least.append(self.weights[i] * min(kept))
        return min(least)

    def margin(self) -> arb:
        """Gamma, at the working precision."""
        return self.solution.margin()

    def drop(self) -> arb:
        """A number nu for which the inequality above holds if it is positive; at the working precision."""
        if not self.enumerated:
            return self.drop_by_pairs()
        return self.margin() - arb(self.nearest_choice[1]).sqrt()

    def drop_by_pairs(self) -> arb:
        """The same from single pairs.

        Gamma^2 - |Gamma u - q|^2 = 2 Gamma <u, q> - |q|^2 >= sum_i mu^_i sum_t s_it (2 Gamma h_it - |..|^2)
        for q = sum_i mu^_i Y_i (x_{i alpha_i} - r_i), as squares are convex; and Gamma + |Gamma u - q| <= 2 Gamma.
        """
        return self.smallest_pair / (2 * self.margin())


def _choices(parts: Sequence[list[list[int]]]) -> list[tuple[tuple[int, ...], int]]:
    """Every choice of a row of each part, with the squared norm of the sum of these rows."""
    sums: list[tuple[tuple[int, ...], list[int]]] = [((), [0] * len(parts[0][0]))]
    for part in parts:
        sums = [
            ((*choice, t), [a + b for a, b in zip(total, row, strict=True)])
            for choice, total in sums
            for t, row in enumerate(part)
        ]
    return [(choice, sum(x * x for x in total)) for choice, total in sums]
