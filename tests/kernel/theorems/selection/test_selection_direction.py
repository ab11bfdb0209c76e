"""The claim `selection-direction`: its cases, every small change of them, and parts that are broken."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import direction_cases
import pytest
from corpus import Family, check, notices
from flint import arb, fmpq

from certattn.kernel.decide import proof
from certattn.kernel.decide.obligation import Obligation
from certattn.kernel.decide.proof import Outcome, Verdict
from certattn.kernel.document.certificate import loads
from certattn.kernel.mathematics import selection_landscape
from certattn.kernel.theorems.selection import direction_theorems, selection_direction
from certattn.kernel.theorems.selection.direction_theorems import LogarithmicRate
from certattn.kernel.theorems.selection.mathematics import global_selection
from certattn.kernel.theorems.selection.mathematics.global_selection import GlobalBasin
from certattn.kernel.theorems.selection.stated_tokens import kkt_names

Tool = Callable[[str], ModuleType]
CASES = [case for family in direction_cases.FAMILIES for case in family.cases()]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_cases(case, tmp_path: Path) -> None:
    assert case.complaint(check(case.text, tmp_path)) == ""


def test_about_as_many_are_rejected_as_accepted() -> None:
    accepted = sum(case.verdict is Verdict.VERIFIED for case in CASES)
    assert len(CASES) - accepted >= accepted > 15


# The script does every change; here every third of them, and from a box every ninth, as descents are simulated.
@pytest.mark.parametrize("family", direction_cases.FAMILIES, ids=lambda family: family.title)
def test_no_mutant_is_falsely_accepted_or_refuted(family: Family, tmp_path: Path, mutate: ModuleType) -> None:
    tree = loads(next(family.cases()).text, tmp_path / "case.yaml").plain
    mutants = list(mutate.mutants(tree))[:: 9 if "from a box" in family.title else 3]
    tally = mutate.sweep(mutants, tmp_path)
    assert tally.mutants == len(mutants) > 100
    assert tally.errors == []
    assert tally.verified_true > 0
    assert tally.refused > 0


def test_the_sweep_notices_a_checker_that_lets_things_pass(
    tmp_path: Path, mutate: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = loads(next(direction_cases.ONE.cases()).text, tmp_path / "case.yaml").plain
    monkeypatch.setattr(proof, "decide", lambda left, relation, right: Outcome.PROVED)
    assert len(mutate.sweep(list(mutate.mutants(tree))[::3], tmp_path).false_accepts) > 8


# -- sabotage: each broken part lets a reject case pass


def believed(prefix, solution):
    return (Obligation(name, fmpq(0), "=", fmpq(0)) for name in kkt_names(prefix))


def always(value):
    """In the place of an attribute: this number, whatever is computed for it."""
    return property(lambda self: value, lambda self, computed: None)


@pytest.mark.parametrize(
    ("module", "name", "broken"),
    [
        (selection_direction, "optimal", believed),
        (direction_theorems, "_cross_products", lambda selection: []),
        (direction_theorems, "largest_spread", lambda selection: fmpq(0)),
        (GlobalBasin, "threshold", always(arb(10) ** 9)),
        (GlobalBasin, "numerator", always(arb(0))),
        (GlobalBasin, "start", always(arb(10) ** 9)),
        (GlobalBasin, "slope", always(arb(10) ** 9)),
        (global_selection, "excess_after", lambda *point: arb(0.001)),
        (LogarithmicRate, "at", lambda self, elapsed: arb(0)),
        (selection_landscape.GradientStep, "of", lambda self, point: point),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_broken_part_is_noticed(module, name, broken, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Attributes of an instance are none of its class.
    monkeypatch.setattr(module, name, broken, raising=module is not GlobalBasin)
    assert notices(CASES, tmp_path)


def test_a_wrong_witness_never_refutes(tmp_path: Path) -> None:
    """Multipliers of a point that is not p_mm: neither the limit nor the angles are compared with it."""
    text = next(direction_cases.ONE.cases()).text.replace("multiplier: 100/101", "multiplier: 2")
    report = check(text, tmp_path)
    assert report.verdict is Verdict.REJECTED
    assert "it rests on p_mm." in str(report.obligations)


def test_nothing_is_enclosed_from_where_it_is_not_finite(tmp_path: Path) -> None:
    text = next(direction_cases.BOX.cases()).text.replace("[0.51, 0.01]", "[50, 50]")
    report = check(text, tmp_path)
    assert report.verdict in (Verdict.INCONCLUSIVE, Verdict.REJECTED)


def test_few_bits_refute_nothing_that_more_bits_prove(tmp_path: Path) -> None:
    """F is about 1e-16 at the start: 64 bits tell its first digits only, and the rate with all of them is stated."""
    text = """certattn: 1
claim: selection-direction
given:
  tokens: [[[-3/2], [-3]], [[9/4], [-11/4]], [[1/4]]]
  v: [11/4]
  labels: [1, 1, 1]
  loss: exponential
  descent: {rule: gradient, step: 1}
  start: [-15/4]
asserts:
  indices: [0, 0, 0]
  rate: {form: logarithm, from: 1, numerator: 0.00000000000201, offset: 5024000000000000, slope: 191.4}
witness:
  multipliers: [{input: 0, token: 1, multiplier: 4/9}]
  steps: 1
  theorem: {name: global}
"""
    assert check(text, tmp_path).verdict is Verdict.VERIFIED
    report = check(text.replace("slope: 191.4", "slope: 191.6"), tmp_path)
    assert report.verdict is Verdict.REJECTED, report.reason


REJECTS = [case for case in CASES if case.verdict is Verdict.REJECTED][::7]


@pytest.mark.parametrize("case", REJECTS, ids=lambda case: case.name)
def test_what_is_not_proved_is_not_found(case, tmp_path: Path) -> None:
    """A rejected report does not say which theorem leads to the limit."""
    assert check(case.text, tmp_path).findings == ()
