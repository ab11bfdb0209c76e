"""A theorem about the numbers of one certificate, ready to be written for Coq."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from flint import arb, fmpq

from certattn.coq.terms import Constant
from certattn.kernel.decide.obligation import NoProof, Obligation
from certattn.kernel.decide.proof import Proof
from certattn.kernel.errors import CertattnError


class NotExportableError(CertattnError):
    """What a certificate states has no form in Coq here. The message says what has not, and what has."""


# The axioms of the real numbers of Coq's standard library, and excluded middle.
STANDARD_AXIOMS = frozenset(
    {
        "ClassicalDedekindReals.sig_forall_dec",
        "ClassicalDedekindReals.sig_not_dec",
        "FunctionalExtensionality.functional_extensionality_dep",
        "Classical_Prop.classic",
    }
)
# Modules of Coq with machine integers of its kernel, and what is taken to be true of them.
PRIMITIVE = ("PrimInt63", "Uint63", "Uint63Axioms", "CarryType")


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


# Measured on one core of a server: see docs/coq.md. A literal has 24 bits.
_SECONDS_LOADING, _MEGABYTES_LOADING = 4.0, 480.0
_SECONDS_LITERAL, _MEGABYTES_LITERAL = 0.15e-3, 0.004


def cost_of(constants: Sequence[Constant], seconds: float) -> Cost:
    """Of loading and reading these constants, and so many seconds of evaluation."""
    literals = sum(constant.literals for constant in constants)
    return Cost(
        _SECONDS_LOADING + literals * _SECONDS_LITERAL + seconds, _MEGABYTES_LOADING + literals * _MEGABYTES_LITERAL
    )


@dataclass(frozen=True)
class Instance:
    """A theorem about named constants, as a conjunction.

    `library` are the modules that it needs, `says` the theorem in words where it is not the certificate's whole
    statement (None where it is), and `fast` whether machine integers of Coq's kernel may be used;
    `preparation` is done once, before the proofs of the conjuncts.
    """

    library: Sequence[str]
    constants: Sequence[Constant]
    conjuncts: Sequence[Conjunct]
    cost: Cost
    says: str | None = None
    fast: bool = False
    preparation: str = ""

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
        if self.preparation:
            yield self.preparation
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


def slack_of(obligations: Iterable[Obligation | NoProof], bits: int) -> arb:
    """The least distance of an enclosure from its bound, at a precision: more than 0.

    Raises NotExportableError where it is not. Comparisons of exact numbers are left out.
    """
    slack, proof = arb(1), Proof(list(obligations))
    proof.ask(proof.obligations.keys(), bits)
    for answer in proof.answers.values():
        left, right = answer.left, answer.right
        if isinstance(left, arb) and isinstance(right, (arb, fmpq)):
            difference = right - left if answer.relation == "<=" else left - right
            slack = slack.min(difference.lower())
    return required_slack(slack)


def required_slack(slack: arb) -> arb:
    """It, more than 0. Raises NotExportableError where it is not."""
    if (slack > 0) is not True:
        raise NotExportableError(
            "a bound is not kept, or is met with equality or nearly so, which intervals never prove: "
            "state it a little wider"
        )
    return slack


def bits_above(size: arb) -> int:
    """The least number of bits, at least 0, so that 2^bits is above this positive number."""
    bits = (size.log() / arb(2).log()).upper().ceil().unique_fmpz()
    if bits is None:
        raise NotExportableError("its numbers have no size that could be measured")
    return max(0, int(bits))
