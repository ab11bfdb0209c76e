"""Which tests of derivations are heavy."""

from __future__ import annotations

import pytest

# Each proves steps: as they are, or to see that they fail with another formula in the kernel.
HEAVY = ("test_every_step", "test_a_wrong_formula", "test_an_equal_formula")


def pytest_itemcollected(item: pytest.Item) -> None:
    if item.name.startswith(HEAVY):
        item.add_marker("heavy")
