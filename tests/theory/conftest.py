"""Shared by the tests of derivations: this folder's helper module, and which tests are heavy."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

# pytest leaves test folders off sys.path here.
sys.path.insert(0, str(Path(__file__).resolve().parent))

# Each proves steps: as they are, or to see that they fail with another formula in the kernel.
HEAVY = (
    "test_every_step", "test_a_wrong_formula", "test_another_formula", "test_another_function",
)  # fmt: skip


def pytest_itemcollected(item: pytest.Item) -> None:
    if item.name.startswith(HEAVY):
        item.add_marker("heavy")
