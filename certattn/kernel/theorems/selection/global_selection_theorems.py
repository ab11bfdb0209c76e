"""Theorems A and A2 as theorems of `selection-direction`: `global` and `every-start`.

The formulas stand in `mathematics.global_selection`, the proofs in docs/claims/selection/selection-direction.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from flint import arb, fmpq

from certattn.kernel.decide.obligation import Obligation, Part, Range, Shared
from certattn.kernel.document.schema import Field, Rational, Record, Values
from certattn.kernel.mathematics.token_selection import Selection, largest_spread
from certattn.kernel.theorems.selection.descent import ENCLOSED, EVERY, FLOW, GRADIENT, Rule, Start
from certattn.kernel.theorems.selection.direction_theorems import (
    LOGARITHM,
    Conclusion,
    DescentTheorem,
    LogarithmicRate,
    Situation,
)
from certattn.kernel.theorems.selection.mathematics.global_selection import EqualScores, GlobalBasin
from certattn.kernel.theorems.selection.mathematics.selection_constants import least

AFTER = Field(
    "after", Rational(minimum=0), "steps (or time) after K at which theorem A is applied, for a rate", required=False
)


class Global(DescentTheorem):
    """Theorem A at p(K)."""

    name = "global"
    rules = (GRADIENT, FLOW)
    record = Record()
    rate_form = LOGARITHM

    def read(self, values: Values, start: Start, selection: Selection, rule: Rule) -> None:
        return None

    def apply(
        self, situation: Callable[[], Situation], parameters: None, selection: Selection, needs: Sequence[str] = ()
    ) -> Conclusion:
        basins = Shared(lambda: _basins(situation()))
        conditions = [
            *_common(self.name, situation, selection, needs),
            *_basin_conditions(self.name, basins, needs),
        ]
        return Conclusion(conditions, Shared(lambda: basins().rate(situation().rule)))


class EveryStart(DescentTheorem):
    """Theorem A2 (A1 for one input), from p(K) or from any point."""

    name = "every-start"
    rules = (GRADIENT, FLOW)
    record = Record(AFTER)
    rate_form = LOGARITHM
    starts = (ENCLOSED, EVERY)

    def read(self, values: Values, start: Start, selection: Selection, rule: Rule) -> fmpq | None:
        after = values.get(AFTER)
        if after is not None and start.everywhere:
            raise values.node(AFTER).malformed("no such number for every start: there is no rate for all of them")
        return after

    def delay(self, parameters: fmpq | None) -> fmpq | None:
        return parameters

    def apply(
        self,
        situation: Callable[[], Situation],
        parameters: fmpq | None,
        selection: Selection,
        needs: Sequence[str] = (),
    ) -> Conclusion:
        name, part = self.name, Part.WITNESS
        conditions = list(_common(name, situation, selection, needs))
        # The scores of the tokens that were not chosen differ by nothing within an input.
        conditions.append(Obligation(f"{name}.scores", largest_spread(selection), "<=", fmpq(0), part, needs))
        products = _cross_products(selection)
        if products:
            conditions.append(Obligation(f"{name}.cross", min(products), ">=", fmpq(0), part, needs))
        step = lambda: situation().rule.size() * situation().constants.curvature_bound  # noqa: E731
        conditions.append(Obligation(f"{name}.step", step, "<", fmpq(2), part, needs))
        if parameters is None:
            return Conclusion(conditions, None)
        later = Shared(lambda: _later_basins(situation(), parameters))
        conditions += _basin_conditions(name, later, needs, "later-step")
        return Conclusion(conditions, Shared(lambda: later().rate(situation().rule)))


@dataclass(frozen=True)
class _Basins:
    """Theorem A with the largest and the least F_0 and N_0 of the balls that contain F(p) and |p|.

    Every bound of the theorem gets worse as they grow. The largest prove; the least tell what cannot be proved with
    narrower balls either.
    """

    worst: GlobalBasin
    best: GlobalBasin

    def rate(self, rule: Rule) -> LogarithmicRate:
        worst, best, unit = self.worst, self.best, rule.unit()
        return LogarithmicRate(
            Range(worst.numerator, best.numerator),
            Range(worst.start, best.start),
            Range(worst.slope(unit), best.slope(unit)),
        )


def _basins(situation: Situation) -> _Basins:
    """Theorem A at p(K)."""
    constants, size = situation.constants, situation.rule.size()
    excess, norm = situation.excess(), situation.norm()
    return _Basins(
        GlobalBasin(constants, size, excess.upper(), norm.upper()),
        GlobalBasin(constants, size, _least(excess), _least(norm)),
    )


def _least(ball: arb) -> arb:
    """The lower end, of what is not negative."""
    return ball.lower().max(arb(0))


def _later_basins(situation: Situation, after: fmpq) -> _Basins:
    """What theorem A2 says of the point so many steps (or so long) after K."""
    constants, rule = situation.constants, situation.rule
    assert situation.point is not None
    powers = situation.landscape.exponentials(situation.point)
    odds = dict(zip(constants.several, (sum(row, arb(0)) for row in powers), strict=True))
    elapsed, excess, norm = rule.unit() * after, situation.excess(), situation.norm()
    largest = {i: value.upper() for i, value in odds.items()}
    smallest = {i: _least(value) for i, value in odds.items()}
    worst = EqualScores(constants, rule.size(), excess.upper(), norm.upper(), largest)
    best = EqualScores(constants, rule.size(), _least(excess), _least(norm), smallest)
    return _Basins(
        GlobalBasin(constants, rule.size(), worst.excess_after(elapsed).upper(), worst.norm_after(elapsed).upper()),
        GlobalBasin(constants, rule.size(), _least(best.excess_after(elapsed)), _least(best.norm_after(elapsed))),
    )


# -- conditions


def _common(
    name: str, situation: Callable[[], Situation], selection: Selection, needs: Sequence[str]
) -> Iterator[Obligation]:
    """That the losses fall where the chosen tokens are, and that these have the largest scores."""
    falls = lambda: least(situation().constants.slopes.values())  # noqa: E731
    yield Obligation(f"{name}.slope", falls, ">", fmpq(0), Part.WITNESS, needs)
    yield Obligation(f"{name}.optimal", lambda: min(selection.gaps), ">", fmpq(0), Part.WITNESS, needs)


def _basin_conditions(
    name: str, basins: Callable[[], _Basins], needs: Sequence[str], step: str = "step"
) -> Iterator[Obligation]:
    """F_0 < a* and rho < 1."""
    part = Part.WITNESS
    excess = lambda: Range(basins().worst.excess, basins().best.excess)  # noqa: E731
    yield Obligation(f"{name}.threshold", excess, "<", lambda: basins().worst.threshold, part, needs)
    overshoot = lambda: Range(basins().worst.overshoot, basins().best.overshoot)  # noqa: E731
    yield Obligation(f"{name}.{step}", overshoot, "<", fmpq(1), part, needs)


def _cross_products(selection: Selection) -> Sequence[fmpq]:
    """The <z_j, z_j'> of pairs of different inputs."""
    differences, pairs = selection.differences, selection.pairs
    table = (differences @ differences.T).to_rows()
    return [table[a][b] for a, b in combinations(range(len(pairs)), 2) if pairs[a].input != pairs[b].input]


GLOBAL = Global()
EVERY_START = EveryStart()
