"""Theorems A and A2 as theorems of `selection-direction`: `global` and `every-start`.

The formulas stand in `mathematics.global_selection`, the proofs in docs/claims/selection/selection-direction.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from flint import arb, fmpq

from certattn.kernel.decide.verdict import Obligation, Part, above, at_least, at_most, below
from certattn.kernel.document.fields import Field, Rational, Record, Values
from certattn.kernel.mathematics.token_selection import Selection, largest_spread
from certattn.kernel.theorems.selection.descent_inputs import ENCLOSED, EVERY, FLOW, GRADIENT, Rule, Start
from certattn.kernel.theorems.selection.mathematics.global_selection import EqualScores, GlobalBasin
from certattn.kernel.theorems.selection.mathematics.selection_constants import SelectionConstants, least
from certattn.kernel.theorems.selection.selection_theorems import (
    LOGARITHM,
    Conclusion,
    LogarithmicRate,
    Range,
    Situation,
    Theorem,
)

AFTER = Field(
    "after", Rational(minimum=0), "steps (or time) after K at which theorem A is applied, for a rate", required=False
)


class Global(Theorem):
    """Theorem A at p(K)."""

    name = "global"
    rules = (GRADIENT, FLOW)
    record = Record()
    rate_form = LOGARITHM

    def read(self, values: Values, start: Start, selection: Selection, rule: Rule) -> None:
        return None

    def names(self, parameters: None, selection: Selection) -> list[str]:
        return [*_common_names(self.name), f"{self.name}.threshold", f"{self.name}.step"]

    def apply(self, situation: Situation, parameters: None) -> Conclusion:
        constants, size = situation.constants, situation.rule.size()
        excess, norm = situation.excess(), situation.norm()
        basins = _Basins(
            GlobalBasin(constants, size, excess.upper(), norm.upper()),
            GlobalBasin(constants, size, _least(excess), _least(norm)),
        )
        conditions = _common(self.name, constants, situation.bits)
        conditions += _basin_conditions(self.name, basins, situation.bits)
        return Conclusion(conditions, lambda: basins.rate(situation.rule))


class EveryStart(Theorem):
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

    def names(self, parameters: fmpq | None, selection: Selection) -> list[str]:
        found = [*_common_names(self.name), f"{self.name}.scores"]
        if _cross_products(selection):
            found.append(f"{self.name}.cross")
        found.append(f"{self.name}.step")
        return found if parameters is None else [*found, f"{self.name}.threshold", f"{self.name}.later-step"]

    def apply(self, situation: Situation, parameters: fmpq | None) -> Conclusion:
        constants, bits, witness = situation.constants, situation.bits, Part.WITNESS
        conditions = _common(self.name, constants, bits)
        spread = largest_spread(constants.selection)
        sentence = "the scores of the tokens that were not chosen differ by nothing within an input"
        conditions.append(at_most(f"{self.name}.scores", sentence, spread, fmpq(0), part=witness))
        products = _cross_products(constants.selection)
        if products:
            sentence = "the least <z_j, z_j'> of pairs of different inputs"
            conditions.append(at_least(f"{self.name}.cross", sentence, min(products), fmpq(0), part=witness))
        product = situation.rule.size() * constants.curvature_bound
        conditions.append(below(f"{self.name}.step", "h B_F < 2", product, fmpq(2), bits, part=witness))
        if parameters is None:
            return Conclusion(conditions, None)
        later = _later_basins(situation, parameters)
        first, last = _basin_conditions(self.name, later, bits, "later-step")
        return Conclusion([*conditions, first, last], lambda: later.rate(situation.rule))


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


def _common_names(name: str) -> list[str]:
    return [f"{name}.slope", f"{name}.optimal"]


def _common(name: str, constants: SelectionConstants, bits: int) -> list[Obligation]:
    """That the losses fall where the chosen tokens are, and that these have the largest scores."""
    slope, optimal = _common_names(name)
    falls = least(constants.slopes.values())
    return [
        above(slope, "the least slope c_i = -l'(gamma_i)", falls, fmpq(0), bits, part=Part.WITNESS),
        above(
            optimal,
            "the least gap between the score of a chosen token and another",
            min(constants.selection.gaps),
            fmpq(0),
            part=Part.WITNESS,
        ),
    ]


def _basin_conditions(name: str, basins: _Basins, bits: int, step: str = "step") -> list[Obligation]:
    """F_0 < a* and rho < 1."""
    worst, best, part = basins.worst, basins.best, Part.WITNESS
    first = "the excess loss F = n (L - L_alpha) there is below the threshold a*"
    second = "rho < 1: the step is short enough there"
    excess, overshoot = Range(worst.excess, best.excess), Range(worst.overshoot, best.overshoot)
    return [
        excess.decide(lambda ball: below(f"{name}.threshold", first, ball, worst.threshold, bits, part=part)),
        overshoot.decide(lambda ball: below(f"{name}.{step}", second, ball, fmpq(1), bits, part=part)),
    ]


def _cross_products(selection: Selection) -> Sequence[fmpq]:
    """The <z_j, z_j'> of pairs of different inputs."""
    differences, pairs = selection.differences, selection.pairs
    table = (differences @ differences.T).to_rows()
    return [table[a][b] for a, b in combinations(range(len(pairs)), 2) if pairs[a].input != pairs[b].input]


GLOBAL = Global()
EVERY_START = EveryStart()
