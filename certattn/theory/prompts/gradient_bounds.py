"""Checks: bounds of the mean square of gradients' errors for any law, derived and as the kernel has them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import sympy

from certattn.theory.exactness import Check, equal
from certattn.theory.kernel_reading import Kernel
from certattn.theory.symbolic_flint import SymbolicNumber, expression, numbers
from certattn.theory.symbols import matrix, positive_symbol, positive_vector, real, vector

Expr = Any


def prompt_parts(length: int, d: int) -> tuple[list[Expr], sympy.Matrix, sympy.Matrix, sympy.Matrix]:
    """Weights w_i, deviations y_i (rows), C, and S = sum w_i (y_i y_i' - C) / L."""
    w, y = positive_vector("w", length), matrix("y", length, d)
    C = sympy.Matrix(d, d, lambda i, j: real(f"C_{min(i, j)}{max(i, j)}"))
    terms = (w[i] * (y[i, :].T * y[i, :] - C) for i in range(length))
    return w, y, C, sum(terms, sympy.zeros(d, d)) / length


def check_decomposition(kernel: Kernel) -> Iterator[Check]:
    """tau_L - tau = N / Z and C_L - C = S / Z - N N' / Z^2, over explicit prompts."""
    for length, d in ((1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (3, 2)):
        w, y, C, S = prompt_parts(length, d)
        Z = sum(w) / length
        N = sum((w[i] * y[i, :].T for i in range(length)), sympy.zeros(d, 1)) / length
        p = [x / sum(w) for x in w]
        mean = sum((p[i] * y[i, :].T for i in range(length)), sympy.zeros(d, 1))
        second = sum((p[i] * y[i, :].T * y[i, :] for i in range(length)), sympy.zeros(d, d))
        where = f"{length} tokens in R^{d}"
        yield equal(f"softmax mean, {where}", mean, N / Z)
        yield equal(f"softmax covariance, {where}", second - mean * mean.T - C, S / Z - N * N.T / Z**2)


def check_first(kernel: Kernel) -> Iterator[Check]:
    """|V (y y' - C)|_F^2 multiplied out, and the sums of the kernel in terms of moments."""
    for outputs, d in ((1, 1), (2, 1), (1, 2), (2, 2)):
        V, y = matrix("V", outputs, d), matrix("y", d, 1)
        C = sympy.Matrix(d, d, lambda i, j: real(f"C_{min(i, j)}{max(i, j)}"))
        error = V * (y * y.T - C)
        square = sum(entry**2 for entry in error)
        Vy, VC = V * y, V * C
        cross = sum(x * z for x, z in zip(V * y * y.T, VC, strict=True))
        apart = (Vy.T * Vy)[0] * (y.T * y)[0] - 2 * cross + sum(entry**2 for entry in VC)
        yield equal(f"|V (y y' - C)|_F^2, V {outputs} x {d}", square, apart)
        moments = _Moments(V)
        parts = kernel.gradient_bounds.covariance_parts(moments, 7)
        M = sympy.Matrix(moments.second(2))
        VM, VC = V * M, V * sympy.Matrix(moments.second(1))
        wanted = moments.fourth(2, V, moments.unit) - 2 * sum(x * z for x, z in zip(VM, VC, strict=True))
        wanted += sum(entry**2 for entry in VC) * moments.doubled
        yield equal(f"first, V {outputs} x {d}", parts.first, wanted / 7)
        pairs = (VM * V.T).trace() * M.trace() + 2 * (VM * VM.T).trace()
        second = (moments.fourth(4, V, moments.unit) + 6 * pairs) / 7**3
        yield equal(f"second, V {outputs} x {d}", parts.second, second)
        root = sympy.sqrt(sum(entry**2 for entry in VC))
        fourths = moments.fourth(0, V, V) * moments.fourth(0, moments.unit, moments.unit)
        largest = sympy.sqrt(7 * sympy.sqrt(fourths))
        yield Check(f"unlikely, V {outputs} x {d}", sympy.expand(parts.unlikely - (root + largest) ** 2) == 0)
        mean = kernel.gradient_bounds.mean_parts(moments, 7)
        wanted_mean = [M.trace() / 7, 0, 7 * sympy.Matrix(moments.second(0)).trace()]
        yield equal(f"of the mean, R^{d}", [mean.first, mean.second, mean.unlikely], wanted_mean)


class _Moments:
    """Moments under names of their own, as the kernel's formulas ask for them."""

    def __init__(self, V: sympy.Matrix) -> None:
        self.values = numbers(V)
        self.unit = numbers(sympy.eye(V.cols))
        self.doubled = SymbolicNumber(positive_symbol("R_2"))

    def second(self, k: int) -> list[list[SymbolicNumber]]:
        size = len(self.unit)
        return [[SymbolicNumber(real(f"m{k}_{min(i, j)}{max(i, j)}")) for j in range(size)] for i in range(size)]

    def fourth(self, k: int, left: Any, right: Any) -> SymbolicNumber:
        names = ["I" if sympy.Matrix(rows) == sympy.Matrix(self.unit) else "V" for rows in (left, right)]
        return SymbolicNumber(positive_symbol(f"f{k}_{''.join(names)}"))


def check_second(kernel: Kernel) -> Iterator[Check]:
    """The mean of a product of four coordinates of a sum of independent centred vectors: by pairs, and by fours."""
    for length, d in ((1, 2), (2, 1), (2, 2), (3, 1)):
        Y = [vector(f"Y{n}", d) for n in range(length)]
        total = [sum(Y[n][i] for n in range(length)) for i in range(d)]
        for i, j, k, m in itertools.combinations_with_replacement(range(d), 4):
            product = sympy.Poly(sympy.expand(total[i] * total[j] * total[k] * total[m]), *itertools.chain(*Y))
            found = sum((c * _expected(powers, length, d) for powers, c in product.terms()), sympy.Integer(0))
            pairs = _pair(i, j) * _pair(k, m) + _pair(i, k) * _pair(j, m) + _pair(i, m) * _pair(j, k)
            wanted = length * _four(i, j, k, m) + length * (length - 1) * pairs
            yield equal(f"E of four coordinates {i}{j}{k}{m}, {length} vectors", found, wanted)
    for outputs, d in ((1, 1), (2, 1), (1, 2), (2, 2)):
        V = matrix("V", outputs, d)
        pairs = sympy.Integer(0)
        for a, b, c, e, i in itertools.product(range(d), range(d), range(d), range(d), range(outputs)):
            if a == b:
                # |V N|^2 |N|^2 = sum_i (V N)_i^2 sum_a N_a^2.
                pairs += V[i, c] * V[i, e] * (_pair(c, e) * _pair(a, a) + 2 * _pair(c, a) * _pair(e, a))
        S = sympy.Matrix(d, d, lambda i, j: _pair(i, j))
        wanted = (V * S * V.T).trace() * S.trace() + 2 * (V * S * S * V.T).trace()
        yield equal(f"pairs in E |V N|^2 |N|^2, V {outputs} x {d}", pairs, wanted)


def _pair(i: int, j: int) -> Expr:
    """E Y_i Y_j of one vector."""
    return real(f"s_{min(i, j)}{max(i, j)}")


def _four(*indices: int) -> Expr:
    return real("f_" + "".join(map(str, sorted(indices))))


def _expected(powers: tuple[int, ...], length: int, d: int) -> Expr:
    """The mean of a product of powers of coordinates of independent centred vectors."""
    result = sympy.Integer(1)
    for n in range(length):
        indices = [i for i in range(d) for _ in range(powers[n * d + i])]
        if len(indices) % 2 == 1 and len(indices) != 3:
            return sympy.Integer(0)
        if len(indices) == 3:
            # Then another vector has a single one, whose mean is 0.
            return sympy.Integer(0)
        if len(indices) == 2:
            result *= _pair(*indices)
        if len(indices) == 4:
            result *= _four(*indices)
    return result


def check_normaliser(kernel: Kernel) -> Iterator[Check]:
    """The two parts of the bound, and rho by Markov's inequality for e^{-lambda sum w}."""
    x = sympy.Symbol("x", nonnegative=True)
    gap = 1 - x + x**2 / 2 - sympy.exp(-x)
    yield equal("1 - x + x^2/2 - e^-x is 0 at 0", gap.subs(x, 0), sympy.Integer(0))
    yield equal("and so is its slope", sympy.diff(gap, x).subs(x, 0), sympy.Integer(0))
    yield equal("whose slope is 1 - e^-x >= 0", sympy.diff(gap, x, 2), 1 - sympy.exp(-x))
    t, rate, R, A, B, D = sympy.symbols("t lambda R A B D", positive=True)
    module = kernel.gradient_bounds
    for length in (1, 2, 5):
        rho = expression(module.small_normaliser(*numbers([R, t, rate]), length))
        chernoff = sympy.exp(rate * length * (1 - t)) * (1 - rate + rate**2 * R / 2) ** (length - 1)
        yield equal(f"rho, {length} tokens", sympy.simplify(sympy.expand_log(rho / chernoff, force=True)), 1)
        found = module.SquareParts(*numbers([A**2, B**2, D, R])).bound(*numbers([t, rate]), length)
        wanted = (A / (1 - t) + B / (1 - t) ** 2) ** 2 + rho * D
        yield Check(f"the bound, {length} tokens", sympy.simplify(sympy.expand(found - wanted)) == 0)
