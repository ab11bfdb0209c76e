"""The prover of `output-mean-square`: what it writes verifies, is sharp, and is refused where nothing is found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from flint import fmpq

import certattn
from certattn.kernel.errors import MalformedError, NotProvedError, UsageError

GAUSSIAN: dict[str, Any] = {"kind": "gaussian", "mean": [0, 1], "covariance": [[1, "1/2"], ["1/2", 1]]}
ONE: dict[str, Any] = {"law": GAUSSIAN, "tilt": [1, "1/2"], "V": [[1, 0], [1, 1]], "length": 1000}
SIGNS: dict[str, Any] = {"law": {"kind": "rademacher", "sizes": [1, 2]}, "query": ["1/2", "1/4"], "length": 400}
# Of 2^12 scores, more than are listed.
MANY: dict[str, Any] = {
    "law": {"kind": "rademacher", "sizes": [1] * 12}, "tilt": [f"1/{2**k}" for k in range(12)], "length": 400
}  # fmt: skip
BOX: dict[str, Any] = {"law": {"kind": "box", "sizes": [1, 2]}, "tilt": [1, 0], "length": 400}
QUERIES: dict[str, Any] = {
    "law": GAUSSIAN,
    "U": [["1/2", 0], [0, "1/4"]],
    "queries": {"mean": [0, 0], "covariance": [[1, 0], [0, 1]]},
    "length": 1000,
}


def made(folder: Path, given: dict[str, Any], **options: Any) -> dict[str, Any]:
    out = folder / "made.yaml"
    certificate = certattn.generate("output-mean-square", out, given=given, **options)
    assert certattn.check(out).verdict.value == "verified", certattn.check(out).reason
    plain: Any = certificate.plain
    return dict(plain)


@pytest.mark.parametrize(
    ("given", "options", "method"),
    [
        (ONE, {}, "exact"),
        (ONE, {"digits": 30}, "exact"),
        (ONE, {"method": "logistic"}, "logistic"),
        (ONE, {"method": "general"}, "general"),
        (SIGNS, {}, "exact"),
        (SIGNS, {"method": "moments"}, "moments"),
        (SIGNS, {"method": "general"}, "general"),
        (SIGNS, {"method": "general", "t": "1/4"}, "general"),
        ({**SIGNS, "length": {"at_least": 400}}, {"method": "moments"}, "moments"),
        ({**SIGNS, "length": {"at_least": 10**6}}, {}, "moments"),
        ({**SIGNS, "length": {"at_least": 4}}, {}, "exact"),
        ({**SIGNS, "length": {"at_least": 2}}, {"method": "general"}, "general"),
        ({**SIGNS, "length": {"at_least": 1}}, {}, "exact"),
        ({**SIGNS, "length": 1}, {}, "exact"),
        ({**SIGNS, "query": [0, 0]}, {}, "exact"),
        ({**SIGNS, "scale": 10**6}, {}, "general"),
        (MANY, {}, "general"),
        (BOX, {"t": "1/4"}, "general"),
        (BOX, {"t": "1/4", "rate": "1/4"}, "general"),
        (QUERIES, {}, "exact"),
        (QUERIES, {"method": "integral"}, "integral"),
        ({**QUERIES, "length": {"at_least": 100}}, {}, "exact"),
        ({**ONE, "length": 1}, {}, "exact"),
        ({**ONE, "length": 2}, {}, "exact"),
        ({**ONE, "tilt": [0, 0]}, {}, "exact"),
        ({**QUERIES, "length": 1}, {}, "exact"),
        ({**QUERIES, "length": 2}, {}, "exact"),
        ({**ONE, "tilt": [30, 0]}, {}, "logistic"),
        ({**QUERIES, "scale": 1000}, {}, "integral"),
    ],
)
def test_what_is_made_verifies(tmp_path: Path, given: dict[str, Any], options: dict[str, Any], method: str) -> None:
    plain = made(tmp_path, given, **options)
    assert plain["witness"]["method"] == method


def test_both_sides_of_what_is_exact(tmp_path: Path) -> None:
    stated = made(tmp_path, ONE, digits=12)["asserts"]
    assert set(stated) == {"mean_square", "collision", "mean"}
    for name in ("mean_square", "collision"):
        low, high = (fmpq(*_fraction(stated[name][side])) for side in ("at_least", "at_most"))
        assert 0 < high - low < high * fmpq(1, 10**10)


def _fraction(text: str) -> tuple[int, int]:
    from fractions import Fraction

    value = Fraction(text)
    return value.numerator, value.denominator


def test_parameters_that_are_found_beat_others(tmp_path: Path) -> None:
    def bound(**options: Any) -> float:
        return float(made(tmp_path, BOX, **options)["asserts"]["mean_square"]["at_most"])

    best = bound()
    assert all(best <= bound(t=t) * 1.001 for t in ("1/10", "1/4", "1/3", "1/2", "3/4"))
    assert all(best <= bound(rate=rate) * 1.001 for rate in ("1/20", "1/2", "1"))


@pytest.mark.parametrize(
    ("given", "options", "error", "words"),
    [
        (ONE, {"method": "integral"}, UsageError, "expected exact or logistic or general"),
        (BOX, {"method": "exact"}, UsageError, "expected general"),
        (SIGNS, {"method": "logistic"}, UsageError, "expected exact or moments or general"),
        ({**SIGNS, "length": {"at_least": 400}}, {"method": "exact", "t": "1/2"}, UsageError, "no parameters, found t"),
        (SIGNS, {"t": "1/2"}, UsageError, "no parameters, found t"),
        (QUERIES, {"method": "logistic"}, UsageError, "expected exact or integral"),
        (ONE, {"t": "1/2"}, UsageError, "no parameters, found t"),
        (SIGNS, {"t": "2"}, UsageError, "t is 2, expected 0 < t < 1"),
        (SIGNS, {"rate": "0"}, UsageError, "expected lambda > 0"),
        (SIGNS, {"t": "half"}, UsageError, "t: "),
        (SIGNS, {"t": 0.6}, UsageError, "float"),
        ({**ONE, "length": 0}, {}, MalformedError, "length"),
        ({**SIGNS, "queries": QUERIES["queries"]}, {}, MalformedError, "query"),
    ],
)
def test_what_is_refused(
    tmp_path: Path, given: dict[str, Any], options: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        certattn.generate("output-mean-square", tmp_path / "made.yaml", given=given, **options)
    assert list(tmp_path.iterdir()) == []


# -- from a length on, and averages that are hard

NARROW: dict[str, Any] = {
    "law": {"kind": "gaussian", "mean": [0], "covariance": [[1]]},
    "queries": {"mean": [1], "covariance": [["1/1000"]]},
    "length": 100,
}
# 1,000 times as much along one direction as along the other.
APART: dict[str, Any] = {
    "law": {"kind": "gaussian", "mean": [0, 0], "covariance": [[1, 0], [0, 1]]},
    "queries": {"mean": [0, 0], "covariance": [[1, 0], [0, "1/1000"]]},
    "length": 256,
}


@pytest.mark.heavy
def test_queries_beside_a_point(tmp_path: Path) -> None:
    found = made(tmp_path, NARROW)
    assert found["witness"]["method"] == "exact"
    assert found["asserts"]["mean_square"]["at_least"].startswith("0.04669")


@pytest.mark.heavy
@pytest.mark.parametrize("given", [QUERIES, ONE, SIGNS])
def test_the_length_from_which_on_a_bound_holds(tmp_path: Path, given: dict[str, Any]) -> None:
    """It is about the least: the mean square three tokens before is above the bound, or next to it."""
    found = made(tmp_path, {k: v for k, v in given.items() if k != "length"}, at_most="0.05")
    length = int(found["given"]["length"]["at_least"])
    before = made(tmp_path, {**given, "length": length - 3}, method="exact")
    assert float(before["asserts"]["mean_square"]["at_most"]) > 0.05


def test_a_length_is_stated_or_found(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="leave the length out"):
        made(tmp_path, QUERIES, at_most="0.05")
    with pytest.raises(UsageError, match="not known exactly"):
        made(tmp_path, {k: v for k, v in BOX.items() if k != "length"}, at_most="0.05")


def test_scores_that_vary_too_differently(tmp_path: Path) -> None:
    assert made(tmp_path, APART)["witness"]["method"] == "integral"
    assert made(tmp_path, {**APART, "length": {"at_least": 256}})["witness"]["method"] == "integral"
    with pytest.raises(NotProvedError, match=r"1002 times.*up to about 400 times; use the method integral"):
        made(tmp_path, APART, method="exact")
    made(tmp_path, APART)
    text = (tmp_path / "made.yaml").read_text().replace("method: integral", "method: exact")
    (tmp_path / "made.yaml").write_text(text)
    result = certattn.check(tmp_path / "made.yaml")
    assert result.verdict.value == "rejected"
    assert "1002 times" in str(result.reason)
