"""Every accept and reject case of every claim, a family at a time, and what the families of a claim must have."""

from __future__ import annotations

import re
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from corpus import ACCEPT, MALFORMED, REFUTED, REJECTED, Case, Family, check, complaints, every_family

from certattn.kernel.decide.checker import CLAIMS, theorem_of
from certattn.kernel.decide.proof import Verdict
from certattn.kernel.document.certificate import loads
from certattn.statements.reports import Report

FAMILIES = every_family()
# Those whose cases take more than a second together: of these one case in eight is light.
SLOW = {
    "cache-error: a ball of queries",
    "cache-error: two batches of grouped heads with caches in eight and in four bits",
    "flow-trajectory: a balanced start on the line",
    "flow-trajectory: a start in the plane",
    "gradient-tail: the gradient in U by the fourth moment of its norm",
    "gradient-tail: the gradient in V by the sixth moment of its norm at a few lengths",
    "output-mean-square: Gaussian tokens, every length from one on by exact numbers at a few",
    "output-mean-square: averaged over queries, by an integral",
    "output-mean-square: averaged over queries, exactly",
    "output-mean-square: averaged over queries, for every length from one on",
    "output-tail: a norm by its eighth moment",
    "output-tail: a norm by its eighth moment at a few lengths",
    "output-tail: the probability itself, from both sides",
    "risk-transfer: a start of large risk",
    "risk-transfer: a start with b larger than A",
    "risk-transfer: given prompts",
    "risk-transfer: one dimension",
    "risk-transfer: the plane",
    "selection-direction: the second token of three, after a thousand steps",
    "training-convergence: the flow from an enclosed time on",
}


def in_full(family: Family) -> str:
    return f"{family.claim}: {family.title}"


@pytest.mark.parametrize(
    "family",
    [pytest.param(each, marks=[pytest.mark.heavy] if in_full(each) in SLOW else []) for each in FAMILIES],
    ids=map(in_full, FAMILIES),
)
def test_the_cases_of_a_family(family: Family, arrays: Path) -> None:
    wrong = [line for case in family.cases() for line in faults(case, arrays)]
    assert not wrong, "\n".join(["", *wrong])


@pytest.mark.parametrize("family", [each for each in FAMILIES if in_full(each) in SLOW], ids=in_full)
def test_some_cases_of_a_slow_family(family: Family, arrays: Path) -> None:
    some = list(family.cases())[::8]
    assert {case.verdict is ACCEPT for case in some} == {True, False}
    wrong = [line for case in some for line in faults(case, arrays)]
    assert not wrong, "\n".join(["", *wrong])


def test_what_is_said_to_be_slow_is_there() -> None:
    assert SLOW - set(map(in_full, FAMILIES)) == set()


def faults(case: Case, folder: Path) -> Iterator[str]:
    """What is wrong with the report on a case, and with the obligations of what verifies."""
    try:
        report = check(case.text, folder)
        if complaint := case.complaint(report):
            yield complaint
        elif case.verdict is ACCEPT:
            certificate = loads(case.text, folder / "case.yaml")
            theorem = theorem_of(certificate)
            names = [one.name for one in theorem.obligations(theorem.read(certificate))]
            if [one["name"] for one in report.obligations] != names:
                yield f"{case.name}: reported are other obligations than the theorem lists"
            if not names or len(set(names)) != len(names):
                yield f"{case.name}: no obligation, or one of a name twice"
            if {one["outcome"] for one in report.obligations} != {"proved"}:
                yield f"{case.name}: verified, and not every obligation is proved"
    except Exception:
        yield f"{case.name}: {traceback.format_exc()}"


@pytest.mark.parametrize("claim", CLAIMS)
def test_a_claim_has_cases_that_tell_checkers_apart(claim: str, tmp_path: Path) -> None:
    cases = [case for family in FAMILIES if family.claim == claim for case in family.cases()]
    verdicts = Counter(case.verdict for case in cases)
    rejects = len(cases) - verdicts[ACCEPT]
    assert verdicts[ACCEPT] >= 7
    assert rejects >= verdicts[ACCEPT] + 10
    # Of texts that are certificates, so that reading alone does not tell.
    assert rejects - verdicts[MALFORMED] >= 10
    assert len({case.name for case in cases}) == len({case.text for case in cases}) == len(cases)
    for verdict, wrong in ((ACCEPT, rejects), (REFUTED, len(cases) - verdicts[REFUTED])):
        assert len(complaints(cases, tmp_path, lambda text, folder, one=verdict: Report("c.yaml", one))) >= wrong


@pytest.mark.parametrize("claim", CLAIMS)
def test_what_is_refuted_has_no_digest_of_what_verifies(claim: str, arrays: Path) -> None:
    """The digest names the statement. (What is rejected may be proved by another witness.)"""
    digests: dict[bool, dict[str, str]] = {True: {}, False: {}}
    for case in (case for family in FAMILIES if family.claim == claim for case in family.cases()):
        if case.verdict not in (MALFORMED, REJECTED):
            digests[case.verdict is ACCEPT][loads(case.text, arrays / "case.yaml").digest] = case.name
    assert len(digests[True]) >= 4
    assert [(digests[True][one], digests[False][one]) for one in digests[True] if one in digests[False]] == []


def test_nothing_is_lost_of_the_corpus() -> None:
    verdicts = Counter(case.verdict for family in FAMILIES for case in family.cases())
    assert verdicts[Verdict.VERIFIED] >= 950
    assert sum(verdicts.values()) >= 4000


STORED = [each for each in FAMILIES if any("sha256" in case.text for case in each.cases() if case.verdict is ACCEPT)]


@pytest.mark.parametrize("family", STORED, ids=in_full)
def test_every_array_that_is_named_is_read(family: Family, arrays: Path) -> None:
    """Whatever is asserted: a sentence that speaks of a file is about what is in it, and no other file verifies it."""
    for case in family.cases():
        for match in re.finditer(r"sha256: ([0-9a-f])", case.text) if case.verdict is ACCEPT else ():
            other = "1" if match[1] == "0" else "0"
            changed = case.text[: match.start(1)] + other + case.text[match.end(1) :]
            assert check(changed, arrays).verdict is MALFORMED, (case.name, case.text[: match.start()])
