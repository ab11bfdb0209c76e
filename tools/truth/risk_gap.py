"""Whether a certificate of `risk-gap` is true, and whether its majorant shows it: a second opinion, in doubles.

q and kappa come from the definition, as in `mean_square_truth`: E t and E t^2 for t = sum p_i u_i by quadrature, with
no power sums but q. The gap of the risks is the mean of E|b tau_hat - x|^2 - |b tau - x|^2 over Gauss-Hermite nodes of
x. Over a ball the parameters that attain it are not known: false is what some tried ones violate, true what a bound
computed here shows.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from math import erfc, exp, log, pi, sqrt
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import chi2

from tools.truth.judgement import Judgement, Truth
from tools.truth.mean_square import moments
from tools.truth.reading import (
    in_doubles,
    read_count,
    read_covariance,
    read_number,
    read_scale,
    read_table,
    read_vector,
    require,
    require_mapping,
    require_record,
    root_of,
)

Array = np.ndarray[Any, Any]
_NODES = 28
_WIDEST = 36.0
_SLACK = 1e-7
# Of lines: how wide scores are looked at, points of Gauss's rule, and how far off a bound is at most.
_WIDE, _POINTS, _LOOSE = 60.0, 300, 3e-6


def judge_gap(given: Any, asserts: Any, witness: Any, folder: Path) -> Judgement:
    """Of the form that is given."""
    require_mapping(given, "given")
    require("covariance" in given, "no covariance")
    covariance = in_doubles(read_covariance(given["covariance"], folder))
    if "ball" in given:
        require_record(given, "given", {"covariance", "ball"})
        return _over_ball(covariance, given["ball"], asserts, witness, folder)
    require_record(given, "given", {"covariance", "length", "parameters"})
    return _at_parameters(covariance, given, asserts, witness, folder)


# -- the gap at parameters


@cache
def _moments_of(length: int, widest: float = _WIDEST) -> tuple[Any, Any]:
    """log q and kappa as polynomials in the root of the variance."""
    roots = sqrt(widest) * (1 + np.cos(np.pi * (2 * np.arange(_NODES) + 1) / (2 * _NODES))) / 2
    q, kappa = np.empty_like(roots), np.empty_like(roots)
    for index, s in enumerate(roots):
        q[index], _, square = moments(float(s), length, 801)
        kappa[index] = (q[index] * (1 + s * s) - square) / (6 * s * s)
    fit = np.polynomial.Chebyshev.fit
    return fit(roots, np.log(q), _NODES - 1, domain=[0, sqrt(widest)]), fit(
        roots, kappa, _NODES - 1, domain=[0, sqrt(widest)]
    )


def gap(covariance: Array, A: Array, b: float, length: int) -> float:
    """R_L - R, to some digits where scores are not too wide; by nodes in the plane at most."""
    squares, frame = np.linalg.eigh(covariance)
    root = frame * np.sqrt(squares)
    nodes, masses = np.polynomial.hermite_e.hermegauss(60)
    grids = np.meshgrid(*[nodes] * len(covariance), indexing="ij")
    mass = np.prod(np.meshgrid(*[masses / masses.sum()] * len(covariance), indexing="ij"), axis=0).ravel()
    x = np.stack([grid.ravel() for grid in grids], axis=1) @ root.T
    moved = x @ A.T
    tau = moved @ covariance
    variance = np.minimum(np.einsum("ni,ni->n", moved, tau), _WIDEST)
    logarithm, kappa_of = _moments_of(length)
    q, kappa = np.exp(logarithm(np.sqrt(variance))), kappa_of(np.sqrt(variance))
    trace, size, inner = np.trace(covariance), (tau**2).sum(axis=1), np.einsum("ni,ni->n", tau, x)
    square = size + q * (trace - size) - 6 * kappa * size
    mean = (1 - q) * inner
    return float(mass @ (b * b * (square - size) - 2 * b * (mean - inner))) / 2


def _at_parameters(covariance: Array, given: Any, asserts: Any, witness: Any, folder: Path) -> Judgement:
    require_record(given["parameters"], "parameters", {"A", "b"})
    A = in_doubles(read_table(given["parameters"]["A"], folder))
    require(A.shape == covariance.shape, "A of another shape")
    length = read_count(given["length"], 2)
    require_record(asserts, "asserts", {"gap"})
    require_record(asserts["gap"], "gap", set(), {"at_least", "at_most"})
    require(asserts["gap"] != {}, "no bound")
    require_record(witness, "witness", set())
    found = gap(covariance, A, float(read_number(given["parameters"]["b"])), length)
    # A rule of fixed nodes; stated bounds may be nearer to the value than that.
    error = 2e-5 * abs(found) + 1e-9
    outside = inside = 0.0
    for side, text in asserts["gap"].items():
        distance = (found - float(read_number(text))) * (1 if side == "at_most" else -1)
        outside, inside = max(outside, distance), max(inside, distance + 2 * error)
    if outside > error:
        return Judgement(Truth.FALSE, outside, "the gap")
    return Judgement(Truth.EQUAL if inside > error else Truth.TRUE, 0.0, "the gap")


def _increasing(nodes: Any, least: int) -> None:
    require(len(nodes) >= least and nodes[0] == 0, "nodes from 0 on")
    require(all(a < b for a, b in pairwise(nodes)), "nodes that do not increase")


# -- over a ball


def _over_ball(covariance: Array, ball: Any, asserts: Any, witness: Any, folder: Path) -> Judgement:
    require_record(ball, "ball", {"A_squared", "b_squared"})
    A2, b2 = (_root_or_number(ball[key]) for key in ("A_squared", "b_squared"))
    require_record(asserts, "asserts", {"length"}, {"excess", "shortfall"})
    require(len(asserts) > 1, "no bound")
    length = read_count(asserts["length"], 2)
    if require_mapping(witness, "witness").get("majorant") == "lines":
        return _by_lines(covariance, A2, b2, length, asserts, witness, folder)
    averages = _averages(witness, length, float(np.linalg.eigvalsh(covariance).max()) ** 2 * A2, folder)
    largest, trace = float(np.linalg.eigvalsh(covariance).max()), float(np.trace(covariance))
    truths, provable = [], averages is not None
    for name in ("excess", "shortfall"):
        if name not in asserts:
            continue
        stated = float(read_number(asserts[name]))
        sign = 1 if name == "excess" else -1
        seen = max(sign * value for value in _tried(covariance, A2, b2, length))
        shown = _bound(name, averages, largest, trace, A2, b2) if averages is not None else float("inf")
        truths.append(Truth.FALSE if seen > stated + _SLACK else Truth.TRUE if shown < stated else Truth.OPEN)
        provable = provable and shown <= stated * (1 + _SLACK) + 1e-12
    for truth in (Truth.FALSE, Truth.OPEN):
        if truth in truths:
            return Judgement(truth, 0.0, "a bound", provable)
    return Judgement(Truth.TRUE, 0.0, "a bound", provable)


def _by_lines(
    covariance: Array, A2: float, b2: float, length: int, asserts: Any, witness: Any, folder: Path
) -> Judgement:
    require("shortfall" not in asserts, "lines bound the excess")
    require_record(witness, "witness", {"majorant", "nodes", "slopes"})
    nodes = read_vector(witness["nodes"], folder)
    _increasing(nodes, 2)
    slopes = np.array([float(slope) for slope in read_vector(witness["slopes"], folder)])
    require(len(slopes) > 1 and bool(np.all(slopes >= 0)), "slopes")
    w = np.array([float(node) for node in nodes])
    reached = w[-1] >= float(np.linalg.eigvalsh(covariance).max()) ** 2 * A2 * (1 - 1e-15)
    stated = float(read_number(asserts["excess"]))
    shown = lines_excess(covariance, A2, b2, length, w, slopes)
    seen = max(_tried(covariance, A2, b2, length))
    known = bool(reached) and shown < stated
    truth = Truth.FALSE if seen > stated + _SLACK else Truth.TRUE if known else Truth.OPEN
    return Judgement(truth, 0.0, "a bound", bool(reached) and shown <= stated * (1 + _LOOSE))


def lines_excess(covariance: Array, A2: float, b2: float, length: int, w: Array, slopes: Array) -> float:
    """The bound of the page, section `lines`, with means over n by Gauss's rule."""
    squares, d = np.linalg.eigvalsh(covariance), len(covariance)
    low, high, trace, scale = squares[0], squares[-1], squares.sum(), squares[-1] ** 2 * A2
    points, masses = np.polynomial.legendre.leggauss(_POINTS)
    end = sqrt(chi2.isf(1e-13, d))
    n = ((points + 1) * end / 2) ** 2
    masses = masses * end * np.sqrt(n) * chi2.pdf(n, d)
    v = n[:, None] * w
    logarithm, kappa_of = _moments_of(length, _WIDE)
    s = np.sqrt(np.minimum(v, _WIDE))
    q, kappa = np.exp(logarithm(s)), kappa_of(s)
    Q = [masses * n**k @ q for k in range(4)]
    spread = masses * n @ kappa
    eps = 4 / 3 * low / trace * 0.8 ** np.arange(16)
    capped = np.array([masses @ (kappa * _capped(x * v)) for x in eps])
    width = np.diff(w)

    def mean(slope: float, first: Array, last: Array, bend: Array) -> float:
        above = np.maximum(first - slope * w[:-1], last - slope * w[1:]) + bend * width**2 / 8
        return max(0.0, float(above.max())) + slope * scale / d

    def added(c: float) -> tuple[Array, Array, Array]:
        nu = np.array([_nu(low, high, c, a, b) for a, b in pairwise(w)])
        tilt = (1 - 1 / nu) * c * np.where(nu >= 1, low, high)
        etas = [nu * high - tilt * side for side in (w[:-1], w[1:])]
        gamma = np.minimum(6 * low * c, 4.5 * etas[1] / w[1:])
        gamma[1:] = np.minimum(gamma[1:], 4.5 * etas[0][1:] / w[1:-1])
        room = (6 * low * c - gamma) / (4.5 * c * trace)
        values = []
        for side, eta in ((slice(None, -1), etas[0]), (slice(1, None), etas[1])):
            # Between the eps that are listed, linear.
            table = np.vstack([np.zeros(len(width)), capped[::-1, side]])
            cut = np.array([np.interp(x, np.append(0, eps[::-1]), table[:, i]) for i, x in enumerate(room)])
            plain = c * trace * Q[0][side] + eta * Q[1][side] - gamma * w[side] * spread[side]
            values.append(plain - 4.5 * c * trace * cut)
        flat = 13 / 12 * c * trace + 2 * np.maximum(tilt, 0) + 10 / 3 * low * c
        steep = 13 / 12 * np.maximum(*etas) + 3.75 * low * c * w[1:]
        return values[0], values[1], flat * Q[2][1:] + steep * Q[3][1:]

    parts = len(slopes) - 1
    most = max(mean(slopes[k], *added(b2 * (k / parts) ** 2)) for k in range(1, parts + 1))
    product = w * Q[1]
    mixed = mean(slopes[0], product[:-1], product[1:], 13 / 12 * w[1:] * Q[3][1:])
    return float(most / 2 + 7 / 3 * high * b2 * mixed / (8 * parts**2))


def _nu(low: float, high: float, c: float, left: float, right: float) -> float:
    """Near the best where what n is multiplied by is not negative."""
    flat = c * (left + right) / 2
    steep = low * flat / high
    nu = max(sqrt(steep), 1.0) if steep > 1 else min(sqrt(flat), 1.0)
    for _ in range(8):
        if all(nu * high >= (1 - 1 / nu) * c * (low if nu >= 1 else high) * w for w in (left, right)):
            return nu
        nu = (nu + 1) / 2
    return 1.0


def _capped(x: Array) -> Array:
    """E min(N/4, 1) for a Poisson variable N of mean 4x."""
    y = 4 * x
    return 1 - np.exp(-y) * (1 + 3 / 4 * y + y**2 / 4 + y**3 / 24)


def _root_or_number(text: Any) -> float:
    value = float(root_of(read_scale({"scale": text})))
    require(value > 0, "a square that is not positive")
    return value


def _tried(covariance: Array, A2: float, b2: float, length: int) -> list[float]:
    """The gap at a few parameters of the ball."""
    squares, frame = np.linalg.eigh(covariance)
    top = np.outer(frame[:, -1], frame[:, -1])
    even = np.eye(len(covariance)) / sqrt(len(covariance))
    if squares.max() ** 2 * A2 > 4 or length > 10**5 or len(covariance) > 2:
        return [0.0]
    tried = [(matrix * sqrt(A2) * 0.999, sign * sqrt(b2) * 0.999) for matrix in (top, even) for sign in (1, -1)]
    return [0.0, *(0.99 * gap(covariance, A, b, length) for A, b in tried)]


def _bound(name: str, averages: tuple[float, float], largest: float, trace: float, A2: float, b2: float) -> float:
    plain, weighted = averages
    query = trace * plain + largest * (weighted - plain)
    if name == "excess":
        return (b2 * trace * plain + query) / 2
    moved = b2 * largest**3 * A2 * weighted
    return 1.25 * moved + sqrt(max(moved * query, 0.0))


def _averages(witness: Any, length: int, scale: float, folder: Path) -> tuple[float, float] | None:
    """E[Q(r^2 g^2) g^(2k)] for k = 0, 1; None where the witness shows nothing."""
    kind = require_mapping(witness, "witness").get("majorant")
    if kind == "logistic":
        require_record(witness, "witness", {"majorant"})
        return _quadrature(lambda v: _logistic(v, length), scale)
    if kind == "power":
        require_record(witness, "witness", {"majorant", "theta"})
        theta = float(read_number(witness["theta"]))
        require(0 < theta <= 1, "theta")
        if 2 * theta * scale >= 1:
            return None
        rest = 1 - 2 * theta * scale
        factor = theta**theta * (1 - theta) ** (1 - theta) * (length - 1) ** -theta
        return factor / sqrt(rest), factor / sqrt(rest) ** 3
    require(kind == "table", "another majorant")
    require_record(witness, "witness", {"majorant", "table"})
    rows = read_table(witness["table"], folder)
    require(all(len(row) == 2 for row in rows), "rows of two")
    nodes, values = [row[0] for row in rows], [row[1] for row in rows]
    _increasing(nodes, 2)
    slopes = [(high - low) / (b - a) for a, b, low, high in zip(nodes, nodes[1:], values, values[1:], strict=False)]
    if slopes[0] < 0 or any(a > b for a, b in pairwise(slopes)) or values[-1] < 1:
        return None
    if not _above([float(v) for v in nodes], [float(value) for value in values], length):
        return None
    return _ramps([float(v) for v in nodes], float(values[0]), [float(slope) for slope in slopes], scale)


def _logistic(v: Array, length: int) -> Array:
    start = log(length - 1)
    return np.where(v <= start, 1 / (1 + (length - 1) * np.exp(-np.minimum(v, start))), 0.5 + (v - start) / 4)


def _quadrature(Q: Any, scale: float) -> tuple[float, float]:
    g = np.linspace(0, 40, 400_001)
    density = 2 * np.exp(-g * g / 2) / sqrt(2 * pi) * Q(scale * g * g)
    plain, weighted = (float(np.sum((f[1:] + f[:-1]) / 2) * (g[1] - g[0])) for f in (density, density * g * g))
    return plain, weighted


def _above(nodes: list[float], values: list[float], length: int) -> bool:
    """Q above q at the nodes, by what q may exceed a chord by."""
    q = [moments(sqrt(v), length, 1201)[0] for v in nodes]
    for i in range(len(nodes) - 1):
        bend = 13 / 96 * (nodes[i + 1] - nodes[i]) ** 2 * q[i + 1]
        if min(values[i] - q[i], values[i + 1] - q[i + 1]) < bend * (1 - _SLACK) - 1e-10:
            return False
    return True


def _ramps(nodes: list[float], first: float, slopes: list[float], scale: float) -> tuple[float, float]:
    """By the moments of a normal variable beyond a point."""
    plain = weighted = first
    before = 0.0
    for node, slope in zip(nodes, slopes, strict=False):
        z = sqrt(node / scale)
        tail, density = erfc(z / sqrt(2)), 2 * exp(-z * z / 2) / sqrt(2 * pi)
        second = tail + z * density
        fourth = 3 * second + z**3 * density
        plain += (slope - before) * (scale * second - node * tail)
        weighted += (slope - before) * (scale * fourth - node * second)
        before = slope
    return plain, weighted
