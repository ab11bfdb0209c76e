"""How far minimisers over a ball may be from the max-margin direction: an explicit bound.

For p_mm = sum lambda_j z_j with margin Xi = 1/|p_mm|, u = Xi p_mm and shares lambda^_j = lambda_j / sum lambda, and for
masses m_j > 0 of all pairs, the inequality of the weighted means gives

    sum_j m_j e^{-<z_j, p>} >= w e^{-Xi <p, u>},     w = exp(sum_j lambda^_j log(m_j / lambda^_j)).

If F(p) >= (1 - F(p)/a) sum_j m_j e^{-<z_j, p>} and F(p) <= F < a, it follows that

    Xi <p, u> >= log(w (1/F - 1/a)).

The functions are generic in the number type.
"""

from __future__ import annotations

from collections.abc import Sequence

from certattn.kernel.mathematics.functions import Functions, Number


def softmax_weights(products: Sequence[Number], fn: Functions) -> list[Number]:
    """The weights of the other tokens: e^{-<z_t, p>} / (1 + sum_r e^{-<z_r, p>})."""
    powers = [fn.exp(-product) for product in products]
    total = 1 + sum(powers[1:], powers[0])
    return [power / total for power in powers]


def log_weight(masses: Sequence[Number], shares: Sequence[Number], fn: Functions) -> Number:
    """log w, over the pairs with multipliers: `shares` are their lambda^_j > 0, which sum to 1."""
    terms = [share * fn.log(mass / share) for mass, share in zip(masses, shares, strict=True)]
    return sum(terms[1:], terms[0])


def least_progress(log_w: Number, excess: Number, least: Number, fn: Functions) -> Number:
    """log(w (1/F - 1/a)), which bounds Xi <p, u> from below; it grows as F falls."""
    return log_w + fn.log(1 / excess - 1 / least)


def least_cosine(progress: Number, margin: Number, radius: Number) -> Number:
    """The cosine of p and u for |p| = R."""
    return progress / (margin * radius)
