"""Boursier and Boyer's propositions 3.1 and 3.4 as claims: the published display at an instance, or a repaired form.

The two claims differ in whose error is bounded (`proposition_inputs.Error`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection
from dataclasses import dataclass

from certattn.kernel.decide.claim import Claim, Statement
from certattn.kernel.decide.verdict import Obligation
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.schema import Record, Values
from certattn.kernel.mathematics.balls import ARB
from certattn.kernel.theorems.prompts.proposition_inputs import GIVEN, Error, Setting, read_setting
from certattn.kernel.theorems.prompts.published_display import (
    NAME,
    PUBLISHED,
    Published,
    read_published,
    refuse_instance,
)
from certattn.kernel.theorems.prompts.repaired_display import REPAIRED, START, STEPS, Repaired, T, read_repaired


@dataclass(frozen=True)
class Problem:
    """What is stated: one of the two forms."""

    form: Published | Repaired


class Proposition(Claim[Problem]):
    """`proposition` as sentences name it."""

    proposition: str
    arithmetic = ARB
    given = GIVEN
    witness = Record(STEPS, T, START)

    @abstractmethod
    def error(self, asserts: Values) -> Error:
        """Whose error is bounded."""

    def read(self, certificate: Certificate) -> Problem:
        setting = self.read_given(certificate)
        asserts = self.asserts.read(certificate.asserts, certificate.reading)
        if (PUBLISHED in asserts) is (REPAIRED in asserts):
            raise asserts.at.malformed("one of published and repaired")
        error = self.error(asserts)
        if REPAIRED in asserts:
            refuse_instance(setting)
            if certificate.witness is None:
                raise asserts.at.malformed("a witness beside it, for a repaired form", "no witness")
            witness = self.witness.read(certificate.witness, certificate.reading)
            return Problem(read_repaired(setting, error, asserts[REPAIRED], witness))
        if certificate.witness is not None:
            raise certificate.witness.malformed("no witness: the published form needs none")
        return Problem(read_published(setting, error, asserts[PUBLISHED] == "fails"))

    def read_given(self, certificate: Certificate) -> Setting:
        """The section `given` alone. Raises MalformedError."""
        _, values = GIVEN.read(certificate.given, certificate.reading)
        return read_setting(values)

    def statement(self, problem: Problem) -> Statement:
        return Statement(problem.form.words(self.proposition), problem.form.latex())

    def names(self, problem: Problem) -> list[str]:
        return [NAME] if isinstance(problem.form, Published) else problem.form.names()

    def prove(self, problem: Problem, names: Collection[str], bits: int) -> list[Obligation]:
        return [obligation for obligation in problem.form.prove(bits) if obligation.name in names]
