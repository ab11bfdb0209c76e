"""Moments of softmax weights: means of products of power sums P_k = sum_i p_i^k.

Let p = softmax(y_1..y_L) for independent y_i ~ N(m, v). For exponents k_1..k_n, K = k_1 + ... + k_n,

    E P_(k_1) ... P_(k_n) = sum over partitions pi of {1..n} of
        L (L-1) ... (L-b+1) / (K-1)!  *  int  prod_(B in pi) Psi_(k_B)(t)  phi(e^t)^(L-b) dt,

b = |pi| the number of blocks, k_B the sum of the exponents in B, phi and Psi_k as in
`lognormal_laplace`. It sorts the n indices by which of them agree, and writes Z^-K, Z = sum w_i, as
int lambda^(K-1) e^(-lambda Z) dlambda / (K-1)! with lambda = e^t.

The integrand F is analytic for |Im t| < pi/2. There |Psi_k(t + ia)| <= Psi_k(t + log cos a) / cos^k a, since
|phi^(k)(lambda)| <= |phi^(k)(Re lambda)|: so int |F(t + ia)| dt <= I / cos^K a for I = int F dt itself, and the
trapezoid rule with step h is off by at most 2 I / (cos^K a (e^(2 pi a/h) - 1)). What it sums lies between
I (1 - e) and I (1 + e). `docs/claims/prompts/output-mean-square.md` has the proofs, and those of the tails.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from flint import arb, arb_mat, fmpq

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.lognormal_laplace import (
    STRIP,
    lattice,
    peak,
    strip_error,
    weight_moment,
    within,
)

# Beyond this variance of the scores the lattice grows too large; the bounds for every law are left.
MOST_VARIANCE = 64


def block_sums(exponents: Sequence[int]) -> Counter[tuple[int, ...]]:
    """How many partitions of the exponents have which sums of blocks, sorted."""
    return Counter(tuple(sorted(sums)) for sums in _partitions(list(exponents)))


def _partitions(exponents: list[int]) -> Iterator[list[int]]:
    if not exponents:
        yield []
        return
    *rest, last = exponents
    for sums in _partitions(rest):
        for index in range(len(sums)):
            yield [*sums[:index], sums[index] + last, *sums[index + 1 :]]
        yield [*sums, last]


def placements(length: int, blocks: int) -> int:
    """L (L-1) ... (L-b+1), the ways to give the blocks different tokens."""
    return math.perm(length, blocks)


class Transforms:
    """phi and Psi_k on a lattice that serves all lengths between two, at the precision `bits`; see `PowerSums`."""

    def __init__(self, lengths: tuple[int, int], variance: fmpq, degree: int, bits: int, block: int) -> None:
        # A quarter of the bits is left to rounding and to what the bounds of the truncation lose;
        # phi^L has L times the relative error of phi.
        self.bits = bits + lengths[1].bit_length() + 4 * degree
        with working_precision(self.bits):
            self.lattice = lattice(lengths, variance, degree, bits * 3 // 4, block)
            self.table = self.lattice.transforms(block)
            half_width = arb(STRIP)
            self._strip, self._cosine = strip_error(half_width, self.lattice.step), half_width.cos()
        self._products: dict[tuple[int, ...], arb_mat] = {}
        self._tails: dict[tuple[int, ...], tuple[arb, arb]] = {}

    def products(self, sums: tuple[int, ...]) -> arb_mat:
        """prod Psi_(k_B)(t) at the nodes t, as a column."""
        if sums not in self._products:
            first, *others = sums
            column = self.table[first]
            for k in others:
                column = [x * y for x, y in zip(column, self.table[k], strict=True)]
            self._products[sums] = arb_mat(len(column), 1, column)
        return self._products[sums]

    def strip_error(self, degree: int) -> arb:
        """2 / (cos^K a (e^(2 pi a/h) - 1)): of the trapezoid sum, relative to the integral."""
        return self._strip / self._cosine**degree

    def tails(self, sums: tuple[int, ...]) -> tuple[arb, arb]:
        """What the nodes below the first weigh, and those beyond the last without phi, which falls."""
        if sums not in self._tails:
            self._tails[sums] = self._left_tail(sums), self._right_tail(sums)
        return self._tails[sums]

    def _left_tail(self, sums: tuple[int, ...]) -> arb:
        """Psi_k <= lambda^k R_k and a geometric series."""
        h, total = self.lattice.step, sum(sums)
        series = h * arb(total * self.lattice.first).exp() / arb(total * h).expm1()
        for k in sums:
            series *= weight_moment(k, self.lattice.variance)
        return series

    def _right_tail(self, sums: tuple[int, ...]) -> arb:
        """Psi_k <= (k/e)^k, and one factor is summed.

        Of that one h times the sum of Psi_k beyond the last node. For each Y the sum of e_k(t + Y) is at most that over
        all nodes, Gamma(k) (1 + e), and for Y >= y at most Gamma(k, e^(t + y)), t the last node, where e_k falls from
        t + y on. Y < y has a small probability.
        """
        grid, (k, *others) = self.lattice, sums
        whole = math.factorial(k - 1) * (1 + self.strip_error(k))
        x = arb(grid.last + grid.lowest).exp()
        bound = whole * grid.left_tail(0) + x.gamma_upper(k) if x >= k else whole
        for other in others:
            bound *= peak(other)
        return bound


class PowerSums:
    """Power sums of the softmax weights of `length` scores of the exact `variance`, at the precision `bits`.

    `degree` is the largest K that `mean` and `distinct` will be asked for, `block` the largest exponent of one token,
    which is as large if it is left out. Those of several lengths at a variance may share their transforms.
    """

    def __init__(
        self,
        length: int,
        variance: fmpq,
        degree: int,
        bits: int,
        block: int | None = None,
        shared: Transforms | None = None,
    ) -> None:
        self.length, self.variance, self.degree = length, variance, degree
        self._power_rows: dict[int, arb_mat] = {}
        self._partition_sums: dict[tuple[int, ...], arb] = {}
        if shared is None and self._needs_integrals:
            shared = Transforms((length, length), variance, degree, bits, degree if block is None else block)
        self._shared = shared
        self.bits = bits + length.bit_length() + 4 * degree if shared is None else shared.bits

    @property
    def _needs_integrals(self) -> bool:
        return self.length > 1 and 0 < self.variance <= MOST_VARIANCE

    def mean(self, *exponents: int) -> arb:
        """E P_(k_1) ... P_(k_n) for exponents k_j >= 1, as a ball."""
        proper = sorted(k for k in exponents if k > 1)  # P_1 = 1
        total, count = sum(proper), len(proper)
        if total > self.degree:
            raise ValueError(f"prepared for degree {self.degree}, asked for {total}")
        with working_precision(self.bits):
            # By the power means, 1/L^(k-1) <= P_k <= 1; equal weights where all scores agree.
            least = 1 / arb(self.length) ** (total - count)
            if count == 0 or self.variance == 0 or self.length == 1:
                return least
            known = least.union(arb(1))
            if not self._needs_integrals:
                return known
            found = self._integral(block_sums(proper), total)
            return found.intersection(known) if found.is_finite() is True else known

    def distinct(self, *exponents: int) -> arb:
        """E sum p_(i_1)^(k_1) ... p_(i_n)^(k_n) over different tokens i_1, ..., i_n, a number from 0 to 1."""
        with working_precision(self.bits):
            ways, total = placements(self.length, len(exponents)), sum(exponents)
            if ways == 0 or self.variance == 0:
                return ways / arb(self.length) ** total
            known = arb(0).union(arb(1))
            if not self._needs_integrals:
                return known
            found = self._integral(Counter({tuple(sorted(exponents)): 1}), total)
            return found.intersection(known) if found.is_finite() is True else known

    def _integral(self, partitions: Counter[tuple[int, ...]], total: int) -> arb:
        """The sum over the partitions, from its trapezoid sum, tails included."""
        assert self._shared is not None
        summed, tails = arb(0), arb(0)
        for sums, count in partitions.items():
            tokens = count * placements(self.length, len(sums))
            if tokens > 0:
                if sums not in self._partition_sums:
                    self._partition_sums[sums] = self._partition(sums)
                summed += tokens * self._partition_sums[sums]
                tails += tokens * (self._shared.tails(sums)[0] + self._right_tail(sums))
        error = self._shared.strip_error(total)
        return (summed + tails.union(arb(0))) / (math.factorial(total - 1) * (1 + within(error)))

    def _partition(self, sums: tuple[int, ...]) -> arb:
        """h times the sum of prod Psi_(k_B)(t) phi(t)^(L-b) over the nodes t."""
        assert self._shared is not None
        powers = self._powers(self.length - len(sums))
        return self._shared.lattice.step * (powers * self._shared.products(sums))[0, 0]

    def _powers(self, exponent: int) -> arb_mat:
        """phi(t)^exponent at the nodes, as a row."""
        if exponent not in self._power_rows:
            assert self._shared is not None
            phis, known = self._shared.table[0], self._power_rows.get(exponent - 1)
            pairs = zip(phis, phis if known is None else known.entries(), strict=True)
            row = [phi**exponent if known is None else phi * x for phi, x in pairs]
            self._power_rows[exponent] = arb_mat(1, len(phis), row)
        return self._power_rows[exponent]

    def _right_tail(self, sums: tuple[int, ...]) -> arb:
        """What the nodes beyond the last weigh."""
        assert self._shared is not None
        return self._powers(self.length - len(sums)).entries()[-1] * self._shared.tails(sums)[1]
