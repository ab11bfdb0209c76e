"""The numbers of a proof by Theorem T at a point: the least radii that fulfil its conditions, about."""

from __future__ import annotations

from dataclasses import replace

from flint import arb, arb_mat, fmpq

from certattn.kernel.document.tree import Plain
from certattn.kernel.mathematics.reals import format_rational
from certattn.kernel.theorems.selection.mathematics.contracting_tube import TubeConvergence, TubeTrial
from certattn.kernel.theorems.selection.mathematics.local_convergence import level_at
from certattn.kernel.theorems.selection.mathematics.selection_constants import Rule, SelectionConstants
from certattn.provers.rounding import round_down, round_up, upper_rational
from certattn.provers.selection.reference_point import reference_point

_DIGITS = 6
_LEAST = fmpq(1, 10**6)
_LARGEST = 20
_ROUNDS = 60
# A part of P below this is negligible.
_NEGLIGIBLE = 1e-3
# Between the radius and a covariance that doubles computed.
_SAFE = fmpq(999, 1000)


def find_tube(constants: SelectionConstants, rule: Rule, start: list[arb]) -> TubeTrial | None:
    """Numbers with which Theorem T holds from every point of the ball `start`, at the working precision.

    Of all good tokens, or else with those that hardly count demoted, or all but the neighbours.
    """
    tried = None
    for far in (None, *dict.fromkeys((_farthest_that_counts(constants, start), fmpq(0)))):
        if far is None or any(constants.solution.slacks[j] > far for j in constants.good):
            tried = tried or _within(constants.within(far), rule, start)
    return tried


def _farthest_that_counts(constants: SelectionConstants, start: list[arb]) -> fmpq:
    """The largest slack of a good token whose part of P is not negligible."""
    level, products = level_at(constants, start), constants.differences * arb_mat([[x] for x in start])
    parts = {j: gain * (-products[j, 0]).exp() / level for j, gain in constants.gains.items()}
    slacks = [constants.solution.slacks[j] for j, part in parts.items() if (part > _NEGLIGIBLE) is True]
    return round_up(max(slacks, default=fmpq(0)), _DIGITS)


def _within(constants: SelectionConstants, rule: Rule, start: list[arb]) -> TubeTrial | None:
    """The same with the `far` of these constants."""
    reference, curvature = reference_point(constants, start)
    if curvature < float(_LEAST):
        return None
    flat = curvature == float("inf")
    mu = fmpq(1) if flat else round_down(fmpq(*curvature.as_integer_ratio()) * _SAFE, _DIGITS)
    trial = TubeTrial(reference, fmpq(0), _LEAST, mu, constants.far)
    proof = TubeConvergence(constants, rule, start, trial)
    if not proof.inside.is_finite() or not proof.outside.is_finite() or (proof.definite > 0) is not True:
        return None
    trial = replace(trial, radius=fmpq(0) if flat else max(_up(proof.inside), _LEAST))
    # What is asked for increases with both numbers: from below, to the least that fulfil it.
    for _ in range(_ROUNDS):
        proof = TubeConvergence(constants, rule, start, trial)
        if not _possible(proof):
            return None
        if (proof.drift < proof.width) is True and (proof.outside < trial.aside) is True:
            return trial
        radius = trial.radius if flat else max(trial.radius, _up(proof.drift))
        trial = replace(trial, radius=radius, aside=max(trial.aside, _up(proof.outside)))
        if trial.radius > _LARGEST or trial.aside > _LARGEST:
            return None
    return None


def _possible(proof: TubeConvergence) -> bool:
    """Whether what is asked of the weights, harder to fulfil in a wider tube, still holds."""
    near = proof.near
    signs = (near.smallest_factor > 0, near.forward > 0, proof.progress > 0)
    return all(sign is True for sign in signs) and proof.drift.is_finite() and proof.outside.is_finite()


def _up(value: arb) -> fmpq:
    return round_up(upper_rational(value) * fmpq(102, 100), _DIGITS)


def stated(trial: TubeTrial) -> dict[str, Plain]:
    """The numbers as certificates write them."""
    found: dict[str, Plain] = {
        "reference": [format_rational(entry) for entry in trial.reference.row(0)],
        "radius": format_rational(trial.radius),
        "aside": format_rational(trial.aside),
        "curvature": format_rational(trial.curvature),
    }
    return found if trial.far is None else {**found, "far": format_rational(trial.far)}
