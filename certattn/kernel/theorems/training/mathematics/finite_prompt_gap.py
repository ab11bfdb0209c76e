"""How far the risk over prompts of L tokens and its gradient are from those over an infinite prompt, at most.

Let x ~ N(0, Sigma), tau = Sigma A x, E = b Sigma A - I, T = tr Sigma, and let q, kappa be functions of the variance
v = x'A'Sigma A x of the scores and of L: q = E P_2, kappa = E[P_3 - P_2^2], P_k the power sums of the softmax weights.
The gap G = R_L - R and its gradient are, with W = b^2 T - b^2 |tau|^2 + 2b <tau, x> = b^2 T + |x|^2 - |Ex|^2,

    G    = 1/2 E[q W - 6 b^2 kappa |tau|^2]
    dG/db = E[q (bT - <tau, Ex>) - 6 b kappa |tau|^2]
    dG/dA = E[((q_v W - 6 b^2 kappa_v |tau|^2) tau - b q Sigma E x - 6 b^2 kappa Sigma tau) x'].

The bounds rest on 0 <= kappa <= q/4, 0 <= q_v <= q, |kappa_v| <= q/3, on

    q <= theta^theta (1-theta)^(1-theta) (L-1)^(-theta) e^(theta v),   0 <= theta <= 1,

and on this: if v = |S g|^2 for normal g, |S|_op^2 <= s and |S|_F^2 <= r, then for nonnegative forms f_j = |B_j g|^2
and powers with n_1 + ... + n_m = 2k

    E[q f_1^(n_1/2) ... f_m^(n_m/2)] <= a_k (E f_1^k)^(n_1/2k) ... (E f_m^k)^(n_m/2k),

    a_k = theta^theta (1-theta)^(1-theta) (L-1)^(-theta) (1 - 2 theta s)^(-n/2 - k) (1 - 2 theta s')^(-1/2),

where n s + s' is a way to write r, or more. All decrease in L. Proofs: docs/claims/training/risk-transfer.md.
"""

from __future__ import annotations

from dataclasses import dataclass

from flint import arb, fmpq

from certattn.kernel.mathematics.every_length import log_peak
from certattn.kernel.mathematics.functions import BALLS, Functions, Number

# Powers theta that are tried, as parts of the largest that is possible.
_POWERS = 48


@dataclass(frozen=True)
class Norms:
    """(E|B g|^2)^(1/2) = |B|_F and (E|B g|^4)^(1/4) of a matrix B for normal g, or bounds of them."""

    second: Number
    fourth: Number


def widest(size: Number, fn: Functions) -> Norms:
    """Of every matrix with |B|_F <= size: E|Bg|^4 = |B|_F^4 + 2 |B'B|_F^2 <= 3 |B|_F^4."""
    return Norms(size, size * fn.sqrt(fn.sqrt(fn.ratio(3, 1) + 0 * size)))


def norms(trace: Number, square_trace: Number, fn: Functions) -> Norms:
    """Of B with tr B'B and tr (B'B)^2."""
    return Norms(fn.sqrt(trace), fn.sqrt(fn.sqrt(trace * trace + 2 * square_trace)))


def added(one: Norms, other: Norms) -> Norms:
    """Bounds for the sum of two matrices."""
    return Norms(one.second + other.second, one.fourth + other.fourth)


def smaller(x: Number, y: Number, fn: Functions) -> Number:
    """min(x, y)."""
    return -fn.maximum(-x, -y)


@dataclass(frozen=True)
class Scores:
    """v = |S g|^2 with |S|_op^2 <= s = `largest`, |S|_F^2 <= r = `total`; n = `copies`: (n + 1) s >= r or n + 1 = d."""

    largest: Number
    total: Number
    copies: int

    def rest(self, fn: Functions) -> Number:
        """s' = min(s, max(r - n s, 0))."""
        left = self.total - self.copies * self.largest
        return smaller(self.largest, fn.maximum(left, 0 * left), fn)


def scores(largest: arb, total: arb, dimension: int) -> Scores:
    """With the fewest copies that are proved to be enough."""
    largest = smaller(largest, total, BALLS)
    copies = 0
    while copies + 1 < dimension and ((copies + 1) * largest >= total) is not True:
        copies += 1
    return Scores(largest, total, copies)


def log_average(length: Number, theta: Number, of: Scores, k: int, fn: Functions) -> Number:
    """log a_k for 0 < theta <= 1 with 2 theta s < 1."""
    inside, rest = fn.log(1 - 2 * theta * of.largest), fn.log(1 - 2 * theta * of.rest(fn))
    return log_peak(theta, fn) - theta * fn.log(length - 1) - (of.copies + 2 * k) * inside / 2 - rest / 2


def averages(length: fmpq, of: Scores) -> tuple[arb, arb, arb]:
    """a_0, a_1 and a_2, each with the best of some powers theta; 1, for q <= 1, where none is better."""
    best = [arb(1), arb(1), arb(1)]
    ceiling = 1 / (2 * of.largest).max(arb(1))
    for part in range(1, _POWERS):
        # Any theta will do: the midpoint is one.
        theta = (ceiling * fmpq(part, _POWERS)).mid()
        if (theta > 0) is True and (theta < 1) is True and (2 * theta * of.largest < 1) is True:
            found = [log_average(arb(length), theta, of, k, BALLS).exp() for k in range(3)]
            best = [x.min(y) if y.is_finite() is True else x for x, y in zip(best, found, strict=True)]
    return best[0], best[1], best[2]


@dataclass(frozen=True)
class Neighbourhood:
    """What holds for all (A, b) of a set: |b| <= `factor`, norms of Sigma A x and E x, and of the scores."""

    factor: Number
    tau: Norms
    error: Norms
    scores: Scores


@dataclass(frozen=True)
class GapBounds:
    """Bounds of the gap at a neighbourhood; `token` is the norm of x, `largest` the largest eigenvalue of Sigma."""

    token: Norms
    largest: Number
    at: Neighbourhood
    averages: tuple[Number, Number, Number]
    fn: Functions

    @property
    def _trace(self) -> Number:
        return self.token.second * self.token.second

    @property
    def _value(self) -> Norms:
        """Of b tau."""
        return Norms(self.at.factor * self.at.tau.second, self.at.factor * self.at.tau.fourth)

    def risk(self) -> Number:
        """R_L - R <= (a_0 b^2 T + a_1 T) / 2."""
        a = self.averages
        return (a[0] * self.at.factor * self.at.factor + a[1]) * self._trace / 2

    def bracket(self) -> Number:
        """c with E[|q_v W - 6 b^2 kappa_v |tau|^2| f] <= (a_1 b^2 T + a_2 c) E f, f as above.

        c = |x|^2 + |Ex|^2 + 2 |b tau|^2 or 2 |b tau| |x| + 3 |b tau|^2, in fourth norms.
        """
        x, error, value = self.token.fourth, self.at.error.fourth, self._value.fourth
        far = x * x + error * error + 2 * value * value
        near = 2 * value * x + 3 * value * value
        return smaller(far, near, self.fn)

    def gradient_of_factor(self) -> Number:
        """|dG/db| <= max(a_0 b T, 3/2 a_1 b |tau|^2) + a_1 |tau| |Ex|."""
        a, b, tau = self.averages, self.at.factor, self.at.tau.second
        spread = self.fn.ratio(3, 2) * a[1] * b * tau * tau
        return self.fn.maximum(a[0] * b * self._trace, spread) + a[1] * tau * self.at.error.second

    def gradient_of_matrix(self) -> Number:
        """|dG/dA|_F: the largest of <dG/dA, H> over |H|_F <= 1, where |Hx| has norms at most lam^(1/2)."""
        a, b, lam, tau = self.averages, self.at.factor, self.largest, self.at.tau
        along = widest(self.fn.sqrt(lam), self.fn)
        flat = b * b * self._trace * tau.second + b * lam * self.at.error.second
        flat += self.fn.ratio(3, 2) * b * b * lam * tau.second
        return a[1] * flat * along.second + a[2] * self.bracket() * tau.fourth * along.fourth

    def gradient(self) -> Number:
        """|grad G|."""
        matrix, factor = self.gradient_of_matrix(), self.gradient_of_factor()
        return self.fn.sqrt(matrix * matrix + factor * factor)
