"""Claim `infinite-prompt-operator`: what is said of it, and its numbers."""

from __future__ import annotations

from pathlib import Path

from corpus import ACCEPT, REFUTED, Case, Cases, check

from certattn.kernel.decide.checker import CLAIMS
from certattn.kernel.document.certificate import loads
from certattn.statements.reports import Report
from certattn.statements.wording import WORDINGS

cases = Cases("operator_cases")

CLAIM = CLAIMS["infinite-prompt-operator"]


def statement(text: str, folder: Path) -> str:
    return WORDINGS[CLAIM.name].statement(CLAIM.read(loads(text, folder / "case.yaml"))).words


# -- what is said


def by_name(name: str) -> Case:
    (case,) = [case for case in cases.CASES if case.name == name]
    return case


def report(name: str, folder: Path) -> Report:
    return check(by_name(name).text, folder)


def test_the_statement_says_every_number(arrays: Path) -> None:
    words = statement(by_name("Gaussian tokens with K, Q and V").text, arrays)
    for piece in (
        "Gaussian tokens of mean (1, -2) and covariance ((2, 1), (1, 3))",
        "K = ((1, 0), (1, 1), (0, 2))",
        "Q = ((1), (0), (0.5))",
        "V = (1, 1)",
        "scale 1",
        "the affine map (-1) + A z with A = (7)",
    ):
        assert piece in words, words


def test_the_scale_is_part_of_the_statement(arrays: Path) -> None:
    words = report("Gaussian tokens with K, Q and V: a scale, which the statement puts before the matrix", arrays)
    assert "scale sqrt(1/2)" in words.statement
    assert "(-1) + sqrt(1/2) * A z" in words.statement


def test_the_pushforward_is_part_of_the_statement(arrays: Path) -> None:
    words = report("a pushforward", arrays).statement
    assert "maps N((2, 4), ((1, 0.5), (0.5, 1))) to N((5, 3), ((1.75, 1.125), (1.125, 0.75)))" in words


def test_values_are_part_of_the_statement_and_the_rest_is_counted(arrays: Path) -> None:
    text = cases.EXACT_VALUES.text.replace(
        "- {query: [-1/4]", "- {query: [3/4], value: [1], radius: 0}\n  - {query: [-1/4]"
    )
    assert "(0.125) at z = (-0.25) up to 0.125" in report("values of an affine operator", arrays).statement
    many = "certattn: 1\nclaim: infinite-prompt-operator\n" + text.lstrip() + text[text.index("  - ") :] * 2
    found = check(many, arrays)
    assert found.verdict is ACCEPT
    assert found.counts["proved"] == 9
    assert "has 5 more values as stated (sha256 " in found.statement


def test_a_false_linear_claim_is_shown_by_a_query(arrays: Path) -> None:
    found = report("the linear map of a Gaussian of variance 1: signs", arrays)
    assert found.verdict is REFUTED
    (line,) = found.findings
    assert line.startswith(
        "not the stated map, as one query shows: T(z) = offset + scale * matrix z at z = (1) is off by"
    )
    assert "0.238405844044235" in line


def test_a_query_of_many_digits_does_not_flood_the_report(arrays: Path) -> None:
    text = by_name("the linear map of a Gaussian of variance 1: signs").text + "witness: {queries: [[1e-9000]]}\n"
    problem = CLAIM.read(loads(text, arrays / "case.yaml"))
    *_, last = CLAIM.obligations(problem)
    assert WORDINGS[CLAIM.name].sentence(problem, last.name).endswith("at z = (1e-9000)")


def test_a_false_operator_is_tried_at_queries_of_both_signs_and_twice_as_far(arrays: Path) -> None:
    case = next(case for case in cases.CASES if case.verdict is ACCEPT)
    rows = CLAIM.read(loads(case.text, arrays / "case.yaml")).suspects.to_rows()
    assert [row[0] for row in rows[:4]] == [0, 1, -1, 2]
