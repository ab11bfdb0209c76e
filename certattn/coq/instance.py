"""A theorem about the numbers of one certificate, ready to be written for Coq."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from certattn.coq.terms import Constant
from certattn.kernel.errors import CertattnError


class NotExportableError(CertattnError):
    """What a certificate states has no form in Coq here. The message says what has not, and what has."""


@dataclass(frozen=True)
class Conjunct:
    """A part of the theorem, over named constants, and its proof."""

    statement: str
    proof: str


@dataclass(frozen=True)
class Cost:
    """What checking is expected to take, from what was measured."""

    seconds: float
    megabytes: float


@dataclass(frozen=True)
class Instance:
    """A theorem about named constants, as a conjunction.

    `library` are the modules that it needs, `says` the theorem in words where it is not the certificate's whole
    statement (None where it is), and `evaluations` how many exponentials Coq encloses.
    """

    library: Sequence[str]
    constants: Sequence[Constant]
    conjuncts: Sequence[Conjunct]
    cost: Cost
    says: str | None = None
    fast: bool = False
    tactics: bool = field(default=False)

    @property
    def statement(self) -> str:
        """The theorem."""
        return " /\\\n  ".join(conjunct.statement for conjunct in self.conjuncts)

    @property
    def header(self) -> str:
        """What stands before everything else, in the instance and in what is asked about it."""
        return (
            "From Coq Require Import Reals ZArith List.\n"
            f"From CertAttn Require Import {' '.join(self.library)}.\n"
            "Import ListNotations.\nOpen Scope Z_scope.\n"
        )

    def text(self) -> str:
        """The file: the constants, then the theorem."""
        return "\n".join([self.header, *self._sentences()])

    def _sentences(self) -> Iterator[str]:
        for constant in self.constants:
            yield from constant.definitions()
        yield f"\nTheorem certificate :\n  {self.statement}.\nProof."
        *first, last = self.conjuncts
        for conjunct in first:
            yield f"split. {{ {conjunct.proof} }}"
        yield f"{last.proof}\nQed.\n"

    def question(self, point: int) -> str:
        """A file that asks Coq of the compiled instance: its statement, its constants, its assumptions."""
        whole = "0"
        for constant in self.constants:
            whole = constant.fingerprint_term(str(point), whole)
        return (
            f"{self.header}From CertAttn Require Import Fingerprint.\nFrom CertInstance Require Import Instance.\n"
            f"Definition pinned :\n  {self.statement}\n  := Instance.certificate.\n"
            f"Eval vm_compute in {whole}.\nPrint Assumptions Instance.certificate.\n"
        )

    def fingerprint(self, point: int) -> int:
        """What the constants of the certificate give at a point; what Coq's give has to be the same."""
        found = 0
        for constant in self.constants:
            found = constant.fingerprint(point, found)
        return found


COMPUTED = "vm_cast_no_check (eq_refl true)."
"""The proof of `boolean = true`, by evaluation in Coq's virtual machine."""
