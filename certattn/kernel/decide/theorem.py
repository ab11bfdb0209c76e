"""What a module of a theorem offers: how certificates are read, and what together proves one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from certattn.kernel.decide.obligation import NoProof, Obligation
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.schema import Count, Field, Kind, Record, Values
from certattn.kernel.mathematics.balls import ARB

P = TypeVar("P")

EXACT = "exact rational arithmetic"

# Of every witness that has it.
BITS = Field("bits", Count(2), "working precision at which to begin", required=False)


@dataclass(frozen=True)
class Theorem(Generic[P]):
    """A family of statements.

    Attributes: `name` as certificates write it, `title` a line about it; `given`, `asserts` and `witness` the schemas
    of a certificate's sections. `read` makes of a certificate what is stated, all shapes checked, and raises
    MalformedError for what is not a certificate. `obligations` lists what proves it: every one a condition of the
    statement or of its proof, each under its own name, in an order in which they can be asked. `begin` is the
    precision to begin at where the witness suggests none, `arithmetic` what a report names where no enclosure was
    compared.
    """

    name: str
    title: str
    given: Kind[Any]
    asserts: Record
    witness: Record
    read: Callable[[Certificate], P]
    obligations: Callable[[P], Iterable[Obligation | NoProof]]
    begin: int | None = None
    arithmetic: str = ARB

    def first_bits(self, certificate: Certificate) -> int | None:
        """The precision to begin at: what the witness suggests, or the theorem."""
        if certificate.witness is None or BITS.name not in self.witness.fields:
            return self.begin
        return self.witness.read(certificate.witness, certificate.reading).get(BITS) or self.begin


@dataclass(frozen=True)
class Sections:
    """A certificate's sections as their schemas read them: what most theorems are about."""

    given: Values
    asserts: Values
    witness: Values | None

    @property
    def hint(self) -> Values:
        """The witness. Raises MalformedError where there is none."""
        if self.witness is None:
            raise self.asserts.at.malformed("a witness, which this is proved with", "no witness")
        return self.witness


def sections(given: Record, asserts: Record, witness: Record) -> Callable[[Certificate], Sections]:
    """A `read` that makes nothing more of the sections."""

    def read(certificate: Certificate) -> Sections:
        reading, hint = certificate.reading, certificate.witness
        return Sections(
            given.read(certificate.given, reading),
            asserts.read(certificate.asserts, reading),
            witness.read(hint, reading) if hint is not None else None,
        )

    return read
