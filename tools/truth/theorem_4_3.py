"""Whether `theorem-4-3` is proved by its witness: a second opinion, in doubles and without the kernel.

The bound is computed from the claim's page, as functions of the length of a query: means over sub-Gaussian queries are
those of a polynomial of it. A bound that shows the statement makes it true; otherwise nothing is known.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.polynomial import Polynomial

from tools.truth.judgement import Judgement, Truth
from tools.truth.reading import applies, read_count, read_number, require, require_record

_MARGIN = 1e-9
_SHARES = (1, 2, 4, 8, 12, 16, 24, 32, 40, 48)
_S = Polynomial([0, 1])
_LEAST_SHIFT, _SHIFT = 2 * _S, _S + _S**2 + _S**3 / 3
_SPREAD, _SKEW = (1 + _S) ** 2, 2 + 4 * _S + 8 * _S**2 + 8 * _S**3


class _Infinite(Exception):
    """A mean over queries may be infinite."""


@dataclass(frozen=True)
class _Queries:
    """|z| <= radius, or rho-sub-Gaussian in k dimensions."""

    radius: float | None
    rho: float
    k: int

    def _exponential(self, rate: float) -> float:
        left = 1 - 2 * self.rho**2 * rate
        if left <= 0:
            raise _Infinite
        return math.exp(-self.k / 2 * math.log(left))

    def moment(self, power: int, rate: float) -> float:
        if self.radius is not None:
            return self.radius**power * math.exp(min(rate * self.radius**2, 700))
        if power % 2:
            return math.sqrt(self.moment(power - 1, rate) * self.moment(power + 1, rate))
        base = self._exponential(rate)
        if power == 0:
            return base
        j, room, found = power // 2, 1 / (2 * self.rho**2) - rate, [math.inf]
        for share in _SHARES:
            c = room * share / 64
            found.append(j / c * ((j - 1) / (math.e * c)) ** (j - 1) * (self._exponential(rate + c) - 1))
        return min(*found, self.k * self.rho**2) if power == 2 and rate == 0 else min(found)

    def mean(self, of: Polynomial, unit: float, power: int = 0, rate: float = 0) -> float:
        """E |z|^power e^{rate s^2} p(s), s = unit |z|."""
        terms = enumerate(of.coef)
        return sum(c * unit**n * self.moment(n + power, rate * unit**2) for n, c in terms if c)


@dataclass(frozen=True)
class _Problem:
    queries: _Queries
    sigma: float
    d: int
    smoothness: float
    shape: str
    length: int
    t: float
    eta: float
    theta: float | None

    def slope_square(self, U: float, V: float) -> float:
        unit, q = self.sigma * U, self.queries
        return self.limit_square(U) + V**2 * self.sigma**4 * q.mean(_SPREAD**2, unit, 2)

    def limit_square(self, U: float) -> float:
        unit = self.sigma * U
        return self.sigma**2 * min(self.queries.mean(p**2, unit) for p in (_LEAST_SHIFT, _SHIFT))

    def bend(self, U: float, V: float) -> float:
        unit, q = self.sigma * U, self.queries
        n = self.sigma**2 * math.sqrt(q.mean(_SPREAD**2, unit, 2))
        m = V * self.sigma**3 * math.sqrt(q.mean(_SKEW**2, unit, 4))
        return float(np.linalg.eigvalsh([[0, n], [n, m]])[-1])

    def depth(self, U: float) -> float:
        score = (self.sigma * U * (self.queries.radius or 0)) ** 2
        return self.length * self.t**2 * math.exp(-2 * min(score, 300)) / 2

    def gap(self, U: float, V: float, force: float, slope: float) -> float:
        mean = self._parts("mean")
        turned = math.sqrt(self._square(U, mean, 0) + V**2 * self._square(U, self._parts("covariance"), 2))
        moved = self.smoothness * V * math.sqrt(self._square(U, mean, 0))
        plain = (force + moved) * turned + moved * slope
        if self.shape != "quadratic":
            return plain
        try:
            bias = math.sqrt(self._bias(U, mean, 0))
            rest = math.sqrt(self._bias(U, self._parts("scatter"), 2)) + math.sqrt(self._fourth(U, mean, 2))
        except _Infinite:
            return plain
        return min(plain, force * math.hypot(bias, V * rest) + self.smoothness * V * bias * slope + moved * turned)

    def _parts(self, what: str) -> tuple[Polynomial, Polynomial]:
        """a and b of an error, as polynomials of s."""
        q, d, logs = _S**2, self.d, self.t + math.log(self.length)
        limit = 4 * (1 + q) * (d + q)
        if what == "mean":
            a, b, size = d + 2 + 4 * q, 2 / self.eta * logs + (d + 4 * q) / (1 - self.eta), self.sigma**2
        elif what == "covariance":
            largest = (2 * (1 + logs) - d * math.log1p(-self.eta)) / self.eta
            a, b = (d + 4 + 4 * q) ** 2 + limit + 4 * (1 + q) * (d + 2 + 4 * q), largest**2 + limit
            size = self.sigma**4
        else:
            largest = 2 * (1 + logs) / self.eta + (d + 4 * q) / (1 - self.eta)
            a, b, size = (d + 4 + 4 * q) ** 2 + limit, largest**2 + limit, self.sigma**4
        return size * a, size * b

    def _square(self, U: float, parts: Sequence[Polynomial], power: int, more: float = 0) -> float:
        a, b, unit = *parts, self.sigma * U
        if self.theta is None:
            kept, always = self.queries.mean(a, unit, power, 2), self.queries.mean(b, unit, power)
            return kept / (self.length * (1 - self.t) ** 2) + always * math.exp(-self.depth(U))
        rate = 2 * self.theta + more
        kept, always = (self.queries.mean(p, unit, power, rate) for p in (a, b))
        apart = kept / (1 - self.t) ** 2 + 2 * always / (math.e * self.t**2)
        return float(always ** (1 - self.theta) * (apart / self.length) ** self.theta)

    def _bias(self, U: float, parts: Sequence[Polynomial], power: int) -> float:
        unit = self.sigma * U
        if self.theta is None:
            score = (unit * (self.queries.radius or 0)) ** 2
            return self._square(U, parts, power) * math.expm1(min(2 * score, 700)) / self.length
        found = [self._square(U, parts, power + more, 2 * self.theta) for more in (0, 2)]
        return ((1 - self.theta) * found[0] + 2 * self.theta * unit**2 * found[1]) * self.length**-self.theta

    def _fourth(self, U: float, parts: Sequence[Polynomial], power: int) -> float:
        if self.theta is None:
            return self._square(U, parts, 0) ** 2 * self.queries.moment(power, 0)
        a, b = (self.queries.mean(p**2, self.sigma * U, power, 4 * self.theta) for p in parts)
        apart = 2 * a / (1 - self.t) ** 4 + 8 * b / (math.e * self.t**2) ** 2
        return float(b ** (1 - self.theta) * (apart / self.length**2) ** self.theta)


def judge_class_training(given: Any, asserts: Any, witness: Any, folder: Path) -> Judgement:
    """True where the bound shows it; open, and not provable, where it does not."""
    steps = isinstance(given, dict) and "step" in given
    require_record(given, "given", {"class", "loss", "start", "length", *(("step", "steps") if steps else ("time",))})
    about, loss, start = given["class"], given["loss"], given["start"]
    bounded = isinstance(about, dict) and "query_radius" in about
    asked = {"query_radius"} if bounded else {"query_dimension", "query_sigma"}
    require_record(about, "class", {"dimension", "sigma", *asked})
    size = "risk" if isinstance(loss, dict) and "risk" in loss else "at_zero"
    require_record(loss, "loss", {"smoothness", "shape", size})
    require_record(start, "start", {"U", "V"})
    require_record(asserts, "asserts", {"distance"})
    require_record(witness, "witness", {"pieces", "t", "eta", *(() if bounded else ("theta",))})
    require(loss["shape"] in ("smooth", "convex", "quadratic"), "the shape")
    d, sigma, smoothness = read_count(about["dimension"], 1), *map(read_number, (about["sigma"], loss["smoothness"]))
    stated, risk = read_number(asserts["distance"]), read_number(loss[size])
    u, v, t, eta = map(read_number, (start["U"], start["V"], witness["t"], witness["eta"]))
    length, pieces = read_count(given["length"], 2), read_count(witness["pieces"], 1)
    if steps:
        step, count = read_number(given["step"]), read_count(given["steps"], 1)
        time = step * count
    else:
        step, time = read_number("0"), read_number(given["time"])
    require(min(sigma, smoothness, stated, time, t, eta) > 0 and min(u, v, risk) >= 0 and pieces <= 1000, "signs")
    if bounded:
        queries, theta = _Queries(float(read_number(about["query_radius"])), 0, 1), None
        require((queries.radius or 0) > 0, "the radius")
    else:
        rho, theta = read_number(about["query_sigma"]), read_number(witness["theta"])
        queries = _Queries(None, float(rho), read_count(about["query_dimension"], 1))
        require(rho > 0 and theta > 0, "signs")
        applies(theta <= 1, "theta")
    applies(t < 1 and eta < 1, "t and eta")
    problem = _Problem(
        queries, float(sigma), d, float(smoothness), loss["shape"], length, float(t), float(eta),
        None if theta is None else float(theta),
    )  # fmt: skip
    tube = float(stated)
    try:
        with np.errstate(all="ignore"):
            found = _distance(problem, (float(u), float(v)), size, float(risk), float(time), pieces, tube, float(step))
    except (_Infinite, OverflowError):
        found = math.inf
    if found <= tube * (1 - _MARGIN):
        return Judgement(Truth.TRUE, 1 - found / tube, "the bound")
    return Judgement(Truth.OPEN, 0.0, "the bound", provable=not found > tube * (1 + _MARGIN))


def _distance(
    problem: _Problem,
    start: tuple[float, float],
    size: str,
    risk: float,
    time: float,
    pieces: int,
    tube: float,
    step: float,
) -> float:
    """How far apart the runs are in the end, or infinity where a condition of the proof is not met."""
    (u, v), smoothness, piece = start, problem.smoothness, time / pieces
    root = math.sqrt(risk)
    if size == "at_zero":
        root += math.sqrt(smoothness / 2 * v**2 * problem.limit_square(u))
    force, factor = math.sqrt(2 * smoothness) * root, 2 if step else 1
    travel = distance = steepest = 0.0
    for j in range(1, pieces + 1):
        far = min(root * math.sqrt(factor * piece * j), travel + root * math.sqrt(factor * piece))
        travel = min(far, travel + piece * force * math.sqrt(problem.slope_square(u + far, v + far)))
        U, V = u + travel + tube, v + travel + tube
        slope = math.sqrt(problem.slope_square(U, V))
        here = force + smoothness * tube * slope
        curved = here * problem.bend(U, V)
        steepest = curved + smoothness * slope**2
        rate = steepest if problem.shape == "smooth" else curved
        gap = problem.gap(U, V, here, slope)
        distance = distance * math.exp(rate * piece) + gap * math.expm1(rate * piece) / rate
    falls = problem.depth(U) if problem.theta is None else problem.theta * (1 + math.log(problem.length))
    return distance if falls >= 2 and step * steepest <= 1 else math.inf
