"""Power series in one variable, cut off: lists of the coefficients of 1, t, ..., t^p.

Generic in the number type. Everything here is exact arithmetic of polynomials modulo t^{p+1}.
"""

from __future__ import annotations

from collections.abc import Sequence

from certattn.kernel.mathematics.functions import Functions, Number

Series = list[Number]


def product(left: Sequence[Number], right: Sequence[Number]) -> Series:
    """The product of two series of one length, to that length."""
    found = []
    for n in range(len(left)):
        total = left[0] * right[n]
        for k in range(1, n + 1):
            total = total + left[k] * right[n - k]
        found.append(total)
    return found


def power(series: Sequence[Number], exponent: int) -> Series:
    """series^exponent for an exponent >= 1, by repeated squaring."""
    result: Series | None = None
    square = list(series)
    while True:
        if exponent % 2 == 1:
            result = square if result is None else product(result, square)
        exponent //= 2
        if exponent == 0:
            assert result is not None
            return result
        square = product(square, square)


def exp_of_quadratic(constant: Number, linear: Number, quadratic: Number, order: int, fn: Functions) -> Series:
    """e^{constant + linear t + quadratic t^2}: n f_n = linear f_{n-1} + 2 quadratic f_{n-2}, as f' = (...)' f."""
    found = [fn.exp(constant)]
    for n in range(1, order + 1):
        total = linear * found[n - 1]
        if n >= 2:
            total = total + 2 * quadratic * found[n - 2]
        found.append(total / n)
    return found


def linear_exponential(slope: Number, order: int, fn: Functions) -> Series:
    """e^{slope t}."""
    found = [fn.exp(0 * slope)]
    for n in range(1, order + 1):
        found.append(found[-1] * slope / n)
    return found
