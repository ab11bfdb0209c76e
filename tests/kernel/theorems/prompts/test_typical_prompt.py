"""Checking `typical-prompt`: what is said, and that this prompt and random ones are kept apart."""

from __future__ import annotations

from pathlib import Path

import pytest
from corpus import REFUTED, Case, Cases, check

from certattn.kernel.decide.checker import CheckOptions
from certattn.kernel.decide.proof import Verdict
from certattn.kernel.document.certificate import loads
from certattn.kernel.theorems.prompts.typical_prompt import obligations, read
from certattn.statements.checking import check_certificate

cases = Cases("typical_cases")


def by_name(name: str) -> Case:
    (case,) = [case for case in cases.CASES if case.name.endswith(name)]
    return case


def test_the_statement_says_every_number_and_claims_nothing_of_the_draw(arrays: Path) -> None:
    said = check(by_name("written out").text, arrays).statement
    for piece in (
        "a prompt of 4 tokens", "queries: (0.5, 0.25)", "V = (1, 1)", "scale 1",
        "an infinite prompt of Gaussian tokens of mean (0, 0) and covariance ((1, 0), (0, 0.5))",
        "<u, T - T_inf> for u = (1) is at most 2 and the l2 norm |T - T_inf| is at most 2",
        "4 independent tokens of that law in their place",
        "<u, T - T_inf> for u = (1) exceeds 2 with probability at most 0.35",
        "the l2 norm |T - T_inf| exceeds 2 with probability at most 0.5",
        "This does not say whether the tokens of this prompt were drawn from that law",
    ):  # fmt: skip
        assert piece in said, said


def test_both_claims_are_proved_as_they_are_by_themselves(arrays: Path) -> None:
    """The same numbers as `output-deviation` and `output-tail` give."""
    detail = CheckOptions(detail=True)
    text = by_name("written out").text
    report = check_certificate(loads(text, arrays / "case.yaml"), detail)
    left = {o["name"]: o["left"] for o in report.obligations}
    law = "{kind: gaussian, mean: [0, 0], covariance: [[1, 0], [0, 1/2]]}"
    deviation = (
        "certattn: 1\nclaim: output-deviation\ngiven:\n  tokens: [[1, 0], [0, 1], [-1, 1/2], [1/2, -1]]\n"
        f"  queries: [[1/2, 1/4]]\n  V: [[1, 1]]\n  limit: {{kind: law, law: {law}}}\n"
        "asserts: {deviation: {norm: l2, at_most: 2}}\n"
    )
    (alone,) = check_certificate(loads(deviation, arrays / "d.yaml"), detail).obligations
    assert alone["left"] == left["here.norm"]
    tail = (
        f"certattn: 1\nclaim: output-tail\ngiven:\n  law: {law}\n  tilt: [1/2, 1/4]\n  V: [[1, 1]]\n  length: 4\n"
        + text[text.index("asserts:") :]
    )
    beside = check_certificate(loads(tail, arrays / "t.yaml"), detail).obligations
    there = {name: side for name, side in left.items() if not name.startswith("here.")}
    assert {o["name"]: o["left"] for o in beside} == there


def test_an_exceptional_prompt_is_refuted_and_said_to_be_one(arrays: Path) -> None:
    report = check(by_name("a token that is far off").text, arrays)
    assert report.verdict is REFUTED
    assert any(
        "this prompt is one of the exceptional ones: 4 independent tokens of the law exceed 2 with probability at most"
        in line
        for line in report.findings
    )


def test_without_the_tail_nothing_is_said_of_how_rare_it_is(arrays: Path) -> None:
    (far,) = [case for case in cases.CASES if case.name.endswith("a token that is far off")]
    text = far.text.replace("probability: 0.35", "probability: 0.001").replace("probability: 0.5", "probability: 0.001")
    report = check(text, arrays)
    assert report.verdict is REFUTED
    assert not any("exceptional" in line for line in report.findings)
    assert any("is not proved" in line for line in report.findings)


@pytest.mark.parametrize("arithmetic", ["auto", "arb"])
def test_the_prompt_is_within_in_every_arithmetic(arithmetic: str, arrays: Path) -> None:
    text = by_name("against a law of atoms").text
    report = check_certificate(loads(text, arrays / "case.yaml"), CheckOptions(detail=True, arithmetic=arithmetic))
    assert report.verdict is Verdict.VERIFIED
    (here,) = [o for o in report.obligations if o["name"] == "here.norm"]
    assert ("binary64" in here["arithmetic"]) is (arithmetic == "auto")


def test_binary64_alone_proves_no_tail(arrays: Path) -> None:
    text = by_name("against a law of atoms").text
    report = check_certificate(loads(text, arrays / "case.yaml"), CheckOptions(arithmetic="binary64"))
    assert report.verdict is Verdict.INCONCLUSIVE


def test_obligations_are_named_after_both_parts(arrays: Path) -> None:
    stated = read(loads(by_name("written out").text, arrays / "case.yaml"))
    conditions = ["norm.frame", "norm.levels", "norm.exceeds"]
    names = [one.name for one in obligations(stated)]
    assert names == ["here.directions[0]", "here.norm", "directions[0]", *conditions, "norm"]
