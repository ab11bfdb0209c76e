"""The singular values of one drawn softmax attention matrix, by their Stieltjes transform, with a stated probability.

d queries x_i and d keys k_j, independent N(0, I_p), p = lambda d, S = (x_i.k_j) / sqrt(p), A = softmax(beta S) by rows,
M = sqrt(d) (A - 11'/d), s_M(-eta) = (1/d) tr (MM' + eta)^-1. mu is the law of `equivalent_formulas` and s_mu(-eta) the
mean of 1 / (x^2 + eta) under it. T, Sigma, Sigma_lin and Y are those of `gaussian_equivalence`, x is beta^2. The way
from M to mu, whose steps a `Draw` bounds at one eta:

    M to T              the normalisers, and the row means, which have rank one
    s_T to E[s_T | X]   independent columns: Freedman's inequality
    E[s_T | X] to E[s_Y | X]   column by column: `quadratic_forms`, and |Sigma - Sigma_lin|_F
    E[s_Y | X] to E s_Y        concentration of Lipschitz functions of the queries
    E s_Y to s_mu(-eta)        Gaussian integration by parts

What rests on a variance fails with a probability of at most `share`, what has an exponential tail with at most `tail`;
queries are typical, and normalisers not too small, except with the probability `improbable`.
docs/claims/spectrum/attention-spectrum.md has the proof, also of this: where `falls` is true, `improbable` and every
bound become no larger with larger d.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from flint import arb, fmpq

from certattn.kernel.mathematics.functions import exp_remainder, natural_power
from certattn.kernel.theorems.spectrum.equivalent_formulas import LawNumbers
from certattn.kernel.theorems.spectrum.gaussian_equivalence import lipschitz
from certattn.kernel.theorems.spectrum.limit_law import zero_between
from certattn.kernel.theorems.spectrum.quadratic_forms import QuerySizes, variance
from certattn.kernel.theorems.spectrum.typical_queries import TypicalQueries

# How many events there are of probability `share`: squared lengths, products of queries, normalisers. And of
# probability `tail`: the sum of all squared lengths; at each eta, the columns and the queries.
SHARES, TAILS, TAILS_AT_ETA = 3, 1, 2


@dataclass(frozen=True)
class Draw:
    """d tokens of width p = lambda d, and what the witness calls typical: all bounds at the working precision.

    0 < theta < 1 is how far a normaliser may fall below its mean; share > 0 and 0 < tail < 1.
    """

    d: int
    lambda_: fmpq
    beta2: fmpq
    typical: TypicalQueries
    theta: fmpq
    share: fmpq
    tail: fmpq

    @property
    def p(self) -> fmpq:
        return self.lambda_ * self.d

    @property
    def improbable(self) -> arb:
        """P(queries are not typical, or mean(e_ij) <= 1 - theta for some i)."""
        return self.typical.improbable(self.d, self.p) + (-self._low_rate()).exp() * self.d

    def falls(self) -> list[arb]:
        """At least 1 each where `improbable` falls with d: of long queries, of their products, of low means."""
        cut = arb(self.typical.cut)
        smaller = min(self.lambda_, fmpq(1)) * self.d
        lengths = (cut - 1 - cut.log()) * arb(smaller) / 2
        products = arb(self.typical.coherence**2 * self.p / (4 * self.typical.cut))
        return [lengths, products, self._low_rate()]

    def _low_rate(self) -> arb:
        return arb(self.theta**2 * self.d / 2) * (-arb(self.typical.cut * self.beta2)).exp()

    # -- queries

    @cached_property
    def sizes(self) -> QuerySizes:
        """Of typical queries; nothing in it grows with d."""
        x, cut = arb(self.beta2), self.typical.cut
        row = arb(cut * cut / self.lambda_)
        diagonal = natural_power((x * arb(cut)).exp() - 1, 2)
        rise = x * exp_remainder(1, x * arb(self.typical.coherence))
        return QuerySizes(
            norm=self.typical.norm(self.d, self.p),
            longest=arb(cut),
            row=row,
            coherence=arb(self.typical.coherence),
            gram=arb(cut * cut) + row,
            diagonal=diagonal,
            fourth=diagonal * ((4 * x * arb(cut)).exp() - 1),
            off_diagonal=row * rise * rise,
        )

    @cached_property
    def form(self) -> arb:
        """Var(t'Bt) / d for |B| <= 1."""
        return variance(self.sizes, self.beta2)

    @cached_property
    def lengths(self) -> arb:
        """mean_i (G_ii - 1)^2: its mean is 2/p, its variance (8/p^2 + 48/p^3) / d."""
        p = self.p
        return arb(2 / p) + self._exceeded(arb((8 / p**2 + 48 / p**3) / self.d))

    @cached_property
    def products(self) -> arb:
        """(1/d) sum_(i != j) G_ij^4: its mean is at most 3 d (p + 2) / p^3; the variance is bounded too."""
        p, d = self.p, self.d
        pairs = 210 * (1 + 2 / p) * (1 + 4 / p) * (1 + 6 / p) / p**4
        shared = 288 * d * (1 + 2 / p) * (1 + 3 / p) / p**5
        return arb(3 * d * (p + 2) / p**3) + self._exceeded(arb(pairs + shared))

    @cached_property
    def covariances(self) -> arb:
        """|Sigma - Sigma_lin|_F^2 / d."""
        x = arb(self.beta2)
        slope = x * ((x * arb(self.typical.cut)).exp() - 1)
        bend = x * x * exp_remainder(2, x * arb(self.typical.coherence))
        return slope * slope * self.lengths + bend * bend * self.products

    @cached_property
    def normalisers(self) -> arb:
        """sum_i mean_j(t_ij)^2, by Taylor's formula for tr Sigma / d and by the variance of the sum given queries.

        mean_i (G_ii - 1) is that of a chi-square number of d p degrees of freedom (Laurent and Massart).
        """
        x, sizes = arb(self.beta2), self.sizes
        rate = self._rate(1) / (arb(self.p) * self.d)
        first = x * x.exp() * 2 * (rate.sqrt() + rate)
        second = x * x * (x * arb(self.typical.cut)).exp() * self.lengths / 2
        spread = self.form / (arb(self.d) * self.d) + 2 * sizes.square / self.d
        return x.exp() - 1 + first + second + self._exceeded(spread)

    def _rate(self, sides: int) -> arb:
        """log(sides / tail)."""
        return (sides / arb(self.tail)).log()

    def _exceeded(self, square: arb) -> arb:
        """By how much a number of this variance exceeds its mean with the probability `share` at most (Chebyshev)."""
        return (square / arb(self.share)).sqrt()

    # -- steps

    def bound(self, eta: fmpq) -> arb:
        """|s_M(-eta) - s_mu(-eta)| is at most this."""
        given = self.from_normalisers(eta) + self.from_columns(eta) + self.from_gaussian_columns(eta)
        return given + self.from_queries(eta) + self.from_law(eta)

    def from_normalisers(self, eta: fmpq) -> arb:
        """|s_M - s_T|: |d s / d log of a row's scale| <= 1 / (2 eta d), and |log(1 + y)| <= |y| / (1 - theta)."""
        level, w = arb(eta), self.normalisers
        rows = (w / self.d).sqrt() / (2 * level * arb(1 - self.theta))
        return rows + w / (level * (level + w) * self.d)

    def from_columns(self, eta: fmpq) -> arb:
        """|s_T - E[s_T | X]|: a martingale of d steps of at most 1 / (d eta), with variances at most those of forms.

        The deviation x with x^2 = 2 rate (variance + x / (3 d eta)).
        """
        level, rate = arb(eta), self._rate(2)
        third = rate / (3 * level * self.d)
        square = 2 * rate * self.form / (natural_power(level, 4) * self.d * self.d)
        return third + (third * third + square).sqrt()

    def from_gaussian_columns(self, eta: fmpq) -> arb:
        """|E[s_T | X] - E[s_Y | X]|."""
        x, cut, level = arb(self.beta2), arb(self.typical.cut), arb(eta)
        alpha2 = x.exp() - 1 - x
        linear = natural_power(alpha2 + x * cut, 2) + x * x * self.sizes.row
        columns = (self.form + 2 * linear) / (natural_power(level, 3) * self.d)
        return columns + self.covariances.sqrt() / (level * level)

    def from_queries(self, eta: fmpq) -> arb:
        """|E[s_Y | X] - E s_Y|: in X it has the Lipschitz constant lipschitz(eta) beta E|K| / (d sqrt(p))."""
        norm = 1 + 1 / arb(self.lambda_).sqrt()
        return lipschitz(eta) * (2 * self._rate(2) * arb(self.beta2)).sqrt() * norm / self.d

    def from_law(self, eta: fmpq) -> arb:
        """|E s_Y - s_mu|, in expectation: variances of s, of (1/d) tr GR and of (1/d) tr R Y (beta S/sqrt(d))'."""
        x, d, level, lambda_ = arb(self.beta2), self.d, arb(eta), arb(self.lambda_)
        alpha2, slope = x.exp() - 1 - x, lipschitz(eta)
        norm = natural_power(arb(d).sqrt() + arb(self.p).sqrt() + 3, 2) / arb(self.p)
        trace = slope * (alpha2 + 2 * x * norm).sqrt()
        direct = 8 / (lambda_ * level * level)
        through = 2 * norm * norm * (alpha2 + 2 * x * norm) / natural_power(level, 3)
        weighted = (direct + through).sqrt()
        linear = (x * lambda_ * norm * norm * (alpha2 + 4 * x * norm) / (level * level) + x * norm / level).sqrt()
        square = arb(d) * d
        own = alpha2 * (level * trace * trace / square + 1 / (4 * level * d))
        scores = x * (level * trace * weighted / square + 1 / (4 * level * d))
        mixed = x * (linear * trace / (lambda_ * square) + x.sqrt() * slope / (2 * arb(self.p)))
        return (own + scores + mixed) / level


def limit_transform(law: LawNumbers[arb], eta: fmpq) -> arb:
    """s_mu(-eta), the one s > 0 with 1 - eta s - alpha^2 eta s^2 - beta^2 eta s^2 / (1 + b eta s^2) = 0."""

    def rest(s: arb) -> arb:
        square = arb(eta) * s * s
        return 1 - arb(eta) * s - law.alpha2 * square - law.beta2 * square / (1 + law.pole * square)

    return zero_between(rest, (1 / arb(eta)).upper(), arb(0))


def quarter_circle_transform(second: fmpq, eta: fmpq) -> arb:
    """The mean of 1 / (x^2 + eta) under the quarter circle law of this second moment."""
    return 2 / (arb(eta) + arb(eta * eta + 4 * second * eta).sqrt())
