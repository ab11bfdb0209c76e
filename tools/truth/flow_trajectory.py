"""Whether a certificate of `flow-trajectory` is true: the flow in doubles, by Taylor series of order 20.

Shares no code with the kernel. What is nearer to a bound than the doubles are to the flow stays open. Where the
flow no longer moves it is taken to stay: not for starts beside a saddle, which doubles do not tell from it.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from tools.truth.judgement import Judgement, Truth
from tools.truth.reading import read_count, read_covariance, read_number, read_table, require, require_record

Array = np.ndarray[Any, Any]

# The doubles are within so much of the flow.
_ERROR = 1e-11
_ORDER, _STEPS, _STILL = 20, 4000, 1e-15
# Where a distance from a line is looked at; the largest is a little larger.
_SAMPLES, _MISSED = 1000, 1e-5
# Most changes are of what is asserted of one and the same flow.
_FLOWS: dict[str, _Flow] = {}


def judge_flow(given: Any, asserts: Any, witness: Any, folder: Path) -> Judgement:
    """True or false by as much as doubles tell, else open."""
    require_record(given, "given", {"covariance", "start"})
    require_record(given["start"], "start", {"A", "b"})
    covariance = read_covariance(given["covariance"], folder)
    size = len(covariance)
    A, b = _shaped(given["start"]["A"], size, folder), read_number(given["start"]["b"])
    require_record(witness, "witness", set(), {"order", "bits"})
    require(8 <= read_count(witness.get("order", "8")) <= 100, "order")
    read_count(witness.get("bits", "2"), 2)
    require_record(asserts, "asserts", {"points"})
    points = _points(asserts["points"], size, folder)
    square = [sum(covariance[i][k] * covariance[k][j] for k in range(size)) for i in range(size) for j in range(size)]
    rests = b == 0 and sum(x * y for x, y in zip(square, (x for row in A for x in row), strict=True)) == 0
    require(not rests or all(point["bayes"] is None for point in points), "no sign of b")
    key = repr((covariance, A, b))
    if key not in _FLOWS:
        _FLOWS[key] = _Flow(np.array(covariance, float), np.array(A, float), float(b))
    if any(_misses(point, A, b) for point in points):
        return Judgement(Truth.FALSE, 1.0, "the invariant")
    slack = _slack(_FLOWS[key], points)
    if slack is None or slack == 0:
        return Judgement(Truth.OPEN)
    return Judgement(Truth.TRUE if slack > 0 else Truth.FALSE, abs(slack), "a point")


def _shaped(node: Any, size: int, folder: Path) -> list[list[Fraction]]:
    table = read_table(node, folder)
    require((len(table), len(table[0])) == (size, size), "a matrix of another shape")
    return table


def _points(stated: Any, size: int, folder: Path) -> list[dict[str, Any]]:
    require(isinstance(stated, list) and stated != [], "points")
    points: list[dict[str, Any]] = []
    for item in stated:
        require_record(item, "a point", {"time", "A", "b", "radius"}, {"risk", "bayes", "tube"})
        risk = None
        if "risk" in item:
            require_record(item["risk"], "risk", {"lower", "upper"})
            risk = read_number(item["risk"]["lower"]), read_number(item["risk"]["upper"])
            require(risk[0] <= risk[1], "bounds of the risk")
        point = {
            "time": read_number(item["time"]),
            "at": [*(x for row in _shaped(item["A"], size, folder) for x in row), read_number(item["b"])],
            "risk": risk,
            **{name: read_number(item[name]) if name in item else None for name in ("radius", "bayes", "tube")},
        }
        require(
            read_number(item["time"]) > (read_number(stated[len(points) - 1]["time"]) if points else 0), "the times"
        )
        for name in ("radius", "bayes", "tube"):
            require(name not in item or read_number(item[name]) >= 0, "a bound")
        points.append(point)
    return points


def _misses(point: dict[str, Any], A: list[list[Fraction]], b: Fraction) -> bool:
    """Whether nothing within the radius has the invariant of the start, by an exact comparison of squares."""
    *entries, last = point["at"]
    change = abs(sum(x * x for x in entries) - last**2 - sum(x * x for row in A for x in row) + b**2)
    rest = change - point["radius"] ** 2
    return bool(rest > 0 and rest**2 > 4 * point["radius"] ** 2 * sum(x * x for x in point["at"]))


class _Flow:
    """The flow from a start, known as far as it was followed."""

    def __init__(self, covariance: Array, A: Array, b: float) -> None:
        self._S = covariance
        self.start = np.append(A.ravel(), b)
        self._inverse = np.linalg.inv(covariance)
        # Time is counted in units in which nothing moves fast.
        self._unit = 1 / (float(np.linalg.eigvalsh(covariance)[-1]) ** 3 * (float(self.start @ self.start) + 1))
        # Times at which pieces begin, and their polynomials.
        self._times: list[float] = [0.0]
        self._pieces: list[Array] = [self._series(self.start)]

    def at(self, times: Array) -> Array | None:
        """The points at some times, a row each; None where they are not reached."""
        times = times / self._unit
        if not self._reach(float(times[-1])):
            return None
        places = np.searchsorted(self._times, times, side="right") - 1
        found = []
        for time, place in zip(times, places, strict=True):
            powers = (time - self._times[place]) ** np.arange(len(self._pieces[place]))
            found.append(powers @ self._pieces[place])
        return np.array(found)

    def _reach(self, time: float) -> bool:
        while self._times[-1] + self._size() < time:
            if len(self._times) > _STEPS:
                return False
            size = self._size()
            z = size ** np.arange(_ORDER + 1) @ self._pieces[-1]
            if not np.isfinite(z).all():
                return False
            self._times.append(self._times[-1] + size)
            self._pieces.append(self._series(z))
        return True

    def _size(self) -> float:
        """Until when the last polynomial is as good as doubles are; for ever where nothing moves any more."""
        series = self._pieces[-1]
        if len(series) == 1:
            return np.inf
        last = float(np.abs(series[-1]).max())
        return float((1e-17 * (1 + np.abs(series[0]).max()) / last) ** (1 / _ORDER)) if last > 0 else np.inf

    def _series(self, z: Array) -> Array:
        """Taylor coefficients of the flow from z, a row each; z alone where it does not move."""
        d = len(self._S)
        A, b, Q = np.zeros((_ORDER + 1, d, d)), np.zeros(_ORDER + 1), np.zeros((_ORDER, d, d))
        A[0], b[0] = z[:-1].reshape(d, d), z[-1]
        for k in range(_ORDER):
            product = np.tensordot(b[: k + 1], A[k::-1], 1)
            Q[k] = self._S @ (self._S @ product - (k == 0) * np.eye(d)) @ self._S
            A[k + 1] = -np.tensordot(b[: k + 1], Q[k::-1], 1) * self._unit / (k + 1)
            b[k + 1] = -(A[: k + 1] * Q[k::-1]).sum() * self._unit / (k + 1)
        series = np.column_stack([A.reshape(_ORDER + 1, -1), b])
        still = np.abs(series[1]).max() <= _STILL
        return series[:1] if still else series

    def risk(self, z: Array) -> float:
        d = len(self._S)
        E = z[-1] * self._S @ z[:-1].reshape(d, d) - np.eye(d)
        return float(np.trace(E @ self._S @ E.T)) / 2

    def bayes(self, z: Array) -> Array:
        """The zero of R with the invariant of the start, and the sign of b."""
        delta = self.start[:-1] @ self.start[:-1] - self.start[-1] ** 2
        square = (np.sqrt(delta**2 + 4 * (self._inverse**2).sum()) - delta) / 2
        b = np.copysign(max(float(np.sqrt(square)), 1e-300), z[-1])
        return np.append(self._inverse.ravel() / b, b)


def _slack(flow: _Flow, points: list[dict[str, Any]]) -> float | None:
    """The least distance of a bound from what it bounds, relatively, > 0 where it holds; None where it is not known."""
    slacks: list[float] = []
    time, before = 0.0, flow.start
    for point in points:
        last, stated = float(point["time"]), np.array(point["at"], float)
        path = flow.at(np.linspace(time, last, _SAMPLES))
        if path is None:
            # What is known of the points before may be false all the same.
            return min(slacks) if slacks and min(slacks) < 0 else None
        z = path[-1]
        bounds = [(float(np.linalg.norm(z - stated)), point["radius"], _ERROR)]
        if point["risk"] is not None:
            # The root of R is known as well as the flow is.
            risk = flow.risk(z)
            error = _ERROR * (np.sqrt(risk) + _ERROR)
            bounds += [(risk, point["risk"][1], error), (-risk, -point["risk"][0], error)]
        if point["bayes"] is not None:
            bounds.append((float(np.linalg.norm(z - flow.bayes(z))), point["bayes"], _ERROR))
        if point["tube"] is not None:
            line = np.linspace(before, stated, _SAMPLES)
            farthest = float(np.linalg.norm(path - line, axis=1).max())
            bounds.append((farthest, point["tube"], _MISSED * farthest + _ERROR))
        slacks += [_signed(value, float(bound), error) for value, bound, error in bounds]
        time, before = last, stated
    return min(slacks)


def _signed(value: float, bound: float, error: float) -> float:
    """bound - value, relatively; 0 where that is within the error."""
    difference = bound - value
    return 0.0 if abs(difference) <= error else float(np.clip(difference / max(abs(value), abs(bound)), -1, 1))
