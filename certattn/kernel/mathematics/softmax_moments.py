"""A prompt under the softmax weights of a query: averages, covariances and the log-normaliser, as balls.

With the scores a_i = s <q, k_i>, the weights p_i = e^{a_i} / Z and Z = sum_i e^{a_i},

    X = sum_i p_i x_i
    Cov(x, y) = sum_i p_i (x_i - X)(y_i - Y)' = sum_i p_i x_i y_i' - X Y'
    log Z = a_1 + log sum_i e^{a_i - a_1}

Adding a constant to all x_i or to all y_i leaves Cov(x, y) unchanged, so both are taken relative to
their plain means: what is constant over the tokens then has the covariance 0, without rounding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from flint import arb, arb_mat

from certattn.kernel.mathematics.balls import row_of_balls, scale_ball, table_of_balls
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.softmax import Columns, Prompt, averages

# What a covariance may be of, in the words of certificates. The derivative of T at q is s Cov(v, k).
COVARIANCES = {"values": ("values", "values"), "keys": ("keys", "keys"), "values-keys": ("values", "keys")}


@dataclass(frozen=True)
class Tokens:
    """The values and the keys of a prompt, each relative to their mean, ready for sums over tokens."""

    prompt: Prompt

    @cached_property
    def mean(self) -> ExactMatrix:
        """v_bar, the plain mean of the values."""
        return self.prompt.values.mean_row()

    @cached_property
    def values(self) -> Columns:
        return Columns.of(self.prompt.values.centred(self.mean))

    @cached_property
    def keys(self) -> Columns:
        return Columns.of(self.prompt.keys.centred(self.prompt.keys.mean_row()))


@dataclass(frozen=True)
class WeightedPrompt:
    """The tokens as one query weighs them: `weights` are e^{a_i - a_1}, `first_score` is a_1."""

    tokens: Tokens
    weights: Sequence[arb]
    first_score: arb
    _covariances: dict[str, arb_mat] = field(default_factory=dict)

    def output_from_mean(self) -> list[arb]:
        """T(q) - v_bar."""
        (row,) = averages(arb_mat(1, len(self.weights), list(self.weights)), self.tokens.values)
        return row

    def output_off(self, stated: ExactMatrix) -> list[arb]:
        """T(q) - stated, as (T(q) - v_bar) + (v_bar - stated); stated is 1 x d_v."""
        gaps = row_of_balls((self.tokens.mean - stated).row(0))
        return [x + gap for x, gap in zip(self.output_from_mean(), gaps, strict=True)]

    def log_normaliser(self) -> arb:
        """log Z."""
        return self.first_score + sum(self.weights, arb(0)).log()

    def covariance(self, of: str) -> arb_mat:
        """Cov(x, y), x and y as COVARIANCES has them, with a row for each coordinate of x."""
        if of not in self._covariances:
            left, right = COVARIANCES[of]
            columns = {"values": self.tokens.values, "keys": self.tokens.keys}
            self._covariances[of] = weighted_covariance(self.weights, columns[left], columns[right])
        return self._covariances[of]


def weighted_prompts(prompt: Prompt, queries: ExactMatrix) -> Iterator[WeightedPrompt]:
    """The prompt under the softmax weights of every row of `queries`, one after the other."""
    tokens = Tokens(prompt)
    first_scores = table_of_balls(queries @ prompt.keys.take_rows([0]).T, scale_ball(prompt.scale))
    weights = (row for table in prompt.weights(queries) for row in table.tolist())
    for row, (first_score,) in zip(weights, first_scores, strict=True):
        yield WeightedPrompt(tokens, row, first_score)


def weighted_covariance(weights: Sequence[arb], left: Columns, right: Columns) -> arb_mat:
    """sum_i p_i x_i y_i' - X Y' with p_i = w_i / W, W = sum_i w_i, from one product over the tokens:

    [x | 1]' diag(w) [y | 1] = [[sum w x y', sum w x], [sum w y', W]].
    """
    weighted = [w * entry for w, row in zip(weights, right.rows, strict=True) for entry in row]
    table = left.transposed * arb_mat(len(weights), right.balls.ncols(), weighted)
    *products, (*right_sums, total) = table.tolist()
    unit = total * left.denominator * right.denominator
    entries = [
        (entry - left_sum * y / total) / unit
        for *row, left_sum in products
        for entry, y in zip(row, right_sums, strict=True)
    ]
    return arb_mat(len(products), len(right_sums), entries)
