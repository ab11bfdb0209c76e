"""`certattn generate selection-on-a-head`: from files to certificates that verify, and figures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from generating import refuses, states

Run = Callable[..., Any]

WHOLE = "keys: [[0, 1], [1, 0], [0, 0]]\nvalues: [[1], [2], [0]]\nqueries: [[1, 3], [2, 1]]\n"


test_what_is_generated_verifies = states(
    "selection-on-a-head",
    [
        (["head.npz", "--scale", "1/sqrt(2)"], "the selected token"),
        (["head.npz", "--score", "value-norm", "--separability", "selected", "--separability", "best"], "one matrix W"),
        (["head.npz", "--score", "1, 0, -1/2", "--exposure", "1", "--gap", "0.1"], "the distance of key 1"),
        (["head.npz", "--queries", "1:4", "--causal", "2", "--per-query", "--note", "for you"], "each of 3 queries"),
        ([WHOLE, "--exposure", "2"], "is 0, 1;"),
    ],
    "head",
)

test_what_cannot_be_stated_is_said = refuses(
    "selection-on-a-head",
    [
        ([WHOLE.replace("[2]", "[2, 3]")], 2, "task.yaml: values"),
        ([WHOLE.replace("[2, 1]", "[1, 1]")], 1, "tokens 0 and 1 share the largest logit at query 1"),
    ],
)


def test_a_figure_is_drawn(certattn_run: Run, head: Path, folder: Path) -> None:
    pytest.importorskip("matplotlib")
    arguments = ("generate", "selection-on-a-head", head, "-o", "made.yaml", "--plot", "made.svg")
    refused = certattn_run(*arguments)
    assert refused.status == 2
    assert "expected --per-query" in refused.err
    done = certattn_run(*arguments, "--per-query")
    assert done.status == 0, done.err
    assert done.out.splitlines()[-1] == "drew made.svg"
    assert (folder / "made.svg").stat().st_size > 1000
    assert "a figure ends in" in certattn_run(*arguments[:-1], "made.gif", "--per-query").err
