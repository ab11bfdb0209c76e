"""The obligations of `universality-bound`."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from flint import arb, fmpq

from certattn.kernel.decide.verdict import Obligation, Part, above, at_most
from certattn.kernel.given.ranges import range_names, range_obligations
from certattn.kernel.theorems.spectrum.mathematics.finite_moments import ScoreMatrix
from certattn.kernel.theorems.spectrum.mathematics.gaussian_equivalence import (
    deviation_bound,
    equivalence_bound,
    linearisation,
    mean_universality,
    sizes_of,
    universality_bound,
)
from certattn.kernel.theorems.spectrum.universality_assertions import Problem

# p has to be larger than this times beta^2.
_UNIVERSALITY, _LINEARISATION, _EQUIVALENCE = 8, 4, 12


def names_of(problem: Problem) -> list[str]:
    """The obligations: a condition on p first, where means over random queries have to be finite."""
    random, names = problem.scores is not None, []
    if problem.universality is not None:
        names += [*(["universality.finite"] if random else []), "universality"]
    names += ["concentration"] if problem.concentration is not None else []
    if problem.linearisation is not None:
        names += ["linearisation.finite", *range_names("linearisation", problem.linearisation)]
    return names + (["equivalence.finite", "equivalence"] if problem.equivalence is not None else [])


def obligations(problem: Problem, names: Collection[str], bits: int) -> list[Obligation]:
    """Those that are asked for, at the working precision."""
    found = [*_universality(problem, names, bits), *_concentration(problem, bits)]
    if problem.scores is not None:
        found += [*_linearisation(problem, problem.scores, bits), *_equivalence(problem, problem.scores, bits)]
    return [obligation for obligation in found if obligation.name in names]


def _universality(problem: Problem, names: Collection[str], bits: int) -> Iterator[Obligation]:
    if problem.universality is None or not any(name.startswith("universality") for name in names):
        return
    if problem.scores is None:
        queries = problem.matrix()
        sizes = sizes_of(queries, problem.beta2, bits)
        bound = universality_bound(sizes, queries.rows, problem.beta2, problem.eta)
        yield _bounded("universality", "|E s_T - E s_N| <= bound", bound, problem.universality, bits)
        return
    yield _finite("universality.finite", problem.scores, _UNIVERSALITY, Part.WITNESS)
    if _has(problem.scores, _UNIVERSALITY) and problem.witness is not None:
        witness = problem.witness
        bound = mean_universality(problem.scores, problem.eta, witness.cut, witness.excess)
        yield _bounded("universality", "E |E[s_T | X] - E[s_N | X]| <= bound", bound, problem.universality, bits)


def _concentration(problem: Problem, bits: int) -> Iterator[Obligation]:
    if problem.concentration is not None:
        deviation, most = problem.concentration
        given = problem.scores is None
        bound = deviation_bound(problem.size, problem.eta, deviation, given)
        sentence = f"P(|s_T - E s_T| >= deviation) <= 2 exp(-{'2 ' if given else ''}d eta^2 deviation^2)"
        yield _bounded("concentration", sentence, bound, most, bits)


def _linearisation(problem: Problem, scores: ScoreMatrix, bits: int) -> Iterator[Obligation]:
    if problem.linearisation is None:
        return
    yield _finite("linearisation.finite", scores, _LINEARISATION, Part.STATEMENT)
    if _has(scores, _LINEARISATION):
        value, sentence = linearisation(scores), "E |Sigma - Sigma_lin|_F^2"
        yield from range_obligations("linearisation", sentence, value, problem.linearisation, bits)


def _equivalence(problem: Problem, scores: ScoreMatrix, bits: int) -> Iterator[Obligation]:
    if problem.equivalence is None or problem.witness is None:
        return
    yield _finite("equivalence.finite", scores, _EQUIVALENCE, Part.WITNESS)
    if _has(scores, _EQUIVALENCE):
        witness = problem.witness
        bound = equivalence_bound(scores, problem.eta, witness.theta, witness.cut, witness.excess)
        yield _bounded("equivalence", "|E s_M - E s_Y| <= bound", bound, problem.equivalence, bits)


def _has(scores: ScoreMatrix, factor: int) -> bool:
    return (scores.p > factor * scores.beta2) is True


def _finite(name: str, scores: ScoreMatrix, factor: int, part: Part) -> Obligation:
    sentence = f"p > {factor} beta^2, so the means that are needed are finite"
    return above(name, sentence, fmpq(scores.p), factor * scores.beta2, part=part)


def _bounded(name: str, sentence: str, bound: arb, most: fmpq, bits: int) -> Obligation:
    """A bound of the number that the statement is about."""
    return at_most(name, f"{sentence} <= at_most", bound, most, bits, part=Part.WITNESS)
