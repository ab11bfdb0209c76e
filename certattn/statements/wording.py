"""What a module of statements offers: the claim in words, what each obligation says, what else is worth knowing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from certattn.kernel.decide.claim import Statement as Statement
from certattn.kernel.decide.verdict import DOUBLE as DOUBLE
from certattn.kernel.decide.verdict import Obligation as _Answer
from certattn.kernel.decide.verdict import Outcome as Outcome
from certattn.kernel.decide.verdict import show as show

# An obligation as it was decided: what findings speak of.
Answer = _Answer

P = TypeVar("P")


def no_findings(stated: object, obligations: Sequence[Answer]) -> list[str]:
    """Nothing beside the verdict."""
    return []


@dataclass(frozen=True)
class Wording(Generic[P]):
    """The words of a theorem, for what its `read` returns.

    `statement` says the claim with every number of `given` and `asserts` that matters, `sentence` what the
    obligation of this name compares, `findings` what a person would like to know of the result.
    """

    statement: Callable[[P], Statement]
    sentence: Callable[[P, str], str]
    findings: Callable[[P, Sequence[Answer]], list[str]] = no_findings
