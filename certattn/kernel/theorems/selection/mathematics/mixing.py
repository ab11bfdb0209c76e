"""What it costs to mix other tokens into the chosen one: lower bounds of the loss of a prediction head.

A head psi reads the attended token sum_t s_t x_t of an input with label Y, where the weights s are >= 0 and sum to 1.
With e(s) = l(Y psi(sum_t s_t x_t)) - l(Y psi(x_alpha)), the path of minimisers needs to know, for bounds F of e,

    excess    e(s) for the weights of the other tokens
    costs     m_t > 0 with   e(s) >= sum_{t != alpha} m_t s_t   wherever e(s) <= F
    inward    a number that is > 0 only if e falls along every direction u with <z_t, u> > 0 for all t, wherever e <= F

Both rest on `smallest` > 0. A head reads a linear score through an increasing activation, or is quadratic:

    identity     r
    tanh         tanh r
    softplus     log(1 + e^r)
    leaky-relu   max(r, beta r)   with 0 < beta <= 1
    quadratic    x'Ax + v'x

The proofs are on the page of the claim `regularization-path`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

from flint import arb, fmpq

from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.functions import BALLS, Functions, Number
from certattn.kernel.mathematics.losses import Loss

# -- activations, generic in the number type: phi(r), and for an interval a number kappa > 0 with
#    phi(s) - phi(r) >= kappa (s - r) for low <= r <= s <= high


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


# -- what mixing costs in one input: its chosen token, whose score the loss falls with, among others in a fixed order


Activation = Identity | Tanh | Softplus | LeakyRelu


@dataclass(frozen=True)
class ScoreMixing:
    """psi(x) = phi(v'x) with an increasing activation phi: only the score matters, gamma = Y v'x.

    Weights s give the score gamma_alpha - G with G = sum s_t g_t. As a function of it, the loss l(Y phi(Y gamma))
    falls with a slope of at least c on [gamma_alpha - G, gamma_alpha], so that e(s) >= c G.
    """

    loss: Loss
    activation: Activation
    label: fmpq
    score: fmpq
    gaps: tuple[fmpq, ...]

    @property
    def smallest(self) -> fmpq:
        return min(self.gaps)

    def excess(self, weights: Sequence[arb]) -> arb:
        return self.excess_of(sum((s * g for s, g in zip(weights, self.gaps, strict=True)), arb(0)))

    def excess_of(self, drop: arb) -> arb:
        """e where the score has dropped by G."""
        before, after = self.output(arb(self.score)), self.output(self.score - drop)
        return arb(self.loss.excess(before, before - after, BALLS))

    def output(self, score: arb) -> arb:
        """Y phi(Y gamma)."""
        return arb(self.label * self.activation.value(self.label * score, BALLS))

    def slope(self, drop: arb) -> arb:
        """c: how fast the loss at least falls with the score, where the score has dropped by at most `drop`."""
        low, high = self.score - drop, arb(self.score)
        ends = (low, high) if self.label > 0 else (-high, -low)
        # l falls the slowest at the largest output.
        return arb(self.activation.least_slope(*ends, BALLS) * self.loss.slope(self.output(high), BALLS))

    def largest_drop(self, bound: arb) -> arb:
        """G is at most the largest gap, and at most bound / c with the c of all scores."""
        largest = arb(max(self.gaps))
        return largest.min(bound / self.slope(largest))

    def costs(self, bound: arb) -> list[arb]:
        slope = self.slope(self.largest_drop(bound))
        return [slope * gap for gap in self.gaps]

    def inward(self, bound: arb) -> arb:
        # Along u the score rises if G < g_t for all t; and G <= e / c.
        return self.smallest - bound / self.slope(self.largest_drop(bound))


@dataclass(frozen=True)
class QuadraticMixing:
    """psi(x) = x'Ax + v'x with a symmetric matrix A.

    With y_t = x_alpha - x_t, g_t = Y (2 A x_alpha + v)'y_t and Q_tr = Y y_t'A y_r, weights s lower Y psi by

        D(s) = sum s_t g_t - sum s_t s_r Q_tr >= sum s_t (g_t - eps up_t),   eps = sum s_t,  up_t = max(0, max_r Q_tr).
    """

    loss: Loss
    score: fmpq
    gaps: tuple[fmpq, ...]
    products: tuple[tuple[fmpq, ...], ...]

    @classmethod
    def of(
        cls, loss: Loss, label: fmpq, chosen: ExactMatrix, others: ExactMatrix, A: ExactMatrix, v: ExactMatrix
    ) -> QuadraticMixing:
        """From the chosen token, 1 x d, the other tokens, one per row, and the head."""
        differences = (-others).centred(-chosen)
        slope = (chosen @ A).scaled(fmpq(2)) + v
        score = (chosen @ (chosen @ A + v).T).entry(0, 0)
        gaps, products = slope @ differences.T, differences @ A @ differences.T
        return cls(
            loss,
            label * score,
            tuple(label * gap for gap in gaps.row(0)),
            tuple(tuple(label * entry for entry in row) for row in products.to_rows()),
        )

    @cached_property
    def up(self) -> tuple[fmpq, ...]:
        """The largest Q_tr, or 0, for every t."""
        return tuple(max(fmpq(0), *row) for row in self.products)

    @cached_property
    def down(self) -> tuple[fmpq, ...]:
        """The largest -Q_tr, or 0, for every t."""
        return tuple(max(fmpq(0), *(-entry for entry in row)) for row in self.products)

    @property
    def smallest(self) -> fmpq:
        return min(gap - up for gap, up in zip(self.gaps, self.up, strict=True))

    def drop(self, weights: Sequence[arb]) -> arb:
        """D(s)."""
        total = arb(0)
        for s, gap, row in zip(weights, self.gaps, self.products, strict=True):
            total += s * (gap - sum((r * entry for r, entry in zip(weights, row, strict=True)), arb(0)))
        return total

    def excess(self, weights: Sequence[arb]) -> arb:
        return arb(self.loss.excess(arb(self.score), self.drop(weights), BALLS))

    def mixed(self, bound: arb) -> arb:
        """The largest eps: e(s) >= c D(s) >= c eps `smallest`, as l is convex with the slope c at the chosen token."""
        return arb(1).min(bound / (self._slope() * self.smallest))

    def costs(self, bound: arb) -> list[arb]:
        slope, mixed = self._slope(), self.mixed(bound)
        return [slope * (gap - mixed * up) for gap, up in zip(self.gaps, self.up, strict=True)]

    def inward(self, bound: arb) -> arb:
        # With d_t = g_t - 2 sum_r Q_tr s_r, the output rises along u if d_t > sum_r s_r d_r for all t.
        mixed = self.mixed(bound)
        least = [gap - 2 * mixed * up for gap, up in zip(self.gaps, self.up, strict=True)]
        most = [gap + 2 * mixed * down for gap, down in zip(self.gaps, self.down, strict=True)]
        return reduce(arb.min, least) - mixed * reduce(arb.max, most)

    def _slope(self) -> arb:
        return arb(self.loss.slope(arb(self.score), BALLS))


Mixing = ScoreMixing | QuadraticMixing
