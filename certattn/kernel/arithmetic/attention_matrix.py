"""The attention matrix of queries and keys, centred or not, as balls at the working precision.

    A_ij = e^(s <q_i, k_j>) / Z_i,   Z_i = sum_j e^(s <q_i, k_j>),
    M = sqrt(d) (A - 1 1'/d)   or   M = sqrt(d) A.

d times a weight less their sum is exact where all weights of a row are equal, so that M is then exactly 0.
"""

from __future__ import annotations

from collections.abc import Sequence

from flint import arb

from certattn.kernel.arithmetic.exact_matrix import ExactMatrix
from certattn.kernel.arithmetic.reals import Real
from certattn.kernel.arithmetic.softmax import Prompt


def attention_matrix(queries: ExactMatrix, keys: ExactMatrix, scale: Real, *, centred: bool) -> list[list[arb]]:
    """M for d queries and d keys, d x d."""
    prompt = Prompt(keys, keys, scale)
    return [row for weights in prompt.weights(queries) for row in _rows(weights.tolist(), centred)]


def _rows(weights: list[list[arb]], centred: bool) -> list[list[arb]]:
    return [centred_row(row) if centred else scaled_row(row) for row in weights]


def centred_row(weights: Sequence[arb]) -> list[arb]:
    """sqrt(d) (w_j / Z - 1/d) = (d w_j - Z) / (sqrt(d) Z)."""
    size, mass = len(weights), total(weights)
    factor = 1 / (arb(size).sqrt() * mass)
    return [(size * weight - mass) * factor for weight in weights]


def scaled_row(weights: Sequence[arb]) -> list[arb]:
    """sqrt(d) w_j / Z."""
    factor = arb(len(weights)).sqrt() / total(weights)
    return [weight * factor for weight in weights]


def is_uniform(queries: ExactMatrix, keys: ExactMatrix) -> bool:
    """Whether every query has one score for all keys, so that A = 1 1'/d exactly; the scale is not 0."""
    return (keys.centred(keys.take_rows([0])) @ queries.T).is_zero()


def total(weights: Sequence[arb]) -> arb:
    """Z, the sum of the weights."""
    found = arb(0)
    for weight in weights:
        found += weight
    return found
