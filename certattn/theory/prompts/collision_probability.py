"""Checks: the mean square error of Gaussian tokens, and their collision probability q = E sum p_i^2."""

from __future__ import annotations

from collections.abc import Iterator

import sympy

from certattn.theory.exactness import Check, equal
from certattn.theory.kernel_reading import Kernel
from certattn.theory.stein_reduction import CONSTANT, S, combined, mean, power_sums, times, weighted_sum
from certattn.theory.symbols import positive_symbol


def check_mean_square(kernel: Kernel) -> Iterator[Check]:
    """E (t - s)^2 = q (1 + s^2) - 6 s^2 E[P_3 - P_2^2] for t = sum p_i u_i, which is at most q (1 + s^2)."""
    t = weighted_sum(1, 1)
    off = combined((1, times(t, t)), (-2 * S, t), (S**2, CONSTANT))
    stated = power_sums(2) * (1 + S**2) - 6 * S**2 * (power_sums(3) - power_sums(2, 2))
    yield equal("E (t - s)^2", mean(off), stated)
    p, P = sympy.symbols("p P", real=True)
    # Weighted by p: the variance of p_i, as sum p_i = 1.
    yield equal("sum p_i (p_i - P_2)^2 = P_3 - P_2^2", sympy.expand(p * (p - P) ** 2), p**3 - 2 * P * p**2 + P**2 * p)


def check_logistic_growth(kernel: Kernel) -> Iterator[Check]:
    """dq/dv = E[P_2 - 4 P_3 + 3 P_2^2] <= q - q^2 for v = s^2, so logit q rises by at most v above logit 1/L."""
    # d/ds p_i = p_i (u_i - t), so d/ds P_2 = 2 (sum p_i^2 u_i - P_2 t), and dv = 2 s ds.
    rate = combined((2, weighted_sum(2, 1)), (-2, times(weighted_sum(2, 0), weighted_sum(1, 1))))
    stated = power_sums(2) - 4 * power_sums(3) + 3 * power_sums(2, 2)
    yield equal("dq/ds = 2 s E[P_2 - 4 P_3 + 3 P_2^2]", mean(rate), 2 * S * stated)
    gap = power_sums(2) - power_sums(2, 2) - stated
    yield equal("what is left below E[P_2 - P_2^2]", gap, 4 * (power_sums(3) - power_sums(2, 2)))
    v, L = positive_symbol("v"), positive_symbol("L")
    q = sympy.exp(v) / (sympy.exp(v) + L - 1)
    yield equal("the logistic function grows by q - q^2", sympy.diff(q, v), q - q**2)
    yield equal("from 1/L", q.subs(v, 0), 1 / L)
