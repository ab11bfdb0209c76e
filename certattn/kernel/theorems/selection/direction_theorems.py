"""What theorems on the direction of descent offer to `selection-direction`: conditions, and bounds for later steps.

    global        Theorem A from p(K)             every-start   Theorem A2 (A1 for one input), from p(K) or anywhere
    local         Theorem D from p(K)             cone          Theorem F from every point of a cone
    tube          Theorem T from p(K)

The claim encloses p(K) and hands it over as a `Situation`; the theorem answers with a `Conclusion`: its conditions as
obligations, all of them the witness's, and bounds of 1 - cos angle(p(k), p_mm) for later k. The bounds are used only
where all conditions are proved. The formulas stand in `mathematics.global_selection`, `mathematics.local_convergence`
and `mathematics.contracting_tube`, the proofs in docs/claims/selection/selection-direction.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Protocol

from flint import arb, fmpq

from certattn.kernel.decide.obligation import Number, Obligation, Part, Range, Relation, Shared, Side
from certattn.kernel.document.matrices import Vector
from certattn.kernel.document.quoting import counted
from certattn.kernel.document.schema import Field, Listing, Rational, Record, Values, Variant
from certattn.kernel.mathematics.balls import l2_norm
from certattn.kernel.mathematics.selection_landscape import Landscape
from certattn.kernel.mathematics.token_selection import Selection, largest_spread
from certattn.kernel.theorems.selection.mathematics import global_selection, local_convergence
from certattn.kernel.theorems.selection.mathematics.contracting_tube import TubeConvergence, TubeTrial
from certattn.kernel.theorems.selection.mathematics.global_selection import GlobalBasin
from certattn.kernel.theorems.selection.mathematics.local_convergence import LocalConvergence, LocalTrial
from certattn.kernel.theorems.selection.mathematics.selection_constants import (
    CONE,
    ENCLOSED,
    EVERY,
    FLOW,
    GRADIENT,
    NORMALISED,
    Cone,
    Rule,
    SelectionConstants,
    Start,
    least,
)

_ZERO = fmpq(0)

# -- rates: bounds for all later steps, in one formula

FROM = Field("from", Rational(minimum=0), "the step (or time) k0 from which on the rate holds")
NUMERATOR = Field("numerator", Rational(minimum=0), "A in A / log(B + C (k - k0))")
OFFSET = Field("offset", Rational(above=1), "B > 1")
SLOPE = Field("slope", Rational(above=0), "C > 0")
_LATERAL = "A in ((A + sqrt(S + G l)) / l)^2 / 2 with l = log(B + C (k - k0)); or in (A / (B + C (k - k0)))^2 / 2"
LATERAL = Field("lateral", Rational(minimum=0), _LATERAL)
SQUARE = Field("square", Rational(minimum=0), "S")
GROWTH = Field("growth", Rational(minimum=0), "G")
LOGARITHM, ROOT, LINEAR = "logarithm", "root", "linear"
# What is compared of a rate, in the order of the obligations.
RATE_FIELDS: Mapping[str, tuple[Field[fmpq], ...]] = {
    LOGARITHM: (NUMERATOR, OFFSET, SLOPE),
    ROOT: (LATERAL, SQUARE, GROWTH, OFFSET, SLOPE),
    LINEAR: (LATERAL, OFFSET, SLOPE),
}
_RATES = Variant("form", {form: Record(FROM, *fields) for form, fields in RATE_FIELDS.items()})
RATE = Field("rate", _RATES, "a bound of 1 - cos angle(p(k), p_mm) for all k >= k0", required=False)


# -- theorems


@dataclass(frozen=True)
class Situation:
    """What a theorem is applied to: p(K) lies in the box `point`, at the working precision; None for every start."""

    constants: SelectionConstants
    landscape: Landscape
    rule: Rule
    point: list[arb] | None

    @property
    def box(self) -> list[arb]:
        assert self.point is not None
        return self.point


Situated = Callable[[], Situation]


class LaterRun(Protocol):
    """What a theorem says of every p(k) from so many steps (or so long) after the point it is applied at."""

    def at(self, elapsed: fmpq) -> arb:
        """A bound of 1 - cos angle(p(k), p_mm)."""

    def least_weight(self, elapsed: fmpq) -> Number:
        """A lower bound of every chosen token's softmax weight."""

    def loss_gap(self, elapsed: fmpq) -> Number:
        """An upper bound of L(p(k)) - L_alpha."""

    def least_norm(self, elapsed: fmpq) -> Number:
        """A lower bound of |p(k)|."""

    def proved(self, elapsed: fmpq) -> Sequence[arb | Range]:
        """The numbers of the rate that begins there, in the order of its fields."""


class EnclosedRun(LaterRun, Protocol):
    """What a theorem says of these from the other side, of p(k) so many steps (or so long) after that point."""

    def least_angle(self, elapsed: fmpq) -> arb:
        """A lower bound of 1 - cos angle(p(k), p_mm)."""

    def most_weight(self, elapsed: fmpq) -> arb:
        """An upper bound of the least softmax weight of a chosen token."""

    def least_gap(self, elapsed: fmpq) -> arb:
        """A lower bound of L(p(k)) - L_alpha."""

    def most_norm(self, elapsed: fmpq) -> arb:
        """An upper bound of |p(k)|."""


@dataclass(frozen=True)
class Conclusion:
    """The conditions, and the rate that they imply `delay` steps (or so long) after the first K; None for none.

    The rate is computed when asked for: where a condition fails it may not exist. `both` is the same where the theorem
    bounds everything from both sides.
    """

    conditions: list[Obligation]
    rate: Callable[[], LaterRun] | None = None
    delay: fmpq = _ZERO
    both: Callable[[], EnclosedRun] | None = None


Reader = Callable[[Values, Start, Selection, Rule], Any]


@dataclass(frozen=True)
class DescentTheorem:
    """A theorem that gives the direction of descent.

    `rules` are the rules of descent that it is proved for, with the form of the rate, `starts` the kinds of start that
    it is about, `record` its fields in the witness. `read` makes its parameters of these; a text says why
    these prove nothing. `apply` gives its conditions, all named after it, which are asked where all of the names that
    it gets is proved.
    """

    name: str
    rules: Mapping[str, str]
    starts: tuple[str, ...]
    record: Record
    read: Reader
    apply: Callable[[Situated, Any, Selection, Sequence[str]], Conclusion]


def rate_at(form: str, stated: Values, elapsed: fmpq) -> arb:
    """What a stated rate says of 1 - cos so many steps (or so long) after it begins."""
    argument = arb(stated[OFFSET] + stated[SLOPE] * elapsed)
    if form == LOGARITHM:
        return stated[NUMERATOR] / argument.log()
    if form == LINEAR:
        return (stated[LATERAL] / argument) ** 2 / 2
    log = argument.log()
    return ((stated[LATERAL] + (stated[SQUARE] + stated[GROWTH] * log).sqrt()) / log) ** 2 / 2


# The name of a condition after that of its theorem, and what is compared.
_Condition = tuple[str, Side, Relation, Side]


def _staged(prefix: str, needs: Sequence[str], *stages: Sequence[_Condition]) -> list[Obligation]:
    """Conditions in stages: what a stage computes may not exist where an earlier one fails."""
    found: list[Obligation] = []
    for stage in stages:
        after = (*needs, *(each.name for each in found))
        for name, left, relation, right in stage:
            found.append(Obligation(f"{prefix}.{name}", left, relation, right, Part.WITNESS, after))
    return found


# -- Theorems A and A2

AFTER = Field("after", Rational(minimum=0), "steps (or time) after K at which theorem A gives a rate", required=False)


@dataclass(frozen=True)
class LogarithmicRate:
    """1 - cos angle(p(k), p_mm) <= numerator / log(start + slope (k - K)), k >= K with a positive logarithm: Theorem A.

    With the largest and the least F_0 and N_0 of the balls that contain F(p) and |p|: every bound of the theorem gets
    worse as they grow. The largest prove; the least tell what cannot be proved with narrower balls either.
    """

    worst: GlobalBasin
    best: GlobalBasin

    def at(self, elapsed: fmpq) -> arb:
        """The bound so many steps (or so long) after K; from 0 where nothing is known of the other end."""
        worst, best = self.worst.bound(elapsed), self.best.bound(elapsed)
        return worst.union(best if best.is_finite() is True else arb(0))

    def least_weight(self, elapsed: fmpq) -> Range:
        return Range(self.worst.least_weight(elapsed), self.best.least_weight(elapsed))

    def loss_gap(self, elapsed: fmpq) -> Range:
        return Range(self.worst.loss_gap(elapsed), self.best.loss_gap(elapsed))

    def least_norm(self, elapsed: fmpq) -> Range:
        return Range(self.worst.least_norm(elapsed), self.best.least_norm(elapsed))

    def proved(self, elapsed: fmpq) -> list[Range]:
        """The numbers of the rate from so many steps after K on, in the order of its fields."""
        return [Range(*ends) for ends in zip(self.worst.numbers(elapsed), self.best.numbers(elapsed), strict=True)]


def _basins(now: Situation, after: fmpq | None) -> LogarithmicRate:
    """Theorem A at p(K); or so many steps (or so long) after K, at what theorem A2 says of the point there."""
    return LogarithmicRate(_basin(now, after, arb.upper), _basin(now, after, lambda ball: ball.lower().max(arb(0))))


def _basin(now: Situation, after: fmpq | None, end: Callable[[arb], arb]) -> GlobalBasin:
    """With these ends of the balls, none of which is of a negative number: F >= 0 where every g_j > 0."""
    k, size = now.constants, now.rule.size()
    excess, norm = end(arb(now.landscape.excess(now.box))), end(l2_norm(now.box))
    if after is not None:
        elapsed, powers = arb(now.rule.unit) * after, now.landscape.exponentials(now.box)
        odds = {i: end(sum(row, arb(0))) for i, row in zip(k.scores, powers, strict=True)}
        weight = global_selection.lasting(k, size, excess, odds)
        norm = end(global_selection.norm_after(k, size, excess, norm, elapsed))
        excess = end(global_selection.excess_after(k, size, excess, weight, elapsed))
    return GlobalBasin(k, now.rule, excess, norm)


def _common(now: Situated, selection: Selection) -> list[_Condition]:
    """That the losses fall where the chosen tokens are, and that these have the largest scores."""
    return [
        ("slope", lambda: least(now().constants.slopes.values()), ">", _ZERO),
        ("optimal", lambda: min(selection.gaps), ">", _ZERO),
    ]


def _basin_conditions(basins: Callable[[], LogarithmicRate], step: str) -> list[_Condition]:
    """F_0 < a* and rho < 1."""
    excess = lambda: Range(basins().worst.excess, basins().best.excess)  # noqa: E731
    overshoot = lambda: Range(basins().worst.overshoot, basins().best.overshoot)  # noqa: E731
    return [("threshold", excess, "<", lambda: basins().worst.threshold), (step, overshoot, "<", fmpq(1))]


def _apply_global(now: Situated, parameters: None, selection: Selection, needs: Sequence[str]) -> Conclusion:
    basins = Shared(lambda: _basins(now(), None))
    conditions = [*_common(now, selection), *_basin_conditions(basins, "step")]
    return Conclusion(_staged("global", needs, conditions), basins)


def _read_after(values: Values, start: Start, selection: Selection, rule: Rule) -> fmpq | str | None:
    after = values.get(AFTER)
    if after is not None and start.kind != ENCLOSED:
        return "there is no rate for every start, so no number of steps after which it holds"
    if after is not None and rule.discrete and after.q != 1:
        return "a rate holds after a whole number of steps"
    return after


def _apply_every_start(now: Situated, after: fmpq | None, selection: Selection, needs: Sequence[str]) -> Conclusion:
    conditions = _common(now, selection)
    # The scores of the tokens that were not chosen differ by nothing within an input.
    conditions.append(("scores", largest_spread(selection), "<=", _ZERO))
    products = _cross_products(selection)
    if products:
        conditions.append(("cross", min(products), ">=", _ZERO))
    step = lambda: now().rule.size() * now().constants.curvature_bound  # noqa: E731
    conditions.append(("step", step, "<", fmpq(2)))
    if after is None:
        return Conclusion(_staged("every-start", needs, conditions))
    later = Shared(lambda: _basins(now(), after))
    conditions += _basin_conditions(later, "later-step")
    return Conclusion(_staged("every-start", needs, conditions), later, after)


def _cross_products(selection: Selection) -> list[fmpq]:
    """The <z_j, z_j'> of pairs of different inputs."""
    differences, pairs = selection.differences, selection.pairs
    table = (differences @ differences.T).to_rows()
    return [table[a][b] for a, b in combinations(range(len(pairs)), 2) if pairs[a].input != pairs[b].input]


# -- Theorems D and F

REFERENCE = Field("reference", Vector(), "a vector; its part across p_mm is the reference point q")
_BAD = "lambda_t / (delta_t Xi), below 1, of every token that scores no less than the chosen one, in their order"
FRACTIONS = Field("fractions", Listing(Rational(above=0)), _BAD, required=False)
INFLATION = Field("inflation", Rational(above=1), "Omega > 1, where there are such tokens", required=False)
SETBACK = Field("setback", Rational(minimum=0), "E_u >= 0; 0 if left out", required=False)
_SIDEWAYS = "so much of the sideways drift E_s is allowed for in the reaches of bad tokens; 0 if left out"
SIDEWAYS = Field("sideways", Rational(minimum=0), _SIDEWAYS, required=False)
PROGRESS = Field("progress", Rational(above=0), "chi, at most that of Lemma 4")
MOVE = Field("move", Rational(above=0), "a bound of how far one step moves; none for the flow", required=False)
RADIUS = Field("radius", Rational(minimum=0), "rho: how far descent may be from q among the neighbours' differences")
ASIDE = Field("aside", Rational(above=0), "nu: how far it may be from q beside them")
CURVATURE = Field("curvature", Rational(above=0), "mu, below every eigenvalue of the neighbours' covariance")
NEAR = Field("near", Rational(minimum=0), "good tokens of slack at most this count as neighbours; 0 if left out", False)
_DEMOTED = "tokens of a smaller score than the chosen one, but of more slack, count with the others; none if left out"
FAR = Field("far", Rational(minimum=0), _DEMOTED, required=False)
OPENING_SLOPE = Field("slope", Rational(above=0), "tau, the tangent of a wider cone that descent stays in")


def _optimality(now: Situated, selection: Selection) -> list[_Condition]:
    """Every bad pair is loose; nothing to ask where there is none."""
    slack = lambda: min(now().constants.solution.slacks[t] for t in selection.bad)  # noqa: E731
    return [("optimality", slack, ">", _ZERO)] if selection.bad else []


def _weights(near: Callable[[], local_convergence.NearbyWeights]) -> list[_Condition]:
    """That the bounds of Lemma 3 are bounds, and that descent leads forward."""
    return [("factors", lambda: near().smallest_factor, ">", _ZERO), ("forward", lambda: near().forward, ">", _ZERO)]


def _read_trial(values: Values, start: Start, selection: Selection, rule: Rule) -> LocalTrial | str:
    values[REFERENCE].require_length(selection.tokens.dimension, "a key")
    fractions, bad = values.items(FRACTIONS), selection.bad
    if len(fractions) != len(bad) or (INFLATION in values) is not (len(bad) > 0):
        given = (
            f"inflation, and {counted(len(bad), 'fraction')}, one for every token that scores no less than the chosen"
        )
        return f"it takes {given if bad else 'no inflation and no fractions'}"
    if (MOVE in values) is not rule.discrete:
        given = "move, a bound of how far one step moves" if rule.discrete else "no move, as the flow has no steps"
        return f"it takes {given}"
    shares, inflation = dict(zip(bad, fractions, strict=True)), values.get(INFLATION) or fmpq(1)
    setback, move, near, sideways = (values.get(field) or _ZERO for field in (SETBACK, MOVE, NEAR, SIDEWAYS))
    return LocalTrial(values[REFERENCE].load(), shares, inflation, setback, values[PROGRESS], move, near, sideways)


def _apply_local(now: Situated, trial: LocalTrial, selection: Selection, needs: Sequence[str]) -> Conclusion:
    """Every condition of Theorem D, from every point of the box."""

    proof = Shared(lambda: LocalConvergence(now().constants, now().rule, now().box, trial))
    signs: list[_Condition] = [("setback", trial.setback, ">=", _ZERO), ("near", trial.near, ">=", _ZERO)]
    bounds: list[_Condition] = [("progress", lambda: arb(trial.progress), "<=", lambda: proof().proved_progress)]
    if selection.bad:
        signs = [
            ("fractions.above", min(trial.fractions.values()), ">", _ZERO),
            ("fractions.below", max(trial.fractions.values()), "<", fmpq(1)),
            ("inflation", trial.inflation, ">", fmpq(1)),
            ("sideways", trial.sideways, ">=", _ZERO),
            *signs,
        ]
        bounds += [
            ("contraction", lambda: proof().contraction, "<=", 1 - 1 / trial.inflation),
            ("drift", lambda: proof().drift, "<=", trial.setback),
        ]
    if trial.move > 0:
        signs.append(("move.range", trial.move, ">", _ZERO))
        bounds.insert(0, ("move", lambda: proof().longest_move, "<=", lambda: arb(trial.move)))
    signs.append(("progress.range", trial.progress, ">", _ZERO))
    loose, weights = _optimality(now, selection), _weights(lambda: proof().near)
    return Conclusion(_staged("local", needs, loose, signs, weights, bounds), proof)


def _read_tube(values: Values, start: Start, selection: Selection, rule: Rule) -> TubeTrial:
    values[REFERENCE].require_length(selection.tokens.dimension, "a key")
    reference = values[REFERENCE].load()
    return TubeTrial(reference, values[RADIUS], values[ASIDE], values[CURVATURE], values.get(FAR))


def _apply_tube(now: Situated, trial: TubeTrial, selection: Selection, needs: Sequence[str]) -> Conclusion:
    """Every condition of Theorem T, from every point of the box."""
    proof = Shared(lambda: TubeConvergence(now().constants, now().rule, now().box, trial))
    last: list[_Condition] = [
        ("aside", lambda: proof().outside, "<", trial.aside),
        ("pull", lambda: proof().drift, "<", lambda: proof().width),
    ]
    stages: list[list[_Condition]] = [
        _optimality(now, selection),
        [("curvature", lambda: proof().definite, ">", _ZERO), ("radius", lambda: proof().inside, "<=", trial.radius)],
        _weights(lambda: proof().near),
        [("progress", lambda: proof().progress, ">", _ZERO)],
        last,
    ]
    return Conclusion(_staged("tube", needs, *stages), proof, both=proof)


def _apply_cone(now: Situated, parameters: tuple[Cone, fmpq], selection: Selection, needs: Sequence[str]) -> Conclusion:
    """Every condition of Theorem F. There is no rate for all of the cone."""
    proof = Shared(lambda: local_convergence.ConeConvergence(now().constants, now().rule, *parameters))
    stages: list[list[_Condition]] = [
        _optimality(now, selection),
        [("slope", lambda: proof().narrowness, ">", _ZERO)],
        _weights(lambda: proof().near),
        [("progress", lambda: proof().progress, ">", _ZERO)],
        [("room", lambda: proof().deviation, "<", lambda: proof().room)],
    ]
    return Conclusion(_staged("cone", needs, *stages))


_STEPS, _ALL = dict.fromkeys((GRADIENT, FLOW), LOGARITHM), dict.fromkeys((GRADIENT, FLOW, NORMALISED), ROOT)
_TRIAL = Record(REFERENCE, FRACTIONS, INFLATION, SETBACK, PROGRESS, MOVE, NEAR, SIDEWAYS)
_STARTS, _AFTER = (ENCLOSED, EVERY), Record(AFTER)
GLOBAL = DescentTheorem("global", _STEPS, (ENCLOSED,), Record(), lambda *_: None, _apply_global)
EVERY_START = DescentTheorem("every-start", _STEPS, _STARTS, _AFTER, _read_after, _apply_every_start)
LOCAL = DescentTheorem("local", _ALL, (ENCLOSED,), _TRIAL, _read_trial, _apply_local)
_TUBE = Record(REFERENCE, RADIUS, ASIDE, CURVATURE, FAR)
TUBE = DescentTheorem("tube", {**_ALL, NORMALISED: LINEAR}, (ENCLOSED,), _TUBE, _read_tube, _apply_tube)
_WIDER: Reader = lambda values, start, *_: (start.cone, values[OPENING_SLOPE])  # noqa: E731
CONE_THEOREM = DescentTheorem("cone", _ALL, (CONE,), Record(OPENING_SLOPE), _WIDER, _apply_cone)
THEOREMS: Mapping[str, DescentTheorem] = {each.name: each for each in (CONE_THEOREM, EVERY_START, GLOBAL, LOCAL, TUBE)}
