"""State the direction that descent on the loss of token selection converges to, with a rate.

Find the theorem, and the step from which on it applies, that settle where a descent goes; and write it down.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from flint import arb, ctx, fmpq

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.quoting import counted
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import NotProvedError, UsageError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.bundled_descent import carried_along
from certattn.kernel.mathematics.enclosed_descent import descend, stretches
from certattn.kernel.mathematics.enclosure import Enclosure, around
from certattn.kernel.mathematics.leaping_descent import advance, leap_along
from certattn.kernel.mathematics.losses import LOSSES, Loss
from certattn.kernel.mathematics.reals import format_rational
from certattn.kernel.mathematics.selection_flow import SelectionFlow, flow
from certattn.kernel.mathematics.selection_landscape import GradientStep, Landscape, NormalisedStep, landscape
from certattn.kernel.mathematics.token_selection import Selection, Tokens, best_tokens
from certattn.kernel.theorems.selection.direction_theorems import RATE, TUBE, Situation
from certattn.kernel.theorems.selection.mathematics.margin_points import MaxMargin, hard_margin
from certattn.kernel.theorems.selection.mathematics.selection_constants import (
    CONE,
    ENCLOSED,
    GRADIENT,
    NORMALISED,
    Rule,
    SelectionConstants,
    Start,
)
from certattn.kernel.theorems.selection.selection_basins import REGION
from certattn.kernel.theorems.selection.selection_direction import (
    DESCENT,
    GIVEN,
    LEAPS,
    MOST_IN_LEAPS,
    MOST_STEPS,
    START,
    THEOREM,
    read,
    read_rule,
    read_start,
)
from certattn.kernel.theorems.selection.stated_tokens import LOSS, StatedTokens, read_tokens
from certattn.provers.commands import Argument, Command, Option, Yaml, to_plot, token_indices
from certattn.provers.exact_inputs import exact, exact_rational, exact_text, require_one_of
from certattn.provers.output import Draft, require_proved
from certattn.provers.selection.active_set import NotSeparableError
from certattn.provers.selection.balanced_multipliers import balanced
from certattn.provers.selection.prospects import Prospect, TokensInDoubles, in_doubles
from certattn.provers.selection.prospects import prospect as prospect_of
from certattn.provers.selection.quadratic_program import max_margin_multipliers
from certattn.provers.selection.reference_point import reference_point
from certattn.provers.selection.scouted_descent import heaviest, scouted_descent, scouted_flow
from certattn.provers.selection.selection_angles import OPTIONS, Asked, StatedBounds
from certattn.provers.selection.selection_theorems import (
    CANDIDATES,
    WEAK,
    Choice,
    applicable,
    cone_choice,
    not_optimal,
    why_not,
)
from certattn.provers.selection.token_optimality import multiplier_table, stated_point
from certattn.statements.selection.selection_direction import start_words

Array = np.ndarray[Any, Any]
STEPS = 100_000
# Precisions of the search: the next where the enclosure of a descent from a point grows beyond bounds.
SEARCH_BITS = (128, 512, 2048)
# So few steps are enclosed one by one.
_FEW_STEPS = 3000
# Of leaps: what they may add to the error, the next where that is too much; and how far apart theorems are tried.
_TOLERANCES = (fmpq(1, 10**4), fmpq(1, 10**5))
_SPACING = 1.3
# An error with which a theorem that does not apply tells something.
_SMALL = fmpq(1, 100)
# With an aim, later steps are tried until so many times as many make the bound no smaller by this factor; and the
# fewest steps are stated whose bound is as near to the smallest.
_MANY, _SMALLER = 8, 0.9
# The same where steps are enclosed one by one: so many times the first step at which a theorem applies.
_LATER = 4
# Of more tokens times dimensions leaps take longer than finding few steps in doubles.
_LARGE = 8192
# Those of the flow, of which an order of polynomials follows.
_FLOW_BITS = (64, 128)
# A later normalised step, which costs bits, is worth it where the bound is smaller by a tenth.
_SHARPER = {NORMALISED: 0.9}
# A search that takes longer says how far it has come, so often, in seconds.
_SILENT = 1.0
# The search gives up where the heaviest tokens have been the same for so many times as many steps, counted from one no
# earlier than this, and no theorem would apply even where descent tends to, as far out as it is by the last step.
_PATIENCE, _EARLIEST = 16, 64
# So many times as far out it is asked whether one would.
_FURTHER = (4, 16, 64, 256)
# A bound that is sought in doubles is to be so much smaller than the one that is asked for.
_ROOM = 0.999


class UnboundedError(NotProvedError):
    """Nothing is known of where a descent is after some steps, at the working precision."""


def generate(
    out: Path,
    *,
    given: dict[str, Plain],
    indices: Sequence[int] | None = None,
    theorem: str | None = None,
    steps: int | None = None,
    most_steps: int = STEPS,
    angles: Sequence[int | str] = (),
    weights: Sequence[int | str] = (),
    losses: Sequence[int | str] = (),
    norms: Sequence[int | str] = (),
    below: Sequence[int | str] = (),
    both_ends: bool = False,
    limit: bool = True,
    late_rate: bool = False,
    note: str = "",
    said: Callable[[int, int], None] | None = None,
) -> Certificate:
    """Write a certificate of `selection-direction` to `out` and return it.

    Parameters
    ----------
    out : path-like
        Where to write it.
    given : mapping
        What the certificate is about; `certattn.generate` takes the fields as keywords: keys with scores and
        possibly `queries`, or tokens with `v`; `loss`, `descent`, `start`.
    indices : sequence of int, optional
        The chosen tokens; where the descent is going if left out, or the best tokens for every start.
    theorem : str, optional
        The theorem to apply; found if left out.
    steps : int, optional
        After how many steps to apply it, or at which time of the flow; found if left out.
    most_steps : int
        How many steps are tried, or how long the flow is followed.
    angles : sequence of int or str
        Steps (times of the flow) at which to bound 1 - cos angle(p(k), p_mm). Those up to `most_steps` are enclosed,
        which gives the sharpest bounds. A bound that is not below 1 is left out. After "1000+" the bound is one of all
        steps from 1000 on.
    weights : sequence of int or str
        The same, to bound the least softmax weight of a chosen token from below.
    losses : sequence of int or str
        The same, to bound the loss less its limit from above.
    norms : sequence of int or str
        The same, to bound |p(k)| from below.
    below : sequence of str
        Bounds of 1 - cos angle: each is stated of all steps from the first on of which that is proved.
    both_ends : bool
        Whether to bound all these from the other side too at single steps: angles and losses from below, weights and
        norms from above. After the last enclosed step only the theorem `tube` does.
    limit : bool
        Whether to state p_mm itself.
    late_rate : bool
        Whether to state a rate that is below 1 only after 10^30 steps (or so long).
    note : str
        A line for the certificate's readers, kept under `provenance`.
    said : callable, optional
        Called during long searches with the steps that are done, and of how many.

    Returns
    -------
    Certificate
        What was written.

    Raises
    ------
    UsageError, MalformedError
        As `certattn.generate` does.
    NotProvedError
        No theorem was found to apply, with the reason.

    References
    ----------
    Ataee Tarzanagh, Li, Zhang and Oymak (2023), *Max-Margin Token Selection in Attention Mechanism*, arXiv:2306.13596.
    Statement and proof: docs/claims/selection/selection-direction.md.

    Examples
    --------
    >>> import certattn
    >>> keys, scores = [[["-1/10", 1], [1, 0], [0, 0]]], [[1, "9/10", "9/10"]]
    >>> descent = {"rule": "gradient", "step": 1}
    >>> certificate = certattn.generate(
    ...     "selection-direction", keys=keys, scores=scores, loss="logistic", descent=descent, start=[0, "-3/2"]
    ... )
    >>> certificate.plain["asserts"]["limit"]
    ['-10/101', '100/101']
    """
    if theorem is not None:
        require_one_of((*CANDIDATES, CONE), theorem, "theorem")
    draft = Draft(THEOREM, out, exact(given, "given"), note)
    setting = draft.read(read_setting)
    most = MOST_IN_LEAPS if _in_leaps(setting) else MOST_STEPS
    if not 0 <= most_steps <= most or (steps is not None and not 0 <= steps <= most):
        raise UsageError(f"expected at most {most} steps, and not fewer than 0")
    asked = requested({"angles": angles, "weights": weights, "losses": losses, "norms": norms}, both_ends)
    narrow = [exact_text(bound, "below") for bound in below]
    _require_fit(setting, theorem, asked, narrow)
    # What is stated of all steps from one on is looked at one by one up to where a theorem applies.
    most_steps = min([most_steps, *(int(each.at.ceil()) + MOST_STEPS for each in asked if each.ever)])
    last, trace = most_steps if steps is None else steps, Trace(said)
    aim = max((each.at for each in asked if each.kind == "angles" and each.at > last), default=None)
    # Where all that follows is bounded, the sharpest bound is that of a theorem which is applied there.
    gradient = setting.rule.kind == GRADIENT
    stops = [int(each.at.ceil()) for each in asked if each.at <= last and (gradient or not each.ever)]
    needed = [int(each.at.ceil()) for each in asked if each.at <= last and not each.ever]
    # The first step of a bound is found step by step, and only later ones in leaps.
    in_leaps = not narrow or most_steps > MOST_STEPS
    search = Search(setting, tuple(indices) if indices is not None else None, theorem, aim, stops, in_leaps, trace)
    found = None
    if narrow and in_leaps and steps is None:
        found = _first_narrowed(replace(search, in_leaps=False), narrow)
    run, choice = found or _sharpest(search, max(stops, default=0), max(needed, default=0), steps, most_steps)
    if found is None and narrow and steps is None:
        run, choice, _ = _narrowed(search, run, choice, narrow, most_steps)
    trace.end()
    asserts, witness = stated(run, choice, limit)
    if setting.start.kind == ENCLOSED:
        asserts = StatedBounds(draft, witness, run.bits).added(asserts, asked, narrow, late_rate)
    return draft.write(_proved_at_best(draft, asserts, witness), witness)


@dataclass(frozen=True)
class Setting:
    """What is given."""

    stated: StatedTokens
    loss: Loss
    rule: Rule
    start: Start


def read_setting(draft: Certificate) -> Setting:
    fields = draft.given.value
    if isinstance(fields, dict) and REGION.name in fields:
        expected = "a start: where a region of starts leads to is another claim, selection-basins"
        raise fields[REGION.name].malformed(expected, "a region", "certattn generate selection-basins")
    _, values = GIVEN.read(draft.given, draft.reading)
    stated = read_tokens(values)
    rule = read_rule(values[DESCENT], stated.tokens.count)
    return Setting(stated, LOSSES[values[LOSS]], rule, read_start(values[START], stated))


def requested(places: Mapping[str, Sequence[int | str]], both_ends: bool = False) -> list[Asked]:
    """The bounds that are asked for, by the names of the lists they go to."""
    found = [Asked(kind, exact_text(place, kind)) for kind, listed in places.items() for place in listed]
    return [*found, *(replace(each, other=True) for each in found if both_ends and not each.ever)]


def _require_fit(setting: Setting, theorem: str | None, asked: Sequence[Asked], below: Sequence[str]) -> None:
    """That theorem and bounds fit the start."""
    if theorem == CONE and setting.start.cone is None:
        raise UsageError("the theorem 'cone' needs start: {cone: {opening, norm}}")
    options = [*(each.option for each in asked), *(f"--below {bound}" for bound in below)]
    if options and setting.start.kind != ENCLOSED:
        every = start_words(setting.stated)
        of = "of an angle" if asked and asked[0].kind == "angles" else "at a step"
        raise UsageError(f"{options[0]}: no bound {of} holds for all of {every}; leave it out")
    for bound in below:
        if not 0 < exact_rational(bound, "--below") < 1:
            raise UsageError(f"--below {bound}: expected a bound of 1 - cos between 0 and 1, a right angle")


@dataclass
class Trace:
    """Says how far a long search has come."""

    said: Callable[[int, int], None] | None = None
    _before: float = field(default_factory=time.monotonic)
    _told: int | None = None

    def tell(self, done: int, last: int) -> None:
        if self.said is not None and done < last and time.monotonic() - self._before > _SILENT:
            self.said(done, last)
            self._before, self._told = time.monotonic(), done

    def end(self) -> None:
        """The search has ended where it was last."""
        if self.said is not None and self._told is not None:
            self.said(self._told, self._told)


# -- the chosen tokens


def read_indices(setting: Setting, indices: tuple[int, ...]) -> Selection:
    tokens = setting.stated.tokens
    if len(indices) != tokens.count:
        raise UsageError(f"{counted(len(indices), 'index')}, expected {tokens.count}, one for each input")
    for i, (index, length) in enumerate(zip(indices, tokens.lengths, strict=True)):
        if not 0 <= index < length:
            raise UsageError(f"input {i} has no token {index}, expected one of its {length}, counted from 0")
    selection = Selection(tokens, indices)
    if not selection.pairs:
        raise UsageError("every input has a single token: there is nothing to select from")
    return selection


def _best(tokens: Tokens) -> tuple[int, ...]:
    """The tokens of largest score. Raises UsageError where one has an equal."""
    best = best_tokens(tokens)
    for i, found in enumerate(best):
        if len(found) > 1:
            raise UsageError(f"tokens {found} of input {i} have the same score: none is optimal; state indices")
    return tuple(found[0] for found in best)


def _walk(setting: Setting, selection: Selection, steps: int) -> Iterator[tuple[int, Enclosure]]:
    """The descent enclosed: at 0, 1, 2, ... and later at longer intervals, and at the last step."""
    step = setting.rule.on(landscape(selection, setting.loss))
    here, k = setting.start.enclosed(step), 0
    yield k, here
    while k < steps:
        length = min(1 + k // 10, steps - k)
        here, k = carried_along(step, here, length)[length], k + length
        yield k, here


def max_margin_point(selection: Selection, loss: Loss) -> MaxMargin:
    """p_mm with multipliers for which w is largest. Raises NotProvedError where the tokens cannot be separated."""
    try:
        multipliers = max_margin_multipliers(selection.differences)
    except NotSeparableError as error:
        pairs = ", ".join(str(selection.pairs[j]) for j in sorted(error.weights))
        shown = ", ".join(map(str, selection.indices))
        raise NotProvedError(
            f"the chosen tokens ({shown}) cannot be separated from the others: some positive multiples of "
            f"k_ia - k_it sum to 0, for the pairs (i, t) = {pairs}; expected other indices"
        ) from None
    solution = hard_margin(selection.differences, multipliers)
    gains = {j: float(gain) for j, gain in SelectionConstants(selection, loss, solution).gains.items()}
    return balanced(selection, solution, gains)


# -- the theorem and the step at which it applies


@dataclass(frozen=True)
class Run:
    """A descent, and tokens that it may be shown to select."""

    setting: Setting
    selection: Selection
    solution: MaxMargin
    bits: int = SEARCH_BITS[0]
    _made: dict[int, tuple[SelectionConstants, Landscape]] = field(default_factory=dict, compare=False)

    def situation(self, point: list[arb] | None) -> Situation:
        """At a point, at the working precision; what does not depend on the point is computed once for each."""
        if ctx.prec not in self._made:
            constants = SelectionConstants(self.selection, self.setting.loss, self.solution)
            self._made[ctx.prec] = constants, landscape(self.selection, self.setting.loss)
        return Situation(*self._made[ctx.prec], self.setting.rule, point)


def _is_point(start: Start) -> bool:
    return start.box is not None and start.box[0] == start.box[1]


def _in_leaps(setting: Setting) -> bool:
    """Whether leaps are tried."""
    return _is_point(setting.start) and setting.rule.kind == GRADIENT and _is_small(setting)


def _is_small(setting: Setting) -> bool:
    rows, dimension = setting.stated.tokens.keys.shape
    return rows * dimension <= _LARGE


def _why_unbounded(setting: Setting) -> str:
    """Why nothing is known of a point of descent, and what to do."""
    if not _is_point(setting.start):
        return (
            "the start box, which grows as descent goes on, is too large, or the gradient is not told from 0 there; "
            "expected a smaller box"
        )
    if setting.rule.kind == NORMALISED:
        return "normalised steps overshoot there, where the gradient is not told from 0; expected a smaller step"
    return "the steps overshoot there and enlarge every error; expected a smaller step"


@dataclass
class Search:
    """For the chosen tokens, unless they are stated, and for a step at which a theorem applies to them.

    With an `aim`, a step far off, the theorem is the one with the smallest bound of the angle there. At the `stops`
    bounds are stated that need what is enclosed.
    """

    setting: Setting
    indices: tuple[int, ...] | None
    theorem: str | None
    aim: fmpq | None = None
    stops: Sequence[int] = ()
    in_leaps: bool = True
    trace: Trace = field(default_factory=Trace)
    _runs: dict[tuple[int, ...], Run | None] = field(default_factory=dict)
    _prospects: dict[tuple[int, ...], Prospect | None] = field(default_factory=dict)
    # The heaviest tokens, and since when they are.
    _steady: tuple[tuple[int, ...], int] | None = None
    # Of what tokens a theorem may apply by the last step.
    _hoped: set[tuple[int, ...]] = field(default_factory=set)
    _ends: dict[int, tuple[int, ...]] = field(default_factory=dict)

    @cached_property
    def _doubles(self) -> TokensInDoubles:
        return TokensInDoubles(self.setting.stated.tokens)

    @property
    def _is_large(self) -> bool:
        return not _is_small(self.setting)

    def _at_last(self, last: int) -> tuple[int, ...]:
        """The heaviest tokens at the last step: descent may rest on others for long before."""
        if last not in self._ends:
            *_, (_, point) = self._trail(last)
            self._ends[last] = self._doubles.heaviest(np.array(point))
        return self._ends[last]

    @cached_property
    def _best(self) -> tuple[int, ...] | None:
        """The tokens of largest score, if there is one in every input."""
        best = best_tokens(self.setting.stated.tokens)
        return tuple(found[0] for found in best) if all(len(found) == 1 for found in best) else None

    @property
    def _precisions(self) -> tuple[int, ...]:
        if not self.setting.rule.discrete:
            return _FLOW_BITS
        # Where steps are dear, more bits come to nothing in any time that one waits.
        return SEARCH_BITS[:1] if self._is_large else SEARCH_BITS

    def find(self, first: int, steps: int | None, most_steps: int) -> tuple[Run, Choice]:
        """The tokens, the theorem and the first step from `first` on at which it applies.

        From a point, with as many bits as its enclosures need; a box grows whatever the precision.
        """
        if self.in_leaps and _in_leaps(self.setting):
            for bits in SEARCH_BITS[:-1]:
                with working_precision(bits):
                    found = self._leapt(first, steps, most_steps if steps is None else steps)
                if found is not None:
                    return replace(found[0], bits=bits), found[1]
            if (most_steps if steps is None else steps) > MOST_STEPS:
                raise UnboundedError(f"in leaps {_why_unbounded(self.setting)}, or at most {MOST_STEPS} steps")
        for bits in self._precisions:
            try:
                with working_precision(bits):
                    run, choice = self._found(first, steps, most_steps)
                return replace(run, bits=bits), choice
            except UnboundedError:
                if bits == self._precisions[-1] or not _is_point(self.setting.start):
                    raise
        raise AssertionError("the last precision returns or raises")

    def _found(self, first: int, steps: int | None, most_steps: int) -> tuple[Run, Choice]:
        """The same at the working precision."""
        setting, tokens = self.setting, self.setting.stated.tokens
        enclosed = setting.start.kind == ENCLOSED
        if not enclosed:
            indices = self.indices if self.indices is not None else _best(tokens)
            run = self.run(indices)
            cone = setting.start.cone
            if cone is not None and self.theorem in (CONE, None):
                choice = cone_choice(run.situation(None), cone)
            else:
                choice = applicable(run.situation(None), self.theorem)
            if choice is None:
                raise NotProvedError(why_not(run.situation(None), run.solution, self.theorem, 0))
            return run, choice
        last = most_steps if steps is None else steps
        if _is_point(setting.start) or not setting.rule.discrete:
            scouted = self._scouted(first, steps, last)
            if scouted is not None:
                return scouted
        if not setting.rule.discrete:
            raise UnboundedError("no theorem was found to hold where the flow from this start is enclosed")
        # Enclosures are narrowest with the tokens that are heaviest in the end.
        *_, (_, going) = scouted_descent(tokens, setting.loss.name, setting.rule, setting.start, min(last, _FEW_STEPS))
        heavy = heaviest(tokens, [arb(x) for x in going])
        start = read_indices(setting, self.indices if self.indices is not None else heavy)
        end: list[arb] = []
        weak: tuple[Run, Choice] | None = None
        for k, here in _walk(setting, start, last):
            self.trace.tell(k, last)
            if not here.error.is_finite():
                raise UnboundedError(f"the enclosure of p({k}) is unbounded: {_why_unbounded(setting)}, or fewer steps")
            end = here.box
            if k < first or steps not in (None, k):
                continue
            found = self.choice(end, k)
            if found is not None and (self.theorem is not None or found[1].theorem not in WEAK or k == last):
                return found
            weak = weak or found
        if weak is not None:
            return weak
        run = self.run(self._suspects(end)[-1])
        raise NotProvedError(why_not(run.situation(end), run.solution, self.theorem, last))

    def choice(self, point: list[arb], k: int) -> tuple[Run, Choice] | None:
        """What applies at p(k): of tokens that may be selected there, the first for which something does."""
        elapsed = None if self.aim is None else self.aim - k
        here = np.array([float(x) for x in point])
        for indices in self._suspects(point):
            prospect = self._prospect(indices)
            # Tokens that are stated are told exactly why they cannot be separated.
            if prospect is not None and not prospect.may_hold(here):
                continue
            if prospect is None and self.indices is None:
                continue
            tried = self._tried(indices)
            choice = applicable(tried.situation(point), self.theorem, elapsed) if tried is not None else None
            if tried is not None and choice is not None:
                return tried, replace(choice, steps=k)
        return None

    def _leapt(self, first: int, steps: int | None, last: int) -> tuple[Run, Choice] | None:
        """The same along the descent enclosed in leaps; None where that comes to nothing.

        With an aim, later steps are tried too: the bound there is often much sharper.
        Raises NotProvedError where nothing is found.
        """
        for tolerance in _TOLERANCES:
            tried: list[tuple[Run, Choice]] = []
            k, here = 0, around(self.setting.start.balls())
            self._steady = None
            for k, here in self._leaps(first if steps is None else last, last, tolerance):
                found = self.choice(here.box, k)
                if found is None:
                    if not tried:
                        self._watch(here.centre, k, last)
                    continue
                tried.append((found[0], replace(found[1], leaps=tolerance)))
                if self.theorem is None and found[1].theorem in WEAK:
                    continue
                if self.aim is None or self._settled(tried):
                    break
            if tried:
                return self._confirmed(self._fewest(tried))
            if k == last and (here.error < _SMALL) is True:
                run = self.run(self._suspects(here.box)[-1])
                raise NotProvedError(why_not(run.situation(here.box), run.solution, self.theorem, last))
        return None

    def _leaps(self, first: int, last: int, tolerance: fmpq) -> Iterator[tuple[int, Enclosure]]:
        """Where to try theorems: from `first` on, further and further apart, and at the last step."""
        tokens, here, k = self.setting.stated.tokens, around(self.setting.start.balls()), 0
        if first == 0:
            yield k, here
        while k < last and here.error.is_finite():
            stop = min(first if k < first else last, max(k + 1, int(k * _SPACING)))
            # Of any tokens the step is the same, but enclosed over a leap it is the narrowest with the heaviest.
            step = self._step(heaviest(tokens, here.centre))
            assert isinstance(step, GradientStep)
            for reached in advance(step, here, k, stop, tolerance):
                k, here = reached
                self.trace.tell(k, last)
            if k >= first and here.error.is_finite():
                yield k, here

    def _settled(self, tried: Sequence[tuple[Run, Choice]]) -> bool:
        """Whether many more steps than some that were tried have made the bound no smaller."""
        latest = tried[-1][1].steps
        before = [choice.bound for _, choice in tried if choice.steps * _MANY <= latest]
        return bool(before) and latest > _FEW_STEPS and min(c.bound for _, c in tried) > _SMALLER * min(before)

    def _fewest(self, tried: Sequence[tuple[Run, Choice]]) -> tuple[Run, Choice]:
        """Without an aim the first theorem that is not weak; or else the first bound that is near the smallest."""
        if self.aim is None:
            return tried[-1]
        least = min(choice.bound for _, choice in tried)
        return next(each for each in tried if each[1].bound * _SMALLER <= least)

    def _confirmed(self, found: tuple[Run, Choice]) -> tuple[Run, Choice] | None:
        """What applies there as the checker encloses it, which is without leaps where there are few steps."""
        run, choice = found
        k, leaps = choice.steps, choice.leaps if choice.steps > _FEW_STEPS else None
        step, start = self._step(run.selection.indices), around(self.setting.start.balls())
        if leaps is not None and isinstance(step, GradientStep):
            end = leap_along(step, start, k, self.stops, leaps)[k]
        else:
            end = descend(step, start, k)[k]
        again = self.choice(end.box, k) if end.error.is_finite() else None
        return (again[0], replace(again[1], leaps=leaps)) if again is not None else None

    def _step(self, indices: tuple[int, ...]) -> GradientStep | NormalisedStep:
        """A step: the same for any chosen tokens."""
        return self.setting.rule.on(landscape(read_indices(self.setting, indices), self.setting.loss))

    def _scouted(self, first: int, steps: int | None, last: int) -> tuple[Run, Choice] | None:
        """The same found along the descent in doubles, and confirmed where it is enclosed; None if it is not.

        With an aim, later steps that are not many more are tried too: the bound there is often much sharper.
        Raises NotProvedError where nothing is found.
        """
        setting, found, best, latest = self.setting, None, math.inf, last
        point: list[arb] = []
        spotted: list[arb] = []
        self._steady = None
        for k, here in self._trail(last):
            if k > latest:
                break
            self.trace.tell(k, latest)
            point = [arb(x) for x in here]
            if k < first or steps not in (None, k):
                continue
            tried = self.choice(point, k)
            if tried is None:
                if found is None:
                    self._watch(point, k, last)
                continue
            strong = self.theorem is not None or tried[1].theorem not in WEAK
            if found is None or tried[1].bound < _SHARPER.get(setting.rule.kind, 1) * best:
                found, spotted, best = k, point, tried[1].bound
            if strong and self.aim is None:
                found, spotted = k, point
                break
            # Late times of the flow cost little.
            if strong and latest == last and setting.rule.discrete:
                latest = min(last, self._worth_trying(k))
        if found is None and len(point) > 0 and k == last:
            run = self.run(self._suspects(point)[-1])
            raise NotProvedError(why_not(run.situation(point), run.solution, self.theorem, last))
        if found is None:
            return None
        end = self._enclosed(spotted, found)
        if end.error.is_finite():
            return self.choice(end.box, found)
        if ctx.prec < self._precisions[-1] and _is_point(setting.start):
            raise UnboundedError(f"the enclosure of p({found}) is unbounded: {_why_unbounded(setting)}, or fewer steps")
        return None

    def _worth_trying(self, k: int) -> int:
        """Up to which step a sharper bound is sought where a theorem applies at step k: not where steps are dear."""
        return k if self._is_large else max(_LATER * k, _FEW_STEPS)

    def walk(self, choice: Choice, last: int) -> Iterator[tuple[int, list[arb]]]:
        """Where the descent is, about, at some steps: enclosed in leaps where the choice is, or else in doubles."""
        if self.in_leaps and _in_leaps(self.setting):
            for k, here in self._leaps(choice.steps, last, choice.leaps or _TOLERANCES[0]):
                yield k, here.centre
            return
        for k, point in self._trail(last):
            yield k, [arb(x) for x in point]

    def _trail(self, last: int) -> Iterator[tuple[int, list[float]]]:
        """Where the descent is, about, at some steps or times."""
        setting, tokens = self.setting, self.setting.stated.tokens
        if not setting.rule.discrete:
            return scouted_flow(tokens, setting.loss, setting.rule, setting.start, last)
        return scouted_descent(tokens, setting.loss.name, setting.rule, setting.start, last)

    def _enclosed(self, point: list[arb], k: int) -> Enclosure:
        """p(k), which is near the point."""
        setting, start = self.setting, around(self.setting.start.balls())
        indices = self.indices or heaviest(setting.stated.tokens, point)
        surface = landscape(read_indices(setting, indices), setting.loss)
        if setting.rule.discrete:
            return self._followed(setting.rule.on(surface), start, k)
        return flow(SelectionFlow(surface, arb(setting.rule.unit)), start, [fmpq(k)])[fmpq(k)]

    def _followed(self, step: GradientStep | NormalisedStep, start: Enclosure, k: int) -> Enclosure:
        """p(k). Raises NotProvedError where the error grows so fast that the most bits would not suffice."""
        here, done = start, 0
        for stretch in stretches(step, start, k):
            here, done = stretch.after, done + len(stretch.centres)
        if not here.error.is_finite() and done * self._precisions[-1] < k * ctx.prec:
            raise NotProvedError(
                f"{ctx.prec} bits are lost within {done} steps, and a theorem applies after {k}: "
                f"{_why_unbounded(self.setting)}, or another start"
            )
        return here

    def _suspects(self, point: list[arb]) -> list[tuple[int, ...]]:
        """The tokens that descent may be shown to select: those stated, or the best ones and the heaviest there."""
        if self.indices is not None:
            return [self.indices]
        heavy = self._doubles.heaviest(np.array([float(x) for x in point]))
        return [heavy] if self._best in (None, heavy) else [self._best, heavy]

    def _prospect(self, indices: tuple[int, ...]) -> Prospect | None:
        if indices not in self._prospects:
            read_indices(self.setting, indices)
            self._prospects[indices] = prospect_of(self._doubles, self.setting.loss, indices)
        return self._prospects[indices]

    def _watch(self, point: Sequence[arb], k: int, last: int) -> None:
        """Raises NotProvedError, long before the last step, where the heaviest tokens stay and nothing may hold."""
        here = np.array([float(x) for x in point])
        heavy = self._doubles.heaviest(here)
        if self._steady is None or self._steady[0] != heavy:
            self._steady = heavy, k
        since = self._steady[1]
        early = k < _PATIENCE * max(since, _EARLIEST)
        if k >= last or early or heavy in self._hoped or self.indices not in (None, heavy):
            return
        # So many steps take less time in leaps than one by one in doubles, to see where they end.
        if last > MOST_STEPS:
            return
        if not self._is_large and self._at_last(last) != heavy:
            self._hoped.add(heavy)
            return
        tokens = ", ".join(map(str, heavy))
        given_up = f"given up after {k} of {last} steps, as the heaviest tokens have been ({tokens}) since step {since}"
        prospect = self._prospect(heavy)
        try:
            run = self.run(heavy)
        except NotProvedError as error:
            raise NotProvedError(f"{error}; {given_up}: try another start") from None
        if prospect is None:
            return
        shorter = " or a smaller step" if self.setting.rule.kind == NORMALISED else ""
        if prospect.has_bad_neighbours:
            reasons = [*not_optimal(run.selection, run.solution), given_up, f"try another start{shorter}"]
            raise NotProvedError("; ".join(reasons))
        along = float(prospect.direction @ np.array([float(x) for x in point]))
        far = along + self._growth(prospect.margin, k, last)
        later = run.situation(self._at_best(run, point, prospect, far))
        if applicable(later, self.theorem) is not None:
            self._hoped.add(heavy)
            return
        reasons = [why_not(later, run.solution, self.theorem, last), f"{given_up}, and {far:.3g} is about as far"]
        advice = f"along p_mm as it would be then: try a start further out, or another one{shorter}"
        if self.setting.rule.kind != NORMALISED:
            for further in _FURTHER:
                there = run.situation(self._at_best(run, point, prospect, further * far))
                if applicable(there, self.theorem) is not None:
                    advice = f"along p_mm as it would be then: try a start at about {further * far:.3g}"
                    break
        raise NotProvedError(f"{'; '.join(reasons)} {advice}")

    def _growth(self, margin: float, k: int, last: int) -> float:
        """About the most that <p, u> grows until the last step: e^{Xi x} grows like k, x itself where normalised."""
        if self.setting.rule.kind == NORMALISED:
            return in_doubles(self.setting.rule.unit) * (last - k)
        return (math.log(last / k) + 1) / margin

    def _at_best(self, run: Run, point: Sequence[arb], prospect: Prospect, along: float) -> list[arb]:
        """Where theorems apply most easily so far along p_mm: what descent tends to across it."""
        reference = reference_point(run.situation(None).constants, point).point.row(0)
        return [arb(x) + along * arb(float(u)) for x, u in zip(reference, prospect.direction, strict=True)]

    def _tried(self, indices: tuple[int, ...]) -> Run | None:
        """The run of these tokens; None where they are not stated and cannot be separated."""
        if indices not in self._runs:
            try:
                self._runs[indices] = self.run(indices)
            except NotProvedError:
                if self.indices is not None:
                    raise
                self._runs[indices] = None
        return self._runs[indices]

    def run(self, indices: tuple[int, ...]) -> Run:
        """The run of these tokens. Raises NotProvedError where they cannot be separated."""
        selection = read_indices(self.setting, indices)
        return Run(self.setting, selection, max_margin_point(selection, self.setting.loss))


def _sharpest(search: Search, first: int, needed: int, steps: int | None, most_steps: int) -> tuple[Run, Choice]:
    """What applies from `first` on, or where descent is not enclosed so far, from the earlier step that is needed."""
    try:
        return search.find(first, steps, most_steps)
    except UnboundedError:
        if first == needed:
            raise
        return search.find(needed, steps, most_steps)


def _first_narrowed(search: Search, below: Sequence[str]) -> tuple[Run, Choice] | None:
    """What is found step by step, if all of these bounds are proved to hold from some step on that is not late."""
    first = max(search.stops, default=0)
    if first > STEPS:
        return None
    try:
        run, choice, all_met = _narrowed(search, *search.find(first, None, STEPS), below, STEPS)
    except NotProvedError:
        return None
    return (run, choice) if all_met else None


def _narrowed(
    search: Search, run: Run, choice: Choice, below: Sequence[str], most_steps: int
) -> tuple[Run, Choice, bool]:
    """The same from the first step on, of a few, where a theorem bounds 1 - cos by the smallest of these for good.

    Where none does within `most_steps`, by as small a one as some theorem does. And whether all bounds are met.
    """
    setting = search.setting
    if not (setting.rule.discrete and _is_point(setting.start)):
        return run, choice, False
    wanted = sorted((exact_rational(bound, "below") for bound in below), reverse=True)
    found, met = choice.steps, 0
    with working_precision(run.bits):
        for k, here in search.walk(choice, most_steps):
            search.trace.tell(k, most_steps)
            if k < choice.steps:
                continue
            if met == len(wanted):
                break
            tried = applicable(run.situation(here), search.theorem, fmpq(0))
            reached = sum(tried.bound <= _ROOM * float(arb(bound)) for bound in wanted) if tried is not None else 0
            if reached > met:
                found, met = k, reached
    if met > 0:
        run, choice = replace(search, indices=run.selection.indices, aim=fmpq(found)).find(found, found, most_steps)
    return run, choice, met == len(wanted)


# -- what is stated


def stated(run: Run, choice: Choice, limit: bool) -> tuple[dict[str, Plain], dict[str, Plain]]:
    """What is asserted, as yet without bounds of angles, and the witness."""
    selection, solution = run.selection, run.solution
    witness: dict[str, Plain] = {"multipliers": multiplier_table(selection, solution.multipliers)}
    if choice.steps > 0:
        witness["steps" if run.setting.rule.discrete else "time"] = str(choice.steps)
    if choice.leaps is not None:
        witness[LEAPS.name] = format_rational(choice.leaps)
    # With fewer bits what takes long would fail first.
    if run.bits > SEARCH_BITS[0] or choice.leaps is not None:
        witness["bits"] = str(run.bits)
    witness["theorem"] = {"name": choice.theorem, **choice.parameters}
    asserts: dict[str, Plain] = {"indices": [str(index) for index in selection.indices]}
    if limit:
        tokens = run.setting.stated
        asserts["limit"] = stated_point(solution.solution, tokens.shape, tokens.variable)
    return asserts, witness


def _proved_at_best(draft: Draft, asserts: dict[str, Plain], witness: dict[str, Plain]) -> dict[str, Plain]:
    """These asserts if they are proved, or else without the rate. Raises NotProvedError if nor are those."""
    try:
        draft.read(require_proved, asserts, witness)
    except NotProvedError:
        if RATE.name not in asserts:
            raise
        asserts = {name: value for name, value in asserts.items() if name != RATE.name}
        draft.read(require_proved, asserts, witness)
    return asserts


def _left_out(certificate: Certificate, inputs: Mapping[str, Any]) -> str:
    """What was asked for, or found, and is not stated because it says nothing."""
    problem = read(certificate)
    found = {(bound.kind, bound.at, bound.ever, bound.relation == "<=") for bound in problem.bounds}
    asked = requested({kind: inputs[kind] for kind in OPTIONS}, inputs["both_ends"])
    missing = [each for each in asked if not each.other and each.key not in found]
    others = [each for each in asked if each.other and each.key not in found]
    narrow = {bound.bound for bound in problem.bounds if bound.ever and bound.kind == "angles"}
    said = []
    angles = ", ".join(each.text for each in missing if each.kind == "angles")
    if angles:
        said.append(f"left out --angle {angles}: no bound of 1 - cos below 1, a right angle, is proved there")
    said += [f"left out {each.option}: nothing above 0 is proved there" for each in missing if each.kind != "angles"]
    said += [
        f"left out the other end of {each.option}: the theorem {problem.theorem.name!r} proves none there "
        f"(--theorem {TUBE.name} may)"
        for each in others
    ]
    for bound in inputs["below"]:
        if exact_rational(bound, "--below") not in narrow:
            said.append(f"left out --below {bound}: that is not proved from any step up to 10^30 on")
    if RATE not in problem.asserts and problem.rate_begins is not None:
        said.append("left out the rate: no rate below 1 is proved within 10^30 steps (--late-rate states one)")
    return "\n".join(said)


# How far a descent is followed.
STEP_OPTIONS = (
    Option("--steps", "How many steps (of the flow: how long) to enclose first; found if left out.", int, "K"),
    Option("--most-steps", "The largest number of steps (or time) to try.", int, "K"),
)
_BOUNDED = {
    "angles": "the angle",
    "weights": "the least softmax weight of a chosen token",
    "losses": "the loss less its limit",
    "norms": "|p| from below",
}
COMMAND = Command(
    Argument("DESCENT", Yaml("given")),
    token_indices("The chosen token of each input, counted from 0; by default those to which descent converges."),
    Option("--theorem", "The theorem to apply; found if left out.", metavar="NAME"),
    *STEP_OPTIONS,
    *(
        Option(
            f"--{OPTIONS[kind]}",
            f"A step (time of the flow) at which to bound {of}.",
            metavar="K",
            sets=kind,
            many=True,
        )
        for kind, of in _BOUNDED.items()
    ),
    Option(
        "--below",
        "A bound of 1 - cos angle for all steps from the first on for which it is proved.",
        metavar="BOUND",
        many=True,
    ),
    Option("--both-ends", "Bound all these from the other side too, at single steps.", bool),
    Option("--late-rate", "State a rate even if it falls below 1 only after 10^30 steps.", bool),
    to_plot("Draw the run and what is certified about it."),
    finding=_left_out,
    progress="steps",
)
