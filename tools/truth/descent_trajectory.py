"""Whether a certificate of `descent-trajectory` is true: both descents by mpmath, step by step.

Softmax weights are taken from their definition, derivatives of tilted means of laws by differences, and the gradient
of the population risk from one term for each coordinate of the task. Of a Gronwall bound the gap and the expansion
are looked at, in doubles, at some points of the tube: one that exceeds what is stated shows it to be false.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from mpmath import mp, mpf

from tools.truth.judgement import Comparison, Judgement, Truth, judge_all
from tools.truth.laws import read_law
from tools.truth.reading import (
    Table,
    Vector,
    inner_product,
    read_bounds,
    read_count,
    read_covariance,
    read_items,
    read_lengths,
    read_number,
    read_table,
    read_vector,
    require,
    require_record,
    split,
    times,
    to_real,
)

Reals = list[list[mpf]]
# Weights (U, V); (A, b) with V = ((b)) for regression.
Point = tuple[Reals, Reals]
Moments = Callable[[list[mpf]], tuple[list[mpf], Reals]]
Slope = Callable[[Point], tuple[mpf, Point]]

_TRIED = 3
_ROUNDING = 1e-7
_MOST_STEPS = 100_000
_KEPT = 8
# Beyond so many steps the second opinion has none.
_FEW_STEPS = 12


@dataclass
class Run:
    """Both losses with their gradients, the start and the step; points by the digits that they were computed with."""

    finite: Slope
    infinite: Slope
    start: tuple[Table, Table]
    step: Fraction
    steps: int
    names: tuple[str, str]
    _points: dict[tuple[int, str], list[Point]] = field(default_factory=dict)
    _values: dict[tuple[int, str, int, str], tuple[mpf, Point]] = field(default_factory=dict)

    def point(self, k: int, side: str) -> Point:
        found = self._points.setdefault((mp.dps, side), [])
        if not found:
            found.append(_reals(*self.start))
        while len(found) <= k:
            _, slope = self.value(side, len(found) - 1, side)
            found.append(_moved(found[-1], slope, -to_real(self.step)))
        return found[k]

    def loss(self, side: str) -> Slope:
        return self.finite if side == "finite" else self.infinite

    def compared(self, k: int, at: str) -> tuple[tuple[mpf, Point], tuple[mpf, Point]]:
        sides = ("finite", "infinite") if at == "each" else (at, at)
        return self.value("finite", k, sides[0]), self.value("infinite", k, sides[1])

    def value(self, side: str, k: int, at: str) -> tuple[mpf, Point]:
        """The loss of a side, and its gradient, at the point of a descent."""
        key = (mp.dps, side, k, at)
        if key not in self._values:
            self._values[key] = self.loss(side)(self.point(k, at))
        return self._values[key]


def judge_descent(given: Any, asserts: Any, witness: Any, folder: Path) -> Judgement:
    """True or false as far as digits go; open where a tube is stated and nothing speaks against it."""
    run = _known(given, folder)
    require_record(asserts, "asserts", set(), {"distance", "risk_gap", "gradient_gap", "checkpoints", "gronwall"})
    require_record(witness, "witness", set(), {"bits"})
    if "bits" in witness:
        read_count(witness["bits"], 2)
    found = _every_step(run, asserts, folder) + _checkpoints(run, asserts, folder)
    tube = _gronwall(run, asserts)
    require(len(found) > 0 or tube is not None, "nothing is stated")
    if run.steps > _FEW_STEPS:
        return Judgement(Truth.UNKNOWN, 0.0, "many steps")
    judgement = judge_all(found) if found else Judgement(Truth.TRUE, 1.0)
    if judgement.truth is Truth.FALSE or tube is None:
        return judgement
    return tube if tube.truth is Truth.FALSE or judgement.truth is Truth.TRUE else judgement


# -- what is given


_RUNS: dict[str, Run] = {}


def _known(given: Any, folder: Path) -> Run:
    """The run of what is given; the last few are kept, as many statements are about the same one."""
    key = f"{folder} {json.dumps(given)}"
    if key not in _RUNS:
        if len(_RUNS) > _KEPT:
            _RUNS.clear()
        _RUNS[key] = _run(given, folder)
    return _RUNS[key]


def _run(given: Any, folder: Path) -> Run:
    shared = {"model", "step", "steps", "tokens", "queries", "targets", "start"}
    require(isinstance(given, dict) and given.get("model") in ("regression", "attention"), "the model")
    regression = given["model"] == "regression"
    own = {"covariance", "labels"} if regression else {"laws"}
    require_record(given, "given", shared | own, {"lengths", "tasks"} if regression else {"lengths"})
    tokens, queries, targets = (read_table(given[name], folder) for name in ("tokens", "queries", "targets"))
    lengths = read_lengths(given, len(tokens), len(queries))
    require(len(targets) == len(queries), "another number of targets")
    step, steps = read_number(given["step"]), read_count(given["steps"])
    require(step > 0 and 1 <= steps <= _MOST_STEPS, "the step, or the steps")
    if regression:
        size = len(tokens[0])
        labels, covariance = read_table(given["labels"], folder), read_covariance(given["covariance"], folder)
        require(len(covariance) == size == len(queries[0]), "another dimension")
        require(len(labels) == len(tokens) and len(labels[0]) == len(targets[0]) == 1, "labels or targets")
        start = _weights(given["start"], ("A", "b"), folder)
        require(len(start[0]) == len(start[0][0]) == size, "a start of another shape")
        contexts = [_prompt(x, y) for x, y in zip(split(tokens, lengths), split(labels, lengths), strict=True)]
        infinite = _population(covariance)
        if "tasks" in given:
            tasks = read_table(given["tasks"], folder)
            require((len(tasks), len(tasks[0])) == (len(queries), size), "tasks of another shape")
            infinite = _loss([_task(w, covariance) for w in tasks], queries, targets)
        return Run(_loss(contexts, queries, targets), infinite, start, step, steps, ("A", "b"))
    require(isinstance(given["laws"], list) and len(given["laws"]) in (1, len(queries)), "the laws")
    laws = [read_law(law, folder) for law in given["laws"]]
    require({law.dimension for law in laws} == {len(tokens[0])}, "laws of another dimension")
    start = _weights(given["start"], ("U", "V"), folder)
    U, V = start
    require((len(U), len(U[0])) == (len(tokens[0]), len(queries[0])), "U of another shape")
    require((len(V), len(V[0])) == (len(targets[0]), len(tokens[0])), "V of another shape")
    contexts = [_prompt(z, z) for z in split(tokens, lengths)]
    each = laws if len(laws) == len(queries) else laws * len(queries)
    infinite = _loss([_tilted(law) for law in each], queries, targets)
    return Run(_loss(contexts, queries, targets), infinite, start, step, steps, ("U", "V"))


def _weights(
    stated: Any, names: tuple[str, str], folder: Path, others: frozenset[str] = frozenset()
) -> tuple[Table, Table]:
    require_record(stated, "weights", {*names, *others})
    last = [[read_number(stated["b"])]] if names[1] == "b" else read_table(stated["V"], folder)
    return read_table(stated[names[0]], folder), last


# -- losses


def _prompt(keys: Table, values: Table) -> Moments:
    """The softmax mean of the values, and its derivative by the tilt, weight by weight."""

    def moments(tilt: list[mpf]) -> tuple[list[mpf], Reals]:
        powers = [mp.exp(inner_product(key, tilt)) for key in keys]
        total = mp.fsum(powers)
        p = [power / total for power in powers]
        mean = [inner_product(column, p) for column in zip(*values, strict=True)]
        centre = [inner_product(column, p) for column in zip(*keys, strict=True)]
        slope = [
            [
                mp.fsum(
                    w * to_real(v[j]) * (to_real(k[a]) - centre[a]) for w, v, k in zip(p, values, keys, strict=True)
                )
                for a in range(len(centre))
            ]
            for j in range(len(mean))
        ]
        return mean, slope

    return moments


def _task(w: Vector, covariance: Table) -> Moments:
    row = times(covariance, w)
    return lambda tilt: ([inner_product(row, tilt)], [[to_real(entry) for entry in row]])


def _tilted(law: Any) -> Moments:
    """The tilted mean, and its derivative by symmetric differences at three times the digits."""

    def moments(tilt: list[mpf]) -> tuple[list[mpf], Reals]:
        digits = mp.dps
        with mp.workdps(3 * digits):
            h = mpf(10) ** -digits
            columns = []
            for a in range(len(tilt)):
                ends = [law.tilted_mean([x + s * h * (i == a) for i, x in enumerate(tilt)]) for s in (1, -1)]
                columns.append([(up - down) / (2 * h) for up, down in zip(*ends, strict=True)])
        return law.tilted_mean(tilt), [list(row) for row in zip(*columns, strict=True)]

    return moments


def _loss(contexts: list[Moments], queries: Table, targets: Table) -> Slope:
    """1/(2N) sum |V m(U q) - t|^2 and its gradient."""

    def at(point: Point) -> tuple[mpf, Point]:
        U, V = point
        risk, dU, dV = mpf(0), [[mpf(0)] * len(row) for row in U], [[mpf(0)] * len(row) for row in V]
        for moments, q, t in zip(contexts, queries, targets, strict=True):
            mean, slope = moments([inner_product(q, row) for row in U])
            r = [
                mp.fsum(x * y for x, y in zip(row, mean, strict=True)) - to_real(s) for row, s in zip(V, t, strict=True)
            ]
            risk += mp.fsum(x * x for x in r)
            back = [mp.fsum(V[o][j] * r[o] for o in range(len(r))) for j in range(len(mean))]
            for a in range(len(U)):
                pull = mp.fsum(slope[j][a] * back[j] for j in range(len(mean)))
                for b in range(len(U[0])):
                    dU[a][b] += pull * to_real(q[b])
            for o in range(len(V)):
                for j in range(len(mean)):
                    dV[o][j] += r[o] * mean[j]
        count = len(queries)
        return risk / (2 * count), ([[x / count for x in row] for row in dU], [[x / count for x in row] for row in dV])

    return at


def _population(covariance: Table) -> Slope:
    """1/2 sum_j (row_j of E) Sigma (row_j of E)', E = b Sigma A - I, and its gradient entry by entry."""
    size = range(len(covariance))

    def at(point: Point) -> tuple[mpf, Point]:
        A, b = point[0], point[1][0][0]
        S = [[to_real(x) for x in row] for row in covariance]
        SA = [[mp.fsum(S[i][k] * A[k][j] for k in size) for j in size] for i in size]
        E = [[b * SA[i][j] - (i == j) for j in size] for i in size]
        ES = [[mp.fsum(E[i][k] * S[k][j] for k in size) for j in size] for i in size]
        risk = mp.fsum(E[i][j] * ES[i][j] for i in size for j in size) / 2
        # dE_ij/dA_kl = b S_ik (j = l), dE_ij/db = (S A)_ij, and dR = sum ES_ij dE_ij.
        dA = [[b * mp.fsum(S[i][k] * ES[i][j] for i in size) for j in size] for k in size]
        return risk, (dA, [[mp.fsum(ES[i][j] * SA[i][j] for i in size for j in size)]])

    return at


def _reals(U: Table, V: Table) -> Point:
    return [[to_real(x) for x in row] for row in U], [[to_real(x) for x in row] for row in V]


def _moved(point: Point, along: Point, factor: mpf) -> Point:
    first, second = (
        [[x + factor * y for x, y in zip(*rows, strict=True)] for rows in zip(*pair, strict=True)]
        for pair in zip(point, along, strict=True)
    )
    return first, second


def _length(point: Point) -> mpf:
    return mp.sqrt(mp.fsum(x * x for table in point for row in table for x in row))


def _distance(first: Point, second: Point) -> mpf:
    return _length(_moved(first, second, mpf(-1)))


# -- what is asserted


def _every_step(run: Run, asserts: Any, folder: Path) -> list[Comparison]:
    found: list[Comparison] = []
    for name in ("distance", "risk_gap", "gradient_gap"):
        if name not in asserts:
            continue
        stated = asserts[name]
        require_record(stated, name, {"at_most"} if name == "distance" else {"at", "at_most"})
        at = stated.get("at", "each")
        require(at in ("each", "finite", "infinite"), "at")
        bounds = read_vector(stated["at_most"], folder)
        require(len(bounds) in (1, run.steps + 1), "another number of bounds")
        for k in range(min(run.steps, _FEW_STEPS) + 1):
            bound = bounds[k] if len(bounds) > 1 else bounds[0]
            if name == "distance" and k == bound == 0:
                continue  # 0 <= 0: both start at the same point
            found.append(Comparison(f"{name}[{k}]", lambda n=name, k=k, at=at: _gap(run, n, k, at), bound))
    return found


def _gap(run: Run, name: str, k: int, at: str) -> mpf:
    if name == "distance":
        return _distance(run.point(k, "finite"), run.point(k, "infinite"))
    (risk, slope), (other, another) = run.compared(k, at)
    return abs(risk - other) if name == "risk_gap" else _distance(slope, another)


def _checkpoints(run: Run, asserts: Any, folder: Path) -> list[Comparison]:
    found: list[Comparison] = []
    keys = {"distance", "finite", "infinite", "finite_risk", "infinite_risk"}
    for item in read_items(asserts, "checkpoints"):
        require_record(item, "a checkpoint", {"step"}, keys)
        k = read_count(item["step"])
        require(k <= run.steps and len(item) > 1, "a checkpoint")
        k = min(k, _FEW_STEPS)
        for name in sorted(keys & set(item)):
            if name in ("finite", "infinite"):
                found.append(_near(run, item[name], name, k, folder))
                continue
            value = lambda n=name, k=k: _number_at(run, n, k)  # noqa: E731
            found += [
                Comparison(name, value, bound, end == "at_most") for end, bound in read_bounds(item[name], name).items()
            ]
    return found


def _number_at(run: Run, name: str, k: int) -> mpf:
    if name == "distance":
        return _gap(run, name, k, "each")
    side = name.removesuffix("_risk")
    return run.value(side, k, side)[0]


def _near(run: Run, stated: Any, side: str, k: int, folder: Path) -> Comparison:
    U, V = _weights(stated, run.names, folder, frozenset({"radius"}))
    shapes = [(len(table), len(table[0])) for table in (U, V)]
    require(shapes == [(len(table), len(table[0])) for table in run.start], "a point of another shape")
    radius = read_number(stated["radius"])
    require(radius >= 0, "a negative radius")

    def value() -> mpf:
        return _distance(run.point(k, side), _reals(U, V))

    return Comparison(side, value, radius)


def _gronwall(run: Run, asserts: Any) -> Judgement | None:
    """None where no such bound is stated."""
    if "gronwall" not in asserts:
        return None
    stated = asserts["gronwall"]
    require_record(stated, "gronwall", {"radius", "gap", "rate"}, {"steps"})
    radius, gap, rate = (read_number(stated[name]) for name in ("radius", "gap", "rate"))
    steps = read_count(stated["steps"]) if "steps" in stated else run.steps
    require(min(radius, gap, rate) > 0 and 1 <= steps <= run.steps, "gronwall")
    if steps > _FEW_STEPS:
        return Judgement(Truth.OPEN, 0.0, "gronwall")
    if gap * ((1 + run.step * rate) ** steps - 1) / rate > radius:
        return Judgement(Truth.FALSE, 0.0, "gronwall.radius")
    with mp.workdps(20):
        random = np.random.default_rng(0)
        for k in range(steps):
            centre = run.point(k, "infinite")
            for place in range(_TRIED):
                off = [
                    [[mpf(x) for x in row] for row in random.normal(size=(len(table), len(table[0])))]
                    for table in centre
                ]
                inside = _moved(centre, (off[0], off[1]), (place > 0) * to_real(radius) / _length((off[0], off[1])))
                here = _distance(run.finite(inside)[1], run.infinite(inside)[1])
                if here > to_real(gap) * (1 + _ROUNDING):
                    return Judgement(Truth.FALSE, 0.0, "gronwall.gap")
                if _expansion(run, inside) > float(1 + run.step * rate) * (1 + _ROUNDING):
                    return Judgement(Truth.FALSE, 0.0, "gronwall.rate")
    return Judgement(Truth.OPEN, 0.0, "gronwall")


def _expansion(run: Run, point: Point) -> float:
    """The norm of I - eta Hess R_inf, second derivatives by differences."""
    shapes = [(len(table), len(table[0])) for table in point]
    places = [(t, i, j) for t, (rows, columns) in enumerate(shapes) for i in range(rows) for j in range(columns)]
    h, columns = mpf(10) ** -7, []
    for place in places:
        unit = tuple(
            [[mpf((t, i, j) == place) for j in range(s[1])] for i in range(s[0])] for t, s in enumerate(shapes)
        )
        ends = [run.infinite(_moved(point, unit, sign * h))[1] for sign in (1, -1)]
        columns.append([float((ends[0][t][i][j] - ends[1][t][i][j]) / (2 * h)) for t, i, j in places])
    matrix = np.eye(len(places)) - float(run.step) * np.array(columns)
    return float(np.linalg.norm(matrix, 2)) if np.isfinite(matrix).all() else np.inf
