"""What `certattn generate` says, and whether what it writes verifies: tests of a claim from tables of command lines.

A certificate goes to `made.yaml`; an argument of several lines stands for a file `task.yaml` that holds it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

# Arguments and words; or the status in between.
Case = tuple[Sequence[str], str] | tuple[Sequence[str], int, str]


def _each(cases: Iterable[Case], status: int | None, fixtures: Sequence[str]) -> Callable[[Any], Any]:
    """A test of every case, beside these fixtures."""
    full = [case if len(case) == 3 else (case[0], status, case[1]) for case in cases]
    each = pytest.mark.parametrize(("arguments", "status", "said"), full, ids=[said for *_, said in full])
    return lambda test: each(pytest.mark.usefixtures(*fixtures)(test) if fixtures else test)


def _squeezed(text: str) -> str:
    """Without the spaces and lines into which paragraphs are broken."""
    return "".join(text.split())


def states(claim: str, cases: Iterable[Case], *fixtures: str) -> Callable[..., None]:
    """A test, to be given a name: each command line writes a certificate of which this is said, and which verifies."""

    @_each(cases, 0, fixtures)
    def test(generate: Any, certattn_run: Any, arguments: Sequence[str], status: int, said: str) -> None:
        done = generate(claim, *arguments)
        assert (done.status, re.sub(r"certattn: note: .*\n", "", done.err)) == (status, "")
        assert _squeezed(said) in _squeezed(done.out)
        assert "wrote made.yaml\n" in done.out
        assert "now prove it: certattn check made.yaml\n" in done.out
        assert certattn_run("check", "made.yaml").status == 0

    return cast(Callable[..., None], test)


def refuses(claim: str, cases: Iterable[Case], *fixtures: str, status: int | None = None) -> Callable[..., None]:
    """A test, to be given a name: each command line fails, with this status, says these words and writes nothing."""

    @_each(cases, status, fixtures)
    def test(generate: Any, folder: Path, arguments: Sequence[str], status: int | None, said: str) -> None:
        done = generate(claim, *arguments)
        assert done.status in ((1, 2) if status is None else (status,)), done.err
        # Words without a line are found on any line of the file.
        anywhere = re.sub(r"(task\.yaml):\d+", r"\1", done.err)
        assert _squeezed(said) in _squeezed(done.err) or _squeezed(said) in _squeezed(anywhere), done.err
        assert done.out == ""
        assert list(folder.glob("made*")) == []

    return cast(Callable[..., None], test)
