"""The probability in a direction, by its characteristic function in floats: what `inversion` proves, and its numbers.

For Gaussian tokens and their mixtures whose outputs in the direction have noise of their own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from flint import arb, fmpq

from certattn.kernel.errors import UsageError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.prompts.inversion_rule import MOST_TERMS
from certattn.kernel.theorems.prompts.mathematics.weighted_sums import moment_bound
from certattn.kernel.theorems.prompts.random_prompts import RandomPrompt
from certattn.kernel.theorems.prompts.tail_rules import Tail
from certattn.provers.prompts.gaussian_tails import Component, GaussianTail
from certattn.provers.prompts.moment_rules import Moments, TokenMoments, token_moments
from certattn.provers.prompts.normal_tails import Array
from certattn.provers.prompts.tail_directions import gaussian_tail
from certattn.provers.prompts.tail_rules import NOTHING, Candidate, few_digits

_BITS = 128
# What the sum may leave out, as a share of the probability: at first of a rare one.
_RARE, _SHARE = 1e-7, 2e-4
_REACH, _STEP = 8.5, 0.08
_ORDERS = (2, 4, 6, 8)


def inversion_of(prompt: RandomPrompt, direction: ExactMatrix) -> Inversion:
    """The family of one direction of tokens (1 x d). Raises UsageError."""
    tail = Tail(prompt, direction, fmpq(1))
    parts = tail.parts
    if parts is None or not all(part.rest_variance > 0 for part in parts):
        raise UsageError(
            "the method inversion is for Gaussian tokens (or mixtures of them) and a direction that the score does not "
            "determine; expected --method rules for this law and direction"
        )
    with working_precision(_BITS):
        moments = Moments(token_moments(tail.summand(), None))
        return Inversion(gaussian_tail(tail, parts), moments.moments, moments.deviation)


@dataclass(frozen=True)
class Inversion:
    """{rule: inversion} in one direction."""

    tail: GaussianTail
    moments: TokenMoments
    deviation: float
    _known: dict[tuple[float, int], Candidate] = field(default_factory=dict, compare=False)

    def best(self, eps: float, length: float) -> Candidate:
        count = math.ceil(length)
        if (eps, count) not in self._known:
            self._known[eps, count] = self._inverted(eps, count)
        return self._known[eps, count]

    def _inverted(self, eps: float, length: int) -> Candidate:
        spare = _RARE
        for _ in range(3):
            step, terms = self._grid(eps, length, spare)
            if terms > MOST_TERMS:
                return NOTHING
            value = self._sum(eps, length, step, terms)
            if value > 3 * spare or spare < _RARE**3:
                wanted = _SHARE * max(value, spare)
                if spare <= 2 * wanted:
                    break
                spare = wanted
            else:
                spare *= 1e-4
        if not spare < value < 1:
            return NOTHING
        rule = {"rule": "inversion", "step": few_digits(step, 6), "terms": str(terms)}
        return Candidate(math.log(value), {**rule})

    def _grid(self, eps: float, length: int, spare: float) -> tuple[float, int]:
        """A step and terms so that what is left out is below `spare`."""
        with working_precision(_BITS):
            _, series = self.moments.at(eps)
            unit = arb(1)
            # E (sum D)^p, from the bound for a threshold of one over the whole sum.
            sizes = [float((moment_bound(series[: p + 1], unit / length, length) / spare).root(p)) for p in _ORDERS]
        step = float(few_digits_below(2 * math.pi / (length * eps + min(x for x in sizes if x > 0))))
        parts = [_Grid.of(part, eps) for part in self.tail.components]
        inverse = sum(p.inverse for p in parts)

        def left_out(terms: int) -> float:
            t = (terms + 0.5) * step
            rho = sum(float(p.share @ np.exp(-t * t * p.bend)) for p in parts)
            return math.log(inverse / (math.pi * step * terms)) + (length - 1) * math.log(min(max(rho, 1e-300), 1.0))

        terms = 8
        while left_out(terms) > math.log(spare) and terms <= MOST_TERMS:
            terms = math.ceil(terms * 1.15)
        return step, terms

    def _sum(self, eps: float, length: int, step: float, terms: int) -> float:
        t = (np.arange(terms) + 0.5) * step
        phi = np.zeros(terms, dtype=complex)
        for part in self.tail.components:
            grid = _Grid.of(part, eps)
            phi += np.exp(-np.outer(t * t, grid.bend) + 1j * np.outer(t, grid.slope)) @ grid.share
        with np.errstate(divide="ignore"):
            powers = np.exp(length * np.log(phi))
        return 0.5 + float(np.sum(powers.imag / (np.arange(terms) + 0.5))) / math.pi


def few_digits_below(value: float) -> str:
    """A positive number in six digits, rounded to nearest after a hundred-thousandth is taken off."""
    return f"{value * (1 - 1e-5):.5e}"


@dataclass(frozen=True)
class _Grid:
    share: Array
    slope: Array
    bend: Array
    inverse: float

    @classmethod
    def of(cls, part: Component, eps: float) -> _Grid:
        """Nodes over g, with the part's probability in their shares; E 1/(w sigma)."""
        g = np.zeros(1) if part.s == 0 else np.arange(-_REACH, _REACH, _STEP / max(part.s, 1.0))
        density = np.ones(1) if part.s == 0 else np.exp(-g * g / 2)
        w = np.exp(part.kappa + part.s * g)
        slope = w * (part.mu - eps + part.c * g)
        inverse = part.probability * math.exp(part.s**2 / 2 - part.kappa) / part.sigma
        return cls(part.probability * density / density.sum(), slope, (w * part.sigma) ** 2 / 2, inverse)
