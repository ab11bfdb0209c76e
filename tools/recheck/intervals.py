"""Intervals of fixed-point integers: sums, products, quotients, powers, square roots."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

from outcomes import NotProved, Undecided

P = 96  # every interval is a pair of integers times 2^-P; the driver doubles P while something is undecided


class I:  # noqa: E742 - it stands in every line of arithmetic
    """A closed interval [a, b] * 2^-P. Every operation returns an interval that holds all results for its operands."""

    __slots__ = ("a", "b")

    def __init__(self, a: int, b: int) -> None:
        self.a, self.b = a, b

    def __repr__(self) -> str:
        """About which number, and how wide, to be read by people."""
        return f"{show(Fraction(self.a + self.b, 2 << P))} +/- {show(Fraction(self.b - self.a, 2 << P))}"

    def about(self) -> float:
        """For guesses, which are proved afterwards."""
        return self.a / 2**P

    def __add__(self, other: Any) -> I:
        """Sums are exact."""
        o = iv(other)
        return I(self.a + o.a, self.b + o.b)

    __radd__ = __add__

    def __neg__(self) -> I:
        return I(-self.b, -self.a)

    def __sub__(self, other: Any) -> I:
        o = iv(other)
        return I(self.a - o.b, self.b - o.a)

    def __rsub__(self, other: Any) -> I:
        return iv(other) - self

    def __mul__(self, other: Any) -> I:
        """The extreme products are at the ends; >> rounds down, and -(-x >> P) up. Whole numbers need no rounding."""
        if isinstance(other, int):
            return I(self.a * other, self.b * other) if other >= 0 else I(self.b * other, self.a * other)
        o = iv(other)
        if self.a >= 0 and o.a >= 0:
            return I(self.a * o.a >> P, -(-self.b * o.b >> P))
        ends = (self.a * o.a, self.a * o.b, self.b * o.a, self.b * o.b)
        return I(min(ends) >> P, -(-max(ends) >> P))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> I:
        """Quotients, where the divisor is proved not to be 0."""
        o = iv(other)
        if o.a <= 0 <= o.b:
            raise Undecided("division by an interval that holds 0")
        if o.b < 0:
            return -self / -o
        low = o.b if self.a >= 0 else o.a
        high = o.a if self.b >= 0 else o.b
        return I((self.a << P) // low, -((-self.b << P) // high))

    def __rtruediv__(self, other: Any) -> I:
        return iv(other) / self

    def __pow__(self, n: int) -> I:
        """Whole powers, by squaring; even powers are not negative."""
        if n < 0:
            return 1 / self**-n
        result, base = iv(1), self
        while n:
            if n & 1:
                result = result * base
            n >>= 1
            if n:
                base = square(base)
        return result


def show(x: Any) -> str:
    """A number in a message, to six digits."""
    if isinstance(x, I):
        return repr(x)
    try:
        return f"{float(x):.6g}"
    except OverflowError:
        return "a number beyond 1e308"


def iv(x: Any) -> I:
    """The smallest interval around a rational number; intervals stay as they are."""
    if isinstance(x, I):
        return x
    if isinstance(x, int):
        return I(x << P, x << P)
    n = x.numerator << P
    return I(n // x.denominator, -(-n // x.denominator))


def hull(*xs: Any) -> I:
    """The smallest interval that holds all of these."""
    found = [iv(x) for x in xs]
    return I(min(x.a for x in found), max(x.b for x in found))


def largest(xs: Sequence[Any]) -> I:
    """An interval around the largest of some numbers."""
    found = [iv(x) for x in xs]
    return I(max(x.a for x in found), max(x.b for x in found))


def smallest(xs: Sequence[Any]) -> I:
    """An interval around the smallest of some numbers."""
    return -largest([-iv(x) for x in xs])


def absolute(x: Any) -> I:
    """|x|: the end that is farther from 0, and the nearer one, or 0 where the interval holds it."""
    x = iv(x)
    return x if x.a >= 0 else (-x if x.b <= 0 else I(0, max(-x.a, x.b)))


def square(x: Any) -> I:
    """x^2, which is not negative."""
    y = absolute(x)
    return I(y.a * y.a >> P, -(-y.b * y.b >> P))


def root(x: Any) -> I:
    """The square root of a number that is known not to be negative: what rounding put below 0 is cut off."""
    x = iv(x)
    if x.b < 0:
        raise NotProved("the square root of a negative number")
    high = math.isqrt(x.b << P)
    return I(math.isqrt(max(x.a, 0) << P), high + (high * high != x.b << P))


def summed(xs: Iterable[Any]) -> I:
    """The sum of some numbers."""
    return sum(xs, start=I(0, 0))


def ends_of(x: Any) -> tuple[I, I]:
    """The two ends of an interval, each as one."""
    x = iv(x)
    return I(x.a, x.a), I(x.b, x.b)


def rising(f: Callable[[I], I], x: Any) -> I:
    """f(x) of a function that grows: its values at the ends are enough."""
    low, high = ends_of(x)
    return I(f(low).a, f(high).b)


def falling(f: Callable[[I], I], x: Any) -> I:
    """f(x) of a function that falls."""
    return -rising(lambda y: -f(y), x)


def clip(x: I, low: Any = None, high: Any = None) -> I:
    """x without what rounding put below `low` or above `high`, between which the number is known to lie."""
    return I(x.a if low is None else max(x.a, iv(low).a), x.b if high is None else min(x.b, iv(high).b))


def plus_minus(error: I) -> I:
    """Anything from -error to error."""
    return I(-error.b, error.b)


def middle(x: I) -> I:
    """A number in the middle of an interval."""
    return I((x.a + x.b) // 2, (x.a + x.b) // 2)


def magnitude(x: I) -> int:
    """The largest |x|, times 2^P."""
    return max(abs(x.a), abs(x.b))
