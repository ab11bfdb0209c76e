"""One head on one prompt: what the certificates about it are made from."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import CertattnError

ARRAYS = "arrays.npz"
Doubles = NDArray[np.float64]


@dataclass(frozen=True)
class Head:
    """Queries, keys and values of one head, a row for each token, as they stand in the file ARRAYS of `folder`.

    scale: as certificates write it. causal: whether query i sees the first i + 1 tokens alone.
    """

    folder: Path
    scale: str
    factor: float
    causal: bool
    queries: NDArray[np.float32]
    keys: NDArray[np.float32]
    values: NDArray[np.float32]

    @property
    def source(self) -> Path:
        return self.folder / ARRAYS

    @property
    def tokens(self) -> int:
        return len(self.keys)

    @cached_property
    def scores(self) -> Doubles:
        """Query by token, in doubles: to look for what to state."""
        found: Doubles = self.queries.astype(np.float64) @ self.keys.T.astype(np.float64) * self.factor
        return found

    @cached_property
    def seen(self) -> NDArray[np.int64]:
        """How many of the first tokens each query sees."""
        count = len(self.queries)
        return np.arange(1, count + 1) if self.causal else np.full(count, self.tokens)


@dataclass
class Statement:
    """What is stated of a head in one respect: certificates in its folder, figures from them, or why there are none."""

    certificates: list[str] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)
    missing: str = ""


def reason(error: CertattnError) -> str:
    """Why something could not be stated, in one line."""
    return " ".join(str(error).split())


def mapping(node: Plain) -> dict[str, Any]:
    """A section of a certificate that is a mapping."""
    if not isinstance(node, dict):
        raise TypeError(f"a {type(node).__name__} where certificates have a mapping")
    return node
