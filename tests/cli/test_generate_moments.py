"""`certattn generate` of the claims about random score matrices, and what their provers refuse."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from generating import refuses

import certattn
from certattn.kernel.decide.proof import Verdict
from certattn.kernel.errors import NotProvedError, UsageError

Run = Callable[..., Any]


def _made(done: Any, path: Path) -> dict[str, Any]:
    assert done.status == 0, done.err
    assert certattn.check(path).verdict is Verdict.VERIFIED
    asserts: dict[str, Any] = certattn.load(path).plain["asserts"]
    return asserts


def _lines(task: str) -> str:
    """A document with one line for each entry of `task`."""
    return task.replace("; ", "\n") + "\n"


def test_moments_at_one_size(certattn_run: Run, folder: Path) -> None:
    done = certattn_run("generate", "finite-moments", "--beta", "1/2", "--d", "24", "--note", "small", "-o", "m.yaml")
    asserts = _made(done, folder / "m.yaml")
    assert [item["order"] for item in asserts["moments"]] == ["2", "4", "6", "8"]
    assert [item["order"] for item in asserts["entry_parts"]] == ["4", "6", "8"]
    assert asserts["ratios"][1] == {"order": "4", "at_least": "1.25276", "at_most": "1.25277"}
    assert asserts["variance"] == {"at_least": "0.00253985", "at_most": "0.00253986"}
    assert [item["beta"] for item in asserts["thresholds"]] == ["below"] * 3


def test_infinite_moments_are_said_to_be_so(certattn_run: Run, folder: Path) -> None:
    done = certattn_run("generate", "finite-moments", "--beta", "3/4", "--lambda", "1/2", "--d", "12", "-o", "m.yaml")
    asserts = _made(done, folder / "m.yaml")
    assert asserts["infinite"] == ["4", "6", "8"]
    assert "variance" not in asserts


def test_the_smallest_size(certattn_run: Run, folder: Path) -> None:
    options = ("--beta", "1/2", "--order", "4", "--within", "0.05")
    asserts = _made(certattn_run("generate", "finite-moments", *options, "-o", "m.yaml"), folder / "m.yaml")
    assert asserts["smallest"] == [{"order": "4", "within": "0.05", "from": "1"}]
    assert certattn.load(folder / "m.yaml").plain["given"]["d"] == "100"


def test_the_smallest_size_of_a_few(tmp_path: Path) -> None:
    """lambda d has to be a whole number, and too many sizes before are left out."""
    path = tmp_path / "m.yaml"
    certattn.generate("finite-moments", path, beta="1/2", lambda_=Fraction(1, 3), orders=[4], within="0.02")
    given = certattn.load(path).plain["given"]
    assert int(given["d"]) % 3 == 0
    assert certattn.check(path).verdict is Verdict.VERIFIED
    certattn.generate("finite-moments", path, beta="1/2", orders=[8], within="0.05")
    assert certattn.load(path).plain["asserts"]["smallest"][0]["from"] == "140"


test_what_is_refused = refuses(
    "finite-moments",
    [
        (("--beta", "0", "--d", "10"), "beta is 0, expected a positive number"),
        (("--beta", "1/2", "--lambda", "-1", "--d", "10"), "lambda is -1, expected a positive number"),
        (("--beta", "1/2", "--lambda", "1/3", "--d", "10"), "lambda d = 10/3"),
        (("--beta", "1/2"), "give d, or within to look for the smallest"),
        (("--beta", "1/2", "--d", "10", "--order", "3"), "the order 3 is none of 2, 4, 6, 8"),
        (("--beta", "1/2", "--within", "0.1"), "a smallest size is about one order"),
        (("--beta", "1/2", "--order", "4", "--within", "0"), "within is 0, expected a positive number"),
        (("--beta", "6", "--order", "8", "--within", "0.1"), "no size up to 1000000000000000 was found"),
        (("--beta", "half", "--d", "10"), "beta: "),
    ],
)


def test_a_stated_size_has_to_be_the_smallest(tmp_path: Path) -> None:
    """No certificate is written of what is false."""
    path = tmp_path / "m.yaml"
    with pytest.raises(NotProvedError, match=r"not within 0.05 of its limit at d = 90; leave d out"):
        certattn.generate("finite-moments", path, beta="1/2", d=90, orders=[4], within="0.05")
    with pytest.raises(NotProvedError, match=r"d = 110 is not the smallest size: E m_4 is as near at d = 100"):
        certattn.generate("finite-moments", path, beta="1/2", d=110, orders=[4], within="0.05")
    assert not path.exists()
    certattn.generate("finite-moments", path, beta="1/2", d=100, orders=[4], within="0.05")
    assert certattn.check(path).verdict is Verdict.VERIFIED


def test_the_normaliser(certattn_run: Run, folder: Path) -> None:
    done = certattn_run("generate", "normalizer-bound", "--beta", "1/2", "--d", "1000", "-o", "n.yaml")
    asserts = _made(done, folder / "n.yaml")
    assert asserts == {"mean_square": {"at_most": "0.0001428"}, "distance": {"at_most": "0.01195"}}


def test_one_drawn_matrix(certattn_run: Run, folder: Path) -> None:
    size = ("--beta", "1/2", "--d", "1000")
    done = certattn_run("generate", "normalizer-bound", *size, "--probability", "0.01", "--top", "8", "-o", "n.yaml")
    drawn = _made(done, folder / "n.yaml")["drawn"]
    assert list(drawn) == ["probability", "second", "stable_rank", "entropy", "top"]
    assert [item["count"] for item in drawn["top"]] == ["8"]
    # A rarer failure takes weaker bounds, and more digits sharper ones.
    done = certattn_run("generate", "normalizer-bound", *size, "--probability", "1e-6", "--digits", "6", "-o", "r.yaml")
    rare = _made(done, folder / "r.yaml")["drawn"]
    assert "top" not in rare
    assert float(rare["entropy"]["at_least"]) < float(drawn["entropy"]["at_least"])
    for name in ("second", "stable_rank"):
        assert float(rare[name]["at_most"]) > float(drawn[name]["at_most"])


def test_an_entropy_below_0_is_left_out(certattn_run: Run, folder: Path) -> None:
    sizes = ("--beta", "1", "--d", "75", "--probability", "0.9")
    done = certattn_run("generate", "normalizer-bound", *sizes, "-o", "n.yaml")
    assert list(_made(done, folder / "n.yaml")["drawn"]) == ["probability", "second", "stable_rank"]


def test_drawn_matrices_that_are_refused(certattn_run: Run) -> None:
    few = ("--beta", "1", "--d", "20", "--probability", "0.01", "-o", "n.yaml")
    assert "normalisers may be low more often" in certattn_run("generate", "normalizer-bound", *few).err
    alone = ("--beta", "1/2", "--d", "100", "--top", "3", "-o", "n.yaml")
    assert "top without a probability" in certattn_run("generate", "normalizer-bound", *alone).err
    many = ("--beta", "1/2", "--d", "1000", "--probability", "0.01", "--top", "1001", "-o", "n.yaml")
    assert "at most d = 1000 weights" in certattn_run("generate", "normalizer-bound", *many).err
    one = ("--beta", "1/2", "--d", "1000", "--probability", "1", "-o", "n.yaml")
    assert "0 and below 1" in certattn_run("generate", "normalizer-bound", *one).err


def test_a_normaliser_without_a_finite_bound(certattn_run: Run) -> None:
    done = certattn_run("generate", "normalizer-bound", "--beta", "3", "--d", "100", "-o", "n.yaml")
    assert "p = 100 is at most 12 beta^2" in done.err
    done = certattn_run("generate", "normalizer-bound", "--beta", "0", "--d", "100", "-o", "n.yaml")
    assert "beta is 0, expected a positive number" in done.err


@pytest.mark.parametrize(
    ("task", "names"),
    [
        ("beta: 1/2; eta: 1; lambda: 1; d: 500", ["universality", "concentration", "linearisation", "equivalence"]),
        # Of what is at least 1/eta nothing is said: that holds without proof.
        ("beta: 1; eta: 1; lambda: 1/2; d: 20", ["concentration", "linearisation"]),
        ("beta: 1; eta: 1; lambda: 1; d: 5", ["linearisation"]),
        ("beta: 1/4; eta: 1; queries: [[1, 2], [0, 1], [1, 1]]", ["universality", "concentration"]),
        ("beta: 1; eta: 1; queries: [[1, 2], [1/2, 1], [0, 1]]", ["concentration"]),
    ],
)
def test_universality(certattn_run: Run, folder: Path, task: str, names: list[str]) -> None:
    (folder / "task.yaml").write_text(_lines(task))
    done = certattn_run("generate", "universality-bound", "task.yaml", "-o", "u.yaml")
    assert list(_made(done, folder / "u.yaml")) == names


test_what_universality_refuses = refuses(
    "universality-bound",
    [
        ([_lines("beta: 5; eta: 1; lambda: 1; d: 100")], "p = 100 is at most 4 beta^2"),
        ([_lines("beta: 1; eta: 0; lambda: 1; d: 100")], "a number > 0"),
        ([_lines("beta: 1; eta: 1; lambda: 1/3; d: 100")], "lambda d = 100/3"),
        ([_lines("beta: 1; eta: 1; queries: [[1]]")], "at least 2 queries"),
        ([_lines("beta: 1; eta: 1; queries: [[1, 2], [1/2, 1]]")], "every bound is at least 1/eta = 1"),
        ([_lines("beta: 1; eta: 1; lambda: 1; d: 100"), "--probability", "1"], "expected a number between 0 and 1"),
    ],
)


def test_python_names_the_same_errors(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="expected 2, 4, 6 or 8 beside within"):
        certattn.generate("finite-moments", tmp_path / "m.yaml", beta="1/2", orders=[2, 4], within="0.1")
    with pytest.raises(NotProvedError, match="at most 12 beta"):
        certattn.generate("normalizer-bound", tmp_path / "m.yaml", beta=3, d=20)
