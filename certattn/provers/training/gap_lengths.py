"""The shortest prompts for which a majorant keeps the risk's gap over a ball below stated bounds, for `risk-gap`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, exp, log

from flint import arb, fmpq

from certattn.kernel.errors import NotProvedError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.training.gap_lines import Gap, Lines
from certattn.kernel.theorems.training.risk_gap import Ball, Logistic, Majorant, Power
from certattn.provers.rounding import as_float
from certattn.provers.training.gap_slopes import lines
from certattn.provers.training.gap_tables import tabulated

BITS = 64
_LONGEST = 10**15
# theta of a power: multiples of 1/_GRID of the largest.
_GRID = 32
# Lines take seconds a length: lengths that are neighbours up to this part are not told apart.
_FINEST = 128
# The first length that is tried, and the largest step from one to the next.
_FIRST, _LARGEST_STEP = 64, 64.0


@dataclass(frozen=True)
class Search:
    """Majorants of a kind over a ball, `asked` the bounds that they should keep; `theta` is of a power."""

    ball: Ball
    gap: Gap
    kind: str
    theta: fmpq | None
    asked: Mapping[str, fmpq]

    def majorant(self, length: int) -> Majorant | Lines:
        if self.kind == "lines":
            return lines(length, self.gap)
        if self.kind == "logistic":
            return Logistic(length)
        with working_precision(BITS):
            scale = self.ball.scale()
            if self.kind == "table":
                return tabulated(length, scale, self._objective)
            thetas = [self.theta] if self.theta is not None else self._thetas(scale)
            return min((Power(length, theta) for theta in thetas), key=self._worst)

    def bounds(self, majorant: Majorant | Lines) -> dict[str, arb]:
        """Of R_L - R and R - R_L; lines bound the first alone."""
        with working_precision(BITS):
            if isinstance(majorant, Lines):
                return {"excess": majorant.excess(self.gap, BITS // 2)}
            plain, weighted = (majorant.average(k, self.ball.scale(), BITS) for k in (0, 1))
            excess, shortfall = self.ball.excess(plain, weighted), self.ball.shortfall(plain, weighted)
            return {"excess": excess, "shortfall": shortfall}

    def shortest(self) -> tuple[int, Majorant | Lines]:
        """The least length at which the bounds are kept, and the majorant there."""
        low, high, length = 1, 0, _FIRST
        tried: list[tuple[int, float]] = []
        found: Majorant | Lines | None = None
        while found is None or high - low > (max(1, high // _FINEST) if self.kind == "lines" else 1):
            majorant = self.majorant(length)
            ratio = self._worst(majorant)
            tried.append((length, ratio))
            if ratio < 1:
                high, found = length, majorant
            else:
                low = length
            if low >= _LONGEST:
                raise NotProvedError(
                    f"no length up to {_LONGEST} is shown to be enough by the majorant {self.kind}{self._instead()}"
                )
            guess = _guess(tried)
            length = max(guess, low + 1) if high == 0 else min(max(guess, low + 1), high - 1)
        return high, found

    def _instead(self) -> str:
        """A majorant that may find one."""
        other = "power" if self.kind in ("table", "logistic") else "table"
        return f"; try --majorant {other}, a smaller ball, or larger bounds"

    def _objective(self, plain: float, weighted: float) -> float:
        """The largest quotient of a bound and what is asked; the excess where nothing is."""
        found = {
            "excess": self.ball.excess(arb(plain), arb(weighted)),
            "shortfall": self.ball.shortfall(arb(plain), arb(weighted)),
        }
        asked = self.asked or {"excess": fmpq(1)}
        return max(float(found[name]) / max(as_float(bound), 1e-300) for name, bound in asked.items())

    def _worst(self, majorant: Majorant | Lines) -> float:
        """The same of a majorant, rounded up; infinite where it has no averages."""
        found, asked = self.bounds(majorant), self.asked or {"excess": fmpq(1)}
        if any(bound.is_finite() is not True for bound in found.values()):
            return float("inf")
        with working_precision(BITS):
            kept = all((found[name] <= bound) is True for name, bound in asked.items())
            ratio = max(float(found[name].upper()) / max(as_float(bound), 1e-300) for name, bound in asked.items())
        return min(ratio, 1 - 1e-15) if kept else max(ratio, 1.0)

    def _thetas(self, scale: arb) -> list[fmpq]:
        """Exponents with a finite average, 2 theta r^2 < 1."""
        largest = min(1.0, 0.5 / float(scale.upper()))
        return [fmpq(int(largest * k * 2**20), _GRID * 2**20) for k in range(1, _GRID) if int(largest * k * 2**20) > 0]


def _guess(tried: list[tuple[int, float]]) -> int:
    """Where the bound would be the stated one, by the last two lengths and their quotients of the two.

    Bounds fall about like a power of the length; where no power is known yet, like length^(-5/8).
    """
    length, ratio = tried[-1]
    if ratio == float("inf"):
        return int(length * _LARGEST_STEP)
    power = -0.625
    if len(tried) > 1 and 0 < tried[-2][1] < float("inf") and ratio > 0 and tried[-2][1] != ratio:
        power = min(log(ratio / tried[-2][1]) / log(length / tried[-2][0]), -0.05)
    most = log(_LARGEST_STEP)
    step = exp(min(max(-log(max(ratio, 1e-300)) / power, -most), most))
    return ceil(length * step)
