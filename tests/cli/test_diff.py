"""`certattn diff`: what it prints, its statuses, what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
Write = Callable[..., Path]


def test_the_same_statement(certattn_run: Run, write: Write, folder: Path) -> None:
    old = write("verified", "old.yaml")
    (folder / "new.yaml").write_text(old.read_text().replace("1/2", "0.50").replace("somebody", "else"))
    done = certattn_run("diff", "old.yaml", "new.yaml")
    first, second, *digests = done.out.splitlines()
    assert (done.status, first) == (0, "the same statement")
    assert second == "  provenance.who: changed, which does not change the statement"
    assert len({line.split()[1] for line in digests}) == 1


def test_another_statement(certattn_run: Run, write: Write) -> None:
    done = certattn_run("diff", write("verified", "old.yaml"), write("refuted", "new.yaml"))
    assert done.status == 1
    assert done.out.splitlines()[:2] == [
        "another statement",
        "  asserts.operator.matrix: [[1, 1/2]] -> [[1, 0.6]]  (1 of 2 entries differ)",
    ]


def test_json(certattn_run: Run, write: Write) -> None:
    done = certattn_run("diff", write("verified", "old.yaml"), write("refuted", "new.yaml"), "--format", "json")
    content = json.loads(done.out)
    assert (content["statement"], content["hints"]) == ("different", [])
    assert content["old"]["digest"] != content["new"]["digest"]
    assert [change["path"] for change in content["changes"]] == ["asserts.operator.matrix"]


@pytest.mark.parametrize("other", ["malformed.yaml", "none.yaml", "."])
def test_what_is_no_certificate(certattn_run: Run, write: Write, other: str) -> None:
    write("malformed")
    for order in ((write("verified"), other), (other, "verified.yaml")):
        done = certattn_run("diff", *order)
        assert (done.status, done.out) == (2, "")
        assert done.err.startswith(f"certattn: {other}")
        assert "found:" in done.err


def test_text_of_strangers_stays_on_its_line(certattn_run: Run, write: Write, folder: Path) -> None:
    old = write("verified", "old.yaml")
    (folder / "new.yaml").write_text(old.read_text().replace("{who: somebody}", '{"a\\e[31m\\nb": x}'))
    done = certattn_run("diff", "old.yaml", "new.yaml")
    assert done.status == 2
    assert all(line.isprintable() for line in done.err.splitlines())
