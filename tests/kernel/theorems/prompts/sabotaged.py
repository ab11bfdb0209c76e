"""Obligations that hold whatever they compare, for sabotages of theorems: in the place of what a module calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flint import fmpq

from certattn.kernel.decide.obligation import Obligation


def true(name: str, *others: Any, **named: Any) -> Obligation:
    return Obligation(name, fmpq(0), "<=", fmpq(0))


def unless(end: str) -> Callable[..., Obligation]:
    """Obligations, of which those whose names end so hold whatever is compared."""

    def made(name: str, *others: Any, **named: Any) -> Obligation:
        return true(name) if f".{name}".endswith(f".{end}") else Obligation(name, *others, **named)

    return made
