"""Softmax attention over a concrete prompt, as balls at the working precision.

    T(q) = sum_i v_i e^{s <q, k_i>} / sum_i e^{s <q, k_i>}

Scores are exact integers times one ball: only the exponential, the sums and the division round.
Adding a constant vector to every key multiplies all weights by one factor and leaves T(q)
unchanged, so keys are taken relative to the first one; equal scores then have weights that are
exactly equal. Values are taken relative to their mean, so a constant value has no rounding at all.
"""

from __future__ import annotations

from dataclasses import dataclass

from flint import arb, arb_mat, fmpz, fmpz_mat

from certattn.kernel.arithmetic.balls import scale_ball
from certattn.kernel.arithmetic.exact_matrix import ExactMatrix
from certattn.kernel.arithmetic.reals import Real

# Weights held in memory at once: about 100 bytes each.
_WEIGHTS_AT_ONCE = 2**18


@dataclass(frozen=True)
class Prompt:
    """L paired keys (L x d_k) and values (L x d_v) and the scale of the scores."""

    keys: ExactMatrix
    values: ExactMatrix
    scale: Real

    def outputs_from_mean(self, queries: ExactMatrix) -> list[list[arb]]:
        """T(q) - v_bar for every row q of `queries`; v_bar is the mean of the values."""
        keys = self.keys.centred(self.keys.take_rows([0])).T
        values = self.values.centred(self.values.mean_row())
        columns = arb_mat(_with_ones(values.numerators))
        unit = scale_ball(self.scale) / (queries.denominator * keys.denominator)
        step = max(1, _WEIGHTS_AT_ONCE // self.keys.rows)
        rows: list[list[arb]] = []
        for start in range(0, queries.rows, step):
            scores = queries.take_rows(range(start, min(start + step, queries.rows))) @ keys
            exponents = (arb_mat(scores.numerators) * unit).entries()
            weights = arb_mat(scores.rows, scores.columns, [exponent.exp() for exponent in exponents])
            for *moments, normaliser in (weights * columns).tolist():
                rows.append([moment / (normaliser * values.denominator) for moment in moments])
        return rows


def _with_ones(numerators: fmpz_mat) -> fmpz_mat:
    """[numerators | 1]: one product then gives the moments and the normaliser."""
    flat: list[fmpz] = []
    for row in numerators.tolist():
        flat += [*row, fmpz(1)]
    return fmpz_mat(numerators.nrows(), numerators.ncols() + 1, flat)
