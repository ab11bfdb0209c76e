"""Checks: rows of the attention matrix, distorted factors, entropy and ranks of singular values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy

from certattn.theory.exactness import Check, equal, positive
from certattn.theory.kernel_reading import Kernel
from certattn.theory.symbolic_flint import SymbolicNumber, plain
from certattn.theory.symbols import positive_symbol, real

Expr = Any
_SIZES = (1, 2, 3)


def _numbers(found: Any) -> list[SymbolicNumber]:
    return [SymbolicNumber(entry) for entry in found]


def _positive(name: str, size: int) -> list[Expr]:
    return [positive_symbol(f"{name}_{i + 1}") for i in range(size)]


def _nonnegative(name: str, size: int) -> list[Expr]:
    return [sympy.Symbol(f"{name}_{i + 1}", nonnegative=True) for i in range(size)]


def _falling(size: int) -> list[Expr]:
    """sigma_1 >= ... >= sigma_n > 0, as sums of symbols that are not negative."""
    found = [positive_symbol("s")]
    for step in _nonnegative("e", size - 1):
        found.insert(0, found[0] + step)
    return found


def check_rows(kernel: Kernel) -> Iterator[Check]:
    """sqrt(d) (w_j / Z - 1/d) and sqrt(d) w_j / Z, and what their rows sum to."""
    for size in _SIZES:
        weights = _positive("w", size)
        total, root = sum(weights), sympy.sqrt(size)
        centred = plain(kernel.attention_matrix.centred_row(_numbers(weights)))
        scaled = plain(kernel.attention_matrix.scaled_row(_numbers(weights)))
        meant = [root * (weight / total - sympy.Rational(1, size)) for weight in weights]
        yield equal(f"a centred row, d = {size}", centred, meant)
        yield equal(f"a row that is not centred, d = {size}", scaled, [root * weight / total for weight in weights])
        yield equal(f"M 1 = 0 where it is centred, d = {size}", sum(centred), 0)
        yield equal(f"M 1 = sqrt(d) 1 where it is not, d = {size}", sum(scaled), root)
        alike = plain(kernel.attention_matrix.centred_row(_numbers([weights[0]] * size)))
        yield equal(f"equal weights give 0, d = {size}", alike, [0] * size)


def check_masked_rows(kernel: Kernel) -> Iterator[Check]:
    """sqrt(d) (w_j / Z - 1/n) and sqrt(d) w_j / Z of the first n of d weights, 0 beyond, and what they sum to."""
    module = kernel.attention_matrix
    for size in _SIZES:
        for seen in range(1, size + 1):
            weights = _positive("w", size)
            total, root, beyond = sum(weights[:seen]), sympy.sqrt(size), [0] * (size - seen)
            centred = plain(module.causal_row(module.centred_row, _numbers(weights), seen))
            scaled = plain(module.causal_row(module.scaled_row, _numbers(weights), seen))
            meant = [root * (weight / total - sympy.Rational(1, seen)) for weight in weights[:seen]]
            name = f"{seen} of {size} seen"
            yield equal(f"a centred row, {name}", centred, [*meant, *beyond])
            shares = [root * weight / total for weight in weights[:seen]]
            yield equal(f"a row that is not centred, {name}", scaled, [*shares, *beyond])
            yield equal(f"M 1 = 0 where it is centred, {name}", sum(centred), 0)


def check_lengths(kernel: Kernel) -> Iterator[Check]:
    """(1 - d) |x|^2 <= |U x|^2 <= (1 + d) |x|^2, d the largest size of an eigenvalue of U'U - I, in its eigenbasis."""
    for size in _SIZES:
        x = [real(f"x_{i + 1}") for i in range(size)]
        below, above = _nonnegative("g", size), _nonnegative("h", size)
        square = sum(entry**2 for entry in x)
        most = positive_symbol("d")
        # The eigenvalues are d - g_i from above, and -d + h_i from below.
        long = sum((1 + most - g) * entry**2 for g, entry in zip(below, x, strict=True))
        short = sum((1 - most + h) * entry**2 for h, entry in zip(above, x, strict=True))
        rest = sum(g * entry**2 for g, entry in zip(below, x, strict=True))
        other = sum(h * entry**2 for h, entry in zip(above, x, strict=True))
        yield equal(f"(1 + d) |x|^2 - |U x|^2 is a sum of squares, size {size}", (1 + most) * square - long, rest)
        yield equal(f"|U x|^2 - (1 - d) |x|^2 is a sum of squares, size {size}", short - (1 - most) * square, other)
        yield Check(
            f"which are not negative, size {size}", rest.is_nonnegative is True and other.is_nonnegative is True
        )


def check_distortion(kernel: Kernel) -> Iterator[Check]:
    """c = max(sqrt((1 + dU)(1 + dV)) - 1, 1 - sqrt((1 - dU)(1 - dV))), and the second is the larger one."""
    p, q = positive_symbol("p"), positive_symbol("q")
    a, b = 1 - p, 1 - q
    found = plain(kernel.singular_values.distortion(SymbolicNumber(a), SymbolicNumber(b)))
    grown, shrunk = sympy.sqrt((1 + a) * (1 + b)) - 1, 1 - sympy.sqrt((1 - a) * (1 - b))
    yield Check("c is the larger of two", isinstance(found, sympy.Max) and len(found.args) == 2)
    for name, meant in (("growing", grown), ("shrinking", shrunk)):
        yield Check(f"one of them is that of {name}", any(equal(name, part, meant).holds for part in found.args))
    # With r = sqrt((1 + a)(1 + b)) and t = sqrt((1 - a)(1 - b)): (r + t)^2 <= 4.
    x, y, z, w = _positive("x", 4)
    gap = (x**2 + z**2) * (y**2 + w**2) - (x * y + z * w) ** 2
    yield equal("4 - (r + t)^2 is a square, for x^2 + z^2 = y^2 + w^2 = 2", gap, (x * w - z * y) ** 2)
    R, c, s = _nonnegative("R", 3)
    radius = plain(kernel.singular_values.radius(*_numbers([R, c, s])))
    yield equal("the radius is R + s c", radius, R + s * c)


def check_entropy(kernel: Kernel) -> Iterator[Check]:
    """log T - log a - (1/T) sum x (log x - log a) = -sum p log p for every a, and where x log(x/a) is smallest."""
    shape, m = kernel.module("kernel.theorems.spectrum.singular_values"), real("m")
    for size in _SIZES:
        x = _positive("x", size)
        total = sum(x)
        found = plain(shape.entropy_formula(_numbers(x), SymbolicNumber(total), SymbolicNumber(m)))
        meant = -sum((entry / total) * (sympy.log(entry) - sympy.log(total)) for entry in x)
        yield equal(f"entropy of {size} shares, for every a", found, meant)
        alike = plain(shape.entropy_formula(_numbers([x[0]] * size), SymbolicNumber(size * x[0]), SymbolicNumber(m)))
        yield equal(f"of {size} equal ones: log n", sympy.expand_log(alike), sympy.log(size))
    x = positive_symbol("x")
    term = plain(shape.times_log(SymbolicNumber(x), SymbolicNumber(m)))
    yield equal("x (log x - log a)", term, x * (sympy.log(x) - m))
    yield equal("its slope is 0 at a/e", sympy.diff(term, x).subs(x, sympy.exp(m - 1)).simplify(), 0)
    yield equal("its value there is -a/e", term.subs(x, sympy.exp(m - 1)).simplify(), -sympy.exp(m - 1))
    yield positive("it is convex", sympy.diff(term, x, 2))
    H = real("H")
    yield equal("the effective rank", plain(shape.effective_rank(SymbolicNumber(H))), sympy.exp(H))


def check_ranks(kernel: Kernel) -> Iterator[Check]:
    """1 <= sum sigma^2 / sigma_1^2 <= n."""
    for size in _SIZES:
        sigma = _falling(size)
        energy = sum(entry**2 for entry in sigma)
        found = plain(
            kernel.module("kernel.theorems.spectrum.singular_values").energy_ratio(
                SymbolicNumber(energy), SymbolicNumber(sigma[0])
            )
        )
        yield equal(f"the stable rank, n = {size}", found, energy / sigma[0] ** 2)
        low, high = sympy.expand(energy - sigma[0] ** 2), sympy.expand(size * sigma[0] ** 2 - energy)
        yield Check(f"it is at least 1, n = {size}", low.is_nonnegative is True)
        yield Check(f"and at most n, n = {size}", high.is_nonnegative is True)
