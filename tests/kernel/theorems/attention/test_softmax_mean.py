"""Claim `softmax-mean`: what is said of it, and its numbers."""

from __future__ import annotations

from pathlib import Path

import pytest
from corpus import ACCEPT, Cases, Family, check
from flint import arb, fmpq

from certattn.kernel.decide.checker import CLAIMS, CheckOptions
from certattn.kernel.decide.proof import Verdict
from certattn.kernel.document.certificate import loads
from certattn.kernel.mathematics import softmax
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.softmax_shares import ranked_prompts
from certattn.statements.checking import check_certificate
from certattn.statements.wording import WORDINGS

cases = Cases("mean_cases")

CLAIM = CLAIMS["softmax-mean"]


@pytest.mark.heavy
@pytest.mark.parametrize("at_once", [1, 3, 5])
def test_chunks_change_no_verdict(at_once: int, arrays: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(softmax, "_WEIGHTS_AT_ONCE", at_once)
    assert [case.complaint(check(case.text, arrays)) for case in cases.CASES] == [""] * len(cases.CASES)


# -- what is said


def words(family: Family, folder: Path) -> str:
    return check(next(family.cases()).text, folder).statement


def test_the_statement_says_every_number(arrays: Path) -> None:
    said = words(cases.WHOLE, arrays)
    for piece in (
        "each of 2 queries",
        "3 tokens",
        "keys: ((1, 0), (0, 1), (-1, 0.5))",
        "values: ((1, 2), (0, -1), (3, 0.5))",
        "scale sqrt(1/2)",
        "queries: ((1, 1), (-2, 0.5))",
        "each token weighted by e^(scale * <q, key>) / Z(q), where Z(q) is the sum of e^(scale * <q, key>) over the",
        "the mean T(q) of the values is ((0.8689, 0.5), (2.2764, 0.2306)) up to 0.0000473 in every coordinate",
        "the covariance Cov of the values is ((0.9993, 0.6393), (0.6393, 1.918)), ((1.5733, 0.6687), (0.6687, 0.4979))",
        "up to the number stated for each query (0.0000272, 0.000034) in every entry",
        "every eigenvalue of the covariance of the values is at least 0.177532",
        "and at most the number stated for each query (2.24587, 1.8937)",
        "log Z(q) is (1.5599, 1.8834) up to 0.0000154",
    ):
        assert piece in said, said


def test_the_statement_says_whose_covariance_it_is(arrays: Path) -> None:
    tokens = words(cases.TOKENS, arrays)
    assert "e^(scale * <Q q, K token>)" in tokens
    assert "the covariance Cov of the keys is" in tokens
    assert "every eigenvalue of the covariance of the keys is" in tokens
    bilinear = words(cases.BILINEAR, arrays)
    assert "e^(scale * <U q, token>)" in bilinear
    assert "of the values (rows) and the keys, which are the tokens (columns) is (0.6628, 0.6967) up to" in bilinear
    assert "one query q and a prompt" in bilinear


def test_the_statement_says_where_arrays_come_from(arrays: Path) -> None:
    said = words(cases.ARRAYS, arrays)
    assert "2 x 2 from means.npy" in said
    assert "4 x 2 from covariances.npy" in said
    assert "queries: 2 x 2 from prompt.npz[queries], rows 1:3" in said


def test_many_covariances_are_not_all_written_into_the_statement(arrays: Path) -> None:
    value = ", ".join(["[[0.25]]"] * 6)
    text = (
        "certattn: 1\nclaim: softmax-mean\n"
        "given: {tokens: [[0], [1]], queries: [[0], [0], [0], [0], [0], [0]]}\n"
        f"asserts: {{covariance: {{value: [{value}], radius: 0}}}}\n"
    )
    found = check(text, arrays)
    assert found.verdict is ACCEPT
    assert found.statement.count("(0.25)") == 4
    assert "2 more (sha256 " in found.statement


def test_the_formula_names_what_is_asserted(arrays: Path) -> None:
    def latex(family: Family) -> str:
        certificate = loads(next(family.cases()).text, arrays / "case.yaml")
        return WORDINGS[CLAIM.name].statement(CLAIM.read(certificate)).latex

    whole = latex(cases.WHOLE)
    for piece in (
        r"\| T(q_i)",
        r"\operatorname{Cov}_{q_i}(v, v) - C_i",
        r"a_i \le \lambda(",
        r"\log Z(q_i)",
        "forall i",
    ):
        assert piece in whole
    assert r"\operatorname{Cov}_{q_i}(v, k)" in latex(cases.BILINEAR)
    assert r"\lambda(\operatorname{Cov}_{q_i}(k, k))" in latex(cases.TOKENS)


def test_the_statement_says_how_weights_are_spread(arrays: Path) -> None:
    said = words(cases.SPREAD, arrays)
    for piece in (
        "the entropy of these weights, in nats, is at least 1.0676 and at most the number stated for each query",
        "the largest of these weights is at least the number stated for each query (0.551412, 0.60719) and at most",
        "the sum of the 3 largest of these weights is at most the number stated for each query (0.819528, 0.959515)",
        "the sum of the 2 largest of these weights is at least 0.68547",
    ):
        assert piece in said, said
    certificate = loads(next(cases.SPREAD.cases()).text, arrays / "case.yaml")
    latex = WORDINGS[CLAIM.name].statement(CLAIM.read(certificate)).latex
    for piece in (r"h_i \le -\sum_j p_j(q_i) \log p_j(q_i) \le H_i", r"\sum_{j \le 3} p_{(j)}(q_i) \le M_i"):
        assert piece in latex


def test_a_third_that_is_met_exactly_is_inconclusive(arrays: Path) -> None:
    text = (
        "certattn: 1\nclaim: softmax-mean\ngiven: {keys: [[1], [1], [1]], values: [[1], [2], [3]], queries: [[5]]}\n"
        "asserts: {top: [{count: 1, at_least: BOUND}]}\n"
    )
    assert check(text.replace("BOUND", "1/3"), arrays).verdict is Verdict.INCONCLUSIVE
    assert check(text.replace("BOUND", "0.333333333333333333333333333333"), arrays).verdict is ACCEPT


@pytest.mark.parametrize("count", [1, 2, 3])
def test_equal_scores_change_no_mass(count: int) -> None:
    """Whichever of two tokens of one score is taken for the larger."""
    keys, values = ExactMatrix.rational([[fmpq(1)], [fmpq(2)], [fmpq(2)]]), ExactMatrix.zero(3, 1)
    found = []
    for order in ([0, 1, 2], [0, 2, 1], [2, 1, 0]):
        prompt = softmax.Prompt(keys.take_rows(order), values, fmpq(-1))
        (weighted,) = ranked_prompts(prompt, ExactMatrix.rational([[fmpq(1, 3)]]))
        assert [int(gap) for gap in weighted.ranking.gaps] == [0, 1, 1]
        found.append(weighted.mass_outside(count))
    assert all(a.overlaps(b) for a in found for b in found)


def test_the_worst_queries_and_their_slacks_are_found(arrays: Path) -> None:
    mean, covariance, smallest, largest, logarithm = check(next(cases.WHOLE.cases()).text, arrays).findings
    assert mean.startswith("worst query 1: |T(q) - value|_linf [4.72163")
    assert mean.endswith("slack 8.36e-8")
    assert covariance.startswith("worst query 1: the largest entry of |Cov - value| [3.39780")
    assert smallest.startswith("worst query 1: smallest eigenvalue [0.177532766364")
    assert largest.startswith("worst query 0: largest eigenvalue [2.24586380811")
    assert logarithm.startswith("worst query 0: |log Z(q) - value| [1.53577")


@pytest.mark.parametrize(("bits", "expected"), [(2, 32), (100, 100), (10**9, 4096)])
def test_a_hint_of_bits_is_where_the_check_begins(bits: int, expected: int, arrays: Path) -> None:
    text = next(cases.WHOLE.cases()).text
    found = check(text.replace("asserts:", f"witness: {{bits: {bits}}}\nasserts:"), arrays)
    assert found.verdict is ACCEPT
    assert found.bits == expected


@pytest.mark.parametrize(
    ("only", "count"),
    [
        ("mean[0]", 1),
        ("covariance[1]", 1),
        ("eigenvalues.at_least[*]", 2),
        ("eigenvalues.*[0]", 2),
        ("log_normaliser[1]", 1),
    ],
)
def test_a_part_of_the_obligations_never_verifies(only: str, count: int, arrays: Path) -> None:
    certificate = loads(next(cases.WHOLE.cases()).text, arrays / "case.yaml")
    found = check_certificate(certificate, CheckOptions(only=only, detail=True))
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.counts["proved"] == len(found.obligations) == count


def test_the_shown_enclosures_contain_the_eigenvalues(arrays: Path) -> None:
    found = check(next(cases.WHOLE.cases()).text, arrays)
    shown = {obligation["name"]: obligation["left"] for obligation in found.obligations}
    with working_precision(200):
        assert arb(shown["eigenvalues.at_least[0]"]).contains(arb("0.67141350685120493"))
        assert arb(shown["eigenvalues.at_most[1]"]).contains(arb("1.89369100643870"))
