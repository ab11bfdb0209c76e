"""Whether a certificate of `training-convergence` may be true: the run itself in doubles, by Runge-Kutta or by steps.

A bound that the run exceeds, a limit that it does not approach or a sign that b does not have shows a statement to be
false; what holds as far as the run is followed stays open. What is exact at the start is compared exactly, and the
Bayes point by mpmath. Shares no code with the kernel.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from mpmath import mp

from tools.truth.judgement import Judgement, Truth
from tools.truth.reading import (
    identity_matrix,
    read_count,
    read_covariance,
    read_items,
    read_number,
    read_table,
    require,
    require_record,
    solved,
    to_real,
    transposed,
)
from tools.truth.regression_risk import shifted

Array = np.ndarray[Any, Any]

# The run in doubles is trusted to so much, relatively; where risks are smaller than the last number, to nothing.
_TRUSTED = 1e-6
# Beyond this a descent has diverged.
_HUGE = 1e30
_SMALL = 1e-18
_STEPS = 600
_DIGITS = 60
# Most changes are of what is asserted of one and the same run.
_RUNS: dict[str, list[tuple[float, Array, float]]] = {}


def judge_training(given: Any, asserts: Any, witness: Any, folder: Path) -> Judgement:
    """False where something speaks against it; else open."""
    require_record(given, "given", {"covariance", "start", "training"})
    task = _Task(given, folder)
    require_record(asserts, "asserts", {"risk", "rate"}, {"from", "length", "limit", "risks"})
    begins = task.time(asserts.get("from", "0"))
    require_record(witness, "witness", set(), {"enclosed", "order"})
    if "enclosed" in witness:
        require(task.time(witness["enclosed"]) <= begins, "enclosed after from")
    require(1 <= read_count(witness.get("order", "1")) <= 60, "order")
    risk, rate = read_number(asserts["risk"]), read_number(asserts["rate"])
    require(risk >= 0 and rate > 0, "risk and rate")
    bounds = [(begins, risk)]
    for item in read_items(asserts, "risks"):
        require_record(item, "a risk", {"at", "at_most"})
        bounds.append((task.time(item["at"]), read_number(item["at_most"])))
    require(all(bound >= 0 for _, bound in bounds), "a negative bound")
    length = read_number(asserts["length"]) if "length" in asserts else None
    require(length is None or length >= 0, "a negative length")
    limit = _Limit(asserts["limit"], task, folder) if "limit" in asserts else None
    wrong = [name for name, false in _doubts(task, begins, rate, bounds, length, limit) if false]
    return Judgement(Truth.FALSE, 0.0, wrong[0]) if wrong else Judgement(Truth.OPEN, 0.0)


class _Task:
    """Sigma, the start and the rule."""

    def __init__(self, given: Any, folder: Path) -> None:
        self.exact = read_covariance(given["covariance"], folder)
        size = len(self.exact)
        require_record(given["start"], "start", {"A", "b"})
        self.A, self.b = read_table(given["start"]["A"], folder), read_number(given["start"]["b"])
        require((len(self.A), len(self.A[0])) == (size, size), "A of another shape")
        training = given["training"]
        require(isinstance(training, dict) and training.get("rule") in ("flow", "descent"), "the rule")
        self.discrete = training["rule"] == "descent"
        require_record(training, "training", {"rule", "step"} if self.discrete else {"rule"})
        self.step = read_number(training["step"]) if self.discrete else Fraction(0)
        require(not self.discrete or self.step > 0, "the step")
        self.S = np.array(self.exact, float)

    def time(self, text: Any) -> Fraction:
        time = read_number(text)
        require(time >= 0 and (not self.discrete or time.denominator == 1), "a time")
        return time

    @property
    def invariant(self) -> Fraction:
        return sum((x * x for row in self.A for x in row), Fraction(0)) - self.b**2

    def first_risk(self) -> Fraction:
        """Exactly."""
        size = range(len(self.A))
        S, A = self.exact, self.A
        E = [[self.b * sum(S[i][k] * A[k][j] for k in size) - (i == j) for j in size] for i in size]
        return sum((E[i][j] * S[j][k] * E[i][k] for i in size for j in size for k in size), Fraction(0)) / 2

    def risk(self, A: Array, b: float) -> float:
        E = b * self.S @ A - np.eye(len(A))
        return float(np.trace(E @ self.S @ E.T)) / 2

    def velocity(self, A: Array, b: float) -> tuple[Array, float]:
        Q = self.S @ (b * self.S @ A - np.eye(len(A))) @ self.S
        return -b * Q, -float((A * Q).sum())

    def run(self) -> list[tuple[float, Array, float]]:
        """Times, A and b: steps of descent, or those of Runge-Kutta, as many as are allowed."""
        key = repr((self.exact, self.A, self.b, self.step))
        if key not in _RUNS:
            _RUNS[key] = self._followed()
        return _RUNS[key]

    def _followed(self) -> list[tuple[float, Array, float]]:
        A, b, time = np.array(self.A, float), float(self.b), 0.0
        found = [(time, A, b)]
        top = float(np.linalg.eigvalsh(self.S)[-1])
        while len(found) < _STEPS and abs(b) + abs(A).max() < _HUGE:
            if self.discrete:
                dA, db = self.velocity(A, b)
                A, b, time = A + float(self.step) * dA, b + float(self.step) * db, time + 1
            else:
                stiff = top**3 * (float((A * A).sum()) + b * b) + top**1.5 * self.risk(A, b) ** 0.5
                h = 0.1 / (stiff + 1e-12)
                (A, b), time = self.flown(A, b, h), time + h
            found.append((time, A, b))
        return found

    def flown(self, A: Array, b: float, h: float) -> tuple[Array, float]:
        """A step of Runge-Kutta."""
        k1 = self.velocity(A, b)
        k2 = self.velocity(A + h / 2 * k1[0], b + h / 2 * k1[1])
        k3 = self.velocity(A + h / 2 * k2[0], b + h / 2 * k2[1])
        k4 = self.velocity(A + h * k3[0], b + h * k3[1])
        found = A + h / 6 * (k1[0] + 2 * k2[0] + 2 * k3[0] + k4[0])
        return found, b + h / 6 * (k1[1] + 2 * k2[1] + 2 * k3[1] + k4[1])

    def risk_when(self, run: list[tuple[float, Array, float]], at: float) -> float | None:
        """R at a time; None where the run does not reach it."""
        before = [point for point in run if point[0] <= at]
        if len(before) == len(run):
            return None
        time, A, b = before[-1]
        return self.risk(A, b) if self.discrete else self.risk(*self.flown(A, b, at - time))


class _Limit:
    """What is stated of the limit."""

    def __init__(self, stated: Any, task: _Task, folder: Path) -> None:
        require_record(stated, "limit", {"sign"}, {"A", "b", "radius", "invariant", "shift"})
        require(stated["sign"] in ("positive", "negative"), "the sign")
        self.sign = 1 if stated["sign"] == "positive" else -1
        named = [name in stated for name in ("A", "b", "radius")]
        require(all(named) or not any(named), "a point in part")
        self.point = None
        if all(named):
            table, radius = read_table(stated["A"], folder), read_number(stated["radius"])
            require((len(table), len(table[0])) == (len(task.A), len(task.A)) and radius >= 0, "the point")
            self.point = table, read_number(stated["b"]), radius
        self.invariant = None
        if "invariant" in stated:
            require_record(stated["invariant"], "invariant", {"lower", "upper"})
            self.invariant = read_number(stated["invariant"]["lower"]), read_number(stated["invariant"]["upper"])
            require(self.invariant[0] <= self.invariant[1], "bounds")

        self.shift = None
        if "shift" in stated:
            columns = [solved(task.exact, unit) for unit in identity_matrix(len(task.exact))]
            inverse = transposed([column for column in columns if column is not None])
            self.shift = shifted(stated["shift"], task.exact, inverse, folder)

    def off(self, task: _Task, invariant: Any) -> Any:
        """How far the stated point is from the Bayes point with this invariant."""
        with mp.workdps(_DIGITS):
            inverse = mp.matrix([[to_real(x) for x in row] for row in task.exact]) ** -1
            square = mp.fsum(x * x for x in inverse)
            b = self.sign * mp.sqrt((mp.sqrt(invariant**2 + 4 * square) - invariant) / 2)
            assert self.point is not None
            size = range(len(task.A))
            gaps = [inverse[i, j] / b - to_real(self.point[0][i][j]) for i in size for j in size]
            return mp.sqrt(mp.fsum(gap * gap for gap in [*gaps, b - to_real(self.point[1])]))


def _doubts(
    task: _Task, begins: Fraction, rate: Fraction, bounds: Any, length: Fraction | None, limit: Any
) -> list[tuple[str, bool]]:
    """Names of what was looked at, and whether it is false."""
    found = [("R at the start", task.first_risk() > bound) for time, bound in bounds if time == 0]
    if limit is not None and begins == 0:
        found.append(("sign", task.b * limit.sign <= 0))
    if limit is not None and limit.shift is not None:
        found.append(("the risk at test time", limit.shift[0] != limit.shift[1]))
    if not task.discrete and limit is not None:
        with mp.workdps(_DIGITS):
            if limit.point is not None:
                found.append(("limit", limit.off(task, to_real(task.invariant)) > to_real(limit.point[2])))
        if limit.invariant is not None:
            found.append(("invariant", not limit.invariant[0] <= task.invariant <= limit.invariant[1]))
    run = task.run()
    return found + _along(task, run, float(begins), rate, bounds, limit) + _travelled(run, float(begins), length)


def _along(
    task: _Task, run: list[tuple[float, Array, float]], begins: float, rate: Fraction, bounds: Any, limit: Any
) -> list[tuple[str, bool]]:
    """The bounds along the run. R decreases along the flow: a bound at a time holds at all later ones."""
    found = []
    factor = 1 - 2 * float(task.step) * float(rate)
    if task.discrete and factor <= 0:
        return [("the factor", True)]
    falls = -np.log(factor) if task.discrete else 2 * float(rate)
    for time, A, b in run:
        risk = task.risk(A, b)
        if not np.isfinite(risk) or risk < _SMALL:
            continue
        if time >= begins:
            fall = np.exp(-min(falls * (time - begins), 700))
            found.append(("rate", risk > float(bounds[0][1]) * fall * (1 + _TRUSTED) + _SMALL))
            if limit is not None:
                found.append(("sign later", b * limit.sign < -_TRUSTED))
    for at, bound in bounds:
        known = task.risk_when(run, float(at))
        if known is not None:
            found.append((f"R at {float(at)}", known > float(bound) * (1 + _TRUSTED) + _SMALL))
    if task.discrete and abs(run[-1][2]) + abs(run[-1][1]).max() >= _HUGE:
        found.append(("divergence", True))
    return found


def _travelled(run: list[tuple[float, Array, float]], begins: float, length: Fraction | None) -> list[tuple[str, bool]]:
    """The path is longer than each of its chords."""
    later = [(A, b) for time, A, b in run if time >= begins and np.isfinite(b)]
    if length is None or len(later) < 2:
        return []
    (A, b), (C, c) = later[0], later[-1]
    chord = float(np.linalg.norm(np.append(A - C, b - c)))
    return [("length", chord > float(length) * (1 + _TRUSTED) + _TRUSTED * 1e-3)]
