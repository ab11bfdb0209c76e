"""Queries, a chosen token at each, and how clearly a bilinear form tells it from the others.

For keys k_t, queries z_i, chosen tokens alpha_i and a matrix W, the gap of another token t that query i sees is

    <k_{alpha_i} - k_t, W z_i> = <W, (k_{alpha_i} - k_t) z_i'>.

The largest margin of the choice is the best smallest gap, by a matrix that is not too large:

    Xi = max_{|W|_F <= 1} min_{i, t} <k_{alpha_i} - k_t, W z_i>.

It is positive if and only if one matrix selects all chosen tokens at once, and otherwise 0. Theorem (weak duality):
for any W other than 0 and any multipliers mu_it >= 0 that are not all 0

    min_{i, t} <k_{alpha_i} - k_t, W z_i> / |W|_F  <=  Xi  <=  |sum_it mu_it (k_{alpha_i} - k_t) z_i'|_F / sum mu_it,

the first because W / |W|_F is one of the matrices, the second because the smallest gap is at most any average of
the gaps, and that average is the product of W with the average of the matrices.

With the one query z = 1 the matrix W is a vector a, and Xi is how far the key of the chosen token is from the convex
hull of the other keys: 0 if and only if no vector selects it.
Ataee Tarzanagh, Li, Zhang and Oymak 2023, problem (Att-SVM) over W.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from flint import arb, fmpq, fmpz

from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.functions import BALLS, Functions, Number


@dataclass(frozen=True)
class ChosenTokens:
    """Keys (L x d), queries (n x e), and for each query the chosen token and how many of the first tokens it sees.

    Every query sees the chosen token and at least one more.
    """

    keys: ExactMatrix
    queries: ExactMatrix
    chosen: tuple[int, ...]
    seen: tuple[int, ...]

    def gaps(self, matrix: ExactMatrix) -> Gaps:
        """The gaps <k_{alpha_i} - k_t, W z_i> for W = `matrix`, d x e."""
        products = self.queries @ matrix.T @ self.keys.T
        return Gaps(products.numerators.tolist(), products.denominator, self.chosen, self.seen)

    def from_matrix(self, matrix: ExactMatrix) -> arb:
        """A lower bound of Xi at the working precision: the margin that W = `matrix` attains."""
        if matrix.is_zero():
            # The matrix 0 has no direction, but is itself one of norm at most 1.
            return arb(0)
        return arb(attained_margin(arb(self.gaps(matrix).smallest()), arb(_norm_squared(matrix)), BALLS))

    def from_multipliers(self, multipliers: Mapping[tuple[int, int], fmpq]) -> arb:
        """An upper bound of Xi at the working precision; `multipliers` hold the mu_it > 0 by (i, t), at least one."""
        total = sum(multipliers.values(), fmpq(0))
        return arb(margin_ceiling(arb(_norm_squared(self.combination(multipliers))), arb(total), BALLS))

    def combination(self, multipliers: Mapping[tuple[int, int], fmpq]) -> ExactMatrix:
        """sum_it mu_it (k_{alpha_i} - k_t) z_i', d x e."""
        rows = sorted({i for i, _ in multipliers})
        coefficients = {i: [fmpq(0)] * self.keys.rows for i in rows}
        for (i, t), value in multipliers.items():
            coefficients[i][self.chosen[i]] += value
            coefficients[i][t] -= value
        differences = ExactMatrix.rational([coefficients[i] for i in rows]) @ self.keys
        return differences.T @ self.queries.take_rows(rows)


@dataclass(frozen=True)
class Gaps:
    """What sets the chosen tokens apart: the products of every query with every key, over one denominator."""

    products: list[list[fmpz]]
    denominator: fmpz
    chosen: tuple[int, ...]
    seen: tuple[int, ...]

    def of_query(self, i: int) -> Iterator[fmpz]:
        """The gaps of query i, times the denominator."""
        row, chosen = self.products[i], self.chosen[i]
        return (row[chosen] - row[t] for t in range(self.seen[i]) if t != chosen)

    def smallest_of(self, i: int) -> fmpq:
        """The smallest gap of query i."""
        return fmpq(min(self.of_query(i)), self.denominator)

    def smallest(self) -> fmpq:
        """The smallest gap of all."""
        return min(self.smallest_of(i) for i in range(len(self.chosen)))

    def weight(self, i: int, scale: arb) -> arb:
        """The softmax weight of the chosen token of query i, the logits being the products times `scale`."""
        unit = scale / self.denominator
        return arb(selected_weight([gap * unit for gap in self.of_query(i)], BALLS))

    def other_weight(self, i: int, scale: arb) -> arb:
        """1 - weight, which a ball near 1 would not tell from 0."""
        unit = scale / self.denominator
        return arb(unselected_weight([gap * unit for gap in self.of_query(i)], BALLS))


def selected_weight(gaps: Sequence[Number], fn: Functions) -> Number:
    """The softmax weight of a token whose logit exceeds those of the others by `gaps`: 1 / (1 + sum_t e^(-gap_t))."""
    total: Number = fn.ratio(1, 1)
    for gap in gaps:
        total = total + fn.exp(-gap)
    return 1 / total


def unselected_weight(gaps: Sequence[Number], fn: Functions) -> Number:
    """The softmax weight of all other tokens: 1 less that of the selected one, without cancellation."""
    others = sum([fn.exp(-x) for x in gaps])
    return others / (1 + others)


def attained_margin(smallest: Number, norm_squared: Number, fn: Functions) -> Number:
    """min_j <z_j, w> / |w|."""
    return smallest / fn.sqrt(norm_squared)


def margin_ceiling(norm_squared: Number, total: Number, fn: Functions) -> Number:
    """|sum_j mu_j z_j| / sum_j mu_j."""
    return fn.sqrt(norm_squared) / total


def _norm_squared(matrix: ExactMatrix) -> fmpq:
    """The sum of the squares of the entries."""
    return (matrix.T @ matrix).trace()
