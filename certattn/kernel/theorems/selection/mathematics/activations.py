"""Increasing activations of a prediction head, with the least slope that they have on an interval.

    identity     r
    tanh         tanh r
    softplus     log(1 + e^r)
    leaky-relu   max(r, beta r)   with 0 < beta <= 1

Generic in the number type.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from flint import fmpq

from certattn.kernel.mathematics.functions import Functions, Number


class Activation(Protocol):
    """A strictly increasing function phi with a slope that has a positive lower bound on every interval."""

    def value(self, r: Number, fn: Functions) -> Number:
        """phi(r)."""

    def least_slope(self, low: Number, high: Number, fn: Functions) -> Number:
        """A number kappa > 0 with phi(s) - phi(r) >= kappa (s - r) for low <= r <= s <= high."""


@dataclass(frozen=True)
class Identity:
    def value(self, r: Number, fn: Functions) -> Number:
        return r

    def least_slope(self, low: Number, high: Number, fn: Functions) -> Number:
        return fn.exp(0 * low)


@dataclass(frozen=True)
class Tanh:
    def value(self, r: Number, fn: Functions) -> Number:
        return fn.tanh(r)

    def least_slope(self, low: Number, high: Number, fn: Functions) -> Number:
        # The slope 1 - tanh^2 falls with |r|: it is least where |r| is largest.
        size = fn.maximum(fn.absolute(low), fn.absolute(high))
        decay = fn.exp(-2 * size)
        return 4 * decay / ((1 + decay) * (1 + decay))


@dataclass(frozen=True)
class Softplus:
    def value(self, r: Number, fn: Functions) -> Number:
        return fn.log(1 + fn.exp(r))

    def least_slope(self, low: Number, high: Number, fn: Functions) -> Number:
        # The slope 1 / (1 + e^{-r}) rises with r.
        return 1 / (1 + fn.exp(-low))


@dataclass(frozen=True)
class LeakyRelu:
    slope: fmpq

    def value(self, r: Number, fn: Functions) -> Number:
        return fn.maximum(r, self.slope * r)

    def least_slope(self, low: Number, high: Number, fn: Functions) -> Number:
        one = fn.exp(0 * low)
        return one if (low >= 0) is True else self.slope * one
