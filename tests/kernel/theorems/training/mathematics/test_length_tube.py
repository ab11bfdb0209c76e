"""Tubes around flows of a range of lengths, beside flows in doubles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations_with_replacement, product
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from corpus import Cases
from flint import arb, arb_mat, fmpq

from certattn.kernel.document.certificate import loads
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.weight_fits import WeightFit
from certattn.kernel.theorems.training import length_tube
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
    return Flow.of(Spectrum([arb(s) for s in sigma], counts), fit, [arb(x) for x in start])


def equal(until: fmpq, count: int) -> list[fmpq]:
    """Durations of so many equal pieces up to a time."""
    return [until / count] * count


def sizes(piece: Piece) -> Array:
    """How far flows are off at its end, coordinate by coordinate."""
    return np.array([sum(float(abs(x).upper()) for x in row) for row in piece.error.tolist()])


def inside(piece: Piece, points: list[Array], slack: float = 1e-6) -> bool:
    """Whether points at equal times of a piece are as near to its parabola as they should be."""
    h, moving = int(piece.duration.p) / int(piece.duration.q), len(points[0])
    z, end, w, most = (
        np.array([float(x) for x in part])[:moving] for part in (piece.start, piece.end, piece.bend, piece.most)
    )
    for k, point in enumerate(points):
        t = h * k / (len(points) - 1)
        parabola = z + (end - z) * t / h + w * t * (t - h) / 2
        if (abs(point - parabola) > most * (1 + slack) + slack).any():
            return False
    return not (abs(points[-1] - end) > sizes(piece)[:moving] * (1 + slack) + slack).any()


def moved(slope: Callable[[Array], Array], point: Array, h: float) -> Array:
    """A step of Runge and Kutta down the slope."""
    k1 = slope(point)
    k2 = slope(point - h / 2 * k1)
    k3 = slope(point - h / 2 * k2)
    found: Array = point - h / 6 * (k1 + 2 * k2 + 2 * k3 + slope(point - h * k3))
    return found


# From the fit of 100 to 400 tokens, of all from 400 on, of all from 1000 on and of all from 3000 on.
RANGES = [
    ("LINE", 0, [1.0], [1], [0.5, 0.5], [100, 170, 300, 400]),
    ("LINE", 1, [1.0], [1], [0.5, 0.5], [400, 30_000]),
    ("INSIDE", 0, [1.0], [1], [0.0, 2.0], [1000, 5000]),
    ("PLANE", 0, [0.5, 1.0], [2, 1], [0.6, -0.2, 0.5], [3000]),
    ("LINE", 0, [0.8], [2], [-0.5, -0.6], [100, 250]),
]


@pytest.mark.parametrize(("name", "index", "sigma", "counts", "start", "lengths"), RANGES)
def test_the_tube_holds_simulated_flows(
    name: str, index: int, sigma: list[float], counts: list[int], start: list[float], lengths: list[int], tool: Tool
) -> None:
    truth, steps = tool("truth.risk_transfer"), 2
    with working_precision(BITS):
        flow = flow_of(sigma, counts, start, fit_of(name, index))
        pieces = list(follow(flow, [*equal(fmpq(1, 10), 3), *equal(fmpq(3, 20), 2)]))
        assert all(piece.is_proved for piece in pieces)
        assert pieces[-1].last == fmpq(1, 4)
        risks = [float(risk_bound(flow, piece).upper()) for piece in pieces]
    for length in lengths:
        task, point = truth.Task(sigma, counts, length), np.array(start)
        for piece, risk in zip(pieces, risks, strict=True):
            points = [point]
            for _ in range(steps):
                h = int(piece.duration.p) / int(piece.duration.q) / steps
                points.append(point := moved(task.finite_slope, point, h))
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
            pieces = list(follow(flow, equal(fmpq(1), count)))
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
        widths.append(float(sizes(pieces[-1]).max()))
    assert widths[1] < widths[0] / 8 < 1e-2


# Towards the valley of Bayes points, across which it contracts, and a while along it.
VALLEY = [1.5, 2.0], [1, 1], [0.5, 0.3, 1.2]


@pytest.mark.parametrize("follows", [-2.0, -0.3, 0.0, 0.4])
def test_any_line_may_be_looked_along(follows: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a start known up to a few hundredths: flows from its corners stay inside."""

    def line(jet: Jet, size: int) -> arb_mat:
        return arb_mat([[arb(follows) if j == 2 and i < 2 else arb(0) for j in range(size)] for i in range(size)])

    monkeypatch.setattr(length_tube, "_line", line)
    assert _inside_from_corners()


def test_distances_are_seen_from_the_line_that_fast_ones_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    """That makes the tube thinner."""
    thin = _width()
    assert _inside_from_corners()
    monkeypatch.setattr(length_tube, "_line", lambda jet, size: arb_mat(size, size))
    assert thin < 0.9 * _width()


def _tube() -> list[Piece]:
    with working_precision(BITS):
        flow = flow_of(*VALLEY, None)
        wide = replace(flow, start=[x + arb(0, "0.04") for x in flow.start])
        return list(follow(wide, equal(fmpq(1), 40)))


def _width() -> float:
    *_, last = _tube()
    assert last.is_proved
    return float(max(sizes(last)))


def _inside_from_corners() -> bool:
    sigma, counts, start = VALLEY
    s, n, pieces = np.array(sigma), np.array(counts), _tube()

    def slope(point: Array) -> Array:
        error = (point[-1] * s * point[:-1] - 1) * s**2
        return np.append(point[-1] * error, n @ (point[:-1] * error))

    for corner in product((-0.04, 0.04), repeat=3):
        point = np.array(start) + corner
        for piece in pieces:
            points = [point]
            for _ in range(8):
                points.append(point := moved(slope, point, 1 / 320))
            if not inside(piece, points, 1e-9):
                return False
    return True


class _Linear(Flow):
    """y' = M y, with M symmetric."""

    M = ((fmpq(-1), fmpq(1, 2)), (fmpq(1, 2), fmpq(1, 4)))

    def risk(self, at: Any, order: int) -> Jet:
        M, each = self.M, range(2)
        parts = {(): -sum((M[i][j] * at[i] * at[j] for i in each for j in each), arb(0)) / 2}
        parts |= {(i,): -sum((M[i][j] * at[j] for j in each), arb(0)) for i in each}
        parts |= {(i, j): arb(-M[i][j]) for i in each for j in each if i <= j}
        parts |= {key: arb(0) for n in (3, 4) for key in combinations_with_replacement(each, n)}
        return Jet(1, parts)

    def rest(self, box: Any) -> Rest:
        return Rest(arb(0), [arb("0.01"), arb("0.02")])


def test_a_linear_flow_and_what_it_may_be_off_by() -> None:
    """y' = M y + e with |e_i| <= (0.01, 0.02): e that changes its sign as is worst for a coordinate is in the tube,
    which is wider than that by a few per cent at most."""
    M = np.array([[-1, 0.5], [0.5, 0.25]])
    start = np.array([0.1, 0.2])
    with working_precision(BITS):
        flow = _Linear(Spectrum([arb(1)], [1]), None, [arb(1, "0.1"), arb(-1, "0.2")])
        pieces = list(follow(flow, equal(fmpq(1), 80)))
        assert all(piece.is_proved for piece in pieces)
    powers, vectors = np.linalg.eigh(M)

    def grown(t: float) -> Array:
        return vectors @ np.diag(np.exp(t * powers)) @ vectors.T

    times = (np.arange(2000) + 0.5) / 2000
    forced = np.mean([abs(grown(t)) for t in times], axis=0) @ [0.01, 0.02]
    most = abs(grown(1)) @ start + forced
    middle = grown(1) @ [1, -1]
    error = sizes(pieces[-1])
    off = abs(middle - [float(x) for x in pieces[-1].end])
    assert (error >= most + off - 1e-7).all()
    assert (error <= 1.05 * most).all()
    # On the last piece flows may be farther off than at its end.
    assert all(float(x) >= y - 1e-9 for x, y in zip(pieces[-1].most, error, strict=True))


def test_distances_along_a_valley_do_not_grow() -> None:
    """Of a start known up to rounding: the image of a square under a contraction, not a box around it that turns."""

    class Turning(_Linear):
        M = ((fmpq(-2), fmpq(2)), (fmpq(2), fmpq(-2)))

        def rest(self, box: Any) -> Rest:
            return Rest(arb(0), [arb(0), arb(0)])

    with working_precision(BITS):
        flow = Turning(Spectrum([arb(1)], [1]), None, [arb(0, "0.1"), arb(0, "0.1")])
        pieces = list(follow(flow, equal(fmpq(4), 200)))
    # e^(tM) halves the sum of both to each of them and lets their difference vanish: no entry is ever above 0.1.
    assert (sizes(pieces[-1]) <= 0.1001).all()
    assert (sizes(pieces[-1]) >= 0.0999).all()


def test_lengths_rest() -> None:
    with working_precision(BITS):
        flow = flow_of([1.0], [1], [0.5, 0.5], fit_of("LINE", 0))
        assert flow.start[-1].contains(fmpq(1, 4))
        assert flow.start[-1].contains(1)
        for piece in follow(flow, equal(fmpq(1, 4), 4)):
            assert (piece.start[-1], piece.end[-1], piece.bend[-1]) == (piece.start[-1], piece.start[-1], 0)
            assert abs(piece.start[-1] - arb("0.625")) < 1e-9
            assert arb("0.3749") < piece.most[-1] < arb("0.3751")
            assert 0.3749 < sizes(piece)[-1] < 0.3751
        slopes = flow.risk([*flow.start[:-1], arb("0.5")], 2)
        assert all(x == 0 for x in [flow.field(slopes)[-1], *(flow.field(slopes, j)[-1] for j in range(3))])


def test_pieces_are_a_parabola_apart() -> None:
    """(1, 0) apart at the start, (1, 1) at the end, bends 8 apart, errors 1/10: of coordinates that count 3 and 1."""

    def piece(start: list[int], end: list[int], bend: int, error: str) -> Piece:
        ends = [[arb(x) for x in part] for part in (start, end)]
        return Piece(fmpq(1), fmpq(1), *ends, [arb(bend), arb(0)], [arb(error), arb(0)], arb_mat(2, 2))

    one, other = piece([0, 0], [0, 0], 8, "0.1"), piece([1, 0], [1, 1], 0, "0.2")
    found = one.apart(other, [3, 1])
    assert abs(found - (3 * (1 + 1 + arb("0.3")) ** 2 + 1).sqrt()) < 1e-9
    assert one.apart(one, [3, 1]) > 0


def test_a_flow_that_is_lost_ends_there() -> None:
    with working_precision(BITS):
        flow = flow_of([1.0], [1], [0.5, 0.5], fit_of("LINE", 0))
        pieces = list(follow(flow, equal(fmpq(20), 40)))
        assert len(pieces) < 40
        assert all(piece.is_proved for piece in pieces[:-1])
        assert not pieces[-1].is_proved
        assert not (risk_bound(flow, pieces[-1]) <= 10**9)
        # And with one long piece at once.
        assert not next(follow(flow, equal(fmpq(20), 1))).is_proved
        # A start whose means are infinite has no tube at all.
        far = replace(flow, start=[arb(2), arb("0.5"), flow.start[-1]])
        assert not next(follow(far, equal(fmpq(1, 100), 1))).is_proved


def test_a_start_known_up_to_rounding_is_in_the_tube() -> None:
    with working_precision(BITS):
        flow = flow_of([1.0], [1], [0.5, 0.5], None)
        wide = replace(flow, start=[arb("0.5", "0.01"), arb("0.5", "0.02")])
        first, second = next(follow(flow, equal(fmpq(1, 10), 1))), next(follow(wide, equal(fmpq(1, 10), 1)))
        assert all((x >= y) is True for x, y in zip(second.most, [arb("0.0099"), arb("0.0199")], strict=True))
        assert all((x > y) is True for x, y in zip(second.most, first.most, strict=True))
    assert (sizes(second) > sizes(first)).all()
    assert (sizes(first) < 1e-3).all()
    # Starts at the corners are followed by tubes that are within that of all of them.
    for one, two in product((-0.01, 0.01), (-0.02, 0.02)):
        with working_precision(BITS):
            corner = next(follow(replace(flow, start=[arb(0.5 + one), arb(0.5 + two)]), equal(fmpq(1, 10), 1)))
        off = [abs(float(x - y)) for x, y in zip(corner.end, second.end, strict=True)]
        assert (off <= sizes(second) + sizes(corner)).all()


def test_ends_are_rounded_within_the_tube() -> None:
    """With few bits the kept parabola ends elsewhere, by more than anything else."""
    with working_precision(12):
        flow = _Linear(Spectrum([arb(1)], [1]), None, [arb(fmpq(1, 3)).mid(), arb(fmpq(-1, 7)).mid()])
        pieces = list(follow(flow, equal(fmpq(1, 3), 5)))
    M, point = np.array([[-1, 0.5], [0.5, 0.25]]), np.array([float(x) for x in pieces[0].start])
    for piece in pieces:
        points = [point]
        for _ in range(8):
            points.append(point := moved(lambda at: -M @ at, point, 1 / 120))
        assert inside(piece, points, 1e-9)
