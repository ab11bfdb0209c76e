"""What finite prompts add to the risk of regression in context, over a ball of parameters."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import intervals
from decisions import at_most, below
from fields import fields, kind_of, listed, refuse, some, witness_of
from functions import exp, log, pi, upper
from intervals import I, iv, largest, root, square, summed
from matrices import trace
from outcomes import NotCovered
from scalars import natural, positive, rational, squared
from training.in_context import Task
from weight_means import collisions

MAJORANTS = {"logistic": "", "power": "theta", "table": "table", "lines": "nodes slopes"}


def risk_gap(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/training/risk-gap.md over a ball, by the majorants logistic, power and table."""
    if isinstance(g, dict) and "parameters" in g:
        fields(g, "given", "covariance length parameters")
        raise NotCovered("given parameters")
    given = fields(g, "given", "covariance ball")
    asserts = some(a, "asserts", "excess shortfall", "length")
    L = natural(asserts["length"], "length", 2)
    kind = kind_of(w, "witness", *MAJORANTS, key="majorant")
    hint = witness_of(w, "majorant " + MAJORANTS[kind])
    task = Task(given["covariance"])
    ball = fields(given["ball"], "ball", "A_squared b_squared")
    A4, b4 = (squared(ball[k], f"ball.{k}") for k in ("A_squared", "b_squared"))
    refuse(min(A4, b4) == 0, "ball: a radius of 0")
    T, most, b2 = iv(trace(task.exact)), iv(task.most), root(iv(b4))
    r2 = square(most) * root(iv(A4))
    if kind == "power":
        theta = positive(hint["theta"], "theta")
        refuse(theta > 1, "theta: above 1")
        zero, two = by_power(L, r2, theta)
    elif kind == "logistic":
        zero, two = by_chords(L, r2)
    elif kind == "table":
        zero, two = by_table(L, r2, hint["table"])
    else:
        raise NotCovered("lines")
    Y = T * zero + most * (two - zero)
    X = b2 * most * r2 * two
    if asserts["excess"] is not None:
        at_most((b2 * T * zero + Y) / 2, rational(asserts["excess"], "excess"), "excess")
    if asserts["shortfall"] is not None:
        at_most(X * Fraction(5, 4) + root(X * Y), rational(asserts["shortfall"], "shortfall"), "shortfall")


def by_power(L: int, r2: I, theta: Fraction) -> tuple[I, I]:
    """E Q and E Q c^2, c of N(0, 1) and v = r^2 c^2, for Q(v) = t^t (1 - t)^(1 - t) (L - 1)^-t e^(t v), t = theta."""
    left = 1 - 2 * theta * r2
    below(0, left, "an average that is finite")
    power = summed(log(iv(x)) * x for x in (theta, 1 - theta) if x) - theta * log(iv(L - 1))
    zero = exp(power) / root(left)
    return zero, zero / left


def ramps(nodes: list[tuple[Any, Any]], last: Any, r2: I) -> tuple[I, I]:
    """E Q and E Q c^2 for a convex Q that is linear between the nodes and has a slope beyond the last: by averages of
    (r^2 c^2 - v)+, from E[c^(2k); c^2 > y] = 2 y^(k - 1/2) phi(sqrt y) + (2k - 1) E[c^(2k - 2); c^2 > y]."""
    slopes = [(y - x) / (v - u) for (u, x), (v, y) in pairwise(nodes)] + [last]
    zero = two = iv(nodes[0][1])
    before: Any = 0
    for (v, _), slope in zip(nodes, slopes, strict=True):
        y = iv(v) / r2
        size = root(y)
        density = 2 * exp(-y / 2) / root(2 * pi())
        none = 2 * upper(size)
        once = size * density + none
        twice = y * size * density + 3 * once
        growth = slope - before
        zero += growth * (r2 * once - v * none)
        two += growth * (r2 * twice - v * once)
        before = slope
    return zero, two


def by_chords(L: int, r2: I) -> tuple[I, I]:
    """For 1/(1 + (L - 1) e^-v) up to v0 = log(L - 1) and its tangent of slope 1/4 from there on. Between nodes the
    chord is above it, by h^2 Q/8 at the right end at most, for Q'' <= Q, and so by h^2 e^h Q/8, for Q' <= Q."""
    if L == 2:
        return ramps([(0, Fraction(1, 2))], Fraction(1, 4), r2)
    top, parts = log(iv(L - 1)), 2 * intervals.P
    h = top / parts
    nodes = [(h * i, 1 / (1 + (L - 1) * exp(-h * i))) for i in range(parts)] + [(top, Fraction(1, 2))]
    lost = 1 + square(h) * exp(h) / 8
    zero, two = ramps(nodes, Fraction(1, 4), r2)
    return I((zero / lost).a, zero.b), I((two / lost).a, two.b)


def by_table(L: int, r2: I, node: Any) -> tuple[I, I]:
    """For the function that a table says, which is proved to be convex and above q: on a cell of width h that ends at v
    q is above its chord by 13/96 h^2 q(v) at most."""
    rows = [[rational(x, "table") for x in listed(row, "table")] for row in listed(node, "table")]
    refuse(len(rows) < 2 or any(len(row) != 2 for row in rows), "table: two rows at least, of two numbers each")
    slopes = []
    at_most(rows[0][0], 0, "table: the first node")
    at_most(0, rows[0][0], "table: the first node")
    for (u, x), (v, y) in pairwise(rows):
        below(u, v, "table: nodes grow")
        slopes.append((y - x) / (v - u))
    for one, other in zip([Fraction(0), *slopes], slopes, strict=False):
        at_most(one, other, "table: slopes grow")
    at_most(1, rows[-1][1], "table: the last value")
    above: Callable[[Fraction], Any] = lambda v: collisions(v, L)(2) if v else Fraction(1, L)  # noqa: E731
    q = [iv(above(v)) for v, _ in rows]
    for i, (v, y) in enumerate(rows):
        beside = [iv(0)]
        if i:
            beside.append(square(v - rows[i - 1][0]) * q[i])
        if i + 1 < len(rows):
            beside.append(square(rows[i + 1][0] - v) * q[i + 1])
        at_most(q[i] + largest(beside) * Fraction(13, 96), y, f"table: above q at {v}")
    return ramps([(v, y) for v, y in rows], slopes[-1], r2)
