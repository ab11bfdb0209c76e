"""Inputs of several tokens each, a chosen token of every input, and what sets it apart from the others.

Ataee Tarzanagh, Li, Zhang and Oymak 2023, section 2: keys k_it = W x_it and scores gamma_it = Y_i v'x_it of
token t of input i. For chosen tokens alpha_i and a pair j = (i, t) with t != alpha_i put

    z_j = k_{i alpha_i} - k_it,     g_j = gamma_{i alpha_i} - gamma_it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from flint import fmpq, fmpz, fmpz_mat

from certattn.kernel.mathematics.exact_matrix import ExactMatrix


@dataclass(frozen=True)
class Tokens:
    """The keys of n inputs, one input below the other, T_i rows for input i; and their scores, in the same order."""

    keys: ExactMatrix
    lengths: tuple[int, ...]
    scores: tuple[fmpq, ...] | None = None

    @property
    def count(self) -> int:
        """The number of inputs, n."""
        return len(self.lengths)

    @property
    def dimension(self) -> int:
        """The dimension of the keys, d."""
        return self.keys.columns

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """The row of the first token of each input."""
        return (0, *accumulate(self.lengths[:-1]))

    def row(self, i: int, t: int) -> int:
        """Where token t of input i stands."""
        return self.offsets[i] + t

    def rows_of(self, i: int) -> range:
        """Where the tokens of input i stand."""
        return range(self.offsets[i], self.offsets[i] + self.lengths[i])

    def keys_of(self, i: int) -> ExactMatrix:
        """The keys of input i, T_i x d."""
        return self.keys.take_rows(self.rows_of(i))

    def scores_of(self, i: int) -> list[fmpq]:
        """The scores gamma_it of input i."""
        assert self.scores is not None
        return [self.scores[row] for row in self.rows_of(i)]


@dataclass(frozen=True)
class Pair:
    """Token `token` of input `input`, compared with the chosen token of that input."""

    input: int
    token: int

    def __str__(self) -> str:
        return f"({self.input}, {self.token})"


@dataclass(frozen=True)
class Selection:
    """One chosen token of every input: `indices` are the alpha_i, counted from 0."""

    tokens: Tokens
    indices: tuple[int, ...]

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """Every other token of every input, in order. Inputs of one token have none."""
        return tuple(
            Pair(i, t) for i, length in enumerate(self.tokens.lengths) for t in range(length) if t != self.indices[i]
        )

    @cached_property
    def pairs_of(self) -> dict[int, list[int]]:
        """The positions of the pairs of every input that has more than one token."""
        found: dict[int, list[int]] = {}
        for j, pair in enumerate(self.pairs):
            found.setdefault(pair.input, []).append(j)
        return found

    @cached_property
    def rows(self) -> tuple[int, ...]:
        """Where the chosen tokens stand."""
        return tuple(self.tokens.row(i, t) for i, t in enumerate(self.indices))

    def score(self, i: int) -> fmpq:
        """gamma_{i alpha_i}."""
        return self.tokens.scores_of(i)[self.indices[i]]

    @cached_property
    def differences(self) -> ExactMatrix:
        """The z_j, one per row, in the order of `pairs`."""
        tokens, table = self.tokens, self.tokens.keys.numerators.tolist()
        flat: list[fmpz] = []
        for pair in self.pairs:
            chosen = table[self.rows[pair.input]]
            flat.extend(x - y for x, y in zip(chosen, table[tokens.row(pair.input, pair.token)], strict=True))
        return ExactMatrix(fmpz_mat(len(self.pairs), tokens.dimension, flat), tokens.keys.denominator)

    @cached_property
    def gaps(self) -> tuple[fmpq, ...]:
        """The g_j, in the order of `pairs`."""
        scores = [self.tokens.scores_of(i) for i in range(self.tokens.count)]
        return tuple(self.score(p.input) - scores[p.input][p.token] for p in self.pairs)

    @cached_property
    def good(self) -> tuple[int, ...]:
        """The pairs of tokens with a smaller score than the chosen one: g_j > 0."""
        return tuple(j for j, gap in enumerate(self.gaps) if gap > 0)

    @cached_property
    def bad(self) -> tuple[int, ...]:
        """The pairs of tokens with at least the score of the chosen one: g_j <= 0."""
        return tuple(j for j, gap in enumerate(self.gaps) if gap <= 0)


def best_tokens(tokens: Tokens) -> list[list[int]]:
    """Of every input, the tokens of the largest score: one where the globally optimal token is unique."""
    every = [tokens.scores_of(i) for i in range(tokens.count)]
    return [[t for t, score in enumerate(scores) if score == max(scores)] for scores in every]


def largest_spread(selection: Selection) -> fmpq:
    """The largest difference of two gaps of one input: 0 where the scores of the tokens not chosen are equal."""
    gaps = [[selection.gaps[j] for j in positions] for positions in selection.pairs_of.values()]
    return max(max(found) - min(found) for found in gaps)


def matrix_rows(rows: ExactMatrix, queries: ExactMatrix, asked: Sequence[int]) -> ExactMatrix:
    """x q' for each of the rows x and its query q, row asked[j] of `queries`; each in one row.

    x'Wq = sum_ab x_a W_ab q_b is the inner product of x q' and W, row after row: what is true of keys k and p is true
    of the k q' and W.
    """
    table, flat = queries.numerators.tolist(), list[fmpz]()
    for row, which in zip(rows.numerators.tolist(), asked, strict=True):
        flat.extend(entry * weight for entry in row for weight in table[which])
    return ExactMatrix(
        fmpz_mat(rows.rows, rows.columns * queries.columns, flat), rows.denominator * queries.denominator
    )
