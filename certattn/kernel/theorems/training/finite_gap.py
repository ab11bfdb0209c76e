"""R_L - R and its gradient where Sigma and A have the same eigenvectors, near a closed form: for `risk-transfer`.

Let Sigma = sum sigma_i P_i and A = sum a_i P_i with orthogonal projections P_i of rank n_i. The scores at a query have
the variance v = sum sigma_i^2 a_i^2 chi_i with independent chi_i of the chi-squared laws with n_i degrees of freedom,
and with T = tr Sigma, q and k = q + 6 kappa (`weight_fits`)

    R   = 1/2 sum n_i sigma_i (1 - b sigma_i a_i)^2,
    R_L = R + E[q P - k K],   P = 1/2 b^2 T + b sum sigma_i^2 a_i chi_i,   K = 1/2 b^2 sum sigma_i^3 a_i^2 chi_i.

With f near q and h near w = q - 9/2 kappa up to f_e and h_e, k = 7/3 q - 4/3 w is near g = 7/3 f - 4/3 h, and
G = E[f P - g K] is elementary: e^(r v) tilts chi_i into t_i times itself,

    E e^(r v) = D = prod t_i^(n_i/2),   E[e^(r v) chi_i] = n_i t_i D,   t_i = 1/(1 - 2 r sigma_i^2 a_i^2).

What is left out, with Q = P - 7/3 K, is R_L - R - G = E[e Q + 4/3 e' K], |e| <= f_e and |e'| <= h_e: at most
E[f_e |Q| + 4/3 h_e K]. Its derivatives along b and a_i are at most

    E[f_e |dQ/db| + 4/3 h_e dK/db],
    E[|chi_i - n_i| (f_e |Q| + 4/3 h_e K)] / |a_i| + |b| sigma_i^2 E[f_e chi_i],

by integration by parts in the i-th group of coordinates; and as 0 <= dq/dv <= q and -2 q <= dk/dv <= 8/3 q also

    E[f_e |dQ/da_i| + 4/3 h_e |dK/da_i|] + |S_i| + 2 sigma_i^2 |a_i| E[q chi_i (|P| + 8/3 K)]

with S_i the part of dG/da_i by way of v, and dQ/da_i and dK/da_i without v. The signs of Q count: where the risk is
small, P and 7/3 K cancel for the most part. For coefficients of the chi_i that are bounded over a box, all these means
grow with every |a_i| and |b|, as f_e, h_e and q do with v.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations_with_replacement

from flint import arb, fmpq

from certattn.kernel.mathematics.functions import root
from certattn.kernel.mathematics.weight_fits import REST, SUM, ExponentialSum, WeightFit

# dk/dv is at most this times q, and at least -2 q.
MOST_RISING = fmpq(8, 3)


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues sigma_i of Sigma, and how often each is."""

    values: Sequence[arb]
    counts: Sequence[int]

    @cached_property
    def trace(self) -> arb:
        """T."""
        return sum((n * s for s, n in zip(self.values, self.counts, strict=True)), arb(0))

    def __iter__(self) -> Iterator[tuple[arb, int]]:
        return iter(zip(self.values, self.counts, strict=True))


@dataclass(frozen=True)
class Jet:
    """Derivatives of a function of (a_1, ..., a_p, b), up to an order, by the variables along which they are taken."""

    order: int
    parts: dict[tuple[int, ...], arb]

    def along(self, *variables: int) -> arb:
        """The derivative along these variables, in any order; the value for none."""
        return self.parts[tuple(sorted(variables))]

    def __add__(self, other: Jet) -> Jet:
        return Jet(self.order, {key: part + other.parts[key] for key, part in self.parts.items()})


@cache
def _steps(size: int, order: int) -> list[tuple[tuple[int, ...], int, int, int]]:
    """Of each key: itself, where it is without its last variable, which one that is, and how often it is there."""
    keys = [key for n in range(order + 1) for key in combinations_with_replacement(range(size), n)]
    at = {key: index for index, key in enumerate(keys)}
    return [(key, at[key[: -key.count(key[-1])]], key[-1], key.count(key[-1])) for key in keys[1:]]


def infinite_risk(of: Spectrum, a: Sequence[arb], b: arb, order: int) -> Jet:
    """R = 1/2 T + sum n_i (1/2 b^2 sigma_i^3 a_i^2 - b sigma_i^2 a_i)."""
    flat = [arb(0)] * 4
    squares = [[n * s**3 * x * x / 2, n * s**3 * x, n * s**3, arb(0)] for (s, n), x in zip(of, a, strict=True)]
    plain = [[-n * s * s * x, -n * s * s, arb(0), arb(0)] for (s, n), x in zip(of, a, strict=True)]
    found = _jet([_Products([flat] * len(a), arb(0), squares, plain)], len(a), b, order)
    found.parts[()] += of.trace / 2
    return found


def fitted_gap(of: Spectrum, fit: WeightFit, a: Sequence[arb], b: arb, order: int) -> Jet:
    """G. Not finite where a mean does not exist."""
    return _jet([_term(of, r, c, k, a) for r, c, k in fit.terms], len(a), b, order)


@dataclass(frozen=True)
class _Products:
    """D (b^2 (X_0 + sum X_i) + b sum Y_i) with D a product: derivatives of order 0 to 3 in a_i of each factor.

    Those of D's factors are relative to D, whose size is in the derivatives of the others.
    """

    factors: list[list[arb]]
    constant: arb
    squares: list[list[arb]]
    plain: list[list[arb]]


def _jet(terms: Sequence[_Products], size: int, b: arb, order: int) -> Jet:
    """Of the sum of the terms. What b^2 and what b comes with is a sum and a product: the rule of Leibniz."""
    steps = _steps(size, order)
    squares, plain = ([arb(0)] * (len(steps) + 1) for _ in range(2))
    for term in terms:
        X = sum((x[0] for x in term.squares), term.constant)
        Y = sum((y[0] for y in term.plain), arb(0))
        moved = [
            [_leibniz(d, row) for d, row in zip(term.factors, rows, strict=True)] for rows in (term.squares, term.plain)
        ]
        # Relative derivatives of D, and what is left of those of D X and D Y without D's times X and Y.
        products, xs, ys = [arb(1)], [arb(0)], [arb(0)]
        for _, before, i, n in steps:
            rest, d = products[before], term.factors[i][n]
            products.append(rest * d)
            xs.append(xs[before] * d + rest * moved[0][i][n])
            ys.append(ys[before] * d + rest * moved[1][i][n])
        for index, D in enumerate(products):
            squares[index] += D * X + xs[index]
            plain[index] += D * Y + ys[index]
    found = {}
    for key, x, y in zip([(), *(key for key, *_ in steps)], squares, plain, strict=True):
        for along, value in enumerate((b * (b * x + y), 2 * b * x + y, 2 * x, arb(0))[: order - len(key) + 1]):
            found[(*key, *[size] * along)] = value
    return Jet(order, found)


def _leibniz(d: Sequence[arb], x: Sequence[arb]) -> list[arb]:
    """Derivatives of the product less those of the first factor, d, which is 1 here, times x."""
    return [arb(0), x[1], 2 * d[1] * x[1] + x[2], 3 * (d[2] * x[1] + d[1] * x[2]) + x[3]]


def _term(of: Spectrum, r: fmpq, c: fmpq, k: fmpq, a: Sequence[arb]) -> _Products:
    """E[e^(r v) (c P - k K)]."""
    factors, squares, plain, mass = [], [], [], arb(1)
    for (s, n), x in zip(of, a, strict=True):
        z, t = -2 * r * s * s, tilt(r, s, x)
        mass *= root(t) ** n
        # Derivatives of t^(n/2) over it, of x^2 t and of x t, for t = 1 / (1 + z x^2).
        u = z * x * t
        first = -n * u
        second = n * t * z * ((n + 2) * (1 - t) - 1)
        third = n * (n + 2) * t * u * z * (3 - (n + 4) * (1 - t))
        factors.append([arb(1), first, second, third])
        cube, square = k * n * s**3, c * n * s * s
        t2, t3 = t * t, t * t * t
        squares.append(
            [-cube * y / 2 for y in (x * x * t, 2 * x * t2, 2 * t2 * (4 * t - 3), -24 * z * x * t3 * (2 * t - 1))]
        )
        plain.append(
            [square * y for y in (x * t, t * (2 * t - 1), -2 * u * t * (4 * t - 1), -6 * z * t2 * (8 * t2 - 8 * t + 1))]
        )
    scaled = [[[mass * y for y in row] for row in rows] for rows in (squares, plain)]
    return _Products(factors, mass * of.trace * c / 2, *scaled)


def tilt(r: fmpq, s: arb, a: arb) -> arb:
    """t = 1 / (1 - 2 r sigma^2 a^2); not finite where that is not known to be positive."""
    below = 1 - 2 * r * s * s * (a * a).nonnegative_part()
    return 1 / below if (below > 0) is True else arb.nan()


# -- what is left out


@dataclass(frozen=True)
class _Tilted:
    """E[h w] for a sum h of exponentials and w polynomials in the chi_i: one law with its mass for each term."""

    of: Spectrum
    laws: Sequence[tuple[arb, list[arb]]]

    def mean(self) -> arb:
        """E h."""
        return sum((mass for mass, _ in self.laws), arb(0))

    def first(self, i: int) -> arb:
        """E[h chi_i]."""
        return sum((mass * self.of.counts[i] * t[i] for mass, t in self.laws), arb(0))

    def apart(self, constant: arb, factors: Sequence[arb], i: int) -> arb:
        """E[h |chi_i - n_i| W] for W = constant + sum factors_j chi_j."""
        n, total = self.of.counts[i], arb(0)
        for mass, t in self.laws:
            others = constant
            for j, (w, m, x) in enumerate(zip(factors, self.of.counts, t, strict=True)):
                others += w * m * x if j != i else 0
            size, weighted = _distances(n, t[i])
            total += mass * (others * size + factors[i] * weighted)
        return total

    def product(self, constant: arb, factors: Sequence[arb], i: int) -> arb:
        """E[h chi_i W]."""
        total = arb(0)
        for mass, t in self.laws:
            means = [n * x for n, x in zip(self.of.counts, t, strict=True)]
            one = means[i]
            inner = sum((w * m for w, m in zip(factors, means, strict=True)), constant) * one
            total += mass * (inner + 2 * factors[i] * one * t[i])
        return total


def _distances(n: int, t: arb) -> tuple[arb, arb]:
    """E|t Y - n| and E[|t Y - n| t Y] for Y of the chi-squared law with n degrees of freedom."""
    at = n / t / 2
    # E[Y^j; Y < n/t] = E Y^j times the same probability with 2j more degrees of freedom.
    below = [at.gamma_lower(arb(n) / 2 + j, regularized=1) for j in range(3)]
    means = [arb(1), n * t, n * (n + 2) * t * t]
    size = n * t - n + 2 * (n * below[0] - means[1] * below[1])
    weighted = means[2] - n * means[1] + 2 * (n * means[1] * below[1] - means[2] * below[2])
    return size, weighted


def _tilted(of: Spectrum, h: ExponentialSum, a: Sequence[arb]) -> _Tilted:
    laws = []
    for c, r in h.terms:
        t = [tilt(r, s, x) for (s, _), x in zip(of, a, strict=True)]
        mass = arb(c)
        for x, n in zip(t, of.counts, strict=True):
            mass *= root(x) ** n
        laws.append((mass, t))
    return _Tilted(of, laws)


@dataclass(frozen=True)
class Rest:
    """At most what G leaves out of R_L - R over a box, and of each derivative."""

    value: arb
    gradient: list[arb]


def rest(of: Spectrum, fit: WeightFit, a: Sequence[arb], b: arb) -> Rest:
    """Over a box of a and b."""
    sizes = [abs(x).upper() for x in a]
    least = [abs(x).lower() for x in a]
    large = abs(b).upper()
    plain, other = _tilted(of, fit.q.error, sizes), _tilted(of, fit.w.error, sizes)
    at_most = ExponentialSum([*fit.q.near.terms, *fit.q.error.terms])
    known = _tilted(of, at_most, sizes)
    half = large * large * of.trace / 2
    # Coefficients of the chi_i in |Q|, |dQ/db|, 4/3 dK/db, 4/3 K and |P| + 8/3 K.
    both = [abs(b * s * s * x * (1 - SUM / 2 * b * s * x)).upper() for (s, _), x in zip(of, a, strict=True)]
    slopes = [abs(s * s * x * (1 - SUM * b * s * x)).upper() for (s, _), x in zip(of, a, strict=True)]
    cubic = [REST * large * s**3 * x * x for (s, _), x in zip(of, sizes, strict=True)]
    cubes = [large * x / 2 for x in cubic]
    steep = [large * s * s * x + MOST_RISING / REST * y for (s, _), x, y in zip(of, sizes, cubes, strict=True)]
    means = [plain.first(i) for i in range(len(a))], [other.first(i) for i in range(len(a))]
    value = half * plain.mean() + _inner(both, means[0]) + _inner(cubes, means[1])
    slope = large * of.trace * plain.mean() + _inner(slopes, means[0]) + _inner(cubic, means[1])
    gradient = []
    for i, ((s, _), x) in enumerate(zip(of, a, strict=True)):
        direct = abs(b * s * s * (1 - SUM * b * s * x)) * means[0][i]
        direct += REST * large * large * s**3 * sizes[i] * means[1][i]
        near = abs(_by_variance(of, fit, a, b, i)) + direct
        near += 2 * s * s * sizes[i] * known.product(half, steep, i)
        if (least[i] > 0) is True:
            far = plain.apart(half, both, i) + other.apart(arb(0), cubes, i)
            near = _least(near, far / least[i] + large * s * s * means[0][i])
        gradient.append(near)
    return Rest(value, [*gradient, slope])


def _least(x: arb, y: arb) -> arb:
    """The smaller one that is finite."""
    if x.is_finite() is not True or y.is_finite() is not True:
        return x if x.is_finite() is True else y
    return x.min(y)


def _inner(x: Sequence[arb], y: Sequence[arb]) -> arb:
    return sum((s * t for s, t in zip(x, y, strict=True)), arb(0))


def _by_variance(of: Spectrum, fit: WeightFit, a: Sequence[arb], b: arb, i: int) -> arb:
    """S_i = 2 sigma_i^2 a_i E[chi_i (f' P - g' K)]."""
    squares = [b * s * s * x for (s, _), x in zip(of, a, strict=True)]
    cubes = [b * b * s**3 * x * x / 2 for (s, _), x in zip(of, a, strict=True)]
    plain, spread = (ExponentialSum([(row[j] * row[0], row[0]) for row in fit.terms]) for j in (1, 2))
    found = _tilted(of, plain, a).product(b * b * of.trace / 2, squares, i)
    found -= _tilted(of, spread, a).product(arb(0), cubes, i)
    return 2 * of.values[i] ** 2 * a[i] * found
