"""Propositions 3.1 and 3.4 as claims: about stated laws, or about every law of a class."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from certattn.kernel.decide.obligation import NoProof, Obligation
from certattn.kernel.decide.theorem import Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.schema import ByKey, Field, Record, at_most_one_of, some_of
from certattn.kernel.theorems.prompts import every_law, propositions
from certattn.kernel.theorems.prompts.every_law import CLASS, StatedClass
from certattn.kernel.theorems.prompts.propositions import PUBLISHED, REPAIRED, WITNESS, StatedDisplay

Stated = StatedDisplay | StatedClass
GIVEN = ByKey({CLASS.name: every_law.GIVEN, "law": propositions.GIVEN})


def names_a_class(certificate: Certificate) -> bool:
    """Whether it is about every law of a class."""
    return isinstance(certificate.given.value, dict) and CLASS.name in certificate.given.value


def _read(record: Record, certificate: Certificate) -> Stated:
    if names_a_class(certificate):
        return every_law.read_class(record, certificate)
    return propositions.read_display(record, certificate)


def _obligations(stated: Stated) -> Iterable[Obligation | NoProof]:
    return every_law.obligations(stated) if isinstance(stated, StatedClass) else propositions.obligations(stated)


def proposition(name: str, title: str, *which: Field[str]) -> Theorem[Stated]:
    """The theorem of a proposition; `which` names the error that it bounds, where there are several."""
    asserts = Record(
        *which, PUBLISHED, REPAIRED, rules=[some_of(PUBLISHED, REPAIRED), at_most_one_of(PUBLISHED, REPAIRED)]
    )
    return Theorem(
        name=name,
        title=title,
        given=GIVEN,
        asserts=asserts,
        witness=WITNESS,
        read=partial(_read, asserts),
        obligations=_obligations,
    )
