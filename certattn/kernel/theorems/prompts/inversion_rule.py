"""The rule `inversion` of tails: the probability of one, enclosed, for Gaussian tokens and mixtures of Gaussians."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from flint import arb, ctx, fmpq

from certattn.kernel.decide.obligation import NoBound
from certattn.kernel.mathematics.capped_sums import Part, plane
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.methods import method
from certattn.kernel.theorems.prompts.mathematics.tail_inversion import WeightedPart, inverted
from certattn.kernel.theorems.prompts.mathematics.weighted_sums import Summand, moment_bound

# Of |S| >= 2 pi/step: orders of moments that are tried.
_FAR_ORDERS = (2, 4, 6, 8)
MOST_TERMS = 10_000


@method
def probability(
    summand: Summand, parts: Sequence[Part], length: int, step: fmpq, terms: int, none: Callable[[str, str], NoBound]
) -> arb:
    """The probability that L summands add up to more than L eps, at the working precision.

    Raises NoBound, made by `none` of what was expected and what was found.
    """
    if not all(part.rest_variance > 0 for part in parts):
        raise none("Gaussians with noise of their own in this direction", "an output that is one number with the score")
    if terms > MOST_TERMS:
        raise none(f"at most {MOST_TERMS} terms", str(terms))
    level = summand.mean + summand.eps
    weighted = [
        WeightedPart(arb(part.weight), plane(part, summand.tilt, summand.direction, summand.log_mgf, level))
        for part in parts
    ]
    found = inverted(weighted, length, arb(step), terms, ctx.prec)
    if found is None:
        raise none("scores and noise of more even sizes", "a characteristic function that takes too many nodes")
    # |S| >= 2 pi/step implies |sum D_i| >= 2 pi/step - L eps.
    beyond = 2 * arb.pi() / (arb(step) * length) - summand.eps
    if not beyond > 0:
        raise none("a step below 2 pi / (L eps)", describe(step))
    far = reduce(arb.min, (moment_bound(summand.centred_series(order), beyond, length) for order in _FAR_ORDERS))
    enclosed: arb = (found + far.union(-far)).intersection(arb(0).union(arb(1)))
    return enclosed
