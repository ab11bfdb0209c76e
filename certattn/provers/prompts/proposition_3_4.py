"""Decide a published bound on gradients at an instance, or repair it for every length."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.errors import UsageError
from certattn.kernel.theorems.prompts.proposition_3_4 import THEOREM
from certattn.kernel.theorems.prompts.propositions import GRADIENT, Error
from certattn.provers.commands import Argument, Command, Option, Yaml
from certattn.provers.exact_inputs import Number
from certattn.provers.prompts import proposition


def generate(
    out: Path, *, given: dict[str, Any], gradient: str = "V", c2: Number | None = None, note: str = ""
) -> Certificate:
    """Write a certificate of `proposition-3-4` to `out` and return it.

    Parameters
    ----------
    gradient : `V` or `U`, what attention is differentiated with respect to.
    given : as for `proposition-3-1`.
    c2 : as there.
    note : as there.
    """
    if gradient not in (Error.GRADIENT_V.value, Error.GRADIENT_U.value):
        raise UsageError(f"gradient is {gradient!r}, expected 'V' or 'U'")
    return proposition.generate(THEOREM, out, given, {GRADIENT.name: gradient}, c2, note)


COMMAND = Command(
    Argument("LAW", Yaml("given")),
    Option("--gradient", "The gradient in V, or in U.", ("V", "U")),
    proposition.C2,
)
