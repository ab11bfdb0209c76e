"""From a random prompt and a direction to the families of rules that apply there."""

from __future__ import annotations

from flint import fmpq

from certattn.kernel.errors import UsageError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.capped_sums import Part, plane
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.prompts.mathematics.weighted_sums import bounded_parts
from certattn.kernel.theorems.prompts.random_prompts import RandomPrompt
from certattn.kernel.theorems.prompts.tail_rules import MOST_SCORE_VARIANCE, Tail, is_constant
from certattn.provers.prompts.gaussian_tails import Component, GaussianTail
from certattn.provers.prompts.moment_rules import Moments, token_moments
from certattn.provers.prompts.tail_rules import Bounded, Constant, Family, Several, Truncated, UnweightedMean
from certattn.provers.rounding import as_float

BITS = 128
_ONE, _ANY = fmpq(1), fmpq(1)


def family_of(prompt: RandomPrompt, direction: ExactMatrix) -> Family:
    """Every rule for P(<v, tau_L - tau> > eps), v a direction of tokens (1 x d)."""
    law = prompt.law.law
    if is_constant(law, direction):
        return Constant()
    tail = Tail(prompt, direction, _ANY)
    parts = tail.parts
    if parts is not None and max(part.score_variance for part in parts) > MOST_SCORE_VARIANCE:
        raise UsageError(f"the scores have a variance above {MOST_SCORE_VARIANCE}: no prompt is long enough")
    if parts is not None and len(parts) == 1 and parts[0].score_variance == 0:
        return UnweightedMean(as_float(parts[0].rest_variance) ** 0.5)
    with working_precision(BITS):
        summand = tail.summand()
        moments = Moments(token_moments(summand, bounded_parts(summand.law) if parts is None else None))
        if parts is None:
            return moments
        found = gaussian_tail(tail, parts)
    if found.is_bounded:
        return Several([Bounded(found, moments.deviation), moments])
    return Several([Truncated(found, moments.deviation), moments])


def gaussian_tail(tail: Tail, parts: list[Part]) -> GaussianTail:
    """The parts of the law as floats, as this direction sees them for eps = 0."""
    summand = tail.summand()
    found = []
    for part in parts:
        seen = plane(part, summand.tilt, summand.direction, summand.log_mgf, summand.mean)
        numbers = [float(ball) for ball in (seen.alpha, seen.s, seen.mu, seen.c, seen.sigma)]
        found.append(Component(as_float(part.weight), *numbers))
    return GaussianTail(found)
