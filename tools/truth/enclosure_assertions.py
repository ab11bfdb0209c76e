"""Assert that the arithmetic of the kernel encloses the truth, at special points and at drawn ones, by the thousand.

    python tools/truth/enclosure_assertions.py              as the tests do
    python tools/truth/enclosure_assertions.py --full       about twenty times as many, with counts of every function

In the manner of ITF1788, the test framework of interval arithmetic: an assertion is a function, balls or
doubles that it is given, and a number that the answer must enclose. The number is computed by mpmath
with 1,600 bits from the definition, or by Python's integers; neither shares code with FLINT or with
numpy's arrays. Inputs are rationals drawn with integers from a seed: signed zeros, subnormal numbers, huge
ones, ties, both sides of the places where a formula changes, and balls of every width, whose ends and inner
points are all asserted. Modules of the kernel's mathematics and of `fast` of which nothing is asserted here have tests
of their own.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product as pairs
from typing import Any

import mpmath
import numpy as np
from flint import arb, arb_mat, fmpq

from certattn.fast import balls as float_balls
from certattn.fast import exponential, rows, sums, tight, units
from certattn.fast import singular_values as float_matrices
from certattn.kernel.mathematics import (
    attention_matrix,
    balls,
    capped_sums,
    enclosure,
    every_length,
    functions,
    linearization,
    losses,
    reals,
    singular_values,
    softmax,
    spectrum,
    weight_growth,
)
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.functions import root
from certattn.kernel.theorems.arithmetic import binary64_exponential
from certattn.kernel.theorems.prompts.mathematics import mean_square
from certattn.kernel.theorems.selection import regularization_path, selection_on_a_head
from certattn.kernel.theorems.selection.mathematics import joint_path, margin_points
from certattn.kernel.theorems.spectrum import equivalent_formulas, law_distance, limit_law
from certattn.kernel.theorems.spectrum import singular_values as spectrum_shape
from certattn.kernel.theorems.training import risk_gap

mp = mpmath.mp.clone()
mp.prec = 1600
# What is asserted of the truth itself: that mpmath has so many bits of it, whatever cancels.
TRUE_BITS = 400
PRECISIONS = (24, 53, 64, 128, 300)
Draw = random.Random
# A function, what it was given, and whether the answer encloses the truth.
Assertion = tuple[str, str, bool]


# -- points and balls


def powers(*exponents: int) -> list[Fraction]:
    return [Fraction(2) ** e for e in exponents]


# 1 is where formulas change between a series and a closed form.
SPECIAL = sorted(
    sign * x
    for sign in (1, -1)
    for x in (
        Fraction(0), *powers(-200, -60, -30, -1, 0, 1, 3, 5), Fraction(1, 3), Fraction(1, 10), Fraction(22, 7),
        1 - Fraction(1, 2**60), 1 + Fraction(1, 2**60), Fraction(10), Fraction(30), Fraction(100), Fraction(70978, 100),
        Fraction(1000),
    )
)  # fmt: skip
RADII = (Fraction(0), Fraction(0), *powers(-200, -60, -30, -8, -2, 0))


@dataclass(frozen=True)
class Domain:
    """The numbers from `low` to `high`, the ends themselves if `closed`."""

    low: Fraction
    high: Fraction
    closed: bool = True

    def __contains__(self, x: object) -> bool:
        assert isinstance(x, Fraction)
        return self.low <= x <= self.high if self.closed else self.low < x < self.high

    def draw(self, rng: Draw) -> Fraction:
        """A special point, or one that is drawn at any scale."""
        while True:
            size = Fraction(rng.getrandbits(60), 2**59) * Fraction(2) ** rng.randint(-40, 9)
            drawn = [
                rng.choice(SPECIAL),
                size,
                -size,
                self.low + (self.high - self.low) * Fraction(rng.getrandbits(40), 2**40),
            ]
            x = rng.choice(drawn)
            if x in self:
                return x


REAL = Domain(Fraction(-1000), Fraction(1000))
MIDDLE = Domain(Fraction(-60), Fraction(60))
UNIT = Domain(Fraction(0), Fraction(1), closed=False)
POSITIVE = Domain(Fraction(0), Fraction(1000), closed=False)
NONNEGATIVE = Domain(Fraction(0), Fraction(1000))
SHORT = Domain(Fraction(0), Fraction(60))
NARROW = Fraction(1, 2**30)
ABOVE_TWO = Domain(Fraction(2), Fraction(1000))


def exact(x: Fraction) -> fmpq:
    return fmpq(x.numerator, x.denominator)


def ball(x: Fraction, radius: Fraction) -> arb:
    """The numbers within `radius` of x, and what rounding adds."""
    return arb(exact(x)) + arb(exact(radius)) * arb(0, 1)


def real(x: Fraction) -> Any:
    return mp.mpf(x.numerator) / x.denominator


def lifted(x: Any) -> arb:
    """A number of mpmath as a ball, as wide as mpmath may be wrong."""
    sign, mantissa, exponent, _ = mp.mpf(x)._mpf_
    value = fmpq(int(mantissa)) * (fmpq(2) ** int(exponent)) * (-1 if sign else 1)
    with working_precision(2 * mp.prec):
        near = arb(value)
        return near + abs(near) * arb(0, 1) * arb(2) ** -TRUE_BITS


# -- scalar functions of balls


@dataclass(frozen=True)
class Case:
    """What the kernel computes of balls, and the definition in mpmath.

    how: "encloses" the truth, or is "above" it or "below" it, where the kernel's function is a bound.
    widest: no radius is larger. (FLINT takes seconds for 1F1 of wide balls at 300 bits.)
    """

    kernel: Callable[..., arb]
    truth: Callable[..., Any]
    domains: tuple[Domain, ...]
    how: str = "encloses"
    widest: Fraction = Fraction(1)


def softplus(x: Any) -> Any:
    return mp.log(1 + mp.exp(x))


def remainder(order: int) -> Callable[[Any], Any]:
    return lambda y: (
        (mp.exp(y) - sum(y**j / mp.factorial(j) for j in range(order))) / y**order if y else 1 / mp.factorial(order)
    )


def entropy(*shares: Any) -> Any:
    total = sum(shares)
    return -sum(x / total * mp.log(x / total) for x in shares if x)


def log_peak(t: Any) -> Any:
    return t * mp.log(t) + (1 - t) * mp.log(1 - t)


def langevin(x: Any) -> Any:
    return mp.coth(x) - 1 / x if x else mp.mpf(0)


def langevin_ratio(x: Any) -> Any:
    return langevin(x) / x if x else mp.mpf(1) / 3


def langevin_ratio_slope(x: Any) -> Any:
    return ((1 / x**2 - mp.csch(x) ** 2) * x - langevin(x)) / x**2 if x else mp.mpf(0)


def exponential_tail(t: Any) -> Any:
    return (mp.exp(t) - 1 - t) / t**2 if t else mp.mpf(1) / 2


def least(slope: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The least of a slope at five places of [x, x + 1]."""
    return lambda x: min(slope(x + mp.mpf(k) / 4) for k in range(5))


def norm(*entries: Any) -> Any:
    return mp.sqrt(sum(x * x for x in entries))


def weights(*products: Any) -> list[Any]:
    powers = [mp.exp(-p) for p in products]
    return [power / (1 + sum(powers)) for power in powers]


def quarter_circle_tail(x: Any, variance: Any) -> Any:
    r = x / (2 * mp.sqrt(variance))
    return mp.mpf(1) if r <= 0 else mp.mpf(0) if r >= 1 else 1 - 2 / mp.pi * (mp.asin(r) + r * mp.sqrt(1 - r * r))


def outer_moment(k: int) -> Callable[[Any], Any]:
    """E[g^(2k); g^2 > y], by parts: T_k = (2k - 1) T_(k-1) + 2 y^(k - 1/2) density(sqrt y)."""

    def moment(y: Any) -> Any:
        root, found = mp.sqrt(y), mp.erfc(mp.sqrt(y / 2))
        for j in range(1, k + 1):
            found = (2 * j - 1) * found + 2 * root ** (2 * j - 1) * mp.exp(-y / 2) / mp.sqrt(2 * mp.pi)
        return found

    return moment


def centred(*w: Any) -> Any:
    return mp.sqrt(len(w)) * (w[0] / sum(w) - mp.mpf(1) / len(w))


L, E = losses.Logistic(), losses.Exponential()
F = functions
CASES: dict[str, list[Case]] = {
    "functions.root": [Case(root, mp.sqrt, (NONNEGATIVE,))],
    "arb.methods": [
        Case(arb.exp, mp.exp, (REAL,)),
        Case(arb.log, mp.log, (POSITIVE,)),
        Case(arb.tanh, mp.tanh, (REAL,)),
        Case(arb.coth, mp.coth, (POSITIVE,)),
        Case(abs, abs, (REAL,)),
        Case(arb.max, max, (REAL, REAL)),
        Case(lambda z: z.hypgeom_0f1(fmpq(3, 2)), lambda z: mp.hyp0f1(mp.mpf(3) / 2, z), (MIDDLE,)),
        Case(
            lambda z: z.hypgeom_1f1(fmpq(1), fmpq(5, 2)),
            lambda z: mp.hyp1f1(1, mp.mpf(5) / 2, z),
            (MIDDLE,),
            widest=NARROW,
        ),
        Case(
            lambda z: z.hypgeom([fmpq(1, 2)], [fmpq(3, 2), fmpq(2)]),
            lambda z: mp.hyp1f2(mp.mpf(1) / 2, mp.mpf(3) / 2, 2, z),
            (MIDDLE,),
        ),
    ],
    "functions.natural_power": [
        Case(lambda x, n=n: F.natural_power(x, n) + arb(0), lambda x, n=n: x**n if n else mp.mpf(1), (REAL,))  # type: ignore[misc]
        for n in (0, 1, 5, 8)
    ],
    "functions.log_cosh": [Case(lambda x: F.log_cosh(x), lambda x: mp.log(mp.cosh(x)), (REAL,))],
    "functions.log_sinhc": [
        Case(lambda x: F.log_sinhc(x), lambda x: mp.log(mp.sinh(x) / x) if x else mp.mpf(0), (REAL,))
    ],
    "functions.langevin": [Case(lambda x: F.langevin(x), langevin, (REAL,))],
    "functions.langevin_ratio": [Case(lambda x: F.langevin_ratio(x), langevin_ratio, (REAL,))],
    "functions.langevin_ratio_slope": [Case(lambda x: F.langevin_ratio_slope(x), langevin_ratio_slope, (REAL,))],
    "functions.exp_tail": [Case(lambda t: F.exp_tail(t), exponential_tail, (NONNEGATIVE,), "above")],
    "functions.exp_remainder": [
        Case(lambda y, p=p: F.exp_remainder(p, y), remainder(p), (MIDDLE,), widest=NARROW)  # type: ignore[misc]
        for p in (1, 2, 5)
    ],
    "regularization_path.Identity": [Case(lambda x: regularization_path.Identity().value(x), lambda x: x, (REAL,))],
    "regularization_path.Tanh": [
        Case(lambda x: regularization_path.Tanh().value(x), mp.tanh, (REAL,)),
        Case(
            lambda x: regularization_path.Tanh().least_slope(x, x + 1),
            least(lambda r: mp.sech(r) ** 2),
            (REAL,),
            "below",
        ),
    ],
    "regularization_path.Softplus": [
        Case(lambda x: regularization_path.Softplus().value(x), softplus, (REAL,)),
        Case(
            lambda x: regularization_path.Softplus().least_slope(x, x + 1),
            least(lambda r: 1 / (1 + mp.exp(-r))),
            (REAL,),
            "below",
        ),
    ],
    "regularization_path.LeakyRelu": [
        Case(lambda x: regularization_path.LeakyRelu(fmpq(1, 10)).value(x), lambda x: max(x, x / 10), (REAL,)),
        Case(
            lambda x: regularization_path.LeakyRelu(fmpq(1, 10)).least_slope(x, x + 1),
            least(lambda r: mp.mpf(1) if r >= 0 else mp.mpf(1) / 10),
            (REAL,),
            "below",
        ),
    ],
    "losses.Linear": [
        Case(lambda x: losses.Linear().value(x), lambda x: -x, (REAL,)),
        Case(lambda x: losses.Linear().slope(x), lambda x: mp.mpf(1), (REAL,)),
    ],
    "losses.Logistic": [
        Case(lambda x: L.value(x), lambda x: softplus(-x), (REAL,)),
        Case(lambda x: L.slope(x), lambda x: 1 / (1 + mp.exp(x)), (REAL,)),
        Case(lambda x: L.curvature(x), lambda x: mp.exp(x) / (1 + mp.exp(x)) ** 2, (REAL,)),
        Case(lambda c, g: L.excess(c, g), lambda c, g: softplus(g - c) - softplus(-c), (MIDDLE, MIDDLE)),
        Case(
            lambda c, f: L.inverse_excess(c, f),
            lambda c, f: mp.log(1 + mp.expm1(f) * (1 + mp.exp(c))),
            (MIDDLE, SHORT),
        ),
        Case(
            lambda x: L.largest_curvature(x, x + 1),
            lambda x: -least(lambda r: -1 / (2 + mp.exp(r) + mp.exp(-r)))(x),
            (REAL,),
            "above",
        ),
    ],
    "losses.Exponential": [
        Case(lambda x: E.value(x), lambda x: mp.exp(-x), (REAL,)),
        Case(lambda c, g: E.excess(c, g), lambda c, g: mp.exp(g - c) - mp.exp(-c), (MIDDLE, MIDDLE)),
        Case(lambda c, f: E.inverse_excess(c, f), lambda c, f: mp.log(1 + f * mp.exp(c)), (MIDDLE, SHORT)),
    ],
    "balls.l2_norm": [Case(lambda *x: balls.l2_norm(x), norm, (REAL, REAL, REAL))],
    "balls.linf_norm": [Case(lambda *x: balls.linf_norm(x), lambda *x: max(map(abs, x)), (REAL, REAL, REAL))],
    "balls.normal_tail": [
        Case(balls.normal_tail, lambda x: (1 - mp.erf(x / mp.sqrt(2))) / 2, (Domain(Fraction(-20), Fraction(20)),))
    ],
    "capped_sums.density": [Case(capped_sums.density, lambda g: mp.npdf(g), (MIDDLE,))],
    "capped_sums.scaled_erfc": [
        Case(capped_sums.scaled_erfc, lambda z: mp.exp(z * z) * mp.erfc(z), (Domain(Fraction(0), Fraction(20), False),))
    ],
    "capped_sums.scaled_erfc_by_u": [
        Case(
            lambda z: capped_sums.scaled_erfc_by_u(z * z),
            lambda z: mp.exp(z * z) * mp.erfc(z),
            (Domain(Fraction(1, 2**30), Fraction(20)),),
        )
    ],
    "mean_square.bias_factor": [Case(mean_square.bias_factor, lambda q: -q, (REAL,))],
    "mean_square.gaussian_mean_square": [
        Case(mean_square.gaussian_mean_square, lambda q, k, s, b: q * (s + b) - 6 * k * b, (REAL, REAL, REAL, REAL))
    ],
    "mean_square.logistic": [Case(lambda v: mean_square.logistic(7, v), lambda v: 1 / (1 + 6 * mp.exp(-v)), (REAL,))],
    "mean_square.logistic_floor": [Case(mean_square.logistic_floor, lambda s, b: s - b / 2, (REAL, REAL))],
    "mean_square.markov": [Case(mean_square.markov, lambda m, e: m / e**2, (REAL, POSITIVE))],
    "mean_square.tilted_second_moment": [
        Case(mean_square.tilted_second_moment, lambda r, s, b: r * (s + b), (REAL, REAL, REAL))
    ],
    "mean_square.quadratic": [Case(mean_square.quadratic, lambda x, r: 1 - x + x**2 * r / 2, (POSITIVE, POSITIVE))],
    "mean_square.normaliser_tail": [
        Case(
            lambda t, x, r: mean_square.normaliser_tail(9, t, x, r + 1),
            lambda t, x, r: (mp.exp(x * (1 - t)) * (1 - x + x**2 * (r + 1) / 2)) ** 9,
            (UNIT, UNIT, POSITIVE),
        )
    ],
    "mean_square.general_mean_square": [
        Case(
            lambda s, t, r: mean_square.general_mean_square(s, 5, t, r),
            lambda s, t, r: s / (5 * (1 - t) ** 2) + r,
            (POSITIVE, UNIT, POSITIVE),
        )
    ],
    "every_length.log_peak": [Case(lambda t: every_length.log_peak(t), log_peak, (UNIT,))],
    "every_length.display": [
        Case(
            lambda n, r, s: every_length.display(n, r, s, 2),
            lambda n, r, s: (s**6 * mp.log(n)) ** 2 / n**r,
            (ABOVE_TWO, UNIT, POSITIVE),
        )
    ],
    "every_length.logistic_bound": [
        Case(
            lambda n, t, d, m: every_length.logistic_bound(n, t, d, m),
            lambda n, t, d, m: m * t**t * (1 - t) ** (1 - t) * (n - 1) ** -t / mp.sqrt(d),
            (ABOVE_TWO, UNIT, POSITIVE, POSITIVE),
        )
    ],
    "regularization_path.softmax_weights": [
        Case(lambda *p: regularization_path.softmax_weights(p)[1], lambda *p: weights(*p)[1], (REAL, REAL, REAL))
    ],
    "margin_points.log_weight": [
        Case(
            lambda a, b, s: margin_points.log_weight({0: a, 1: b}, {0: s, 1: 1 - s}),
            lambda a, b, s: s * mp.log(a / s) + (1 - s) * mp.log(b / (1 - s)),
            (POSITIVE, POSITIVE, UNIT),
        )
    ],
    "margin_points.least_progress": [
        Case(
            lambda w, x, a: margin_points.least_progress(w, x, x + a),
            lambda w, x, a: w + mp.log(1 / x - 1 / (x + a)),
            (REAL, POSITIVE, POSITIVE),
        )
    ],
    "law_distance.quarter_circle_tail": [Case(law_distance.quarter_circle_tail, quarter_circle_tail, (REAL, POSITIVE))],
    "law_distance.inner_tail": [
        Case(law_distance.inner_tail, lambda r: quarter_circle_tail(2 * r, mp.mpf(1)), (UNIT,))
    ],
    "equivalent_formulas.energy_ratio": [
        Case(
            lambda x: equivalent_formulas.energy_ratio(x),
            lambda x: (mp.expm1(x) - x) / x,
            (Domain(Fraction(0), Fraction(60), False),),
            widest=NARROW,
        )
    ],
    "equivalent_formulas.nonlinear_energy": [
        Case(
            lambda x: equivalent_formulas.nonlinear_energy(x),
            lambda x: mp.exp(x) - 1 - x,
            (SHORT,),
            widest=NARROW,
        )
    ],
    "equivalent_formulas.ratio_of_share": [Case(equivalent_formulas.ratio_of_share, lambda s: s / (1 - s), (UNIT,))],
    "equivalent_formulas.place_of_double_root": [
        Case(equivalent_formulas.place_of_double_root, lambda t, x: (1 - t) ** 3 - x * (1 + 3 * t), (UNIT, UNIT))
    ],
    "equivalent_formulas.critical_ratio": [
        Case(equivalent_formulas.critical_ratio, lambda t: (3 / t + 1) / (1 / t - 1) ** 3, (UNIT,))
    ],
    "spectrum_shape.times_log": [
        Case(
            spectrum_shape.times_log,
            lambda x, m: x * (mp.log(x) - m) if x else mp.mpf(0),
            (NONNEGATIVE, Domain(Fraction(-20), Fraction(20))),
        )
    ],
    "spectrum_shape.entropy": [
        Case(lambda *x: spectrum_shape.entropy(x, 3), entropy, (NONNEGATIVE, POSITIVE, NONNEGATIVE))
    ],
    "spectrum_shape.entropy_formula": [
        Case(
            lambda x, y, m: spectrum_shape.entropy_formula([x, y], x + y, m),
            lambda x, y, m: entropy(x, y),
            (NONNEGATIVE, POSITIVE, Domain(Fraction(-20), Fraction(20))),
        )
    ],
    "spectrum_shape.effective_rank": [Case(spectrum_shape.effective_rank, mp.exp, (REAL,))],
    "spectrum_shape.energy_ratio": [Case(spectrum_shape.energy_ratio, lambda e, n: e / n**2, (POSITIVE, POSITIVE))],
    "spectrum_shape.stable_rank": [
        Case(
            lambda x, y: spectrum_shape.stable_rank(x * x + y * y, x.max(y), 2),
            lambda x, y: (x * x + y * y) / max(x, y) ** 2,
            (POSITIVE, POSITIVE),
        )
    ],
    "attention_matrix.total": [Case(lambda *w: attention_matrix.total(w), lambda *w: sum(w), (REAL, REAL, REAL))],
    "attention_matrix.centred_row": [
        Case(lambda *w: attention_matrix.centred_row(w)[0], centred, (POSITIVE, POSITIVE, POSITIVE))
    ],
    "attention_matrix.scaled_row": [
        Case(
            lambda *w: attention_matrix.scaled_row(w)[2],
            lambda *w: mp.sqrt(3) * w[2] / sum(w),
            (POSITIVE, POSITIVE, POSITIVE),
        )
    ],
    "attention_matrix.causal_row": [
        Case(
            lambda *w: attention_matrix.causal_row(attention_matrix.scaled_row, w, 2)[1],
            lambda *w: mp.sqrt(3) * w[1] / (w[0] + w[1]),
            (POSITIVE, POSITIVE, POSITIVE),
        )
    ],
    "selection_on_a_head.selected_weight": [
        Case(
            lambda *g: selection_on_a_head.selected_weight(g),
            lambda *g: 1 - sum(weights(*g)),
            (MIDDLE, MIDDLE, MIDDLE),
        )
    ],
    "selection_on_a_head.unselected_weight": [
        Case(lambda *g: selection_on_a_head.unselected_weight(g), lambda *g: sum(weights(*g)), (REAL, REAL, REAL))
    ],
    "selection_on_a_head.attained_margin": [
        Case(lambda m, n: selection_on_a_head.attained_margin(m, n), lambda m, n: m / mp.sqrt(n), (REAL, POSITIVE))
    ],
    "selection_on_a_head.margin_ceiling": [
        Case(
            lambda n, t: selection_on_a_head.margin_ceiling(n, t),
            lambda n, t: mp.sqrt(n) / t,
            (NONNEGATIVE, POSITIVE),
        )
    ],
    "linearization.normaliser_excess": [
        Case(
            lambda w, e: linearization.normaliser_excess(w, e, 6),
            lambda w, e: w * mp.exp(e) / 6 - 1,
            (POSITIVE, REAL),
        )
    ],
    "linearization.wasserstein": [
        Case(
            lambda a, b, c, d: linearization.wasserstein([a, b], [c, d]),
            lambda a, b, c, d: norm(a - c, b - d) / mp.sqrt(2),
            (REAL, REAL, REAL, REAL),
        )
    ],
    "joint_path.raised": [Case(lambda g: joint_path.raised(g), mp.expm1, (Domain(Fraction(0), Fraction(700)),))],
    "joint_path.sine": [Case(lambda c: joint_path.sine(c), lambda c: mp.sqrt(1 - c * c), (UNIT,))],
    "joint_path.log_odds": [Case(lambda s: joint_path.log_odds(s), lambda s: mp.log(s) - mp.log(1 - s), (UNIT,))],
    "joint_path.least_share": [
        Case(
            lambda o, a, b: joint_path.least_share(o + a, o, o + a + b),
            lambda o, a, b: a / (a + b),
            (REAL, POSITIVE, POSITIVE),
        )
    ],
    "joint_path.first_alignment": [
        Case(joint_path.first_alignment, lambda g, x, y: 1 - (x + y) / g, (POSITIVE, REAL, REAL))
    ],
    "risk_gap.outer_moment": [
        Case(
            lambda y, k=k: risk_gap.outer_moment(k, y),
            outer_moment(k),
            (Domain(Fraction(0), Fraction(200), False),),
        )  # type: ignore[misc]
        for k in (0, 1, 3)
    ],
    "risk_gap.ramp": [Case(risk_gap.ramp, lambda v, r, a, b: r * b - v * a, (REAL, REAL, REAL, REAL))],
    "risk_gap.power_factor": [
        Case(
            lambda t, n: risk_gap.power_factor(t, n),
            lambda t, n: t**t * (1 - t) ** (1 - t) / (n - 1) ** t,
            (UNIT, ABOVE_TWO),
        )
    ],
    "risk_gap.power_moment": [
        Case(
            lambda r: risk_gap.power_moment(3, r),
            lambda r: 15 * r ** (-mp.mpf(7) / 2),
            (POSITIVE,),
        )
    ],
    "risk_gap.chord_excess": [
        Case(
            risk_gap.chord_excess,
            lambda h, q: mp.mpf(13) / 12 * h * h / 8 * q,
            (POSITIVE, POSITIVE),
            "above",
        )
    ],
    "weight_growth.density_growth": [
        Case(
            lambda t, y: weight_growth.density_growth(t, y),
            lambda t, y: (1 + t * t) ** (mp.mpf(1) / 4) * mp.exp(t * y / 8),
            (SHORT, SHORT),
        )
    ],
    "weight_growth.kept_share": [Case(weight_growth.kept_share, lambda c, y: 1 - c * y / 3, (REAL, REAL))],
    "weight_growth.thinned_collision": [
        Case(
            lambda p, v: weight_growth.thinned_collision(11, p, v),
            lambda p, v: 2 * mp.exp(v) / (p * 11),
            (UNIT, REAL),
        )
    ],
    "spectrum.trace_ratio": [Case(spectrum.trace_ratio, lambda t, m, s: m * m * s / t, (POSITIVE, POSITIVE, POSITIVE))],
    "spectrum.from_square": [Case(spectrum.from_square, lambda x, m: m * mp.sqrt(x), (NONNEGATIVE, POSITIVE))],
    "spectrum.from_inverse": [Case(spectrum.from_inverse, lambda x, c: 1 / x - c, (POSITIVE, POSITIVE))],
    "singular_values.distortion": [
        Case(
            singular_values.distortion,
            lambda u, v: max(mp.sqrt((1 + u) * (1 + v)) - 1, 1 - mp.sqrt(max(0, 1 - u) * max(0, 1 - v))),
            (NONNEGATIVE, NONNEGATIVE),
        )
    ],
    "singular_values.radius": [
        Case(singular_values.radius, lambda r, c, s: r + s * c, (NONNEGATIVE, NONNEGATIVE, NONNEGATIVE))
    ],
}


def scalar(name: str, case: Case, count: int, rng: Draw) -> Iterator[Assertion]:
    """At `count` drawn boxes: their middles, two corners and a point inside, where the function is defined."""
    for _ in range(count):
        middles = [domain.draw(rng) for domain in case.domains]
        radii = [rng.choice([r for r in RADII if r <= case.widest]) for _ in case.domains]
        bits = rng.choice(PRECISIONS)
        with working_precision(bits):
            found = case.kernel(*map(ball, middles, radii))
        found = found if isinstance(found, arb) else arb(found)
        inside = Fraction(rng.randint(-(2**20), 2**20), 2**20)
        for shares in {
            (Fraction(0),) * len(radii),
            (Fraction(1),) * len(radii),
            (Fraction(-1),) * len(radii),
            (inside,) * len(radii),
        }:
            point = [m + s * r for m, s, r in zip(middles, shares, radii, strict=True)]
            if all(x in domain for x, domain in zip(point, case.domains, strict=True)):
                boxes = ", ".join(f"{m} +- {r}" for m, r in zip(middles, radii, strict=True))
                given = f"{boxes} at {', '.join(map(str, point))}, {bits} bits"
                yield name, given, holds(case.how, found, lifted(case.truth(*map(real, point))))


def holds(how: str, found: arb, true: arb) -> bool:
    """Whether what was found may be true: it is a miss only where that is certain, and NaN encloses everything."""
    if found.is_nan():
        return True
    with working_precision(2 * mp.prec):
        return {
            "encloses": bool(found.overlaps(true)),
            "above": (found.upper() < true) is not True,
            "below": (found.lower() > true) is not True,
        }[how]


# -- what has arguments of other kinds


def matrix(rng: Draw, size: int, columns: int) -> list[list[Fraction]]:
    return [[Domain(Fraction(-4), Fraction(4)).draw(rng) for _ in range(columns)] for _ in range(size)]


def as_exact(table: list[list[Fraction]]) -> ExactMatrix:
    return ExactMatrix.rational([[exact(x) for x in row] for row in table])


def softmax_rows(queries: list[list[Fraction]], keys: list[list[Fraction]], scale: Any) -> list[list[Any]]:
    found = []
    for query in queries:
        scores = [
            mp.exp(scale * real(sum((a * b for a, b in zip(query, key, strict=True)), Fraction(0)))) for key in keys
        ]
        found.append([score / sum(scores) for score in scores])
    return found


def prompts(count: int, rng: Draw) -> Iterator[Assertion]:
    """Softmax over exact prompts, from its definition."""
    for _ in range(count):
        keys, values, queries = matrix(rng, 3, 2), matrix(rng, 3, 2), matrix(rng, 3, 2)
        radicand = abs(POSITIVE.draw(rng)) / 100
        scale, root = reals.real_root(exact(radicand)), mp.sqrt(real(radicand))
        shares = softmax_rows(queries, keys, root)
        with working_precision(rng.choice(PRECISIONS)):
            prompt = softmax.Prompt(as_exact(keys), as_exact(values), scale)
            off = prompt.outputs_from_mean(as_exact(queries))
            raw = [weights.tolist()[0] for weights in prompt.weights(as_exact(queries[:1]))]
            plain = attention_matrix.attention_matrix(
                as_exact(queries), as_exact(keys), scale, centred=False, causal=False
            )
            middle = attention_matrix.attention_matrix(
                as_exact(queries), as_exact(keys), scale, centred=True, causal=False
            )
            linear = linearization.linear_part(as_exact(queries), as_exact(keys), scale)
            near = balls.scale_ball(scale)
        given = f"keys {keys}, values {values}, queries {queries}, scale^2 {radicand}"
        yield "balls.scale_ball", given, holds("encloses", near, lifted(root))
        for i, j in pairs(range(3), range(2)):
            column = [real(row[j]) for row in values]
            truth = sum(p * v for p, v in zip(shares[i], column, strict=True)) - sum(column) / 3
            yield "softmax.Prompt", given, holds("encloses", off[i][j], lifted(truth))
        for i, j in pairs(range(3), range(3)):
            truth = mp.sqrt(3) * shares[i][j]
            yield "attention_matrix.attention_matrix", given, holds("encloses", plain[i][j], lifted(truth))
            truth -= 1 / mp.sqrt(3)
            yield "attention_matrix.attention_matrix", given, holds("encloses", middle[i][j], lifted(truth))
            score = sum(
                (
                    a * (b - sum(k[c] for k in keys) / 3)
                    for c, (a, b) in enumerate(zip(queries[i], keys[j], strict=True))
                ),
                Fraction(0),
            )
            truth = root * real(score) / mp.sqrt(3)
            yield "linearization.linear_part", given, holds("encloses", linear[i][j], lifted(truth))
        for j in range(3):
            score = sum((a * (b - c) for a, b, c in zip(queries[0], keys[j], keys[0], strict=True)), Fraction(0))
            yield "softmax.Prompt", given, holds("encloses", raw[0][j], lifted(mp.exp(root * real(score))))


def lifts(count: int, rng: Draw) -> Iterator[Assertion]:
    """Exact numbers made into balls."""
    for _ in range(count):
        row = [REAL.draw(rng) for _ in range(3)]
        factor, radius = REAL.draw(rng), abs(REAL.draw(rng))
        with working_precision(rng.choice(PRECISIONS)):
            lifted_row = balls.row_of_balls([exact(x) for x in row])
            table = balls.table_of_balls(as_exact([row]), ball(factor, Fraction(0)))
            wide = enclosure.inflated(lifted_row[0], arb(exact(radius)))
            near = enclosure.around([ball(x, radius) for x in row])
        for x, found, product in zip(row, lifted_row, table[0], strict=True):
            yield "balls.row_of_balls", str(x), holds("encloses", found, arb(exact(x), 0))
            yield "balls.table_of_balls", f"{factor} {x}", holds("encloses", product, lifted(real(factor * x)))
        for end in (row[0] - radius, row[0] + radius):
            yield "enclosure.inflated", f"{row[0]} {radius}", holds("encloses", wide, lifted(real(end)))
        corner = norm(*(real(radius) for _ in row))
        yield "enclosure.around", f"{row} {radius}", holds("above", near.error, lifted(corner))


def thresholds(count: int, rng: Draw) -> Iterator[Assertion]:
    """Roots of equations: the function of mpmath has the two signs at the ends of what was found."""

    def ratio(beta: Any) -> Any:
        return (mp.expm1(beta**2) - beta**2) / beta**2

    for _ in range(count):
        share = Domain(Fraction(1, 2**20), 1 - Fraction(1, 2**20)).draw(rng)
        asked = share / (1 - share)
        with working_precision(rng.choice(PRECISIONS[1:])):
            roots = {
                "limit_law.beta_at_ratio": limit_law.beta_at_ratio(ball(asked, Fraction(0))),
                "limit_law.beta_at_share": limit_law.beta_at_share(ball(share, Fraction(0))),
            }
            critical = limit_law.critical_beta(ball(share, Fraction(0)))
        for name, found in roots.items():
            low, high = (
                (mp.mpf(int(m)) * mp.mpf(2) ** int(e) for m, e in (found.lower().man_exp(), found.upper().man_exp()))
                if found.is_finite()
                else (mp.mpf("1e-30"), mp.mpf(10**5) ** mp.mpf("0.5"))
            )
            yield (
                name,
                str(share),
                bool(ratio(low) * (1 - mp.mpf(2) ** -600) <= real(asked) <= ratio(high) * (1 + mp.mpf(2) ** -600)),
            )
        # lambda = (1-t)^3/(1+3t) at the t with rho_c(t) = rho(beta): both fall and rise one way.
        if critical.is_finite():
            for end, sign in ((critical.lower(), 1), (critical.upper(), -1)):
                m, e = end.man_exp()
                beta = mp.mpf(int(m)) * mp.mpf(2) ** int(e)
                t = mp.findroot(
                    lambda t, b=beta: t * t * (3 + t) - ratio(b) * (1 - t) ** 3,
                    (mp.mpf(0), mp.mpf(1)),
                    solver="anderson",
                    tol=mp.mpf(2) ** -1500,
                    maxsteps=400,
                    verify=False,
                )
                value = (1 - t) ** 3 / (1 + 3 * t) - real(share)
                yield "limit_law.critical_beta", str(share), bool(sign * value >= -(mp.mpf(2) ** -300))


# -- binary64


SPECIAL_DOUBLES = [
    0.0, -0.0, 5e-324, -5e-324, 2.0**-1022, 2.0**-1022 - 5e-324, 2.0**-1000, 1.0, -1.0, 1 + 2.0**-52, 1 - 2.0**-53, 0.1,
    2.0**53, 2.0**53 + 2, 2.0**100, 2.0**300, -(2.0**300), 1 / 3, math.pi, 2.0**-53, -(2.0**-26), 1e-160, 1e150,
]  # fmt: skip


def double(rng: Draw, most: int = 300) -> float:
    """A special double, or one of any exponent up to `most`."""
    if rng.random() < 0.3:
        return rng.choice([x for x in SPECIAL_DOUBLES if abs(x) <= 2.0**most])
    return math.ldexp(rng.getrandbits(53) - 2**52, rng.randint(-120, min(most - 53, 60)))


def array(rng: Draw, *shape: int, most: int = 300) -> Any:
    return np.array([double(rng, most) for _ in range(math.prod(shape))]).reshape(shape)


def within(middle: float, radius: float, true: Fraction) -> bool:
    return not math.isfinite(radius) or abs(true - Fraction(middle)) <= Fraction(radius)


def root_at_most(square: Fraction, bound: float) -> bool:
    return not math.isfinite(bound) or (bound >= 0 and Fraction(bound) ** 2 >= square)


def single_roundings(count: int, rng: Draw) -> Iterator[Assertion]:
    """Rounding of exact numbers: Python divides integers with one correct rounding, subnormal results included."""
    for _ in range(count):
        bits = rng.choice((1, 24, 53, 54, 55, 60, 106, 200))
        top = rng.getrandbits(bits) | 1 << (bits - 1)
        if rng.random() < 0.5:  # exactly between two doubles, or next to it
            top = (rng.getrandbits(53) | 1 << 52) * 2**40 + 2**39 + rng.choice((-1, 0, 0, 0, 1))
        value = Fraction(top) * Fraction(2) ** rng.choice(
            (0, -1, -53, -1074, -1075, -1100, -1114, 500, 900, 930, 970, 971, -bits - 1074)
        )
        value *= rng.choice((1, -1))
        try:
            true: Fraction | None = Fraction(value.numerator / value.denominator)
        except OverflowError:
            true = None
        found = binary64_exponential.to_nearest(exact(value))
        given = f"{value.numerator:#x} / {value.denominator:#x}"
        yield (
            "binary64_exponential.to_nearest",
            given,
            (found is None) == (true is None) and (found is None or found == exact(true or Fraction(0))),
        )
        yield (
            "binary64_exponential.is_binary64",
            given,
            binary64_exponential.is_binary64(exact(value)) is (true == value),
        )
        drawn = Fraction(rng.getrandbits(200) - 2**199, rng.getrandbits(150) | 1) * Fraction(2) ** rng.randint(
            -1100, 60
        )
        nearest = float(float_balls.rounded(as_exact([[drawn]]))[0, 0])
        yield (
            "fast.balls.rounded",
            str(drawn),
            abs(Fraction(nearest) - drawn) <= Fraction(abs(nearest)) * Fraction(1, 2**53) + Fraction(units.UNDERFLOW),
        )


def exponentials(count: int, rng: Draw) -> Iterator[Assertion]:
    """2^-K e^(s + tail): the relative error is at most what the kernel proves."""
    ln2 = mp.log(2)
    half = float.fromhex("0x1.62e42fefa39efp-13")  # half of ln 2 / 2048: about between two entries of the table
    for tailed in (False, True):
        bound = Fraction(exponential.relative_error(tail=tailed))
        scores, shifts, tails = [], [], []
        for _ in range(count):
            s = rng.choice(
                (
                    0.0,
                    -0.0,
                    5e-324,
                    -1e-300,
                    (2 * rng.randint(-4000, 4000) + 1) * half,
                    rng.uniform(-1, 1),
                    rng.uniform(-50, 50),
                    rng.uniform(-700, 700),
                    rng.uniform(-11000, 11000),
                    11000.0,
                    -11000.0,
                )
            )
            scores.append(s)
            shifts.append(round(s / math.log(2)) + rng.randint(-1000, 1000))
            tails.append(rng.choice((0.0, 2.0**-39, -(2.0**-39), rng.uniform(-1, 1) * 2.0**-39)) if tailed else 0.0)
        out = np.empty(count)
        exponential.exp_shifted(
            np.array(scores),
            np.array(shifts, np.float64),
            out,
            exponential.Work(count),
            np.array(tails) if tailed else None,
        )
        for s, shift, tail, found in zip(scores, shifts, tails, out.tolist(), strict=True):
            with mpmath.workprec(TRUE_BITS):
                true = mp.exp(real(Fraction(s) + Fraction(tail)) - shift * ln2)
                off = abs(real(Fraction(found)) / true - 1)
            yield (
                "fast.exponential.exp_shifted",
                f"{s.hex()} {shift} {tail.hex()}",
                bool(off <= real(bound) * (1 + mp.mpf(2) ** -300)),
            )


def double_balls(count: int, rng: Draw) -> Iterator[Assertion]:
    """Arrays of balls: the exact results of Python's fractions at the ends of what was given."""
    for _ in range(count):
        size = rng.randint(1, 4)
        a, b = array(rng, size, size, most=150), array(rng, size, size, most=150)
        ra, rb = np.abs(array(rng, size, size, most=20)), np.abs(array(rng, size, size, most=20))
        left, right = float_balls.Ball(a, ra), float_balls.Ball(b, rb)
        less, times = float_balls.difference(left, right), float_balls.product(left, right)
        l2, linf = float_balls.row_l2_norms(left), float_balls.row_linf_norms(left)
        given = f"{a.tolist()} +- {ra.tolist()}, {b.tolist()} +- {rb.tolist()}"
        for s, t in ((0, 0), (1, 1), (1, -1), (-1, 1)):
            x = [
                [Fraction(m) + s * Fraction(r) for m, r in zip(*rows_, strict=True)]
                for rows_ in zip(a.tolist(), ra.tolist(), strict=True)
            ]
            y = [
                [Fraction(m) + t * Fraction(r) for m, r in zip(*rows_, strict=True)]
                for rows_ in zip(b.tolist(), rb.tolist(), strict=True)
            ]
            for i, j in pairs(range(size), range(size)):
                yield (
                    "fast.balls.difference",
                    given,
                    within(less.middle[i, j], less.radius[i, j], x[i][j] - y[i][j]),
                )
                true = sum((x[i][k] * y[k][j] for k in range(size)), Fraction(0))
                yield "fast.balls.product", given, within(times.middle[i, j], times.radius[i, j], true)
            for i in range(size):
                square = sum((e * e for e in x[i]), Fraction(0))
                low, high = (
                    Fraction(l2.middle[i]) - Fraction(l2.radius[i]),
                    Fraction(l2.middle[i]) + Fraction(l2.radius[i]),
                )
                yield "fast.balls.row_l2_norms", given, max(low, Fraction(0)) ** 2 <= square <= high**2
                yield (
                    "fast.balls.row_linf_norms",
                    given,
                    within(linf.middle[i], linf.radius[i], max(map(abs, x[i]))),
                )


def double_bounds(count: int, rng: Draw) -> Iterator[Assertion]:
    """Bounds of norms, of products and of their errors, and sums that lose nothing."""
    for _ in range(count):
        m, k, n = (rng.randint(1, 5) for _ in range(3))
        x, y = array(rng, m, k, most=150), array(rng, k, n, most=150)
        given = f"{x.tolist()} {y.tolist()}"
        fx, fy = ([[Fraction(e) for e in row] for row in z.tolist()] for z in (x, y))
        squares = [sum((e * e for e in row), Fraction(0)) for row in fx]
        computed, bounds = rows.computed_squares(x), rows.norm_bounds(x)
        for i, square in enumerate(squares):
            yield "fast.rows.norm_bounds", given, root_at_most(square, float(bounds[i]))
            yield "fast.rows.norm_bound", given, root_at_most(square, rows.norm_bound(float(computed[i]), k))
            least = min(Fraction(float(computed[i])), square)
            slack = Fraction(units.gamma(k + 1)) * square + 4 * k * Fraction(units.UNDERFLOW)
            yield (
                "fast.rows.computed_squares",
                given,
                abs(Fraction(float(computed[i])) - square) <= slack and least >= 0,
            )
        energy = sum(squares, Fraction(0))
        yield "fast.rows.frobenius_bound", given, root_at_most(energy, rows.frobenius_bound(x))
        near, error = float_matrices.frobenius(x)
        low, high = Fraction(near) - Fraction(error), Fraction(near) + Fraction(error)
        yield "fast.singular_values.frobenius", given, max(low, Fraction(0)) ** 2 <= energy <= high**2
        # |E|_2 is at least the norm of each of its columns and rows, and | |X| |Y| |_2 that of |X| |Y| e_j.
        rounded_product = x @ y
        off = [
            [
                Fraction(float(rounded_product[i, j])) - sum((fx[i][c] * fy[c][j] for c in range(k)), Fraction(0))
                for j in range(n)
            ]
            for i in range(m)
        ]
        size = [[sum((abs(fx[i][c] * fy[c][j]) for c in range(k)), Fraction(0)) for j in range(n)] for i in range(m)]
        for j in range(n):
            yield (
                "fast.singular_values.product_error",
                given,
                root_at_most(sum((off[i][j] ** 2 for i in range(m)), Fraction(0)), float_matrices.product_error(x, y)),
            )
            yield (
                "fast.singular_values.product_size",
                given,
                root_at_most(sum((size[i][j] ** 2 for i in range(m)), Fraction(0)), float_matrices.product_size(x, y)),
            )
        total, lost, term = array(rng, 4, most=100), np.zeros(4), array(rng, 4, most=100)
        true = [Fraction(a) + Fraction(b) for a, b in zip(total.tolist(), term.tolist(), strict=True)]
        tight.add_exactly(total, lost, term)
        for a, b, c in zip(total.tolist(), lost.tolist(), true, strict=True):
            yield "fast.tight.add_exactly", f"{a.hex()} {b.hex()}", Fraction(a) + Fraction(b) == c
        whole = array(rng, 1, 4, most=40)
        length = float(rows.norm_bounds(whole)[0])
        q = tight.grid(length, 4, 26)
        high_part, low_part = np.empty_like(whole), np.empty_like(whole)
        tight.split(whole, q, high_part, low_part)
        for a, b, c in zip(high_part[0].tolist(), low_part[0].tolist(), whole[0].tolist(), strict=True):
            yield (
                "fast.tight.split",
                c.hex(),
                Fraction(a) + Fraction(b) == Fraction(c) and (Fraction(a) * Fraction(2) ** q).denominator == 1,
            )
        yield (
            "fast.tight.grid",
            length.hex(),
            sum((Fraction(a) ** 2 for a in high_part[0].tolist()), Fraction(0)) <= Fraction(2) ** (2 * (26 - q)),
        )
        first, second = sorted((double(rng), double(rng)))
        yield (
            "fast.rows.larger",
            f"{first} {second}",
            rows.larger(first, second) == second == rows.larger(second, first)
            and math.isnan(rows.larger(first, math.nan))
            and math.isnan(rows.larger(math.nan, first)),
        )


def double_constants(count: int, rng: Draw) -> Iterator[Assertion]:
    """gamma, beta and powers of two, from their definitions."""
    for _ in range(count):
        k = rng.choice((0, 1, 2, 2**25, rng.getrandbits(rng.randint(1, 25))))
        true = Fraction(k, 2**53) / (1 - Fraction(k, 2**53))
        yield "fast.units.gamma", str(k), Fraction(units.gamma(k)) >= true
        e = rng.choice((0, -1, -999, -1000, -1001, -5000, -rng.getrandbits(10)))
        yield (
            "fast.sums.power_of_two",
            str(e),
            Fraction(float(sums.power_of_two(np.array([float(e)]))[0])) == Fraction(2) ** max(e, -1000),
        )
        delta = rng.choice((0.0, 0.125, 2.0**-50, rng.random() / 8, math.ldexp(rng.random(), -rng.randint(3, 60))))
        eps = rng.choice((0.0, 2.0**-52, math.ldexp(rng.random(), -rng.randint(10, 60))))
        # W = v e^d (1 + t) with |d| <= delta, |t| <= eps; relative to v, and to W itself.
        high = mp.exp(real(Fraction(delta))) * (1 + real(Fraction(eps))) - 1
        low = 1 - mp.exp(-real(Fraction(delta))) * (1 - real(Fraction(eps)))
        found = Fraction(exponential.beta(delta, eps))
        yield "fast.exponential.beta", f"{delta.hex()} {eps.hex()}", bool(real(found) >= max(high, low))
        value, radius = REAL.draw(rng), abs(REAL.draw(rng)) * Fraction(2) ** -rng.randint(0, 80)
        with working_precision(rng.choice(PRECISIONS)):
            kept = ball(value, radius)
        packed = float_balls.enclose([[kept]])
        back = float_balls.arb_balls(float_balls.Ball(packed.middle[0], packed.radius[0]))[0]
        table = float_balls.arb_table(packed)[0][0]
        for point in (value, value - radius, value + radius):
            yield (
                "fast.balls.enclose",
                str(point),
                within(float(packed.middle[0, 0]), float(packed.radius[0, 0]), point),
            )
            yield "fast.balls.arb_balls", str(point), holds("encloses", back, arb(exact(point), 0))
            yield "fast.balls.arb_table", str(point), holds("encloses", table, arb(exact(point), 0))
        radicand = abs(POSITIVE.draw(rng))
        near = Fraction(float_balls.rounded_scale(reals.real_root(exact(radicand))))
        yield (
            "fast.balls.rounded_scale",
            str(radicand),
            near**2 * (1 - Fraction(1, 2**52)) ** 2 <= radicand <= near**2 * (1 + Fraction(1, 2**52)) ** 2
            if near
            else radicand == 0,
        )


def eigenvalues(count: int, rng: Draw) -> Iterator[Assertion]:
    """The ends of the spectrum of a 2 x 2 Gram matrix, by the quadratic formula."""
    for _ in range(count):
        (a, b), (c, d) = matrix(rng, 2, 2)
        p, q, r = a * a + b * b, a * c + b * d, c * c + d * d
        root = mp.sqrt(real((p - r) ** 2 + 4 * q * q))
        largest = (real(p + r) + root) / 2
        smallest = real(p * r - q * q) / largest if largest else mp.mpf(0)
        bits = rng.choice(PRECISIONS[1:])
        with working_precision(bits):
            gram = arb_mat([[arb(exact(p)), arb(exact(q))], [arb(exact(q)), arb(exact(r))]])
            found = spectrum.largest_eigenvalue(gram, bits), spectrum.smallest_eigenvalue(gram, bits)
            inside, moved = spectrum.scaled_square(gram, arb(2)), spectrum.shifted(gram, arb(1))
        given = f"{p} {q} {r}, {bits} bits"
        yield "spectrum.largest_eigenvalue", given, holds("encloses", found[0], lifted(largest))
        yield "spectrum.smallest_eigenvalue", given, holds("encloses", found[1], lifted(smallest))
        yield "spectrum.scaled_square", given, holds("encloses", inside[0, 1], lifted(real((p * q + q * r) / 4)))
        yield "spectrum.shifted", given, holds("encloses", moved[1, 1], lifted(real(r + 1)))


# With how many rounds of each the tests run.
GROUPS: tuple[tuple[Callable[[int, Draw], Iterator[Assertion]], int], ...] = (
    (prompts, 12), (lifts, 40), (thresholds, 25), (single_roundings, 350), (exponentials, 1000), (double_balls, 50),
    (double_bounds, 60), (double_constants, 150), (eigenvalues, 60),
)  # fmt: skip
BOXES = 24
TIMES_FULL = 20


def assertions(times: int = 1, seed: int = 0) -> Iterator[Assertion]:
    """All of them, the same for the same arguments: function, inputs, whether it holds."""
    for name, cases in CASES.items():
        for index, case in enumerate(cases):
            yield from scalar(name, case, BOXES * times, random.Random(f"{seed} {name} {index}"))
    for group, count in GROUPS:
        yield from group(count * times, random.Random(f"{seed} {group.__name__}"))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--full", action="store_true", help=f"{TIMES_FULL} times as many")
    parser.add_argument("--seed", type=int, default=0, help="of the drawn inputs (0)")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    missed = 0
    for name, given, good in assertions(TIMES_FULL if options.full else 1, options.seed):
        counts[name] += 1
        if not good:
            missed += 1
            print(f"MISSED {name}: {given}")
    for name, count in sorted(counts.items()):
        print(f"{count:8d}  {name}")
    print(f"{sum(counts.values()):8d}  assertions of {len(counts)} functions, {missed} missed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
