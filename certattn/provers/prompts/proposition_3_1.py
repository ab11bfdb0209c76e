"""Decide a published bound at an instance, or repair it for every length."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.theorems.prompts.proposition_3_1 import THEOREM
from certattn.provers.commands import Argument, Command, Yaml
from certattn.provers.doubts import rising, vacuous
from certattn.provers.exact_inputs import Number
from certattn.provers.prompts import proposition


def generate(
    out: Path, *, given: dict[str, Any], c2: Number | None = None, sharpest_at: int | None = None, note: str = ""
) -> Certificate:
    """Write a certificate of `proposition-3-1` to `out` and return it.

    Parameters
    ----------
    out : path-like
        Where to write it.
    given : mapping
        What the certificate is about; `certattn.generate` takes the fields as keywords: `law`, `queries`, any of `K`,
        `Q`, `V` (or `U`, `V`), `scale`, and either `length` (with `constants` and `sigma` above length 1), for the
        published form, or `sigma`, for a repaired one. With `class` (`dimension`, `sigma`, `query_dimension`,
        `query_sigma`, and `radius` for laws on a ball) in the place of laws and sigma the repaired form is for every
        law of the class, and `norms` (`U`, `V`) may stand in the place of the matrices.
    c2 : exact number, optional
        The constant of the repaired form; by default the best one at `sharpest_at` tokens.
    sharpest_at : int, optional
        Without c2: the length at which the display is least, 100 if left out.
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
        The c2 is too large.

    Notes
    -----
    The published form is stated as it is found, to fail or to hold; of a repaired one the least c1 that the search
    finds, rounded up.

    References
    ----------
    Boursier and Boyer (2026), *Softmax as Linear Attention in the Large-Prompt Regime*, arXiv:2512.11784, Proposition
    3.1. Statement and proof: docs/claims/prompts/proposition-3-1.md.

    Examples
    --------
    >>> import certattn
    >>> law = {"kind": "gaussian", "mean": [0], "covariance": [[1]]}
    >>> certificate = certattn.generate("proposition-3-1", law=law, queries=law, K=[[0]], length=1)
    >>> certificate.asserts.plain()
    {'published': 'fails'}
    """
    return proposition.generate(THEOREM, out, given, {}, c2, sharpest_at, note)


COMMAND = Command(
    Argument("LAW", Yaml("given")),
    proposition.C2,
    proposition.SHARPEST_AT,
    doubts=[rising, vacuous],
)
