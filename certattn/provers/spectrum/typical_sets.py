"""Search for what is typical of random queries and normalisers: where the explicit bounds are smallest."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from flint import arb, fmpq

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.spectrum.gaussian_equivalence import (
    equivalence_bound,
    mean_universality,
    normalizer_bound,
)
from certattn.kernel.theorems.spectrum.score_matrix import ScoreMatrix

T = TypeVar("T")

_BITS = 96
_THETAS = tuple(fmpq(n, 50) for n in range(1, 50))
_CUTS = tuple(1 + fmpq(n, 50) for n in (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 70, 100, 150, 250, 500))
_EXCESSES = tuple(fmpq(n, 2) for n in (*range(1, 21), 24, 28, 32, 40, 60, 100))


def best_normaliser(scores: ScoreMatrix) -> tuple[fmpq, fmpq]:
    """theta and cut with about the smallest `normalizer_bound`."""
    pairs = [(theta, cut) for cut in _CUTS for theta in _THETAS]
    return _smallest(pairs, lambda pair: normalizer_bound(scores, *pair))


def best_universality(scores: ScoreMatrix, eta: fmpq) -> tuple[fmpq, fmpq]:
    """cut and excess with about the smallest `mean_universality`."""
    pairs = [(cut, excess) for cut in _CUTS for excess in _EXCESSES]
    return _smallest(pairs, lambda pair: mean_universality(scores, eta, *pair))


def best_equivalence(scores: ScoreMatrix, eta: fmpq) -> tuple[fmpq, fmpq, fmpq]:
    """theta, cut and excess with about the smallest `equivalence_bound`: the first and last are apart given the cut."""
    triples = [(_best_theta(scores, cut), cut, _best_excess(scores, eta, cut)) for cut in _CUTS]
    return _smallest(triples, lambda triple: equivalence_bound(scores, eta, *triple))


def _best_theta(scores: ScoreMatrix, cut: fmpq) -> fmpq:
    """theta with about the smallest `normalizer_bound` for a cut."""
    return _smallest(_THETAS, lambda theta: normalizer_bound(scores, theta, cut))


def _best_excess(scores: ScoreMatrix, eta: fmpq, cut: fmpq) -> fmpq:
    return _smallest(_EXCESSES, lambda excess: mean_universality(scores, eta, cut, excess))


def _smallest(candidates: Iterable[T], bound: Callable[[T], arb]) -> T:
    """The candidate with the smallest upper end."""
    with working_precision(_BITS):
        found = [(bound(candidate).upper(), candidate) for candidate in candidates]
        best = found[0]
        for value, candidate in found[1:]:
            if (value < best[0]) is True:
                best = value, candidate
    return best[1]
