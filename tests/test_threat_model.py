"""What the threat model leans on is there: every test, function, file and option that it names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "threat-model.md").read_text()
CODE = {path: path.read_text() for folder in ("certattn", "tests") for path in (ROOT / folder).rglob("*.py")}
QUOTED = sorted(set(re.findall(r"`([^`\n]+)`", PAGE)))


@pytest.mark.parametrize("name", [q for q in QUOTED if q.endswith(".py") and " " not in q and q != "numpy.py"])
def test_files_are_there(name: str) -> None:
    folders = (ROOT, ROOT / "tests", ROOT / "certattn" / "kernel")
    assert any((folder / name).is_file() for folder in folders)


@pytest.mark.parametrize("name", [q for q in QUOTED if q.startswith("test_")])
def test_tests_are_there(name: str) -> None:
    assert sum(f"def {name}(" in text for text in CODE.values()) == 1


@pytest.mark.parametrize("name", ["Proof", "find_certificates", "require_sound_arithmetic", "NotFiniteError"])
def test_functions_are_there(name: str) -> None:
    assert name in QUOTED
    assert any(re.search(rf"^(def|class) {name}\b", text, re.MULTILINE) for text in CODE.values())
