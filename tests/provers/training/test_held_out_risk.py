"""`certattn generate held-out-risk`: from files to certificates that verify, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import certattn
from certattn.kernel.decide.proof import Verdict

PARAMETERS = {"A": [["1"]], "b": "1"}
GIVEN: dict[str, Any] = {"parameters": PARAMETERS, "largest": "1", "probability": "1/10"}


def prompts(count: int = 40, length: int = 8) -> dict[str, np.ndarray[Any, Any]]:
    bits = np.random.default_rng(1)
    tokens, queries, tasks = (np.sign(bits.standard_normal((n, 1))) for n in (count * length, count, count))
    return {
        "tokens": tokens, "labels": tokens * np.repeat(tasks, length, axis=0),
        "queries": queries, "targets": queries * tasks,
    }  # fmt: skip


@pytest.mark.parametrize("digits", [1, 3, 6])
def test_arrays_from_python(tmp_path: Path, digits: int) -> None:
    path = tmp_path / "c.yaml"
    certificate = certattn.generate("held-out-risk", path, given={**GIVEN, **prompts()}, digits=digits)
    assert certattn.check(path).verdict is Verdict.VERIFIED
    assert 0 < certificate.numbers["at_least"] < certificate.numbers["at_most"] < 2


def test_arrays_from_a_file_without_a_bound(tmp_path: Path) -> None:
    arrays = prompts()
    np.savez(tmp_path / "p.npz", x=arrays.pop("tokens"), **arrays)
    given = {"parameters": PARAMETERS, "probability": "1/10"}
    path = tmp_path / "c.yaml"
    source = tmp_path / "p.npz"
    certificate = certattn.generate("held-out-risk", path, given=given, source=source, names={"tokens": "x"})
    assert certattn.check(path).verdict is Verdict.VERIFIED
    assert set(certificate.numbers) == {"at_least"}


def test_losses_that_are_all_0(tmp_path: Path) -> None:
    """Of which the rule excludes nothing from below."""
    ones = {name: np.ones_like(array) for name, array in prompts().items()}
    path = tmp_path / "c.yaml"
    certificate = certattn.generate("held-out-risk", path, given={**GIVEN, **ones})
    assert certattn.check(path).verdict is Verdict.VERIFIED
    assert certificate.numbers["at_least"] == 0
    # As (2/(2 - u))^40 = 20 with one of several bets, all of which are paid for.
    assert 0.13 < certificate.numbers["at_most"] < 0.25


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"largest": "1/2"}, "one of the labels has the absolute value 1, above the largest that is stated, 0.5"),
        ({"parameters": {"A": [["1", "0"], ["0", "1"]], "b": "1"}}, "for tokens of this dimension"),
        ({"labels": np.ones((3, 1))}, "one label per token"),
        ({"targets": np.ones((3, 1))}, "one target per query"),
        ({"lengths": ["8"] * 39}, "39 lengths"),
        ({"probability": "2"}, "below 1"),
        ({"tokens": np.full((320, 1), np.nan)}, "finite numbers"),
    ],
)
def test_what_cannot_be_stated_is_said(tmp_path: Path, changed: dict[str, Any], said: str) -> None:
    path = tmp_path / "c.yaml"
    with pytest.raises((certattn.UsageError, certattn.MalformedError), match=said):
        certattn.generate("held-out-risk", path, given={**GIVEN, **prompts(), **changed})
    assert not list(tmp_path.glob("c*"))


def test_no_prompts(tmp_path: Path) -> None:
    with pytest.raises(certattn.UsageError, match="expected --arrays"):
        certattn.generate("held-out-risk", tmp_path / "c.yaml", given=GIVEN)
