"""Arrays of a small prompt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

Arrays = dict[str, np.ndarray[Any, Any]]


@pytest.fixture
def prompt() -> Callable[..., Arrays]:
    """Keys, values and queries, of a number type."""

    def make(dtype: str = "float32", tokens: int = 6, queries: int = 3) -> Arrays:
        rng = np.random.default_rng(7)
        shapes = {"keys": (tokens, 2), "values": (tokens, 3), "queries": (queries, 2)}
        return {name: (4 * rng.normal(size=shape)).astype(dtype) for name, shape in shapes.items()}

    return make


@pytest.fixture
def tokens() -> Arrays:
    """Tokens with K, Q and V."""
    rng = np.random.default_rng(8)
    shapes = {"tokens": (6, 4), "queries": (3, 5), "K": (2, 4), "Q": (2, 5), "V": (3, 4)}
    return {name: rng.normal(size=shape) for name, shape in shapes.items()}
