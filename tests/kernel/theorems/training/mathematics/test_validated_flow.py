"""Enclosed solutions, against closed forms and against an integrator of mpmath."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import mpmath
import pytest
from flint import arb, arb_mat, fmpq

from certattn.kernel.mathematics import validated_flow
from certattn.kernel.mathematics.balls import l2_norm, working_precision
from certattn.kernel.mathematics.enclosure import Enclosure
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.validated_flow import Step, Vector, integrate, steps
from certattn.kernel.theorems.training.regression import BallMatrix, Parameters, Regression, flat
from certattn.kernel.theorems.training.regression_flow import RegressionFlow

COVARIANCE = ExactMatrix.rational([[fmpq(1), fmpq(1, 2)], [fmpq(1, 2), fmpq(1)]])
A = ExactMatrix.rational([[fmpq(1, 2), fmpq(-1, 4)], [fmpq(1, 8), fmpq(3, 8)]])
START = Parameters(A, fmpq(1, 2))


class Linear:
    """z' = M z."""

    def __init__(self, rows: list[list[fmpq]], rate: arb) -> None:
        self._matrix = arb_mat([[arb(x) for x in row] for row in rows])
        self._rate = rate

    def coefficients(self, point: Vector, order: int) -> list[Vector]:
        found = [point]
        for k in range(order):
            image = self._matrix * arb_mat(len(point), 1, found[-1])
            found.append([x / (k + 1) for x in image.entries()])
        return found

    def excess(self, coefficients: list[Vector], duration: arb) -> Vector:
        return [l2_norm((self._matrix * arb_mat(len(coefficients[-1]), 1, coefficients[-1])).entries()).upper()]

    def expansion(self, ball: Enclosure) -> arb:
        return self._rate


class Square:
    """z' = z^2: z(t) = z(0) / (1 - z(0) t), which ends at t = 1 / z(0)."""

    def coefficients(self, point: Vector, order: int) -> list[Vector]:
        return [[point[0] ** (k + 1)] for k in range(order + 1)]

    def excess(self, coefficients: list[Vector], duration: arb) -> Vector:
        z, n = [abs(entry[0]) for entry in coefficients], len(coefficients) - 1
        return [sum((z[j] * z[k - j] for j in range(k - n, n + 1)), arb(0)).upper() for k in range(n, 2 * n + 1)]

    def expansion(self, ball: Enclosure) -> arb:
        return 2 * ball.box[0].upper()


ROTATION = [[fmpq(0), fmpq(1)], [fmpq(-1), fmpq(0)]]


def point(*entries: fmpq) -> Enclosure:
    return Enclosure([arb(entry) for entry in entries], arb(0))


def regression_start() -> Enclosure:
    return Enclosure(flat(Parameters(BallMatrix.around(START.A), arb(START.b))), arb(0))


def distance(found: Enclosure, truth: Vector) -> arb:
    return l2_norm([x - y for x, y in zip(found.centre, truth, strict=True)])


def test_a_rotation_is_enclosed_over_many_turns() -> None:
    times = [fmpq(0), fmpq(1, 3), fmpq(200)]
    with working_precision(128):
        found = integrate(Linear(ROTATION, arb(0)), point(fmpq(1), fmpq(0)), times, 24)
    assert set(found.found) == set(times)
    assert set(found.found) == set(times)
    with working_precision(256):
        for time, enclosed in found.found.items():
            truth = [arb(time).cos(), -arb(time).sin()]
            assert (distance(enclosed, truth) <= enclosed.error) is True
            assert (enclosed.error < arb(10) ** -34) is True


def test_a_start_of_some_radius_keeps_it_where_nothing_grows() -> None:
    with working_precision(128):
        start = Enclosure([arb(1), arb(0)], arb(1) / 16)
        found = integrate(Linear(ROTATION, arb(0)), start, [fmpq(30)], 24)
        assert (found.found[fmpq(30)].error < (arb(1) + arb(10) ** -30) / 16) is True


def test_where_distances_shrink_the_error_does() -> None:
    with working_precision(128):
        start = Enclosure([arb(1)], arb(1) / 16)
        found = integrate(Linear([[fmpq(-1)]], arb(-1)), start, [fmpq(10)], 24).found[fmpq(10)]
        assert (found.error < arb(-10).exp() / 15) is True
        assert (distance(found, [17 * arb(-10).exp() / 16]) <= found.error) is True
        assert (distance(found, [15 * arb(-10).exp() / 16]) <= found.error) is True


def test_a_solution_that_ends_is_never_enclosed_after_its_end() -> None:
    with working_precision(64):
        found = integrate(Square(), point(fmpq(1)), [fmpq(1, 2), fmpq(1), fmpq(2)], 12)
        assert fmpq(2) not in found.found
        assert set(found.found) == {fmpq(1, 2)}
        assert (distance(found.found[fmpq(1, 2)], [arb(2)]) <= found.found[fmpq(1, 2)].error) is True


@pytest.mark.parametrize("order", [5, 8, 12, 30])
def test_every_order_is_sound(order: int) -> None:
    with working_precision(32):
        found = integrate(Square(), point(fmpq(-3, 2)), [fmpq(1)], order).found[fmpq(1)]
        assert (distance(found, [arb(-3) / 5]) <= found.error) is True
        assert (found.error < arb(10) ** -6) is True


def test_the_number_of_steps_is_limited() -> None:
    with working_precision(64):
        found = integrate(Linear(ROTATION, arb(0)), point(fmpq(1), fmpq(0)), [fmpq(1, 100), fmpq(50)], 10, most_steps=3)
    assert (found.is_cut, found.steps, set(found.found)) == (True, 3, {fmpq(1, 100)})


@pytest.mark.parametrize("bad", [arb.nan(), arb.pos_inf()])
@pytest.mark.parametrize("where", ["start", "error", "field"])
def test_what_is_not_finite_encloses_nothing(bad: arb, where: str) -> None:
    start = Enclosure([bad if where == "start" else arb(1)], bad if where == "error" else arb(0))
    with working_precision(64):
        field = Linear([[fmpq(1)]], bad if where == "field" else arb(1))
        found = integrate(field, start, [fmpq(1)], 10)
    assert (found.found, found.is_cut) == ({}, False)


@pytest.mark.heavy
def test_near_an_equilibrium_the_flow_rests_for_long() -> None:
    early, late, never = fmpq(60), fmpq(10) ** 6, fmpq(10) ** 12
    with working_precision(64):
        found = integrate(RegressionFlow(COVARIANCE), regression_start(), [early, late, never], 16)
        # What it may have moved without being seen to move, and how paths may part in the meantime, ends it.
        assert (found.is_cut, set(found.found)) == (False, {early, late})
        assert found.steps < 1000
        assert (found.found[late].error < arb(10) ** -8) is True
        moved = distance(found.found[late], found.found[early].centre)
        assert (moved <= found.found[late].error + arb(10) ** -9) is True
    with working_precision(128):
        found = integrate(RegressionFlow(COVARIANCE), regression_start(), [never], 32)
        assert (found.found[never].error < arb(10) ** -20) is True


def test_an_unstable_equilibrium_is_left() -> None:
    """z' = z from 10^-6: nothing that may be taken to rest."""
    with working_precision(64):
        found = integrate(Linear([[fmpq(1)]], arb(1)), point(fmpq(1, 10**6)), [fmpq(20)], 16).found[fmpq(20)]
        truth = arb(20).exp() / 10**6
        assert (distance(found, [truth]) <= found.error) is True
        assert (found.error < truth / 10**9) is True


def test_steps_follow_each_other_and_hold_what_is_between() -> None:
    with working_precision(96):
        whole = list(steps(Linear(ROTATION, arb(0)), point(fmpq(1), fmpq(0)), fmpq(20), 20))
        assert (whole[0].first, whole[-1].last) == (fmpq(0), fmpq(20))
        assert all(before.last == after.first for before, after in pairwise(whole))
        for step in whole:
            first, last = step.first + step.duration / 4, step.first + step.duration / 2
            between = step.arc.over(arb((first + last) / 2 - step.first), arb((last - first) / 2))
            for k in range(5):
                time = first + (last - first) * k / 4
                truth = [arb(time).cos(), -arb(time).sin()]
                for enclosed in (step.at(time), between, step.tube):
                    assert (distance(enclosed, truth) <= enclosed.error) is True


def test_a_piece_is_as_narrow_as_the_motion_in_it() -> None:
    with working_precision(96):
        step = next(iter(steps(Linear(ROTATION, arb(0)), point(fmpq(1), fmpq(0)), fmpq(20), 20)))
        piece = arb(step.duration) / 128
        assert (step.arc.over(piece, piece).error < arb(step.duration) / 120) is True


# -- the flow of the regression risk


def velocity(parameters: Parameters) -> Parameters:
    return Regression(COVARIANCE, ExactMatrix.identity(2)).gradient(parameters).scaled(fmpq(-1))


def test_taylor_coefficients_solve_the_equation() -> None:
    """p' - F(p) vanishes at 0 like t^n, as the excess says it does."""
    order = 4
    with working_precision(256):
        coefficients = RegressionFlow(COVARIANCE).coefficients(regression_start().centre, order)
        flow = RegressionFlow(COVARIANCE)
        excess = flow.excess(coefficients, arb(1))
        for k in (6, 8):
            t = arb(2) ** -k
            value = [sum((entry[i] * t**n for n, entry in enumerate(coefficients)), arb(0)) for i in range(5)]
            slope = [
                sum((n * entry[i] * t ** (n - 1) for n, entry in enumerate(coefficients) if n), arb(0))
                for i in range(5)
            ]
            gradient = Regression(BallMatrix.around(COVARIANCE), BallMatrix.identity(2)).gradient(
                flow.parameters(value)
            )
            defect = l2_norm([x + y for x, y in zip(slope, flat(gradient), strict=True)])
            bound = sum((number * t ** (order + i) for i, number in enumerate(excess)), arb(0))
            assert (defect <= bound) is True
            assert (defect > bound / 1000) is True


def test_the_rate_of_expansion_bounds_second_derivatives() -> None:
    with working_precision(100):
        flow = RegressionFlow(COVARIANCE)
        ball = Enclosure(regression_start().centre, arb(1) / 8)
        bound = flow.expansion(ball)
        exact = Regression(COVARIANCE, ExactMatrix.identity(2))
        steepest = fmpq(0)
        for i in range(-1, 2):
            for j in range(-1, 2):
                moved = START + Parameters(
                    ExactMatrix.rational([[fmpq(i, 16), fmpq(j, 16)], [fmpq(0), fmpq(j, 16)]]), fmpq(i, 16)
                )
                residual = exact.residual(moved)
                for h in (fmpq(-1), fmpq(1)):
                    along = Parameters(residual.scaled(h), fmpq(1))
                    curvature = exact.second_derivative(moved, along) / along.inner(along)
                    steepest = min(steepest, curvature)
                    assert (arb(curvature) >= -bound) is True
        assert steepest < 0


def reference(start: Parameters) -> Callable[[fmpq], list[mpmath.mpf]]:
    """The flow by the Taylor integrator of mpmath."""

    def number(value: fmpq) -> mpmath.mpf:
        return mpmath.mpf(int(value.p)) / int(value.q)

    size = start.A.rows
    sigma = mpmath.matrix([[number(x) for x in row] for row in COVARIANCE.to_rows()])

    def slope(_: object, z: list[mpmath.mpf]) -> list[mpmath.mpf]:
        A, b = mpmath.matrix(size, size), z[-1]
        for i in range(size * size):
            A[i // size, i % size] = z[i]
        residual = sigma * (b * sigma * A - mpmath.eye(size)) * sigma
        flat = [residual[i // size, i % size] for i in range(size * size)]
        return [-b * x for x in flat] + [-sum(x * y for x, y in zip(flat, z[:-1], strict=True))]

    solution = mpmath.odefun(slope, 0, [number(x) for row in start.A.to_rows() for x in row] + [number(start.b)])
    return lambda time: solution(number(time))


@pytest.mark.heavy
def test_the_flow_agrees_with_another_integrator() -> None:
    times = [fmpq(1, 3), fmpq(1), fmpq(3)]
    with working_precision(128):
        found = integrate(RegressionFlow(COVARIANCE), regression_start(), times, 24)
    with mpmath.workdps(25):
        solution = reference(START)
        for time in times:
            enclosed = found.found[time]
            assert (enclosed.error < arb(10) ** -33) is True
            with working_precision(128):
                truth = [arb(mpmath.nstr(x, 25)) for x in solution(time)]
                assert (distance(enclosed, truth) < arb(10) ** -20) is True


@pytest.mark.parametrize("bits", [40, 64, 100])
def test_less_precision_encloses_what_more_does(bits: int) -> None:
    with working_precision(160):
        truth = integrate(RegressionFlow(COVARIANCE), regression_start(), [fmpq(20)], 32).found[fmpq(20)]
    with working_precision(bits):
        found = integrate(RegressionFlow(COVARIANCE), regression_start(), [fmpq(20)], 14).found[fmpq(20)]
    with working_precision(256):
        assert (distance(found, truth.centre) + truth.error <= found.error) is True
        assert (found.error < arb(2) ** (16 - bits)) is True


def test_every_start_of_a_ball_stays_in_the_enclosures() -> None:
    with working_precision(100):
        flow, start = RegressionFlow(COVARIANCE), regression_start()
        wide = integrate(flow, Enclosure(start.centre, arb(1) / 50), [fmpq(1)], 20).found[fmpq(1)]
        for i in range(5):
            moved = [x + (arb(1) / 50 if i == j else 0) for j, x in enumerate(start.centre)]
            end = integrate(flow, Enclosure([x.mid() for x in moved], arb(2) ** -90), [fmpq(1)], 20).found[fmpq(1)]
            assert (distance(wide, end.centre) <= wide.error + end.error) is True


def test_the_invariant_and_a_falling_risk() -> None:
    invariant = START.invariant()
    with working_precision(100):
        flow = RegressionFlow(COVARIANCE)
        before: Step | None = None
        for step in steps(flow, regression_start(), fmpq(10), 24):
            parameters = flow.parameters(step.end.box)
            assert (abs(parameters.invariant() - arb(invariant)) < arb(10) ** -25) is True
            assert before is None or (flow.risk(step.end) < flow.risk(before.end)) is True
            before = step


def test_equilibria_are_kept() -> None:
    inverse = ExactMatrix.rational([[fmpq(4, 3), fmpq(-2, 3)], [fmpq(-2, 3), fmpq(4, 3)]])
    with working_precision(100):
        for start in (Parameters(inverse, fmpq(1)), Parameters(ExactMatrix.zero(2, 2), fmpq(0))):
            enclosed = Enclosure(
                [arb(x).mid() for row in start.A.to_rows() for x in row] + [arb(start.b)], arb(2) ** -90
            )
            found = integrate(RegressionFlow(COVARIANCE), enclosed, [fmpq(1, 10)], 24).found[fmpq(1, 10)]
            truth = [arb(x) for row in start.A.to_rows() for x in row] + [arb(start.b)]
            assert (distance(found, truth) <= found.error) is True
            assert (found.error < arb(2) ** -85) is True


def test_an_error_that_is_a_ball_counts_at_its_upper_end() -> None:
    """Of the box [-1/4, 1/4] and an error between 1/2 and 3/2: 7/4, and nothing below."""
    widened = validated_flow._widened([arb(0, 0.25)], arb(1, 0.5))
    assert (widened.error >= fmpq(7, 4)) is True
    assert (widened.error < fmpq(9, 5)) is True
