"""Quadratic forms of one column of exponential scores: how large their variance can be.

Queries x_i, i <= d, the rows of X in dimension p, are given, and one key k is N(0, I_p); G = XX'/p and

    t_i = exp(beta x_i.k / sqrt(p) - beta^2 |x_i|^2 / (2p)) - 1

have the covariance Sigma = (e^(beta^2 G_ij) - 1). For every symmetric B of norm at most 1,

    Var(t'Bt) <= d (sqrt(P) + sqrt(R) + sqrt(H) + sqrt(C))^2

with the four numbers of `variance`: docs/claims/spectrum/universality-bound.md has the proof, by the chaos expansion in
the key. What queries enter by are a few numbers, which may be bounds and means instead: `QuerySizes`.
"""

from __future__ import annotations

from dataclasses import dataclass

from flint import arb, arb_mat, fmpq

from certattn.kernel.mathematics.balls import table_of_balls
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.functions import exp_remainder, natural_power, root
from certattn.kernel.mathematics.spectrum import largest_eigenvalue


@dataclass(frozen=True)
class QuerySizes:
    """What a bound needs to know of queries. Of the first four upper bounds serve, of the others means over queries.

    `norm` |G|; `longest` max_i G_ii; `row` max_i sum_(j != i) G_ij^2; `coherence` max_(i != j) |G_ij|;
    `gram` |G|_F^2 / d; `diagonal` the mean over i of Sigma_ii^2, and `fourth` of Sigma_ii^2 (e^(4 beta^2 G_ii) - 1);
    `off_diagonal` the mean over i of sum_(j != i) Sigma_ij^2.
    """

    norm: arb
    longest: arb
    row: arb
    coherence: arb
    gram: arb
    diagonal: arb
    fourth: arb
    off_diagonal: arb

    @property
    def square(self) -> arb:
        """|Sigma|_F^2 / d."""
        return self.diagonal + self.off_diagonal


def sizes_of(queries: ExactMatrix, beta2: fmpq, bits: int) -> QuerySizes:
    """Of given queries, d x p."""
    d = queries.rows
    G = (queries @ queries.T).scaled(fmpq(1, queries.columns))
    table = table_of_balls(G, arb(1))
    longest, row, coherence = arb(0), arb(0), arb(0)
    gram, diagonal, fourth, off_diagonal = arb(0), arb(0), arb(0), arb(0)
    for i in range(d):
        squares = arb(0)
        for j in range(d):
            entry, covariance = table[i][j], (table[i][j] * arb(beta2)).exp() - 1
            gram += entry * entry
            if j != i:
                squares += entry * entry
                coherence = coherence.max(abs(entry))
                off_diagonal += covariance * covariance
        longest, row = longest.max(table[i][i]), row.max(squares)
        own = natural_power((table[i][i] * arb(beta2)).exp() - 1, 2)
        diagonal += own
        fourth += own * ((4 * table[i][i] * arb(beta2)).exp() - 1)
    # X'X / p has the same largest eigenvalue as XX'/p, and may be smaller.
    small = G if d <= queries.columns else (queries.T @ queries).scaled(fmpq(1, queries.columns))
    norm = largest_eigenvalue(arb_mat(table_of_balls(small, arb(1))), bits)
    return QuerySizes(norm, longest, row, coherence, gram / d, diagonal / d, fourth / d, off_diagonal / d)


def variance(sizes: QuerySizes, beta2: fmpq) -> arb:
    """Var(t'Bt) / d is at most this for every symmetric B with |B| <= 1.

    With x = beta^2, c = `longest`, m = `coherence`, r = `row` and e_2(y) = e^y - 1 - y:

    P = fourth + diagonal (4 x norm + r e_2(4 x m) / m^2),   the diagonal of B with that of Sigma;
    R = A(2)^2 - 2 A(1)^2,  A(s) = s x sqrt(gram) + e_2(s x c) + sqrt(r) e_2(s x m) / m,   what Sigma has no part in;
    H = 4 off_diagonal D(1),  D(s) = s x norm + e_2(s x c) + r e_2(s x m) / m^2,
    C = (e^(x m) - 1)^2 (D(2)^2 - 2 D(1)^2),   the rest of Sigma.
    """
    x = arb(beta2)

    def second(scale: int, size: arb) -> arb:
        """e_2(scale x size)."""
        y = scale * x * size
        return y * y * exp_remainder(2, y)

    def entries(scale: int) -> arb:
        """e_2(scale x m) / m^2, which is finite at 0 too."""
        return scale * scale * x * x * exp_remainder(2, scale * x * sizes.coherence)

    def plain(scale: int) -> arb:
        others = root(sizes.row) * sizes.coherence * entries(scale)
        return scale * x * root(sizes.gram) + second(scale, sizes.longest) + others

    def norms(scale: int) -> arb:
        return scale * x * sizes.norm + second(scale, sizes.longest) + sizes.row * entries(scale)

    P = sizes.fourth + sizes.diagonal * (4 * x * sizes.norm + sizes.row * entries(4))
    R = natural_power(plain(2), 2) - 2 * natural_power(plain(1), 2)
    H = 4 * sizes.off_diagonal * norms(1)
    rest = natural_power(norms(2), 2) - 2 * natural_power(norms(1), 2)
    C = natural_power((x * sizes.coherence).exp() - 1, 2) * rest
    return natural_power(root(P) + root(R) + root(H) + root(C), 2)
