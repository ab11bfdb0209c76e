"""State what a finite prompt adds to the risk of in-context regression, or how long is long enough."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flint import arb, fmpq

from certattn.kernel.decide.obligation import NoBound
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.numbers import MOST_COUNT
from certattn.kernel.document.schema import Values
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import NotProvedError, UsageError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.reals import describe, format_rational
from certattn.kernel.theorems.training.gap_lines import Gap, Lines
from certattn.kernel.theorems.training.regression import COVARIANCE, read_covariance, read_task
from certattn.kernel.theorems.training.risk_gap import (
    BALL,
    GIVEN,
    POINT,
    PROMPT_LENGTH,
    THEOREM,
    Ball,
    Majorant,
    Power,
    Tabulated,
    average_gap,
    ball_of,
    enclosed_gap,
    gap_over,
)
from certattn.provers.commands import Argument, Command, Option, Whole, Yaml
from certattn.provers.doubts import long
from certattn.provers.exact_inputs import Number, exact, exact_rational, positive
from certattn.provers.output import Draft
from certattn.provers.rounding import last_place, midpoint, round_up, upper_rational
from certattn.provers.training.gap_lengths import BITS, Search

TABLE, LOGISTIC, POWER, LINES = MAJORANTS = ("table", "logistic", "power", "lines")
DIGITS = 3

# What is asserted, and its witness.
Found = tuple[dict[str, Plain], dict[str, Plain]]


def generate(
    out: Path,
    *,
    given: dict[str, Any],
    length: int | None = None,
    excess: Number | None = None,
    shortfall: Number | None = None,
    majorant: str = TABLE,
    theta: Number | None = None,
    digits: int = DIGITS,
    note: str = "",
) -> Certificate:
    """Write a certificate of `risk-gap` to `out` and return it.

    Parameters
    ----------
    out : path-like
        Where to write it.
    given : mapping
        What the certificate is about; `certattn.generate` takes the fields as keywords: covariance and ball, or
        covariance, length and parameters.
    length : int, optional
        Of prompts; over a ball, the shortest that keeps the bounds asked for is searched for without it.
    excess, shortfall : exact number, optional
        Bounds asked for over a ball; without them the best for `length` are stated.
    majorant : {"table", "logistic", "power", "lines"}
        Over a ball, what lies above E sum p_i^2: `table`, `logistic` or `power`; or `lines` above what a query adds,
        the sharpest for the excess, which take a minute.
    theta : exact number, optional
        The exponent of `power`; the best is searched for if left out.
    digits : int
        Significant digits of the bounds that are found.
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
        No bound is found.

    References
    ----------
    Boursier and Boyer (2026), *Softmax as Linear Attention in the Large-Prompt Regime*, arXiv:2512.11784, section 4.
    Statement and proof: docs/claims/training/risk-gap.md.

    Examples
    --------
    >>> import certattn, numpy as np
    >>> parameters = {"A": [[1, 0], [0, 1]], "b": 1}
    >>> certificate = certattn.generate("risk-gap", covariance=np.eye(2), length=64, parameters=parameters)
    >>> sorted(certificate.numbers)
    ['gap.at_least', 'gap.at_most']
    """
    if POINT.name in given and PROMPT_LENGTH.name not in given and length is not None:
        given, length = {**given, PROMPT_LENGTH.name: length}, None
    draft = Draft(THEOREM, out, exact(given, "given"), note)
    if length is not None and length > MOST_COUNT:
        raise UsageError(f"a length of {length}, expected at most {MOST_COUNT}: certificates count with 18 digits")
    asked = {"excess": excess, "shortfall": shortfall}
    bounds = {name: positive(bound, name) for name, bound in asked.items() if bound is not None}
    exponent = None if theta is None else exact_rational(theta, "theta")

    def found(written: Certificate) -> Found:
        _, values = GIVEN.read(written.given, written.reading)
        if BALL in values:
            kind = _kind(majorant, exponent)
            if kind == LINES and shortfall is not None:
                raise UsageError(
                    "--shortfall: the majorant lines bounds the excess alone; take table for the shortfall"
                )
            return _over_ball(Search(_ball(values), _gap(values), kind, exponent, bounds), length, digits)
        other = None if majorant == TABLE else majorant
        _require_none({"length": length, **asked, "majorant": other, "theta": theta})
        return _at_parameters(values, digits)

    return draft.write(*draft.read(found))


def _require_none(options: Mapping[str, object]) -> None:
    """Nothing that is for a ball, at given parameters."""
    stated = ", ".join(f"--{name}" for name, value in options.items() if value is not None)
    if stated:
        raise UsageError(
            f"{stated}: only for a ball of parameters; the task has given parameters and their length, for which the "
            "best range of R_L - R is found: leave it out"
        )


# -- over a ball


def _ball(values: Values) -> Ball:
    with working_precision(BITS):
        return ball_of(read_covariance(values[COVARIANCE]), values[BALL])


def _gap(values: Values) -> Gap:
    with working_precision(BITS):
        return gap_over(read_covariance(values[COVARIANCE]), values[BALL])


def _kind(majorant: str, theta: fmpq | None) -> str:
    if majorant not in MAJORANTS:
        raise UsageError(f"the majorant {majorant!r} is none of {', '.join(MAJORANTS)}")
    if theta is not None and (majorant != POWER or not 0 < theta <= 1):
        raise UsageError(f"theta is {describe(theta)}, expected 0 < theta <= 1, and the majorant power")
    return majorant


def _over_ball(search: Search, length: int | None, digits: int) -> Found:
    if length is None and not search.asked:
        raise UsageError("nothing to find: state a length, an excess or a shortfall")
    if length is not None and length < 2:
        raise UsageError(f"a length of {length}, expected at least 2")
    if length is None:
        length, majorant = search.shortest()
    else:
        majorant = search.majorant(length)
    asserts: dict[str, Plain] = {"length": str(length)}
    asserts |= _kept(search, majorant) if search.asked else _found(search, majorant, digits)
    return asserts, _witness(majorant)


def _kept(search: Search, majorant: Majorant | Lines) -> dict[str, Plain]:
    """The bounds that were asked for."""
    found = search.bounds(majorant)
    with working_precision(BITS):
        for name, bound in search.asked.items():
            if (found[name] <= bound) is not True:
                shown = found[name].str(6, radius=False) if found[name].is_finite() else "infinite"
                raise NotProvedError(f"the bound of the {name} here is {shown}, above {describe(bound)}")
    return {name: format_rational(bound) for name, bound in search.asked.items()}


def _found(search: Search, majorant: Majorant | Lines, digits: int) -> dict[str, Plain]:
    """The best that the majorant proves."""
    found = search.bounds(majorant)
    return {name: format_rational(round_up(upper_rational(bound), digits)) for name, bound in found.items()}


def _witness(majorant: Majorant | Lines) -> dict[str, Plain]:
    if isinstance(majorant, Lines):
        slopes: list[Plain] = [format_rational(slope) for slope in (majorant.plain_slope, *majorant.slopes)]
        return {"majorant": LINES, "nodes": [format_rational(w) for w in majorant.nodes], "slopes": slopes}
    if isinstance(majorant, Tabulated):
        rows = zip(majorant.nodes, majorant.values, strict=True)
        table: list[Plain] = [[format_rational(v), format_rational(value)] for v, value in rows]
        return {"majorant": TABLE, "table": table}
    if isinstance(majorant, Power):
        return {"majorant": POWER, "theta": format_rational(majorant.theta)}
    return {"majorant": LOGISTIC}


# -- at given parameters


def _at_parameters(values: Values, digits: int) -> Found:
    with working_precision(BITS):
        try:
            gap = enclosed_gap(average_gap(values[PROMPT_LENGTH], *read_task(values, POINT)))
        except NoBound as reason:
            raise NotProvedError(str(reason)) from None
    return {"gap": _range(gap, digits)}, {}


def _range(gap: arb, digits: int) -> Plain:
    """Rounded outward, to one digit more than are known."""
    high, low = upper_rational(gap), -upper_rational(-gap)
    size = abs(midpoint(gap))
    unit = last_place(size if size > 0 else max(high, -low), digits + 1)
    return {
        "at_least": format_rational((low / unit).floor() * unit),
        "at_most": format_rational((high / unit).ceil() * unit),
    }


COMMAND = Command(
    Argument("TASK", Yaml("given")),
    Option("--length", "Over a ball: length of the prompts; the shortest is found by default.", Whole(2, MOST_COUNT)),
    Option("--excess", "Over a ball: how far R_L may be above R.", metavar="E"),
    Option("--shortfall", "Over a ball: how far R_L may be below R.", metavar="E"),
    Option("--majorant", "Over a ball: what the bound rests on; lines are the sharpest, in a minute.", MAJORANTS),
    Option("--theta", "power: its exponent, 0 < THETA <= 1; searched for by default.", metavar="THETA"),
    Option("--digits", "Digits of bounds that are found.", Whole(1, 6)),
    doubts=[long],
)
