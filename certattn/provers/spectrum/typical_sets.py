"""Search for what is typical of random queries and normalisers: where the explicit bounds are smallest."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TypeVar

from flint import arb, fmpq

from certattn.kernel.errors import NotProvedError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.spectrum.gaussian_equivalence import (
    equivalence_bound,
    normalizer_bound,
)
from certattn.kernel.theorems.spectrum.score_matrix import ScoreMatrix
from certattn.kernel.theorems.spectrum.typical_queries import TypicalQueries, long_query
from certattn.provers.rounding import round_up, upper_rational

T = TypeVar("T")

_BITS = 96
_THETAS = tuple(fmpq(n, 50) for n in range(1, 50))
_CUTS = tuple(1 + fmpq(n, 50) for n in (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 70, 100, 150, 250, 500))
_EXCESSES = tuple(fmpq(n, 2) for n in (*range(2, 21, 2), 24, 28, 32, 40, 60, 100))
# In units of sqrt(cut / p), with which products of queries are normal at most.
_COHERENCES = tuple(fmpq(n, 2) for n in range(4, 25))


def best_normaliser(scores: ScoreMatrix) -> tuple[fmpq, fmpq]:
    """theta and cut with about the smallest `normalizer_bound`."""
    pairs = [(theta, cut) for cut in _CUTS for theta in _THETAS]
    return _smallest(pairs, lambda pair: normalizer_bound(scores, *pair))


def likely_normalisers(scores: ScoreMatrix, chance: fmpq) -> tuple[fmpq, fmpq]:
    """About the smallest theta, and a cut: normalisers are low with at most this probability. Raises NotProvedError."""
    found = []
    with working_precision(_BITS):
        for cut in _CUTS:
            rest = arb(chance) / scores.d - long_query(fmpq(scores.p), cut)
            if (rest > 0) is True:
                theta = (-2 * rest.log() * arb(cut * scores.beta2).exp() / scores.d).sqrt()
                found.append((round_up(upper_rational(theta), 3), cut))
    if not found or min(found)[0] >= 1:
        raise NotProvedError(
            f"for {scores.d} tokens normalisers may be low more often than {describe(chance)}; expected more tokens, a "
            "larger probability or a smaller beta"
        )
    return min(found)


def best_equivalence(scores: ScoreMatrix, eta: fmpq) -> tuple[fmpq, TypicalQueries]:
    """theta and what is typical with about the smallest `equivalence_bound`; theta enters by the normaliser alone."""
    theta, _ = best_normaliser(scores)
    queries = _best_queries(scores, lambda queries: equivalence_bound(scores, eta, theta, queries))
    theta = _smallest(_THETAS, lambda theta: equivalence_bound(scores, eta, theta, queries))
    return theta, queries


def _best_queries(scores: ScoreMatrix, bound: Callable[[TypicalQueries], arb]) -> TypicalQueries:
    """One number after the other, twice: each matters little to the others."""
    found = TypicalQueries(_CUTS[10], _coherence(scores, _CUTS[10], _COHERENCES[10]), _EXCESSES[5])
    for _ in range(2):
        coherences = [_coherence(scores, found.cut, units) for units in _COHERENCES]
        found = _smallest([replace(found, coherence=each) for each in coherences], bound)
        found = _smallest([replace(found, cut=each) for each in _CUTS], bound)
        found = _smallest([replace(found, excess=each) for each in _EXCESSES], bound)
    return found


def _coherence(scores: ScoreMatrix, cut: fmpq, units: fmpq) -> fmpq:
    with working_precision(_BITS):
        return round_up(upper_rational(arb(units) * arb(cut / scores.p).sqrt()), 3)


def _smallest(candidates: Iterable[T], bound: Callable[[T], arb]) -> T:
    """The candidate with the smallest upper end."""
    with working_precision(_BITS):
        found = [(bound(candidate).upper(), candidate) for candidate in candidates]
        best = found[0]
        for value, candidate in found[1:]:
            if (value < best[0]) is True:
                best = value, candidate
    return best[1]
