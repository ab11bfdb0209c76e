"""Checks: the mean square of the error of a softmax-weighted covariance, derived and as the kernel has it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import sympy

from certattn.theory.exactness import Check, equal
from certattn.theory.kernel_reading import Kernel
from certattn.theory.nonnegativity import is_nonnegative
from certattn.theory.stein_reduction import (
    CONSTANT,
    S,
    combined,
    mean,
    power_sums,
    stein_step,
    times,
    weighted_sum,
    written_out,
)
from certattn.theory.symbolic_flint import SymbolicNumber, plain
from certattn.theory.symbols import matrix, real, vector

Expr = Any

_T = weighted_sum
_MEAN = _T(1, 1)
# Var_p u - 1, the square sum of the weighted deviations, and power sums.
EXCESS = combined((1, _T(1, 2)), (-1, times(_MEAN, _MEAN)), (-1, CONSTANT))
DEVIATIONS = combined((1, _T(2, 2)), (-2, times(_MEAN, _T(2, 1))), (1, times(times(_MEAN, _MEAN), _T(2, 0))))
TWO, THREE = _T(2, 0), _T(3, 0)
# E[(1 - trace)^2] and the square sum of the entries of diag p - pp'.
SQUARE = times(TWO, TWO)
ENTRIES = combined((1, TWO), (-2, THREE), (1, SQUARE))


def _softmax(length: int) -> tuple[list[Expr], list[Expr]]:
    u = vector("u", length)
    masses = [sympy.exp(S * x) for x in u]
    return [mass / sum(masses) for mass in masses], u


def check_gradient(kernel: Kernel) -> Iterator[Check]:
    """The difference of the gradients in U, and its Hilbert-Schmidt norm, over the basis of matrices."""
    for outputs, d, q in ((1, 1, 1), (2, 2, 1), (1, 2, 2), (2, 2, 2)):
        V, E, z, s = matrix("V", outputs, d), matrix("E", d, d), matrix("z", q, 1), real("s")
        total = sympy.Integer(0)
        for i, j in itertools.product(range(d), range(q)):
            H = sympy.zeros(d, q)
            H[i, j] = 1
            moved = s * V * E * H * z
            total += (moved.T * moved)[0]
        norm = s**2 * sum(entry**2 for entry in V * E) * sum(entry**2 for entry in z)
        yield equal(f"|H -> s V E H z|_HS^2, V {outputs} x {d}, z in R^{q}", total, norm)


def check_stein(kernel: Kernel) -> Iterator[Check]:
    """Integration by parts; the weights' derivatives; and the step of the reduction, over explicit prompts."""
    g = real("g")
    f, bell = sympy.Function("f")(g), sympy.exp(-(g**2) / 2)
    yield equal("(f e^(-g^2/2))' = (f' - g f) e^(-g^2/2)", sympy.diff(f * bell, g), (sympy.diff(f, g) - g * f) * bell)
    for length in (1, 2, 3):
        p, u = _softmax(length)
        for i, k in itertools.product(range(length), repeat=2):
            right = S * p[k] * (int(i == k) - p[i])
            yield equal(f"d_{i} p_{k}, {length} tokens", sympy.diff(p[k], u[i]), right)
    for factor, rest in (
        ((1, 1), ()), ((2, 1), ()), ((2, 2), ((1, 1),)), ((1, 2), ((2, 0),)), ((1, 1), ((1, 2), (2, 0))),
        ((3, 1), ((2, 2), (1, 1))), ((1, 2), ((1, 2),)),
    ):  # fmt: skip
        for length in (1, 2):
            p, u = _softmax(length)
            k, m = factor
            others = written_out({rest: sympy.Integer(1)}, p, u)
            by_hand = sum(sympy.diff(p[i] ** k * u[i] ** (m - 1) * others, u[i]) for i in range(length))
            step = written_out(stein_step(factor, rest), p, u)
            yield equal(f"the step for T{factor} times {rest}, {length} tokens", step, by_hand)


def _gaussian_mean(polynomial: Expr, variables: list[Expr]) -> Expr:
    """The mean over independent standard normal variables: E g^(2n) = (2n-1)!!."""
    total = sympy.Integer(0)
    if not variables:
        return sympy.expand(polynomial)
    for exponents, coefficient in sympy.Poly(sympy.expand(polynomial), *variables).terms():
        if all(n % 2 == 0 for n in exponents):
            total += coefficient * sympy.Mul(*(sympy.factorial2(n - 1) for n in exponents))
    return sympy.expand(total)


def _symmetric(name: str, size: int) -> sympy.Matrix:
    return sympy.Matrix(size, size, lambda i, j: real(f"{name}_{min(i, j)}{max(i, j)}"))


def _banded(name: str, size: int) -> sympy.Matrix:
    """Symmetric, with entries on the diagonal and beside it."""
    full = _symmetric(name, size)
    return sympy.Matrix(size, size, lambda i, j: full[i, j] if abs(i - j) < 2 else 0)


def _conditional(N: sympy.Matrix, W: sympy.Matrix, coefficients: tuple[Expr, ...]) -> Expr:
    """tr(N E[D W D]) from the means of d^2, of |c|^2, of d times -P_2, of P_2^2 and of the entries."""
    dd, spread, d_two, square, entries = coefficients
    n, w = N[0, 0], W[0, 0]
    N_1, W_1 = N[1:, 1:], W[1:, 1:]
    mixed = (N[0, 1:] * W[1:, 0])[0] if N.rows > 1 else sympy.Integer(0)
    inner = (N_1 * W_1).trace() if N.rows > 1 else sympy.Integer(0)
    tN, tW = N.trace() - n, W.trace() - w
    return (
        n * (w * dd + spread * tW)
        + 2 * mixed * (spread - d_two)
        + spread * w * tN
        + (square + entries) * inner
        + entries * tN * tW
    )


def check_directions(kernel: Kernel) -> Iterator[Check]:
    """Given the scores, the other coordinates are standard normal: their means, by their moments."""
    for length, rank in ((1, 1), (1, 2), (2, 1), (2, 2), (2, 3), (3, 2)):
        # The last weight is what the others leave: they sum to 1.
        p = vector("p", length - 1)
        p.append(1 - sum(p))
        u = vector("u", length)
        eta = [[real(f"e_{i}{j}") for j in range(1, rank)] for i in range(length)]
        rows = [sympy.Matrix(1, rank, [u[i], *eta[i]]) for i in range(length)]
        average = sum((p[i] * rows[i] for i in range(length)), sympy.zeros(1, rank))
        D = sum((p[i] * rows[i].T * rows[i] for i in range(length)), sympy.zeros(rank, rank))
        D = D - average.T * average - sympy.eye(rank)
        N, W = _banded("N", rank), _banded("W", rank)
        found = _gaussian_mean((N * D * W * D).trace(), [x for row in eta for x in row])
        d, spread, two = (written_out(x, p, u) for x in (EXCESS, DEVIATIONS, TWO))
        coefficients = (d**2, spread, d * two, two**2, written_out(ENTRIES, p, u))
        yield equal(
            f"tr N D W D given the scores, {length} tokens, rank {rank}", found, _conditional(N, W, coefficients)
        )


def check_formula(kernel: Kernel) -> Iterator[Check]:
    """The formula that the kernel evaluates, for Gamma = B B', rank 1 to 3, values in R^1 and R^2."""
    module = kernel.covariance_error
    coefficients = tuple(mean(x) for x in (times(EXCESS, EXCESS), DEVIATIONS, times(EXCESS, TWO), SQUARE, ENTRIES))
    for outputs, d, rank in ((1, 1, 1), (1, 2, 1), (2, 2, 2), (1, 2, 3), (1, 3, 2)):
        # Coordinates in which B'a = s e_1: then b = Gamma a = s B e_1.
        B, V = matrix("B", d, rank), matrix("V", outputs, d)
        derived = _conditional(B.T * V.T * V * B, B.T * B, coefficients)
        covariance, b = B * B.T, S * B[:, 0]
        Vb, M = V * b, V * covariance
        shape = module.CovarianceShape(
            cross=(M * M.T).trace(),
            value_trace=(M * V.T).trace(),
            trace=covariance.trace(),
            value_shift=(Vb.T * Vb)[0],
            shift=(b.T * b)[0],
            mixed=(Vb.T * M * b)[0],
        )
        found = module.covariance_mean_square(shape, power_sums)
        yield equal(f"E |V (C_L - Gamma)|_F^2, V {outputs} x {d}, rank {rank}", found, derived)
    G, V, a, factor = _symmetric("G", 2), matrix("V", 1, 2), matrix("a", 1, 2), real("f")
    shape = module.covariance_shape(kernel.exact(G), kernel.exact(V), kernel.exact(a), SymbolicNumber(factor**2))
    b = factor * G * a.T
    Vb, M = V * b, V * G
    wanted = [(M * M.T)[0], (M * V.T)[0], G.trace(), (Vb.T * Vb)[0], (b.T * b)[0], (Vb.T * M * b)[0]]
    names = ("cross", "value_trace", "trace", "value_shift", "shift", "mixed")
    yield equal("the shape of Gamma, V and a", [plain(getattr(shape, name)) for name in names], wanted)


def check_bounds(kernel: Kernel) -> Iterator[Check]:
    """The polynomials are at most P_2 times a constant. P_2 = y^2, and P_3 lies between y^4 and y^3."""
    module = kernel.covariance_error
    y, t, c = sympy.symbols("y t c", real=True)
    two, three = y**2, y**3 * (y + (1 - y) * t)
    # With X = p_I: (E X (y - X))^2 <= E (y - X) E X^2 (y - X), (E X^2)^2 <= E X E X^3, and P_4 <= y P_3.
    most_four = y * three - y**5 * (1 - y) * (1 - t) ** 2
    least_four = three**2 / two
    share = y + (1 - y) * t
    four = y * three * (share + (1 - share) * c)
    least_five = four**2 / three
    mixed, two_shifts = plain(module.MOST_MIXED), plain(module.MOST_TWO_SHIFTS)
    equality = most_four - y * three + (y * two - three) ** 2 / (y - two)
    yield equal("the largest P_4", sympy.cancel(equality), sympy.Integer(0))
    for name, polynomial, bound, fourth, fifth, variables in (
        ("cross", module.CROSS, 1, most_four, 0, (y, t)),
        ("traces", module.TRACES, 1, most_four, 0, (y, t)),
        ("one shift", module.ONE_SHIFT, 1, most_four, 0, (y, t)),
        ("mixed", module.MIXED, mixed, most_four, 0, (y, t)),
        ("two shifts", module.TWO_SHIFTS, two_shifts, four, least_five, (y, t, c)),
    ):
        value = _at(polynomial, two, three, fourth, fifth)
        yield Check(f"{name} <= {bound} P_2", is_nonnegative(sympy.cancel((bound * two - value) / y**2), variables))
    below = sympy.cancel((mixed * two + _at(module.MIXED, two, three, least_four, 0)) / y**2)
    yield Check(f"mixed >= -{mixed} P_2", is_nonnegative(below, (y, t)))
    shape = module.CovarianceShape(*sympy.symbols("A T R v b", positive=True), real("m"))
    q = power_sums(2)
    stated = q * plain(module.covariance_square_bound(shape))
    parts = (
        (shape.cross, 1),
        (shape.traces, 1),
        (shape.one_shift, 1),
        (sympy.Abs(shape.mixed), mixed),
        (shape.two_shifts, two_shifts),
    )
    yield equal("the bound adds the bounds of the parts", stated, q * sum(k * part for part, k in parts))


def _at(polynomial: Any, two: Expr, three: Expr, four: Expr, five: Expr) -> Expr:
    """The polynomial at these power sums."""
    values = {2: two, 3: three, 4: four, 5: five}
    terms = (sympy.Integer(c) * sympy.Mul(*(values[k] for k in exponents)) for exponents, c in polynomial.items())
    return sympy.expand(sum(terms, sympy.Integer(0)))
