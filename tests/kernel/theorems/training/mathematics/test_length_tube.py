"""Tubes around flows of a range of lengths, beside flows in doubles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from corpus import Cases
from flint import arb, fmpq

from certattn.kernel.document.certificate import loads
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.weight_fits import WeightFit
from certattn.kernel.theorems.training.finite_gap import Jet, Rest, Spectrum
from certattn.kernel.theorems.training.length_tube import Flow, Piece, follow, risk_bound
from certattn.kernel.theorems.training.risk_transfer import read

Array = np.ndarray[Any, Any]
Tool = Callable[[str], ModuleType]
BITS = 64
cases = Cases("transfer_cases")


def fit_of(name: str, index: int) -> WeightFit:
    """Of a range of an accepted certificate."""
    text = next(getattr(cases, name).cases()).text
    lengths = read(loads(text, name)).lengths
    assert lengths is not None
    return lengths.ranges[index].fit


def flow_of(sigma: list[float], counts: list[int], start: list[float], fit: WeightFit | None) -> Flow:
    return Flow(Spectrum([arb(s) for s in sigma], counts), fit, [arb(x) for x in start])


def inside(piece: Piece, points: list[Array], slack: float = 1e-6) -> bool:
    """Whether points at equal times of a piece are as near to its parabola as they should be."""
    h = int(piece.duration.p) / int(piece.duration.q)
    z, end, w, before, after = (
        np.array([float(x) for x in part]) for part in (piece.start, piece.end, piece.bend, piece.before, piece.error)
    )
    for k, point in enumerate(points):
        t = h * k / (len(points) - 1)
        parabola = z + (end - z) * t / h + w * t * (t - h) / 2
        if (abs(point - parabola) > np.maximum(before, after) * (1 + slack) + slack).any():
            return False
        near = before + (after - before) * t / h
        if (abs(point - parabola) > near * (1 + slack) + slack).any():
            return False
    return True


def moved(slope: Callable[[Array], Array], point: Array, h: float) -> Array:
    """A step of Runge and Kutta down the slope."""
    k1 = slope(point)
    k2 = slope(point - h / 2 * k1)
    k3 = slope(point - h / 2 * k2)
    found: Array = point - h / 6 * (k1 + 2 * k2 + 2 * k3 + slope(point - h * k3))
    return found


# From the fit of 100 to 1000 tokens, of all from 1000 on and of all from 3000 on.
RANGES = [
    ("LINE", 0, [1.0], [1], [0.5, 0.5], [100, 400, 1000]),
    ("LINE", 1, [1.0], [1], [0.5, 0.5], [1000, 30_000]),
    ("INSIDE", 0, [1.0], [1], [0.0, 2.0], [1000, 5000]),
    ("PLANE", 0, [0.5, 1.0], [2, 1], [0.6, -0.2, 0.5], [3000]),
    ("LINE", 1, [0.8], [2], [-0.5, -0.6], [1000, 2000]),
]


@pytest.mark.parametrize(("name", "index", "sigma", "counts", "start", "lengths"), RANGES)
def test_the_tube_holds_simulated_flows(
    name: str, index: int, sigma: list[float], counts: list[int], start: list[float], lengths: list[int], tool: Tool
) -> None:
    truth, steps = tool("truth.risk_transfer"), 2
    with working_precision(BITS):
        flow = flow_of(sigma, counts, start, fit_of(name, index))
        pieces = list(follow(flow, fmpq(1, 4), 5))
        assert all(piece.is_proved for piece in pieces)
        assert pieces[-1].last == fmpq(1, 4)
        risks = [float(risk_bound(flow, piece).upper()) for piece in pieces]
    for length in lengths:
        task, point = truth.Task(sigma, counts, length), np.array(start)
        for piece, risk in zip(pieces, risks, strict=True):
            points = [point]
            for _ in range(steps):
                points.append(point := moved(task.finite_slope, point, 0.05 / steps))
            assert inside(piece, points, 1e-5)
            assert task.finite_risk(point) <= risk + 1e-5


@pytest.mark.parametrize(
    ("sigma", "counts", "start"),
    [([1.0], [1], [0.5, 0.5]), ([0.25], [3], [4.0, 2.5]), ([0.5, 1.5], [2, 1], [0.7, -0.4, 0.8])],
)
def test_infinite_prompts_are_followed_closely(sigma: list[float], counts: list[int], start: list[float]) -> None:
    """Steps of Runge and Kutta a hundred times finer; the tube is thin, and grows thinner with more pieces."""
    s, n, widths = np.array(sigma), np.array(counts), []

    def slope(point: Array) -> Array:
        a, b = point[:-1], point[-1]
        error = (b * s * a - 1) * s**2
        return np.append(b * error, n @ (a * error))

    for count in (20, 80):
        with working_precision(BITS):
            flow = flow_of(sigma, counts, start, None)
            pieces = list(follow(flow, fmpq(1), count))
        point = np.array(start)
        for piece in pieces:
            points = [point]
            for _ in range(4):
                for _ in range(320 // count):
                    point = moved(slope, point, 1 / 1280)
                points.append(point)
            assert inside(piece, points, 1e-11)
        risk = float(n @ (s * (point[-1] * s * point[:-1] - 1) ** 2) / 2)
        assert risk <= float(risk_bound(flow, pieces[-1]).upper()) <= risk + 0.03
        widths.append(max(float(x) for x in pieces[-1].error))
    assert widths[1] < widths[0] / 8 < 1e-2


class _Linear(Flow):
    """y' = M y, with M symmetric."""

    M = ((fmpq(-1), fmpq(1, 2)), (fmpq(1, 2), fmpq(1, 4)))

    def risk(self, at: Any, order: int) -> Jet:
        M, each = self.M, range(2)
        parts = {(): -sum((M[i][j] * at[i] * at[j] for i in each for j in each), arb(0)) / 2}
        parts |= {(i,): -sum((M[i][j] * at[j] for j in each), arb(0)) for i in each}
        parts |= {(i, j): arb(-M[i][j]) for i in each for j in each if i <= j}
        parts |= {(i, j, k): arb(0) for i in each for j in each for k in each if i <= j <= k}
        return Jet(order, parts)

    def rest(self, box: Any) -> Rest:
        return Rest(arb(0), [arb("0.01"), arb("0.02")])


def test_a_linear_flow_and_what_it_may_be_off_by() -> None:
    """y' = M y + e with |e_i| <= (0.01, 0.02): the extremes of e constant in sign are in the tube, which is not much
    wider than they need."""
    M = np.array([[-1, 0.5], [0.5, 0.25]])
    with working_precision(BITS):
        flow = _Linear(Spectrum([arb(1)], [1]), None, [arb(1, "0.001"), arb(-1, "0.002")])
        pieces = list(follow(flow, fmpq(1), 20))
        assert all(piece.is_proved for piece in pieces)
    values, vectors = np.linalg.eigh(M)
    grown = vectors @ np.diag(np.exp(values)) @ vectors.T
    forced = vectors @ np.diag(np.expm1(values) / values) @ vectors.T
    middle, error = (np.array([float(x) for x in part]) for part in (pieces[-1].end, pieces[-1].error))
    most = np.zeros(2)
    for one in (-1, 1):
        for two in (-1, 1):
            end = grown @ np.array([1 + one * 0.001, -1 + two * 0.002]) + forced @ [one * 0.01, two * 0.02]
            assert (abs(end - middle) <= error).all()
            most = np.maximum(most, abs(end - middle))
    assert (error <= 1.25 * most).all()


def test_pieces_are_a_parabola_apart() -> None:
    """(1, 0) apart at the start, (1, 1) at the end, bends 8 apart, errors 1/10: of coordinates that count 3 and 1."""

    def piece(start: list[int], end: list[int], bend: int, error: str) -> Piece:
        ends = [[arb(x) for x in part] for part in (start, end)]
        return Piece(fmpq(1), fmpq(1), *ends, [arb(bend), arb(0)], [arb(0), arb(0)], [arb(error), arb(0)])

    one, other = piece([0, 0], [0, 0], 8, "0.1"), piece([1, 0], [1, 1], 0, "0.2")
    found = one.apart(other, [3, 1])
    assert abs(found - (3 * (1 + 1 + arb("0.3")) ** 2 + 1).sqrt()) < 1e-9
    assert one.apart(one, [3, 1]) > 0


def test_a_flow_that_is_lost_ends_there() -> None:
    with working_precision(BITS):
        flow = flow_of([1.0], [1], [0.5, 0.5], fit_of("LINE", 0))
        pieces = list(follow(flow, fmpq(20), 40))
        assert len(pieces) < 40
        assert all(piece.is_proved for piece in pieces[:-1])
        assert not pieces[-1].is_proved
        assert not (risk_bound(flow, pieces[-1]) <= 10**9)
        # And with one long piece at once.
        assert not next(follow(flow, fmpq(20), 1)).is_proved
        # A start whose means are infinite has no tube at all.
        far = replace(flow, start=[arb(2), arb("0.5")])
        assert not next(follow(far, fmpq(1, 100), 1)).is_proved


def test_a_start_known_up_to_rounding_is_in_the_tube() -> None:
    with working_precision(BITS):
        flow = flow_of([1.0], [1], [0.5, 0.5], None)
        wide = replace(flow, start=[arb("0.5", "0.01"), arb("0.5", "0.02")])
        first, second = next(follow(flow, fmpq(1, 10), 1)), next(follow(wide, fmpq(1, 10), 1))
        assert first.before == [0, 0]
        assert all((x >= y) is True for x, y in zip(second.before, [arb("0.0099"), arb("0.0199")], strict=True))
        assert all((x > y) is True for x, y in zip(second.error, first.error, strict=True))
