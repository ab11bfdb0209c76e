"""Which theorem on the direction of descent applies at a point, with which parameters; and if none does, why.

One candidate per theorem: a function of the situation that gives the theorem's parameters as certificates write them,
or None. Whether its conditions hold is asked of the kernel's own theorem.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from flint import arb, ctx, fmpq

from certattn.kernel.decide.obligation import Number, Range
from certattn.kernel.decide.proof import Outcome, Proof
from certattn.kernel.document.quoting import counted
from certattn.kernel.document.tree import Plain
from certattn.kernel.mathematics.reals import format_rational
from certattn.kernel.mathematics.token_selection import Selection, largest_spread
from certattn.kernel.theorems.selection.direction_theorems import (
    AFTER,
    CONE_THEOREM,
    EVERY_START,
    GLOBAL,
    LOCAL,
    TUBE,
    DescentTheorem,
    Situation,
)
from certattn.kernel.theorems.selection.mathematics.local_convergence import level_at
from certattn.kernel.theorems.selection.mathematics.margin_points import MaxMargin
from certattn.kernel.theorems.selection.mathematics.selection_constants import NORMALISED, Cone
from certattn.provers.rounding import round_up, upper_rational
from certattn.provers.selection import tube_trial
from certattn.provers.selection.local_trial import Failure, find_trial, locally_optimal_by, stated
from certattn.statements.digits import show
from certattn.statements.selection.selection_direction import CONDITIONS

_SHOWN = 5
# How much wider a cone that descent stays in is tried to be than the one that it starts in, in tangents.
_SLOPES = tuple(fmpq(p, 1000) for p in (1, 2, 5, 10, 20, 50, 100, 150, 200, 300, 400, 500, 700, 1000, 1500, 2000, 4000))
_SLOPE_DIGITS = 6
_MOST_DOUBLINGS = 60


@dataclass(frozen=True)
class Choice:
    """A theorem, its parameters as certificates write them, and the step at which it applies, reached in leaps or not.

    `bound` is that of 1 - cos angle at the step that was asked for, infinite where none is known.
    """

    theorem: str
    parameters: dict[str, Plain] = field(default_factory=dict)
    steps: int = 0
    leaps: fmpq | None = None
    bound: float = math.inf


# The parameters of a theorem that holds, as certificates write them and as the theorem takes them.
_Found = tuple[dict[str, Plain], object]


def _global(situation: Situation) -> _Found | None:
    # What is exact and costs nothing first: every token but the chosen ones scores less.
    if situation.point is None or situation.constants.bad:
        return None
    return ({}, None) if _holds(GLOBAL, situation, None) else None


def _every_start(situation: Situation) -> _Found | None:
    """With a point, the number of steps after which theorem A applies: a few times the least power of 2."""
    if situation.constants.bad or largest_spread(situation.constants.selection) != 0:
        return None
    if not _holds(EVERY_START, situation, None):
        return None
    if situation.point is None:
        return {}, None
    for exponent in range(_MOST_DOUBLINGS):
        if _holds(EVERY_START, situation, fmpq(2) ** exponent):
            after = fmpq(2) ** (exponent + 2)
            return {AFTER.name: format_rational(after)}, after
    return {}, None


def _proof(theorem: DescentTheorem, situation: Situation, parameters: object) -> Proof:
    """The theorem's conditions, to be asked of the kernel."""
    return Proof(theorem.apply(lambda: situation, parameters, situation.constants.selection, ()).conditions)


def _holds(theorem: DescentTheorem, situation: Situation, parameters: object) -> bool:
    """Whether all conditions are proved, at the working precision: up to the first that is not."""
    proof = _proof(theorem, situation, parameters)
    for name in proof.obligations:
        proof.ask([name], ctx.prec)
        if proof.answers[name].outcome is not Outcome.PROVED:
            return False
    return True


def _is_near_a_local_choice(situation: Situation) -> bool:
    """Whether there is an enclosed point with P < a for the neighbours alone, and none of these scores no less than
    the chosen token.
    """
    constants, point = situation.constants, situation.point
    slack = locally_optimal_by(constants)
    if point is None or not all(x.is_finite() for x in point) or (slack is not None and slack <= 0):
        return False
    nearest = constants.within(fmpq(0))
    return (level_at(nearest, point) < nearest.least_gain) is True


def _local(situation: Situation) -> _Found | None:
    if not _is_near_a_local_choice(situation):
        return None
    assert situation.point is not None
    trial = find_trial(situation.constants, situation.rule, situation.point)
    if isinstance(trial, Failure):
        return None
    return (stated(trial), trial) if _holds(LOCAL, situation, trial) else None


def _tube(situation: Situation) -> _Found | None:
    if not _is_near_a_local_choice(situation):
        return None
    assert situation.point is not None
    trial = tube_trial.find_tube(situation.constants, situation.rule, situation.point)
    return (tube_trial.stated(trial), trial) if trial is not None and _holds(TUBE, situation, trial) else None


# In the order in which they are tried.
CANDIDATES: Mapping[str, Callable[[Situation], _Found | None]] = {
    GLOBAL.name: _global,
    EVERY_START.name: _every_start,
    TUBE.name: _tube,
    LOCAL.name: _local,
}


def cone_choice(situation: Situation, cone: Cone) -> Choice | None:
    """The wider cone for which there is most room, of a few, for descent from every point of a cone."""
    constants = situation.constants
    slack = locally_optimal_by(constants)
    if slack is not None and slack <= 0:
        return None
    inner_slope = upper_rational(cone.slope())
    for part in _SLOPES:
        slope = round_up(inner_slope + part, _SLOPE_DIGITS)
        if _holds(CONE_THEOREM, situation, (cone, slope)):
            return Choice(CONE_THEOREM.name, {"slope": format_rational(slope)})
    return None


def applicable(situation: Situation, theorem: str | None, elapsed: fmpq | None = None) -> Choice | None:
    """The first theorem that applies there; the one that is named if one is. At the working precision.

    With a step of so many later, of all that apply the one with the smallest bound of the angle there.
    """
    choices = []
    for name, candidate in CANDIDATES.items():
        if theorem in (name, None) and situation.rule.kind in THEOREMS[name].rules:
            found = candidate(situation)
            if found is not None:
                parameters, taken = found
                if elapsed is None:
                    return Choice(name, parameters)
                choices.append(Choice(name, parameters, bound=_bound(THEOREMS[name], situation, taken, elapsed)))
    return min(choices, key=lambda choice: choice.bound, default=None)


def _bound(theorem: DescentTheorem, situation: Situation, parameters: object, elapsed: fmpq) -> float:
    """Of 1 - cos angle so much later; infinite where the theorem has none there."""
    conclusion = theorem.apply(lambda: situation, parameters, situation.constants.selection, ())
    if conclusion.rate is None or elapsed < conclusion.delay:
        return math.inf
    bound = float(conclusion.rate().at(elapsed - conclusion.delay).upper())
    return bound if bound == bound else math.inf


# Their rates are poor: taken where the walk ends and nothing else applies.
WEAK = (EVERY_START.name,)
THEOREMS: Mapping[str, DescentTheorem] = {each.name: each for each in (GLOBAL, EVERY_START, LOCAL, TUBE)}


def why_not(situation: Situation, solution: MaxMargin, theorem: str | None, steps: int) -> str:
    """Why no theorem was found to apply, as far as that is known."""
    selection = situation.constants.selection
    reasons = not_optimal(selection, solution)
    if situation.rule.kind == NORMALISED and theorem in (GLOBAL.name, EVERY_START.name):
        reasons.append(f"the theorem {theorem!r} is not proved for normalised steps")
    reasons += _about_the_point(situation, selection, steps)
    return "; ".join(reasons)


def not_optimal(selection: Selection, solution: MaxMargin) -> list[str]:
    """That nothing was found of these tokens, and what is known of them without a point."""
    tokens = ", ".join(map(str, selection.indices))
    reasons = [f"no theorem was found to show that this descent selects the tokens ({tokens})"]
    neighbours = [selection.pairs[j] for j in selection.bad if solution.slacks[j] == 0]
    if neighbours:
        shown = ", ".join(map(str, neighbours[:_SHOWN]))
        reasons.append(
            "they are not locally optimal: of the neighbours (input, token), which p_mm scores 1 less than the chosen "
            f"token, {shown} {'has' if len(neighbours) == 1 else 'have'} at least its score"
        )
    elif selection.bad:
        shown = ", ".join(str(selection.pairs[j]) for j in selection.bad[:_SHOWN])
        reasons.append(f"they are not globally optimal: (input, token) = {shown} scored as high or higher")
    return reasons


def _side(side: Number | None) -> str:
    """As reports show it: of a range the end that would have to prove it."""
    worst = side.worst if isinstance(side, Range) else side
    assert isinstance(worst, arb | fmpq)
    return show(worst)


def _about_the_point(situation: Situation, selection: Selection, steps: int) -> list[str]:
    """What the conditions of theorem A say after the last step, or of theorem D where not all tokens are good."""
    if situation.point is None:
        product = situation.rule.size() * situation.constants.curvature_bound
        return [f"the step is long: h B_F = {product.str(3)}, not < 2"] if (product >= 2) is True else []
    if not all(entry.is_finite() for entry in situation.point):
        return []
    after = f"after {counted(steps, 'step')}"
    if not selection.bad:
        found, proof = [], _proof(GLOBAL, situation, None)
        proof.ask(proof.obligations, ctx.prec)
        for name, answer in proof.answers.items():
            if answer.outcome is not Outcome.PROVED:
                found.append(f"{after}: {CONDITIONS[name]}: not {_side(answer.left)} < {_side(answer.right)}")
        return found
    constants = situation.constants
    slack = locally_optimal_by(constants)
    if slack is None or slack <= 0:
        return []
    trial = find_trial(constants, situation.rule, situation.point)
    return [f"{after} the theorem {LOCAL.name!r} fails at {trial.condition}"] if isinstance(trial, Failure) else []
