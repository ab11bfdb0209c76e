"""Claim `linearization`: how far softmax attention over given queries and keys is from its linear part.

For d queries q_i and keys k_j, A_ij the softmax of s <q_i, k_j> over j, Pi = I - 11'/d,

    M = sqrt(d) (A - 11'/d),    L = (s <q_i, k_j>) Pi/sqrt(d),    N = M - L.

If beta is given, s = beta u^2/sqrt(p) for the unit u and the dimension p, and with t_ij = exp(s <q_i, k_j> - beta^2 u^2
|q_i|^2/(2p)) - 1, T = (t_ij)/sqrt(d) and tbar_i the mean of row i of (t_ij), T Pi = diag(1 + tbar) M exactly. A
certificate asserts bounds of one or more of

    remainder   |N|, and the Kolmogorov distance of its singular values to the quarter circle of variance alpha^2 =
                e^(beta^2) - 1 - beta^2, which is their limit for random queries and keys, not 0
    normaliser  max_i |tbar_i|, |M - T Pi|, max_i |tbar_i| |M|, and W_2 of the singular values of M and T Pi
    stages      spectral and Frobenius norms of M, T Pi, L and their differences, and these over those of M

The stages are those of Hayase, Collins and Karakida (AISTATS 2026, arXiv 2510.06685). What is proved is about the given
matrices, and about no limit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from flint import arb, fmpq

from certattn.kernel.decide.claim import AFTER_BINARY64, Claim, Statement
from certattn.kernel.decide.verdict import DOUBLE, Obligation, at_least, at_most, unproved
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.fields import Record
from certattn.kernel.mathematics.balls import ARB, linf_norm, working_precision
from certattn.kernel.mathematics.functions import BALLS
from certattn.kernel.mathematics.linearization import ATTENTION, REMAINDER, SCORES, wasserstein
from certattn.kernel.theorems.spectrum.linearization_assertions import (
    ASSERTS,
    QUANTITIES,
    Asserted,
    Quantity,
    read_asserted,
    sentence,
)
from certattn.kernel.theorems.spectrum.linearization_inputs import GIVEN, Attention, read_attention
from certattn.kernel.theorems.spectrum.linearization_words import latex_of, words_of
from certattn.kernel.theorems.spectrum.mathematics.equivalent_formulas import nonlinear_energy
from certattn.kernel.theorems.spectrum.mathematics.kolmogorov import kolmogorov_distance
from certattn.kernel.theorems.spectrum.mathematics.quarter_circle import quarter_circle_tail
from certattn.kernel.theorems.spectrum.matrix_inputs import Spectrum
from certattn.kernel.theorems.spectrum.singular_values import HINT, Hint, read_hint

_NOTHING = "M is 0: nothing has a size relative to it"


@dataclass(frozen=True)
class Problem:
    """Queries and keys, what is asserted of them, and a hint: approximate factors of M - L, not trusted."""

    attention: Attention
    asserted: Asserted
    hint: Hint | None


@dataclass(frozen=True)
class Sizes:
    """Every quantity, from the spectra of stages and tbar in one arithmetic or another, each enclosed once."""

    attention: Attention
    spectrum: Callable[[str], Spectrum]
    excess: Callable[[], list[arb]]
    _known: dict[Quantity, arb] = field(default_factory=dict)

    def __getitem__(self, quantity: Quantity) -> arb:
        if quantity not in self._known:
            self._known[quantity] = self._enclosed(quantity)
        return self._known[quantity]

    def _enclosed(self, quantity: Quantity) -> arb:
        kind = quantity.kind
        if quantity.is_relative:
            size = kind.removeprefix("relative_")
            return self[Quantity(size, quantity.stage)] / self[Quantity(size, ATTENTION)]
        if kind == "norm":
            return self.spectrum(quantity.stage).singular.value(1)
        if kind == "frobenius":
            return BALLS.sqrt(arb(self.spectrum(quantity.stage).energy))
        if kind == "distance":
            return self._distance()
        if kind == "wasserstein":
            attention, scores = (self.spectrum(name).singular.values() for name in (ATTENTION, SCORES))
            found: arb = wasserstein(attention, scores, BALLS)
            return found
        largest = linf_norm(self.excess())
        if kind == "largest":
            return largest
        bound = largest * self[Quantity("norm", ATTENTION)]
        # Neither factor is negative; their product's ball may reach below 0 all the same.
        return bound.nonnegative_part() if bound.is_finite() is True else bound

    def _distance(self) -> arb:
        variance = alpha_square(self.attention)
        values = self.spectrum(REMAINDER).singular.values()
        return kolmogorov_distance(values, lambda x: quarter_circle_tail(x, variance))


def alpha_square(attention: Attention) -> arb:
    """alpha^2 = e^(beta^2) - 1 - beta^2, where beta is given."""
    assert attention.temperature is not None
    beta = attention.temperature.beta
    found: arb = nonlinear_energy(arb(beta * beta), BALLS)
    return found


class LinearizationClaim(Claim[Problem]):
    name = "linearization"
    title = "softmax attention beside its linear part: norms, singular values, and what the normaliser changes"
    arithmetic = ARB
    given = GIVEN
    asserts = ASSERTS
    witness = Record(HINT)

    def read(self, certificate: Certificate) -> Problem:
        attention = read_attention(self.given.read(certificate.given, certificate.reading))
        asserted = read_asserted(self.asserts.read(certificate.asserts, certificate.reading), attention)
        hint = None
        if certificate.witness is not None:
            witness = self.witness.read(certificate.witness, certificate.reading)
            hint = read_hint(witness[HINT], attention.stages[REMAINDER]) if HINT in witness else None
        return Problem(attention, asserted, hint)

    def statement(self, problem: Problem) -> Statement:
        return Statement(words_of(problem.attention, problem.asserted), latex_of(problem.asserted))

    def names(self, problem: Problem) -> list[str]:
        return [f"{name}.{which}" for name, stated in problem.asserted.items() for which in stated.bounds]

    def prove(self, problem: Problem, names: Collection[str], bits: int) -> list[Obligation]:
        return _proved(problem, names, sizes_in_arb(problem.attention, bits), bits, ARB)

    def tiers(self, problem: Problem) -> tuple[str, ...]:
        return problem.attention.stages[REMAINDER].tiers

    def prove_binary64(self, problem: Problem, names: Collection[str], tier: str) -> list[Obligation]:
        from certattn.fast.attention import BINARY64

        with working_precision(AFTER_BINARY64):
            return _proved(problem, names, sizes_in_binary64(problem), DOUBLE, BINARY64)


def sizes_in_arb(attention: Attention, bits: int) -> Sizes:
    """At the working precision, which is `bits`."""
    return Sizes(attention, lambda stage: attention.spectrum(stage, bits), lambda: list(attention.excess(bits)))


def sizes_in_binary64(problem: Problem) -> Sizes:
    """Balls at the working precision, as wide as doubles make them. Raises Binary64Error."""
    from certattn.kernel.theorems.spectrum.linearization_binary64 import FloatStages

    stages = FloatStages(problem.attention, problem.hint)
    return Sizes(problem.attention, stages.spectrum, lambda: list(stages.excess))


def _proved(problem: Problem, names: Collection[str], sizes: Sizes, bits: int, arithmetic: str) -> list[Obligation]:
    found = []
    for name, stated in problem.asserted.items():
        for which, bound in stated.bounds.items():
            if f"{name}.{which}" in names:
                found.append(_bounded(f"{name}.{which}", which, QUANTITIES[name], bound, sizes, bits, arithmetic))
    return found


def _bounded(
    name: str, which: str, quantity: Quantity, bound: fmpq, sizes: Sizes, bits: int, arithmetic: str
) -> Obligation:
    lower = which == "at_least"
    words = f"{sentence(quantity)} {'>=' if lower else '<='} bound"
    value = sizes[quantity]
    if quantity.is_relative and value.is_finite() is not True and sizes.attention.is_uniform:
        return unproved(name, words, _NOTHING)
    return (at_least if lower else at_most)(name, words, value, bound, bits, arithmetic)


CLAIM = LinearizationClaim()
