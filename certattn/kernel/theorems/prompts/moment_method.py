"""The method `moment` of tails of norms: Markov's inequality P(D > eps) <= E D^p / eps^p, the moment taken exactly.

For Gaussian tokens, with the moments of `norm_moments`, at one length or by `length_ranges`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from flint import arb, ctx, fmpq

from certattn.kernel.decide.obligation import NoBound
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.laws import Gaussian
from certattn.kernel.mathematics.reals import describe, square
from certattn.kernel.mathematics.softmax_powers import MOST_VARIANCE, PowerSums
from certattn.kernel.methods import method
from certattn.kernel.theorems.prompts.length_ranges import every_length, worst
from certattn.kernel.theorems.prompts.mathematics.norm_moments import (
    PowerSumTerms,
    covariance_norm_moment,
    degree_of,
    mean_norm_moment,
    mean_of,
)
from certattn.kernel.theorems.prompts.random_prompts import GradientError, RandomPrompt


@dataclass(frozen=True)
class NormMoment:
    """E D^p = `factor` times the mean of `terms`, over scores <a, x> of the `variance`."""

    terms: PowerSumTerms
    factor: fmpq
    variance: fmpq

    def at(self, length: int) -> arb:
        """The moment, at the working precision."""
        return self.factor * mean_of(self.terms, PowerSums(length, self.variance, degree_of(self.terms), ctx.prec))


def output_moment(prompt: RandomPrompt, order: int) -> NormMoment:
    """E |V (tau_L - tau)|^p. Raises NoBound."""
    covariance, variance = _covariance(prompt)
    terms = mean_norm_moment(covariance, prompt.values(), prompt.base, square(prompt.scale), order)
    return NormMoment(terms, fmpq(1), variance)


def gradient_moment(error: GradientError, order: int) -> NormMoment:
    """E D^p for the norm D of a gradient's error. Raises NoBound."""
    prompt = error.prompt
    if error.gradient == "V":
        return output_moment(error.prompt_without_values, order)
    covariance, variance = _covariance(prompt)
    terms = covariance_norm_moment(covariance, prompt.values(), prompt.base, square(prompt.scale), order)
    return NormMoment(terms, error.factor ** (order // 2), variance)


@method
def output_bound(prompt: RandomPrompt, order: int, eps: fmpq, starts: Sequence[int]) -> arb:
    """E |V (tau_L - tau)|^p / eps^p; for every length from one on by ranges with these starts. Raises NoBound."""
    return _markov(lambda: output_moment(prompt, order), prompt, order, eps, starts)


@method
def gradient_bound(error: GradientError, order: int, eps: fmpq, starts: Sequence[int]) -> arb:
    """The same for the norm D of a gradient's error; by ranges of that in V alone. Raises NoBound."""
    return _markov(lambda: gradient_moment(error, order), error.prompt_without_values, order, eps, starts)


def _markov(
    moment: Callable[[], NormMoment], prompt: RandomPrompt, order: int, eps: fmpq, starts: Sequence[int]
) -> arb:
    power = arb(eps) ** order
    if not prompt.onwards:
        return moment().at(prompt.length) / power
    if not starts:
        raise NoBound("the method moment without `from` is for one length, not for every length from one on; use rules")
    from certattn.kernel.theorems.prompts.mean_squares import tail_of_mean_square

    known = moment()
    return worst(
        starts,
        lambda first: known.at(first) / power,
        lambda last: tail_of_mean_square(every_length(prompt, last), eps),
    )


def _covariance(prompt: RandomPrompt) -> tuple[ExactMatrix, fmpq]:
    """Gamma and the variance of scores. Raises NoBound where moments are not known."""
    law = prompt.law.law
    if not isinstance(law, Gaussian):
        raise NoBound(f"the method moment is for Gaussian tokens, not for kind: {prompt.law.kind}; use rules")
    covariance = ExactMatrix.rational(law.covariance)
    variance = square(prompt.scale) * (prompt.base @ covariance @ prompt.base.T).entry(0, 0)
    if variance > MOST_VARIANCE:
        raise NoBound(
            f"the method moment is for scores <a, x> of a variance of at most {MOST_VARIANCE}, not {describe(variance)}"
        )
    return covariance, variance
