"""R_L - R and its gradient where Sigma and A have the same eigenvectors, near a closed form: for `risk-transfer`.

Let Sigma = sum sigma_i P_i and A = sum a_i P_i with orthogonal projections P_i of rank n_i. The scores at a query have
the variance v = sum sigma_i^2 a_i^2 chi_i with independent chi_i of the chi-squared laws with n_i degrees of freedom,
and with T = tr Sigma, q and k = q + 6 kappa (`weight_fits`)

    R   = 1/2 sum n_i sigma_i (1 - b sigma_i a_i)^2,
    R_L = R + E[q P - k K],   P = 1/2 b^2 T + b sum sigma_i^2 a_i chi_i,   K = 1/2 b^2 sum sigma_i^3 a_i^2 chi_i.

With f + mu f' near q and h + mu h' near w = q - 9/2 kappa up to f_e and h_e, k = 7/3 q - 4/3 w is near
g = 7/3 (f + mu f') - 4/3 (h + mu h'), and G = E[(f + mu f') P - g K] is elementary and linear in mu, which is L_1 / L:
e^(r v) tilts chi_i into t_i times itself,

    E e^(r v) = D = prod t_i^(n_i/2),   E[e^(r v) chi_i] = n_i t_i D,   t_i = 1/(1 - 2 r sigma_i^2 a_i^2).

What is left out, with Q = P - 7/3 K, is R_L - R - G = E[e Q + 4/3 e' K], |e| <= f_e and |e'| <= h_e: at most
E[f_e |Q| + 4/3 h_e K]. Its derivatives along b and a_i are at most

    E[f_e |dQ/db| + 4/3 h_e dK/db],
    E[|chi_i - n_i| (f_e |Q| + 4/3 h_e K)] / |a_i| + |b| sigma_i^2 E[f_e chi_i],

by integration by parts in the i-th group of coordinates; and as 0 <= dq/dv <= q and -2 q <= dk/dv <= 8/3 q also

    E[f_e |dQ/da_i| + 4/3 h_e |dK/da_i|] + |S_i| + 2 sigma_i^2 |a_i| E[q chi_i (|P| + 8/3 K)]

with S_i the part of dG/da_i by way of v, dQ/da_i and dK/da_i without v. The signs of Q count: where the risk is
small, P and 7/3 K cancel for the most part. For coefficients of the chi_i that are bounded over a box, all these means
grow with every |a_i| and |b|, as f_e, h_e and q do with v.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations_with_replacement

from flint import arb, fmpq

from certattn.kernel.mathematics.functions import root
from certattn.kernel.mathematics.weight_fits import REST, SUM, WeightFit

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
    """Derivatives of a function of (a_1, ..., a_p, b, mu), linear in mu, up to an order, by their variables."""

    size: int
    parts: dict[tuple[int, ...], arb]

    def along(self, *variables: int) -> arb:
        """The derivative along these variables, in any order; the value for none."""
        if variables.count(self.size + 1) > 1:
            return arb(0)
        return self.parts[tuple(sorted(variables))]

    def __add__(self, other: Jet) -> Jet:
        """With one in which there may be no mu."""
        return Jet(self.size, {key: part + other.parts.get(key, 0) for key, part in self.parts.items()})


@cache
def _steps(size: int, order: int) -> list[tuple[tuple[int, ...], int, int, int]]:
    """Of each key: itself, where it is without its last variable, which one that is, and how often it is there."""
    keys = [key for n in range(order + 1) for key in combinations_with_replacement(range(size), n)]
    at = {key: index for index, key in enumerate(keys)}
    return [(key, at[key[: -key.count(key[-1])]], key[-1], key.count(key[-1])) for key in keys[1:]]


def infinite_risk(of: Spectrum, a: Sequence[arb], b: arb, order: int) -> Jet:
    """R = 1/2 T + sum n_i (1/2 b^2 sigma_i^3 a_i^2 - b sigma_i^2 a_i)."""
    none = arb(0)
    squares = [[n * s**3 * x * x / 2, n * s**3 * x, n * s**3, none, none] for (s, n), x in zip(of, a, strict=True)]
    plain = [[n * s * s * x, n * s * s, none, none, none] for (s, n), x in zip(of, a, strict=True)]
    products = _Products(arb(1), [[none] * 5] * len(a), squares, plain)
    found = _jet([(products, [(fmpq(-1), fmpq(-1))])], arb(0), b, arb(0), order)
    found.parts[()] += of.trace / 2
    return found


def fitted_gap(of: Spectrum, fit: WeightFit, a: Sequence[arb], b: arb, mu: arb, order: int) -> Jet:
    """G, of which mu is the last variable. Not finite where a mean does not exist."""
    return _jet([(_products(of, r, a), factors) for r, *factors in fit.terms], of.trace, b, mu, order)


@dataclass(frozen=True)
class _Products:
    """D, X = D sum X_i and Y = D sum Y_i: derivatives of order 0 to 4 in a_i of each factor of D, and of X_i and Y_i.

    Those of D's factors are relative to D.
    """

    mass: arb
    factors: list[list[arb]]
    squares: list[list[arb]]
    plain: list[list[arb]]

    def derivatives(self, steps: Sequence[tuple[tuple[int, ...], int, int, int]]) -> Iterator[tuple[arb, arb, arb]]:
        """Of D, X and Y: of order 0, then along the steps."""
        X, Y = (sum((x[0] for x in rows), arb(0)) for rows in (self.squares, self.plain))
        moved = [
            [_leibniz(d, row) for d, row in zip(self.factors, rows, strict=True)] for rows in (self.squares, self.plain)
        ]
        # Relative derivatives of D, and what is left of those of X and Y without D's times X and Y.
        found = [(arb(1), arb(0), arb(0))]
        for _, before, i, n in steps:
            rest, x, y = found[before]
            d = self.factors[i][n]
            found.append((rest * d, x * d + rest * moved[0][i][n], y * d + rest * moved[1][i][n]))
        for D, x, y in found:
            yield self.mass * D, self.mass * (D * X + x), self.mass * (D * Y + y)


def _jet(
    terms: Sequence[tuple[_Products, Sequence[tuple[fmpq, fmpq]]]], trace: arb, b: arb, mu: arb, order: int
) -> Jet:
    """Of the sum of b^2 (c/2 T D - k X) + b c Y over the terms, each with c and k alone, and with those of mu."""
    size, parts = len(terms[0][0].squares), len(terms[0][1])
    steps = _steps(size, order)
    sums = [[[arb(0), arb(0)] for _ in range(len(steps) + 1)] for _ in range(parts)]
    for products, factors in terms:
        for index, (D, X, Y) in enumerate(products.derivatives(steps)):
            half = trace * D / 2
            for total, (c, k) in zip(sums, factors, strict=True):
                total[index][0] += c * half - k * X
                total[index][1] += c * Y
    found: dict[tuple[int, ...], arb] = {}
    for index, key in enumerate([(), *(key for key, *_ in steps)]):
        (x, y), *others = (total[index] for total in sums)
        for x1, y1 in others:
            found |= {(*at, size + 1): value for at, value in _along_b(x1, y1, b, (*key, size), order - len(key) - 1)}
            x, y = x + mu * x1, y + mu * y1
        found |= dict(_along_b(x, y, b, (*key, size), order - len(key)))
    return Jet(size, found)


def _along_b(x: arb, y: arb, b: arb, key: tuple[int, ...], order: int) -> Iterator[tuple[tuple[int, ...], arb]]:
    """Derivatives of b^2 x + b y along b, the last of the key, from none on."""
    for n, value in enumerate((b * (b * x + y), 2 * b * x + y, 2 * x, arb(0), arb(0))[: order + 1]):
        yield (*key[:-1], *key[-1:] * n), value


def _leibniz(d: Sequence[arb], x: Sequence[arb]) -> list[arb]:
    """Derivatives of the product less those of the first factor, d, which is 1 here, times x."""
    return [
        arb(0),
        x[1],
        2 * d[1] * x[1] + x[2],
        3 * (d[2] * x[1] + d[1] * x[2]) + x[3],
        4 * (d[3] * x[1] + d[1] * x[3]) + 6 * d[2] * x[2] + x[4],
    ]


def _products(of: Spectrum, r: fmpq, a: Sequence[arb]) -> _Products:
    """D = E e^(r v), X = E[e^(r v) K] / b^2 and Y = E[e^(r v) sum sigma_i^2 a_i chi_i]."""
    factors, squares, plain, mass = [], [], [], arb(1)
    for (s, n), x in zip(of, a, strict=True):
        z, t = -2 * r * s * s, tilt(r, s, x)
        mass *= root(t) ** n
        # Derivatives of t^(n/2) over it, of x^2 t and of x t, for t = 1 / (1 + z x^2).
        u = z * x * t
        first = -n * u
        second = n * t * z * ((n + 2) * (1 - t) - 1)
        third = n * (n + 2) * t * u * z * (3 - (n + 4) * (1 - t))
        fourth = n * (n + 2) * z * z * t * t * (3 + (n + 4) * (1 - t) * ((n + 6) * (1 - t) - 6))
        factors.append([arb(1), first, second, third, fourth])
        cube, square = n * s**3, n * s * s
        t2, t3 = t * t, t * t * t
        of_squares = (
            x * x * t,
            2 * x * t2,
            2 * t2 * (4 * t - 3),
            -24 * z * x * t3 * (2 * t - 1),
            -24 * z * t3 * (16 * t2 - 20 * t + 5),
        )
        of_plain = (
            x * t,
            t * (2 * t - 1),
            -2 * u * t * (4 * t - 1),
            -6 * z * t2 * (8 * t2 - 8 * t + 1),
            24 * z * u * t2 * (16 * t2 - 12 * t + 1),
        )
        squares.append([cube * y / 2 for y in of_squares])
        plain.append([square * y for y in of_plain])
    return _Products(mass, factors, squares, plain)


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


def _tilted(of: Spectrum, terms: Iterable[tuple[fmpq | arb, fmpq]], a: Sequence[arb]) -> _Tilted:
    laws = []
    for c, r in terms:
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


def rest(of: Spectrum, fit: WeightFit, a: Sequence[arb], b: arb, mu: arb) -> Rest:
    """Over a box of a, b and mu."""
    sizes = [abs(x).upper() for x in a]
    least = [abs(x).lower() for x in a]
    large = abs(b).upper()
    near = [(r, *(x + mu * y for x, y in zip(*factors, strict=True))) for r, *factors in fit.terms]
    plain, other = _tilted(of, fit.q.error.terms, sizes), _tilted(of, fit.w.error.terms, sizes)
    known = _tilted(of, [*((c, r) for r, c, _ in near), *fit.q.error.terms], sizes)
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
        bound = abs(_by_variance(of, near, a, b, i)) + direct
        bound += 2 * s * s * sizes[i] * known.product(half, steep, i)
        if (least[i] > 0) is True:
            far = plain.apart(half, both, i) + other.apart(arb(0), cubes, i)
            bound = _least(bound, far / least[i] + large * s * s * means[0][i])
        gradient.append(bound)
    return Rest(value, [*gradient, slope])


def _least(x: arb, y: arb) -> arb:
    """The smaller one that is finite."""
    if x.is_finite() is not True or y.is_finite() is not True:
        return x if x.is_finite() is True else y
    return x.min(y)


def _inner(x: Sequence[arb], y: Sequence[arb]) -> arb:
    return sum((s * t for s, t in zip(x, y, strict=True)), arb(0))


def _by_variance(of: Spectrum, near: Sequence[tuple[fmpq, arb, arb]], a: Sequence[arb], b: arb, i: int) -> arb:
    """S_i = 2 sigma_i^2 a_i E[chi_i (f' P - g' K)]."""
    squares = [b * s * s * x for (s, _), x in zip(of, a, strict=True)]
    cubes = [b * b * s**3 * x * x / 2 for (s, _), x in zip(of, a, strict=True)]
    found = _tilted(of, [(r * c, r) for r, c, _ in near], a).product(b * b * of.trace / 2, squares, i)
    found -= _tilted(of, [(r * k, r) for r, _, k in near], a).product(arb(0), cubes, i)
    return 2 * of.values[i] ** 2 * a[i] * found
