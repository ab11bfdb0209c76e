"""The checker's own arithmetic: binary64-exponential."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from arrays import Vector, vector
from decisions import at_most, below, same
from fields import fields, one_of, optional, refuse, some, witness_of
from functions import exp, log
from intervals import I, absolute, ends_of, iv, largest, square
from outcomes import NotCovered
from scalars import positive, rational

# What certattn's kernel computes its exponential with (certattn/fast/exponential.py): a test compares.
KERNEL_EXPONENTIAL = {
    "L1": Fraction(0xB17217F, 2**39),
    "L2": Fraction(0x1F473DE6AF278F, 2**93),
    "inverse": Fraction(0xB8AA3B295C17F, 2**40),
    "C2": Fraction(0x400000021F6E3, 2**51),
    "C3": Fraction(0x2AAAAAAB8409F, 2**52),
}
KERNEL_SCORES, KERNEL_TAIL = 11000, Fraction(1, 2**39)


def nearest(x: Fraction) -> Fraction:
    """x rounded to binary64, ties to even, subnormal numbers kept. One that overflows is not covered."""
    if not x:
        return x
    e = x.numerator.bit_length() - x.denominator.bit_length()
    e -= abs(x) < Fraction(2) ** e  # 2^e <= |x| < 2^(e+1)
    unit = Fraction(2) ** (max(e, -1022) - 52)
    value = round(x / unit) * unit  # round() of a fraction takes ties to the even integer
    if abs(value) >= Fraction(2) ** 1024:
        raise NotCovered("a binary64 operation that overflows")
    return value


def double(node: Any, where: str) -> Fraction:
    """A finite binary64 number."""
    value = rational(node, where)
    refuse(abs(value) >= Fraction(2) ** 1024 or nearest(value) != value, f"{where}: not a binary64 number")
    return value


def binary64_exponential(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/arithmetic/binary64-exponential.md, its steps 1 to 8 in intervals, and one value over the
    rationals.
    """
    witness_of(w)
    given = fields(g, "given", "constants table scores_up_to", "tail_up_to")
    c = {k: double(x, k) for k, x in fields(given["constants"], "constants", "L1 L2 inverse C2 C3").items()}
    table = vector(given["table"], "given.table", 2048)
    refuse(any(abs(x) >= Fraction(2) ** 1024 or nearest(x) != x for x in table), "given.table: not binary64 numbers")
    S, tail = (
        positive(given["scores_up_to"], "scores_up_to"),
        optional(positive, given["tail_up_to"], "tail_up_to") or 0,
    )
    asserts = fields(a, "asserts", "relative_error", "used_by")
    error = some(asserts["relative_error"], "relative_error", "at_most at")
    L, N = log(iv(2)) / 2048, 2048
    if error["at_most"] is not None:
        stated = rational(error["at_most"], "at_most")
        at_most(exponential_error(c, table, S, tail, L), stated, "at_most")
    if error["at"] is not None:
        f = fields(error["at"], "at", "score at_least")
        s, least = double(f["score"], "at.score"), rational(f["at_least"], "at.at_least")
        refuse(abs(s) > S or least < 0, "at: a score beyond scores_up_to, or a negative bound")
        t1 = nearest(s * c["inverse"])
        if abs(t1) >= 2**50 or abs(s) >= 2**36:
            raise NotCovered("a score at which k depends on K")
        k = nearest(t1 + 3 * 2**51) - 3 * 2**51  # A is even, so that ties do not depend on K
        r = nearest(nearest(s - nearest(k * c["L1"])) - nearest(k * c["L2"]))
        p = nearest(nearest(nearest(nearest(nearest(nearest(r * c["C3"]) + c["C2"]) * r) + 1) * r) * table[int(k) % N])
        F = nearest(table[int(k) % N] + p) * Fraction(2) ** (int(k) // N)
        # |F e^-s - 1|, by 2^-m so that neither factor is huge
        m = int(k) // N
        at_most(least, absolute(exp(log(iv(2)) * m - s) * (F / Fraction(2) ** m) - 1), "at")
    if asserts["used_by"] is not None:
        one_of(asserts["used_by"], "used_by", "kernel")
        same(c, KERNEL_EXPONENTIAL, "kernel.constants")
        at_most(KERNEL_SCORES, S, "kernel.scores")
        if tail:
            at_most(KERNEL_TAIL, tail, "kernel.tail")
        for j, x in enumerate(table):  # the doubles nearest to 2^(j/2048), multiples of 2^-52 from 1 to 2
            below(absolute(exp(L * j) - x), Fraction(1, 2**53), f"kernel.table[{j}]") if j else same(x, 1, "T_0")
            same(x.denominator <= 2**52, True, f"kernel.table[{j}]")


def exponential_error(c: dict[str, Fraction], table: Vector, S: Fraction, tail: Fraction, L: I) -> I:
    """The bound of binary64-exponential.md, with every condition of its proof."""
    u, tiny, N = Fraction(1, 2**53), iv(Fraction(1, 2**1022)), 2048
    lam = absolute(c["inverse"] * L - 1)
    kappa = S / L * ((1 + lam) * (1 + u) - 1) + (2 + abs(c["inverse"])) * tiny
    below(kappa, Fraction(1, 4), "kappa")
    most = S / L + kappa
    below(most + N * (S / (L * N) + 1010) + 1, 2**51, "the sum of t_1 and A")
    rho, b = L * (kappa + Fraction(1, 2)), most + Fraction(1, 2)
    unit = c["L1"] * 2**39
    same(unit.denominator, 1, "L1 is a multiple of 2^-39")
    at_most(b * abs(unit), 2**53, "k L1 is a binary64 number")
    at_most(Fraction(1, 2**13), L * (Fraction(1, 2) - kappa), "scores with k other than 0")
    at_most(rho + b * absolute(L - c["L1"]), Fraction(1, 2**12), "s - k L1 is exact")
    theta = b * absolute(L - c["L1"] - c["L2"]) + b * abs(c["L2"]) * u + tiny * (8 + b + abs(c["L2"]))
    theta = theta + (rho + theta) * u + 3 * tiny
    if tail:
        theta = theta + (rho + theta + tail) * u + 3 * tiny
    R = ends_of(rho + theta + tail)[1]
    below(R, Fraction(1, 8), "R")
    X, grown = square(R), exp(R)

    def parabola(first: Fraction, second: Fraction) -> I:
        """The largest |first X + second X^2| for X from 0 to R^2."""
        ends = [absolute(X * first + square(X) * second)]
        if first < 0:
            ends.append(iv(first * first / (4 * second)) if (iv(-first / (2 * second)) - X).a < 0 else iv(0))
        return largest(ends)

    alpha = parabola(Fraction(1, 2) - c["C2"], Fraction(1, 24)) + R**6 * grown / 720
    alpha += R * parabola(Fraction(1, 6) - c["C3"], Fraction(1, 120))
    size, err, sizes = iv(abs(c["C3"])), iv(0), [b * abs(c["L2"]), most]
    for add in (c["C2"], Fraction(1), None):  # the products with r, and what is added to them
        err = err * R + size * R * u + tiny * (1 + size + R)
        size = size * R * (1 + u) + tiny * (1 + size + R)
        sizes.append(size)
        if add is not None:
            err = err + (size + abs(add)) * u + 3 * tiny
            size = (size + abs(add)) * (1 + u) + 3 * tiny
            sizes.append(size)
    for x in sizes:
        below(x, 2**1000, "a size that occurs")
    E = alpha + err + theta * grown
    tau = largest([absolute(x * exp(-L * j) - 1) for j, x in enumerate(table)])
    below(tau, Fraction(1, 8), "tau")
    bound = (1 + tau) * (1 + (E + size * u + 8 * tiny) * grown) * (1 + u) - 1
    below(bound, Fraction(1, 4), "the bound")
    return bound
