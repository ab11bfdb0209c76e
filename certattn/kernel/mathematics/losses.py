"""The losses of token selection: decreasing and convex, with what their theorems need of them.

A loss l is a function of Y f(X). Generic in the number type:

    value               l(x)
    slope               -l'(x) > 0, which does not increase with x
    curvature           l''(x) >= 0
    excess              f(G) = l(score - G) - l(score)
    inverse_excess      the G with f(G) = excess, for excess >= 0
    largest_curvature   a Lipschitz constant of l' on [low, high]: the largest l''

    linear        l(x) = -x
    logistic      l(x) = log(1 + e^{-x})
    exponential   l(x) = e^{-x}

For the score c of the chosen token, `excess` is f(G) = l(c - G) - l(c), convex and increasing with f(0) = 0, and
f'(G) = slope(c - G). Ataee Tarzanagh, Li, Zhang and Oymak 2023, section 2 and Assumption A.
"""

from __future__ import annotations

from flint import arb

from certattn.kernel.mathematics.functions import Functions, Number


class Linear:
    name = "linear"

    def value(self, x: Number, fn: Functions) -> Number:
        return -x

    def slope(self, x: Number, fn: Functions) -> Number:
        return fn.exp(0 * x)

    def curvature(self, x: Number, fn: Functions) -> Number:
        return 0 * x

    def excess(self, score: Number, gap: Number, fn: Functions) -> Number:
        return gap

    def inverse_excess(self, score: Number, excess: Number, fn: Functions) -> Number:
        return excess

    def largest_curvature(self, low: arb, high: arb, fn: Functions) -> Number:
        return self.curvature(low, fn)


class Logistic:
    name = "logistic"

    def value(self, x: Number, fn: Functions) -> Number:
        return fn.log(1 + fn.exp(-x))

    def slope(self, x: Number, fn: Functions) -> Number:
        return 1 / (1 + fn.exp(x))

    def curvature(self, x: Number, fn: Functions) -> Number:
        return 1 / ((1 + fn.exp(x)) * (1 + fn.exp(-x)))

    def excess(self, score: Number, gap: Number, fn: Functions) -> Number:
        # (1 + e^{G - c}) / (1 + e^{-c}) = 1 + (e^G - 1) / (1 + e^c)
        return fn.log(1 + (fn.exp(gap) - 1) / (1 + fn.exp(score)))

    def inverse_excess(self, score: Number, excess: Number, fn: Functions) -> Number:
        return fn.log(1 + (fn.exp(excess) - 1) * (1 + fn.exp(score)))

    def largest_curvature(self, low: arb, high: arb, fn: Functions) -> Number:
        # l'' is even and decreases with |x|.
        if (low > 0) is True:
            return self.curvature(low, fn)
        if (high < 0) is True:
            return self.curvature(high, fn)
        return fn.exp(0 * low) / 4


class Exponential:
    name = "exponential"

    def value(self, x: Number, fn: Functions) -> Number:
        return fn.exp(-x)

    # -l' and l'' are e^{-x}, too.
    slope = curvature = value

    def excess(self, score: Number, gap: Number, fn: Functions) -> Number:
        return fn.exp(-score) * (fn.exp(gap) - 1)

    def inverse_excess(self, score: Number, excess: Number, fn: Functions) -> Number:
        return fn.log(1 + excess * fn.exp(score))

    def largest_curvature(self, low: arb, high: arb, fn: Functions) -> Number:
        return self.curvature(low, fn)


Loss = Linear | Logistic | Exponential
LOSSES: dict[str, Loss] = {loss.name: loss for loss in (Linear(), Logistic(), Exponential())}
