"""Generating `output-tail`: the smallest height, probability and length, for every kind of law."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from flint import fmpq

import certattn
from certattn import MalformedError, NotProvedError, UsageError, Verdict

Plain = Any

GAUSSIAN: Plain = {"kind": "gaussian", "mean": ["1", "0"], "covariance": [["1", "1/2"], ["1/2", "1"]]}
NARROW: Plain = {"kind": "gaussian", "mean": ["0", "1"], "covariance": [["1/4", "0"], ["0", "0"]]}
SIGNS: Plain = {"kind": "rademacher", "sizes": ["1", "2"]}
BOX: Plain = {"kind": "box", "sizes": ["1/3", "2"]}
ATOMS: Plain = {"kind": "atoms", "points": [["0", "1"], ["1", "0"], ["-1", "-1"]]}
MIXTURE: Plain = {
    "kind": "mixture",
    "components": [{"weight": "1/4", "law": GAUSSIAN}, {"weight": "3/4", "law": NARROW}],
}
MIXED: Plain = {"kind": "mixture", "components": [{"weight": "1/2", "law": GAUSSIAN}, {"weight": "1/2", "law": BOX}]}
# An atom whose weight hides how much those of the other part vary.
OUTWEIGHED: Plain = {
    "kind": "mixture",
    "components": [
        {"weight": "1/2", "law": GAUSSIAN},
        {"weight": "1/2", "law": {"kind": "atoms", "points": [["0", "100"]]}},
    ],
}
LAWS = {
    "gaussian": GAUSSIAN, "singular": NARROW, "signs": SIGNS, "box": BOX, "atoms": ATOMS, "mixture": MIXTURE,
    "mixture with a box": MIXED,
}  # fmt: skip
RULES = {
    "gaussian": {"truncated"}, "singular": {"truncated"}, "signs": {"chernoff"}, "box": {"chernoff"},
    "atoms": {"chernoff"}, "mixture": {"truncated"}, "mixture with a box": {"moment", "cantelli"},
}  # fmt: skip
TILT = ["1/2", "1"]


def generate(out: Path, **inputs: Any) -> Plain:
    return certattn.generate("output-tail", out, **inputs).plain


def value(text: str) -> Fraction:
    return Fraction(text)


@pytest.mark.heavy
@pytest.mark.parametrize("law", LAWS)
def test_each_of_the_three_numbers_is_found(tmp_path: Path, law: str) -> None:
    """Each of them from the other two: the same bound, up to rounding, and what is found is proved."""
    path, given = tmp_path / "a.yaml", {"law": LAWS[law], "tilt": TILT}
    ask: dict[str, Any] = {"given": given, "directions": [["2", "1"]]}
    first = generate(path, **ask, probability="0.01", length=2000)
    assert certattn.check(path).verdict is Verdict.VERIFIED
    eps = first["asserts"]["directions"][0]["exceeds"]
    second = generate(path, **ask, exceeds=eps, length=2000)
    assert certattn.check(path).verdict is Verdict.VERIFIED
    assert Fraction(98, 10000) < value(second["asserts"]["directions"][0]["probability"]) <= Fraction(1, 100)
    third = generate(path, **ask, exceeds=eps, probability="0.01")
    assert certattn.check(path).verdict is Verdict.VERIFIED
    # With caps, every longer prompt asks for a little more than one length alone.
    assert 1990 <= int(third["given"]["length"]["at_least"]) <= 2020
    assert first["witness"]["directions"][0]["rule"] in RULES[law]


@pytest.mark.heavy
@pytest.mark.parametrize("norm", ["l2", "linf"])
@pytest.mark.parametrize("law", LAWS)
def test_norms_of_every_law(tmp_path: Path, law: str, norm: str) -> None:
    path, given = tmp_path / "a.yaml", {"law": LAWS[law], "tilt": TILT, "length": "500"}
    certificate = generate(path, given=given, norm=norm, probability="0.05", method="rules")
    assert certattn.check(path).verdict is Verdict.VERIFIED
    found = certificate["witness"]["norm"]
    assert len(found["bounds"]) == 4
    assert ("frame" in found) is (norm == "l2")


@pytest.mark.heavy
def test_without_a_method_a_norm_has_the_sharper_one(tmp_path: Path) -> None:
    given = {"law": LAWS["singular"], "tilt": TILT, "length": "500"}
    made = {
        method: generate(tmp_path / f"{method}.yaml", given=given, norm="l2", probability="0.05", method=method)
        for method in ("auto", "rules", "moment")
    }
    heights = {method: float(certificate["asserts"]["norm"]["exceeds"]) for method, certificate in made.items()}
    assert heights["auto"] == min(heights.values()) < heights["rules"]


def test_the_length_for_a_norm_is_close_to_the_smallest(tmp_path: Path) -> None:
    path, given = tmp_path / "a.yaml", {"law": ATOMS, "tilt": TILT}
    certificate = generate(path, given=given, norm="l2", exceeds="1/2", probability="0.01")
    assert certattn.check(path).verdict is Verdict.VERIFIED
    shorter = int(certificate["given"]["length"]["at_least"]) * 49 // 50
    with pytest.raises(NotProvedError, match=r"not be proved in the norm l2: the best bound .* is 0.01"):
        generate(path, given=given, norm="l2", exceeds="1/2", probability="0.01", length=shorter)


@pytest.mark.heavy
def test_several_directions_and_a_norm_in_one_certificate(tmp_path: Path) -> None:
    path, given = tmp_path / "a.yaml", {"law": BOX, "query": ["1"], "U": [["1"], ["0"]], "scale": "1/sqrt(2)"}
    given["V"] = [["1", "0"], ["0", "1"], ["1", "1"]]
    ask: dict[str, Any] = {"given": given, "directions": [["1", "0", "0"], ["-1", "0", "0"]], "norm": "linf"}
    heights = generate(path, **ask, probability="0.05", length=100)
    assert certattn.check(path).counts["proved"] == 3
    assert len({part["exceeds"] for part in heights["asserts"]["directions"]}) == 2
    longest = generate(path, **ask, exceeds="0.5", probability="0.05")
    assert certattn.check(path).verdict is Verdict.VERIFIED
    single = generate(path, given=given, directions=[["1", "0", "0"]], exceeds="0.5", probability="0.05")
    assert int(single["given"]["length"]["at_least"]) < int(longest["given"]["length"]["at_least"])


def test_all_three_numbers_may_be_stated(tmp_path: Path) -> None:
    path, given = tmp_path / "a.yaml", {"law": GAUSSIAN, "tilt": TILT, "length": 1000}
    ask: dict[str, Any] = {"given": given, "directions": [[1, 0]], "exceeds": Decimal("0.5")}
    certificate = generate(path, **ask, probability=fmpq(1, 20))
    assert certificate["asserts"]["directions"] == [{"direction": ["1", "0"], "exceeds": "0.5", "probability": "0.05"}]
    assert certattn.check(path).verdict is Verdict.VERIFIED
    with pytest.raises(NotProvedError, match=r"not be proved in the direction \(1, 0\): the best bound .* is 0.0"):
        generate(tmp_path / "b.yaml", **ask, probability="1e-9")
    assert not (tmp_path / "b.yaml").exists()


def test_without_a_tilt_the_probability_is_exact(tmp_path: Path) -> None:
    """An untilted mean of 100 standard Gaussians exceeds 0.2 with probability Q(2) = 0.02275."""
    given = {"law": {"kind": "gaussian", "mean": ["0"], "covariance": [["1"]]}, "tilt": ["0"], "length": "100"}
    certificate = generate(tmp_path / "a.yaml", given=given, directions=[["1"]], exceeds="0.2")
    assert certificate["asserts"]["directions"][0]["probability"] == "0.0228"
    assert certificate["witness"]["directions"] == [{"rule": "exact"}]


def test_an_output_that_is_one_number_exceeds_nothing(tmp_path: Path) -> None:
    given = {"law": NARROW, "tilt": TILT, "length": "10"}
    ask: dict[str, Any] = {"given": given, "directions": [["0", "1"]]}
    certificate = generate(tmp_path / "a.yaml", **ask, exceeds="1/1000")
    assert value(certificate["asserts"]["directions"][0]["probability"]) < Fraction(1, 10**90)
    assert certattn.check(tmp_path / "a.yaml").verdict is Verdict.VERIFIED
    with pytest.raises(UsageError, match=r"in the direction \(0, 1\) the output is the same for every prompt"):
        generate(tmp_path / "a.yaml", **ask, probability="0.01")


@pytest.mark.parametrize("norm", ["l2", "linf"])
def test_values_that_are_zero(tmp_path: Path, norm: str) -> None:
    given = {"law": GAUSSIAN, "tilt": TILT, "V": [["0", "0"], ["0", "0"]]}
    generate(tmp_path / "a.yaml", given=given, norm=norm, exceeds="1/1000", length=10)
    assert certattn.check(tmp_path / "a.yaml").verdict is Verdict.VERIFIED
    assert generate(tmp_path / "a.yaml", given=given, norm=norm, exceeds="1", probability="0.1")["given"]["length"] == {
        "at_least": "1"
    }


@pytest.mark.heavy
@pytest.mark.parametrize("size", ["1/2", "4"])
@pytest.mark.parametrize("direction", [["1", "0"], ["-1", "0"], ["0", "1"]], ids=",".join)
@pytest.mark.parametrize("length", [1, 10**10])
def test_very_short_and_very_long_prompts(tmp_path: Path, size: str, direction: list[str], length: int) -> None:
    given = {"law": {"kind": "gaussian", "mean": ["0", "0"], "covariance": [["1", "0"], ["0", "1"]]}}
    given |= {"tilt": [size, "0"], "length": str(length)}
    generate(tmp_path / "a.yaml", given=given, directions=[direction], probability="0.1")
    assert certattn.check(tmp_path / "a.yaml").verdict is Verdict.VERIFIED


def test_a_prompt_of_one_token_is_bounded_almost_exactly(tmp_path: Path) -> None:
    """Its output is the token: N(0, 1) exceeds 1/2 + 0.7815516 with probability 0.1. The caps are low."""
    given = {"law": {"kind": "gaussian", "mean": ["0"], "covariance": [["1"]]}, "tilt": ["1/2"], "length": "1"}
    certificate = generate(tmp_path / "a.yaml", given=given, directions=[["1"]], probability="0.1")
    assert certattn.check(tmp_path / "a.yaml").verdict is Verdict.VERIFIED
    assert Fraction("0.7815") < value(certificate["asserts"]["directions"][0]["exceeds"]) < Fraction("0.79")


def test_a_tiny_probability(tmp_path: Path) -> None:
    given = {"law": NARROW, "tilt": TILT, "length": "100000"}
    generate(tmp_path / "a.yaml", given=given, directions=[["1", "0"]], probability="1e-40")
    assert certattn.check(tmp_path / "a.yaml").verdict is Verdict.VERIFIED


BASE: Plain = {"law": GAUSSIAN, "tilt": TILT}
ALONG: Plain = {"given": BASE, "directions": [["1", "0"]]}
REFUSED: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"given": BASE, "exceeds": "1", "length": "9"}, UsageError, "nothing to bound: expected directions, or a norm"),
    ({**ALONG, "exceeds": "1"}, UsageError, "expected two of exceeds, probability and length"),
    ({**ALONG}, UsageError, "expected two of exceeds, probability and length"),
    ({**ALONG, "exceeds": "0", "length": "9"}, UsageError, "exceeds is 0, expected a positive number"),
    ({**ALONG, "exceeds": "-1", "length": "9"}, UsageError, "exceeds is -1, expected a positive number"),
    ({**ALONG, "exceeds": "1e-400", "length": "9"}, UsageError, "expected a positive number from 1e-100 to 1e100"),
    ({**ALONG, "exceeds": "1e400", "length": "9"}, UsageError, "expected a positive number from 1e-100 to 1e100"),
    ({**ALONG, "probability": "1e-400", "length": "9"}, NotProvedError, "no rule gives that probability|too extreme"),
    (
        {"given": {**BASE, "tilt": ["0", "50"]}, "directions": [["1", "0"]], "exceeds": "1", "length": "9"},
        NotProvedError, "the scores vary too much for a useful bound"),
    (
        {"given": {"law": OUTWEIGHED, "tilt": ["0", "50"]}, "directions": [["1", "0"]], "exceeds": "1", "length": "9"},
        UsageError, "the scores have a variance above 1000: no prompt is long enough"),
    ({**ALONG, "exceeds": "small", "length": "9"}, UsageError, "exceeds: 'small'"),
    ({**ALONG, "exceeds": 0.6, "length": "9"}, UsageError, "exceeds is the float 0.6"),
    ({**ALONG, "probability": "0", "length": "9"}, UsageError, "probability is 0, expected a number above 0 and below"),
    ({**ALONG, "probability": "1", "length": "9"}, UsageError, "probability is 1, expected a number above 0 and below"),
    ({**ALONG, "probability": "1/2", "length": "0"}, UsageError, "length is 0, expected a whole number from 1"),
    ({**ALONG, "probability": "1/2", "length": "3/2"}, UsageError, "length is 1.5, expected a whole number from 1"),
    ({**ALONG, "probability": "1/2", "length": "1e13"}, UsageError, "expected a whole number from 1 to 1e\\+12"),
    (
        {"given": {**BASE, "length": 9}, "directions": [["1", "0"]], "exceeds": "1", "length": 9}, UsageError,
        "the length is given twice"),
    ({"given": BASE, "directions": [["1"]], "exceeds": "1", "length": "9"}, UsageError, r"\(1\) has 1 number"),
    ({"given": BASE, "directions": ["1"], "exceeds": "1", "length": "9"}, UsageError, "the direction '1': expected a"),
    ({"given": BASE, "directions": "1, 0", "exceeds": "1", "length": "9"}, UsageError, "directions is '1, 0', "),
    ({"given": BASE, "norm": "l1", "exceeds": "1", "length": "9"}, UsageError, "norm is 'l1', expected l2 or linf"),
    ({"given": "law.yaml", "norm": "l2", "exceeds": "1", "length": "9"}, UsageError, "given is 'law.yaml', "),
    ({"given": {"law": GAUSSIAN}, "norm": "l2", "exceeds": "1", "length": "9"}, MalformedError, "no 'K'|no 'query'"),
    (
        {"given": {**BASE, "law": {**GAUSSIAN, "covariance": [["1", "2"], ["2", "1"]]}}, "norm": "l2", "exceeds": "1",
         "length": "9"},
        MalformedError, "semidefinite",
    ),
    ({**ALONG, "exceeds": "1e-9", "probability": "0.01"}, NotProvedError, r"no length up to 1e\+12"),
    (
        {"given": {**BASE, "law": SIGNS}, "directions": [["-1", "0"]], "exceeds": "1e-9", "length": "9"},
        NotProvedError, r"in the direction \(-1, 0\) no rule proves a probability below 1 for exceeding 1e-9"),
]  # fmt: skip


@pytest.mark.parametrize(("inputs", "error", "words"), REFUSED)
def test_bad_input_is_refused_and_nothing_is_left(
    tmp_path: Path, inputs: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        generate(tmp_path / "a.yaml", **inputs)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("tilt", ["30", "1000"])
@pytest.mark.parametrize("claim", ["output-tail", "gradient-tail"])
def test_scores_that_vary_hugely_are_refused(claim: str, tilt: str, tmp_path: Path) -> None:
    given = {"law": {"kind": "gaussian", "mean": ["0"], "covariance": [["1"]]}, "query": [tilt], "length": "100"}
    more: Plain = {"directions": [["1"]]} if claim == "output-tail" else {}
    with pytest.raises(NotProvedError, match="the scores vary too much for a useful bound"):
        certattn.generate(claim, tmp_path / "a.yaml", given=given, probability="0.01", **more)
    assert list(tmp_path.iterdir()) == []


def test_moments_beyond_floats_are_left_out(tmp_path: Path) -> None:
    law = {"kind": "gaussian", "mean": ["0", "0"], "covariance": [["1", "0"], ["0", "1"]]}
    given = {"law": law, "query": ["5", "1/2"], "length": {"at_least": "100"}}
    with pytest.raises(NotProvedError, match="no rule gives that probability"):
        certattn.generate("gradient-tail", tmp_path / "a.yaml", given=given, probability="0.01")


WIDE = {
    "law": {"kind": "gaussian", "mean": ["1", "0"], "covariance": [["1", "1/2"], ["1/2", "1"]]},
    "tilt": ["1/2", "-1/2"],
    "V": [["1", "0"], ["1", "2"]],
}


def test_the_mean_square_gives_each_of_the_three_numbers(tmp_path: Path) -> None:
    """(S + B) / (1 + (L - 1) e^-v) / eps^2 with v = 1/4, S = 8 and B = 1/8."""

    def bound(length: int, eps: float) -> float:
        return 8.125 / (1 + (length - 1) * math.exp(-0.25)) / eps**2

    found = {}
    for name, numbers in {
        "probability": {"exceeds": "1", "length": 200},
        "length": {"exceeds": "1", "probability": "0.05"},
        "exceeds": {"probability": "0.05", "length": 200},
    }.items():
        out = tmp_path / f"{name}.yaml"
        made = generate(out, given=WIDE, norm="l2", method="mean-square", **numbers)
        assert made["witness"] == {"norm": {"method": "mean-square"}}
        assert certattn.check(out).verdict is certattn.Verdict.VERIFIED
        found[name] = made["given"]["length"]["at_least"] if name == "length" else made["asserts"]["norm"][name]
    assert bound(200, 1) <= float(found["probability"]) <= bound(200, 1) * 1.01
    assert bound(int(found["length"]), 1) <= 0.05 < bound(int(found["length"]) - 2, 1)
    assert bound(200, float(found["exceeds"])) <= 0.05 <= bound(200, float(found["exceeds"]) * 0.999)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"norm": None, "directions": [["1", "0"]]}, "the method mean-square is for a norm"),
        ({"norm": None}, "norm is None, expected l2 or linf for the method mean-square"),
        ({"given": {**WIDE, "law": {"kind": "box", "sizes": ["1", "1"]}}}, "for Gaussian tokens"),
        ({"method": "markov"}, "method is 'markov', expected auto or rules or mean-square"),
    ],
)
def test_the_mean_square_is_for_a_norm_and_gaussian_tokens(changes: dict[str, Any], words: str, tmp_path: Path) -> None:
    asked = {"given": WIDE, "norm": "l2", "method": "mean-square", "exceeds": "1", "probability": "0.05", **changes}
    with pytest.raises(UsageError, match=words):
        generate(tmp_path / "t.yaml", **asked)
    assert not (tmp_path / "t.yaml").exists()


# -- every length from one on


@pytest.mark.parametrize("lengths", [None, "onwards", "one"])
def test_a_length_that_is_found_is_one_from_which_on_it_holds(lengths: str | None, tmp_path: Path) -> None:
    law = {"kind": "gaussian", "mean": ["0", "0"], "covariance": [["1", "0"], ["0", "1"]]}
    asked: dict[str, Any] = {"directions": [["0", "1"]], "exceeds": "0.3", "probability": "0.01", "lengths": lengths}
    made: Any = generate(tmp_path / "a.yaml", given={"law": law, "tilt": ["1", "0"]}, **asked)
    assert certattn.check(tmp_path / "a.yaml").verdict.value == "verified"
    length = made["given"]["length"]
    if lengths == "one":
        assert int(length) < 310
    else:
        assert int(length["at_least"]) < 320
        assert made["witness"]["directions"][0]["rule"] == "by-length"


@pytest.mark.parametrize("stated", ["2000", pytest.param({"at_least": "2000"}, marks=pytest.mark.heavy)])
@pytest.mark.parametrize("norm", ["l2", "linf"])
def test_a_stated_length_may_be_one_from_which_on_it_holds(stated: Any, norm: str, tmp_path: Path) -> None:
    law = {"kind": "gaussian", "mean": ["0", "0"], "covariance": [["1", "0"], ["0", "1"]]}
    given = {"law": law, "tilt": ["1", "0"], "length": stated}
    found = []
    for asked in ({"probability": "0.001"}, {"exceeds": "0.4"}):
        made: Any = generate(tmp_path / "a.yaml", given=given, norm=norm, **asked)
        assert certattn.check(tmp_path / "a.yaml").verdict.value == "verified"
        assert made["given"]["length"] == stated
        found.append(made["asserts"]["norm"])
    assert float(found[0]["exceeds"]) < 0.5
    assert float(found[1]["probability"]) < 0.01


def test_lengths_are_one_or_onwards(tmp_path: Path) -> None:
    law = {"kind": "box", "sizes": ["1"]}
    with pytest.raises(UsageError, match="expected one or onwards"):
        certattn.generate(
            "output-tail",
            tmp_path / "a.yaml",
            given={"law": law, "tilt": ["1"]},
            directions=[["1"]],
            exceeds="0.3",
            probability="0.1",
            lengths="all",
        )
