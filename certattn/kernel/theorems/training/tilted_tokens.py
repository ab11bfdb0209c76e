"""What is known of tokens under every tilt: those of a sub-Gaussian class, or of one law and its orthogonal images.

A law with the cumulant generating function Lambda, tilted by a, has the mean tau(a) = D Lambda and the covariance
C(a) = D^2 Lambda; y = x - tau(a), and s = sigma |a|. All bounds are polynomials of s, from the constant on.

A class has E e^<u,x> <= e^{sigma^2 |u|^2 / 2} for every u, and no more:

    |tau| <= sigma min(2 s, s + s^2 + s^3 / 3),    |C| <= sigma^2 (1 + s)^2,
    |D^3 Lambda| <= sigma^3 (2 + 4 s + 8 s^2 + 8 s^3).

Of a law four numbers are known: whatever the tilt, |C| <= sigma^2, tr C <= T, |D^3 Lambda| <= kappa, and the mean of
|y y' - C|_F^2 <= Psi. By integration |tau| <= sigma s. None of them changes when tokens are turned.

Errors of a prompt are N / Z, N a mean of the terms w n(x), Z of the weights w. Where c is between a and 2a,

    E e^<c,x> |n|^2 <= own e^{sigma^2 |c|^2 / 2},    |E_{(1 - 2/L) a} n| <= moved / L,    E |N / Z|^2 <= largest.

The proofs are on the page of theorem-4-3, those of |C| <= Gamma on that of output-tail.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from flint import arb, arb_mat, fmpq

from certattn.kernel.decide.obligation import NoBound
from certattn.kernel.mathematics.laws import Atoms, Box, Gaussian, Law, Rademacher, Radial, leaves
from certattn.kernel.mathematics.spreads import largest_eigenvalue, spread_of

Polynomial = Sequence[arb]
# Of a class: |tau| / sigma, |C| / sigma^2 and |D^3 Lambda| / sigma^3.
SHIFTS = ((fmpq(0), fmpq(2)), (fmpq(0), fmpq(1), fmpq(1), fmpq(1, 3)))
SPREAD, SKEW = (fmpq(1), fmpq(2), fmpq(1)), tuple(map(fmpq, (2, 4, 8, 8)))
# Of tokens in a ball of radius 1, or in an interval of length 2: |D^3 Lambda|, and the mean of |y y' - C|^2.
BALL_SKEW, BALL_SCATTER = fmpq(77, 100), fmpq(27, 16)
# Likewise of a sign, and of a number that is uniform on [-1, 1].
SIGN_SCATTER, BOX_SKEW, BOX_SCATTER = fmpq(1), fmpq(11, 100), fmpq(3, 25)


def plus(left: Polynomial, right: Polynomial) -> list[arb]:
    longer, shorter = (left, right) if len(left) > len(right) else (right, left)
    return [c + shorter[n] if n < len(shorter) else c for n, c in enumerate(longer)]


def times(left: Polynomial, right: Polynomial) -> list[arb]:
    found = [arb(0)] * (len(left) + len(right) - 1)
    for i, a in enumerate(left):
        for j, b in enumerate(right):
            found[i + j] = found[i + j] + a * b
    return found


@dataclass(frozen=True)
class Error:
    """`own` and the square of `moved`; `largest` by ln L and eta."""

    own: Polynomial
    moved_square: Polynomial
    largest: Callable[[arb, fmpq], Polynomial]

    def after(self, length: int) -> Polynomial:
        """L e^{-2 s^2} times the mean square: falls with L."""
        return plus(self.own, [c / length for c in self.moved_square])

    def times(self, factor: Polynomial) -> Error:
        return Error(
            times(self.own, factor),
            times(self.moved_square, factor),
            lambda log_length, eta: times(self.largest(log_length, eta), factor),
        )


@dataclass(frozen=True)
class Tokens:
    """Bounds over all tilts; E w^2 <= e^{weights s^2}, `mean` of tau_hat - tau, `scatter` of sum p_i (y_i y_i' - C)."""

    sigma: arb
    weights: int
    shifts: Sequence[Polynomial]
    spread: Polynomial
    skew: Polynomial
    mean: Error
    scatter: Error


def of_class(sigma: fmpq, dimension: int) -> Tokens:
    """Centred sigma-sub-Gaussian tokens."""
    s, variance, d = arb(sigma), arb(sigma**2), dimension
    spread, skew = [variance * c for c in SPREAD], [s**3 * c for c in SKEW]
    own = [variance * (d + 2), arb(0), 4 * variance]
    square = times([arb(d + 4), arb(0), arb(4)], [arb(d + 4), arb(0), arb(4)])
    of_limit = times([arb(4), arb(0), arb(4)], [arb(d), arb(0), arb(1)])
    scattered = [variance**2 * c for c in plus(square, of_limit)]
    twist = [arb(d).sqrt() * c for c in skew]
    return _tokens(s, 2, d, [[s * c for c in shift] for shift in SHIFTS], spread, skew, own, scattered, twist)


def _tokens(
    sigma: arb,
    weights: int,
    dimension: int,
    shifts: Sequence[Polynomial],
    spread: Polynomial,
    skew: Polynomial,
    mean: Polynomial,
    scatter: Polynomial,
    twist: Polynomial,
) -> Tokens:
    """What `moved` is follows from C and D^3 Lambda, `largest` from sigma alone."""
    variance, d = sigma**2, dimension
    off = times([arb(0), 2 / sigma], spread)
    off_square = times(off, off)
    turned = plus(times([arb(0), 2 / sigma], twist), [c / 2 for c in off_square])

    def largest(log_length: arb, eta: fmpq) -> Polynomial:
        rest = 1 / (1 - arb(eta))
        return [variance * (2 / arb(eta) * log_length + d * rest), arb(0), 4 * variance * rest]

    def largest_scatter(log_length: arb, eta: fmpq) -> Polynomial:
        rest = 1 / (1 - arb(eta))
        most = [2 * (1 + log_length) / arb(eta) + d * rest, arb(0), 4 * rest]
        of_limit = times([arb(4), arb(0), arb(4)], [arb(d), arb(0), arb(1)])
        return [variance**2 * c for c in plus(times(most, most), of_limit)]

    return Tokens(
        sigma, weights, shifts, spread, skew, Error(mean, off_square, largest),
        Error(scatter, times(turned, turned), largest_scatter),
    )  # fmt: skip


# -- one law


@dataclass(frozen=True)
class Tilted:
    """sigma^2, T, kappa and Psi of a law in dimension d."""

    dimension: int
    variance: arb
    trace: arb
    skew: arb
    scatter: arb

    def tokens(self) -> Tokens:
        s, v = self.variance.sqrt(), self.variance
        # E <u, y> y y', |u| = 1, in the Frobenius norm, and its trace: by kappa, or by Cauchy and Schwarz.
        by_scatter = s * self.scatter.sqrt()
        twist, lean = (
            (self.skew * arb(self.dimension).sqrt()).min(by_scatter),
            (self.skew * self.dimension).min(by_scatter),
        )
        off = [arb(0), twist / s, v]
        own = plus([self.scatter, 4 * lean * s, 2 * (self.trace + v) * v], times(off, off))
        mean = [self.trace, arb(0), v]
        return _tokens(s, 1, self.dimension, [[arb(0), s]], [v], [self.skew], mean, own, [twist])


def of_law(law: Law[fmpq]) -> Tilted:
    """Raises NoBound for mixtures with Gaussian parts of other covariances, or with other parts beside them."""
    if isinstance(law, Gaussian):
        return _normal(law)
    if isinstance(law, Rademacher):
        return _product(law.sizes, fmpq(1), BALL_SKEW, SIGN_SCATTER)
    if isinstance(law, Box):
        return _product(law.sizes, fmpq(1, 3), BOX_SKEW, BOX_SCATTER)
    weights, parts = zip(*leaves(law, fmpq(1)), strict=True)
    normal = [part for part in parts if isinstance(part, Gaussian)]
    if not normal:
        return _in_ball(law)
    if len(normal) < len(parts) or any(part.covariance != normal[0].covariance for part in normal):
        raise NoBound("of mixtures with Gaussian parts something is known where all are Gaussian, of one covariance")
    return _sum(_in_ball(Atoms([part.mean for part in normal], weights)), _normal(normal[0]))


def _normal(law: Gaussian[fmpq]) -> Tilted:
    """E |y y' - C|_F^2 = (tr C)^2 + |C|_F^2; no eigenvalue is larger than all sums of absolute values of a row."""
    rows = law.covariance
    of_rows = max(sum((abs(entry) for entry in row), fmpq(0)) for row in rows)
    trace = sum((row[j] for j, row in enumerate(rows)), fmpq(0))
    square = sum((entry**2 for row in rows for entry in row), fmpq(0))
    variance = largest_eigenvalue(arb_mat([[arb(entry) for entry in row] for row in rows])).min(arb(of_rows))
    return Tilted(law.dimension, variance, arb(trace), arb(0), arb(trace**2 + square))


def _product(sizes: Sequence[fmpq], variance: fmpq, skew: fmpq, scatter: fmpq) -> Tilted:
    """Independent coordinates c_j y, of y in [-1, 1] with these three numbers."""
    most, squares, fourths = max(sizes), sum((c**2 for c in sizes), fmpq(0)), sum((c**4 for c in sizes), fmpq(0))
    trace = variance * squares
    scattered = trace**2 + (scatter - variance**2) * fourths
    return Tilted(len(sizes), *map(arb, (variance * most**2, trace, skew * most**3, scattered)))


def _in_ball(law: Law[fmpq]) -> Tilted:
    """Tokens in a ball: about any point of it, those of a direction are in an interval."""
    spread = spread_of(law)
    if spread is None:
        raise NoBound("of this law nothing is known under tilts")
    d, variance = law.dimension, spread.covariance.entry(0, 0)
    square = law.squared_radius if isinstance(law, Radial) else variance
    skew = arb(BALL_SKEW) * arb(square).sqrt() ** 3
    return Tilted(d, arb(variance), arb(min(d * variance, square)), skew, arb(BALL_SCATTER * square**2))


def _sum(left: Tilted, right: Tilted) -> Tilted:
    """Of independent vectors u and v: E |u v' + v u'|^2 = 2 E |u|^2 E |v|^2 + 2 tr C_u C_v."""
    mixed = 2 * left.trace * right.trace + 2 * (left.variance * right.trace).min(right.variance * left.trace)
    return Tilted(
        left.dimension, left.variance + right.variance, left.trace + right.trace, left.skew + right.skew,
        left.scatter + right.scatter + mixed,
    )  # fmt: skip
