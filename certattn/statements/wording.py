"""What a module of statements offers: the claim in words, what each obligation says, what else is worth knowing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from certattn.kernel.decide.claim import Statement
from certattn.kernel.decide.verdict import Obligation

P = TypeVar("P")


def no_findings(stated: object, obligations: Sequence[Obligation]) -> list[str]:
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
    findings: Callable[[P, Sequence[Obligation]], list[str]] = no_findings
