"""State what the normaliser of softmax attention changes in its singular values, or what drawn attention is like.

Find what is typical of normalisers and queries, for the best bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from flint import arb, fmpq

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import NotProvedError, UsageError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.reals import format_rational
from certattn.kernel.theorems.spectrum.drawn_attention import divergence_variance
from certattn.kernel.theorems.spectrum.gaussian_equivalence import normalizer_bound
from certattn.kernel.theorems.spectrum.normalizer_bound import GIVEN, THEOREM
from certattn.kernel.theorems.spectrum.score_matrix import ORDERS, ScoreMatrix, score_matrix
from certattn.provers.commands import Command, Option, Whole
from certattn.provers.exact_inputs import Number, positive
from certattn.provers.output import Draft
from certattn.provers.rounding import lower_rational, round_down
from certattn.provers.spectrum.score_matrices import SCORE_OPTIONS, at_most
from certattn.provers.spectrum.typical_sets import best_normaliser, likely_normalisers

DIGITS = 4
_BITS = 256


def generate(
    out: Path,
    *,
    beta: Number,
    d: int,
    lambda_: Number = 1,
    probability: Number | None = None,
    top: Sequence[int] = (),
    digits: int = DIGITS,
    note: str = "",
) -> Certificate:
    """Write a certificate of `normalizer-bound` to `out` and return it.

    Parameters
    ----------
    out : path-like
        Where to write it.
    beta : exact number
        The inverse temperature of the scores, > 0.
    d : int
        Number of queries and of keys; lambda d is a whole number above 12 beta^2.
    lambda_ : exact number
        The ratio p / d, > 0.
    probability : exact number, optional
        State, except with this probability, what drawn attention is like instead: its second singular value, its
        stable rank, and the mean entropy of its rows.
    top : sequence of int
        With `probability`: numbers of largest weights of a row whose mean sum is bounded, too.
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
        P is too small for a finite bound, or d for the probability.

    References
    ----------
    Hayase, Collins and Karakida (2026), *Gaussian Equivalence for Self-Attention*, arXiv:2510.06685. Statement and
    proof: docs/claims/spectrum/normalizer-bound.md.

    Examples
    --------
    >>> import certattn
    >>> certificate = certattn.generate("normalizer-bound", beta="1/2", d=1000)
    >>> float(certificate.numbers["distance.at_most"])
    0.01195
    """
    given: dict[str, Plain] = {
        "beta": format_rational(positive(beta, "beta")),
        "lambda": format_rational(positive(lambda_, "lambda")),
        "d": str(d),
    }
    draft = Draft(THEOREM, out, given, note)
    scores = draft.read(lambda written: score_matrix(GIVEN.read(written.given, written.reading)))
    if not scores.has_moment(4):
        raise NotProvedError(f"p = {scores.p} is at most 12 beta^2, where the bound is infinite; expected a larger d")
    if probability is None and top:
        raise UsageError("top without a probability; expected one: nothing is said of rows on average alone")
    if probability is not None:
        chance = positive(probability, "probability")
        return draft.write(*_drawn(scores, chance, top, digits))
    theta, cut = best_normaliser(scores)
    with working_precision(_BITS):
        square = normalizer_bound(scores, theta, cut)
        asserts = {"mean_square": at_most(square, digits), "distance": at_most(square.sqrt(), digits)}
    return draft.write(asserts, {"theta": format_rational(theta), "cut": format_rational(cut)})


def _drawn(
    scores: ScoreMatrix, chance: fmpq, top: Sequence[int], digits: int
) -> tuple[dict[str, Plain], dict[str, Plain]]:
    """About the largest entropy that may be stated, and the other bounds beside it. Raises NotProvedError."""
    # A part of what may fail for normalisers, and for each of the rest.
    part = chance / 4
    theta, cut = likely_normalisers(scores, part)
    rest = 1 - theta
    with working_precision(_BITS):
        divergence = arb(scores.beta2) / 2 + _excess(divergence_variance(scores), part)
        energy = scores.mean_exponential(1) - 1 + _excess(scores.second_moment_variance(), part)
        entropy = arb(scores.d).log() - divergence / arb(rest)
        square = 1 + energy / arb(rest * rest)
        orders = [order for order in ORDERS[1:] if scores.has_moment(order)]
        norms = [(scores.moment(order) * scores.d / arb(part)).log() / order for order in orders]
        norm = min((each.exp() for each in norms), key=float) / (arb(rest) * arb(scores.d).sqrt())
        drawn: dict[str, Plain] = {
            "probability": format_rational(chance),
            "second": at_most(norm, digits),
            "stable_rank": at_most(square, digits),
        }
        # An entropy is never negative.
        if (entropy > 0) is True:
            drawn["entropy"] = {"at_least": format_rational(round_down(lower_rational(entropy), digits))}
        if top:
            masses = [(count, (square * count / scores.d).sqrt()) for count in top]
            drawn["top"] = [{"count": str(count), **at_most(mass, digits)} for count, mass in masses]
    return {"drawn": drawn}, {"theta": format_rational(theta), "cut": format_rational(cut)}


def _excess(variance: arb, chance: fmpq) -> arb:
    """By Cantelli's inequality, what is exceeded with at most this probability."""
    return (variance * arb((1 - chance) / chance)).sqrt()


COMMAND = Command(
    *SCORE_OPTIONS,
    Option("--d", "Number of queries and of keys.", Whole(2), required=True),
    Option("--probability", "State what drawn attention is like, except with this probability.", metavar="P"),
    Option("--top", "With it: also bound the sum of the K largest weights.", Whole(1), metavar="K", many=True),
    Option("--digits", "Digits of bounds.", Whole(1, 12)),
)
