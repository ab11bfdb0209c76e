"""exp, log, pi and what is made of them, over intervals; complex numbers; the zero of a function."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import intervals
from intervals import I, absolute, clip, falling, hull, iv, magnitude, rising, root, square
from outcomes import NotCovered, Undecided


@cache
def ln2(bits: int) -> int:
    """log 2 times 2^bits, off by less than 2: 18 artanh(1/26) - 2 artanh(1/4801) + 8 artanh(1/8749), with 32 bits more.

    Each artanh(1/n) = sum 1/((2k+1) n^(2k+1)) is cut where its terms are below one unit; at most 2 units are lost in
    each of fewer than bits + 32 terms, less than 28 * 2 * 2^14 units in all for bits < 2^13, and 32 bits are dropped.
    """
    total = 0
    for factor, n in ((18, 26), (-2, 4801), (8, 8749)):
        power, k = (1 << (bits + 32)) // n, 1
        while power:
            total += factor * (power // k)
            power //= n * n
            k += 2
    return total >> 32


@cache
def pi_at(bits: int) -> I:
    """pi, by Machin's 16 arctan(1/5) - 4 arctan(1/239), in 64 more bits: the error is far below 2^(P-bits)."""
    total = 0
    for factor, n in ((16, 5), (-4, 239)):
        power, k = (1 << (bits + 64)) // n, 1
        while power:
            total += factor * (power // k) * (1 if k % 4 == 1 else -1)
            power //= n * n
            k += 2
    return I((total >> 64) - 1, (total >> 64) + 2)


def pi() -> I:
    """pi at the working precision."""
    return pi_at(intervals.P)


def series(r: int, w: int) -> int:
    """e^(r 2^-w) times 2^w for 0 <= r < 2^w, from below: off by less than 2^12 units for w <= 8256.

    A term loses less than 2 units, and what the one before it lost, times r 2^-w / m: less than 3 in all. There are
    fewer than 1100 terms, for 1100! > 2^8256; beyond the last one they are below 3, and each less than half of the one
    before it.
    """
    term = total = 1 << w
    m = 1
    while term:
        term = (term * r >> w) // m
        total += term
        m += 1
    return total


@cache
def tabulated(j: int, depth: int, w: int) -> int:
    """e^(j 2^-depth) times 2^w for j < 2^depth, off by less than 2^12 units."""
    return series(j << (w - depth), w)


def exp_at(n: int) -> tuple[int, int]:
    """Bounds of e^(n 2^-P) times 2^P.

    With W = P + 64 bits: n 2^-P = k ln 2 + r, 0 <= r < 1 up to an error of 2 |k| + 2 units, at most 2^23. The first 8
    bits of r, the next 8, and the others have exponentials below 3, each off by less than 2^12 units; their product,
    below 3, loses less than 2 more each time: it is off by less than 3 * 3 * 3 * 2^12 + 4 + 3 * 2^24 < 2^46 units.
    """
    P = intervals.P
    if abs(n) >> P > 1 << 20:
        raise NotCovered("an exponential beyond e^(2^20)")
    extra = 64
    w = P + extra
    unit = ln2(w)
    k, r = divmod(n << extra, unit)
    first, second, r = r >> (w - 8), r >> (w - 16) & 255, r & ((1 << (w - 16)) - 1)
    total = tabulated(first, 8, w) * tabulated(second, 16, w) >> w
    total = total * series(r, w) >> w
    low, high = total - (1 << 46), total + (1 << 46)
    shift = k - extra
    if shift >= 0:
        return low << shift, high << shift
    return max(low >> -shift, 0), (high >> -shift) + 1


def exp(x: Any) -> I:
    """e^x. It grows, so the ends are enough; for narrow x one of them: e^b <= e^a (1 + 2 (b - a)) for b - a <= 1."""
    P = intervals.P
    x = iv(x)
    if x.a == x.b == 0:
        return iv(1)
    if x.b < -(P << P):
        return I(0, 1)  # e^-P < 2^-P
    low, high = exp_at(x.a) if x.a >= -(P << P) else (0, 1)
    if x.b == x.a:
        return I(low, high)
    if low and x.b - x.a <= 1 << max(P - 40, 0):
        return I(low, high + (high * 2 * (x.b - x.a) >> P) + 1)
    return I(low, exp_at(x.b)[1])


def log_at(n: int) -> I:
    """log(n 2^-P), n > 0. With n = m 2^(bits) and any y near log m, d = m e^-y - 1: log m = y + log(1 + d), and
    |log(1 + d) - d| <= d^2 for |d| <= 1/2. Newton's steps y + d find y; what is returned is proved for the last y."""
    P = intervals.P
    shift = n.bit_length() - 1
    m = I(n << (P - shift) if shift <= P else n >> (shift - P), 0)
    m.b = m.a + (shift > P)
    y = I(0, 0)
    y.a = y.b = int(math.log(m.a / (1 << P) if P < 900 else (m.a >> (P - 60)) / 2**60) * 2**50) << (P - 50)
    for _ in range(20):
        d = m * exp(-y) - 1
        worst = magnitude(d)
        if worst.bit_length() * 2 < P:
            break
        middle = (d.a + d.b) >> 1
        y = I(y.a + middle, y.a + middle)
    else:
        raise Undecided("a logarithm")
    error = (worst * worst >> P) + 1
    unit = I(ln2(P) - 1, ln2(P) + 2)
    return y + d + I(-error, error) + unit * (shift - P)


def log(x: Any) -> I:
    """log x, where x is proved to be positive."""
    x = iv(x)
    if x.a == x.b == 1 << intervals.P:
        return iv(0)
    if x.a <= 0:
        raise Undecided("the logarithm of an interval that holds 0")
    low = log_at(x.a)
    return low if x.a == x.b else I(low.a, log_at(x.b).b)


def power(x: Any, y: Any) -> I:
    """x^y for x > 0."""
    return exp(log(x) * y)


def tanh(x: Any) -> I:
    """tanh x = 1 - 2/(e^2x + 1), which grows and is odd: its ends, by e^-2|x|, however large they are."""

    def at(y: I) -> I:
        """At an end."""
        t = exp(-2 * absolute(y))
        return (1 - t) / (1 + t) if y.a >= 0 else (t - 1) / (1 + t)

    return rising(at, x)


def log_cosh(x: Any) -> I:
    """log cosh x = |x| + log((1 + e^-2|x|)/2)"""
    x = absolute(x)
    return x + log((1 + exp(x * -2)) / 2)


def log_sinhc(x: Any) -> I:
    """log(sinh(x)/x), by |x| - log 2|x| + log(1 - e^-2|x|) where |x| >= 1."""
    x = absolute(x)
    return log(sinhc(x)) if x.a < 1 << intervals.P else x - log(2 * x) + log(1 - exp(x * -2))


def cosh(x: Any) -> I:
    """cosh x = (e^|x| + e^-|x|)/2, which grows with |x|."""
    return rising(lambda y: (exp(y) + 1 / exp(y)) / 2, absolute(x))


def sinhc(x: Any) -> I:
    """sinh(x)/x = sum x^2m/(2m+1)!, with all terms positive: it grows with |x|, and beyond the last term, where x^2 is
    below half of (2m+2)(2m+3), the rest is no more than that term."""
    z, term, total, m = square(x), iv(1), iv(1), 1
    limit = (z.b >> intervals.P) + 1
    if limit > 1 << 22:
        raise NotCovered("sinh(x)/x beyond x = 2000")
    while term.b > 1 or 2 * m * (2 * m + 1) < 2 * limit:
        term = term * z / (2 * m * (2 * m + 1))
        total += term
        m += 1
    return I(total.a, total.b + term.b)


def langevin(x: Any) -> I:
    """coth x - 1/x, odd and growing. For |x| >= 1 as written; else the quotient of the series of x cosh x - sinh x =
    sum 2k x^(2k+1)/(2k+1)! and of x sinh x, both divided by x^2: x (sum 2k x^(2k-2)/(2k+1)!)/(sinh x/x)."""
    x = iv(x)
    if x.a >= 1 << intervals.P or x.b <= -(1 << intervals.P):
        if x.a < 0:
            return -langevin(-x)
        t = exp(x * -2)
        return (1 + t) / (1 - t) - 1 / x
    z, total, term, k = square(x), iv(0), iv(Fraction(1, 6)), 1
    while term.b > 1 or k < 8:  # term = z^(k-1)/(2k+1)!, times 2k; for z <= 4 the rest is no more than the last one
        total += term * (2 * k)
        term = term * z / ((2 * k + 2) * (2 * k + 3))
        k += 1
    if z.b > 4 << intervals.P:
        raise Undecided("a wide argument of the Langevin function")
    return x * I(total.a, total.b + 4 * k * term.b + 1) / sinhc(x)


@cache
def upper_at(n: int, bits: int) -> I:
    """Q(n 2^-P) for n >= 0, Q(x) = P(N(0,1) > x). Up to 6 by 1/2 - phi(x) sum x^(2m+1)/(1 3 ... (2m+1)), all > 0; a
    rest is below the last one where x^2 <= (2m+3)/2. Beyond, phi(x) times Mills's ratio."""
    x = I(n, n)
    density = exp(-square(x) / 2) / root(2 * pi())
    if n >= 6 << intervals.P:
        return density * mills_at(n, bits)
    z, term, total, m = square(x), x, iv(0), 0
    while term.b > 1 or (2 * m + 3) << intervals.P < 2 * z.b:
        total += term
        m += 1
        term = term * z / (2 * m + 1)
    return Fraction(1, 2) - density * (total + hull(0, 2 * term) + I(0, 2))


@cache
def mills_at(n: int, bits: int) -> I:
    """Q/phi at n 2^-P >= 6: between successive convergents of 1/(x + 1/(x + 2/(x + 3/(x + ...)))), which alternate."""
    x, ends = I(n, n), []
    for depth in (80, 81):
        f = x
        for i in range(depth, 0, -1):
            f = x + i / f
        ends.append(1 / f)
    return hull(*ends)


def upper(x: Any) -> I:
    """Q(x), which falls."""
    return clip(falling(lambda y: upper_at(y.a, intervals.P) if y.a >= 0 else 1 - upper_at(-y.a, intervals.P), x), 0)


def mills(x: I) -> I:
    """e^(x^2/2) Q(x) for x > 0, which falls: Mills's ratio over sqrt(2 pi)."""

    def at(y: I) -> I:
        """At an end."""
        beyond = y.a >= 6 << intervals.P
        return mills_at(y.a, intervals.P) / root(2 * pi()) if beyond else exp(square(y) / 2) * upper(y)

    return falling(at, x)


def zero(sign: Callable[[Fraction], Any], low: Fraction, high: Fraction) -> I:
    """Where a function changes its sign, once, from - at `low` to + at `high`: by proved signs, bisected from both
    sides, so that a sign that cannot be decided ends neither early."""
    ends = [low, high]
    for side in (0, 1):
        near, far = (low, ends[1]) if side == 0 else (high, ends[0])
        for _ in range(intervals.P + 40):
            middle = (near + far) / 2
            middle = Fraction(math.floor(middle * (1 << intervals.P)), 1 << intervals.P)
            value = iv(sign(middle))
            if (value.b < 0) if side == 0 else (value.a > 0):
                near = middle
            else:
                far = middle
        ends[side] = near
    return hull(*ends)


def zero_beyond(sign: Callable[[Fraction], Any], low: Fraction, far: Fraction) -> I:
    """The same beyond `low`, with an end that is looked for from `far` on."""
    while iv(sign(far)).a <= 0:
        if far > 1 << 4 * intervals.P:
            raise Undecided("where a function becomes positive")
        far *= 2
    return zero(sign, low, far)


def arctan(x: Any) -> I:
    """arctan x, growing: three times arctan x = 2 arctan(x/(1 + sqrt(1 + x^2))), then the alternating series."""
    x = iv(x)
    for _ in range(3):
        x = rising(lambda y: y / (1 + root(1 + square(y))), x)
    z, term, found, m = square(x), x, iv(0), 1
    while magnitude(term) > 1:
        found += term / m if m % 4 == 1 else -(term / m)
        term = term * z
        m += 2
    return (found + I(-2, 2)) * 8


Complex = tuple[I, I]


def cmul(x: Complex, y: Complex) -> Complex:
    """x y"""
    return x[0] * y[0] - x[1] * y[1], x[0] * y[1] + x[1] * y[0]


def cadd(x: Complex, y: Complex) -> Complex:
    """x + y"""
    return x[0] + y[0], x[1] + y[1]


def csub(x: Complex, y: Complex) -> Complex:
    """x - y"""
    return x[0] - y[0], x[1] - y[1]


def cdiv(x: Complex, y: Complex) -> Complex:
    """x / y"""
    n = square(y[0]) + square(y[1])
    top = cmul(x, (y[0], -y[1]))
    return top[0] / n, top[1] / n


def argument(x: Complex) -> I:
    """arg x in (-pi, pi) of a number off the real line: -+pi/2 - arctan(re/im)."""
    if x[1].a <= 0 <= x[1].b:
        raise Undecided("the argument of a number next to the real line")
    half = pi() / 2
    return (half if x[1].a > 0 else -half) - arctan(x[0] / x[1])


def turn(x: Any) -> Complex:
    """cos x and sin x: Taylor's series of e^(ix/2^k) with |x/2^k| < 1/2, whose rest is no more than its last term, and
    k squarings."""
    x, k = iv(x), 0
    while magnitude(x) >> k >= 1 << (intervals.P - 1):
        k += 1
    y = x * Fraction(1, 2**k)
    term, c, s, n = iv(1), iv(0), iv(0), 0
    while magnitude(term) > 1:
        sign = 1 if n % 4 < 2 else -1
        c, s = (c + sign * term, s) if n % 2 == 0 else (c, s + sign * term)
        n += 1
        term = term * y / n
    found: Complex = c + I(-4, 4), s + I(-4, 4)
    for _ in range(k):
        found = square(found[0]) - square(found[1]), 2 * (found[0] * found[1])
    return found
