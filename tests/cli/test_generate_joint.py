"""`certattn generate joint-max-margin`: from data to certificates that verify, and which condition fails."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import certattn
from certattn.kernel.decide.proof import Verdict
from certattn.kernel.errors import NotProvedError, UsageError

TIGHT = """tokens: [[[0, 0], [1, 1]], [[0, 0], [1, -1]], [[0, 0], [1/2, 1]]]
labels: [1, -1, 1]
indices: [1, 1, 1]
"""
Run = Callable[..., Any]


def given(third: list[list[str]], **others: object) -> dict[str, object]:
    tokens = [[["0", "0"], ["1", "1"]], [["0", "0"], ["1", "-1"]], third]
    return {"tokens": tokens, "labels": ["1", "-1", "1"], "indices": ["1", "1", "1"], **others}


# (1, 1) is tight at v = (0, 1) without a multiplier, as (0, 1) is v by itself. DUPLICATE has that twice, of which each
# can have a multiplier, so that only (1, 1) has none.
DEGENERATE = {"tokens": [[["0", "0"], ["0", "1"]], [["0", "0"], ["1", "1"]]], "indices": ["1", "1"]}
DUPLICATE = {
    "tokens": [[["0", "0"], ["0", "1"]], [["0", "0"], ["1", "1"]], [["0", "0"], ["0", "1"]]],
    "indices": ["1", "1", "1"],
}
NOT_TIGHT = [["0", "0"], ["1/2", "3/2"]]


@pytest.mark.parametrize("loss", ["logistic", "exponential"])
@pytest.mark.parametrize("third", [NOT_TIGHT, [["0", "0"], ["1/2", "1"]], [["1", "0"], ["1/2", "3/2"]]])
def test_what_is_generated_verifies(third: list[list[str]], loss: str, tmp_path: Path) -> None:
    out = tmp_path / "c.yaml"
    certattn.generate("joint-max-margin", out, given=given(third), at=[("40", "40"), (100, "1e2")], loss=loss)
    assert certattn.check(out).verdict is Verdict.VERIFIED
    certattn.generate("joint-max-margin", out, given=given(third))
    assert certattn.check(out).verdict is Verdict.VERIFIED


@pytest.mark.parametrize("size", ["1000", "100000"])
def test_heads_of_huge_norm_have_bounds(size: str, tmp_path: Path) -> None:
    """Where r is far beyond e^R, the first bound of the angle of p holds."""
    out = tmp_path / "c.yaml"
    certattn.generate("joint-max-margin", out, given=given(NOT_TIGHT), at=[(size, "5")])
    report = certattn.check(out)
    assert report.verdict is Verdict.VERIFIED


@pytest.mark.parametrize(
    ("data", "at", "words"),
    [
        (given([["0", "0"], ["0", "-1"]]), [], "no v separates the chosen tokens by their labels"),
        (given([["1", "3"], ["1/2", "3/2"]], indices=["1", "1", "1"], tokens=[
            [["0", "0"], ["1", "1"]], [["2", "2"], ["1", "-1"]], [["3/2", "0"], ["1/2", "3/2"]]]),
         [], "no p selects these tokens"),
        (given([["-1", "1"], ["1/2", "1"]]), [("40", "40")], "token 0 of input 2"),
        ({**DEGENERATE, "tokens": [[["0", "2"], ["0", "1"]], [["0", "0"], ["1", "1"]]], "W": [["1", "0"], ["0", "-1"]]},
         [("40", "40")], "attending to token 0 of input 0 may leave"),
        (given(NOT_TIGHT), [("1/100", "40")], "r is small"),
        (given([["1", "1"], ["1/2", "5/2"]]), [("40", "40")], "another token of input 2"),
        ({"tokens": [[["1", "1"]], [["0", "0"], ["1", "3"]]], "indices": ["0", "1"]}, [],
         "only their chosen token"),
    ],
    ids=["labels", "p", "condition", "no multiplier", "small", "outside", "one token"],
)  # fmt: skip
def test_the_condition_that_fails_is_named(
    data: dict[str, object], at: list[tuple[str, str]], words: str, tmp_path: Path
) -> None:
    out = tmp_path / "c.yaml"
    with pytest.raises(NotProvedError) as error:
        certattn.generate("joint-max-margin", out, given=data, at=at)
    assert words in str(error.value)
    assert not out.exists()


def test_without_norms_a_failing_condition_is_left_out(tmp_path: Path) -> None:
    out = tmp_path / "c.yaml"
    made = certattn.generate("joint-max-margin", out, given=given([["-1", "1"], ["1/2", "1"]]))
    assert "drop" not in made.plain["asserts"]
    assert certattn.check(out).verdict is Verdict.VERIFIED


@pytest.mark.parametrize(("data", "drop", "nu"), [(DEGENERATE, "1", "0.277"), (DUPLICATE, "0.5", "0.179")])
def test_support_inputs_that_can_have_no_multiplier_have_a_drop_with_squares(
    data: dict[str, object], drop: str, nu: str, tmp_path: Path
) -> None:
    out = tmp_path / "c.yaml"
    made: Any = certattn.generate("joint-max-margin", out, given=data, at=[("40", "80")]).plain
    assert made["asserts"]["drop"] == drop
    assert made["asserts"]["quadratic_drop"] == {"inputs": ["1"], "nu": nu}
    assert certattn.check(out).verdict is Verdict.VERIFIED


@pytest.mark.parametrize(("at", "loss"), [([("0", "1")], "logistic"), ([("1", "-1")], "logistic"), ([], "linear")])
def test_norms_and_losses_that_are_none_are_refused(at: list[tuple[str, str]], loss: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        certattn.generate("joint-max-margin", tmp_path / "c.yaml", given=given(NOT_TIGHT), at=at, loss=loss)


def test_the_command_writes_a_certificate_and_a_figure(certattn_run: Run, folder: Path) -> None:
    (folder / "data.yaml").write_text(TIGHT)
    line = ["generate", "joint-max-margin", "data.yaml", "-o", "c.yaml"]
    done = certattn_run(*line, "--at", "40, 40", "--plot", "c.svg")
    assert done.status == 0, done.err
    assert "drew c.svg" in done.out
    assert (folder / "c.svg").read_text().startswith("<?xml")
    done = certattn_run(*line, "--at", "40")
    assert done.status == 2
    assert "expected two norms" in done.err
    (folder / "space.yaml").write_text("tokens: [[[0, 0, 0], [1, 1, 1]]]\nindices: [1]\n")
    done = certattn_run("generate", "joint-max-margin", "space.yaml", "-o", "s.yaml", "--plot", "s.svg")
    assert done.status == 0, done.err
    assert (folder / "s.svg").read_text().startswith("<?xml")
