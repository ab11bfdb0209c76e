"""A certificate of what a test asserts, with its arrays beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from certattn.kernel.document.schema import Field
from certattn.testing.arrays import Numbers
from certattn.testing.heads import Heads


def keep_certificate(
    folder: Path, arrays: Sequence[Numbers], heads: Heads, layout: str, bounds: Mapping[Field[Any], float]
) -> Path:
    """Write it, and return its path."""
    raise NotImplementedError
