"""Tails over all tilts of a shell and all directions, by averages over small balls: the rate and the volumes.

The module `ball_of_queries` says what they bound, and the page of `output-tail` proves it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from flint import arb

from certattn.kernel.decide.obligation import NoBound
from certattn.kernel.methods import method

# Up to which order moments of f are taken; terms of the exponential, and how large f may be, for a geometric remainder.
ORDERS, TERMS, HIGHEST = 16, 48, 32
# Exponents beyond which a bound is useless.
MOST = 1000
# Of a moment of f, by a shell and log E e^<alpha,y>.
Bound = Callable[["Shell", arb], arb]


@dataclass(frozen=True)
class Shell:
    """Tilts of a size between two, log E e^<alpha,y> between two numbers, and how they are averaged."""

    start: arb
    to: arb
    least: arb
    tilts: arb
    outputs: arb
    heights: arb
    slope: arb

    @property
    def most(self) -> arb:
        return self.to**2 / 2


@dataclass(frozen=True)
class AtCentre:
    """Bounded tokens by alpha_0, the tilt of the ball's centre.

    The least log E e^<alpha,y> over the ball; under the tilt 2 alpha_0 log E e^<2 alpha_0,y>, the norm and the trace of
    the covariance of W y, and how far its mean is from that under alpha_0; and how far tilts are from alpha_0 at most.
    """

    least: arb
    log_mgf: arb
    covariance: arb
    trace: arb
    off: arb
    reach: arb


@dataclass(frozen=True)
class Setting:
    """Dimensions of tokens, tilts and outputs, the threshold, the norm of W and how far tokens reach.

    Where they are `bounded` they do, and what they are at the `centre` is known. Gaussian tokens are cut off there.
    """

    dimension: int
    queries: int
    outputs: int
    eps: arb
    norm: arb
    within: arb
    bounded: bool
    centre: AtCentre | None = None

    def volumes(self, shell: Shell, reach: arb) -> arb:
        """Volumes of what all averages are taken over, in units of one of them."""
        d, d_v, h, k = self.queries, self.outputs, shell.tilts, shell.outputs
        annulus = (shell.to + h) ** d - (shell.start - h).nonnegative_part() ** d
        tilts = annulus.min((reach + h) ** d) / h**d
        directions = ((1 + k) ** d_v - (1 - k).nonnegative_part() ** d_v) / k**d_v
        return tilts * directions * (1 + self.norm * (1 + k) * h / shell.heights)

    @method
    def rate(self, shell: Shell) -> arb:
        """gamma, by the best order of moments. Raises NoBound."""
        if not (shell.to + shell.tilts + self.within) ** 2 < MOST:
            raise NoBound(f"tilts or tokens reach so far that exponents go beyond {MOST}; expected smaller ones")
        drift, highest = self.drift(shell), self.highest(shell)
        if not highest < HIGHEST:
            raise NoBound(f"an exponent f goes beyond {HIGHEST}; expected a smaller lambda")
        best = arb.neg_inf()
        for second_moment in self.second_moments():
            low, high = (
                [shell.slope * at.exp() * drift - rest for rest in self.spreads(shell, at, highest, second_moment)]
                for at in (shell.least, shell.most)
            )
            # Each is concave in E e^<alpha,y>, for one bound and order: between the two it is at least the smaller one.
            for ends in zip(low, high, strict=False):
                best = best.max(ends[0].min(ends[1]))
        return best

    def drift(self, shell: Shell) -> arb:
        """At most -E of <u, W (y - tau)> - eps over the tokens that count, y of the tilt alpha."""
        if self.bounded:
            return self.eps
        d, room = self.dimension, self.within - shell.to
        if not room > 0:
            raise NoBound("tokens are cut off within the tilts; expected a larger number within")
        found = self.eps * (1 - chi_tail(d, room)) - self.norm * chi_mean(d) * chi_tail(d + 1, room)
        if not found > 0:
            raise NoBound("the tokens that are cut off may matter; expected a larger number within")
        return found

    def highest(self, shell: Shell) -> arb:
        """The largest f."""
        size, norm = shell.to + shell.tilts, self.norm * (1 + shell.outputs)
        steepest, room = shell.slope * (size * self.within).exp(), shell.heights - self.eps
        if self.bounded:
            # tau is a mean of tokens, and at most as large as the tilt.
            return steepest * (norm * (self.within + shell.to.min(self.within)) + room).nonnegative_part()
        gap, room = self.within - size, room + norm * shell.tilts
        if not (gap > 0 and norm * (gap - 1 / gap) + room > 0):
            raise NoBound("f may be largest where tokens are near; expected a larger number within")
        return steepest * (norm * gap + room)

    def holds_onwards(self, shell: Shell) -> bool:
        """Whether the bound falls with the length, for tokens that are cut off at a number that grows with it."""
        size, d = shell.to + shell.tilts, self.dimension
        beside = shell.tilts - size + (shell.heights - self.eps) / (self.norm * (1 + shell.outputs))
        far = self.within + beside
        if not (far > 0 and self.within / 2 > size + 1 / far):
            return False
        return bool(self.within**2 >= 2 * (d - 2))

    def spreads(self, shell: Shell, log_mgf: arb, highest: arb, second_moment: Bound) -> Iterator[arb]:
        """At least the mean over b, v and c of E [e^f - 1 - f]: moments of f, and a remainder from an order on."""
        rest, second = remainders(highest), second_moment(shell, log_mgf)
        yield rest[2] * second
        before = second / 2
        for order, moment in enumerate(self.moments(shell, log_mgf), 3):
            yield before + rest[order] * moment
            before += moment / math.factorial(order)

    def log_mgf_of_multiple(self, shell: Shell, log_mgf: arb, p: int) -> arb:
        """At least log E e^<p alpha,y>: by the covariance of y, or by its size, the same for all of a shell."""
        size, gain = shell.to, p * shell.to**2 / 2
        if self.bounded and shell.most + gain > size * self.within:
            return log_mgf + (p - 1) * size * self.within
        return p * log_mgf + (p - 1) * gain

    def second_moments(self) -> Iterator[Bound]:
        """Bounds of E f^2, the mean over b, v and c."""
        yield self.by_covariance
        if self.bounded:
            yield self.by_size
        if self.centre is not None:
            yield self.by_centre

    def by_covariance(self, shell: Shell, log_mgf: arb) -> arb:
        """By means and covariances at the tilt 2 b."""
        h, k, size, square = shell.tilts, shell.outputs, shell.to, self.norm**2
        far = size + 2 * h
        along = square * (1 + far**2) + 2 * self.eps * self.norm * far + self.eps**2
        across = square * k**2 / (self.outputs + 2) * (min(self.dimension, self.outputs) + far**2)
        exponent = self.log_mgf_of_multiple(shell, log_mgf, 2) + 2 * h**2 + 8 * (h * size) ** 2 / (self.queries + 2)
        return shell.slope**2 * exponent.exp() * (along + across + shell.heights**2 / 3)

    def by_size(self, shell: Shell, log_mgf: arb) -> arb:
        """By those at the tilt alpha: one <alpha, y> of 2 <alpha, y> is at most |alpha| r."""
        h, k = shell.tilts, shell.outputs
        size = self.norm**2 * (1 + k**2 * min(self.dimension, self.outputs) / (self.outputs + 2))
        exponent = log_mgf + shell.to * self.within + 2 * (h * self.within) ** 2 / (self.queries + 2)
        return shell.slope**2 * exponent.exp() * (size + self.eps**2 + shell.heights**2 / 3)

    def by_centre(self, shell: Shell, log_mgf: arb) -> arb:
        """By those at the tilt 2 alpha_0: |<alpha - alpha_0, y>| is at most the reach times r."""
        assert self.centre is not None
        centre, h, k = self.centre, shell.tilts, shell.outputs
        far = centre.off + self.norm * centre.reach
        size = centre.covariance + k**2 / (self.outputs + 2) * (centre.trace + far * far)
        exponent = centre.log_mgf + 2 * centre.reach * self.within + 2 * (h * self.within) ** 2 / (self.queries + 2)
        return shell.slope**2 * exponent.exp() * (size + (far + self.eps) ** 2 + shell.heights**2 / 3)

    def moments(self, shell: Shell, log_mgf: arb) -> Iterator[arb]:
        """Of the positive part of f, of the orders 3, 4, ...: the mean over b, v and c at most."""
        h, k, size, norm = shell.tilts, shell.outputs, shell.to, self.norm
        for p in range(3, ORDERS + 1):
            about = (p - 1) * size * norm - self.eps
            # Where the bracket of f is, about, when f^p matters: x^p <= at^p e^(p (x/at - 1)) for every number at > 0.
            at = (about + (about**2 + 4 * p * norm**2).sqrt()) / 2
            first, second = p * (p - 1) * size * norm / at, (p * norm / at) ** 2 / 2
            exponent = self.log_mgf_of_multiple(shell, log_mgf, p) + (p * h) ** 2 / 2
            exponent += (h * p**2 * (size + norm * (1 + k) / at)) ** 2 / (2 * (self.queries + 2))
            exponent += first * (1 + k**2 / 2) + second * (1 + k**2)
            exponent += (k * (first + 2 * second)) ** 2 / (2 * (self.outputs + 2))
            exponent += (p * shell.heights / at) ** 2 / 6 - p * (1 + self.eps / at)
            if not exponent < MOST:
                return
            yield (shell.slope * at) ** p * exponent.exp()


def remainders(x: arb) -> list[arb]:
    """At least the sum of x^j / (p + j)! over j >= 0, for p = 0 to TERMS - 1 and 0 <= x <= HIGHEST."""
    found = [1 / arb(math.factorial(TERMS)) / (1 - x / (TERMS + 1))]
    for p in reversed(range(TERMS)):
        found.append(1 / arb(math.factorial(p)) + x * found[-1])
    return found[:0:-1]


@method
def chi_tail(d: int, x: arb) -> arb:
    """P(|y| > x) for d independent standard normal numbers, x >= 0."""
    return (x**2 / 2).gamma_upper(arb(d) / 2, regularized=1)


def chi_mean(d: int) -> arb:
    """E |y|."""
    return arb(2).sqrt() * (arb(d + 1) / 2).gamma() / (arb(d) / 2).gamma()
