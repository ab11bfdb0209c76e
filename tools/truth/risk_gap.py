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
def _moments_of(length: int) -> tuple[Any, Any]:
    """log q and kappa as polynomials in the root of the variance."""
    roots = sqrt(_WIDEST) * (1 + np.cos(np.pi * (2 * np.arange(_NODES) + 1) / (2 * _NODES))) / 2
    q, kappa = np.empty_like(roots), np.empty_like(roots)
    for index, s in enumerate(roots):
        q[index], _, square = moments(float(s), length, 801)
        kappa[index] = (q[index] * (1 + s * s) - square) / (6 * s * s)
    fit = np.polynomial.Chebyshev.fit
    return fit(roots, np.log(q), _NODES - 1, domain=[0, sqrt(_WIDEST)]), fit(
        roots, kappa, _NODES - 1, domain=[0, sqrt(_WIDEST)]
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
    require_record(witness, "witness", {"majorant", "nodes", "shells"})
    nodes = read_vector(witness["nodes"], folder)
    _increasing(nodes, 2)
    rows = read_table(witness["shells"], folder)
    require(all(len(row) == len(rows[0]) > 2 for row in rows), "rows of a shell")
    shells = np.array([[float(entry) for entry in row] for row in rows])
    require(bool(np.all(np.diff(shells[:, 0], prepend=0) > 0) and np.all(shells[:, 1:] >= 0)), "shells")
    stated = float(read_number(asserts["excess"]))
    shown = lines_excess(covariance, A2, b2, length, np.array([float(v) for v in nodes]), shells)
    seen = max(_tried(covariance, A2, b2, length))
    truth = Truth.FALSE if seen > stated + _SLACK else Truth.TRUE if shown < stated else Truth.OPEN
    return Judgement(truth, 0.0, "a bound", shown <= stated * (1 + _SLACK))


def lines_excess(covariance: Array, A2: float, b2: float, length: int, v: Array, shells: Array) -> float:
    """The bound of the page, section `lines`, from q and kappa by quadrature."""
    seen = np.array([moments(sqrt(x), length, 801) for x in v])
    q = seen[:, 0]
    kappa = np.where(v > 0, (q * (1 + v) - seen[:, 2]) / (6 * np.where(v > 0, v, 1)), 0)
    squares, d = np.linalg.eigvalsh(covariance), len(covariance)
    low, high, trace, scale = squares[0], squares[-1], squares.sum(), squares[-1] ** 2 * A2
    ends, parts = np.append(0, shells[:, 0]), shells.shape[1] - 2
    plain, weighted = -np.diff(chi2.sf(ends, d)), -np.diff(d * chi2.sf(ends, d + 2))
    beyond, outer = chi2.sf(ends[-1], d), d * chi2.sf(ends[-1], d + 2)
    width, last = np.diff(v), q[1:]
    ladder = 1.2 ** np.arange(-12, 13)

    def average(slopes: Array, above: Any) -> float:
        total = 0.0
        for i, slope in enumerate(slopes):
            cells = slice(0, int(np.searchsorted(v, ends[i + 1] * scale)))
            least, most = (above(n, ends[i + 1], slope, cells) for n in ends[i : i + 2])
            slack = (weighted[i] - ends[i] * plain[i]) / (ends[i + 1] - ends[i])
            total += least * plain[i] + (most - least) * slack + slope * scale / d * weighted[i]
        return float(total)

    def cells_of(left: Array, right: Array, slope: float, bend: Array) -> Array:
        return np.asarray(np.maximum(left - slope * v[:-1], right - slope * v[1:]) + bend * last * width**2 / 8)

    def of_phi(c: float) -> Any:
        def above(n: float, end: float, slope: float, cells: slice) -> float:
            fit = np.searchsorted(ladder, np.sqrt(c * v[1:] / end) * (1 + 1e-12), side="right") - 1
            nu = ladder[np.maximum(fit, 0)]
            tilt = -(1 - 1 / nu) * c * np.where(nu > 1 - 1e-9, low, high)
            first, second = (c * trace + nu * high * n + tilt * x for x in (v[:-1], v[1:]))
            size, steep = np.maximum(abs(first), abs(second)), 2 * abs(tilt)
            best = last * np.maximum(first, second) - slope * v[:-1]
            sides = ((q[:-1], kappa[:-1], first, v[:-1]), (last, kappa[1:], second, v[1:]))
            for part in (0.25, 1.0):
                bend = 4.25 * size + steep
                families = (
                    ([f * h - 6 * part * low * c * at * x for f, x, h, at in sides],
                     bend + 6 * part * low * c * (4.25 * v[1:] + 5 / 9)),
                    ([(f - 4.5 * part * x) * h for f, x, h, at in sides],
                     bend + 4.5 * part * (4.25 * size + 8 / 7 * steep)),
                )  # fmt: skip
                larger = [cells_of(left, right, slope, bend) for (left, right), bend in families]
                best = np.minimum(best, np.maximum(*larger))
            found = max(0.0, float(best[cells].max()))
            return found if v[-1] >= end * scale else max(found, c * trace + high * n - slope * v[-1])

        return above

    def of_plain(n: float, end: float, slope: float, cells: slice) -> float:
        found = max(0.0, float(cells_of((q * v)[:-1], (q * v)[1:], slope, 4.25 * v[1:])[cells].max()))
        return found if v[-1] >= end * scale else max(found, scale * end - slope * v[-1])

    at = [
        average(shells[:, k + 1], of_phi(b2 * (k / parts) ** 2)) + b2 * (k / parts) ** 2 * trace * beyond + high * outer
        for k in range(1, parts + 1)
    ]
    mixed = average(shells[:, 1], of_plain) + scale / d * outer
    return float(max(at) / 2 + 7 / 3 * high * b2 * mixed / (8 * parts**2))


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
