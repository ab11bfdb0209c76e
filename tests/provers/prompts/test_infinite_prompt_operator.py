"""Generating `infinite-prompt-operator`: operators of every law, exactly or at queries."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flint import fmpq, fmpz

import certattn
from certattn import MalformedError, NotProvedError, UsageError, Verdict

GAUSSIAN: dict[str, Any] = {"kind": "gaussian", "mean": ["1", "0"], "covariance": [["2", "1"], ["1", "2"]]}
SIGNS: dict[str, Any] = {"kind": "rademacher", "sizes": ["1", "2"]}
BOX: dict[str, Any] = {"kind": "box", "sizes": ["1/3", "2"]}
ATOMS: dict[str, Any] = {"kind": "atoms", "points": [["0", "1"], ["1", "0"], ["-1", "-1"]]}
POINT: dict[str, Any] = {"kind": "atoms", "points": [["5", "7"]]}
NARROW: dict[str, Any] = {"kind": "gaussian", "mean": ["3", "0"], "covariance": [["1", "0"], ["0", "0"]]}
MIXTURE: dict[str, Any] = {
    "kind": "mixture",
    "components": [{"weight": "1/4", "law": GAUSSIAN}, {"weight": "3/4", "law": NARROW}],
}
LAWS = {"gaussian": GAUSSIAN, "signs": SIGNS, "box": BOX, "atoms": ATOMS, "point": POINT, "mixture": MIXTURE}
WEIGHTS: dict[str, dict[str, Any]] = {
    "none": {},
    "K, Q, V": {"K": [["1", "2"]], "Q": [["1", "0"]], "V": [["0", "1"], ["1", "1"], ["1/7", "0"]]},
    "U, V": {"U": [["1"], ["2"]], "V": [["1", "1"]]},
    "scale": {"scale": "1/sqrt(2)"},
}


def generate(out: Path, **inputs: Any) -> certattn.Certificate:
    return certattn.generate("infinite-prompt-operator", out, **inputs)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("weights", WEIGHTS)
def test_every_law_with_every_weights_verifies(tmp_path: Path, law: str, weights: str) -> None:
    generate(tmp_path / "a.yaml", given={"law": LAWS[law], **WEIGHTS[weights]})
    report = certattn.check(tmp_path / "a.yaml")
    assert report.verdict is Verdict.VERIFIED, report.reason


def test_an_affine_operator_is_stated_exactly(tmp_path: Path) -> None:
    certificate = generate(tmp_path / "a.yaml", given={"law": GAUSSIAN})
    assert certificate.plain["asserts"] == {"operator": {"matrix": [["2", "1"], ["1", "2"]], "offset": ["1", "0"]}}


def test_a_law_of_queries_is_pushed_forward(tmp_path: Path) -> None:
    queries = {"mean": ["1", "1"], "covariance": [["1", "0"], ["0", "1"]]}
    certificate = generate(tmp_path / "a.yaml", given={"law": GAUSSIAN, "queries": queries})
    asserts: Any = certificate.plain["asserts"]
    assert asserts["pushforward"] == {"mean": ["4", "3"], "covariance": [["5", "4"], ["4", "5"]]}
    assert certattn.check(tmp_path / "a.yaml").verdict is Verdict.VERIFIED


def test_a_pushforward_that_cannot_be_written_in_rationals_is_refused(tmp_path: Path) -> None:
    queries = {"mean": ["1", "1"], "covariance": [["1", "0"], ["0", "1"]]}
    with pytest.raises(UsageError, match="irrational"):
        generate(tmp_path / "a.yaml", given={"law": GAUSSIAN, "queries": queries, "scale": "sqrt(2)"})
    assert list(tmp_path.iterdir()) == []


def test_another_operator_is_stated_at_the_coordinate_vectors(tmp_path: Path) -> None:
    certificate = generate(tmp_path / "a.yaml", given={"law": SIGNS})
    asserts: Any = certificate.plain["asserts"]
    assert [value["query"] for value in asserts["values"]] == [["1", "0"], ["0", "1"]]
    assert [value["value"][0][:8] for value in asserts["values"]] == ["0.761594", "0"]  # tanh(1), tanh(0)


@pytest.mark.parametrize("radius", ["1", "1/3", "1e-15", "1e-60", "0x1p-100"])
@pytest.mark.parametrize("law", ["gaussian", "signs", "mixture"])
def test_values_at_queries_within_any_radius(tmp_path: Path, law: str, radius: str) -> None:
    queries = [["1/2", "-1"], ["0", "0"], ["30", "0"]]
    generate(tmp_path / "a.yaml", given={"law": LAWS[law]}, queries=queries, radius=radius)
    report = certattn.check(tmp_path / "a.yaml")
    assert report.verdict is Verdict.VERIFIED, report.reason
    assert report.counts["proved"] >= 3


REFUSED: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"given": {}}, MalformedError, "no 'law'"),
    ({"given": {"law": GAUSSIAN, "W": [["1"]]}}, MalformedError, "unknown key 'W'"),
    ({"given": {"law": {**GAUSSIAN, "covariance": [["1", "2"], ["2", "1"]]}}}, MalformedError, "semidefinite"),
    ({"given": {"law": GAUSSIAN, "V": [["1"]]}}, MalformedError, "given.V"),
    ({"given": {"law": GAUSSIAN}, "queries": [["1"]]}, UsageError, "expected 2"),
    ({"given": {"law": GAUSSIAN}, "queries": [["1", "x"]]}, UsageError, "query: 'x'"),
    ({"given": {"law": GAUSSIAN}, "queries": [["1", "1"]], "radius": "0"}, UsageError, "positive"),
    ({"given": {"law": GAUSSIAN}, "queries": [["1", "1"]], "radius": "small"}, UsageError, "radius: 'small'"),
    ({"given": {"law": SIGNS}, "queries": [["1", "1"]], "radius": "1e-9999"}, NotProvedError, "at 4096 bits"),
    ({"given": {"law": SIGNS}, "radius": "1e-2000"}, NotProvedError, "within 1e-2000 at 4096 bits"),
    ({"given": {"law": SIGNS}, "queries": ["12"]}, UsageError, "the query '12': expected a list of 2 numbers"),
    ({"given": {"law": SIGNS}, "queries": "12"}, UsageError, "queries is '12', expected a list"),
    ({"given": {"law": SIGNS}, "queries": [[["1"], "2"]]}, UsageError, "query is a list, expected a text"),
    ({"given": {"law": SIGNS}, "queries": [[0.6, 1]]}, UsageError, r"queries\[0\]\[0\] is the float 0.6"),
    ({"given": {"law": {"kind": "box", "sizes": [1.6]}}}, UsageError, r"given.law.sizes\[0\] is the float 1.6"),
    ({"given": {"law": SIGNS, 1: 2}}, UsageError, "given has the key 1, expected keys that are texts"),
    ({"given": "law.yaml"}, UsageError, "expected a mapping"),
]


@pytest.mark.parametrize(("inputs", "error", "words"), REFUSED)
def test_bad_input_is_refused_and_nothing_is_left(
    tmp_path: Path, inputs: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        generate(tmp_path / "a.yaml", **inputs)
    assert list(tmp_path.iterdir()) == []


def test_the_sharpest_radius_that_is_written_is_proved(tmp_path: Path) -> None:
    """A check at the default limits ends where generation ends, not earlier."""
    written = 0
    for places in range(1225, 1240):
        try:
            generate(tmp_path / "a.yaml", given={"law": SIGNS}, queries=[["1", "1/3"]], radius=f"1e-{places}")
        except NotProvedError:
            break
        written += 1
        assert certattn.check(tmp_path / "a.yaml").verdict is Verdict.VERIFIED
    assert 0 < written < 15


def test_numbers_of_python_are_exact(tmp_path: Path) -> None:
    law = {"kind": "gaussian", "mean": (0, Fraction(1, 3)), "covariance": [[fmpq(1, 2), 0], [0, Decimal("0.1")]]}
    queries = [[fmpz(7), np.int64(-2)]]
    certificate = generate(tmp_path / "a.yaml", given={"law": law}, queries=queries, radius=Fraction(1, 8))
    plain: Any = certificate.plain
    written = {"kind": "gaussian", "mean": ["0", "1/3"], "covariance": [["0.5", "0"], ["0", "0.1"]]}
    assert plain["given"]["law"] == written
    (value,) = plain["asserts"]["values"]
    assert (value["query"], value["radius"]) == (["7", "-2"], "0.125")
    assert certattn.check(tmp_path / "a.yaml").verdict is Verdict.VERIFIED


FAR: dict[str, Any] = {
    "kind": "mixture",
    "components": [{"weight": "1/2", "law": GAUSSIAN}, {"weight": "1/2", "law": {**GAUSSIAN, "mean": ["0", "1"]}}],
}


def test_far_queries_are_enclosed_with_more_bits(tmp_path: Path) -> None:
    generate(tmp_path / "a.yaml", given={"law": FAR}, queries=[["1e60", "-1e60"], ["1", "1"]])
    assert certattn.check(tmp_path / "a.yaml").verdict is Verdict.VERIFIED


def test_what_no_precision_encloses_is_not_proved(tmp_path: Path) -> None:
    with pytest.raises(NotProvedError, match="could not be enclosed within 1e-15"):
        generate(tmp_path / "a.yaml", given={"law": FAR}, queries=[["1e9000", "1"]])
    assert list(tmp_path.iterdir()) == []
