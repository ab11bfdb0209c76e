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
from certattn.kernel.claims.selection_theorems import OFFSET, RATE_PARTS, SLOPE
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
    rate = _rate(plain, problem, bits) if problem.rate_begins is not None else None
    if rate is not None:
        asserts = {**asserts, "rate": rate}
    return {**plain, "asserts": asserts}


def _rate(plain: dict[str, Plain], problem: Problem, bits: int) -> dict[str, Plain] | None:
    """From when the theorem applies, or from when the logarithm is clearly positive; None where it does not grow."""
    begins, offset, slope = problem.rate_begins, OFFSET.name, SLOPE.name
    assert begins is not None
    found = _coefficients(plain, problem, begins, bits)
    if found[slope] <= 0:
        return None
    if found[offset] < 2:
        begins += fmpq(((2 - found[offset]) / found[slope]).ceil())
        found = _coefficients(plain, problem, begins, bits)
    shown = {name: round_down(value, _DIGITS) if name in (offset, slope) else round_up(value, _DIGITS)
             for name, value in found.items()}  # fmt: skip
    numbers = {"from": begins, **shown}
    return {"form": problem.theorem.rate_form, **{name: format_rational(value) for name, value in numbers.items()}}


def _coefficients(plain: dict[str, Plain], problem: Problem, begins: fmpq, bits: int) -> dict[str, fmpq]:
    """What is proved of the rate from there on: bounds to the safe side, none of them negative."""
    form, asserts = problem.theorem.rate_form, plain["asserts"]
    assert isinstance(asserts, dict)
    draft: Plain = {
        "form": form,
        "from": format_rational(begins),
        **{name: "2" if name == OFFSET.name else "1" for name in RATE_PARTS[form]},
    }
    found = _proved({**plain, "asserts": {**asserts, "rate": draft}}, bits)
    bounds = {}
    for name in RATE_PARTS[form]:
        ball = _ball(found[f"rate.{name}"].right)
        bound = lower_rational(ball) if name in (OFFSET.name, SLOPE.name) else upper_rational(ball)
        bounds[name] = max(bound, fmpq(0))
    return bounds


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
