"""How far softmax attention with random queries and keys is from a Gaussian matrix: explicit bounds.

d queries x_i and d keys k_j, independent N(0, I_p), S_ij = x_i.k_j / sqrt(p),

    t_ij = exp(beta S_ij - beta^2 |x_i|^2 / (2p)) - 1,

T = (t_ij) / sqrt(d), Pi = I - 11'/d, A = softmax(beta S) by rows. Given the queries, the columns of sqrt(d) T are
independent with the covariance Sigma = (e^(beta^2 G_ij) - 1), G = XX'/p; Sigma_lin = alpha^2 I + beta^2 G with
alpha^2 = e^(beta^2) - 1 - beta^2. For a matrix M, s_M(-eta) = (1/d) tr (MM' + eta)^-1.

Each function states what it bounds and for which sizes that is proved; none of them looks whether it is so.
"""

from __future__ import annotations

from flint import arb, fmpq

from certattn.kernel.mathematics.functions import natural_power
from certattn.kernel.theorems.spectrum.quadratic_forms import QuerySizes, variance
from certattn.kernel.theorems.spectrum.score_matrix import ScoreMatrix
from certattn.kernel.theorems.spectrum.typical_queries import TypicalQueries, long_query

# -- the normaliser


def normalizer_bound(scores: ScoreMatrix, theta: fmpq, cut: fmpq) -> arb:
    """(1/d) E |sqrt(d) (A - 11'/d) - T Pi|_F^2 is at most this, for p > 12 beta^2, 0 < theta < 1, cut > 1."""
    typical = normalizer_square(scores) / arb(1 - theta) ** 2
    return typical + low_normaliser(scores, theta, cut) * (scores.d - 1)


def low_normaliser(scores: ScoreMatrix, theta: fmpq, cut: fmpq) -> arb:
    """P(mean(e) <= 1 - theta in a row, or its query is not typical) is at most this, for 0 < theta < 1, cut > 1."""
    low_mean = (arb(-theta * theta * scores.d) / 2 * (arb(-cut * scores.beta2)).exp()).exp()
    return low_mean + long_query(fmpq(scores.p), cut)


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


# -- universality


def universality_bound(sizes: QuerySizes, d: int, beta2: fmpq, eta: fmpq) -> arb:
    """|E s_T(-eta) - E s_N(-eta)| <= (V + 2 |Sigma|_F^2 / d) / (d eta^3), Var(t'Bt) <= d V for |B| <= 1.

    Given the queries; N has Gaussian columns with the covariance of those of T.
    """
    return (variance(sizes, beta2) + 2 * sizes.square) / (natural_power(arb(eta), 3) * d)


def mean_sizes(scores: ScoreMatrix, typical: TypicalQueries) -> QuerySizes:
    """Of typical queries: bounds, and means over all queries. For p > 12 beta^2."""
    d, p, b, power, phi = scores.d, fmpq(scores.p), scores.b, scores.power, scores.mean_exponential
    pair = power(1 - 4 * b * b) - 2 * power(1 - b * b) + 1
    return QuerySizes(
        norm=typical.norm(d, p),
        longest=arb(typical.cut),
        row=arb(typical.cut**2 * (d - 1) / p),
        coherence=arb(typical.coherence),
        gram=arb(1 + (d + 1) / p),
        diagonal=phi(2) - 2 * phi(1) + 1,
        fourth=phi(6) - 2 * phi(5) + phi(4) - phi(2) + 2 * phi(1) - 1,
        off_diagonal=pair * (d - 1),
    )


def mean_universality(scores: ScoreMatrix, eta: fmpq, typical: TypicalQueries) -> arb:
    """E |E[s_T(-eta) | X] - E[s_N(-eta) | X]| is at most this, for p > 12 beta^2.

    Both are between 0 and 1/eta, also where queries are not typical.
    """
    inside = universality_bound(mean_sizes(scores, typical), scores.d, scores.beta2, eta)
    return inside + typical.improbable(scores.d, fmpq(scores.p)) / arb(eta)


def deviation_bound(d: int, eta: fmpq, x: fmpq, given_queries: bool) -> arb:
    """P(|s_T(-eta) - E s_T(-eta)| >= x) <= 2 exp(-d eta^2 x^2), and 2 exp(-2 d eta^2 x^2) given the queries."""
    return 2 * (arb(-(2 if given_queries else 1) * eta * eta * x * x) * d).exp()


# -- all together


def equivalence_bound(scores: ScoreMatrix, eta: fmpq, theta: fmpq, typical: TypicalQueries) -> arb:
    """|E s_M(-eta) - E s_Y(-eta)| is at most this, M = sqrt(d) (A - 11'/d), Y = alpha Z / sqrt(d) + beta S / sqrt(d).

    From M to T Pi, from T Pi to T (of rank one), and from T to Y, column by column, the queries being given; for
    p > 12 beta^2.
    """
    d, p, beta2, level = scores.d, fmpq(scores.p), arb(scores.beta2), arb(eta)
    normaliser = lipschitz(eta) * normalizer_bound(scores, theta, typical.cut).sqrt()
    mean = scores.mean_exponential(1) - 1
    alpha2 = beta2.exp() - 1 - beta2
    linear = alpha2 * alpha2 + 2 * alpha2 * beta2 + beta2 * beta2 * arb(1 + (d + 1) / p)
    columns = (variance(mean_sizes(scores, typical), scores.beta2) + 2 * linear) / (natural_power(level, 3) * d)
    covariances = (linearisation(scores) / d).sqrt() / (level * level)
    rank_one = mean / (level * (level + mean) * d)
    return normaliser + rank_one + columns + covariances + typical.improbable(d, p) / level


def lipschitz(eta: fmpq) -> arb:
    """The largest slope of 1 / (x^2 + eta): (3 sqrt(3) / 8) eta^(-3/2), at x^2 = eta / 3."""
    return 3 * arb(3).sqrt() / 8 / (arb(eta) * arb(eta).sqrt())
