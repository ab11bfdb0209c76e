"""The law of the variance of the scores, v = z'N z of a Gaussian z ~ N(m, S), weighted with quadratic forms of z.

v = v_0 + u'E u, E > 0 diagonal, u ~ N(e, C), C > 0 in k = rank dimensions: exact elimination. With t = u'E u and
M = E^(1/2) C E^(1/2), let 0 < beta <= every eigenvalue of M, K = I - beta M^-1, x = M^-1 E^(1/2) e, and f be a
quadratic form of z, whose mean given u is c + 2 l'y + y'B y, y = E^(1/2) u. Then with theta = 1 / (1 - 2 beta w)

    E[f e^(wt)] = theta^(k/2) G(theta),      G = g(theta) (c + 2 l'n + beta theta tr B R + n'B n),
    g = beta^(k/2) det(M)^(-1/2) e^(-e'C^-1 e/2 + beta theta x'R x/2) det(I - theta K)^(-1/2),
    R = (I - theta K)^-1,   n = beta theta R x;

and as theta^s is the transform of 2 beta times a variable of the law Gamma(s), the law of t that is weighted with f has
the density

    sum_j a_j y^(s-1) e^-y / Gamma(s) / (2 beta),   G = sum a_j theta^j,  y = t / (2 beta),  s = j + k/2       (Ruben).

For f = 1 no a_j is negative, nor is any coefficient of g. Of the others, with d = |x| and kappa at least the
eigenvalues of K, the sizes are at most the coefficients of

    A = g(theta) (|c| + 2 |l| beta theta d r + k |B| beta theta r + |B| (beta theta d r)^2), r = 1 / (1 - kappa theta),

so that those beyond a_J have a sum of at most A(rho) / rho^(J+1), 1 < rho < 1/kappa, and y^(s-1) e^-y <= Gamma(s).
|B| is Frobenius' norm. `docs/claims/prompts/output-mean-square.md` has the proofs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isqrt

from flint import arb, arb_mat, arb_poly, ctx, fmpq, fmpq_mat

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.lognormal_laplace import within
from certattn.kernel.mathematics.query_averages import QueryAverage, triangular_factor

# Beyond so many terms, no answer: eigenvalues of M that are that far apart.
_MOST_TERMS = 20_000
_STEPS = 16


@dataclass(frozen=True)
class Form:
    """c + 2 l'y + y'B y, the mean of a quadratic form of z given y."""

    constant: arb
    linear: arb_mat
    square: arb_mat

    @property
    def sizes(self) -> tuple[arb, arb, arb]:
        """|c|, |l| and |B|."""
        return abs(self.constant), _norm(self.linear), _norm(self.square)


class ScoreVariance:
    """The law of v, of z and N as in an average over queries, at the working precision."""

    def __init__(self, average: QueryAverage) -> None:
        m, N = _rational(average.mean.T), _rational(average.N)
        factor = triangular_factor(average.covariance)
        self._m, self.rank, self.offset = m, 0, (m.transpose() * N * m)[0, 0]
        self._covariance = _rational(average.covariance)
        if factor is None:
            return
        R, D = _rational(factor[0]), _diagonal(factor[1])
        inner = triangular_factor(factor[0].T @ average.N @ factor[0])
        if inner is None:
            return
        P, E = _rational(inner[0]), _diagonal(inner[1])
        self.rank = len(inner[1])
        # z = m + R y and v = m'N m + 2 n'y + y'R'N R y with n = R'N m = P E e.
        e = E.inv() * (P.transpose() * P).inv() * P.transpose() * R.transpose() * N * m
        self.offset -= (e.transpose() * E * e)[0, 0]
        C = P.transpose() * D * P
        # Given u the mean of y is D P C^-1 (u - e).
        self._to_z = R * D * P * C.inv()
        self._e, self._C, self._E = e, C, E

    # -- exactly

    @cached_property
    def _inverses(self) -> tuple[fmpq_mat, fmpq_mat]:
        return self._C.inv(), self._E.inv()

    @cached_property
    def least(self) -> fmpq:
        """beta."""
        inverse, E = self._inverses
        plain = 1 / _trace(inverse * E)
        return self._last(plain, (self.rank - 1) * plain / _STEPS, lambda level: self._C - level * E)

    @cached_property
    def spread(self) -> fmpq:
        """kappa, above 0: no eigenvalue of M is above the level that is tried last."""
        trace, (_, E) = _trace(self._C * self._E), self._inverses
        most = self._last(trace, (trace / self.rank - trace) / _STEPS, lambda level: level * E - self._C)
        return max(1 - self.least / most, fmpq(1, 64))

    def _last(self, start: fmpq, step: fmpq, difference: Callable[[fmpq], fmpq_mat]) -> fmpq:
        """The last of levels from the start on where a difference is known to be positive semidefinite."""
        last = start
        for k in range(1, _STEPS + 1):
            if not _exact(difference(start + k * step)).is_positive_semidefinite():
                break
            last = start + k * step
        return last

    @property
    def distance_squared(self) -> fmpq:
        """d^2 = e'C^-1 E^-1 C^-1 e."""
        inverse, E = self._inverses
        moved = inverse * self._e
        return (moved.transpose() * E * moved)[0, 0]

    # -- in balls

    def form(self, average: QueryAverage) -> Form:
        """What the quadratic form of an average of this law is, given u."""
        B, m, S = _rational(average.B), self._m, self._covariance
        constant = average.constant
        if self.rank == 0:
            return Form(arb(constant + _trace(B * S) + (m.transpose() * B * m)[0, 0]), arb_mat(0, 1), arb_mat(0, 0))
        Q = self._to_z
        rest, centre = S - Q * self._C * Q.transpose(), m - Q * self._e
        constant += _trace(B * rest) + (centre.transpose() * B * centre)[0, 0]
        scale = self._root(inverse=True)
        linear = scale * arb_mat(Q.transpose() * B * centre)
        return Form(arb(constant), linear, scale * arb_mat(Q.transpose() * B * Q) * scale)

    def _root(self, inverse: bool) -> arb_mat:
        """E^(1/2), or its inverse."""
        entries = [arb(self._E[i, i]) for i in range(self.rank)]
        return _balls([entry.rsqrt() if inverse else entry.sqrt() for entry in entries])

    @cached_property
    def _factor(self) -> arb:
        """beta^(k/2) det(M)^(-1/2) e^(-e'C^-1 e/2)."""
        exponent = (self._e.transpose() * self._inverses[0] * self._e)[0, 0] / 2
        square = self.least**self.rank / (self._C.det() * self._E.det())
        return arb(square).sqrt() * arb(-exponent).exp()

    def densities(self, forms: Sequence[Form], bits: int) -> list[Density] | None:
        """Those weighted with 1 and with the forms, to about so many bits; None where it would take too long."""
        one = Form(arb(1), arb_mat(self.rank, 1), arb_mat(self.rank, self.rank))
        wanted, small = [one, *forms], arb(2) ** -bits
        if (1 - self.spread) * _MOST_TERMS < 1:
            return None
        terms = 16
        while not all((self._left_out(form, terms) < small) is True for form in wanted):
            terms += terms // 4
            if terms > _MOST_TERMS:
                return None
        with working_precision(ctx.prec + self._lost_bits(terms)):
            series = self._series(wanted, terms)
        scale = fmpq(self.rank, 2)
        return [
            Density(self.least, scale, _over_gammas(coefficients, scale), self._left_out(form, terms))
            for form, coefficients in zip(wanted, series, strict=True)
        ]

    def _left_out(self, form: Form, terms: int) -> arb:
        """A(rho) / rho^(J+1) for J + 1 terms: the least of a few rho."""
        least, beta, d = arb("inf"), arb(self.least), arb(self.distance_squared).sqrt()
        constant, linear, square = form.sizes
        for rho, g in self._weights.items():
            r = arb(1 / (1 - self.spread * rho))
            moved = beta * rho * d * r
            size = constant + 2 * linear * moved + square * (self.rank * beta * rho * r + moved * moved)
            least = least.min(g * size / arb(rho) ** terms)
        return least

    @cached_property
    def _weights(self) -> dict[fmpq, arb]:
        """g at a few rho between 1 and 1 / kappa."""
        most, x, one = 1 / self.spread, self._x, _balls([arb(1)] * self.rank)
        found = {}
        for i in range(1, _STEPS):
            rho = 1 + (most - 1) * fmpq(i, _STEPS)
            rest = one - self._step * arb(rho)
            pull = (x.transpose() * rest.inv() * x)[0, 0]
            found[rho] = self._factor * (self.least * rho * pull / 2).exp() * rest.det().rsqrt()
        return found

    @cached_property
    def _x(self) -> arb_mat:
        return self._root(inverse=True) * arb_mat(self._inverses[0] * self._e)

    def _lost_bits(self, terms: int) -> int:
        """Powers of K lose what the sizes of its entries gain on its eigenvalues."""
        K, largest = self._step, arb(self.spread)
        for i in range(self.rank):
            largest = largest.max(sum((abs(K[i, j]) for j in range(self.rank)), arb(0)))
        return int((terms * (largest / self.spread).log() * 3 / 2).upper().ceil().unique_fmpz() or 0) + 32

    @property
    def _step(self) -> arb_mat:
        """K."""
        root = self._root(inverse=True)
        return _balls([arb(1)] * self.rank) - root * arb_mat(self._inverses[0]) * root * arb(self.least)

    def _series(self, forms: Sequence[Form], terms: int) -> list[list[arb]]:
        """The coefficients a_j."""
        k, beta, centred = self.rank, arb(self.least), self.distance_squared == 0
        x, along = self._x, _Powers(self._step, terms).against
        # log det(I - theta K)^(-1/2) = sum_j tr K^j theta^j / (2 j), and x'R x = sum_j x'K^j x theta^j
        traces = along(_balls([arb(1)] * k))
        exponents = [self._factor.log(), *(trace / (2 * j) for j, trace in enumerate(traces) if j > 0)]
        if not centred:
            exponents = _plus(exponents, [beta * pull / 2 for pull in along(x * x.transpose())])
            rays = [along(x * row) for row in _rows(_balls([arb(1)] * k))]
        # All of them: a sum of series ends where both have zeros alone.
        g = arb_poly(_exponential(_truncated(exponents, terms)))
        found = []
        for form in forms:
            inner = _plus([form.constant], [beta * spread for spread in along(form.square)])
            if not centred:
                inner = _plus(inner, [2 * beta * shift for shift in along(x * form.linear.transpose())])
                moved = (along(x * row) for row in _rows(form.square))
                pairs = zip(rays, moved, strict=True)
                square = sum((arb_poly(left) * arb_poly(right) for left, right in pairs), arb_poly([]))
                inner = _plus(inner, [arb(0), *(beta * beta * value for value in square.coeffs())][:terms])
            found.append(_truncated((g * arb_poly(_clipped(inner))).coeffs(), terms))
        return found


class _Powers:
    """tr X K^n for n below `terms`, from few powers: K^(i m + j) = K^(i m) K^j."""

    def __init__(self, K: arb_mat, terms: int) -> None:
        self._terms, self._stride, size = terms, isqrt(terms) + 1, K.nrows()
        power, columns = _balls([arb(1)] * size), list[arb]()
        for _ in range(self._stride):
            columns.extend(power.transpose().entries())
            power *= K
        self._giant = power
        self._small = arb_mat(self._stride, size * size, columns).transpose()

    def against(self, X: arb_mat) -> list[arb]:
        rows = list[arb]()
        for _ in range(self._stride):
            rows.extend(X.entries())
            X *= self._giant
        products = arb_mat(self._stride, self._small.nrows(), rows) * self._small
        return list(products.entries())[: self._terms]


@dataclass(frozen=True)
class Density:
    """sum_j a_j y^(s-1) e^-y / Gamma(s) / (2 beta) up to a_J, y = t / (2 beta), s = j + `shape`.

    `series` has a_j / Gamma(s); `missing` is at least the sum of the |a_j| that are left out.
    """

    beta: fmpq
    shape: fmpq
    series: arb_poly
    missing: arb

    def at_least(self, t: arb) -> arb:
        """Without what is left out."""
        y = t / (2 * self.beta)
        return self.series(y) * (y.log() * (self.shape - 1) - y).exp() / (2 * self.beta)

    def at(self, t: arb) -> arb:
        # For s = 1/2 alone y^(s-1) e^-y / Gamma(s) may be above 1, and j = 0 is not left out.
        return self.at_least(t) + within(self.missing / (2 * self.beta))


def _over_gammas(coefficients: Sequence[arb], shape: fmpq) -> arb_poly:
    """sum a_j y^j / Gamma(j + shape)."""
    weight, found = arb(shape).rgamma(), []
    for j, a in enumerate(coefficients):
        found.append(a * weight)
        weight /= j + shape
    return arb_poly(found)


def _exponential(coefficients: Sequence[arb]) -> list[arb]:
    """Of a power series, to as many terms: of a small part of it, squared, as that of a large one cancels."""
    # Here alone: derivations read the formulas of this module with symbols, which have no power series.
    from flint import arb_series

    terms = len(coefficients)
    size = sum((abs(a) for a in coefficients), arb(0))
    halvings = int(size.upper().ceil().unique_fmpz() or 0).bit_length() if size.is_finite() is True else 0
    cap, ctx.cap = ctx.cap, terms
    try:
        found = arb_series(_clipped([a / 2**halvings for a in coefficients]), prec=terms).exp()
        for _ in range(halvings):
            found = arb_series(_clipped(found.coeffs()), prec=terms)
            found *= found
        return _clipped(found.coeffs())
    finally:
        ctx.cap = cap


def _clipped(coefficients: Sequence[arb]) -> list[arb]:
    """Those that are next to nothing beside the largest are known to be that: products take less time."""
    least = arb(0)
    for a in coefficients:
        least = least.max(abs(a))
    least = arb((least * arb(2) ** -ctx.prec).upper())
    return [within(least) if (abs(a) < least) is True else a for a in coefficients]


def _plus(left: Sequence[arb], right: Sequence[arb]) -> list[arb]:
    """left + theta right."""
    return list((arb_poly(list(left)) + arb_poly([arb(0), *right])).coeffs())


def _rows(matrix: arb_mat) -> list[arb_mat]:
    size = matrix.ncols()
    return [arb_mat(1, size, [matrix[i, j] for j in range(size)]) for i in range(matrix.nrows())]


def _truncated(coefficients: list[arb], terms: int) -> list[arb]:
    return (list(coefficients) + [arb(0)] * terms)[:terms]


def _norm(matrix: arb_mat) -> arb:
    return sum((entry * entry for entry in matrix.entries()), arb(0)).nonnegative_part().sqrt()


def _balls(diagonal: Sequence[arb]) -> arb_mat:
    size = len(diagonal)
    return arb_mat(size, size, [x if i == j else 0 for i, x in enumerate(diagonal) for j in range(size)])


def _rational(matrix: ExactMatrix) -> fmpq_mat:
    return fmpq_mat(matrix.numerators) * fmpq(1, matrix.denominator)


def _exact(matrix: fmpq_mat) -> ExactMatrix:
    return ExactMatrix.rational([[matrix[i, j] for j in range(matrix.ncols())] for i in range(matrix.nrows())])


def _diagonal(entries: Sequence[fmpq]) -> fmpq_mat:
    size = len(entries)
    return fmpq_mat(size, size, [x if i == j else 0 for i, x in enumerate(entries) for j in range(size)])


def _trace(matrix: fmpq_mat) -> fmpq:
    return sum((matrix[i, i] for i in range(matrix.nrows())), fmpq(0))
