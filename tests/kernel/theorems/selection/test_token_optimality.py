"""The claim `token-optimality`: its cases, every small change of them, and enumerations by brute force."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import optimality_cases
import pytest
from corpus import Family, check, notices
from flint import fmpq

from certattn import generate
from certattn.kernel.decide import proof
from certattn.kernel.decide.obligation import Obligation
from certattn.kernel.decide.proof import Outcome, Verdict
from certattn.kernel.document.certificate import loads
from certattn.kernel.theorems.selection import token_optimality
from certattn.kernel.theorems.selection.stated_tokens import kkt_names
from certattn.kernel.theorems.selection.token_optimality import uncut_selections

Tool = Callable[[str], ModuleType]
CASES = [case for family in optimality_cases.FAMILIES for case in family.cases()]


@pytest.fixture(scope="module")
def truth(tool: Tool) -> ModuleType:
    return tool("truth.token_optimality")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_cases(case, tmp_path: Path) -> None:
    assert case.complaint(check(case.text, tmp_path)) == ""


def test_about_as_many_are_rejected_as_accepted() -> None:
    accepted = sum(case.verdict is Verdict.VERIFIED for case in CASES)
    assert len(CASES) - accepted >= accepted > 8


@pytest.mark.parametrize("family", optimality_cases.FAMILIES, ids=lambda family: family.title)
def test_no_mutant_is_falsely_accepted_or_refuted(family: Family, tmp_path: Path, mutate: ModuleType) -> None:
    tree = loads(next(family.cases()).text, tmp_path / "case.yaml").plain
    mutants = list(mutate.mutants(tree))
    tally = mutate.sweep(mutants, tmp_path)
    assert tally.mutants == len(mutants) > 200
    assert tally.errors == []
    assert tally.not_verified == []
    assert tally.verified_true > 0 < tally.refuted_false
    assert tally.refused > 0


def test_the_sweep_notices_a_checker_that_lets_things_pass(
    tmp_path: Path, mutate: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = loads(next(optimality_cases.ALL.cases()).text, tmp_path / "case.yaml").plain
    monkeypatch.setattr(proof, "decide", lambda left, relation, right: Outcome.PROVED)
    assert len(mutate.sweep(mutate.mutants(tree), tmp_path).false_accepts) > 20


# -- sabotage: each broken part lets a reject case pass


def believed(prefix, solution, needs=()):
    return (Obligation(name, fmpq(0), "=", fmpq(0), needs=needs) for name in kkt_names(prefix))


@pytest.mark.parametrize(
    ("module", "name", "broken"),
    [
        (token_optimality.Contradiction, "largest_entry", fmpq(0)),
        (token_optimality, "smallest_neighbour_gap", lambda selection, solution: fmpq(1)),
        (token_optimality, "best_tokens", lambda tokens: [[0]] * tokens.count),
        (token_optimality, "optimal", believed),
        (token_optimality, "uncut_selections", lambda lengths, cuts: list(uncut_selections(lengths, cuts))[:-1]),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_broken_part_is_noticed(module, name, broken, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, name, broken)
    assert notices(CASES, tmp_path)


def test_a_wrong_witness_never_refutes(tmp_path: Path) -> None:
    """A point that is feasible and not p_mm has other neighbours: the statement is not compared with them."""
    text = next(optimality_cases.TWO_INPUTS.cases()).text.replace("multiplier: 13}]", "multiplier: 14}]")
    report = check(text, tmp_path)
    assert report.verdict is Verdict.REJECTED
    assert "it rests on locally_optimal[0].constraints" in str(report.obligations)


# -- against brute force


@pytest.mark.parametrize("seed", range(40))
def test_enumerations_agree_with_trying_every_support(seed: int, tmp_path: Path, truth: ModuleType) -> None:
    """Small integers: ties of scores, duplicate tokens and selections that cannot be separated are frequent."""
    rng = np.random.default_rng(seed)
    count, dimension = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    lengths = [int(rng.integers(1, 4)) for _ in range(count)]
    lengths[0] = max(lengths[0], 2)
    keys = [rng.integers(-2, 3, size=(length, dimension)).tolist() for length in lengths]
    scores = [rng.integers(0, 3, size=length).tolist() for length in lengths]
    text = {"keys": [[list(map(str, r)) for r in rows] for rows in keys], "scores": [list(map(str, s)) for s in scores]}
    instance = truth.Instance(text, tmp_path)
    everything = list(instance.everything())
    certificate = generate("token-optimality", tmp_path / "all.yaml", given=text, selections=everything)
    report = check((tmp_path / "all.yaml").read_text(), tmp_path)
    assert report.verdict is Verdict.VERIFIED, report.reason
    expected = [indices for indices in everything if instance.locally_optimal(indices)]
    asserts = certificate.plain["asserts"]
    stated = asserts["all_locally_optimal"]
    assert ([] if stated == "none" else [tuple(map(int, found)) for found in stated]) == expected
    assert [tuple(map(int, found)) for found in asserts.get("locally_optimal", [])] == expected
    assert len(asserts.get("not_locally_optimal", [])) == len(everything) - len(expected)


def test_ten_thousand_selections_are_all_settled(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    given = {
        "keys": rng.integers(-99, 100, size=(4, 10, 2)).tolist(),
        "scores": rng.integers(0, 100, size=(4, 10)).tolist(),
    }
    generate("token-optimality", tmp_path / "all.yaml", given=given)
    report = check((tmp_path / "all.yaml").read_text(), tmp_path)
    assert report.verdict is Verdict.VERIFIED
    assert "of all 10000 selections" in report.statement


def test_more_selections_than_can_be_gone_through_are_refused(tmp_path: Path) -> None:
    keys = [[["0"], ["1"]]] * 17
    text = f"""certattn: 1
claim: token-optimality
given: {{keys: {keys}, scores: {[["0", "1"]] * 17}}}
asserts: {{all_locally_optimal: none}}
witness: {{supports: [[0]]}}
"""
    report = check(text, tmp_path)
    assert report.verdict is Verdict.MALFORMED
    assert "131072" in report.reason
