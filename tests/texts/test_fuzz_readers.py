"""A few seconds of `tools/fuzz/two_readers.py` with a fixed seed, and what it notices."""

from __future__ import annotations

import io
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest


@pytest.fixture
def fuzz(tool: Callable[[str], ModuleType]) -> Any:
    return tool("fuzz.two_readers")


def test_thousands_of_texts_and_files(fuzz: Any) -> None:
    counts, findings = fuzz.run(3000, 7)
    assert findings == []
    # Both sides have to be met often for this to mean something.
    assert counts["texts: both read"] > 500
    assert counts["texts: both refuse"] > 500
    assert counts["arrays: both read"] > 30
    assert counts["arrays: both refuse"] > 300


def test_the_same_seed_gives_the_same_inputs(fuzz: Any) -> None:
    first, second = ([fuzz.damaged_text(rng, ["a: 1"]) for _ in range(50)] for rng in map(fuzz.random.Random, (3, 3)))
    assert first == second


@pytest.mark.parametrize(
    ("reader", "change", "text", "standing"),
    [
        ("second_tree", lambda tree: {**tree, "a": "2"}, "a: 1", "two statements"),
        ("kernel_tree", lambda tree: "refused", "a: 1", "only the second checker reads"),
        ("second_tree", lambda tree: "refused", "a: 1", "only the kernel reads"),
        ("yaml_tree", lambda tree: {}, "a: 1", "another statement to libyaml"),
        ("second_number", lambda number: (1, 1), "a: 0.1", "two numbers"),
        ("second_certificate", lambda top: "none", "a: 1", "two outer forms"),
    ],
)
def test_differences_are_noticed(
    reader: str, change: Callable[[Any], Any], text: str, standing: str, fuzz: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert fuzz.compare_texts(text) == ("both read", "")
    true = getattr(fuzz, reader)
    monkeypatch.setattr(fuzz, reader, lambda given: change(true(given)))
    assert fuzz.compare_texts(text)[0] == standing


def test_a_difference_of_arrays_is_noticed(fuzz: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    held = io.BytesIO()
    np.save(held, np.array([1.0, 2.0]))
    given = ".npy", held.getvalue(), None, ("float64", (2,))
    assert fuzz.compare_arrays(*given) == ("both read", "")
    monkeypatch.setattr(fuzz.recheck, "unpack", lambda *_: [1, 3])
    assert fuzz.compare_arrays(*given)[0] == "two arrays"


def test_findings_end_with_1(fuzz: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr("sys.argv", ["two_readers.py", "--count", "5"])
    assert fuzz.main() == 0
    assert "0 findings" in capsys.readouterr().out
    monkeypatch.setattr(fuzz, "second_tree", lambda text: {})
    assert fuzz.main() == 1
    assert "text 0: " in capsys.readouterr().out
