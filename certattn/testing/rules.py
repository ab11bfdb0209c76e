"""What kernels do to scores, and stated masks, as `certattn.testing.attention_error` takes them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from certattn.fast.score_rules import ScoreRule
from certattn.kernel.errors import UsageError
from certattn.testing.arrays import Numbers, booleans
from certattn.testing.exact_numbers import exact_cap

ZERO = "zero"


@dataclass(frozen=True)
class Rules:
    """A soft cap, a slope and a sink by head, where there are such: arrays as they are stored."""

    soft_cap: Fraction | None = None
    alibi: Numbers | None = None
    sinks: Numbers | None = None

    @classmethod
    def of(cls, soft_cap: Any, alibi: Any, sinks: Any) -> Rules:
        """Raises UsageError."""
        cap = None if soft_cap is None else exact_cap(soft_cap, "soft_cap")
        by_head = {name: Numbers.of(x, name) for name, x in (("alibi", alibi), ("sinks", sinks)) if x is not None}
        return cls(cap, **by_head)

    def require(self, heads: int) -> None:
        """Raises UsageError for another number of slopes or sinks than of query heads, or for those that are none."""
        for name, numbers in (("alibi", self.alibi), ("sinks", self.sinks)):
            # Axes of 1 do not matter, so that (1, H, 1, 1) is as good as (H,).
            if numbers is not None and not max(numbers.shape) == numbers.bits.size == heads:
                raise UsageError(f"{name} has the shape {numbers.shape}, expected {(heads,)}: one for each query head")
            if numbers is not None and not np.isfinite(_doubles(numbers)).all():
                raise UsageError(f"{name} has NaN or an infinity; expected finite numbers")

    def of_head(self, head: int) -> ScoreRule | None:
        """In doubles; None where nothing is done."""
        if self.soft_cap is None and self.alibi is None and self.sinks is None:
            return None
        slope, sink = (None if x is None else _exact(_doubles(x)[head].item()) for x in (self.alibi, self.sinks))
        cap = None if self.soft_cap is None else fmpq(self.soft_cap.numerator, self.soft_cap.denominator)
        return ScoreRule.near(cap, slope or fmpq(0), sink)


def _doubles(numbers: Numbers) -> NDArray[np.float64]:
    return numbers.doubles().reshape(-1)


def _exact(number: float) -> fmpq:
    return fmpq(*number.as_integer_ratio())


def mask_of(mask: Any, batches: int, heads: int, queries: int, tokens: int) -> NDArray[np.bool_]:
    """True where a query sees a token, of four dimensions, of which the first two may be 1. Raises UsageError."""
    found = booleans(mask, "mask")
    four = found.reshape((1,) * (4 - found.ndim) + found.shape) if found.ndim <= 4 else found
    fits = four.shape[:2] in {(b, h) for b in (1, batches) for h in (1, heads)} and found.ndim in (2, 3, 4)
    if not fits or four.shape[2:] != (queries, tokens):
        raise UsageError(
            f"mask has the shape {found.shape}, expected {(queries, tokens)}, or heads, or batches and heads, before "
            f"these, as {(batches, heads, queries, tokens)}; either may be 1"
        )
    return four
