"""The numbers of a proof by Theorem T at a point: of the radii that are tried, the first for which it holds."""

from __future__ import annotations

from dataclasses import replace

from flint import arb, fmpq

from certattn.kernel.document.tree import Plain
from certattn.kernel.mathematics.reals import format_rational
from certattn.kernel.theorems.selection.mathematics.contracting_tube import TubeConvergence, TubeTrial
from certattn.kernel.theorems.selection.mathematics.selection_constants import Rule, SelectionConstants
from certattn.provers.rounding import round_down, round_up, upper_rational
from certattn.provers.selection.reference_point import reference_point

_DIGITS = 6
_LEAST = fmpq(1, 10**6)
_GROWTH = fmpq(14, 10)
_MOST_RADII = 20
_LARGEST_RADIUS, _LARGEST_ASIDE = 10, 10
_ROUNDS = 12
# Between the radius and a covariance that doubles computed.
_SAFE = fmpq(999, 1000)


def find_tube(constants: SelectionConstants, rule: Rule, start: list[arb]) -> TubeTrial | None:
    """Numbers with which Theorem T holds from every point of the ball `start`, at the working precision."""
    reference, curvature = reference_point(constants, start)
    if curvature < float(_LEAST):
        return None
    flat = curvature == float("inf")
    mu = fmpq(1) if flat else round_down(fmpq(*curvature.as_integer_ratio()) * _SAFE, _DIGITS)
    trial = TubeTrial(reference, fmpq(0), _LEAST, mu)
    proof = TubeConvergence(constants, rule, start, trial)
    if not proof.inside.is_finite() or not proof.outside.is_finite() or (proof.definite > 0) is not True:
        return None
    trial = replace(trial, radius=fmpq(0) if flat else max(_up(proof.inside), _LEAST))
    for _ in range(1 if flat else _MOST_RADII):
        found = _with_aside(constants, rule, start, trial)
        if found is not None:
            return found
        trial = replace(trial, radius=round_up(trial.radius * _GROWTH, _DIGITS))
        # What is asked of the weights is harder to fulfil in a wider tube.
        if trial.radius > _LARGEST_RADIUS or not _possible(TubeConvergence(constants, rule, start, trial)):
            break
    return None


def _possible(proof: TubeConvergence) -> bool:
    near = proof.near
    return all(sign is True for sign in (near.smallest_factor > 0, near.forward > 0, proof.progress > 0))


def _with_aside(constants: SelectionConstants, rule: Rule, start: list[arb], trial: TubeTrial) -> TubeTrial | None:
    """With what v needs; None where something fails whatever that is."""
    for _ in range(_ROUNDS):
        proof = TubeConvergence(constants, rule, start, trial)
        if not _possible(proof) or (proof.push < proof.hold) is not True or not proof.outside.is_finite():
            return None
        if (proof.outside < trial.aside) is True:
            return trial
        trial = replace(trial, aside=max(_up(proof.outside), _LEAST))
        if trial.aside > _LARGEST_ASIDE:
            return None
    return None


def _up(value: arb) -> fmpq:
    return round_up(upper_rational(value) * fmpq(1001, 1000), _DIGITS)


def stated(trial: TubeTrial) -> dict[str, Plain]:
    """The numbers as certificates write them."""
    return {
        "reference": [format_rational(entry) for entry in trial.reference.row(0)],
        "radius": format_rational(trial.radius),
        "aside": format_rational(trial.aside),
        "curvature": format_rational(trial.curvature),
    }
