"""A theorem as the checker takes claims, while not all claims are theorems. It goes when they are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

from flint import arb, fmpq

from certattn.kernel.decide.claim import Claim, Statement
from certattn.kernel.decide.obligation import NoProof, Number, Part
from certattn.kernel.decide.proof import Answer, Proof
from certattn.kernel.decide.theorem import Theorem
from certattn.kernel.decide.verdict import Obligation as Decided
from certattn.kernel.decide.verdict import identical
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.mathematics.exact_matrix import ExactMatrix

P = TypeVar("P")


class Wording(Protocol):
    """The words of a theorem, as `certattn.statements` has them: they decide nothing, and the kernel imports none."""

    @property
    def statement(self) -> Callable[[Any], Statement]: ...

    @property
    def sentence(self) -> Callable[[Any, str], str]: ...

    @property
    def findings(self) -> Callable[[Any, Sequence[Decided]], list[str]]: ...


@dataclass(frozen=True)
class Stated(Generic[P]):
    """What a certificate states, with its proof as far as it has been asked for."""

    content: P
    theorem: Theorem[P]

    @cached_property
    def proof(self) -> Proof:
        return Proof(list(self.theorem.obligations(self.content)))


class AdaptedClaim(Claim[Stated[Any]]):
    """Every outcome is the proof's."""

    def __init__(self, theorem: Theorem[Any], wording: Wording) -> None:
        self.name, self.title, self.arithmetic = theorem.name, theorem.title, theorem.arithmetic
        self.given, self.asserts, self.witness = theorem.given, theorem.asserts, theorem.witness
        self._theorem, self._wording = theorem, wording

    def read(self, certificate: Certificate) -> Stated[Any]:
        return Stated(self._theorem.read(certificate), self._theorem)

    def first_bits(self, certificate: Certificate) -> int | None:
        return self._theorem.first_bits(certificate)

    def statement(self, problem: Stated[Any]) -> Statement:
        return self._wording.statement(problem.content)

    def names(self, problem: Stated[Any]) -> list[str]:
        return list(problem.proof.obligations)

    def prove(self, problem: Stated[Any], names: Collection[str], bits: int) -> list[Decided]:
        problem.proof.ask(names, bits)
        return self._decided(problem, names)

    def tiers(self, problem: Stated[Any]) -> tuple[str, ...]:
        return tuple(tier.name for tier in problem.proof.tiers)

    def prove_binary64(self, problem: Stated[Any], names: Collection[str], tier: str) -> list[Decided]:
        (chosen,) = (known for known in problem.proof.tiers if known.name == tier)
        problem.proof.ask_fast(names, chosen)
        return self._decided(problem, names)

    def findings(self, problem: Stated[Any], obligations: Sequence[Decided]) -> list[str]:
        return self._wording.findings(problem.content, obligations)

    def _decided(self, problem: Stated[Any], names: Collection[str]) -> list[Decided]:
        proof = problem.proof
        return [self._one(problem, name, proof.answers[name]) for name in names if name in proof.answers]

    def _one(self, problem: Stated[Any], name: str, answer: Answer) -> Decided:
        o, sentence = problem.proof.obligations[name], self._wording.sentence(problem.content, name)
        part = problem.proof.part(name)
        if answer.because or isinstance(o, NoProof):
            return Decided(name, sentence, answer.because, "", "", answer.outcome, None, Part.WITNESS)
        left, right = answer.left, answer.right
        if isinstance(left, ExactMatrix) and isinstance(right, ExactMatrix):
            return replace(identical(name, sentence, left, right), outcome=answer.outcome, part=part)
        sides = _shown(left), _shown(right)
        return Decided(
            name, sentence, sides[0], o.relation, sides[1], answer.outcome, answer.bits, part, answer.arithmetic
        )


def _shown(side: Number | None) -> arb | fmpq:
    """A side that is a number; of a range the proof has settled which."""
    assert isinstance(side, arb | fmpq)
    return side
