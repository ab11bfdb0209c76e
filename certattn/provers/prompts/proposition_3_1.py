"""Decide a published bound at an instance, or repair it for every length."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.theorems.prompts.proposition_3_1 import THEOREM
from certattn.provers.commands import Argument, Command, Yaml
from certattn.provers.exact_inputs import Number
from certattn.provers.prompts import proposition


def generate(out: Path, *, given: dict[str, Any], c2: Number | None = None, note: str = "") -> Certificate:
    """Write a certificate of `proposition-3-1` to `out` and return it.

    Parameters
    ----------
    given : the section as certificates write it: `law`, `queries`, any of `K`, `Q`, `V` (or `U`, `V`), `scale`, and
        either `length` (with `constants` and `sigma` above length 1), for the published form, or `sigma`, for a
        repaired one.
    c2 : the constant of the repaired form; by default nearly the largest for which there is a proof.
    note : a line about the certificate for its readers, kept under `provenance`.

    The published form is stated as it is found, to fail or to hold; of a repaired one the least c1 that the
    search finds, rounded up. Raises UsageError, MalformedError, and NotProvedError for a c2 that is too large.
    """
    return proposition.generate(THEOREM, out, given, {}, c2, note)


COMMAND = Command(
    Argument("LAW", Yaml("given")),
    proposition.C2,
)
