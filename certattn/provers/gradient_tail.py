"""Find how rarely a gradient's error is large, how large it rarely is, or how long a prompt must be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from flint import fmpq

from certattn.kernel.arithmetic.balls import working_precision
from certattn.kernel.arithmetic.reals import describe, format_rational
from certattn.kernel.claims.gradient_inputs import GradientError
from certattn.kernel.claims.gradient_tail import CLAIM
from certattn.kernel.document.certificate import FORMAT_VERSION, Certificate, loads
from certattn.kernel.document.numbers import RATIONAL_FORMS, NumberError, parse_rational
from certattn.kernel.document.tree import Plain
from certattn.kernel.document.writer import to_text
from certattn.kernel.errors import NotProvedError, UsageError
from certattn.kernel.limits import DEFAULT_LIMITS
from certattn.kernel.verdict import Outcome
from certattn.provers.exact_inputs import Number, exact, exact_text
from certattn.provers.gradient_levels import LevelSearch, Proposal
from certattn.provers.output import not_yet_written, provenance, require_place, write_certificate
from certattn.provers.rounding import last_place, round_up

MOST_LENGTH = 10**12
_BITS = 128
_DIGITS = 3
# A certificate whose sum of bounds is missed by rounding is tried again with so much less, then more.
_RESERVES = (fmpq(999, 1000), fmpq(99, 100), fmpq(9, 10))
_LEAST_PROBABILITY = fmpq(1, 10**12)


def generate(
    out: Path,
    *,
    given: dict[str, Any],
    gradient: str = "U",
    exceeds: Number | None = None,
    probability: Number | None = None,
    note: str = "",
) -> Certificate:
    """Write a certificate of `gradient-tail` to `out` and return it.

    Parameters
    ----------
    given : the section as certificates write it: `law`, `length`, and `tilt`, or `query` with `U` or `K`, `Q`;
        `V`, `scale`; with exact numbers.
    gradient : "U" or "V".
    exceeds, probability : eps and delta. Of these and `given["length"]` one is left out and found: the smallest
        eps, delta or length for which a proof is found.
    note : a line about the certificate for its readers, kept under `provenance`.

    Raises UsageError, MalformedError, and NotProvedError where nothing is found.
    """
    require_place(out, [])
    eps = None if exceeds is None else _positive(exact_text(exceeds, "exceeds"), "exceeds")
    delta = None if probability is None else _positive(exact_text(probability, "probability"), "probability")
    if delta is not None and (delta < 1) is not True:
        raise UsageError(f"probability is {describe(delta)}, expected a number below 1")
    missing = [eps is None, delta is None, "length" not in given]
    if sum(missing) != 1:
        raise UsageError("expected two of length, exceeds and probability: the third is found")
    stated = exact(given, "given")
    assert isinstance(stated, dict)
    certificate: dict[str, Plain] = {
        "certattn": FORMAT_VERSION,
        "claim": CLAIM.name,
        "given": {**stated, "length": stated.get("length", "1")},
    }
    with not_yet_written(out):
        draft = loads(to_text({**certificate, "asserts": {"gradient": gradient}}), out)
        error = CLAIM.read_gradient(draft)
    search = LevelSearch(error)
    if eps is None:
        assert delta is not None
        eps = _smallest_eps(search, error.prompt.length, delta)
    elif delta is None:
        delta = _smallest_delta(search, error.prompt.length, eps)
    else:
        certificate["given"] = {**stated, "length": str(_smallest_length(search, eps, delta))}
    return _written(certificate, gradient, search, eps, delta, exact_text(note, "note"), out)


def _positive(text: str, what: str) -> fmpq:
    try:
        value = parse_rational(text.strip(), DEFAULT_LIMITS)
    except NumberError as problem:
        raise UsageError(f"{what}: {problem}, expected {RATIONAL_FORMS}") from None
    if value > 0:
        return value
    raise UsageError(f"{what} is {describe(value)}, expected a positive number")
