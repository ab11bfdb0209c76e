"""`certattn generate attention-spectrum`, and what its prover refuses."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from generating import refuses

import certattn
from certattn.kernel.decide.proof import Verdict
from certattn.kernel.errors import NotProvedError

Run = Callable[..., Any]


def _made(done: Any, path: Path) -> dict[str, Any]:
    assert done.status == 0, done.err
    assert certattn.check(path).verdict is Verdict.VERIFIED
    plain: dict[str, Any] = certattn.load(path).plain
    return plain


def test_a_stated_number_of_tokens(certattn_run: Run, folder: Path) -> None:
    done = certattn_run("generate", "attention-spectrum", "--beta", "1/2", "--from", "10000", "-o", "d.yaml")
    plain = _made(done, folder / "d.yaml")
    assert plain["given"] == {"beta": "0.5", "lambda": "1", "from": "10000"}
    assert [item["eta"] for item in plain["asserts"]["transform"]] == ["0.25", "1", "4"]
    assert plain["asserts"]["probability"] == "0.01"
    assert "apart" not in plain["asserts"]


def test_the_least_number_of_tokens(certattn_run: Run, folder: Path) -> None:
    options = ("--beta", "1/2", "--lambda", "2", "--eta", "1", "--within", "0.02", "--probability", "0.1")
    plain = _made(certattn_run("generate", "attention-spectrum", *options, "-o", "d.yaml"), folder / "d.yaml")
    least = int(plain["given"]["from"])
    (found,) = plain["asserts"]["transform"]
    assert Fraction(found["within"]) <= Fraction("0.02")
    with pytest.raises(NotProvedError, match=r"a bound for \d+ tokens is above 0.02; leave from out"):
        certattn.generate(
            "attention-spectrum", beta="1/2", lambda_=2, eta=["1"], within="0.02", probability="0.1",
            from_=least * 19 // 20,
        )  # fmt: skip


def test_how_far_quarter_circles_are(certattn_run: Run, folder: Path) -> None:
    options = ("--beta", "1/2", "--lambda", "1/2", "--eta", "1", "--from", "40000", "--apart")
    plain = _made(certattn_run("generate", "attention-spectrum", *options, "-o", "d.yaml"), folder / "d.yaml")
    assert Fraction(plain["asserts"]["apart"]["at_least"]) > Fraction("0.01")
    assert len(plain["asserts"]["transform"]) == 3
    # Between the second moments of quarter circles that are near to the law.
    assert Fraction("0.1") < Fraction(plain["witness"]["moment"]) < Fraction("0.284")


def test_a_bound_that_says_nothing_is_said_to_be_one(certattn_run: Run, folder: Path) -> None:
    options = ("--beta", "1/2", "--from", "10000", "--eta", "1/100", "--eta", "10")
    done = certattn_run("generate", "attention-spectrum", *options, "-o", "d.yaml")
    assert "transform[0].within is" in done.out + done.err
    assert "at least 1/eta, which holds of any matrix: it says nothing" in " ".join((done.out + done.err).split())
    _made(done, folder / "d.yaml")


test_what_is_refused = refuses(
    "attention-spectrum",
    [
        (("--beta", "1/2"), "give --from, or --within or --apart to look for the smallest number of tokens"),
        (("--beta", "1/2", "--from", "3"), "3 tokens are too few for anything to be typical"),
        (("--beta", "1/2", "--from", "50"), "every bound for 50 tokens is at least 1/eta, which holds without proof"),
        (("--beta", "1/2", "--from", "2000", "--apart"), "not near enough to tell quarter circle laws apart"),
        (("--beta", "1/2", "--from", "20000", "--eta", "1", "--within", "0.001"), "is above 0.001; leave from out"),
        (("--beta", "6", "--eta", "1", "--within", "0.1"), "no number of tokens up to 1000000000000 serves"),
        (("--beta", "1/2", "--within", "0"), "within is 0, expected a positive number"),
        (("--beta", "1/2", "--from", "100", "--eta", "-1"), "eta is -1, expected a positive number"),
        (("--beta", "1/2", "--lambda", "0", "--from", "100"), "lambda is 0, expected a positive number"),
        (("--beta", "0", "--from", "100"), "beta is 0, expected a positive number"),
        (("--beta", "2000", "--from", "100"), "beta is 2000, expected a number of at most 1000"),
        (("--beta", "1/2", "--from", "100", "--probability", "1"), "expected a number between 0 and 1"),
        (("--beta", "1/2", "--from", "1"), "1 is not in the range x>=2"),
    ],
)
