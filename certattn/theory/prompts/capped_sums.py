"""Checks: Gaussian tokens as one direction sees them, and the integrals of capped summands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy

from certattn.theory.exactness import Check, equal, positive, vanishes
from certattn.theory.kernel_reading import Kernel
from certattn.theory.symbolic_flint import TRICOMI, SymbolicNumber, expression
from certattn.theory.symbols import positive_symbol, real

Expr = Any


def _number(value: Expr) -> SymbolicNumber:
    return SymbolicNumber(value)


def _plane(kernel: Kernel, sigma: Expr, sign: int) -> tuple[Any, dict[str, Expr]]:
    """A part of a law with symbols for its numbers; c = 0 for sign 0."""
    names = {"alpha": real("alpha"), "mu": real("mu"), "s": positive_symbol("s"), "sigma": sigma}
    names["c"] = sign * positive_symbol("kappa")
    balls = {name: _number(value) for name, value in names.items()}
    return kernel.capped_sums.Plane(**balls, flat_score=False, tied=sigma == 0, slope_sign=sign), names


def check_plane(kernel: Kernel) -> Iterator[Check]:
    """Score and output of m + B (z_1, ..., z_r)': their covariance matrix is that of (s g, c g + sigma h)."""
    parts, exact = kernel.capped_sums, kernel.exact
    for dimension, rank in ((1, 1), (2, 2), (2, 1)):
        a = sympy.Matrix(1, dimension, [positive_symbol(f"a_{i}") for i in range(dimension)])
        v = sympy.Matrix(1, dimension, [positive_symbol(f"v_{i}") for i in range(dimension)])
        B = sympy.Matrix(dimension, rank, lambda i, j: positive_symbol(f"B_{i}{j}"))
        gamma = B * B.T
        zero = [_number(0)] * dimension
        covariance = [[_number(entry) for entry in row] for row in gamma.tolist()]
        law = kernel.laws.Gaussian(zero, covariance)
        scale = positive_symbol("k")
        part = parts.exact_part(_number(1), law, exact(a), _number(scale), exact(v))
        score, output = scale * a * B, v * B
        s2 = (score * score.T)[0, 0]
        across = (score * output.T)[0, 0]
        spread = (output * output.T)[0, 0]
        what = f"dimension {dimension}, rank {rank}"
        yield equal(f"s^2 is the variance of the score, {what}", expression(part.score_variance), s2)
        yield equal(f"(s c)^2 is their covariance squared, {what}", expression(part.slope_squared) * s2, across**2)
        yield Check(f"the sign of c is that of their covariance, {what}", part.slope_sign == 1)
        both = expression(part.slope_squared) + expression(part.rest_variance)
        yield equal(f"c^2 + sigma^2 is the variance of the output, {what}", both, spread)
        if rank == 1:
            yield equal(
                f"sigma = 0 where one normal variable is behind both, {what}", expression(part.rest_variance), 0
            )
    yield from _check_centre(kernel)


def _check_centre(kernel: Kernel) -> Iterator[Check]:
    """At the mean of a part, where g = h = 0: w = e^{alpha} and Y = w mu."""
    parts = kernel.capped_sums
    a, v, m = ([real(f"{name}_{i}") for i in range(2)] for name in "avm")
    log_mgf, mean, eps = real("Lambda"), real("t"), positive_symbol("epsilon")
    part = parts.Part(_number(1), list(map(_number, m)), *map(_number, (1, 1)), 1, _number(1))
    level = _number(mean + eps)
    plane = parts.plane(part, list(map(_number, a)), list(map(_number, v)), _number(log_mgf), level)
    score, output = (sum(x * y for x, y in zip(row, m, strict=True)) for row in (a, v))
    yield equal("alpha = log w at the mean", expression(plane.alpha), score - log_mgf)
    yield equal("mu = <v, m - tau> - eps", expression(plane.mu), output - mean - eps)


def check_noise(kernel: Kernel) -> Iterator[Check]:
    """The expectation over h below the end of A, by integration, against both forms in the kernel."""
    sums, h, e = kernel.capped_sums, real("h"), real("e")
    t, centre = positive_symbol("t"), real("x")
    density = sympy.exp(-(h**2) / 2) / sympy.sqrt(2 * sympy.pi)
    yield equal("the square completed", t * h - h**2 / 2, -((h - t) ** 2) / 2 + t**2 / 2)
    tail = sympy.integrate(density, (h, e, sympy.oo))
    yield Check("P(h > e) = Q(e)", vanishes(tail - expression(sums.normal_tail(_number(e)))))
    shifted = sympy.integrate(sympy.exp(-((h - t) ** 2) / 2) / sympy.sqrt(2 * sympy.pi), (h, -sympy.oo, e))
    direct = expression(sums.below_directly(_number(centre), _number(t), _number(t - e)))
    wanted = sympy.exp(centre + t**2 / 2) * shifted
    difference = sympy.simplify((direct - wanted).rewrite(sympy.erf))
    yield Check("E[e^(x + t h); h <= e] by integration", vanishes(difference))
    # With x = slope w m and t = slope w sigma, slope B is x + t e, as w (m + sigma e) = B.
    w, m, sigma, slope, cap = (positive_symbol(name) for name in ("w", "m", "sigma", "lambda", "B"))
    end = (cap / w - m) / sigma
    yield equal("the exponent at the end of A", slope * w * m + slope * w * sigma * end, slope * cap)
    scaled = expression(sums.below_scaled(_number(centre + t * e), _number(e), _number(t - e)))
    yield Check("both forms agree", vanishes(_joined(scaled) - _joined(direct)))
    yield from _check_tricomi(kernel)
    yield from _check_assembled(kernel)


def _joined(found: Expr) -> Expr:
    """Exponents multiplied out, so that equal ones are one symbol."""
    return sympy.powsimp(sympy.expand(sympy.expand(found), power_exp=False))


def _check_tricomi(kernel: Kernel) -> Iterator[Check]:
    """U(1/2, 1/2, x) sqrt(pi) = int_0^oo e^{-x t} t^{-1/2} / (1 + t) dt = pi e^x erfc(sqrt x) for x > 0.

    Both sides times e^{-x} vanish at infinity and have the same derivative.
    """
    x, t = positive_symbol("x"), positive_symbol("t")
    integrand = sympy.exp(-x * (1 + t)) / (sympy.sqrt(t) * (1 + t))
    slope = sympy.simplify(sympy.diff(integrand, x))
    yield equal("d/dx of the integrand", slope, -sympy.exp(-x * (1 + t)) / sympy.sqrt(t))
    inner = sympy.integrate(sympy.exp(-x * t) / sympy.sqrt(t), (t, 0, sympy.oo))
    yield equal("its integral", -sympy.exp(-x) * inner, sympy.diff(sympy.pi * sympy.erfc(sympy.sqrt(x)), x))
    z = positive_symbol("z")
    found = expression(kernel.capped_sums.scaled_erfc_by_u(_number(z**2)))
    half = sympy.Rational(1, 2)
    closed = found.subs(TRICOMI(half, half, z**2), sympy.sqrt(sympy.pi) * sympy.exp(z**2) * sympy.erfc(z))
    yield equal("U(1/2, 1/2, z^2) / sqrt(pi) = e^(z^2) erfc(z)", closed, sympy.exp(z**2) * sympy.erfc(z))


def _check_assembled(kernel: Kernel) -> Iterator[Check]:
    """The end of A and the exponents at g, in the kernel's own terms."""
    sums, g = kernel.capped_sums, real("g")
    sigma, cap, slope = (positive_symbol(name) for name in ("sigma", "B", "lambda"))
    plane, n = _plane(kernel, sigma, 1)
    weight, mean = sympy.exp(n["alpha"] + n["s"] * g), n["mu"] + n["c"] * g
    end = (cap / weight - mean) / sigma
    found = expression(sums.exceeds_cap(plane, _number(cap), _number(g)))
    wanted = expression(sums.normal_tail(_number(end)))
    yield Check("P(A) at g: h beyond where w (m + sigma h) = B", vanishes(found - wanted))
    yield equal("Y at the end of A is the cap", weight * (mean + sigma * end), cap)
    at = sums.exponents(plane, sums.Cap(_number(slope), _number(cap), 64), _number(cap), _number(g))
    yield equal("slope Y = centre + spread h: centre", expression(at.centre), slope * weight * mean)
    yield equal("spread", expression(at.spread), slope * weight * sigma)
    yield equal("end", expression(at.end), end)
    yield equal("k", expression(at.k), slope * weight * sigma - end)


def check_tied(kernel: Kernel) -> Iterator[Check]:
    """Y = f(g) = e^{alpha + s g} (mu + c g): its slope, its peak, and where it is B."""
    sums, g = kernel.capped_sums, real("g")
    for sign in (1, -1):
        plane, n = _plane(kernel, sympy.Integer(0), sign)
        weight = sympy.exp(n["alpha"] + n["s"] * g)
        f = expression(sums.tied_summand(plane, _number(g)))
        yield equal(f"f, c of sign {sign}", f, weight * (n["mu"] + n["c"] * g))
        rise = n["s"] * (n["mu"] + n["c"] * g) + n["c"]
        yield equal(f"f' = w (s (mu + c g) + c), c of sign {sign}", sympy.diff(f, g), weight * rise)
        if sign < 0:
            top = expression(sums.peak(plane))
            yield equal("f' = 0 at the peak", rise.subs(g, top), 0)
            yield equal("and its sign is that of peak - g", rise, -n["c"] * n["s"] * (top - g))
            yield positive("as c < 0 < s", -n["c"] * n["s"])
        # y = mu + c g solves r y e^{r y} = r B e^{r mu - alpha} where f(g) = B.
        r, y = n["s"] / n["c"], n["mu"] + n["c"] * g
        scaled = f * r * sympy.exp(r * n["mu"] - n["alpha"])
        yield equal(f"f(g) = B in terms of Lambert's function, c of sign {sign}", scaled, r * y * sympy.exp(r * y))


def check_truncation(kernel: Kernel) -> Iterator[Check]:
    """P(some token is in A) and Markov's inequality for the others; equal weights exactly."""
    sums = kernel.capped_sums
    p, e = positive_symbol("p"), positive_symbol("e")
    for first, last in ((1, 1), (2, 2), (2, 5)):
        found = expression(sums.capped_bound(sums.Capped(_number(p), _number(e)), first, last))
        yield equal(f"the bound for {first} to {last} tokens", found, 1 - (1 - p) ** last + e**first)
    x, eps, spread, length = real("x"), *(positive_symbol(name) for name in ("epsilon", "v", "L"))
    variance = spread / length
    density = sympy.exp(-(x**2) / (2 * variance)) / sympy.sqrt(2 * sympy.pi * variance)
    tail = sympy.integrate(density, (x, eps, sympy.oo))
    found = expression(sums.normal_tail(_number(eps * sympy.sqrt(length / spread))))
    yield Check("P(mean of L Gaussian outputs > eps)", vanishes(sympy.simplify((tail - found).rewrite(sympy.erf))))
