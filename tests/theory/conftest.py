"""Shared by the tests of derivations: this folder's helper module, and which tests are heavy."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

# pytest leaves test folders off sys.path here.
sys.path.insert(0, str(Path(__file__).resolve().parent))

# Each proves a step again, to see that it fails with another formula in the kernel.
HEAVY = ("test_a_wrong_formula_is", "test_another_formula_is", "test_another_function_of")


def pytest_itemcollected(item: pytest.Item) -> None:
    if item.name.startswith(HEAVY):
        item.add_marker("heavy")
