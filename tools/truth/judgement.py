"""What the second opinion says of a statement, and how both sides of an inequality are compared by mpmath.

First at a moderate precision, then at about twice as many digits: the difference is the error that is allowed for.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from mpmath import mp, mpf

from tools.truth.reading import require, to_real

# Decimal digits of the two evaluations; the next pair where the first does not decide.
_DIGITS = ((40, 70), (150, 250), (600, 900))


# A search may miss the largest deviation by this much of it.
_MISSED = 1e-4


class Truth(enum.Enum):
    TRUE = "true"
    FALSE = "false"
    # Both sides agree to hundreds of digits: equal, or too close for this evaluation.
    EQUAL = "equal"
    # No query was found that makes it false.
    OPEN = "open"
    # The numbers were not looked at: too many of them, or beyond what doubles can say.
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Judgement:
    """`slack`: the smallest distance to falsehood of an inequality, relative to its sides.

    Not `provable`: it may be true, but what the witness names does not show it.
    """

    truth: Truth
    slack: float = 0.0
    where: str = ""
    provable: bool = True


@dataclass(frozen=True)
class Comparison:
    """`value <= bound` (or `>=`), the value as a function that is evaluated at mpmath's precision.

    `searched`: the value is the largest that a search has found; there may be a larger one.
    `strict`: the two may not be equal; of two that agree this is decided where they are 0.
    """

    name: str
    value: Callable[[], mpf]
    bound: Fraction
    upper: bool = True
    searched: bool = False
    strict: bool = False


def judge_all(comparisons: Sequence[Comparison]) -> Judgement:
    """A statement is all of its comparisons."""
    return worst([judge_one(comparison) for comparison in comparisons])


def exactly(name: str, holds: bool) -> Judgement:
    """Of what is compared exactly: true by far, or false."""
    return Judgement(Truth.TRUE if holds else Truth.FALSE, 1.0, name)


def worst(found: Sequence[Judgement]) -> Judgement:
    """A statement is all of its parts: the first that is not true, or the one that is nearest to it."""
    require(len(found) > 0, "nothing is stated")
    for truth in (Truth.FALSE, Truth.EQUAL, Truth.OPEN):
        for judgement in found:
            if judgement.truth is truth:
                return judgement
    return min(found, key=lambda judgement: judgement.slack)


def judge_one(comparison: Comparison) -> Judgement:
    value = bound = error = mpf(0)
    for low, high in _DIGITS:
        with mp.workdps(low):
            rough = comparison.value()
        with mp.workdps(high):
            value = comparison.value()
            bound = to_real(comparison.bound)
            size = max(abs(value), abs(bound))
            error = 2 * abs(value - rough) + mpf(10) ** (5 - low) * size
            gap = bound - value if comparison.upper else value - bound
            if gap > error:
                truth = Truth.OPEN if comparison.searched and comparison.upper else Truth.TRUE
                return Judgement(truth, float(gap / size), comparison.name)
            if gap < -error:
                missed = comparison.searched and not comparison.upper and -gap < _MISSED * size
                return Judgement(Truth.OPEN if missed else Truth.FALSE, float(gap / size), comparison.name)
    nothing = comparison.strict and value == bound == 0
    return Judgement(Truth.FALSE if nothing else Truth.EQUAL, 0.0, comparison.name)
