"""Generating `proposition-3-1` and `proposition-3-4`: what is stated verifies, and c1 is the least that is proved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from flint import fmpq

import certattn
from certattn import MalformedError, NotProvedError, UsageError, Verdict

NORMAL: dict[str, Any] = {"kind": "gaussian", "mean": ["0", "0"], "covariance": [["1/2", "1/8"], ["1/8", "1/4"]]}
QUERIES: dict[str, Any] = {"kind": "gaussian", "mean": ["0", "0"], "covariance": [["1", "0"], ["0", "1/2"]]}
BOX: dict[str, Any] = {"kind": "box", "sizes": ["1", "1/2"]}
SIGNS: dict[str, Any] = {"kind": "rademacher", "sizes": ["1", "1"]}
POINT: dict[str, Any] = {"kind": "atoms", "points": [["0", "0"]]}
GAUSSIANS = {"law": NORMAL, "queries": QUERIES, "sigma": "1"}
BOXES = {"law": BOX, "queries": BOX, "sigma": "1"}
CLAIMS = [("proposition-3-1", {}), ("proposition-3-4", {"gradient": "V"}), ("proposition-3-4", {"gradient": "U"})]
IDS = ["output", "V", "U"]


def verify(path: Path) -> certattn.Report:
    report = certattn.check(path)
    assert report.verdict is Verdict.VERIFIED, report.reason
    return report


@pytest.mark.parametrize(("claim", "options"), CLAIMS, ids=IDS)
@pytest.mark.parametrize("given", [GAUSSIANS, BOXES], ids=["gaussian", "box"])
@pytest.mark.parametrize(
    "more",
    [{}, {"V": [["1", "-2"]]}, {"U": [["1/2", "0"], ["1", "1/3"]]}, {"scale": "1/sqrt(2)"}],
    ids=["plain", "V", "U", "scale"],
)
def test_repaired_forms_verify_and_c1_is_the_least(
    claim: str, options: dict[str, Any], given: dict[str, Any], more: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "a.yaml"
    made: Any = certattn.generate(claim, path, given={**given, **more}, **options).plain
    verify(path)
    stated = made["asserts"]["repaired"]["c1"]
    p, _, q = stated.partition(".")
    less = fmpq(int(p + q), 10 ** len(q)) * fmpq(9999, 10000)
    path.write_text(path.read_text().replace(f"c1: {stated}", f"c1: {less}"))
    assert certattn.check(path).verdict is Verdict.REJECTED


@pytest.mark.parametrize("c2", ["1/10", "1/3", "1/2", "0.9"])
def test_a_smaller_c2_needs_a_smaller_c1(c2: str, tmp_path: Path) -> None:
    found = []
    for asked in (c2, "0.05"):
        made: Any = certattn.generate("proposition-3-1", tmp_path / "a.yaml", given=GAUSSIANS, c2=asked).plain
        verify(tmp_path / "a.yaml")
        assert made["asserts"]["repaired"]["c2"] == {"1/10": "0.1", "1/2": "0.5"}.get(asked, asked)
        found.append(float(made["asserts"]["repaired"]["c1"]))
    assert found[0] >= found[1]


def test_the_steps_are_no_worse_than_one_step_with_the_stated_exponent(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    made: Any = certattn.generate("proposition-3-4", path, given=GAUSSIANS, gradient="U", c2="1/2").plain
    assert len(made["witness"]["steps"]) > 1
    text = path.read_text()
    one = text[: text.index("witness:")] + "witness:\n  steps:\n  - {from: 2, theta: 1/2}\n"
    path.write_text(one)
    assert certattn.check(path).verdict is Verdict.REJECTED


def test_a_larger_sigma_allows_a_larger_c2(tmp_path: Path) -> None:
    made: Any = certattn.generate(
        "proposition-3-1", tmp_path / "a.yaml", given={**GAUSSIANS, "sigma": "2"}, c2="3"
    ).plain
    verify(tmp_path / "a.yaml")
    assert made["asserts"]["repaired"]["c2"] == "3"


def test_tokens_that_do_not_vary_need_next_to_nothing(tmp_path: Path) -> None:
    still = {"kind": "gaussian", "mean": ["0", "0"], "covariance": [["0", "0"], ["0", "0"]]}
    for claim, options in CLAIMS:
        certattn.generate(claim, tmp_path / "a.yaml", given={**GAUSSIANS, "law": still}, **options)
        verify(tmp_path / "a.yaml")


@pytest.mark.parametrize("given", [GAUSSIANS, BOXES], ids=["gaussian", "box"])
def test_a_c2_that_is_too_large_is_not_proved(given: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(NotProvedError, match="expected"):
        certattn.generate("proposition-3-1", tmp_path / "a.yaml", given=given, c2="1.5")
    assert not (tmp_path / "a.yaml").exists()


# -- every law of a class

CLASS = {"dimension": "2", "sigma": "1", "query_dimension": "2", "query_sigma": "1"}
BY_NORMS = {"class": CLASS, "norms": {"U": "1/2", "V": "1"}}
BY_MATRICES = {"class": {**CLASS, "sigma": "3/2"}, "U": [["1/4", "0"], ["1/8", "1/4"]], "V": [["1", "-2"]]}


@pytest.mark.parametrize(("claim", "options"), CLAIMS, ids=IDS)
@pytest.mark.parametrize(
    "given",
    [
        BY_NORMS,
        BY_MATRICES,
        pytest.param({**BY_NORMS, "scale": "1/sqrt(2)"}, marks=pytest.mark.heavy),
        pytest.param({"class": {**CLASS, "query_sigma": "1/3"}}, marks=pytest.mark.heavy),
        pytest.param(
            {"class": {**CLASS, "dimension": "64", "query_dimension": "32"}, "norms": {"U": "1/8", "V": "2"}},
            marks=pytest.mark.heavy,
        ),
        pytest.param({"class": CLASS, "K": [["0", "0"]], "Q": [["1", "1"]]}, marks=pytest.mark.heavy),
    ],
    ids=["norms", "matrices", "scale", "identity", "many dimensions", "no scores"],
)
def test_forms_for_a_class_verify_and_c1_is_the_least(
    claim: str, options: dict[str, Any], given: dict[str, Any], tmp_path: Path
) -> None:
    test_repaired_forms_verify_and_c1_is_the_least(claim, options, given, {}, tmp_path)


@pytest.mark.heavy
@pytest.mark.parametrize("c2", ["1/100", "1/2", "0.99"])
def test_every_c2_below_the_limit_of_a_class_is_proved(c2: str, tmp_path: Path) -> None:
    made: Any = certattn.generate("proposition-3-1", tmp_path / "a.yaml", given=BY_NORMS, c2=c2).plain
    verify(tmp_path / "a.yaml")
    assert made["witness"]["steps"][-1]["from"].isdigit()


@pytest.mark.heavy
def test_a_law_of_the_class_alone_allows_a_smaller_c1(tmp_path: Path) -> None:
    law = {"kind": "gaussian", "mean": ["0", "0"], "covariance": [["1", "0"], ["0", "1"]]}
    half = [["1/2", "0"], ["0", "1/2"]]
    found = []
    for given in (BY_NORMS, {"law": law, "queries": law, "sigma": "1", "U": half}):
        made: Any = certattn.generate("proposition-3-1", tmp_path / "a.yaml", given=given, c2="1/2").plain
        found.append(float(made["asserts"]["repaired"]["c1"]))
    assert found[1] < found[0] < 50 * found[1]


@pytest.mark.parametrize(
    ("given", "options", "kind", "words"),
    [
        (BY_NORMS, {"c2": "1"}, NotProvedError, "c2/sigma\\^2 = 1 is too large for this class; expected at most 0.99"),
        (BY_NORMS, {"c2": "0"}, UsageError, "expected a positive number"),
        ({**BY_NORMS, "length": "3"}, {}, MalformedError, "unknown key 'length'"),
        ({"class": {**CLASS, "sigma": "1/2"}}, {}, MalformedError, "a number >= 1"),
        ({"class": {**CLASS, "query_dimension": "3"}}, {}, MalformedError, "query_dimension 2"),
        ({**BY_MATRICES, "V": [["0", "0"]]}, {}, UsageError, "V is 0"),
    ],
    ids=["c2 too large", "c2 of 0", "a length", "sigma below 1", "another dimension", "no values"],
)
def test_bad_classes(
    given: dict[str, Any], options: dict[str, Any], kind: type[Exception], words: str, tmp_path: Path
) -> None:
    with pytest.raises(kind, match=words):
        certattn.generate("proposition-3-1", tmp_path / "a.yaml", given=given, **options)
    assert not (tmp_path / "a.yaml").exists()


# -- the published form


@pytest.mark.parametrize(("claim", "options"), CLAIMS, ids=IDS)
@pytest.mark.parametrize("law", [NORMAL, SIGNS, BOX], ids=["gaussian", "signs", "box"])
def test_at_one_token_the_display_is_found_to_fail(
    claim: str, options: dict[str, Any], law: dict[str, Any], tmp_path: Path
) -> None:
    given = {"law": law, "queries": QUERIES, "U": [["0", "0"], ["0", "0"]], "length": "1"}
    made: Any = certattn.generate(claim, tmp_path / "a.yaml", given=given, **options).plain
    verify(tmp_path / "a.yaml")
    assert made["asserts"]["published"] == "fails"


def test_where_nothing_varies_it_is_found_to_hold(tmp_path: Path) -> None:
    given = {"law": POINT, "queries": QUERIES, "U": [["0", "0"], ["0", "0"]], "length": "1"}
    made: Any = certattn.generate("proposition-3-1", tmp_path / "a.yaml", given=given).plain
    verify(tmp_path / "a.yaml")
    assert made["asserts"]["published"] == "holds"


@pytest.mark.parametrize(("c1", "word"), [("1e-3", "fails"), ("1e3", "holds")])
def test_constants_decide_longer_prompts(c1: str, word: str, tmp_path: Path) -> None:
    constants = {"c1": c1, "c2": "1/2"}
    given = {**GAUSSIANS, "U": [["0", "0"], ["0", "0"]], "length": "100", "constants": constants}
    made: Any = certattn.generate("proposition-3-1", tmp_path / "a.yaml", given=given).plain
    verify(tmp_path / "a.yaml")
    assert made["asserts"]["published"] == word


# -- bad input


@pytest.mark.parametrize(
    ("given", "options", "kind", "words"),
    [
        ({**GAUSSIANS, "sigma": "0.5"}, {}, MalformedError, "a number >= 1"),
        (
            {**GAUSSIANS, "length": "3", "constants": {"c1": "1", "c2": "1"}},
            {},
            NotProvedError,
            "the left side is known exactly where U = 0",
        ),
        ({"law": NORMAL, "queries": QUERIES}, {}, UsageError, "no 'sigma' and no 'length'"),
        ({**GAUSSIANS, "queries": BOX}, {}, UsageError, "Gaussian tokens and queries, or tokens and queries on a box"),
        (GAUSSIANS, {"c2": "0"}, UsageError, "expected a positive number"),
        (GAUSSIANS, {"c2": "x"}, UsageError, "c2"),
        (GAUSSIANS, {"c2": 0.6}, UsageError, "c2 is the float"),
        ({**GAUSSIANS, "length": "1"}, {"c2": "1"}, UsageError, "expected one"),
        ({**GAUSSIANS, "length": "3"}, {}, MalformedError, "constants at a length above 1"),
        ({**GAUSSIANS, "note": "1"}, {}, MalformedError, "unknown key"),
        ({"queries": QUERIES, "sigma": "1"}, {}, MalformedError, "no 'law'"),
    ],
)
def test_bad_input(
    given: dict[str, Any], options: dict[str, Any], kind: type[Exception], words: str, tmp_path: Path
) -> None:
    with pytest.raises(kind, match=words):
        certattn.generate("proposition-3-1", tmp_path / "a.yaml", given=given, **options)
    assert not (tmp_path / "a.yaml").exists()


def test_another_gradient(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="expected 'V' or 'U'"):
        certattn.generate("proposition-3-4", tmp_path / "a.yaml", given=GAUSSIANS, gradient="K")
