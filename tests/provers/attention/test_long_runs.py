"""Runs in parts: interrupted and begun again, and notes that are not what they should be."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import certattn
from certattn.provers.attention import deviation_search
from certattn.provers.attention.long_runs import Notes, in_parts, notes_beside


def square(part: Sequence[int]) -> list[str]:
    return [str(item * item) for item in part]


def test_results_come_in_order(tmp_path: Path) -> None:
    said: list[tuple[int, int]] = []
    found = in_parts(range(7), 3, square, Notes(tmp_path / "n", "t"), lambda done, of, left: said.append((done, of)))
    assert found == ["0", "1", "4", "9", "16", "25", "36"]
    assert said == [(1, 3), (2, 3), (3, 3)]


def test_what_is_done_is_not_done_again(tmp_path: Path) -> None:
    done: list[int] = []

    def work(part: Sequence[int]) -> list[str]:
        if part[0] == 4 and len(done) == 2:
            raise KeyboardInterrupt
        done.append(part[0])
        return square(part)

    for _ in range(2):
        try:
            with notes_beside(tmp_path / "c.yaml", "task") as notes:
                found = in_parts(range(6), 2, work, notes, lambda *_: None)
        except KeyboardInterrupt:
            assert [path.name for path in tmp_path.iterdir()] == ["c.yaml.partial"]
            done.append(-1)
    assert done == [0, 2, -1, 4]
    assert found == square(range(6))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "content", ["", "{}", "[]", '{"task": 1, "parts": {}}', '{"task": "KEY", "parts": {"0:2": ["7"]}}', "\0"]
)
def test_other_notes_count_for_nothing(content: str, tmp_path: Path) -> None:
    path = tmp_path / "n"
    Notes(path, "task").keep([5], ["x"])
    key = path.read_text().split('"')[3]
    path.write_text(content.replace("KEY", key))
    assert in_parts(range(2), 2, square, Notes(path, "task"), lambda *_: None) == ["0", "1"]


def test_notes_of_another_task_count_for_nothing(tmp_path: Path) -> None:
    Notes(tmp_path / "n", "one").keep([0, 1], ["7", "7"])
    assert Notes(tmp_path / "n", "one").known([0, 1]) == ["7", "7"]
    assert Notes(tmp_path / "n", "other").known([0, 1]) is None


def test_a_long_generation_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    np.savez(
        tmp_path / "p.npz",
        keys=rng.normal(size=(9, 2)),
        values=rng.normal(size=(9, 2)),
        queries=rng.normal(size=(5, 2)),
    )
    certattn.generate("output-deviation", tmp_path / "once.yaml", source=tmp_path / "p.npz", per_query=True)
    monkeypatch.setattr(deviation_search, "_PART", 2 * 9 * 4)
    whole, asked = deviation_search._bounds, []

    def interrupted(problem: Any, rows: Sequence[int], arithmetic: str) -> Any:
        asked.append(list(rows))
        if len(asked) == 2:
            raise KeyboardInterrupt
        return whole(problem, rows, arithmetic)

    monkeypatch.setattr(deviation_search, "_bounds", interrupted)
    out = tmp_path / "parts.yaml"
    with pytest.raises(KeyboardInterrupt):
        certattn.generate("output-deviation", out, source=tmp_path / "p.npz", per_query=True)
    assert not out.exists()
    certattn.generate("output-deviation", out, source=tmp_path / "p.npz", per_query=True)
    assert asked == [[0, 1], [2, 3], [2, 3], [4]]
    assert out.read_text() == (tmp_path / "once.yaml").read_text()
    assert not (tmp_path / "parts.yaml.partial").exists()


@pytest.mark.parametrize("arithmetic", ["auto", "binary64", "arb"])
def test_every_arithmetic_generates_what_verifies(arithmetic: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    arrays = {"tokens": rng.normal(size=(50, 3)), "queries": rng.normal(size=(5, 3))}
    made = certattn.generate("output-deviation", tmp_path / "c.yaml", arithmetic=arithmetic, **arrays)
    assert certattn.check(tmp_path / "c.yaml").verdict is certattn.Verdict.VERIFIED
    asserts: Any = made.plain["asserts"]
    bound = float(asserts["deviation"]["at_most"])
    x, q = arrays["tokens"], arrays["queries"]
    weights = np.exp(q @ x.T)
    off = weights @ x / weights.sum(1)[:, None] - x.mean(0) - q @ np.cov(x.T, bias=True)
    assert bound == pytest.approx(np.linalg.norm(off, axis=1).max(), rel=2e-5)


def test_npy_files_by_name(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    for name, shape in {"keys": (9, 2), "values": (9, 3), "queries": (4, 2)}.items():
        np.save(tmp_path / f"{name}.npy", rng.normal(size=shape))
    names = {name: str(tmp_path / f"{name}.npy") for name in ("keys", "values", "queries")}
    made = certattn.generate("output-deviation", tmp_path / "c.yaml", names=names)
    given: Any = made.plain["given"]
    assert given["keys"]["file"] == "keys.npy"
    assert "array" not in given["keys"]
    tokens = certattn.generate(
        "output-deviation", tmp_path / "t.yaml", source=tmp_path / "keys.npy", names={"queries": names["queries"]}
    )
    assert {"tokens", "queries"} <= set(tokens.plain["given"])  # type: ignore[arg-type]
    for path in ("c.yaml", "t.yaml"):
        assert certattn.check(tmp_path / path).verdict is certattn.Verdict.VERIFIED
