"""Whether `theorem-4-3` is proved by its witness: a second opinion, in doubles and without the kernel.

The bound is computed from the claim's page, as functions of the length of a query: means over sub-Gaussian queries are
those of a polynomial of it. Of a stated law the numbers of its table are taken. A bound that shows the statement makes
it true; otherwise nothing is known.
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
from tools.truth.laws import About, Box, Gaussian, Independent, Law, Mixture, Points, Round, Truncated, read_law
from tools.truth.reading import (
    applies,
    in_doubles,
    read_count,
    read_number,
    require,
    require_record,
)

_MARGIN = 1e-9
_SHARES = (1, 2, 4, 8, 12, 16, 24, 32, 40, 48)
_S = Polynomial([0, 1])


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
class _Tokens:
    """What is known under every tilt, as polynomials of s; A and J of the error of the mean and of the scatter."""

    sigma: float
    d: int
    weights: int
    shifts: Sequence[Polynomial]
    spread: Polynomial
    skew: Polynomial
    mean: tuple[Polynomial, Polynomial]
    scatter: tuple[Polynomial, Polynomial]

    def largest(self, length: int, eta: float) -> tuple[Polynomial, Polynomial]:
        """B of the two."""
        q, d, log = _S**2, self.d, math.log(length)
        rest = (d + 4 * q) / (1 - eta)
        mean = 2 / eta * log + rest
        scatter = (2 / eta * (1 + log) + rest) ** 2 + 4 * (1 + q) * (d + q)
        return self.sigma**2 * mean, self.sigma**4 * scatter


def _of_class(sigma: float, d: int) -> _Tokens:
    q = _S**2
    spread, skew = sigma**2 * (1 + _S) ** 2, sigma**3 * (2 + 4 * _S + 8 * q + 8 * _S**3)
    mean = sigma**2 * (d + 2 + 4 * q), 2 * sigma * _S * (1 + _S) ** 2
    own = sigma**4 * ((d + 4 + 4 * q) ** 2 + 4 * (1 + q) * (d + q))
    scatter = own, 2 * math.sqrt(d) * _S * skew / sigma + mean[1] ** 2 / 2
    return _Tokens(sigma, d, 2, [sigma * 2 * _S, sigma * (_S + q + _S**3 / 3)], spread, skew, mean, scatter)


def _of_law(law: Law) -> _Tokens:
    d, v, trace, kappa, psi = law.dimension, *_numbers(law)
    sigma = math.sqrt(v)
    limit = math.sqrt(v * psi)
    twist, lean = min(math.sqrt(d) * kappa, limit), min(d * kappa, limit)
    spread, skew = Polynomial([v]), Polynomial([kappa])
    mean = trace + v * _S**2, 2 * sigma * _S
    own = psi + 4 * lean * sigma * _S + 2 * (trace + v) * v * _S**2 + (twist * _S / sigma + v * _S**2) ** 2
    scatter = own, 2 * twist * _S / sigma + 2 * v * _S**2
    return _Tokens(sigma, d, 1, [sigma * _S], spread, skew, mean, scatter)


def _numbers(law: Law) -> tuple[float, float, float, float]:
    """sigma^2, T, kappa and Psi of the page's table."""
    if isinstance(law, Gaussian):
        matrix = in_doubles(law.covariance)
        eigenvalues = np.abs(np.linalg.eigvalsh(matrix))
        norm = min(float((eigenvalues**16).sum() ** (1 / 16)), float(np.abs(matrix).sum(axis=1).max()))
        trace = float(np.trace(matrix))
        return norm, trace, 0.0, trace**2 + float((matrix**2).sum())
    if isinstance(law, Independent):
        c = np.array([float(size) for size in law.sizes])
        v, kappa, psi = (1 / 3, 0.11, 0.12) if isinstance(law, Box) else (1.0, 0.77, 1.0)
        trace = v * (c**2).sum()
        return v * c.max() ** 2, trace, kappa * c.max() ** 3, trace**2 - v**2 * (c**4).sum() + psi * (c**4).sum()
    parts = _parts(law, 1.0)
    normal = [(weight, part) for weight, part in parts if isinstance(part, Gaussian)]
    if normal:
        common = normal[0][1].covariance
        applies(len(normal) == len(parts) and all(part.covariance == common for _, part in normal), "the mixture")
        means, noise = [(w, np.array(list(map(float, part.mean))), 0.0) for w, part in normal], _numbers(normal[0][1])
        v, trace, kappa, psi = _in_ball(_ball(means), law.dimension, None)
        mixed = 2 * trace * noise[1] + 2 * min(v * noise[1], trace * noise[0])
        return v + noise[0], trace + noise[1], kappa, psi + noise[3] + mixed
    variance = float(law.squared_radius) / (law.dimension + 2 * law.solid) if isinstance(law, Round) else None
    return _in_ball(_ball([_enclosed(w, part) for w, part in parts]), law.dimension, variance)


def _parts(law: Law, weight: float) -> list[tuple[float, Law]]:
    if not isinstance(law, Mixture):
        return [(weight, law)]
    pairs = zip(law.weights, law.parts, strict=True)
    return [each for share, part in pairs for each in _parts(part, weight * float(share))]


def _enclosed(weight: float, law: Law) -> tuple[float, Any, float]:
    """A centre, and how far from it tokens are at most."""
    if isinstance(law, About):
        _, centre, radius = _enclosed(weight, law.law)
        return weight, centre + np.array(list(map(float, law.centre))), radius
    if isinstance(law, Points):
        points, weights = in_doubles(law.points), np.array(list(map(float, law.weights)))
        centre = weights @ points
        return weight, centre, float(np.linalg.norm(points - centre, axis=1).max())
    if isinstance(law, Round):
        return weight, np.zeros(law.dimension), math.sqrt(law.squared_radius)
    assert isinstance(law, Independent)
    return weight, np.zeros(law.dimension), math.sqrt(sum(c**2 for c in law.sizes))


def _ball(parts: Sequence[tuple[float, Any, float]]) -> float:
    centre = sum(weight * at for weight, at, _ in parts)
    return max(float(np.linalg.norm(at - centre)) + radius for _, at, radius in parts)


def _in_ball(radius: float, d: int, variance: float | None) -> tuple[float, float, float, float]:
    v = radius**2 if variance is None else variance
    return v, min(d * v, radius**2), 0.77 * radius**3, 27 / 16 * radius**4


def _is_centred(law: Law) -> bool:
    """E x, exactly."""
    return all(entry == 0 for entry in _mean(law))


def _mean(law: Law) -> list[Any]:
    if isinstance(law, Gaussian):
        return law.mean
    if isinstance(law, About):
        return law.centre
    if isinstance(law, Points):
        return [
            sum(w * x for w, x in zip(law.weights, column, strict=True)) for column in zip(*law.points, strict=True)
        ]
    if isinstance(law, Mixture):
        columns = zip(*map(_mean, law.parts), strict=True)
        return [sum(w * x for w, x in zip(law.weights, column, strict=True)) for column in columns]
    return [0] * law.dimension


@dataclass(frozen=True)
class _Problem:
    queries: _Queries
    tokens: _Tokens
    smoothness: float
    shape: str
    length: int
    exponents: tuple[float, float] | None

    def slope_square(self, U: float, V: float) -> float:
        return self.limit_square(U) + V**2 * self._mean(self.tokens.spread**2, U, 2)

    def limit_square(self, U: float) -> float:
        return min(self._mean(shift**2, U) for shift in self.tokens.shifts)

    def bend(self, U: float, V: float) -> float:
        n = math.sqrt(self._mean(self.tokens.spread**2, U, 2))
        m = V * math.sqrt(self._mean(self.tokens.skew**2, U, 4))
        return float(np.linalg.eigvalsh([[0, n], [n, m]])[-1])

    def _mean(self, of: Polynomial, U: float, power: int = 0, rate: float = 0) -> float:
        return self.queries.mean(of, self.tokens.sigma * U, power, rate)

    def gap(self, U: float, V: float, force: float, slope: float) -> float:
        after = [own + later**2 / self.length for own, later in (self.tokens.mean, self.tokens.scatter)]
        largest = self.tokens.largest(self.length, self.exponents[1]) if self.exponents else after
        mean, scatter = zip(after, largest, strict=True)
        mixed = [part * self.tokens.spread for part in mean]
        moved = math.sqrt(self._square(U, mean, 0))
        spread = self._square(U, scatter, 2) + 2 * self._square(U, mixed, 2)
        turned = math.hypot(moved, V * math.sqrt(spread))
        moved *= self.smoothness * V
        plain = (force + moved) * turned + moved * slope
        if self.shape != "quadratic":
            return plain
        try:
            bias = math.sqrt(self._bias(U, mean, 0))
            rest = math.sqrt(self._bias(U, scatter, 2)) + math.sqrt(self._fourth(U, mean, 2))
        except _Infinite:
            return plain
        return min(plain, force * math.hypot(bias, V * rest) + self.smoothness * V * bias * slope + moved * turned)

    def _square(self, U: float, parts: Sequence[Polynomial], power: int, more: float = 0) -> float:
        """E |z|^power e^{more s^2} of the square of an error, by L e^{-2 s^2} times it and by the largest one."""
        theta = self.exponents[0] if self.exponents else 1.0
        kept, always = (self._mean(part, U, power, 2 * theta + more) for part in parts)
        return float(always ** (1 - theta) * (kept / self.length) ** theta)

    def _bias(self, U: float, parts: Sequence[Polynomial], power: int) -> float:
        unit, weights = self.tokens.sigma * U, self.tokens.weights
        if self.exponents is None:
            score = (unit * (self.queries.radius or 0)) ** 2
            return self._square(U, parts, power) * math.expm1(min(weights * score, 700)) / self.length
        theta, _ = self.exponents
        found = [self._square(U, parts, power + more, weights * theta) for more in (0, 2)]
        return ((1 - theta) * found[0] + weights * theta * unit**2 * found[1]) * self.length**-theta

    def _fourth(self, U: float, parts: Sequence[Polynomial], power: int) -> float:
        if self.exponents is None:
            return self._square(U, parts, 0) ** 2 * self.queries.moment(power, 0)
        theta, _ = self.exponents
        kept, always = (self._mean(part**2, U, power, 4 * theta) for part in parts)
        return float(always ** (1 - theta) * (kept / self.length**2) ** theta)


def judge_class_training(given: Any, asserts: Any, witness: Any, folder: Path) -> Judgement:
    """True where the bound shows it; open, and not provable, where it does not."""
    steps = isinstance(given, dict) and "step" in given
    require_record(given, "given", {"class", "loss", "start", "length", *(("step", "steps") if steps else ("time",))})
    about, loss, start = given["class"], given["loss"], given["start"]
    bounded = isinstance(about, dict) and "query_radius" in about
    asked = {"query_radius"} if bounded else {"query_dimension", "query_sigma"}
    stated_law = isinstance(about, dict) and "law" in about
    require_record(about, "class", {*(("law",) if stated_law else ("dimension", "sigma")), *asked})
    size = "risk" if isinstance(loss, dict) and "risk" in loss else "at_zero"
    require_record(loss, "loss", {"smoothness", "shape", size})
    require_record(start, "start", {"U", "V"})
    require_record(asserts, "asserts", {"distance"})
    require_record(witness, "witness", {"pieces", *(() if bounded else ("theta", "eta"))})
    require(loss["shape"] in ("smooth", "convex", "quadratic"), "the shape")
    smoothness = read_number(loss["smoothness"])
    if stated_law:
        law = read_law(about["law"], folder)
        require(not any(isinstance(part, Truncated) for _, part in _parts(law, 1.0)), "a mean that is not known")
        require(_is_centred(law), "a law of another mean")
        tokens = _of_law(law)
        require(tokens.sigma > 0, "a law of one point")
    else:
        sigma = read_number(about["sigma"])
        require(sigma > 0, "sigma")
        tokens = _of_class(float(sigma), read_count(about["dimension"], 1))
    stated, risk = read_number(asserts["distance"]), read_number(loss[size])
    u, v = map(read_number, (start["U"], start["V"]))
    length, pieces = read_count(given["length"], 2), read_count(witness["pieces"], 1)
    if steps:
        step, count = read_number(given["step"]), read_count(given["steps"], 1)
        time = step * count
    else:
        step, time = read_number("0"), read_number(given["time"])
    require(min(smoothness, stated, time) > 0 and min(u, v, risk) >= 0 and pieces <= 1000, "signs")
    exponents = None
    if bounded:
        queries = _Queries(float(read_number(about["query_radius"])), 0, 1)
        require((queries.radius or 0) > 0, "the radius")
    else:
        rho, theta, eta = map(read_number, (about["query_sigma"], witness["theta"], witness["eta"]))
        queries = _Queries(None, float(rho), read_count(about["query_dimension"], 1))
        require(min(rho, theta, eta) > 0, "signs")
        applies(theta <= 1 and eta < 1, "theta and eta")
        exponents = float(theta), float(eta)
    problem = _Problem(queries, tokens, float(smoothness), loss["shape"], length, exponents)
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
    falls = problem.exponents is None or problem.exponents[0] * (1 + math.log(problem.length)) >= 2
    return distance if falls and step * steepest <= 1 else math.inf
