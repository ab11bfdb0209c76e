"""What `selection-direction` may state of a run at some steps, and of all later ones.

    angles     1 - cos angle(p(k), p_mm)                      at most, for good
    weights    min_i s_{i alpha_i}(p(k))                      at least, for good
    losses     L(p(k)) - (1/n) sum_i l(gamma_{i alpha_i})     at most, for good
    norms      |p(k)|                                         at least, for good

Each of these is about one k (`step`, of the flow `time`), or about every k >= `from`: `for good`. At one k there are
bounds from the other side too. It is compared with what is enclosed of p(k), or with what a theorem says of every p(k)
from some k on; or, from the other side, of this p(k).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from flint import arb, fmpq

from certattn.kernel.decide.obligation import Number, Range, Relation
from certattn.kernel.document.schema import (
    ByKey,
    Count,
    Field,
    Listing,
    Rational,
    Record,
    Values,
    at_most_one_of,
    some_of,
)
from certattn.kernel.mathematics.balls import l2_norm
from certattn.kernel.mathematics.enclosure import Enclosure, inflated
from certattn.kernel.mathematics.selection_landscape import shortfall
from certattn.kernel.theorems.selection.direction_theorems import EnclosedRun, LaterRun, Situation
from certattn.kernel.theorems.selection.mathematics.selection_constants import Rule, least

STEP, TIME, FROM = "step", "time", "from"
AT_STEP = Field(STEP, Count(0), "a step k")
AT_TIME = Field(TIME, Rational(minimum=0), "a time of the flow")
EVER_FROM = Field(FROM, Rational(minimum=0), "a step (or time) k0: of every k >= k0")
AT_MOST = Field("at_most", Rational(minimum=0), "an upper bound")
AT_LEAST = Field("at_least", Rational(minimum=0), "a lower bound")
_SOME_MOST = Field("at_most", Rational(minimum=0), "an upper bound", required=False)
_SOME_LEAST = Field("at_least", Rational(minimum=0), "a lower bound", required=False)
_ONE = [some_of(_SOME_LEAST, _SOME_MOST, none="no bound"), at_most_one_of(_SOME_LEAST, _SOME_MOST)]


def _listed(name: str, for_good: Field[fmpq], doc: str) -> Field[list[tuple[str, Values]]]:
    """From either side at one k. From the side that all quantities leave in the end nothing holds for good."""
    forms = {
        TIME: Record(AT_TIME, _SOME_LEAST, _SOME_MOST, rules=_ONE),
        FROM: Record(EVER_FROM, for_good),
        STEP: Record(AT_STEP, _SOME_LEAST, _SOME_MOST, rules=_ONE),
    }
    return Field(name, Listing(ByKey(forms)), doc, required=False)


ANGLES = _listed("angles", AT_MOST, "bounds of 1 - cos angle at some steps or times, or from some on")
WEIGHTS = _listed("weights", AT_LEAST, "bounds of the least softmax weight of a chosen token")
_LOSS_GAPS = "bounds of the loss less its limit: of L(p(k)) - (1/n) sum_i l(score of the chosen token of input i)"
GAPS = _listed("losses", AT_MOST, _LOSS_GAPS)
NORMS = _listed("norms", AT_LEAST, "bounds of |p(k)|")


class Quantity(NamedTuple):
    """Something of p(k): where it is enclosed, and what a theorem says of every k from so many steps (or so long) on.

    The latter is a bound on the side of `relation`. `other` is one from the other side, of that very k.
    """

    of: Callable[[Situation, Enclosure], arb]
    relation: Relation
    later: Callable[[LaterRun, fmpq], Number]
    other: Callable[[EnclosedRun, fmpq], arb]


def _angle(now: Situation, found: Enclosure) -> arb:
    return shortfall(found, now.constants.direction)


def _weight(now: Situation, found: Enclosure) -> arb:
    return least(chosen for chosen, _, _ in now.landscape.shares(found.box))


def _gap(now: Situation, found: Enclosure) -> arb:
    return now.landscape.excess(found.box) / now.rule.inputs


def _length(now: Situation, found: Enclosure) -> arb:
    return inflated(l2_norm(found.centre), found.error)


QUANTITIES: Mapping[str, Quantity] = {
    ANGLES.name: Quantity(_angle, "<=", lambda run, k: run.at(k), lambda run, k: run.least_angle(k)),
    WEIGHTS.name: Quantity(_weight, ">=", lambda run, k: run.least_weight(k), lambda run, k: run.most_weight(k)),
    GAPS.name: Quantity(_gap, "<=", lambda run, k: run.loss_gap(k), lambda run, k: run.least_gap(k)),
    NORMS.name: Quantity(_length, ">=", lambda run, k: run.least_norm(k), lambda run, k: run.most_norm(k)),
}


@dataclass(frozen=True)
class StatedBound:
    """The quantity of p(k) `relation` bound at k = `at`, or where `ever` says so at every k >= `at`.

    `name` is that of its obligation, `kind` that of the list it stands in.
    """

    name: str
    kind: str
    at: fmpq
    ever: bool
    relation: Relation
    bound: fmpq

    @property
    def quantity(self) -> Quantity:
        return QUANTITIES[self.kind]

    @property
    def is_usual(self) -> bool:
        """Whether it is from the side on which every theorem bounds the quantity for good."""
        return self.relation == self.quantity.relation

    def between(self, run: EnclosedRun, elapsed: fmpq) -> Range:
        """What a theorem that bounds it from both sides says of this k: what is beyond both is false of it."""
        usual, other = self.quantity.later(run, elapsed), self.quantity.other(run, elapsed)
        assert isinstance(usual, arb)
        return Range(usual, other, is_final=True) if self.is_usual else Range(other, usual, is_final=True)

    def worse(self, one: arb, other: arb) -> arb:
        """Of two numbers the one that is farther from the bound's side."""
        return one.max(other) if self.relation == "<=" else one.min(other)


def read_bounds(asserts: Values, rule: Rule) -> list[StatedBound]:
    """Those of all lists. Raises MalformedError where a step, or no step, does not fit the rule."""
    found = []
    for listed in (ANGLES, WEIGHTS, GAPS, NORMS):
        for index, (form, values) in enumerate(asserts.items(listed)):
            if form != FROM and (form == STEP) is not rule.discrete:
                expected = "a step, as descent goes in steps" if rule.discrete else "a time, as the flow has no steps"
                raise values.at.malformed(expected, f"a {form}")
            at = fmpq(values[AT_STEP]) if form == STEP else values[AT_TIME if form == TIME else EVER_FROM]
            if rule.discrete and at.q != 1:
                raise values.node(EVER_FROM).malformed("a step, which is a whole number")
            relation: Relation = "<=" if AT_MOST in values else ">="
            bound = values[AT_MOST if relation == "<=" else AT_LEAST]
            found.append(StatedBound(f"{listed.name}[{index}]", listed.name, at, form == FROM, relation, bound))
    return found
