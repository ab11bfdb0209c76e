"""The probability that a sum of weighted Gaussian outputs is positive, from its characteristic function."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import intervals
from decisions import below
from fields import refuse
from functions import Complex, cadd, cmul, exp, pi, turn, upper
from intervals import I, iv, plus_minus, root, square, summed
from outcomes import NotCovered


@dataclass(frozen=True)
class Wave:
    """A part of the law: Y = w (mu + c g + sigma h), w = e^(al + s g); s is None where scores are all the same.

    phi(t) = E e^(it w (mu + c g) - t^2 w^2 sigma^2 / 2) by the trapezoid rule over g. On the lines Im g = +-b its
    integrand weighs at most M, the size, by docs/claims/prompts/output-tail.md; b and the step are chosen here.
    """

    weight: Fraction
    al: I
    mu: I
    s: I | None
    c: I
    sigma: I

    @cached_property
    def nodes(self) -> tuple[list[tuple[I, I, I]], I]:
        """Of each node its share, w (mu + c g) and w^2 sigma^2 / 2; and what the sum is off by."""
        if self.s is None:
            w = exp(self.al)
            return [(iv(1), w * self.mu, square(w * self.sigma) / 2)], iv(0)
        c, sigma, s = (x.about() for x in (self.c, self.sigma, self.s))
        b = Fraction(int(min(1.75, 0.8 * math.asin(sigma / (2 * math.hypot(c, sigma))) / s) * 2**20), 2**20)
        cosine, sine = turn(self.s * b)
        narrow = (1 - 2 * square(sine)) * square(self.sigma)
        below(0, narrow, "the width of the strip")
        kappa = square(sine * self.c) / narrow
        below(kappa, 1, "the width of the strip")
        p = sine * self.mu + cosine * self.c * b
        size = exp(b * b / 2 + square(p) / (2 * narrow * (1 - kappa))) / root(1 - kappa)
        nats = 0.35 * intervals.P + 4
        d = Fraction(math.floor(2 * math.pi * float(b) / (nats + math.log(size.about())) * 2**20), 2**20)
        ends = math.ceil(math.sqrt(2 * nats) / max(float(d), 1e-9))
        if ends > 4000:
            raise NotCovered("scores and outputs of very uneven sizes")
        found = []
        for g in (d * n for n in range(-ends, ends + 1)):
            w = exp(self.al + self.s * g)
            share = exp(iv(-g * g / 2)) * d / root(2 * pi())
            found.append((share, w * (self.mu + self.c * g), square(w * self.sigma) / 2))
        return found, 2 * size / (exp(2 * pi() * (b / d)) - 1) + 2 * upper(iv(d * ends))

    def at(self, t: Fraction) -> Complex:
        """phi(t)"""
        nodes, off = self.nodes
        total: Complex = plus_minus(off), plus_minus(off)
        for share, slope, bend in nodes:
            size, (c, s) = exp(bend * -(t * t)) * share, turn(slope * t)
            total = cadd(total, (size * c, size * s))
        return total

    def modulus(self, t: Fraction) -> I:
        """E e^(-t^2 w^2 sigma^2 / 2), at most: its integrand weighs no more on the lines."""
        nodes, off = self.nodes
        return summed(exp(bend * -(t * t)) * share for share, _, bend in nodes) + off

    def inverse_mean(self) -> I:
        """E 1/(w sigma)"""
        return exp((iv(0) if self.s is None else square(self.s) / 2) - self.al) / self.sigma


def wave_of(weight: Fraction, al: I, mu: I, scale: tuple[Fraction, int], forms: Sequence[Fraction]) -> Wave:
    """From the variances of score (but for the scale) and output, and their covariance: bb, ub, uu."""
    bb, ub, uu = forms
    sigma2 = uu - ub * ub / bb if bb else uu
    refuse(not sigma2, "inversion: outputs with noise of their own")
    c = scale[1] * ub / root(iv(bb)) if ub else iv(0)
    return Wave(weight, al, mu, root(scale[0] * bb) if bb else None, c, root(sigma2))


def positive_part(waves: Sequence[Wave], L: int, drift: Fraction, even: Sequence[I]) -> I:
    """P(S > 0), S = sum of L independent Y, E Y = -drift; `even` has E(S + L drift)^p for p = 2, 4, 6, 8.

    With the step D of t, 1/2 + 1/pi sum_k Im phi((k + 1/2) D)^L / (k + 1/2) is off by P(|S| >= 2 pi/D) at most. D is
    chosen so that the eighth moment makes this small, and the sum ends where what is left is.
    """
    tolerance = 2.0 ** -(intervals.P // 3)
    rest = max(even[-1].about() / tolerance, 1e-300) ** 0.125
    D = Fraction(2 * math.pi / (float(L * drift) + rest)).limit_denominator(10**12)
    beyond = 2 * pi() / D - L * drift
    below(0, beyond, "the step of the inversion")
    far = min((m / beyond**p for p, m in zip((2, 4, 6, 8), even, strict=True)), key=lambda x: x.b)
    total, inverse = iv(0), summed(wave.inverse_mean() * wave.weight for wave in waves)
    for k in range(100_000):
        t = (2 * k + 1) * D / 2
        phi: Complex = iv(0), iv(0)
        for wave in waves:
            re, im = wave.at(t)
            phi = cadd(phi, (re * wave.weight, im * wave.weight))
        total += power(phi, L)[1] / (k + Fraction(1, 2))
        nxt = (2 * k + 3) * D / 2
        rho = summed(wave.modulus(nxt) * wave.weight for wave in waves)
        left = min(rho, iv(1), key=lambda x: x.b) ** (L - 1) * inverse / (pi() * D * (k + 1))
        if left.about() < tolerance:
            break
    return Fraction(1, 2) + total / pi() + plus_minus(far + left)


def power(x: Complex, n: int) -> Complex:
    """x^n, by squaring."""
    result: Complex = iv(1), iv(0)
    while n:
        if n & 1:
            result = cmul(result, x)
        x = square(x[0]) - square(x[1]), 2 * (x[0] * x[1])
        n >>= 1
    return result
