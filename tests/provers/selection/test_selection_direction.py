"""What the prover of `selection-direction` finds, and what it says where there is nothing to find."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from certattn.kernel.decide.checker import CheckOptions
from certattn.kernel.decide.proof import Verdict
from certattn.kernel.errors import NotProvedError, UsageError
from certattn.provers.selection import selection_direction
from certattn.provers.selection.selection_direction import generate
from certattn.statements.checking import check_certificate

TOY: dict[str, Any] = {
    "keys": [[["-0.1", 1], [1, 0], [0, 0]]],
    "scores": [[1, "0.9", "0.9"]],
    "loss": "logistic",
    "descent": {"rule": "gradient", "step": 1},
    "start": [0, 0],
}
PAIR: dict[str, Any] = {
    "keys": [[[0, 0], [1, 1]], [[0, 0], [1, -1]]],
    "scores": [[0, 2], [0, 1]],
    "loss": "linear",
    "descent": {"rule": "gradient", "step": 1},
    "start": [-2, -1],
}


def made(tmp_path: Path, given: dict[str, Any], **options: Any) -> dict[str, Any]:
    certificate = generate(tmp_path / "direction.yaml", given=given, **options)
    assert check_certificate(certificate, CheckOptions()).verdict is Verdict.VERIFIED
    return certificate.plain


# Two neighbours, other good tokens and a bad one.
FIVE: dict[str, Any] = {
    "keys": [[[0, 0, 0], [-1, -1, 0], [-1, 1, 0], [-2, 0, -1], ["-1.6", "-0.5", 1]]],
    "scores": [[0, -1, -2, -1, "0.5"]],
    "loss": "logistic",
    "descent": {"rule": "gradient", "step": 1},
    "start": [9, 0, "0.01"],
}


@pytest.mark.parametrize("height", ["1", "0.5", "0", "-0.5", "-1", "-1.5"])
def test_the_six_starts_at_step_0(height: str, tmp_path: Path) -> None:
    plain = made(tmp_path, {**TOY, "start": [0, height]})
    assert "steps" not in plain["witness"]
    assert plain["witness"]["theorem"] == {"name": "global"}
    assert plain["asserts"]["limit"] == ["-10/101", "100/101"]
    assert plain["asserts"]["rate"]["form"] == "logarithm"


def test_angles_are_enclosed_where_steps_are(tmp_path: Path) -> None:
    plain = made(tmp_path, TOY, angles=[1000, 10**9])
    first, second = (float(angle["at_most"]) for angle in plain["asserts"]["angles"])
    assert int(plain["witness"]["steps"]) >= 1000
    assert first < 0.2
    assert second < 0.1


def test_bounds_of_a_run_at_steps_and_for_good(tmp_path: Path) -> None:
    asked = {"weights": [100, "200+", "10000000+"], "losses": ["0+", 10**7], "norms": ["0+", 100], "angles": ["100+"]}
    asserts = made(tmp_path, TOY, steps=300, **asked)["asserts"]
    assert [set(item) for item in asserts["weights"]] == [{"step", "at_least"}, *[{"from", "at_least"}] * 2]
    now, soon, late = (float(item["at_least"]) for item in asserts["weights"])
    assert 0.5 < now < soon < late < 1
    first, last = (float(item["at_most"]) for item in asserts["losses"])
    assert 0 < last < 1e-6 < first < 0.1
    # The norm of the start 0 says nothing.
    assert [item["step"] for item in asserts["norms"]] == ["100"]
    assert asserts["angles"][0]["from"] == "100"


def ends(asserts: dict[str, Any], kind: str, place: str) -> tuple[float, float]:
    (low,) = (item["at_least"] for item in asserts[kind] if item.get("step") == place and "at_least" in item)
    (high,) = (item["at_most"] for item in asserts[kind] if item.get("step") == place and "at_most" in item)
    return float(low), float(high)


def test_both_ends_of_what_is_enclosed_and_of_later_steps(tmp_path: Path) -> None:
    asked = {kind: [50, 10**6] for kind in ("angles", "weights", "losses", "norms")}
    asserts = made(tmp_path, FIVE, theorem="tube", steps=60, both_ends=True, **asked)["asserts"]
    for kind in asked:
        low, high = ends(asserts, kind, "50")
        assert low < high <= 1.001 * low
        low, high = ends(asserts, kind, "1000000")
        assert low < high < 1.3 * low


def test_one_end_where_the_theorem_has_one(tmp_path: Path) -> None:
    asserts = made(tmp_path, TOY, theorem="global", steps=60, both_ends=True, norms=[50, 10**6])["asserts"]
    assert [sorted(set(item)) for item in asserts["norms"]] == [
        ["at_least", "step"],
        ["at_least", "step"],
        ["at_most", "step"],
    ]


def test_a_weight_next_to_1_is_stated_as_near_as_it_is(tmp_path: Path) -> None:
    normalised = {**FIVE, "descent": {"rule": "normalised", "step": "1/10"}}
    (weight,) = made(tmp_path, normalised, weights=[500], most_steps=600)["asserts"]["weights"]
    assert Fraction(1, 10**30) < 1 - Fraction(weight["at_least"]) < Fraction(1, 10**20)
    (later,) = made(tmp_path, normalised, weights=["1000+"], steps=600)["asserts"]["weights"]
    assert 0 < 1 - Fraction(later["at_least"]) < Fraction(1, 10**30)


@pytest.mark.heavy
def test_more_steps_to_try_make_no_bound_weaker(tmp_path: Path) -> None:
    found = []
    for most in (10_000, 10**9):
        asserts = made(tmp_path, TOY, weights=["2000+"], below=["0.2"], most_steps=most)["asserts"]
        found.append((float(asserts["weights"][0]["at_least"]), int(asserts["angles"][0]["from"])))
    assert found[0] == found[1]
    assert found[0][0] > 0.97


def test_a_long_search_says_how_far_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection_direction, "_SILENT", -1.0)
    said: list[tuple[int, int]] = []
    generate(tmp_path / "a.yaml", given=TOY, angles=[5000], said=lambda done, total: said.append((done, total)))
    assert len(said) > 3
    assert {total for _, total in said[:-1]} == {100_000}
    assert said[-1] == (said[-2][0], said[-2][0])


def test_the_first_step_from_which_an_angle_stays_small(tmp_path: Path) -> None:
    """As few as descent itself takes where the theorem takes over soon enough, and a later step where it does not."""
    asserts = made(tmp_path, {**TOY, "start": [0, "-1.5"]}, below=["0.2", "0.03"], most_steps=2500)["asserts"]
    (soon, late) = asserts["angles"]
    assert (soon["at_most"], late["at_most"]) == ("0.2", "0.03")
    point, keys = np.array([0.0, -1.5]), np.array([[-0.1, 1.0], [1.0, 0.0], [0.0, 0.0]])
    scores, ray, gaps = np.array([1.0, 0.9, 0.9]), np.array([-0.1, 1.0]) / np.sqrt(1.01), []
    for _ in range(3000):
        gaps.append(1 - point @ ray / np.linalg.norm(point))
        share = np.exp(keys @ point)
        share /= share.sum()
        mean = share @ scores
        point = point + keys.T @ (share * (scores - mean)) / (1 + np.exp(mean))
    assert int(soon["from"]) == max(k for k, gap in enumerate(gaps) if gap > 0.2) + 1
    assert int(late["from"]) > 2500


def test_a_first_time_of_the_flow_and_one_that_is_not_found(tmp_path: Path) -> None:
    given = {**TOY, "descent": {"rule": "flow"}, "start": [0, 1]}
    asserts = made(tmp_path, given, below=["0.5", "0.001"])["asserts"]
    assert [item["at_most"] for item in asserts["angles"]] == ["0.5"]
    assert int(asserts["angles"][0]["from"]) > 0


def test_steps_and_theorem_may_be_chosen(tmp_path: Path) -> None:
    plain = made(tmp_path, TOY, steps=7, theorem="every-start")
    assert plain["witness"]["steps"] == "7"
    assert plain["witness"]["theorem"]["name"] == "every-start"
    assert int(plain["witness"]["theorem"]["after"]) > 0


def test_every_start_by_the_theorem_about_it(tmp_path: Path) -> None:
    plain = made(tmp_path, {**PAIR, "start": "every"})
    assert plain["witness"]["theorem"] == {"name": "every-start"}
    assert plain["asserts"]["indices"] == ["1", "1"]
    assert "rate" not in plain["asserts"]


@pytest.mark.heavy
def test_a_box_and_the_flow(tmp_path: Path) -> None:
    box = {"lower": ["0", "0"], "upper": ["0.05", "0.05"]}
    assert made(tmp_path, {**TOY, "start": box})["given"]["start"] == box
    plain = made(tmp_path, {**TOY, "descent": {"rule": "flow"}}, angles=["1000000.5"])
    assert plain["asserts"]["angles"][0]["time"] == "1000000.5"


@pytest.mark.parametrize(
    ("given", "options", "words"),
    [
        ({**TOY, "scores": [[1, 1, "0.9"]], "start": "every"}, {}, "none is optimal"),
        (TOY, {"indices": [1]}, "not locally optimal"),
        (TOY, {"indices": [3]}, "no token 3"),
        (TOY, {"indices": [0, 0]}, "expected 1, one for each input"),
        (TOY, {"theorem": "global-2"}, "expected one of"),
        (TOY, {"steps": -1}, "not fewer than 0"),
        ({**TOY, "descent": {"rule": "gradient", "step": 10**6}, "start": "every"}, {}, "the step is long"),
        ({**TOY, "keys": [[[0, 0], [1, 0], [-1, 0]]]}, {"indices": [0]}, "cannot be separated"),
        ({**TOY, "start": {"lower": [-40, -40], "upper": [40, 40]}}, {}, "unbounded"),
        ({**PAIR, "scores": [[0], [0]], "keys": [[[0, 0]], [[1, 1]]]}, {}, "nothing to select from"),
        ({**TOY, "descent": {"rule": "normalised", "step": 1}}, {"theorem": "global"}, "not proved for normalised"),
        (TOY, {"below": ["1"]}, "--below 1: expected a bound of 1 - cos between 0 and 1"),
        ({**TOY, "start": "every"}, {"weights": ["1+"]}, r"--weight 1\+: no bound at a step holds for all of every"),
        ({**TOY, "start": "every"}, {"below": ["0.1"]}, "--below 0.1: no bound"),
        (
            {**TOY, "start": [3, -4], "descent": {"rule": "flow"}}, {"theorem": "every-start", "losses": ["1+"]},
            r"--loss-gap 1\+: the theorem 'every-start' bounds losses from time 4 on; expected --loss-gap 4\+ or more"),
        (TOY, {"theorem": "cone"}, "'cone' needs start: {cone: {opening, norm}}"),
        ({**TOY, "start": "every"}, {"angles": [1]}, "--angle 1: no bound of an angle holds for all of every"),
    ],
)  # fmt: skip
def test_failures_say_why(given: dict[str, Any], options: dict[str, Any], words: str, tmp_path: Path) -> None:
    with pytest.raises((NotProvedError, UsageError), match=words):
        generate(tmp_path / "direction.yaml", given=given, most_steps=50, **options)
    assert not list(tmp_path.iterdir())


def test_a_start_between_the_basins_is_never_certified(tmp_path: Path) -> None:
    """z_1 = (-3, 1), z_2 = (1, 0): from (3, 0) descent keeps input 1 on its worse token; F stays above a* = 1."""
    missed = {**PAIR, "keys": [[[-3, 1], [0, 0]], [[1, 0], [0, 0]]], "scores": [[1, 0], [1, 0]], "start": [3, 0]}
    with pytest.raises(NotProvedError, match="below the threshold a"):
        generate(tmp_path / "direction.yaml", given=missed, indices=[0, 0], most_steps=300)


def test_normalised_steps_that_overshoot_are_to_be_smaller(tmp_path: Path) -> None:
    """The chosen token scores least on one side: the loss has its least value near 0, about which long steps go."""
    given: dict[str, Any] = {
        "keys": [[[1], [0]], [[-1], [0]]],
        "scores": [[1, 0], [1, 0]],
        "loss": "linear",
        "descent": {"rule": "normalised", "step": "1/2"},
        "start": [1],
    }
    with pytest.raises(NotProvedError, match=r"overshoot there, .* expected a smaller step"):
        generate(tmp_path / "direction.yaml", given=given, indices=None, most_steps=50)


ONE_DIMENSION: dict[str, Any] = {
    "tokens": [[["-3/2"], [-3]], [["9/4"], ["-11/4"]], [["1/4"]]],
    "v": ["11/4"],
    "labels": [1, 1, 1],
    "loss": "exponential",
    "descent": {"rule": "gradient", "step": 1},
    "start": ["-15/4"],
}
LATE: dict[str, Any] = {
    "tokens": [
        [["5/2", 1, "1/4"], [1, "9/4", "-3/2"]],
        [["-3/4", "-3/4", "3/2"], ["3/4", 1, 0]],
        [["3/2", "-11/4", "3/4"]],
    ],
    "v": ["-5/4", "11/4", 0],
    "W": [[-1, "1/2", 2]],
    "loss": "exponential",
    "descent": {"rule": "gradient", "step": "1/10"},
    "start": [3],
}


def test_a_rate_is_stated_that_few_bits_do_not_tell(tmp_path: Path) -> None:
    assert float(made(tmp_path, ONE_DIMENSION)["asserts"]["rate"]["numerator"]) < 1e-11


def test_what_says_nothing_is_left_out(tmp_path: Path) -> None:
    """A rate that is below 1 after e^100000 steps, and angles that it bounds by 2; the rate is stated on request."""
    assert set(made(tmp_path, LATE, angles=[10**12], most_steps=50)["asserts"]) == {"indices", "limit"}
    (tmp_path / "direction.yaml").unlink()
    assert made(tmp_path, LATE, late_rate=True, most_steps=50)["asserts"]["rate"]["offset"] == "2"


def test_a_rate_that_is_not_proved_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("certattn.provers.selection.selection_angles.round_up", lambda value, digits: value / 2)
    assert "rate" not in made(tmp_path, TOY)["asserts"]
