"""The attention matrix of queries and keys, centred or not, as balls at the working precision.

    A_ij = e^(s <q_i, k_j>) / Z_i,   Z_i = sum_j e^(s <q_i, k_j>),
    M = sqrt(d) (A - 1 1'/d)   or   M = sqrt(d) A.

Under a causal mask query i sees the first i keys alone: sums are over j <= i, C takes the place of 1 1'/d, with
C_ij = 1/i for j <= i, and everything is 0 for j > i.

d times a weight less their sum is exact where all weights of a row are equal, so that M is then exactly 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flint import arb

from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import Real
from certattn.kernel.mathematics.softmax import Prompt


def attention_matrix(
    queries: ExactMatrix, keys: ExactMatrix, scale: Real, *, centred: bool, causal: bool
) -> list[list[arb]]:
    """M for d queries and d keys, d x d; under a causal mask if asked."""
    prompt, row = Prompt(keys, keys, scale), centred_row if centred else scaled_row
    weights = (each for block in prompt.weights(queries) for each in block.tolist())
    return [causal_row(row, each, i + 1) if causal else row(each) for i, each in enumerate(weights)]


def centred_row(weights: Sequence[arb]) -> list[arb]:
    """sqrt(d) (w_j / Z - 1/d) = (d w_j - Z) / (sqrt(d) Z)."""
    size, mass = len(weights), total(weights)
    factor = 1 / (arb(size).sqrt() * mass)
    return [(size * weight - mass) * factor for weight in weights]


def scaled_row(weights: Sequence[arb]) -> list[arb]:
    """sqrt(d) w_j / Z."""
    factor = arb(len(weights)).sqrt() / total(weights)
    return [weight * factor for weight in weights]


def causal_row(row: Callable[[Sequence[arb]], list[arb]], weights: Sequence[arb], seen: int) -> list[arb]:
    """Either row of a query that sees the first n weights alone: sqrt(d/n) times that of these n, and 0 beyond."""
    factor = (arb(len(weights)) / seen).sqrt()
    return [entry * factor for entry in row(weights[:seen])] + [arb(0)] * (len(weights) - seen)


def total(weights: Sequence[arb]) -> arb:
    """Z, the sum of the weights."""
    found = arb(0)
    for weight in weights:
        found += weight
    return found
