"""State how much the normaliser of softmax attention changes its singular values, on average.

Find what is typical of normalisers and queries, for the best bound of what the normaliser of attention changes.
"""

from __future__ import annotations

from pathlib import Path

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import NotProvedError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.reals import format_rational
from certattn.kernel.theorems.spectrum.gaussian_equivalence import normalizer_bound
from certattn.kernel.theorems.spectrum.normalizer_bound import GIVEN, THEOREM
from certattn.kernel.theorems.spectrum.score_matrix import score_matrix
from certattn.provers.commands import Command, Option, Whole
from certattn.provers.exact_inputs import Number, positive
from certattn.provers.output import Draft
from certattn.provers.spectrum.score_matrices import SCORE_OPTIONS, at_most
from certattn.provers.spectrum.typical_sets import best_normaliser

DIGITS = 4
_BITS = 256


def generate(
    out: Path, *, beta: Number, d: int, lambda_: Number = 1, digits: int = DIGITS, note: str = ""
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
        P is too small for a finite bound.

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
    theta, cut = best_normaliser(scores)
    with working_precision(_BITS):
        square = normalizer_bound(scores, theta, cut)
        asserts = {"mean_square": at_most(square, digits), "distance": at_most(square.sqrt(), digits)}
    return draft.write(asserts, {"theta": format_rational(theta), "cut": format_rational(cut)})


COMMAND = Command(
    *SCORE_OPTIONS,
    Option("--d", "Number of queries and of keys.", Whole(2), required=True),
    Option("--digits", "Digits of bounds.", Whole(1, 12)),
)
