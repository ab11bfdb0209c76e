"""The losses of token selection: decreasing and convex, with what their theorems need of them.

A loss l is a function of Y f(X):

    value               l(x)
    slope               -l'(x) > 0, which does not increase with x
    curvature           l''(x) >= 0
    jerk                -l'''(x)
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


class Linear:
    name = "linear"

    def value(self, x: arb) -> arb:
        return -x

    def slope(self, x: arb) -> arb:
        return (0 * x).exp()

    def curvature(self, x: arb) -> arb:
        return 0 * x

    jerk = curvature

    def excess(self, score: arb, gap: arb) -> arb:
        return gap

    def inverse_excess(self, score: arb, excess: arb) -> arb:
        return excess

    def largest_curvature(self, low: arb, high: arb) -> arb:
        return self.curvature(low)


class Logistic:
    name = "logistic"

    def value(self, x: arb) -> arb:
        return (1 + (-x).exp()).log()

    def slope(self, x: arb) -> arb:
        return 1 / (1 + x.exp())

    def curvature(self, x: arb) -> arb:
        return 1 / ((1 + x.exp()) * (1 + (-x).exp()))

    def jerk(self, x: arb) -> arb:
        return self.curvature(x) * (x / 2).tanh()

    def excess(self, score: arb, gap: arb) -> arb:
        # (1 + e^{G - c}) / (1 + e^{-c}) = 1 + (e^G - 1) / (1 + e^c)
        return (1 + (gap.exp() - 1) / (1 + score.exp())).log()

    def inverse_excess(self, score: arb, excess: arb) -> arb:
        return (1 + (excess.exp() - 1) * (1 + score.exp())).log()

    def largest_curvature(self, low: arb, high: arb) -> arb:
        # l'' is even and decreases with |x|.
        if (low > 0) is True:
            return self.curvature(low)
        if (high < 0) is True:
            return self.curvature(high)
        return (0 * low).exp() / 4


class Exponential:
    name = "exponential"

    def value(self, x: arb) -> arb:
        return (-x).exp()

    # -l', l'' and -l''' are e^{-x}, too.
    slope = curvature = jerk = value

    def excess(self, score: arb, gap: arb) -> arb:
        return (-score).exp() * (gap.exp() - 1)

    def inverse_excess(self, score: arb, excess: arb) -> arb:
        return (1 + excess * score.exp()).log()

    def largest_curvature(self, low: arb, high: arb) -> arb:
        return self.curvature(low)


Loss = Linear | Logistic | Exponential
LOSSES: dict[str, Loss] = {loss.name: loss for loss in (Linear(), Logistic(), Exponential())}
