"""The part of the second opinion about `spectral-distance` and `not-marchenko-pastur`, in doubles.

Moments of truncated weights are integrals over the weights as they are defined.

Singular values come from mpmath, tails of the limit law from eigenvalues of companion matrices, distances from the
limits of |F_n - F| on both sides of every value, smallest distances over all scales by bisection. What differs from a
bound by less than doubles can tell is left open.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from mpmath import mp

from tools.truth.equivalent_law import Law, edges, read_equivalent_law
from tools.truth.judgement import Judgement, Truth, exactly
from tools.truth.reading import (
    read_bounds,
    read_number,
    read_positive,
    read_scale,
    read_table,
    require,
    require_record,
    to_real,
)
from tools.truth.singular_values import spectrum_of

Floats = np.ndarray[Any, Any]
Tail = Callable[[Floats], Floats]
_NAMES = ("law", "quarter_circle", "scaled_law", "scaled_quarter_circle", "separation", "scaled_separation")
_SCALES = {
    "scaled_law": ("law_scale",),
    "scaled_quarter_circle": ("quarter_circle_scale",),
    "separation": ("quarter_circle_scale",),
    "scaled_separation": ("law_scale", "quarter_circle_scale"),
    "scaled_distance": ("scale",),
}
_GRID, _STEPS, _SEEN, _NODES = 6001, 120, 200, 40
# What doubles and the grid do not tell.
_CLOSE, _CLOSE_LAWS = 1e-9, 2e-6


def judge_distance(given: Any, asserts: Any, witness: Any, folder: Path) -> Judgement:
    """Bounds of distances of one matrix."""
    require(isinstance(given, dict) and "law" in given, "no law")
    stated = dict(given)
    node = stated.pop("law")
    sigma, shape = spectrum_of(stated, folder)
    require(shape[0] == shape[1], "a matrix that is not square")
    law = _stated_law(node, stated, folder)
    require_record(asserts, "asserts", set(), {*_NAMES, "fixed_point"})
    require(len(asserts) > 0, "nothing is asserted")
    distances = {name: asserts[name] for name in asserts if name != "fixed_point"}
    scales = _scales(witness, distances, {"law_scale", "quarter_circle_scale"})
    found = [_bounds(name, stated, lambda: _of_matrix(sigma, law), scales) for name, stated in distances.items()]
    if "fixed_point" in asserts:
        found += _fixed_point(law, shape[0], asserts["fixed_point"])
    return _least(found)


@dataclass(frozen=True)
class Truncated(Law):
    """The law of softmax weights that are cut off at tau."""

    tau: Fraction = Fraction(0)

    def numbers(self) -> tuple[Any, Any, Any]:
        """alpha_tau^2, beta_tau^2 and lambda."""
        mean, linear, square = cut_moments(self.beta2, _float(self.tau))
        beta2 = (linear / mean) ** 2
        return mp.mpf(square / mean**2 - 1 - beta2), mp.mpf(beta2), to_real(self.lambda_)


@cache
def cut_moments(beta2: Fraction, tau: float) -> tuple[float, float, float]:
    """E f, E g f and E f^2 of f = min(e^(beta g - beta^2/2), tau), by Gauss's rule on both sides of the cut."""
    with np.errstate(all="ignore"):
        beta = np.sqrt(_float(beta2))
        cut = np.log(tau) / beta + beta / 2
        # Densities times powers of the weight are normal ones around 0, beta and 2 beta.
        ends = np.unique([cut, *(centre + step for centre in (0, beta, 2 * beta) for step in range(-12, 13, 4))])
        nodes, shares = np.polynomial.legendre.leggauss(_NODES)
        half = np.diff(ends)[:, None] / 2
        g = (ends[:-1, None] + half + half * nodes).ravel()
        f = np.minimum(np.exp(beta * g - beta * beta / 2), tau)
        mass = (half * shares).ravel() * np.exp(-g * g / 2) / np.sqrt(2 * np.pi)
        return float(mass @ f), float(mass @ (g * f)), float(mass @ (f * f))


def _fixed_point(law: Law, tokens: int, stated: Any) -> list[Judgement]:
    """The two signs around tau, and of the largest solution that none is above."""
    require_record(stated, "fixed_point", {"radius", "which"})
    require(isinstance(law, Truncated) and stated["which"] in ("some", "largest"), "which solution of which law")
    radius = read_number(stated["radius"])
    require(0 < radius < law.tau, "a radius")

    def over(t: float) -> float:
        """t^2 - d m(t), in units of t^2."""
        mean, _, square = cut_moments(law.beta2, t)
        return 1 - tokens * (square / mean**2 - 1) / t**2

    first, last = _float(law.tau - radius), _float(law.tau + radius)
    found = []
    for where, gap in (("fixed_point.below", -over(first)), ("fixed_point.above", over(last))):
        if not abs(gap) > _CLOSE or not np.isfinite(gap):
            found.append(Judgement(Truth.EQUAL, 0.0, where))
        else:
            found.append(Judgement(Truth.TRUE if gap > 0 else Truth.FALSE, gap, where))
    if stated["which"] == "largest":
        found.append(_largest(law, tokens, first, last, over))
    return found


def _largest(law: Law, tokens: int, first: float, last: float, over: Callable[[float], float]) -> Judgement:
    """Whether a solution is seen above; and the checker's condition at the lower end, by the tail as mpmath has it."""
    where, beta = "fixed_point.growth", np.sqrt(_float(law.beta2))
    # m is at most e^(beta^2) - 1: nothing solves the equation beyond this.
    farthest = float(np.sqrt(tokens * np.expm1(_float(law.beta2))))
    room = cut_moments(law.beta2, first)[0] ** 2 - tokens * float(mp.ncdf(-(np.log(first) / beta + beta / 2)))
    if not np.isfinite(farthest) or not np.isfinite(room):
        return Judgement(Truth.EQUAL, 0.0, where)
    seen = np.geomspace(last, max(farthest, last), _SEEN)[1:]
    if any(over(float(t)) < -_CLOSE for t in seen):
        return Judgement(Truth.FALSE, -1.0, where)
    return Judgement(Truth.TRUE, max(room, 0.0), where, provable=room > -_CLOSE)


def judge_not_marchenko_pastur(given: Any, asserts: Any, witness: Any, folder: Path) -> Judgement:
    """Moments exactly, distances of laws on a grid, and separations of one matrix."""
    require(isinstance(given, dict), "given")
    stated = dict(given)
    finite = stated.pop("finite", None)
    law = read_equivalent_law(stated)
    ours = {"fourth_moment", "excess", "distance", "scaled_distance"}
    require_record(asserts, "asserts", set(), ours | {"separation", "scaled_separation"})
    require(len(asserts) > 0, "nothing is asserted")
    separations = set(asserts) - ours
    require((finite is None) is (len(separations) == 0), "a matrix without a separation, or the other way round")
    scales = _scales(witness, asserts, {"scale", "law_scale", "quarter_circle_scale"})
    found = []
    if finite is not None:
        sigma, shape = spectrum_of(finite, folder)
        require(shape[0] == shape[1], "a matrix that is not square")
        found = [_bounds(name, asserts[name], lambda: _of_matrix(sigma, law), scales) for name in sorted(separations)]
    for name in sorted(set(asserts) & ours):
        if name == "fourth_moment":
            require_record(asserts[name], name, {"value"})
            found.append(exactly(name, read_number(asserts[name]["value"]) == law.beta2**2 / law.lambda_))
        elif name == "excess" and law.alpha2 is not None:
            found.append(_exact_excess(law.alpha2, law, asserts[name]))
        else:
            close = _CLOSE if name == "excess" else _CLOSE_LAWS
            found.append(_bounds(name, asserts[name], lambda: _of_laws(law), scales, close))
    return _least(found)


def _exact_excess(alpha2: Fraction, law: Law, stated: Any) -> Judgement:
    """m_4/m_2^2 - 2 as a fraction."""
    truth = law.beta2**2 / law.lambda_ / (alpha2 + law.beta2) ** 2
    bounds = read_bounds(stated, "excess")
    return exactly("excess", bounds.get("at_least", truth) <= truth <= bounds.get("at_most", truth))


def _stated_law(node: Any, matrix: Any, folder: Path) -> Law:
    if isinstance(node, dict) and "truncated_at" in node:
        rest = {key: value for key, value in node.items() if key != "truncated_at"}
        require("alpha2" not in rest, "weights of no softmax")
        law, tau = _stated_law(rest, matrix, folder), read_number(node["truncated_at"])
        require(tau > 0, "a cut")
        return Truncated(law.beta, law.alpha2, law.beta2, law.lambda_, tau)
    if not (isinstance(node, dict) and "from" in node):
        return read_equivalent_law(node)
    require_record(node, "law", {"from"}, {"unit"})
    require(node["from"] == "weights" and "queries" in matrix, "from")
    unit = read_positive(node.get("unit", "1"))
    queries = read_table(matrix["queries"], folder)
    beta2 = read_scale(matrix).square * len(queries[0]) * unit**4
    require(beta2 <= 10**6, "a beta that is too large")
    return Law(None, None, beta2, Fraction(len(queries[0]), len(queries)))


def _scales(witness: Any, asserts: Any, possible: set[str]) -> dict[str, float]:
    needed = {scale for name in asserts for scale in _SCALES.get(name, ())}
    require_record(witness, "witness", needed, set())
    require(needed <= possible, "a scale")
    numbers = {name: read_number(witness[name]) for name in needed}
    require(all(number > 0 for number in numbers.values()), "a scale")
    return {name: _float(number) for name, number in numbers.items()}


def _float(number: Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        return float("inf")


# A quantity is a function of the scales: its value, and what the scales show of it from below and from above.
Known = dict[str, Callable[[dict[str, float]], tuple[float, float, float]]]


def _bounds(
    name: str, stated: Any, known: Callable[[], Known], scales: dict[str, float], close: float = _CLOSE
) -> Judgement:
    bounds = read_bounds(stated, name)
    require("separation" in name or name == "excess" or all(bound >= 0 for bound in bounds.values()), "a bound below 0")
    value, low, high = known()[name](scales)
    found = []
    for which, exact in bounds.items():
        bound, least = _float(exact), which == "at_least"
        gap, shown = (value - bound, low - bound) if least else (bound - value, bound - high)
        where = f"{name}.{which}"
        if not np.isfinite(gap) or abs(gap) <= close * max(1, abs(value)):
            found.append(Judgement(Truth.EQUAL, 0.0, where))
        elif gap < 0:
            found.append(Judgement(Truth.FALSE, gap, where))
        elif not shown > close:
            # True, but the scale shows it within what doubles tell, or not at all.
            found.append(Judgement(Truth.TRUE, 0.0, where, provable=not shown < -close))
        else:
            # Laws are enclosed to about 1e-4 at once, and finer where that is asked for.
            found.append(Judgement(Truth.TRUE, shown, where))
    return _least(found)


def _least(found: list[Judgement]) -> Judgement:
    provable = all(one.provable for one in found)
    for truth in (Truth.FALSE, Truth.EQUAL):
        for judgement in found:
            if judgement.truth is truth:
                return Judgement(truth, judgement.slack, judgement.where, provable)
    first = min(found, key=lambda judgement: judgement.slack)
    return Judgement(first.truth, first.slack, first.where, provable)


# -- what is true


def _of_matrix(sigma: Callable[[], list[Any]], law: Law) -> Known:
    with mp.workdps(40):
        values = tuple(float(value) for value in sigma())
    return _distances(values, law)


@cache
def _distances(values: tuple[float, ...], law: Law) -> Known:
    points, count = np.array(values), len(values)
    mu = tail_of(law)
    alpha2, beta2, _ = (float(number) for number in law.numbers())

    def sides(tail: Tail, scale: float) -> tuple[float, float]:
        """How far the share of larger values is above the tail somewhere, and below."""
        known = tail(points / scale)
        larger = np.array([np.sum(points > x) for x in points]) / count
        from_it = np.array([np.sum(points >= x) for x in points]) / count
        return max(0.0, float(np.max(from_it - known))), max(0.0, float(np.max(known - larger)))

    to_law = max(sides(mu, 1.0))
    to_circle = max(sides(circle_tail, float(np.sqrt(alpha2 + beta2))))
    best = {"law": _crossing(lambda c: sides(mu, c)), "circle": _crossing(lambda c: sides(circle_tail, c))}

    def law_scaled(s: dict[str, float]) -> tuple[float, float, float]:
        found = sides(mu, s["law_scale"])
        return best["law"], min(found), max(found)

    def circle_scaled(s: dict[str, float]) -> tuple[float, float, float]:
        found = sides(circle_tail, s["quarter_circle_scale"])
        return best["circle"], min(found), max(found)

    def less(first: tuple[float, float, float], second: tuple[float, float, float]) -> tuple[float, float, float]:
        return first[0] - second[0], first[1] - second[2], first[2] - second[1]

    return {
        "law": lambda s: (to_law,) * 3,
        "quarter_circle": lambda s: (to_circle,) * 3,
        "scaled_law": law_scaled,
        "scaled_quarter_circle": circle_scaled,
        "separation": lambda s: less(circle_scaled(s), (to_law,) * 3),
        "scaled_separation": lambda s: less(circle_scaled(s), law_scaled(s)),
    }


@cache
def _of_laws(law: Law) -> Known:
    alpha2, beta2, lambda_ = (float(number) for number in law.numbers())
    m = alpha2 + beta2
    share = (1 - np.cos(np.linspace(0, np.pi, _GRID))) / 2
    places = share * float(edges(law, mp.prec)[-1])
    known = tail_of(law)(places)

    def sides(scale: float) -> tuple[float, float]:
        other = circle_tail(places / scale)
        return float(np.max(known - other)), float(np.max(other - known))

    def scaled(s: dict[str, float]) -> tuple[float, float, float]:
        found = sides(s["scale"])
        return best, min(found), max(found)

    best, same = _crossing(sides), max(sides(float(np.sqrt(m))))
    excess = beta2 * beta2 / lambda_ / m**2
    return {"excess": lambda s: (excess,) * 3, "distance": lambda s: (same,) * 3, "scaled_distance": scaled}


def _crossing(sides: Callable[[float], tuple[float, float]]) -> float:
    """The smallest larger side over all scales; NaN where the two do not cross."""
    low, high = 1e-30, 1e30
    first, last = sides(low), sides(high)
    if not (first[0] > first[1] and last[0] < last[1]):
        return float("nan")
    for _ in range(_STEPS):
        middle = np.sqrt(low * high)
        above, below = sides(middle)
        low, high = (middle, high) if above > below else (low, middle)
    return max(sides(low))


def circle_tail(x: Floats) -> Floats:
    """P(X > x) for the quarter circle of variance 1, by its angle."""
    angle = np.arccos(np.clip(x / 2, 0, 1))
    return (2 * angle - np.sin(2 * angle)) / np.pi


def tail_of(law: Law) -> Tail:
    alpha2, beta2, lambda_ = (float(number) for number in law.numbers())
    b, edge = beta2 / lambda_, [float(end) for end in edges(law, mp.prec)]

    def tail(x: Floats) -> Floats:
        found = np.where(x >= edge[-1], 0.0, 1.0)
        inside = (x > 0) & (x < edge[-1])
        if len(edge) == 3:
            gap = (x >= edge[0]) & (x <= edge[1])
            found[gap], inside = lambda_, inside & ~gap
        if not inside.any():
            return found
        z = x[inside]
        # The polynomial of the transform, with leading coefficient 1.
        rows = np.array(
            [-z / alpha2, (b - alpha2 - beta2) / (alpha2 * b) + 0 * z, z / (alpha2 * b), -1 / (alpha2 * b) + 0 * z]
        )
        companion = np.zeros((len(z), 4, 4))
        companion[:, 0, :] = -rows.T
        companion[:, [1, 2, 3], [0, 1, 2]] = 1
        roots = np.linalg.eigvals(companion)
        w = roots[np.arange(len(z)), np.argmin(roots.imag, axis=1)]
        v, root = b * w * w, np.sqrt(b) * w
        logarithms = lambda_ * (np.log(1 - root) + np.log(1 + root)) / 2 - np.log(w)
        found[inside] = 2 / np.pi * (alpha2 * w * w / 2 + lambda_ * v / (1 - v) + logarithms).imag
        return found

    return tail
