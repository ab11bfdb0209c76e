"""Softmax attention over a concrete prompt, as balls at the working precision.

    T(q) = sum_i v_i e^{s <q, k_i>} / sum_i e^{s <q, k_i>}

Scores are exact integers times one ball: only the exponential, the sums and the division round.
Adding a constant vector to every key multiplies all weights by one factor and leaves T(q)
unchanged, so keys are taken relative to the first one; equal scores then have weights that are
exactly equal. Values are taken relative to their mean, so a constant value has no rounding at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from flint import arb, arb_mat, fmpz, fmpz_mat

from certattn.kernel.mathematics.balls import scale_ball
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import Real

# Weights held in memory at once: about 100 bytes each.
_WEIGHTS_AT_ONCE = 2**18


@dataclass(frozen=True)
class Prompt:
    """L paired keys (L x d_k) and values (L x d_v) and the scale of the scores."""

    keys: ExactMatrix
    values: ExactMatrix
    scale: Real

    def first(self, count: int) -> Prompt:
        """The first so many tokens alone."""
        seen = range(count)
        return Prompt(self.keys.take_rows(seen), self.values.take_rows(seen), self.scale)

    def outputs_from_mean(self, queries: ExactMatrix) -> list[list[arb]]:
        """T(q) - v_bar for every row q of `queries`; v_bar is the mean of the values."""
        values = Columns.of(self.values.centred(self.values.mean_row()))
        return [row for weights in self.weights(queries) for row in averages(weights, values)]

    def weights(self, queries: ExactMatrix) -> Iterator[arb_mat]:
        """e^{s <q, k_i - k_1>}, a row for every row q of `queries` and a column for every token.

        As many queries at a time as there is room for.
        """
        keys = self.keys.centred(self.keys.take_rows([0])).T
        unit = scale_ball(self.scale) / (queries.denominator * keys.denominator)
        step = max(1, _WEIGHTS_AT_ONCE // self.keys.rows)
        for start in range(0, queries.rows, step):
            scores = queries.take_rows(range(start, min(start + step, queries.rows))) @ keys
            exponents = (arb_mat(scores.numerators) * unit).entries()
            yield arb_mat(scores.rows, scores.columns, [exponent.exp() for exponent in exponents])


@dataclass(frozen=True)
class Columns:
    """Vectors x_i, one per token, and a 1 beside each: `balls` holds the rows (denominator * x_i, 1)."""

    balls: arb_mat
    denominator: fmpz

    @classmethod
    def of(cls, points: ExactMatrix) -> Columns:
        """From the rows of an exact matrix."""
        return cls(arb_mat(_with_ones(points.numerators)), points.denominator)

    @cached_property
    def rows(self) -> list[list[arb]]:
        return self.balls.tolist()

    @cached_property
    def transposed(self) -> arb_mat:
        return self.balls.transpose()


def averages(weights: arb_mat, values: Columns) -> list[list[arb]]:
    """sum_i w_i x_i / sum_i w_i for every row w of `weights`."""
    rows = []
    for *moments, normaliser in (weights * values.balls).tolist():
        rows.append([moment / (normaliser * values.denominator) for moment in moments])
    return rows


def _with_ones(numerators: fmpz_mat) -> fmpz_mat:
    """[numerators | 1]: one product then gives the moments and the normaliser."""
    flat: list[fmpz] = []
    for row in numerators.tolist():
        flat += [*row, fmpz(1)]
    return fmpz_mat(numerators.nrows(), numerators.ncols() + 1, flat)
