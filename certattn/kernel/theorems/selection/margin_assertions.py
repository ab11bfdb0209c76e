"""What `max-margin` may assert of a problem: its solution, a point near it, or that there is none.

See `mathematics.max_margin`, `mathematics.margin_distance` and `mathematics.contradiction` for the theorems. Everything
here is decided over the rationals. Bounds on 1/|p| are compared as squares.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from flint import fmpq

from certattn.kernel.decide.verdict import (
    DOUBLE,
    Obligation,
    Outcome,
    Part,
    above,
    at_least,
    at_most,
    identical,
    show,
    unproved,
)
from certattn.kernel.document.quoting import counted
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.selection.kkt import kkt_names, kkt_obligations
from certattn.kernel.theorems.selection.margin_problems import MarginProblem
from certattn.kernel.theorems.selection.mathematics.contradiction import Contradiction
from certattn.kernel.theorems.selection.mathematics.margin_distance import MarginDistance
from certattn.kernel.theorems.selection.mathematics.max_margin import MaxMargin

_ZERO = fmpq(0)


@dataclass(frozen=True)
class MarginBounds:
    """Bounds on the margin 1/|p|; None where none is stated."""

    at_least: fmpq | None = None
    at_most: fmpq | None = None

    def names(self) -> list[str]:
        stated = {"margin.at_least": self.at_least, "margin.at_most": self.at_most}
        return [name for name, bound in stated.items() if bound is not None]

    def words(self) -> list[str]:
        parts = [f"at least {describe(self.at_least)}"] if self.at_least is not None else []
        parts += [f"at most {describe(self.at_most)}"] if self.at_most is not None else []
        return [f"the margin, 1 over its norm, is {' and '.join(parts)}"] if parts else []

    def obligations(self, smallest: fmpq, largest: fmpq, part: Part) -> list[Obligation]:
        """For a squared norm from `smallest` to `largest` > 0. Comparisons of squares of numbers >= 0."""
        found = []
        if self.at_least is not None:
            sentence = "the squared margin, or a lower bound of it, against the squared bound"
            found.append(at_least("margin.at_least", sentence, 1 / largest, self.at_least**2, part=part))
        if self.at_most is not None:
            sentence = "1, against the squared bound times the squared norm, or a lower bound of it"
            found.append(at_most("margin.at_most", sentence, fmpq(1), self.at_most**2 * smallest, part=part))
        return found


class MarginAssertion(ABC):
    """A statement about a problem, with the obligations that prove it."""

    @abstractmethod
    def names(self) -> list[str]:
        """The obligations, all of them."""

    @abstractmethod
    def prove(self) -> list[Obligation]:
        """All obligations, exactly."""

    @abstractmethod
    def words(self) -> str:
        """The statement, to follow the words of the problem."""

    @abstractmethod
    def latex(self) -> str:
        """The statement as a formula."""

    def findings(self) -> list[str]:
        """What to say of a proved statement."""
        return []


def _all_proved(obligations: Sequence[Obligation]) -> bool:
    return all(obligation.outcome is Outcome.PROVED for obligation in obligations)


@dataclass(frozen=True)
class ExactSolution(MarginAssertion):
    """The solution p, exactly: the point itself, its tight constraints, its multipliers, its margin.

    `solved` is the point of the witness's multipliers. Where it is not proved to be the solution nothing else is
    decided: what is false of it need not be false of the solution.
    """

    problem: MarginProblem
    solved: MaxMargin
    point: ExactMatrix | None
    neighbours: frozenset[int] | None
    support: frozenset[int] | None
    gap: fmpq | None
    margin: MarginBounds

    @cached_property
    def others(self) -> tuple[int, ...]:
        """The constraints that are not stated to be tight."""
        return tuple(j for j in range(self.problem.rows.rows) if j not in (self.neighbours or ()))

    @cached_property
    def unique(self) -> bool:
        """Whether the rows of the tight constraints are linearly independent: then multipliers are unique."""
        tight = self.solved.tight
        return self.problem.rows.take_rows(tight).numerators.rank() == len(tight)

    def names(self) -> list[str]:
        return kkt_names("optimality") + self._statement_names()

    def _statement_names(self) -> list[str]:
        names = ["solution"] if self.point is not None else []
        if self.neighbours is not None:
            names += ["neighbours.tight", *(["neighbours.others"] if self.others else [])]
        names += ["support"] if self.support is not None else []
        return names + self.margin.names()

    def prove(self) -> list[Obligation]:
        variable = self.problem.variable
        optimality = kkt_obligations("optimality", self.solved, variable)
        if _all_proved(optimality):
            return optimality + self._statement()
        reason = "the witness's multipliers do not make a solution"
        return optimality + [unproved(n, f"what is asserted of {variable}", reason) for n in self._statement_names()]

    def _statement(self) -> list[Obligation]:
        """What is asserted, of the solution itself."""
        variable, slacks = self.problem.variable, self.solved.slacks
        found = []
        if self.point is not None:
            found.append(identical("solution", f"{variable} as stated", self.point, self.solved.solution))
        if self.neighbours is not None:
            sentence = "the largest slack of the constraints stated to be tight"
            found.append(at_most("neighbours.tight", sentence, max(slacks[j] for j in self.neighbours), _ZERO))
            if self.others:
                sentence, smallest = "the smallest slack of the others", min(slacks[j] for j in self.others)
                if self.gap is None:
                    found.append(above("neighbours.others", sentence, smallest, _ZERO))
                else:
                    found.append(at_least("neighbours.others", sentence, smallest, self.gap))
        if self.support is not None:
            found.append(self._support(self.support))
        norm = self.solved.norm_squared
        return found + self.margin.obligations(norm, norm, Part.STATEMENT)

    def _support(self, stated: frozenset[int]) -> Obligation:
        """Other multipliers than the witness's may exist, unless they are unique."""
        different = fmpq(len(stated ^ set(self.solved.multipliers)))
        sentence = "how many constraints have a multiplier and are not in the support, or are and have none"
        part = Part.STATEMENT if self.unique else Part.WITNESS
        return at_most("support", sentence, different, _ZERO, part=part)

    def words(self) -> str:
        variable, problem = self.problem.variable, self.problem
        parts = ["there is one solution"]
        if self.point is not None:
            parts.append(f"it is {variable} = {_shaped(self.point, problem)}")
        if self.neighbours is not None:
            tight = problem.named(sorted(self.neighbours))
            parts.append(f"the constraints that hold with equality there are exactly those of {tight}")
        if self.gap is not None:
            parts.append(f"every other constraint holds there by at least {describe(self.gap)} more than it must")
        if self.support is not None:
            support = problem.named(sorted(self.support))
            parts.append(f"it has multipliers that are positive exactly for {support}")
        return f"{problem.words}; {'; '.join(parts + self.margin.words())}."

    def latex(self) -> str:
        return rf"{self.problem.variable} = \textstyle\sum_j \lambda_j z_j, \quad \lambda_j \ge 0"

    def findings(self) -> list[str]:
        tight = len(self.solved.tight)
        with working_precision(DOUBLE):
            margin = show(self.solved.margin())
        kind = "no others make this point" if self.unique else "others make the same point"
        count, holds = len(self.solved.multipliers), "holds" if tight == 1 else "hold"
        return [
            f"the margin is {margin}; {tight} of {counted(self.problem.rows.rows, 'constraint')} {holds} with equality",
            f"{counted(count, 'multiplier')} {'is' if count == 1 else 'are'} not 0: {kind}",
        ]


@dataclass(frozen=True)
class NearSolution(MarginAssertion):
    """A direction p~ so that p~ / m is within a radius of the solution; its tight constraints are among some."""

    problem: MarginProblem
    distance: MarginDistance
    radius: fmpq
    among: frozenset[int] | None
    gap: fmpq | None
    margin: MarginBounds

    @cached_property
    def others(self) -> tuple[int, ...]:
        """The constraints that are stated not to be tight."""
        return () if self.among is None else tuple(j for j in range(self.problem.rows.rows) if j not in self.among)

    def names(self) -> list[str]:
        relaxed = ["direction.relaxed"] if self.distance.smallest_relaxed is not None else []
        return ["direction.margin", *relaxed, *self._bound_names()]

    def _bound_names(self) -> list[str]:
        names = ["optimality.multipliers", "within", *(["neighbours.others"] if self.others else [])]
        return names + self.margin.names()

    def prove(self) -> list[Obligation]:
        sentence = "the smallest <z, p~> of the constraints that are not relaxed"
        found = [above("direction.margin", sentence, self.distance.margin, _ZERO)]
        if self.distance.smallest_relaxed is not None:
            sentence = "the smallest <z, p~> of the relaxed constraints"
            found.append(at_least("direction.relaxed", sentence, self.distance.smallest_relaxed, _ZERO))
        if _all_proved(found):
            return found + self._bounds()
        return found + [unproved(name, "a bound", "p~ is not feasible") for name in self._bound_names()]

    def _bounds(self) -> list[Obligation]:
        """What is false of these need not be false of the solution: they are bounds."""
        distance, part = self.distance, Part.WITNESS
        smallest = min(distance.multipliers.values())
        sentence = "the squared distance of p~/m from the solution, or a bound on it, against the squared radius"
        found = [
            at_least("optimality.multipliers", "the smallest multiplier", smallest, _ZERO, part=part),
            at_most("within", sentence, distance.distance_squared, self.radius**2, part=part),
        ]
        if self.others:
            sentence = "how far the others stay from equality within the radius, as s|s| - |z|^2 radius^2"
            gap = _ZERO if self.gap is None else self.gap
            room = min(distance.looseness(j, gap, self.radius) for j in self.others)
            compared = above if self.gap is None else at_least
            found.append(compared("neighbours.others", sentence, room, _ZERO, part=part))
        return found + self.margin.obligations(distance.dual_value, distance.norm_squared, part)

    def words(self) -> str:
        problem, variable = self.problem, self.problem.variable
        direction = _shaped(self.distance.direction, problem)
        parts = [
            f"there is one solution {variable}",
            f"with d = {direction} and m > 0 the smallest left side at d of the constraints >= 1, d/m satisfies all "
            f"constraints, and |d/m - {variable}| <= {describe(self.radius)}",
        ]
        if self.among is not None:
            among = problem.named(sorted(self.among))
            parts.append(f"the constraints that hold with equality at {variable} are among those of {among}")
        if self.gap is not None:
            parts.append(f"every other constraint holds there by at least {describe(self.gap)} more than it must")
        return f"{problem.words}; {'; '.join(parts + self.margin.words())}."

    def latex(self) -> str:
        return rf"\| \tilde p / \min_j \langle z_j, \tilde p \rangle - {self.problem.variable} \| \le r"


@dataclass(frozen=True)
class NoSolution(MarginAssertion):
    """No point satisfies the constraints."""

    problem: MarginProblem
    contradiction: Contradiction

    def names(self) -> list[str]:
        return ["weights", "combination", "total"]

    def prove(self) -> list[Obligation]:
        part, stated = Part.WITNESS, self.contradiction
        return [
            at_least("weights", "the smallest weight", stated.smallest_weight, _ZERO, part=part),
            at_most("combination", "the largest entry of sum mu z, in size", stated.largest_entry, _ZERO, part=part),
            above("total", "the sum of weights times right sides", stated.total, _ZERO, part=part),
        ]

    def words(self) -> str:
        return f"{self.problem.words}; no {self.problem.variable} satisfies these constraints."

    def latex(self) -> str:
        return r"\textstyle\sum_j \mu_j z_j = 0, \quad \mu_j \ge 0, \quad \sum_j \mu_j r_j > 0"


def _shaped(point: ExactMatrix, problem: MarginProblem) -> str:
    """A point in its own shape: its numbers where they are few."""
    rows, columns = problem.shape
    entries = point.row(0)
    shown = str(ExactMatrix.rational([entries[i * columns : (i + 1) * columns] for i in range(rows)]))
    return shown if shown.startswith("(") else f"the {shown} as stated"
