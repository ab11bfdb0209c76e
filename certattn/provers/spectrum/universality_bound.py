"""Bound how far exponential scores are from Gaussian columns, for given queries or for random ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flint import arb, fmpq

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.numbers import parse_rational
from certattn.kernel.document.schema import Values
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import NotProvedError, UsageError
from certattn.kernel.limits import DEFAULT_LIMITS
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.reals import describe, format_rational
from certattn.kernel.theorems.spectrum.gaussian_equivalence import (
    deviation_bound,
    equivalence_bound,
    linearisation,
    mean_universality,
    universality_bound,
)
from certattn.kernel.theorems.spectrum.quadratic_forms import sizes_of
from certattn.kernel.theorems.spectrum.score_matrix import BETA, ScoreMatrix
from certattn.kernel.theorems.spectrum.universality_bound import ETA, QUERIES, THEOREM, random_scores, read_given
from certattn.provers.commands import Argument, Command, Option, Whole, Yaml
from certattn.provers.exact_inputs import Number, exact, exact_rational
from certattn.provers.output import Draft
from certattn.provers.rounding import round_up, upper_rational
from certattn.provers.spectrum.score_matrices import around, at_most, enclosed
from certattn.provers.spectrum.typical_sets import best_equivalence
from certattn.statements.spectrum.universality_bound import trivial

DIGITS = 4
PROBABILITY = "0.01"
_BITS = 192


def generate(
    out: Path, *, given: dict[str, Any], probability: Number = PROBABILITY, digits: int = DIGITS, note: str = ""
) -> Certificate:
    """Write a certificate of `universality-bound` to `out` and return it.

    Parameters
    ----------
    out : path-like
        Where to write it.
    given : mapping
        What the certificate is about; `certattn.generate` takes the fields as keywords: `beta`, `eta`, and `queries`,
        or `lambda_` and `d` for random ones.
    probability : exact number
        Of a deviation from the mean; the smallest deviation with such a bound is stated.
    digits : int
        Significant digits of the bounds.
    note : str
        A line for the certificate's readers, kept under `provenance`.

    Returns
    -------
    Certificate
        What was written.

    Raises
    ------
    UsageError, MalformedError
        As `certattn.generate` does.
    NotProvedError
        P is too small for any finite bound.

    Notes
    -----
    For random queries the exact mean of the squared distance of the covariances is stated, and the bound of the whole
    way from attention to a Gaussian matrix, as far as p is large enough for them.

    References
    ----------
    Hayase, Collins and Karakida (2026), *Gaussian Equivalence for Self-Attention*, arXiv:2510.06685. Statement and
    proof: docs/claims/spectrum/universality-bound.md.

    Examples
    --------
    >>> import certattn
    >>> certificate = certattn.generate("universality-bound", beta="1/2", eta=1, lambda_=1, d=1000)
    >>> float(certificate.numbers["universality.at_most"])
    0.005595
    """
    chance = exact_rational(probability, "probability")
    if not 0 < chance < 1:
        raise UsageError(f"probability is {describe(chance)}, expected a number between 0 and 1")
    draft = Draft(THEOREM, out, exact(given, "given"), note)
    values = draft.read(read_given)
    scores = draft.read(lambda _: random_scores(values))
    size = values[QUERIES].shape[0] if scores is None else scores.d
    asserts, witness = _given(values, digits) if scores is None else _random(scores, values[ETA], digits)
    asserts["concentration"] = _concentration(size, values[ETA], chance, scores is None)
    asserts = {name: found for name, found in asserts.items() if _says_something(name, found, values[ETA])}
    if len(asserts) == 0:
        raise NotProvedError(
            f"every bound is at least 1/eta = {describe(1 / values[ETA])}, which holds without proof; expected more "
            "queries, a smaller beta or a larger eta"
        )
    if "universality" not in asserts and "equivalence" not in asserts:
        witness = {}
    names = ("universality", "concentration", "linearisation", "equivalence")
    return draft.write({name: asserts[name] for name in names if name in asserts}, witness)


def _says_something(name: str, found: Plain, eta: fmpq) -> bool:
    """Whether a bound is below 1/eta: all that is compared lies between 0 and that."""
    assert isinstance(found, dict)
    number = found["deviation"] if name == "concentration" else found.get("at_most")
    if name == "linearisation":
        return True
    assert isinstance(number, str)
    return bool(parse_rational(number, DEFAULT_LIMITS) * eta < 1)


def _given(values: Values, digits: int) -> tuple[dict[str, Plain], dict[str, Plain]]:
    queries, beta2 = values[QUERIES].load(), values[BETA] * values[BETA]
    with working_precision(_BITS):
        bound = universality_bound(sizes_of(queries, beta2, _BITS), queries.rows, beta2, values[ETA])
    return {"universality": at_most(bound, digits)}, {}


def _random(scores: ScoreMatrix, eta: fmpq, digits: int) -> tuple[dict[str, Plain], dict[str, Plain]]:
    """As much of it as is finite, and the witness."""
    if scores.p <= 4 * scores.beta2:
        raise NotProvedError(f"p = {scores.p} is at most 4 beta^2, where every bound is infinite; expected a larger d")
    exact_mean = enclosed(lambda: linearisation(scores), digits, "the distance of the covariances")
    asserts: dict[str, Plain] = {"linearisation": around(exact_mean, digits)}
    if not scores.has_moment(4):
        return asserts, {}
    theta, queries = best_equivalence(scores, eta)
    with working_precision(_BITS):
        asserts["universality"] = at_most(mean_universality(scores, eta, queries), digits)
        asserts["equivalence"] = at_most(equivalence_bound(scores, eta, theta, queries), digits)
    witness = {"theta": theta, "cut": queries.cut, "coherence": queries.coherence, "excess": queries.excess}
    return asserts, {name: format_rational(value) for name, value in witness.items()}


def _concentration(d: int, eta: fmpq, chance: fmpq, given_queries: bool) -> Plain:
    """The smallest deviation of two digits whose bound is at most the probability."""
    with working_precision(_BITS):
        factor = 2 if given_queries else 1
        deviation = ((arb(2) / arb(chance)).log() / (factor * d)).sqrt() / arb(eta)
        x = round_up(upper_rational(deviation), 2)
        bound = deviation_bound(d, eta, x, given_queries)
    return {"deviation": format_rational(x), **at_most(bound, 2)}


COMMAND = Command(
    Argument("TASK", Yaml("given")),
    Option("--probability", "The probability of the stated deviation from the mean."),
    Option("--digits", "Digits of bounds.", Whole(1, 12)),
    doubts=[lambda certificate: trivial(THEOREM.read(certificate))],
)
