"""What every claim module provides, and what it may not do.

A claim reads a certificate into a problem, names its obligations beforehand, and encloses both
sides of each at a working precision. It never decides: outcomes come from `kernel.verdict`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from certattn.kernel.decide.verdict import Obligation
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.schema import Kind, Record

# Precision in which balls of binary64 are compared with what is stated. Their own radii, of 2^-53 and more, are what
# counts: 43 bits beyond those, what comparing adds for thousands of tokens or singular values is far below them.
AFTER_BINARY64 = 96

P = TypeVar("P")


@dataclass(frozen=True, slots=True)
class Statement:
    """What is claimed: in `words`, and the formula as `latex`."""

    words: str
    latex: str


class Claim(ABC, Generic[P]):
    """A family of statements.

    Attributes: `name` as certificates write it, `title` a line about it, `given`, `asserts` and
    `witness` the records of the certificate's sections, `arithmetic` the trusted base.
    """

    name: str
    title: str
    arithmetic: str
    given: Kind[Any]
    asserts: Record
    witness: Record

    @abstractmethod
    def read(self, certificate: Certificate) -> P:
        """The problem stated by a certificate; every dimension checked. Raises MalformedError."""

    @abstractmethod
    def statement(self, problem: P) -> Statement:
        """The claim in words and as a formula, without checking it."""

    @abstractmethod
    def names(self, problem: P) -> list[str]:
        """The obligations that together prove the statement: never empty, all different."""

    @abstractmethod
    def prove(self, problem: P, names: Collection[str], bits: int) -> list[Obligation]:
        """The named obligations, enclosed at the working precision, which is `bits`."""

    def tiers(self, problem: P) -> tuple[str, ...]:
        """The tiers of binary64 arithmetic to try before Arb, the fastest first; none by default."""
        return ()

    def prove_binary64(self, problem: P, names: Collection[str], tier: str) -> list[Obligation]:
        """Like `prove`, in a tier of binary64 arithmetic. Raises Binary64Error where it has no answer."""
        raise NotImplementedError(f"{self.name} has no binary64 arithmetic")

    def first_bits(self, certificate: Certificate) -> int | None:
        """The precision at which the witness suggests to begin."""
        return None

    def findings(self, problem: P, obligations: Sequence[Obligation]) -> list[str]:
        """What a person would like to know about the result, a line each."""
        return []


AnyClaim = Claim[Any]
