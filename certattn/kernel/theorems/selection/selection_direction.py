"""Theorem `selection-direction`: where descent on the loss of token selection goes.

Keys k_it and scores gamma_it of the tokens of n inputs, a loss l, and

    L(p) = (1/n) sum_i l( sum_t gamma_it s_it ),     s_i = softmax of <k_it, p> over t.

A certificate asserts that descent by a stated rule from a stated p(0) (or every p(0) of a box, or every p(0)) has
|p(k)| -> infinity and p(k) / |p(k)| -> p_mm / |p_mm|, p_mm being the one point of least norm with
<k_i alpha_i - k_it, p> >= 1 for all t != alpha_i; and it may assert p_mm itself, bounds of 1 - cos angle(p(k), p_mm)
at some k, and one for all k >= k0.

Proof: p_mm by its KKT conditions; p(K) is enclosed by K steps; a theorem whose conditions are proved at p(K) says the
rest (Ataee Tarzanagh, Li, Zhang and Oymak 2023, theorems 1 to 3, in explicit form:
docs/claims/selection/selection-direction.md).
"""

from __future__ import annotations

from collections.abc import Iterator

from flint import fmpq

from certattn.kernel.decide.obligation import Obligation, Part, Shared
from certattn.kernel.decide.theorem import Theorem
from certattn.kernel.mathematics.enclosure import Enclosure, around
from certattn.kernel.mathematics.selection_descent import descend, shortfall
from certattn.kernel.mathematics.selection_landscape import landscape
from certattn.kernel.theorems.selection.direction_theorems import FROM, Conclusion, Situation, rate_obligations
from certattn.kernel.theorems.selection.kkt import kkt_names, optimal
from certattn.kernel.theorems.selection.mathematics.selection_constants import SelectionConstants
from certattn.kernel.theorems.selection.selection_problem import (
    ASSERTS,
    GIVEN,
    WITNESS,
    DescentProblem,
    StatedAngle,
    read_problem,
)


class _Descent:
    """What is enclosed of a descent, at the working precision at which it is made."""

    def __init__(self, problem: DescentProblem) -> None:
        self.constants = SelectionConstants(problem.selection, problem.loss, problem.solution)
        self.enclosures: dict[int, Enclosure] = {}
        surface = landscape(problem.selection, problem.loss)
        if not problem.start.everywhere:
            stops = [int(angle.at.p) for angle in problem.angles if problem.is_direct(angle)]
            step = problem.rule.on(surface)
            self.enclosures = descend(step, around(problem.start.balls()), problem.steps, stops)
        last = self.enclosures.get(problem.steps)
        point = last.box if last is not None else None
        self.situation = Situation(self.constants, surface, problem.rule, point)


def obligations(problem: DescentProblem) -> Iterator[Obligation]:
    """The conditions of the max-margin point first: everything else rests on them."""
    needs = kkt_names("p_mm")
    yield from optimal("p_mm", lambda: problem.solution)
    if problem.limit is not None:
        yield Obligation("limit", problem.limit, "=", lambda: problem.solution.solution, needs=needs)
    descent = Shared(lambda: _Descent(problem))
    theorem = problem.theorem
    conclusion = theorem.apply(lambda: descent().situation, problem.parameters, problem.selection, needs)
    yield from conclusion.conditions
    later = [condition.name for condition in conclusion.conditions]
    for index, angle in enumerate(problem.angles):
        if problem.is_direct(angle):
            yield _direct(f"angles[{index}]", angle, descent, needs)
        else:
            yield _later(f"angles[{index}]", angle, problem, conclusion, later)
    if problem.rate is not None:
        rate, begins = conclusion.rate, problem.rate_begins
        assert rate is not None
        assert begins is not None
        values = problem.rate.values
        yield from rate_obligations(problem.rate.form, values, rate, values[FROM] - begins, later)


def _direct(name: str, angle: StatedAngle, descent: Shared[_Descent], needs: list[str]) -> Obligation:
    """Where p(k) is enclosed: what is compared is the stated quantity itself."""
    at = int(angle.at.p)
    value = lambda: shortfall(descent().enclosures[at], descent().constants.direction)  # noqa: E731
    return Obligation(name, value, "<=", angle.at_most, needs=needs)


def _later(
    name: str, angle: StatedAngle, problem: DescentProblem, conclusion: Conclusion, needs: list[str]
) -> Obligation:
    """What the theorem says of later steps: nothing where one of its conditions is false."""
    rate, begins = conclusion.rate, problem.rate_begins
    assert rate is not None
    assert begins is not None
    elapsed: fmpq = angle.at - begins
    return Obligation(name, lambda: rate().at(elapsed), "<=", angle.at_most, Part.WITNESS, needs)


THEOREM = Theorem(
    name="selection-direction",
    title="the direction that descent on the loss of token selection converges to",
    given=GIVEN,
    asserts=ASSERTS,
    witness=WITNESS,
    read=read_problem,
    obligations=obligations,
)
