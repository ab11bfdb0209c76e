"""Repaired propositions for every law of a class: docs/claims/prompts/proposition-3-1.md."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from algebra import pivots, semidefinite
from fields import fields, listed, refuse
from functions import exp, log
from intervals import I, iv, root, square
from matrices import combined, frobenius, gram, identity
from outcomes import NotProved
from scalars import natural, positive, probability, rational
from softmax import bilinear, scale_of


def of_a_class(given: dict[str, Any], w: Any, kind: str, holds: Callable[[int, I, str], None]) -> None:
    """Kind T is the output, V and U the gradients; `holds` compares a bound with the display."""
    g = fields(given, "given", "class", "norms K Q U V scale")
    about = fields(g["class"], "class", "dimension sigma query_dimension query_sigma", "radius")
    d, k = natural(about["dimension"], "dimension", 1), natural(about["query_dimension"], "query_dimension", 1)
    sigma2, rho2 = positive(about["sigma"], "sigma") ** 2, positive(about["query_sigma"], "query_sigma") ** 2
    # On a ball its radius takes the place of sigma, and a and b are numbers.
    ball = about["radius"] is not None
    if ball:
        sigma2 = positive(about["radius"], "radius") ** 2
    s2, _ = scale_of(g["scale"])
    hint = fields(w, "witness", "steps", "norm")
    stated = g["norms"] is None
    if not stated:
        refuse(any(g[name] is not None for name in "KQUV"), "given: matrices beside norms")
        norms = fields(g["norms"], "norms", "U V")
        u2, v2 = (positive(norms[name], name) ** 2 for name in "UV")
        size, scores = d * v2, []
    else:
        U, V = bilinear(g, d)
        refuse(len(U[0]) != k, "given: queries of another dimension")
        scores = gram(U)
        u2, size = Fraction(0), frobenius(V)
        v2 = size if hint["norm"] is None else rational(hint["norm"], "norm") ** 2
    refuse(hint["norm"] is not None and (not stated or kind == "V"), "witness.norm: V plays no role, or is not stated")
    if hint["norm"] is not None:
        refuse(rational(hint["norm"], "norm") < 0, "witness.norm: negative")
        semidefinite(combined([v2, -1], [identity(d), gram(V)]), "norm^2 - V'V")
    if kind == "V":
        v2, size = Fraction(1), Fraction(d)

    def weight(rate: Fraction, delta: Fraction) -> I:
        """E e^{rate s^2 + delta |z|^2}, at most."""
        rate = 2 * rho2 * rate * sigma2 * s2
        rest = 1 - 2 * rho2 * delta
        if stated:
            steps, _ = pivots(combined([rest, -rate], [identity(k), scores]), None, "1 - 2 rho^2 (...)")
            return 1 / root(math.prod(steps))
        if rest - rate * u2 <= 0:
            raise NotProved("theta, gap or delta is too large for the norm of U")
        m = min(d, k)
        # Dimensions can be too large to multiply it out.
        return exp((log(rest - rate * u2) * m + log(rest) * (k - m)) * Fraction(-1, 2))

    names = "from theta t " + ("slope" if ball else "eta gap") + (" delta" if kind == "U" else "")
    steps = [fields(x, "steps", names) for x in listed(hint["steps"], "steps")]
    starts = [natural(x["from"], "steps.from", 2, 100_000) for x in steps]
    refuse(starts[0] != 2 or starts != sorted(set(starts)), "steps: they begin at 2, and rise")
    e = exp(Fraction(1))
    for i, x in enumerate(steps):
        theta, t = rational(x["theta"], "theta"), probability(x["t"], "t")
        delta = positive(x["delta"], "delta") if kind == "U" else Fraction(0)
        refuse(not 0 <= theta <= 1, "steps.theta: not between 0 and 1")
        last = i == len(steps) - 1
        lengths = range(starts[i], starts[i] + 1 if last else starts[i + 1])
        if ball:
            slope = positive(x["slope"], "slope")
            mean = weight(theta * slope, delta) * exp(iv(theta / slope))
            a, b = (6, 2) if kind == "U" else (1, 4)
            number = exp(log(iv(b)) * (1 - theta)) * exp(log(iv(a / (1 - t) ** 2) + 2 * b / (e * (t * t))) * theta)
            number = number * mean * (sigma2 * v2)
            if kind == "U":
                number = number * (sigma2 * s2) / (e * delta)
            for L in lengths:
                holds(L, number * exp(log(Fraction(L)) * -theta), f"steps[{i}]")
            continue
        gap, eta = positive(x["gap"], "gap"), probability(x["eta"], "eta")
        raised = weight(2 * theta + gap, delta)
        # The means of 1, s^2 and s^4 under e^{2 theta s^2 + delta |z|^2}.
        m0, m1, m2 = weight(2 * theta, delta), raised / (e * gap), raised * 4 / square(e * gap)

        def bound(L: int, x: Any = (theta, t, eta, delta, m0, m1, m2)) -> I:
            """(11) of the page; for U with the polynomials of that of proposition 3.4."""
            theta, t, eta, delta, m0, m1, m2 = x
            ln = log(Fraction(L))
            if kind == "U":
                # (d + 4 + 4q)^2 + 4 (1 + q)(d + q) + 4 (1 + q)(d + 2 + 4q), and X^2 + 4 (1 + q)(d + q).
                kept = m0 * ((d + 4) ** 2 + 8 * d + 8) + m1 * (8 * (d + 4) + 4 * (d + 1) + 4 * (d + 6)) + m2 * 36
                X = ((1 + t + ln) * 2 - log(1 - eta) * d) / eta
                always = m0 * (square(X) + 4 * d) + m1 * (4 * (d + 1)) + m2 * 4
                factor = iv(sigma2**2 * v2 * s2) / (e * delta)
            else:
                kept = m0 * (size + 2 * v2) + m1 * (4 * v2)
                always = m0 * ((ln + t) * (2 * v2 / eta) + size / (1 - eta)) + m1 * (4 * v2 / (1 - eta))
                factor = iv(sigma2)
            apart = kept / (1 - t) ** 2 + always * 2 / (e * (t * t))
            return factor * exp(log(apart / L) * theta + log(always) * (1 - theta))

        for L in lengths:
            holds(L, bound(L), f"steps[{i}]")
