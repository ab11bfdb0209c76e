"""How far softmax attention with random queries and keys is from a Gaussian matrix: explicit bounds.

d queries x_i and d keys k_j, independent N(0, I_p), S_ij = x_i.k_j / sqrt(p),

    t_ij = exp(beta S_ij - beta^2 |x_i|^2 / (2p)) - 1,

T = (t_ij) / sqrt(d), Pi = I - 11'/d, A = softmax(beta S) by rows. Given the queries, the columns of sqrt(d) T are
independent with the covariance Sigma = (e^(beta^2 G_ij) - 1), G = XX'/p; Sigma_lin = alpha^2 I + beta^2 G with
alpha^2 = e^(beta^2) - 1 - beta^2. For a matrix M, s_M(-eta) = (1/d) tr (MM' + eta)^-1.

Each function states what it bounds and for which sizes that is proved; none of them looks whether it is so.
"""

from __future__ import annotations

from dataclasses import dataclass

from flint import arb, arb_mat, fmpq

from certattn.kernel.mathematics.balls import table_of_balls
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.spectrum import largest_eigenvalue
from certattn.kernel.theorems.spectrum.score_matrix import ScoreMatrix


def long_query(p: int, cut: fmpq) -> arb:
    """P(|x|^2 > cut p) <= (cut e^(1 - cut))^(p/2), for cut > 1 (Chernoff)."""
    return ((arb(cut).log() + 1 - arb(cut)) * p / 2).exp()


# -- the normaliser


def normalizer_bound(scores: ScoreMatrix, theta: fmpq, cut: fmpq) -> arb:
    """(1/d) E |sqrt(d) (A - 11'/d) - T Pi|_F^2 is at most this, for p > 12 beta^2, 0 < theta < 1, cut > 1."""
    typical = normalizer_square(scores) / arb(1 - theta) ** 2
    low_mean = (arb(-theta * theta * scores.d) / 2 * (arb(-cut * scores.beta2)).exp()).exp()
    return typical + (low_mean + long_query(scores.p, cut)) * (scores.d - 1)


def normalizer_square(scores: ScoreMatrix) -> arb:
    """E[mean(t)^2 mean(t^2)] of a row: ((d-1) E v^2 + E t^4) / d^2, v = E[t^2 | x] = e^(beta^2 |x|^2 / p) - 1."""
    phi = scores.mean_exponential
    return ((phi(2) - 2 * phi(1) + 1) * (scores.d - 1) + scores.entry_moment(4)) / arb(scores.d) ** 2


# -- the covariance


def linearisation(scores: ScoreMatrix) -> arb:
    """E |Sigma - Sigma_lin|_F^2, exactly, for p > 4 beta^2."""
    d, p, b, beta2, power = scores.d, scores.p, scores.b, scores.beta2, scores.power
    square = b * b
    rising = power(1 - square) / arb(1 - square)
    off_diagonal = power(1 - 4 * square) + 1 + arb(p * square) - 2 * power(1 - square) - 2 * rising * arb(p * square)
    c, phi = arb(beta2).exp() - arb(beta2), scores.mean_exponential
    mixed = phi(1) / arb(1 - 2 * b) * arb(beta2)
    diagonal = phi(2) - 2 * mixed + arb(beta2 * beta2 + 2 * beta2 * b) - 2 * c * (phi(1) - arb(beta2)) + c * c
    return off_diagonal * d * (d - 1) + diagonal * d


def covariance_distance(scores: ScoreMatrix) -> arb:
    """E W_2^2 of the singular values of Sigma^(1/2) Z / sqrt(d) and Sigma_lin^(1/2) Z / sqrt(d) is at most this."""
    alpha2 = arb(scores.beta2).exp() - 1 - arb(scores.beta2)
    return linearisation(scores) / (alpha2 * scores.d)


# -- universality


@dataclass(frozen=True)
class CovarianceSizes:
    """What the bound for given queries needs, or means of it.

    `norm` |G|, `longest` exp(beta^2 max_i G_ii), `slopes` sum_i e^(beta^2 G_ii) |u_i|^2 with the columns u_i of
    U = (e^(2 beta^2 G_ij) - 1), `trace` tr Sigma, `square` |Sigma|_F^2.
    """

    norm: arb
    longest: arb
    slopes: arb
    trace: arb
    square: arb


def universality_bound(sizes: CovarianceSizes, d: int, beta2: fmpq, eta: fmpq) -> arb:
    """|E s_T(-eta) - E s_N(-eta)| <= eta^-3 d^-2 (4 beta^2 |G| (slopes + longest^5 tr Sigma) + 2 |Sigma|_F^2).

    Given the queries; N has Gaussian columns with the covariance of those of T.
    """
    entries = 4 * sizes.norm * arb(beta2) * (sizes.slopes + sizes.longest**5 * sizes.trace)
    return (entries + 2 * sizes.square) / (arb(eta) ** 3 * arb(d) ** 2)


def sizes_of(queries: ExactMatrix, beta2: fmpq, bits: int) -> CovarianceSizes:
    """For given queries, d x p."""
    G = (queries @ queries.T).scaled(fmpq(1, queries.columns))
    table = table_of_balls(G, arb(beta2))
    Sigma = [[entry.exp() - 1 for entry in row] for row in table]
    U = [[entry * (entry + 2) for entry in row] for row in Sigma]
    longest, slopes, trace, square = arb(1), arb(0), arb(0), arb(0)
    for i in range(G.rows):
        factor = Sigma[i][i] + 1
        longest = longest.max(factor)
        slopes += factor * sum((entry * entry for entry in U[i]), arb(0))
        trace += Sigma[i][i]
        square += sum((entry * entry for entry in Sigma[i]), arb(0))
    # X'X / p has the same largest eigenvalue as XX'/p, and may be smaller.
    gram = G if queries.rows <= queries.columns else (queries.T @ queries).scaled(fmpq(1, queries.columns))
    norm = largest_eigenvalue(arb_mat(table_of_balls(gram, arb(1))), bits)
    return CovarianceSizes(norm, longest, slopes, trace, square)


def mean_sizes(scores: ScoreMatrix, cut: fmpq, excess: fmpq) -> CovarianceSizes:
    """Where |x_i|^2 <= cut p for all i and |X| <= sqrt(d) + sqrt(p) + excess: bounds, and means over all queries.

    For p > 8 beta^2.
    """
    d, b, power, phi = scores.d, scores.b, scores.power, scores.mean_exponential
    norm = (arb(d).sqrt() + arb(scores.p).sqrt() + arb(excess)) ** 2 / scores.p
    longest = arb(cut * scores.beta2).exp()
    pairs, square = arb(d) * (d - 1), b * b
    slopes = (phi(4) - 2 * phi(2) + 1) * d + (power(1 - 16 * square) - 2 * power(1 - 4 * square) + 1) * pairs
    total = (phi(2) - 2 * phi(1) + 1) * d + (power(1 - 4 * square) - 2 * power(1 - square) + 1) * pairs
    return CovarianceSizes(norm, longest, longest * slopes, (phi(1) - 1) * d, total)


def mean_universality(scores: ScoreMatrix, eta: fmpq, cut: fmpq, excess: fmpq) -> arb:
    """E |E[s_T(-eta) | X] - E[s_N(-eta) | X]| is at most this, for p > 8 beta^2, cut > 1, excess > 0.

    Both are at most 1/eta; queries that are too long, or too large together, have a small probability.
    """
    outside = long_query(scores.p, cut) * scores.d + (-(arb(excess) ** 2) / 2).exp()
    inside = universality_bound(mean_sizes(scores, cut, excess), scores.d, scores.beta2, eta)
    return inside + outside / arb(eta)


def deviation_bound(d: int, eta: fmpq, x: fmpq, given_queries: bool) -> arb:
    """P(|s_T(-eta) - E s_T(-eta)| >= x) <= 2 exp(-d eta^2 x^2), and 2 exp(-2 d eta^2 x^2) given the queries."""
    return 2 * (arb(-(2 if given_queries else 1) * eta * eta * x * x) * d).exp()


# -- all together


def equivalence_bound(scores: ScoreMatrix, eta: fmpq, theta: fmpq, cut: fmpq, excess: fmpq) -> arb:
    """|E s_M(-eta) - E s_Y(-eta)| is at most this, M = sqrt(d) (A - 11'/d), Y = alpha Z / sqrt(d) + beta S / sqrt(d).

    From M to T Pi, from T Pi to T (of rank one), from T to Gaussian columns, and from there to Y; for p > 12 beta^2.
    """
    steps = normalizer_bound(scores, theta, cut).sqrt() + covariance_distance(scores).sqrt()
    return lipschitz(eta) * steps + 1 / (arb(eta) * scores.d) + mean_universality(scores, eta, cut, excess)


def lipschitz(eta: fmpq) -> arb:
    """The largest slope of 1 / (x^2 + eta): (3 sqrt(3) / 8) eta^(-3/2), at x^2 = eta / 3."""
    return 3 * arb(3).sqrt() / 8 / (arb(eta) * arb(eta).sqrt())
