"""The probability that a sum of weighted Gaussian outputs is positive, in doubles: by Gil-Pelaez's integral.

P(S > 0) = 1/2 + 1/pi int_0^inf Im phi(t)^L / t dt, by Gauss-Legendre on octaves of t: no square wave, no step that is
stated. What the rule `inversion` leaves out is computed from its proof, for the step and terms of the witness.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import factorial, pi
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
_OCTAVES = 30
_NEGLIGIBLE = 1e-20
# Beyond these the checker may need more nodes than it takes, and doubles are short.
_MOST_SCORE, _MOST_SLOPE, _MOST_LENGTH = 3, 20, 10**7


@dataclass(frozen=True)
class Plane:
    """A part of the law: weight, and Y = w (mu + c g + sigma h), w = e^(alpha + s g)."""

    weight: float
    alpha: float
    mu: float
    s: float
    c: float
    sigma: float


Planes = tuple[Plane, ...]


def is_moderate(parts: Planes, length: int) -> bool:
    """Whether doubles and the checker's nodes are enough."""
    slopes = all(max(abs(p.mu), abs(p.c)) <= _MOST_SLOPE * p.sigma for p in parts)
    return slopes and all(p.s <= _MOST_SCORE for p in parts) and length <= _MOST_LENGTH


@cache
def probability(parts: Planes, length: int) -> tuple[float, float]:
    """Between which numbers P(S > 0) is, by what a finer computation changes."""
    rough, fine = _integral(parts, length, 401, 4), _integral(parts, length, 801, 6)
    error = 10 * abs(fine - rough) + 1e-12
    return max(fine - error, 0.0), min(fine + error, 1.0)


@cache
def left_out(parts: Planes, length: int, eps: float, step: float, terms: int) -> float:
    """P(|S| >= 2 pi/step), by the best of four moments, and the sum from the term `terms` on."""
    rest = 2 * pi / step - length * eps
    if rest <= 0:
        return float("inf")
    moments = _sum_moments(parts, length, eps)
    far = min(moments[p] / rest**p for p in (2, 4, 6, 8))
    last = (terms + 0.5) * step
    inverse = sum(p.weight * np.exp(p.s**2 / 2 - p.alpha) / p.sigma for p in parts)
    modulus = min(float(_modulus(parts, np.array([last]), 801)[0]), 1.0)
    return float(far + modulus ** (length - 1) * inverse / (pi * step * terms))


def _line(part: Plane, nodes: int, reach: float = 9.5) -> tuple[Array, Array, Array]:
    """Masses of N(0, 1), weights w and means of the output at nodes g."""
    g = np.linspace(-reach, reach, nodes)
    mass = np.exp(-g * g / 2) / np.sqrt(2 * pi) * (g[1] - g[0])
    return mass, np.exp(part.alpha + part.s * g), part.mu + part.c * g


def _phi(parts: Planes, t: Array, nodes: int) -> Array:
    total = np.zeros(len(t), dtype=complex)
    for part in parts:
        mass, w, mean = _line(part, nodes)
        x = np.outer(t, w)
        total += part.weight * (np.exp(1j * x * mean - (x * part.sigma) ** 2 / 2) @ mass)
    return total


def _modulus(parts: Planes, t: Array, nodes: int) -> Array:
    """E e^(-t^2 w^2 sigma^2/2), which bounds |phi|."""
    total = np.zeros(len(t))
    for part in parts:
        mass, w, _ = _line(part, nodes)
        total += part.weight * (np.exp(-((np.outer(t, w) * part.sigma) ** 2) / 2) @ mass)
    return total


def _integral(parts: Planes, length: int, nodes: int, panels: int) -> float:
    doubled = 2.0 ** np.arange(-40, 60)
    small = _modulus(parts, doubled, nodes) ** length <= _NEGLIGIBLE
    if not small.any():
        return float("nan")
    ends = float(doubled[np.argmax(small)]) * 2.0 ** -np.arange(_OCTAVES, dtype=float)[::-1]
    edges = [np.array([0.0]), *(np.linspace(a, b, panels + 1)[:-1] for a, b in pairwise(ends))]
    cuts = np.concatenate([*edges, ends[-1:]])
    x, share = np.polynomial.legendre.leggauss(16)
    halves = np.diff(cuts) / 2
    t = (cuts[:-1] + halves)[:, None] + halves[:, None] * x
    values = (_phi(parts, t.ravel(), nodes) ** length).imag.reshape(t.shape) / t
    return float(0.5 + (values @ share) @ halves / pi)


def _sum_moments(parts: Planes, length: int, eps: float) -> list[float]:
    """E (sum D)^p for p <= 8, D = Y + eps."""
    h, share = np.polynomial.hermite_e.hermegauss(12)
    share = share / share.sum()
    a = np.zeros(9)
    for part in parts:
        mass, w, mean = _line(part, 1601, 9.5 + 9 * part.s)
        D = w[:, None] * (mean[:, None] + part.sigma * h) + eps
        a += [part.weight * float(mass @ D**j @ share) / factorial(j) for j in range(9)]
    return [found * factorial(p) for p, found in enumerate(powered([1.0, 0.0, *map(float, a[2:])], length))]


def powered(a: list[float], length: int) -> list[float]:
    """Coefficients of a power series, a_0 = 1, to the L: n c_n = sum_k (k (L + 1) - n) a_k c_(n-k)."""
    c = [1.0]
    for n in range(1, len(a)):
        c.append(sum((k * (length + 1) - n) * a[k] * c[n - k] for k in range(1, n + 1)) / n)
    return c
