"""Broken theorems: obligations that hold whatever they compare, and the test that the cases of a claim notice."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from corpus import Case, Checker, check, notices
from flint import fmpq

from certattn.kernel.decide import proof
from certattn.kernel.decide.checker import CheckOptions
from certattn.kernel.decide.obligation import Obligation
from certattn.kernel.document.certificate import loads
from certattn.kernel.errors import MalformedError
from certattn.kernel.limits import Limits
from certattn.kernel.theorems.selection.stated_tokens import kkt_names
from certattn.statements.checking import check_certificate, malformed_report
from certattn.statements.reports import Report

# What is replaced in which module, class or table, by what; and the family whose cases tell, where not all are tried.
Sabotage = tuple[Any, ...]


def noticed(
    cases: Iterable[Case], sabotages: Mapping[str, Sabotage], checker: Checker = check
) -> Callable[[Sabotage, Path, pytest.MonkeyPatch], None]:
    """A test, to be given a name in a module: with any of the parts broken, a case comes out wrong."""
    every, spent = list(cases), defaultdict[str, float](float)

    @pytest.mark.parametrize("sabotage", sabotages.values(), ids=sabotages.keys())
    def test(sabotage: Sabotage, arrays: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        where, what, instead, *families = sabotage
        if isinstance(where, dict):
            monkeypatch.setitem(where, what, instead)
        else:
            # What __init__ sets is no attribute of the class; a property that is not asked shows as not noticed.
            monkeypatch.setattr(where, what, instead, raising=not isinstance(instead, property))
        assert notices(in_turn(families[0].cases() if families else every, spent), arrays, checker)

    return test


def in_turn(cases: Iterable[Case], spent: dict[str, float]) -> Iterator[Case]:
    """Each time a case of the family that has taken the least time: the one that tells is mostly among the quick."""
    left: dict[str, list[Case]] = {}
    for case in cases:
        left.setdefault(case.name.partition(": ")[0], []).append(case)
    while left:
        family = min(left, key=lambda name: spent[name])
        before = time.process_time()
        try:
            yield left[family].pop(0)
        finally:
            spent[family] += time.process_time() - before
        if not left[family]:
            del left[family]


def at_64_bits(text: str, folder: Path) -> Report:
    """The checker, which raises the precision no further."""
    try:
        return check_certificate(loads(text, folder / "case.yaml"), CheckOptions(limits=Limits(max_bits=64)))
    except MalformedError as error:
        return malformed_report("case.yaml", error)


def always(value: Any) -> property:
    """In the place of an attribute: this, whatever is computed for it."""
    return property(lambda self: value, lambda self, computed: None)


# -- obligations, in the place of what a module calls


def true(name: str, *others: Any, needs: Any = (), **named: Any) -> Obligation:
    return Obligation(name, fmpq(0), "<=", fmpq(0), needs=needs)


def unless(end: str) -> Callable[..., Obligation]:
    """Obligations, of which those whose names end so hold whatever is compared."""

    def made(name: str, *others: Any, **named: Any) -> Obligation:
        return true(name) if f".{name}".endswith(f".{end}") else Obligation(name, *others, **named)

    return made


def holding(*kinds: str) -> Callable[..., Obligation]:
    """Obligations, of which those hold, whatever their sides, that have one of these relations or names, or both."""

    def made(name: str, left: Any, relation: Any, right: Any, *others: Any, **named: Any) -> Obligation:
        plain = name.partition("[")[0]
        if {relation, name, f"{plain} {relation}"} & set(kinds):
            return true(name, needs=named.get("needs", ()))
        return Obligation(name, left, relation, right, *others, **named)

    return made


def believed(prefix: str, solution: Any, needs: Any = ()) -> Iterator[Obligation]:
    """The conditions of a max-margin problem, of which each holds."""
    return (true(name, needs=needs) for name in kkt_names(prefix))


def holds(relation: str) -> Sabotage:
    """A core that takes every comparison of this kind for true."""
    return proof, "_COMPARED", {**proof._COMPARED, relation: lambda left, right: (True, False)}
