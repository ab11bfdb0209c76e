"""Bounded tokens at the centre of a ball of queries: what `small_balls` takes of their law there."""

from __future__ import annotations

from flint import arb, arb_mat

from certattn.kernel.mathematics.balls import l2_norm
from certattn.kernel.mathematics.law_moments import minus, tilted_covariance
from certattn.kernel.mathematics.laws import dot
from certattn.kernel.mathematics.spreads import largest_eigenvalue
from certattn.kernel.methods import method
from certattn.kernel.theorems.prompts.random_prompts import RandomPrompt
from certattn.kernel.theorems.prompts.small_balls import AtCentre


@method
def at_centre(prompt: RandomPrompt, size: arb, reach: arb, within: arb) -> AtCentre | None:
    """Bounded tokens at the centre of a ball, |alpha| being `size` there; none where a large tilt encloses nothing."""
    law, tilt, values = prompt.law.law.map(arb), prompt.tilt(), arb_mat(prompt.values().to_rows())
    double = [2 * entry for entry in tilt]
    mean, once, twice = (law.tilted_mean(at) for at in ([arb(0)] * len(tilt), tilt, double))
    covariance = values * arb_mat(tilted_covariance(law, double)) * values.transpose()
    moved = (values * arb_mat([[entry] for entry in minus(twice, once)])).entries()
    # By convexity.
    least = law.log_mgf(tilt) - dot(tilt, mean) - reach * size.min(within)
    trace, norm = sum((covariance[i, i] for i in range(covariance.nrows())), arb(0)), largest_eigenvalue(covariance)
    found = (least, law.log_mgf(double) - dot(double, mean), norm, trace, l2_norm(moved))
    return AtCentre(*found, reach) if all(number.is_finite() for number in found) else None
