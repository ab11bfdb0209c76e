"""The rule `inversion` of tails: the probability of one, enclosed, for Gaussian tokens and mixtures of Gaussians."""

from __future__ import annotations

from functools import reduce

from flint import arb, ctx

from certattn.kernel.decide.methods import method
from certattn.kernel.mathematics.capped_sums import plane
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.prompts.mathematics.tail_inversion import WeightedPart, inverted
from certattn.kernel.theorems.prompts.mathematics.weighted_sums import moment_bound
from certattn.kernel.theorems.prompts.tail_rules import STEP, TERMS, ProductTail, Rule, integrable_parts

# Of |S| >= 2 pi/step: orders of moments that are tried.
_FAR_ORDERS = (2, 4, 6, 8)
MOST_TERMS = 10_000


@method
def probability(rule: Rule) -> arb:
    """The probability of the tail, at the working precision. Raises NoBound."""
    tail, step, terms = rule.tail, arb(rule.values[STEP]), rule.values[TERMS]
    if isinstance(tail, ProductTail) or tail.parts is None or not all(part.rest_variance > 0 for part in tail.parts):
        raise rule.none(
            "Gaussians with noise of their own in this direction, whatever their scores are", "other tokens",
            "atoms, or a direction along which output and score are one number, have other rules",
        )  # fmt: skip
    if rule.first != rule.last:
        raise rule.none("a rule that holds for every larger length", "the probability at one of them")
    if terms > MOST_TERMS:
        raise rule.none(f"at most {MOST_TERMS} terms", str(terms))
    summand, length = tail.summand(), rule.first
    level = summand.mean + summand.eps
    parts = [
        WeightedPart(arb(part.weight), plane(part, summand.tilt, summand.direction, summand.log_mgf, level))
        for part in integrable_parts(rule, tail.parts)
    ]
    found = inverted(parts, length, step, terms, ctx.prec)
    if found is None:
        raise rule.none("scores and noise of more even sizes", "a characteristic function that takes too many nodes")
    # |S| >= 2 pi/step implies |sum D_i| >= 2 pi/step - L eps.
    beyond = 2 * arb.pi() / (step * length) - summand.eps
    if not beyond > 0:
        raise rule.none("a step below 2 pi / (L eps)", describe(rule.values[STEP]))
    far = reduce(arb.min, (moment_bound(summand.centred_series(order), beyond, length) for order in _FAR_ORDERS))
    enclosed: arb = (found + far.union(-far)).intersection(arb(0).union(arb(1)))
    return enclosed
