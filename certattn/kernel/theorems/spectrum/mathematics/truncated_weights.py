"""Softmax weights that are cut off: e^(beta g - beta^2/2), g a standard normal number, and at most tau.

With c = (log tau)/beta + beta/2, where the two are equal, Q(x) = P(g > x), and f(g) = min(e^(beta g - beta^2/2), tau),

    E f = Q(beta - c) + tau Q(c),    E g f = beta Q(beta - c),    E f^2 = e^(beta^2) Q(2 beta - c) + tau^2 Q(c) .

f/E f has the variance m and the part beta_tau g along g:

    m = E f^2/(E f)^2 - 1,    beta_tau = E g f/E f,    alpha_tau^2 = m - beta_tau^2,

with these in the place of e^(beta^2) - 1, beta and alpha^2 the law of `equivalent_formulas` is the truncated one. For d
tokens tau is chosen by tau^2 = d m(tau). As m' < 2 tau Q(c)/(E f)^2, and Q(c) falls and E f grows with tau,
t^2 - d m(t) grows for all t from a tau on at which d Q(c) <= (E f)^2: a zero of it there is the largest.

`docs/claims/spectrum/spectral-distance.md` has the proofs.
"""

from __future__ import annotations

from flint import arb, fmpq

from certattn.kernel.mathematics.capped_sums import normal_tail


class TruncatedWeights:
    """Moments of f at the working precision, for beta^2 > 0 and tau > 0."""

    def __init__(self, beta2: fmpq, tau: fmpq) -> None:
        square, top = arb(beta2), arb(tau)
        beta = square.sqrt()
        cut = top.log() / beta + beta / 2
        below = normal_tail(beta - cut)
        self.share_cut = normal_tail(cut)
        self.mean = below + top * self.share_cut
        self.slope = beta * below
        self.second = square.exp() * normal_tail(2 * beta - cut) + top * top * self.share_cut

    @property
    def variance(self) -> arb:
        """m, of f/E f."""
        found: arb = self.second / (self.mean * self.mean) - 1
        return found

    @property
    def beta2(self) -> arb:
        """beta_tau^2."""
        root = self.slope / self.mean
        found: arb = root * root
        return found

    @property
    def alpha2(self) -> arb:
        """alpha_tau^2, which is positive, as f is not affine."""
        return self.variance - self.beta2

    def growth(self, tokens: int) -> tuple[arb, arb]:
        """d Q(c) and (E f)^2: where the first is no larger, t^2 - d m(t) grows for all t from this tau on."""
        return tokens * self.share_cut, self.mean * self.mean
