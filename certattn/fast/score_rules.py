"""What kernels do to scores before the softmax, in binary64: c tanh(x / c) - a |r - j|, and a sink. Docs: binary64.md.

With |x' - x| <= delta for the score x' that was computed, what is made of it here is off by at most delta + `slack`:
neither tanh nor the distance makes an error larger.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from certattn.fast.exponential import DEPTH, LN2, exp_shifted, relative_error, require_reach
from certattn.fast.sums import Scratch
from certattn.fast.units import LARGEST, UNDERFLOW, UNIT, UP, Floats
from certattn.kernel.errors import RefusedError

# Scores that a distance has lowered are raised to this, if they are below.
LOWEST = -9000.0
# From here on tanh(x / 2) is 1 up to 2 e^-80.
_FLAT = 80.0


@dataclass(frozen=True)
class ScoreRule:
    """Doubles within u of the numbers that are meant, relatively; no cap and no sink where they are None."""

    cap: float | None = None
    slope: float = 0.0
    sink: float | None = None

    @classmethod
    def near(cls, cap: fmpq | None, slope: fmpq, sink: fmpq | None) -> ScoreRule:
        """Of the numbers that are meant, the cap above 0. Raises RefusedError for those that are not near a double."""
        return cls(None if cap is None else _near(cap), _near(slope), None if sink is None else _near(sink))

    def on(self, tokens: slice, diagonal: Sequence[int], scratch: Scratch) -> Callable[[Floats], None] | None:
        """What is done to scores of some tokens; None for nothing."""
        if self.cap is None and self.slope == 0:
            return None
        return partial(self.change, tokens=tokens, diagonal=np.asarray(diagonal), scratch=scratch)

    def change(self, scores: Floats, tokens: slice, diagonal: NDArray[np.int64], scratch: Scratch) -> None:
        """The scores of queries (rows) and tokens (columns), in place. Raises RefusedError."""
        require_reach(float(scores.min()), float(scores.max()))
        if self.cap is not None:
            room = scratch.array("capped", *scores.shape)
            exponents = scratch.array("exponents", *scores.shape)
            np.abs(scores, out=exponents)
            np.multiply(exponents, 2 / self.cap, out=exponents)
            np.minimum(exponents, _FLAT, out=exponents)
            np.negative(exponents, out=exponents)
            # t = e^(-2 |x| / c), and tanh(|x| / c) = (1 - t) / (1 + t).
            exp_shifted(exponents, 0, room, scratch.work(*scores.shape))
            np.subtract(1.0, room, out=exponents)
            np.add(room, 1.0, out=room)
            np.divide(exponents, room, out=exponents)
            np.multiply(exponents, self.cap, out=exponents)
            np.copysign(exponents, scores, out=scores)
        if self.slope != 0:
            distances = np.abs(np.arange(tokens.start, tokens.stop) - diagonal[:, None])
            scores -= self.slope * distances
            np.maximum(scores, LOWEST, out=scores)

    def slack(self, sizes: Floats, farthest: int) -> Floats:
        """For scores of at most these sizes, by query, and tokens no farther from the diagonals.

        Of the cap c: 2 |x| / c is off by 4 u of itself, of which tanh keeps less than half; t by its relative error
        eps, of which it keeps half; 1 - t, 1 + t, the quotient, the product and c itself by u each; and what is flat
        by 2 e^-80. Of a slope: u for itself, for the product and for the difference. Of a sink: u.
        """
        found = np.zeros_like(sizes)
        if self.cap is not None:
            found += self.cap * (relative_error() + 9 * UNIT) + 8 * UNDERFLOW * (1 + self.cap)
            sizes = np.minimum(sizes, self.cap)
        if self.slope != 0:
            lowered = abs(self.slope) * farthest
            found += 4 * UNIT * (lowered + sizes) + UNDERFLOW
        if self.sink is not None:
            found += 2 * UNIT * abs(self.sink) + UNDERFLOW
        return found * UP

    @staticmethod
    def require_far_above_lowest(exponent: Floats) -> None:
        """Raises RefusedError unless what was raised to `LOWEST` has weights below 2^-1000, for K of the sums.

        Then it is raised no higher than `sums` raises what it clamps.
        """
        if not bool((exponent >= LOWEST / LN2 + DEPTH + 1).all()):
            raise RefusedError("scores so low that distances cannot be told from what is raised")


def _near(number: fmpq) -> float:
    """The nearest double of 0, or of a number from 2^-400 to 2^400."""
    most = fmpq(int(LARGEST))
    if number != 0 and (1 / most <= abs(number) <= most) is not True:
        raise RefusedError("a soft cap, a slope or a sink beyond the range of binary64")
    # Division of Python's integers is correctly rounded.
    return int(number.p) / int(number.q)
