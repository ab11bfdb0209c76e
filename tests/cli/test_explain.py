"""`certattn explain`: what codes mean, as a person or a program asks."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from certattn.kernel.decide.checker import CLAIMS
from certattn.kernel.decide.proof import Verdict

Run = Callable[..., Any]
Write = Callable[..., Path]


def test_an_obligation_says_what_must_hold_and_what_to_do(certattn_run: Run) -> None:
    done = certattn_run("explain", "output-deviation/at_most[3]")
    assert (done.status, done.err) == (0, "")
    first, *rest = done.out.splitlines()
    assert first == "output-deviation/at_most[i]  (obligation of output-deviation)"
    labels = [line[2:16].strip() for line in rest if line[2:16].strip()]
    assert labels == ["must hold", "if false", "if undecided", "what to do", "page"]
    assert all(len(line) <= 100 for line in rest)
    assert certattn_run("explain", "output-deviation/at_most").out == done.out


def test_without_a_code_everything_is_listed(certattn_run: Run) -> None:
    done = certattn_run("explain")
    assert done.status == 0
    for word in (*(v.value for v in Verdict), "130", "memory", "NotProvedError", *CLAIMS):
        assert f"\n  {word} " in done.out


def test_a_claim_lists_its_obligations(certattn_run: Run) -> None:
    done = certattn_run("explain", "gradient-tail")
    assert done.out.splitlines()[0].startswith("gradient-tail: how rarely")
    assert "\n  gradient-tail/probability\n" in done.out


def test_json_has_all_that_the_text_says(certattn_run: Run) -> None:
    (found,) = json.loads(certattn_run("explain", "output-deviation/at_most", "--format", "json").out)
    assert set(found) == {"code", "group", "says", "if_false", "if_undecided", "what_to_do", "page"}
    assert found["code"] == "output-deviation/at_most[i]"
    every = json.loads(certattn_run("explain", "--format", "json").out)
    assert {"refuted", "70", "flow-trajectory/points[i].tube"} <= {each["code"] for each in every}


def test_a_code_that_there_is_not_is_a_usage_error_with_the_nearest(certattn_run: Run) -> None:
    done = certattn_run("explain", "output-deviation/at_mots")
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(
        "certattn: there is no code 'output-deviation/at_mots'; the nearest are output-deviation/at_most"
    )
    hostile = certattn_run("explain", "\x1b[2Jx\ny")
    assert "\x1b" not in hostile.err
    assert hostile.err.count("\n") == 1


@pytest.mark.parametrize(
    ("verdict", "code"),
    [
        ("refuted", "infinite-prompt-operator/operator.matrix"),
        ("rejected", "infinite-prompt-operator/operator"),
        ("inconclusive", "infinite-prompt-operator/values"),
    ],
)
def test_check_names_the_code_of_what_is_not_proved(certattn_run: Run, write: Write, verdict: str, code: str) -> None:
    done = certattn_run("check", write(verdict), "--max-bits", "16")
    assert f"\n  what that means: certattn explain {code}\n" in done.out
    assert certattn_run("explain", code).status == 0


@pytest.mark.parametrize("verdict", ["verified", "malformed"])
def test_check_names_no_code_where_there_is_none(certattn_run: Run, write: Write, verdict: str) -> None:
    assert "certattn explain" not in certattn_run("check", write(verdict)).out


def test_only_the_time_limit_is_named_where_time_ran_out(certattn_run: Run, slow: Path) -> None:
    done = certattn_run("check", slow, "--timeout", "1")
    assert "\n  what that means: certattn explain time\n" in done.out


@pytest.mark.parametrize(
    ("typed", "offered", "not_offered"),
    [
        ("ref", ["refuted"], []),
        ("output-", ["output-deviation", "output-tail"], ["output-tail/norm"]),
        ("output-deviation/per", ["output-deviation/per_query.at_most"], ["output-deviation"]),
    ],
)
def test_the_shell_completes_codes(
    program: Callable[..., subprocess.CompletedProcess[bytes]], typed: str, offered: list[str], not_offered: list[str]
) -> None:
    environment = {
        "_CERTATTN_COMPLETE": "bash_complete", "COMP_WORDS": f"certattn explain {typed}", "COMP_CWORD": "2",
    }  # fmt: skip
    found = [line.partition(",")[2] for line in program(env=environment).stdout.decode().splitlines()]
    assert set(offered) <= set(found)
    assert not set(not_offered) & set(found)
