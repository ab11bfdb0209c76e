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
    """LAW is a YAML file with `law`, `queries`, any of `K`, `Q`, `V` (or `U`, `V`), `scale`, and `length` or
    `sigma`. The bound is that of proposition 3.1: c1 sigma^6 ln L / L^(c2/sigma^2) for the mean square error
    of attention over a prompt of L tokens.""",
    Argument("LAW", Yaml("given")),
    proposition.C2,
    examples="""
        one-token.yaml -o published.yaml
        laws.yaml -o repaired.yaml
        laws.yaml --c2 1/4 -o repaired.yaml""",
    file="""
        A law file holds what certificates write under given. For the published form at one length, for example
          law: {kind: gaussian, mean: [0], covariance: [[1]]}
          queries: {kind: gaussian, mean: [0], covariance: [[1]]}
          K: [[0]]
          length: 1
        and for a repaired form, for every length, `sigma` in the place of `length`.""",
)
