"""Limits are numbers of something: whatever else is refused before anything is checked with it."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from certattn.kernel.errors import UsageError
from certattn.kernel.limits import DEFAULT_LIMITS, Limits

NAMES = [field.name for field in fields(Limits)]


def least(name: str) -> int:
    return 2 if name.endswith("_bits") else 1


@pytest.mark.parametrize("name", NAMES)
def test_every_limit_may_be_small(name: str) -> None:
    assert getattr(Limits(**{name: least(name)}), name) == least(name)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", [0, -1, "x", "5", 1e9, None, True])
def test_what_is_no_limit_is_refused(name: str, value: Any) -> None:
    with pytest.raises(UsageError, match=f"the limit {name} is .*, expected an integer >= {least(name)}"):
        Limits(**{name: value})


def test_one_bit_is_no_precision() -> None:
    for name in ("start_bits", "max_bits"):
        with pytest.raises(UsageError, match="expected an integer >= 2"):
            Limits(**{name: 1})


def test_the_defaults_are_limits() -> None:
    assert Limits() == DEFAULT_LIMITS
