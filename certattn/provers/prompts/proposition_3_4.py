"""Decide a published bound on gradients at an instance, or repair it for every length."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.errors import UsageError
from certattn.kernel.theorems.prompts.proposition_3_4 import THEOREM
from certattn.kernel.theorems.prompts.propositions import GRADIENT, Error
from certattn.provers.commands import Argument, Command, Option, Yaml
from certattn.provers.doubts import rising, vacuous
from certattn.provers.exact_inputs import Number
from certattn.provers.prompts import proposition


def generate(
    out: Path,
    *,
    given: dict[str, Any],
    gradient: str = "U",
    c2: Number | None = None,
    sharpest_at: int | None = None,
    note: str = "",
) -> Certificate:
    """Write a certificate of `proposition-3-4` to `out` and return it.

    Parameters
    ----------
    out : path-like
        Where to write it.
    given : mapping
        What the certificate is about, as for `proposition-3-1`; `certattn.generate` takes the fields as keywords.
    gradient : {"U", "V"}
        `U` or `V`, what attention is differentiated with respect to.
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

    References
    ----------
    Boursier and Boyer (2026), *Softmax as Linear Attention in the Large-Prompt Regime*, arXiv:2512.11784, Proposition
    3.4. Statement and proof: docs/claims/prompts/proposition-3-4.md.

    Examples
    --------
    >>> import certattn
    >>> law = {"kind": "gaussian", "mean": [0], "covariance": [[1]]}
    >>> certificate = certattn.generate("proposition-3-4", law=law, queries=law, K=[[0]], length=1)
    >>> certificate.asserts.plain()
    {'gradient': 'U', 'published': 'fails'}
    """
    if gradient not in (Error.GRADIENT_V.value, Error.GRADIENT_U.value):
        raise UsageError(f"gradient is {gradient!r}, expected 'V' or 'U'")
    return proposition.generate(THEOREM, out, given, {GRADIENT.name: gradient}, c2, sharpest_at, note)


COMMAND = Command(
    Argument("LAW", Yaml("given")),
    Option("--gradient", "The gradient in U, or in V.", ("U", "V")),
    proposition.C2,
    proposition.SHARPEST_AT,
    doubts=[rising, vacuous],
)
