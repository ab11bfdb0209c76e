"""The bounds of angles that a certificate of `selection-direction` states, rounded to the safe side.

The checker's own obligations tell what is proved: the bounds are read off those of a draft.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from flint import arb, fmpq

from certattn.kernel.arithmetic.balls import working_precision
from certattn.kernel.arithmetic.reals import format_rational
from certattn.kernel.claims.selection_direction import CLAIM
from certattn.kernel.claims.selection_problem import Problem
from certattn.kernel.claims.selection_theorems import NUMERATOR, OFFSET, SLOPE, rate_names
from certattn.kernel.document.certificate import loads
from certattn.kernel.document.tree import Plain
from certattn.kernel.document.writer import to_text
from certattn.kernel.errors import NotProvedError
from certattn.kernel.verdict import Obligation
from certattn.provers.rounding import lower_rational, round_down, round_up, upper_rational

_DIGITS = 4
# The largest 1 - cos there is.
_LARGEST = fmpq(2)


def with_bounds(plain: dict[str, Plain], at: Sequence[str], bits: int) -> dict[str, Plain]:
    """The certificate with bounds of 1 - cos angle at those steps (or times), and a rate if the theorem has one."""
    problem = _problem(plain)
    asserts: Any = plain["asserts"]
    key = "step" if problem.rule.discrete else "time"
    if at:
        asserts = {**asserts, "angles": [{key: text, "at_most": "2"} for text in at]}
        found = _proved({**plain, "asserts": asserts}, bits)
        bounds = [found[f"angles[{index}]"].left for index in range(len(at))]
        shown = [format_rational(_up(bound)) for bound in bounds]
        asserts["angles"] = [{key: text, "at_most": bound} for text, bound in zip(at, shown, strict=True)]
    if problem.rate_begins is not None:
        asserts = {**asserts, "rate": _rate(plain, problem, bits)}
    return {**plain, "asserts": asserts}


def _rate(plain: dict[str, Plain], problem: Problem, bits: int) -> dict[str, Plain]:
    """From when the theorem applies, or from when the logarithm is clearly positive."""
    begins = problem.rate_begins
    assert begins is not None
    numerator, offset, slope = _coefficients(plain, problem, begins, bits)
    if offset < 2:
        begins += fmpq(((2 - offset) / slope).ceil())
        numerator, offset, slope = _coefficients(plain, problem, begins, bits)
    shown = (begins, round_up(numerator, _DIGITS), round_down(offset, _DIGITS), round_down(slope, _DIGITS))
    names = ("from", NUMERATOR.name, OFFSET.name, SLOPE.name)
    return {"form": problem.theorem.rate_form, **dict(zip(names, map(format_rational, shown), strict=True))}


def _coefficients(plain: dict[str, Plain], problem: Problem, begins: fmpq, bits: int) -> tuple[fmpq, fmpq, fmpq]:
    """What is proved of the rate from there on."""
    form, asserts = problem.theorem.rate_form, plain["asserts"]
    assert isinstance(asserts, dict)
    draft: Plain = {
        "form": form,
        "from": format_rational(begins),
        NUMERATOR.name: "1",
        OFFSET.name: "2",
        SLOPE.name: "1",
    }
    found = _proved({**plain, "asserts": {**asserts, "rate": draft}}, bits)
    numerator, offset, slope = (found[name].right for name in rate_names(form))
    return upper_rational(_ball(numerator)), lower_rational(_ball(offset)), lower_rational(_ball(slope))


def _up(bound: arb | fmpq | str) -> fmpq:
    return min(round_up(upper_rational(_ball(bound)), _DIGITS), _LARGEST)


def _ball(value: arb | fmpq | str) -> arb:
    if not isinstance(value, arb):
        raise NotProvedError("no bound of the angle is proved there")
    return value


def _proved(plain: dict[str, Plain], bits: int) -> dict[str, Obligation]:
    problem = _problem(plain)
    with working_precision(bits):
        return {o.name: o for o in CLAIM.prove(problem, CLAIM.names(problem), bits)}


def _problem(plain: dict[str, Plain]) -> Problem:
    return CLAIM.read(loads(to_text(plain), Path("draft.yaml")))
