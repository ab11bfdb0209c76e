"""The numbers of a proof by Theorem D at a point: found by iterating its conditions, which are monotone.

From Omega = 1 and E_u = 0 on, what a condition asks for is put in the place of the number it is asked of, slightly
enlarged, until all hold. Everything is computed by the kernel's own formulas.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from flint import arb, fmpq

from certattn.kernel.document.tree import Plain
from certattn.kernel.mathematics.reals import format_rational
from certattn.kernel.theorems.selection.mathematics.local_convergence import (
    LocalConvergence,
    LocalTrial,
    NearbyWeights,
    decaying_sum,
    longest_move,
)
from certattn.kernel.theorems.selection.mathematics.selection_constants import Rule, SelectionConstants
from certattn.provers.rounding import lower_rational, round_down, round_up, upper_rational
from certattn.provers.selection.local_references import Reference, least_reaching
from certattn.provers.selection.reference_point import reference_point

# Parts of delta_t Xi that are tried for lambda_t.
_FRACTIONS = tuple(
    fmpq(p, 10**6) for p in (1, 10, 100, 1000, 10**4, 3 * 10**4, 10**5, 2 * 10**5, 3 * 10**5, 5 * 10**5, 7 * 10**5)
)
# How much more than what is asked for is taken, and how much less of the progress.
_ENLARGED, _REDUCED = fmpq(101, 100), fmpq(98, 100)
_DIGITS = 8
_ROUNDS = 60
_LEAST_PROGRESS = fmpq(1, 100)
_LARGEST_CONTRACTION = fmpq(98, 100)


@dataclass(frozen=True)
class Failure:
    """Why there is no proof at a point: the condition that is out of reach."""

    condition: str


_TOO_NEAR = Failure("P(p) < a, its first condition: the point is not far enough out in that direction")


def locally_optimal_by(constants: SelectionConstants) -> fmpq | None:
    """The smallest <z_t, p_mm> - 1 of a bad pair: above 0 where alpha is locally optimal; None without any."""
    return min((constants.solution.slacks[t] for t in constants.bad), default=None)


def find_trial(constants: SelectionConstants, rule: Rule, start: list[arb]) -> LocalTrial | Failure:
    """Numbers with which Theorem D holds from every point of the ball `start`, at the working precision.

    With the reference that descent tends to, for which its bounds are the least later; or else with the one for which
    bad tokens reach least now.
    """
    found = _settled(constants, rule, start, Reference(reference_point(constants, start).point, fmpq(0)))
    if not isinstance(found, Failure) or not constants.bad or found == _TOO_NEAR:
        return found
    other = _settled(constants, rule, start, least_reaching(constants, start))
    return found if isinstance(other, Failure) else other


def _settled(constants: SelectionConstants, rule: Rule, start: list[arb], reference: Reference) -> LocalTrial | Failure:
    """The same with this reference."""
    trial = _first(constants, rule, start, reference)
    if isinstance(trial, Failure):
        return trial
    for round_ in range(_ROUNDS):
        trial, proof = _allowed(trial, constants, rule, start)
        failure = _out_of_reach(proof)
        if failure is not None:
            return failure
        if round_ > 0 and _holds(proof):
            return trial
        if round_ % 4 == 0:
            trial = replace(trial, fractions=_best_fractions(proof))
            trial, proof = _allowed(trial, constants, rule, start)
            failure = _out_of_reach(proof)
            if failure is not None:
                return failure
        trial = _adjusted(proof)
    return Failure("its conditions together: the numbers do not settle")


def _allowed(
    trial: LocalTrial, constants: SelectionConstants, rule: Rule, start: list[arb]
) -> tuple[LocalTrial, LocalConvergence]:
    """The trial, with all of the sideways drift allowed for; and what follows of it."""
    proof = LocalConvergence(constants, rule, start, trial)
    if constants.bad and proof.spread_total.is_finite() and (proof.spread_total <= trial.sideways) is not True:
        trial = replace(trial, sideways=_up(proof.spread_total))
        proof = LocalConvergence(constants, rule, start, trial)
    return trial, proof


def _first(constants: SelectionConstants, rule: Rule, start: list[arb], reference: Reference) -> LocalTrial | Failure:
    fractions, none = dict.fromkeys(constants.bad, fmpq(1, 10)), fmpq(0)
    point, near = reference
    blank = LocalTrial(point, fractions, fmpq(101, 100), none, fmpq(1, 2), fmpq(1), near, none)
    proof = LocalConvergence(constants, rule, start, blank)
    if proof.level.is_finite() is not True or (proof.level < constants.least_gain) is not True:
        return _TOO_NEAR
    # As if there were no bad tokens: what a step moves then is where to begin.
    alone = NearbyWeights(constants, proof.level, dict.fromkeys(constants.bad, arb(0)))
    longest = longest_move(rule, alone)
    moving = replace(blank, move=_up(longest) if rule.discrete else fmpq(0))
    # Where more than the neighbours count, what a small lambda_t costs is beyond everything.
    return replace(moving, fractions=_best_fractions(LocalConvergence(constants, rule, start, moving)))


def _out_of_reach(proof: LocalConvergence) -> Failure | None:
    if (proof.near.smallest_factor > 0) is not True:
        return Failure("the factors of theta_-, which must be positive: the point is not far enough out")
    if (proof.proved_progress > _LEAST_PROGRESS) is not True:
        return Failure("the progress chi, which must be positive: the point is not far enough out, or the step is long")
    if proof.constants.bad and (proof.contraction < _LARGEST_CONTRACTION) is not True:
        return Failure("the contraction S, which must be below 1: some bad token may take over")
    return None


def _holds(proof: LocalConvergence) -> bool:
    trial = proof.trial
    conditions = [trial.progress <= proof.proved_progress]
    if proof.rule.discrete:
        conditions.append(proof.longest_move <= trial.move)
    if proof.constants.bad:
        conditions.append(proof.contraction <= 1 - 1 / trial.inflation)
        conditions.append(proof.drift <= trial.setback)
    return all(condition is True for condition in conditions)


def _adjusted(proof: LocalConvergence) -> LocalTrial:
    """The trial with what its conditions ask for."""
    trial = proof.trial
    progress = round_down(lower_rational(proof.proved_progress) * _REDUCED, _DIGITS)
    move = max(trial.move, _up(proof.longest_move)) if proof.rule.discrete else fmpq(0)
    if not proof.constants.bad:
        return replace(trial, progress=progress, move=move)
    needed = 1 / (1 - upper_rational(proof.contraction))
    inflation = round_up(1 + (needed - 1) * _ENLARGED, 2 * _DIGITS)
    return replace(trial, progress=progress, move=move, inflation=inflation, setback=_up(proof.drift))


def _up(value: arb) -> fmpq:
    return round_up(upper_rational(value) * _ENLARGED, _DIGITS)


def _best_fractions(proof: LocalConvergence) -> dict[int, fmpq]:
    """For each bad token the fraction for which r~_t Lambda_t is about least."""
    k, move = proof.constants, float(proof.trial.move)
    # kappa / 2, of which r~_t has the exponential of zeta_t^2 kappa / (2 lambda_t).
    half = float(proof.growth * k.margin) / 4
    best = {}
    for t in k.bad:
        most, width = float(k.slacks[t] * k.margin), float(k.widths[t])
        sizes = {}
        for fraction in _FRACTIONS:
            part = float(fraction.p) / float(fraction.q)
            fade = decaying_sum(arb((1 - part) * most), arb(move))
            sizes[fraction] = width**2 * half / (part * most) + float(fade.log())
        best[t] = min(sizes, key=sizes.__getitem__)
    return best


def stated(trial: LocalTrial) -> dict[str, Plain]:
    """The numbers as certificates write them."""
    found: dict[str, Plain] = {
        "reference": [format_rational(entry) for entry in trial.reference.row(0)],
        "progress": format_rational(trial.progress),
    }
    if trial.fractions:
        found["fractions"] = [format_rational(trial.fractions[t]) for t in sorted(trial.fractions)]
        found["inflation"] = format_rational(trial.inflation)
        found["setback"] = format_rational(trial.setback)
        if trial.sideways > 0:
            found["sideways"] = format_rational(trial.sideways)
    if trial.near > 0:
        found["near"] = format_rational(trial.near)
    if trial.move > 0:
        found["move"] = format_rational(trial.move)
    return found
