"""How improbable it is that drawn softmax attention is not close to averaging: rank collapse and spread of its rows.

d queries x_i and d keys k_j, independent N(0, I_p), S_ij = x_i.k_j / sqrt(p), A = softmax(beta S) by rows,
e_ij = exp(beta S_ij - beta^2 |x_i|^2 / (2p)), E e_ij = 1, T = (e_ij - 1) / sqrt(d), and f(e) = e log e - e + 1 >= 0.
Where the mean of every row of (e_ij) is at least 1 - theta:

    sigma_2(A)^2 and sigma_1(A)^2 - 1   are at most  |T|^2 / ((1 - theta)^2 d),  |T|^2k <= d m_2k(T)
    |A|_F^2 - 1                         is at most   m_2(T) / (1 - theta)^2
    log d less the mean entropy of rows is at most   F / (1 - theta),  F the mean of all f(e_ij)

The page of `normalizer-bound` has the proofs. Each function says for which numbers its bound is proved, and looks not
whether it is so.
"""

from __future__ import annotations

from flint import arb, fmpq

from certattn.kernel.mathematics.functions import natural_power
from certattn.kernel.theorems.spectrum.gaussian_equivalence import low_normaliser
from certattn.kernel.theorems.spectrum.score_matrix import ORDERS, ScoreMatrix


def low_normalisers(scores: ScoreMatrix, theta: fmpq, cut: fmpq) -> arb:
    """P(some row of (e_ij) has a mean below 1 - theta) is at most this, for 0 < theta < 1, cut > 1."""
    return low_normaliser(scores, theta, cut) * scores.d


def exceeded(variance: arb, excess: arb) -> arb:
    """P(X >= E X + excess) <= Var X / (Var X + excess^2), for excess > 0 (Cantelli)."""
    return variance / (variance + excess * excess)


def large_norm(scores: ScoreMatrix, norm: fmpq) -> arb:
    """P(|T| >= norm sqrt(d)) <= E m_2k(T) d / (norm^2 d)^k, the least of the finite ones; for norm > 0 (Markov)."""
    least = arb(1)
    for order in ORDERS[1:]:
        if scores.has_moment(order):
            part = scores.moment(order) * scores.d / natural_power(arb(norm * norm * scores.d), order // 2)
            least = least.min(part)
    return least


def energy_excess(scores: ScoreMatrix, energy: fmpq) -> arb:
    """`energy` less E m_2(T) = phi(1) - 1."""
    return arb(energy) - (scores.mean_exponential(1) - 1)


def divergence_excess(scores: ScoreMatrix, divergence: arb) -> arb:
    """`divergence` less E F = beta^2 / 2."""
    return divergence - arb(scores.beta2) / 2


def divergence_variance(scores: ScoreMatrix) -> arb:
    """Var F, for p > 2 beta^2: from E f(e)^2 and the means of f(e) f(e') in one row and in one column."""
    p, b, d, x = scores.p, scores.b, scores.d, arb(scores.beta2)
    mean = x / 2
    # E e^2, E e^2 log e and E e^2 (log e)^2, from E e^a = (1 - (a^2 - a) b)^(-p/2).
    base = arb(1 - 2 * b)
    second = scores.power(1 - 2 * b)
    first_log = second * x * 3 / 2 / base
    second_log = second * ((x + arb(2 * b)) * x * 9 / 4 / (base * base) + x / base)
    square = second_log - 2 * first_log + second + x - 1
    # Of two queries and one key, from E e^a e'^c = ((1 - (a^2 - a) b) (1 - (c^2 - c) b) - (a c b)^2)^(-p/2).
    both, of_both, slope = scores.power(1 - b * b), arb(1 - b * b), arb(b + 2 * b * b)
    one_log = both * slope * p / 2 / of_both
    two_logs = both * (slope * slope * p * (p + 2) / 4 / (of_both * of_both) + arb(3 * b * b) * p / 2 / of_both)
    same_column = two_logs - 2 * one_log + both + x - 1 - mean * mean
    # Given its query, f(e) has the mean beta^2 |x|^2 / (2p).
    same_row = x * arb(b) / 2
    return (square - mean * mean) / arb(d) ** 2 + (same_row + same_column) * (d - 1) / arb(d) ** 2
