"""Exact real numbers as certificates state them: rationals, and square roots of rationals."""

from __future__ import annotations

from dataclasses import dataclass

from flint import fmpq, fmpz


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


def format_rational(value: fmpq) -> str:
    """A short exact text, as certificates write numbers: a decimal where there is a short one, else p/q."""
    rest, twos, fives = value.q, 0, 0
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    places = max(twos, fives)
    if rest != 1 or places == 0 or places > 30:
        return str(value)
    digits = str(abs(value.p) * fmpz(10) ** places // value.q)
    sign = "-" if value < 0 else ""
    if places - len(digits) >= 5:
        fraction = f".{digits[1:]}" if len(digits) > 1 else ""
        return f"{sign}{digits[0]}{fraction}e-{places - len(digits) + 1}"
    digits = digits.rjust(places + 1, "0")
    return f"{sign}{digits[:-places]}.{digits[-places:]}"


def format_real(value: Real) -> str:
    """A short exact text of a rational or a root."""
    return str(value) if isinstance(value, Surd) else format_rational(value)
