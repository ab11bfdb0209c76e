"""How narrow enclosures of differential equations with closed solutions are, against a plain interval Taylor method.

The plain method takes the Taylor polynomial of a whole box and adds the next coefficient over an a priori box, which a
Picard iteration finds: the same order, precision and rule for the size of steps, but boxes wrap what turns. The
problems are a rotation, z' = (z_2, -z_1), whose distances nothing changes, and the flow of the regression risk in
dimension 1 from A = b = 1/2 with Sigma = 1: A = b = (1 + 3 e^(-2t))^(-1/2).

    python tools/bench/flow.py [--turns 100] [--time 20] [--order 24] [--bits 128]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from flint import arb, ctx, fmpq

from certattn.kernel.mathematics.balls import l2_norm, working_precision
from certattn.kernel.mathematics.enclosure import Enclosure
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.validated_flow import Vector, integrate
from certattn.kernel.theorems.training.regression_flow import RegressionFlow

# The plain method is given up where a box is so wide, and a step where it was halved so often.
_LOST = 1000
_HALVINGS = 12
_PICARD = 20


class Rotation:
    """z' = (z_2, -z_1): a linear oscillator whose energy is the square of the Euclidean norm."""

    def coefficients(self, point: Vector, order: int) -> list[Vector]:
        found = [point]
        for k in range(order):
            x, y = found[-1]
            found.append([y / (k + 1), -x / (k + 1)])
        return found

    def excess(self, coefficients: list[Vector], duration: arb) -> Vector:
        return [l2_norm(coefficients[-1]).upper()]

    def expansion(self, ball: Enclosure) -> arb:
        return arb(0)


@dataclass(frozen=True)
class Problem:
    """A field, where it starts, until when, and the solution."""

    name: str
    field: Any
    start: list[fmpq]
    until: fmpq
    solution: Callable[[arb], Vector]


@dataclass(frozen=True)
class Result:
    """The largest radius of a coordinate at the end, the steps, and when the method was lost, if it was."""

    radius: float
    steps: int
    seconds: float
    lost: float | None

    def row(self, name: str, method: str) -> str:
        end = "reached" if self.lost is None else f"lost at {self.lost:.4g}"
        return f"{name:<28}{method:<12}{self.steps:>8}{self.radius:>12.2e}{self.seconds:>9.2f} s  {end}"


def problems(turns: int, until: int) -> list[Problem]:
    # A little more than so many turns: 710 / 113 is nearly 2 pi.
    rotation = Problem(
        f"rotation, {turns} turns",
        Rotation(),
        [fmpq(1), fmpq(0)],
        fmpq(710 * turns, 113),
        lambda t: [t.cos(), -t.sin()],
    )
    line = Problem(
        f"d = 1 flow to t = {until}",
        RegressionFlow(ExactMatrix.identity(1)),
        [fmpq(1, 2), fmpq(1, 2)],
        fmpq(until),
        lambda t: [(1 + 3 * (-2 * t).exp()).rsqrt()] * 2,
    )
    return [rotation, line]


def carried(problem: Problem, order: int) -> Result:
    """The kernel's method: errors carried by the logarithmic norm."""
    begin = time.perf_counter()
    start = Enclosure([arb(x) for x in problem.start], arb(0))
    found = integrate(problem.field, start, [problem.until], order)
    seconds = time.perf_counter() - begin
    end = found.found.get(problem.until)
    if end is None:
        return Result(float("inf"), found.steps, seconds, 0.0)
    require_contained(problem, end.box)
    return Result(float(end.error), found.steps, seconds, None)


def plain(problem: Problem, order: int) -> Result:
    """Boxes."""
    begin = time.perf_counter()
    box, now, steps = [arb(x) for x in problem.start], fmpq(0), 0
    while now < problem.until:
        step = _plain_step(problem, box, problem.until - now, order)
        if step is None or max(float(x.rad()) for x in box) > _LOST:
            return Result(max(float(x.rad()) for x in box), steps, time.perf_counter() - begin, float(arb(now)))
        box, now, steps = step[0], now + step[1], steps + 1
    require_contained(problem, box)
    return Result(max(float(x.rad()) for x in box), steps, time.perf_counter() - begin, None)


def _plain_step(problem: Problem, box: Vector, longest: fmpq, order: int) -> tuple[Vector, fmpq] | None:
    coefficients = problem.field.coefficients(box, order)
    length = l2_norm([x.mid() for x in coefficients[order]]).max(l2_norm([x.mid() for x in coefficients[order - 1]]))
    size = (arb(2) ** -ctx.prec / length).root(order)
    duration = min(longest, fmpq(int(float(size) * 2**20), 2**20))
    for _ in range(_HALVINGS):
        if duration <= 0:
            return None
        around = _a_priori(problem.field, box, duration)
        if around is not None:
            h = arb(duration)
            value = problem.field.coefficients(around, order + 1)[-1]
            for entry in reversed(coefficients):
                value = [x * h + y for x, y in zip(value, entry, strict=True)]
            return value, duration
        duration /= 2
    return None


def _a_priori(field: Any, box: Vector, duration: fmpq) -> Vector | None:
    """B with box + [0, h] F(B) in B."""
    span = arb(0).union(arb(duration))
    around = box
    for _ in range(_PICARD):
        speed = field.coefficients(around, 1)[1]
        image = [x + span * y for x, y in zip(box, speed, strict=True)]
        if all(x in y for x, y in zip(image, around, strict=True)):
            return around
        around = [
            x.union(y) + (x.rad() / 8 + arb(2) ** -ctx.prec) * arb(0, 1) for x, y in zip(image, around, strict=True)
        ]
    return None


def require_contained(problem: Problem, box: Vector) -> None:
    """The solution lies in the box. Raises AssertionError."""
    truth = problem.solution(arb(problem.until))
    assert all(x.overlaps(y) for x, y in zip(box, truth, strict=True)), problem.name


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=100, help="turns of the rotation")
    parser.add_argument("--time", type=int, default=20, help="until when the flow is followed")
    parser.add_argument("--order", type=int, default=24)
    parser.add_argument("--bits", type=int, default=128)
    options = parser.parse_args(arguments)
    print(f"order {options.order}, {options.bits} bits")
    print(f"{'':<28}{'method':<12}{'steps':>8}{'radius':>12}{'time':>11}")
    with working_precision(options.bits):
        for problem in problems(options.turns, options.time):
            print(carried(problem, options.order).row(problem.name, "certattn"))
            print(plain(problem, options.order).row(problem.name, "plain boxes"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
