"""The claim `token-optimality`: enumerations by brute force."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from corpus import Cases, check
from flint import fmpq
from sabotage import Sabotage, believed, noticed

from certattn import generate
from certattn.kernel.decide.proof import Verdict
from certattn.kernel.theorems.selection import token_optimality
from certattn.kernel.theorems.selection.token_optimality import uncut_selections

optimality_cases = Cases("optimality_cases")

Tool = Callable[[str], ModuleType]
CASES = optimality_cases.CASES


@pytest.fixture(scope="module")
def truth(tool: Tool) -> ModuleType:
    return tool("truth.token_optimality")


# -- sabotage: each broken part lets a reject case pass


SABOTAGE: dict[str, Sabotage] = {
    "sums are 0": (token_optimality.Contradiction, "largest_entry", fmpq(0)),
    "neighbours have a gap": (token_optimality, "smallest_neighbour_gap", lambda selection, solution: fmpq(1)),
    "the first tokens are the best": (token_optimality, "best_tokens", lambda tokens: [[0]] * tokens.count),
    "conditions are believed": (token_optimality, "optimal", believed),
    "the last selection is left out": (
        token_optimality, "uncut_selections", lambda lengths, cuts: list(uncut_selections(lengths, cuts))[:-1]),
}  # fmt: skip

test_a_sabotaged_kernel_fails = noticed(CASES, SABOTAGE)


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
