"""Exact real numbers as certificates state them: rationals, and square roots of rationals."""

from __future__ import annotations

from dataclasses import dataclass

from flint import fmpq


@dataclass(frozen=True, slots=True)
class Surd:
    """The irrational positive square root of a positive rational `radicand`."""

    radicand: fmpq

    def __str__(self) -> str:
        return f"sqrt({self.radicand})"


Real = fmpq | Surd


def real_root(radicand: fmpq) -> Real:
    """The square root of a positive rational, as a rational where it is one."""
    root_p, rest_p = radicand.p.sqrtrem()
    root_q, rest_q = radicand.q.sqrtrem()
    if rest_p == 0 and rest_q == 0:
        return fmpq(root_p, root_q)
    return Surd(radicand)


def square(value: Real) -> fmpq:
    """value^2, exactly."""
    return value.radicand if isinstance(value, Surd) else value * value
