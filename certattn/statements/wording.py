"""What a module of statements offers: the claim in words, what each obligation says, what else is worth knowing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from certattn.kernel.decide.checker import theorem_of
from certattn.kernel.decide.proof import Answer as Answer
from certattn.kernel.decide.proof import Outcome as Outcome
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.mathematics.reals import digest
from certattn.kernel.theorems import Claims, attribute_of
from certattn.statements.digits import DOUBLE as DOUBLE
from certattn.statements.digits import show as show
from certattn.statements.digits import show_lower as show_lower
from certattn.statements.digits import show_upper as show_upper

P = TypeVar("P")


@dataclass(frozen=True, slots=True)
class Statement:
    """What is claimed: in `words`, and the formula as `latex`."""

    words: str
    latex: str


def cut(pieces: Iterable[str], most: int, more: str = "{} more") -> list[str]:
    """The pieces of a list; of a long one the first, how many more there are, and a digest of all.

    So no two lists have the same words.
    """
    found = list(pieces)
    rest = [f"{more.format(len(found) - most)} ({digest(found)} of all)"] if len(found) > most else []
    return [*found[:most], *rest]


def no_findings(stated: object, answers: Sequence[Answer]) -> list[str]:
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


WORDINGS: Mapping[str, Wording[Any]] = Claims(attribute_of("statements", "WORDING"))


def statement_of(certificate: Certificate) -> Statement:
    """What a certificate states, without checking it. Raises MalformedError for what is none."""
    theorem = theorem_of(certificate)
    return WORDINGS[theorem.name].statement(theorem.read(certificate))
