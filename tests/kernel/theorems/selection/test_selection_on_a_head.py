"""Checking `selection-on-a-head`: what is said, sabotaged kernels."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from corpus import Cases, Family, check, complaints
from flint import arb, fmpq
from sabotage import Sabotage, holds, noticed

from certattn.kernel.decide import obligation, proof
from certattn.kernel.decide.checker import CLAIMS
from certattn.kernel.decide.proof import Outcome, Verdict
from certattn.kernel.document.certificate import load, loads
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.functions import root
from certattn.kernel.theorems.selection import selection_on_a_head
from certattn.kernel.theorems.selection.selection_on_a_head import ChosenTokens, Gaps, Head, HeadStatement
from certattn.statements.wording import WORDINGS

cases = Cases("head_cases")

CLAIM = CLAIMS["selection-on-a-head"]


def statement(family: Family, arrays: Path) -> str:
    return check(next(family.cases()).text, arrays).statement


def test_the_statement_says_every_number(arrays: Path) -> None:
    said = statement(cases.WRITTEN_OUT, arrays)
    for piece in (
        "each of 2 queries q", "keys: ((-0.1, 1), (1, 0), (0, 0), (0.3, 0.3))", "queries: ((1, 3), (-1, -1))",
        "the one with the largest logit scale * <q, key>, is 0, 2;",
        "exceeds the largest other one by at least 0.59 and at most the number stated for each query (1.8, 0.61);",
        "its softmax weight is at least the number stated for each query (0.72, 0.4) and at most 0.75;",
        "the number of tokens with a larger score <v, value> with v = (1) than the selected one is 1, 3;",
        "the best token, the one with the largest score <v, value> with v = (1), is 3 at every query;",
        "selects the selected tokens at all queries (the smallest <key of it - key of another, W q>) "
        "is at least 0.42 and at most 0.61;",
        "selects the best tokens at all queries (the smallest <key of it - key of another, W q>) "
        "is at most 0 (no matrix selects them);",
        "the distance of key 0 from the convex hull of the other keys is at least 0.8 and at most 0.81;",
        "the distance of key 3 from the convex hull of the other keys is at most 0 (nothing selects it).",
    ):  # fmt: skip
        assert piece in said, said


def test_the_statement_says_who_sees_what(arrays: Path) -> None:
    said = statement(cases.CAUSAL, arrays)
    assert "where the first query sees the first 2 tokens and every further query one more:" in said
    assert "scale * <Q q, K token>" in said
    assert "score |value|" in said


def test_what_was_found_is_reported(arrays: Path) -> None:
    report = check(next(cases.CAUSAL.cases()).text, arrays)
    assert report.findings == (
        "smallest margin of a selected token: 0.5 at query 0",
        "smallest weight of a selected token: [0.622459331201855 +/- 4.36e-16] at query 0",
        "of the 3 selected tokens, 2 have the largest score and 1 score below every other token",
    )


def test_obligations_are_named_after_what_is_asserted(arrays: Path) -> None:
    problem = CLAIM.read(loads(next(cases.CAUSAL.cases()).text, arrays / "case.yaml"))
    kinds = ("selected", "margin.at_least", "margin.at_most", "weight.at_least", "rank", "best")
    assert [o.name for o in CLAIM.obligations(problem)] == [
        *(f"{kind}[{i}]" for kind in kinds for i in range(3)),
        "separability.selected.at_least", "exposure[2].at_least", "exposure[2].at_most", "exposure[1].at_most",
    ]  # fmt: skip


# -- against an independent computation


@pytest.mark.parametrize("seed", range(8))
def test_margins_and_weights_agree_with_numpy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    length, count, d, e = 12, 5, 3, 2
    keys, queries, matrix = (rng.integers(-9, 10, shape) for shape in ((length, d), (count, e), (d, e)))
    seen = tuple(int(n) for n in rng.integers(2, length + 1, count))
    chosen = tuple(int(rng.integers(n)) for n in seen)
    logits = queries @ matrix.T @ keys.T / 4
    with working_precision(64):
        gaps = ChosenTokens(exact(keys), exact(queries), chosen, seen).gaps(exact(matrix))
        for i, (token, most) in enumerate(zip(chosen, seen, strict=True)):
            row = logits[i, :most]
            margin = row[token] - np.delete(row, token).max()
            assert gaps.smallest_of(i) == fmpq(round(4 * margin))
            weight = math.exp(row[token] - row.max()) / np.exp(row - row.max()).sum()
            assert float(gaps.weight(i, arb(1) / 4).mid()) == pytest.approx(weight, rel=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_every_matrix_and_all_multipliers_enclose_the_largest_margin(
    seed: int, tool: Callable[[str], ModuleType]
) -> None:
    """Weak duality at random, against the distance that is found by trying all sets of points."""
    opinion = tool("truth.selection_on_a_head")
    rng = np.random.default_rng(seed)
    keys, queries = rng.integers(-5, 6, (4, 2)), rng.integers(-3, 4, (2, 2))
    chosen = ChosenTokens(exact(keys), exact(queries), (0, 1), (4, 4))
    pairs = [(i, t) for i in range(2) for t in range(4) if t != i]
    points = [np.outer(keys[i] - keys[t], queries[i]).ravel() for i, t in pairs]
    true = math.sqrt(opinion._distance_squared(tuple(tuple(Fraction(int(x)) for x in p) for p in points)))
    with working_precision(64):
        for _ in range(20):
            matrix = exact(rng.integers(-4, 5, (2, 2)))
            assert chosen.from_matrix(matrix).lower() <= true + 1e-12
            weights = {pair: fmpq(int(rng.integers(1, 9))) for pair in pairs if rng.random() < 0.5}
            if weights:
                assert chosen.from_multipliers(weights).upper() >= true - 1e-12


def exact(table: Any) -> ExactMatrix:
    return ExactMatrix.rational([[fmpq(int(x)) for x in row] for row in table])


# -- sabotaged kernels


def first_gap(gaps: Gaps, i: int) -> fmpq:
    return fmpq(next(iter(gaps.of_query(i))), gaps.denominator)


SABOTAGE: dict[str, Sabotage] = {
    "every lower bound holds": holds(">="),
    "every upper bound holds": holds("<="),
    "every gap is positive": holds(">"),
    "every rank is right": (proof, "_identical", lambda left, relation, right: Outcome.PROVED),
    "all queries see all tokens": (Head, "seen", property(lambda self: (self.prompt.length,) * self.prompt.count)),
    "the scale has no sign": (Head, "own_map", property(lambda self: self.prompt.query_map)),
    "the scale is one": (selection_on_a_head, "scale_ball", lambda scale: arb(1)),
    "only the first gap counts": (Gaps, "smallest_of", first_gap),
    "only the first query counts": (Gaps, "smallest", lambda self: self.smallest_of(0)),
    "matrices are not measured": (selection_on_a_head, "attained_margin", lambda smallest, norm_squared: smallest),
    "multipliers are not added up": (selection_on_a_head, "margin_ceiling", lambda square, total: root(square)),
    "the witness is not looked at": (selection_on_a_head, "_largest", lambda stated, of, margin: []),
    "a false witness refutes": (selection_on_a_head, "Part", type("Part", (), {"WITNESS": obligation.Part.STATEMENT})),
    "nothing is better": (HeadStatement, "better", lambda self, i: 0),
    "everything is best": (HeadStatement, "lead", lambda self, i, token: fmpq(1)),
}  # fmt: skip
# Without these the proof asks for what is not there, and raises.
UNREAD: dict[str, tuple[Any, str, Any]] = {
    "what is not there may be selected": (
        selection_on_a_head, "require_token", lambda token, length, node, what="": None),
    "tokens are not counted": (selection_on_a_head, "read_per_query", lambda values, field, head: values.get(field)),
}  # fmt: skip


test_a_sabotaged_kernel_fails = noticed(cases.CASES, SABOTAGE)


@pytest.mark.parametrize("name", UNREAD)
def test_a_reader_that_lets_it_pass_fails(name: str, arrays: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*UNREAD[name])
    with pytest.raises(IndexError):
        complaints(cases.CASES, arrays)


# -- a second opinion


HUGE = """certattn: 1
claim: selection-on-a-head
given: {{keys: [[1], [0]], values: [[1], [0]], queries: [[100000]]}}
asserts:
  selected: [0]
  weight: {{{0}}}
"""


@pytest.mark.parametrize(
    ("bound", "expected"),
    [
        ("at_most: 1", Verdict.VERIFIED),
        ("at_most: 2", Verdict.VERIFIED),
        ("at_least: 0.999", Verdict.VERIFIED),
        ("at_least: 1", Verdict.REFUTED),
        ("at_least: 2", Verdict.REFUTED),
    ],
)
def test_a_weight_is_below_1_however_close(bound: str, expected: Verdict, arrays: Path) -> None:
    """It is 1 - e^-100000, about: no precision tells it from 1 by itself."""
    assert check(HUGE.format(bound), arrays).verdict is expected


def test_weights_of_the_selected_token_and_of_the_others_sum_to_1() -> None:
    gaps = [fmpq(1, 3), fmpq(2), fmpq(0)]
    with working_precision(128):
        balls = [arb(gap) for gap in gaps]
        both = selection_on_a_head.selected_weight(balls) + selection_on_a_head.unselected_weight(balls)
        assert abs(both - 1) < arb(2) ** -120


def test_the_formula_has_the_bounds_that_are_stated_and_no_others() -> None:
    certificate = load(
        Path(__file__).parents[4] / "certificates" / "selection" / "selection-on-a-head" / "layer1-head9.yaml"
    )
    formula = WORDINGS[CLAIM.name].statement(CLAIM.read(certificate)).latex
    gap = r"\ell_{i \alpha_i} - \ell_{it}"
    assert formula.split(r",\qquad ") == [
        rf"\min_{{t \ne \alpha_i}} {gap} > 0 \;\forall i",
        rf"a_i \le \min_{{t \ne \alpha_i}} ({gap})",
        r"a_i \le p_{i \alpha_i} \le b_i",
    ]
