"""What is proved: inequalities between exact numbers and intervals, and equalities between exact numbers."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from fields import fields, numbers
from intervals import I, absolute, iv, show
from outcomes import NotProved, Rejected, Undecided
from scalars import rational


def at_most(x: Any, y: Any, what: str) -> None:
    """Prove x <= y. NotProved where x > y is proved, Undecided where the intervals overlap. Rationals are exact."""
    if isinstance(x, I) or isinstance(y, I):
        left, right = iv(x), iv(y)
        if left.b <= right.a:
            return
        if left.a <= right.b:
            raise Undecided(f"{what}: {show(left)} <= {show(right)}")
    elif x <= y:
        return
    raise NotProved(f"{what}: {show(x)} <= {show(y)} is false")


def below(x: Any, y: Any, what: str) -> None:
    """Prove x < y."""
    if isinstance(x, I) or isinstance(y, I):
        left, right = iv(x), iv(y)
        if left.b < right.a:
            return
        if left.a < right.b:
            raise Undecided(f"{what}: {show(left)} < {show(right)}")
    elif x < y:
        return
    raise NotProved(f"{what}: {show(x)} < {show(y)} is false")


def same(x: Any, y: Any, what: str) -> None:
    """Prove that exact things are equal."""
    if x != y:
        raise NotProved(f"{what}: not equal")


def within(x: Any, low: Any, high: Any, what: str) -> None:
    """Prove low <= x <= high; either bound may be None."""
    if low is not None:
        at_most(low, x, f"{what}, from below")
    if high is not None:
        at_most(x, high, what)


def close(x: Any, y: Any, radius: Any, what: str) -> None:
    """Prove |x - y| <= radius, exactly where the numbers are."""
    gap = x - y
    at_most(absolute(gap) if isinstance(gap, I) else abs(gap), radius, what)


def bounded(asserts: dict[str, Any], key: str, value: Callable[[], Any]) -> None:
    """If bounds of a number that is not negative are asserted, prove them of it."""
    if asserts[key] is not None:
        within(value(), *bounds(asserts[key], key), key)


def capped(asserts: dict[str, Any], key: str, value: Callable[[], Any]) -> None:
    """If an upper bound of a number is asserted, prove it."""
    if asserts[key] is not None:
        at_most(value(), *numbers(asserts[key], key, "at_most"), key)


def within_bounds(least: Any, most: Any, low: Any, high: Any, what: str) -> None:
    """What lies between two bounds is proved to lie between two stated numbers."""
    if low is not None:
        at_most(low, least, f"{what}.at_least")
    if high is not None:
        at_most(most, high, f"{what}.at_most")


def bounds(node: Any, where: str, least: Fraction | None = Fraction(0)) -> tuple[Fraction | None, Fraction | None]:
    """`at_least` and `at_most`, one of them or both."""
    b = fields(node, where, "", "at_least at_most")
    low, high = (None if v is None else rational(v, where) for v in (b["at_least"], b["at_most"]))
    if (low is None and high is None) or any(v is not None and least is not None and v < least for v in (low, high)):
        raise Rejected(f"{where}: expected at_least, at_most or both, none below {least}")
    return low, high


def halves(length: int) -> list[Fraction]:
    """1, 1/2, 1/4, ...: more of them for more tokens."""
    found = [Fraction(1)]
    while 8 * 4 ** (len(found) - 1) < length:
        found.append(found[-1] / 2)
    return found


def average_wealth(gains: list[I]) -> I:
    """What is left of 1 after a stake on each gain, on average over the stakes."""
    stakes, total = halves(len(gains)), I(0, 0)
    for stake in stakes:
        wealth = iv(1)
        for gain in gains:
            wealth = wealth * (1 + gain * stake)
        total += wealth
    return total / len(stakes)
