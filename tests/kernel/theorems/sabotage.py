"""Obligations that a broken theorem might list."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flint import fmpq

from certattn.kernel.decide.obligation import Obligation


def proved_in_place(of: str) -> Callable[..., Obligation]:
    """In place of the class `Obligation`: those of this relation are proved, whatever their sides."""

    def listed(name: str, left: Any, relation: Any, right: Any, *more: Any, **others: Any) -> Obligation:
        if relation == of:
            left, relation, right, others = fmpq(0), "=", fmpq(0), {**others, "fast": {}}
        return Obligation(name, left, relation, right, *more[:2], **others)

    return listed
