"""Tails over all tilts of a shell and all directions, by averages over small balls: the rate and the volumes.

The module `ball_of_queries` says what they bound, and the page of `output-tail` proves it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from flint import arb, fmpq

from certattn.kernel.decide.obligation import NoBound
from certattn.kernel.mathematics.balls import normal_tail
from certattn.kernel.methods import method

# Cells of the score over [0, r] and [-r, 0], and of what is perpendicular to it over [0, r].
CELLS_ABOVE, CELLS_BELOW, CELLS_ACROSS = 160, 40, 24
# Exponents beyond which a bound is useless.
MOST = 1000


@dataclass(frozen=True)
class Shell:
    """Tilts of a size between two, and how they are averaged."""

    start: arb
    to: arb
    tilts: arb
    outputs: arb
    slope: arb


@dataclass(frozen=True)
class Setting:
    """Dimensions d and d_v, the threshold, the norm of W and how far tokens reach."""

    dimension: int
    outputs: int
    eps: arb
    norm: arb
    within: arb

    def volumes(self, shell: Shell, reach: arb) -> arb:
        """Volumes of what all averages are taken over, in units of one of them."""
        d, h = self.dimension, shell.tilts
        annulus = (shell.to + h) ** d - (shell.start - h).nonnegative_part() ** d
        tilts = annulus.min((reach + h) ** d) / h**d
        return tilts * ((1 + shell.outputs) / shell.outputs) ** self.outputs

    def rate(self, shell: Shell) -> arb:
        """gamma. Raises NoBound where tokens that are cut off may matter, or exponentials are too large."""
        if not (shell.to + shell.tilts + self.within) ** 2 < MOST:
            raise NoBound(f"tilts or tokens reach so far that exponents go beyond {MOST}; expected smaller ones")
        return shell.slope * (shell.start**2 / 2).exp() * self.drift(shell) - self.spread(shell)

    def drift(self, shell: Shell) -> arb:
        """At most -E of <u, W (y - alpha)> - eps over |y| <= r, y of mean alpha."""
        d, room = self.dimension, self.within - shell.to
        if not room > 0:
            raise NoBound("tokens are cut off within the tilts; expected a larger number within")
        found = self.eps * (1 - chi_tail(d, room)) - self.norm * chi_mean(d) * chi_tail(d + 1, room)
        if not found > 0:
            raise NoBound("the tokens that are cut off may matter; expected a larger number within")
        return found

    def spread(self, shell: Shell) -> arb:
        """At least the mean over b and v of E [f^2 psi(f)], psi(x) = (e^x - 1 - x)/x^2, by cells of y."""
        total, low = arb(0), (shell.start - shell.tilts).nonnegative_part()
        high = shell.to + shell.tilts
        for count, sign, size in ((CELLS_ABOVE, 1, high), (CELLS_BELOW, -1, low)):
            step = self.within / count
            for near in range(count):
                ends = sorted((sign * near, sign * (near + 1)))
                left, right = (end * step for end in ends)
                # E e^(2 size g) over the cell, the size |b| being taken where it is largest.
                mass = (2 * size**2).exp() * (normal_tail(left - 2 * size) - normal_tail(right - 2 * size))
                farthest = _largest([abs(left - low), abs(left - high), abs(right - low), abs(right - high)])
                score = Score(near * step, (near + 1) * step, farthest, (size * right).exp())
                total += mass * self._given_score(shell, score)
        return shell.slope**2 * total

    def _given_score(self, shell: Shell, score: Score) -> arb:
        """The mean of (<v, W ((1 + s) y - b)> - eps)^2 psi(f) over what is perpendicular to b, for a cell of scores."""
        d, k = self.dimension, shell.outputs
        s = shell.tilts**2 / (d + 2)
        mean_square = self.norm**2 * (1 + k**2 * self.outputs / arb(self.outputs + 2))
        along = score.farthest + s * score.high

        def squared(across: arb) -> arb:
            """For the mean square of a coordinate that is perpendicular."""
            largest = (along**2).max((1 + s) ** 2 * across)
            return mean_square * largest + 2 * self.eps * mean_square.sqrt() * along + self.eps**2

        def height(across: arb) -> arb:
            """The largest f."""
            far = (score.farthest**2 + across**2).sqrt() + s * self.within
            largest = shell.slope * score.weight * (self.norm * (1 + k) * far - self.eps).nonnegative_part()
            if not largest < MOST:
                raise NoBound(f"an exponent f goes beyond {MOST}; expected a smaller lambda")
            return largest

        if d == 1:
            return psi(height(arb(0))) * squared(arb(0))
        most = height(self.within)
        if most < _LOW:
            return psi(most) * squared(arb(1))
        total, reached = arb(0), self.within**2 - score.low**2
        for (near, far), mass in self._across:
            if near**2 > reached:
                break
            total += mass * psi(height(far)) * squared(far**2 / (d - 1))
        return total

    @cached_property
    def _across(self) -> Sequence[tuple[tuple[arb, arb], arb]]:
        """Cells of the size of d - 1 normal numbers up to r, with their chances."""
        ends = [self.within * i / CELLS_ACROSS for i in range(CELLS_ACROSS + 1)]
        tails = [chi_tail(self.dimension - 1, end) for end in ends]
        return [((ends[i], ends[i + 1]), tails[i] - tails[i + 1]) for i in range(CELLS_ACROSS)]


@dataclass(frozen=True)
class Score:
    """A cell of scores g: the least and the largest |g|, the largest | g - |b| |, and the largest e^(|b| g)."""

    low: arb
    high: arb
    farthest: arb
    weight: arb


_LOW = fmpq(1, 4)


def psi(x: arb) -> arb:
    """(e^x - 1 - x)/x^2 for x >= 0, or a bound of it: at most 1/(2 (1 - x/3)) where x is small."""
    if x < _LOW:
        return 1 / (2 * (1 - x / 3))
    return (x.exp() - 1 - x) / x**2


@method
def chi_tail(d: int, x: arb) -> arb:
    """P(|y| > x) for d independent standard normal numbers, x >= 0."""
    return (x**2 / 2).gamma_upper(arb(d) / 2, regularized=1)


def chi_mean(d: int) -> arb:
    """E |y|."""
    return arb(2).sqrt() * (arb(d + 1) / 2).gamma() / (arb(d) / 2).gamma()


def _largest(numbers: Sequence[arb]) -> arb:
    found = numbers[0]
    for number in numbers[1:]:
        found = found.max(number)
    return found
