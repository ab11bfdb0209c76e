"""Laws of tokens from their definitions: by integration and summation, with no formula of the kernel.

    E[f(x) e^{<a, x>}]  for polynomials f

is all that is needed: with M = E e^{<a, x>}, the log-MGF is log M, the tilted mean E[x e^{<a, x>}] / M
and the tilted covariance E[(x - tau)(x - tau)' e^{<a, x>}] / M.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import sympy

from certattn.theory.symbols import positive_symbol, real

Expr = Any
# A function of the token.
Function = Callable[[Sequence[Expr]], Expr]


@dataclass(frozen=True)
class TiltedLaw:
    """A law under the tilt e^{<a, x>}; `weigh(f)` is E[f(x) e^{<a, x>}] of a function f of the token."""

    dimension: int
    weigh: Callable[[Function], Expr]

    def normaliser(self) -> Expr:
        """E e^{<a, x>}, the moment-generating function."""
        return self.weigh(lambda x: sympy.Integer(1))

    def log_mgf(self) -> Expr:
        return sympy.log(self.normaliser())

    def mean(self) -> list[Expr]:
        """E[x e^{<a, x>}] / E e^{<a, x>}."""
        total = self.normaliser()
        return [self.weigh(_coordinate(j)) / total for j in range(self.dimension)]

    def covariance(self) -> list[list[Expr]]:
        """E[(x - tau)(x - tau)' e^{<a, x>}] / E e^{<a, x>}, tau the tilted mean."""
        total, axes = self.normaliser(), range(self.dimension)
        # The mean enters as a constant: it is put in after the expectation is taken.
        t = [sympy.Dummy(f"tau_{j + 1}", real=True) for j in axes]
        tau = dict(zip(t, self.mean(), strict=True))
        weighed = [[self.weigh(_product(t, j, k)) for k in axes] for j in axes]
        return [[(product / total).subs(tau) for product in row] for row in weighed]


def _coordinate(j: int) -> Function:
    return lambda x: x[j]


def _product(t: Sequence[Expr], j: int, k: int) -> Function:
    return lambda x: (x[j] - t[j]) * (x[k] - t[k])


def _inner(left: Sequence[Expr], right: Sequence[Expr]) -> Expr:
    return sum((x * y for x, y in zip(left, right, strict=True)), sympy.Integer(0))


# -- finitely many values: sums


def atoms(points: Sequence[Sequence[Expr]], weights: Sequence[Expr], tilt: Sequence[Expr]) -> TiltedLaw:
    """sum_k w_k f(y_k) e^{<a, y_k>}."""

    def weigh(f: Function) -> Expr:
        return sum(w * f(y) * sympy.exp(_inner(tilt, y)) for w, y in zip(weights, points, strict=True))

    return TiltedLaw(len(tilt), weigh)


def signs(sizes: Sequence[Expr], tilt: Sequence[Expr]) -> TiltedLaw:
    """All 2^d vectors (+-c_1, ..., +-c_d), equally likely."""
    corners = [[c * e for c, e in zip(sizes, choice, strict=True)] for choice in _corners(len(sizes))]
    return atoms(corners, [sympy.Rational(1, len(corners))] * len(corners), tilt)


def _corners(dimension: int) -> list[tuple[int, ...]]:
    return list(itertools.product((1, -1), repeat=dimension))


def mixture(parts: Sequence[TiltedLaw], weights: Sequence[Expr]) -> TiltedLaw:
    """Total expectation: sum_r pi_r E_r[f(x) e^{<a, x>}]."""

    def weigh(f: Function) -> Expr:
        return sum(w * part.weigh(f) for part, w in zip(parts, weights, strict=True))

    return TiltedLaw(parts[0].dimension, weigh)


# -- independent coordinates: integrals in one dimension


def gaussian(mean: Sequence[Expr], B: sympy.Matrix, tilt: Sequence[Expr]) -> TiltedLaw:
    """x = m + B g, g standard normal in R^r: covariance BB', of any rank up to r.

    <a, x> = <a, m> + <B'a, g>, and the coordinates of g are independent.
    """
    rank = B.cols
    inner = [_inner(B[:, j], tilt) for j in range(rank)]
    g = [sympy.Dummy(f"g_{j + 1}", real=True) for j in range(rank)]
    x = [m + _inner(B[i, :], g) for i, m in enumerate(mean)]

    def weigh(f: Function) -> Expr:
        shift = sympy.exp(_inner(tilt, mean))
        return shift * _independent(f(x), g, lambda j, power: gaussian_moment(power, inner[j]))

    return TiltedLaw(len(mean), weigh)


def box(sizes: Sequence[Expr], tilt: Sequence[Expr]) -> TiltedLaw:
    """x_j uniform on [-c_j, c_j], independent; c_j = 0 is the constant 0."""
    x = [sympy.Dummy(f"x_{j + 1}", real=True) for j in range(len(sizes))]

    def weigh(f: Function) -> Expr:
        return _independent(f(x), x, lambda j, power: uniform_moment(power, sizes[j], tilt[j]))

    return TiltedLaw(len(sizes), weigh)


def _independent(polynomial: Expr, variables: Sequence[Expr], moment: Callable[[int, int], Expr]) -> Expr:
    """The expectation of a polynomial, monomial by monomial, as products of moments of one coordinate."""
    if not variables:
        return sympy.sympify(polynomial)
    terms = sympy.Poly(polynomial, *variables).terms()
    return sum(
        coefficient * sympy.prod([moment(j, power) for j, power in enumerate(powers)]) for powers, coefficient in terms
    )


def gaussian_moment(power: int, tilt: Expr) -> Expr:
    """E[g^k e^{t g}], g standard normal."""
    t, found = _gaussian_moment(power)
    return found.subs(t, tilt)


@cache
def _gaussian_moment(power: int) -> tuple[Expr, Expr]:
    g, t = real("g"), real("t")
    density = sympy.exp(-(g**2) / 2) / sympy.sqrt(2 * sympy.pi)
    integral = sympy.integrate(g**power * sympy.exp(t * g) * density, (g, -sympy.oo, sympy.oo))
    # The integrator splits the line; its error functions cancel when the halves are added.
    return t, sympy.factor(sympy.expand(integral))


def uniform_moment(power: int, size: Expr, tilt: Expr) -> Expr:
    """E[x^k e^{a x}], x uniform on [-c, c]."""
    if size == 0:
        return sympy.Integer(0**power)
    (a, c), found = _uniform_moment(power, tilt == 0)
    return found.subs({a: tilt, c: size}, simultaneous=True)


@cache
def _uniform_moment(power: int, untilted: bool) -> tuple[tuple[Expr, Expr], Expr]:
    x, c = real("x"), positive_symbol("c")
    a = sympy.Symbol("a", real=True, nonzero=True)
    factor = sympy.Integer(1) if untilted else sympy.exp(a * x)
    return (a, c), sympy.integrate(x**power * factor / (2 * c), (x, -c, c))


# -- laws of which the moment-generating function is known


def of_mgf(mgf: Expr, tilt: Sequence[Expr]) -> TiltedLaw:
    """Moments as derivatives of E e^{<a, x>} at the tilt, symbols."""
    x = [sympy.Dummy(f"x_{j + 1}") for j in range(len(tilt))]

    def weigh(f: Function) -> Expr:
        terms = sympy.Poly(f(x), *x).terms()
        pairs = [(coefficient, list(zip(tilt, powers, strict=True))) for powers, coefficient in terms]
        return sum(coefficient * sympy.diff(mgf, *orders) for coefficient, orders in pairs)

    return TiltedLaw(len(tilt), weigh)


def about(centre: Sequence[Expr], mgf: Expr, tilt: Sequence[Expr]) -> TiltedLaw:
    """The law moved by m."""
    return of_mgf(sympy.exp(_inner(tilt, centre)) * mgf, tilt)


def sphere(squared_radius: Expr, solid: bool, tilt: Sequence[Expr]) -> TiltedLaw:
    """0F1(; b; R^2 |a|^2 / 4), b = d/2 for the sphere and d/2 + 1 for the ball."""
    b = sympy.Rational(len(tilt) + 2 * solid, 2)
    return of_mgf(sympy.hyper([], [b], squared_radius * _inner(tilt, tilt) / 4), tilt)


class TruncatedIntegral(sympy.Function):
    """I_n(k, l), the integral of y^n e^{-k y^2/2 + l y} over [-1, 1]: a name, and dI_n/dl = I_(n+1)."""

    @classmethod
    def eval(cls, n: Expr, k: Expr, slope: Expr) -> Expr | None:
        written = sympy.expand(k), sympy.expand(slope)
        return None if written == (k, slope) else cls(n, *written)

    def fdiff(self, argindex: int = 1) -> Expr:
        n, k, slope = self.args
        if argindex != 3:
            raise sympy.ArgumentIndexError(self, argindex)
        return TruncatedIntegral(n + 1, k, slope)


def truncated_gaussian(
    mean: Sequence[Expr], variances: Sequence[Expr], lower: Sequence[Expr], upper: Sequence[Expr], tilt: Sequence[Expr]
) -> TiltedLaw:
    """Over an interval the integral of e^{a x - (x - m)^2/(2v)}, x = z + c y, over that of a = 0."""
    y, mgf = real("y"), sympy.Integer(1)
    for m, v, low, high, a in zip(mean, variances, lower, upper, tilt, strict=True):
        x = (low + high) / 2 + (high - low) / 2 * y
        logarithm = sympy.Poly(a * x - (x - m) ** 2 / (2 * v), y)
        k, slope, constant = -2 * logarithm.nth(2), logarithm.nth(1), logarithm.nth(0)
        whole = sympy.exp(sympy.expand(constant - constant.subs(a, 0))) * TruncatedIntegral(0, k, slope)
        mgf *= whole / TruncatedIntegral(0, k, slope.subs(a, 0))
    return of_mgf(mgf, tilt)


# -- any law with a density


def density(dimension: int, tilt: Sequence[Expr]) -> TiltedLaw:
    """An unspecified density p(x): the integrals stay as they are and are differentiated inside."""
    x = [real(f"x_{j + 1}") for j in range(dimension)]
    limits = [(coordinate, -sympy.oo, sympy.oo) for coordinate in x]
    p = sympy.Function("p")(*x)

    def weigh(f: Function) -> Expr:
        return split_integrals(sympy.Integral(f(x) * p * sympy.exp(_inner(tilt, x)), *limits))

    return TiltedLaw(dimension, weigh)


def split_integrals(expression: Expr) -> Expr:
    """Linearity: every integral as a sum of integrals, factors without its variables taken out."""
    return expression.replace(sympy.Integral, lambda *arguments: _split(sympy.Integral, *arguments))


def split_sums(expression: Expr) -> Expr:
    """Linearity of sums over an index; a sum of ones is their number."""
    return expression.replace(sympy.Sum, lambda *arguments: _split(sympy.Sum, *arguments))


def _split(kind: Any, body: Expr, *limits: Any) -> Expr:
    variables = [limit[0] for limit in limits]

    def separate(exponent: Expr) -> Expr:
        outside, inside = sympy.expand(exponent).as_independent(*variables, as_Add=True)
        return sympy.exp(outside) * sympy.exp(inside)

    terms = sympy.Add.make_args(sympy.expand(body.replace(sympy.exp, separate), power_exp=False))
    pairs = [term.as_independent(*variables, as_Add=False) for term in terms]
    total = sympy.Integer(0)
    for outside, inside in pairs:
        whole = kind(inside, *limits)
        total += outside * (whole.doit() if kind is sympy.Sum and inside == 1 else whole)
    return total
