"""`certattn generate theorem-4-3`: lengths and distances that verify, and next to which nothing is proved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import certattn
from certattn import NotProvedError, UsageError, Verdict

BOUNDED = {"dimension": 1, "sigma": "1/4", "query_radius": 1}
SUB_GAUSSIAN = {"dimension": 1, "sigma": "1/4", "query_dimension": 1, "query_sigma": 1}
TASK: dict[str, Any] = {
    "class": BOUNDED,
    "loss": {"smoothness": 1, "shape": "convex", "at_zero": "1/8"},
    "start": {"U": "1/4", "V": "1/4"},
    "time": 1,
}


def length_of(certificate: certattn.Certificate) -> int:
    return int(certificate.plain["given"]["length"])  # type: ignore[arg-type,call-overload,index]


@pytest.mark.parametrize("laws", [BOUNDED, SUB_GAUSSIAN], ids=["bounded", "sub-Gaussian"])
def test_a_length_is_found_and_the_one_before_is_not_proved(tmp_path: Path, laws: dict[str, Any]) -> None:
    path = tmp_path / "c.yaml"
    length = length_of(certattn.generate("theorem-4-3", path, given={**TASK, "class": laws}, pieces=3))
    assert certattn.check(path).verdict is Verdict.VERIFIED
    shorter = path.read_text().replace(f"length: {length}\n", f"length: {round(length * 0.98) - 1}\n")
    path.write_text(shorter)
    assert certattn.check(path).verdict is Verdict.REJECTED


def test_at_a_length_a_distance_is_found(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    certificate = certattn.generate("theorem-4-3", path, given={**TASK, "length": 1000}, pieces=3)
    assert certattn.check(path).verdict is Verdict.VERIFIED
    assert certificate.numbers["distance"] < 0.03
    found = certattn.generate("theorem-4-3", path, given=TASK, pieces=3, distance=str(certificate.numbers["distance"]))
    assert 900 < length_of(found) <= 1000


def test_descent_with_steps_that_are_too_large_is_not_stated(tmp_path: Path) -> None:
    task = {name: part for name, part in TASK.items() if name != "time"}
    with pytest.raises(NotProvedError, match="no distance <= 0"):
        certattn.generate("theorem-4-3", tmp_path / "c.yaml", given={**task, "step": 40, "steps": 1}, pieces=3)
    certattn.generate("theorem-4-3", tmp_path / "c.yaml", given={**task, "step": "1/4", "steps": 4}, pieces=3)
    assert certattn.check(tmp_path / "c.yaml").verdict is Verdict.VERIFIED


@pytest.mark.parametrize(
    ("change", "inputs", "said"),
    [
        ({"time": 1000}, {}, "grows exponentially with the time"),
        ({"time": 100, "length": 1000}, {}, "no distance is proved for prompts of 1000 tokens"),
    ],
)
def test_long_times_are_not_proved(tmp_path: Path, change: dict[str, Any], inputs: dict[str, Any], said: str) -> None:
    with pytest.raises(NotProvedError, match=said):
        certattn.generate("theorem-4-3", tmp_path / "c.yaml", given={**TASK, **change}, pieces=2, **inputs)


@pytest.mark.parametrize(
    ("change", "inputs", "said"),
    [
        ({"length": 1000}, {"distance": 1}, "a length and a distance"),
        ({}, {"distance": 0}, "distance"),
        ({}, {"pieces": 0}, "pieces"),
    ],
)
def test_what_makes_no_sense_is_refused(
    tmp_path: Path, change: dict[str, Any], inputs: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        certattn.generate("theorem-4-3", tmp_path / "c.yaml", given={**TASK, **change}, **inputs)
