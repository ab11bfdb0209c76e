"""Closed forms for E|T_L - T|^2, the mean square of what L random tokens miss of the infinite prompt.

Tokens x of a law, a tilt a, values V; p the softmax weights of the prompt, P_k = sum p_i^k, and

    q = E P_2,   kappa = E[P_3 - P_2^2],   S = tr V C V',   B = |V(tau(2a) - tau(a))|^2.

Gaussian tokens N(m, Gamma), any rank, where C = Gamma, tau(2a) - tau(a) = Gamma a, v = a'Gamma a:

    (1)  E(T_L - T) = -q V Gamma a,   E|T_L - T|^2 = q (S + B) - 6 kappa B,   0 <= kappa <= q / 4
    (2)  1/L <= q <= 1 / (1 + (L - 1) e^(-v)),   E|T_L - T|^2 >= (S - B/2) / L

Any law, with R_2 = e^(Lambda(2a) - 2 Lambda(a)), C = C(2a), M_4 = E|V(x - tau(a))|^4, 0 < t < 1, lambda > 0:

    (3)  E|T_L - T|^2 <= R_2 (S + B) / (L (1 - t)^2) + (L M_4 P)^(1/2)
         P = (e^(lambda (1 - t)) (1 - lambda + lambda^2 R_2 / 2))^L, at least the probability of Z < 1 - t

And by Markov's inequality, in any norm that is at most the l2 norm:

    (4)  P(|T_L - T| > eps) <= E|T_L - T|^2 / eps^2

`docs/claims/prompts/output-mean-square.md` has the proofs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from flint import arb, fmpq

from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.laws import Gaussian

Number = TypeVar("Number", arb, fmpq)


@dataclass(frozen=True)
class GaussianShape:
    """What (1) and (2) take from Gaussian tokens, V and a tilt, exactly: v, S and B."""

    variance: fmpq
    spread: fmpq
    shift: fmpq

    @classmethod
    def of(cls, tokens: Gaussian[fmpq], values: ExactMatrix, base: ExactMatrix, factor: fmpq) -> GaussianShape:
        """Those of the tilt a = sqrt(factor) * base (1 x d)."""
        Gamma = ExactMatrix.rational(tokens.covariance)
        scores, moved = base @ Gamma @ base.T, base @ Gamma @ values.T
        spread = (values @ Gamma @ values.T).trace()
        return cls(factor * scores.trace(), spread, factor * (moved @ moved.T).trace())


def bias_factor(q: arb) -> arb:
    """E(T_L - T) as a multiple of V Gamma a: (1)."""
    return -q


def gaussian_mean_square(q: Number, kappa: Number, spread: fmpq, shift: fmpq) -> Number:
    """q (S + B) - 6 kappa B: (1)."""
    return q * (spread + shift) - 6 * kappa * shift


def logistic(length: int, variance: arb) -> arb:
    """1 / (1 + (L - 1) e^(-v)), an upper bound of q: (2)."""
    return 1 / (1 + (length - 1) * (-variance).exp())


def logistic_floor(spread: fmpq, shift: fmpq) -> fmpq:
    """S - B/2, at most L E|T_L - T|^2: (1) with kappa <= q/4, and q >= 1/L where it is positive: (2)."""
    return spread - shift / 2


def markov(mean_square: arb, eps: fmpq) -> arb:
    """E|T_L - T|^2 / eps^2, an upper bound of the probability that |T_L - T| > eps: (4)."""
    return mean_square / (eps * eps)


def tilted_second_moment(doubled: arb, spread: arb, shift: arb) -> arb:
    """E w^2 |V(x - tau)|^2 = R_2 (S + B), w = e^(<a,x> - Lambda(a)): (3)."""
    return doubled * (spread + shift)


def quadratic(rate: arb, doubled: arb) -> arb:
    """1 - lambda + lambda^2 R_2 / 2, an upper bound of E e^(-lambda w): e^(-x) <= 1 - x + x^2/2 for x >= 0."""
    return 1 - rate + rate * rate * doubled / 2


def normaliser_tail(length: int, t: arb | fmpq, rate: arb, doubled: arb) -> arb:
    """P in (3), by Chernoff's bound for the normaliser Z = (1/L) sum w_i."""
    return (length * (rate * (1 - t) + quadratic(rate, doubled).log())).exp()


def largest_weighed_tail(first: int, t: arb | fmpq, rate: arb, doubled: arb) -> arb:
    """The largest L P over L >= `first`: with P = e^(-x L) it falls from L = 1/x on, where it is 1/(e x)."""
    decay = -normaliser_tail(1, t, rate, doubled).log()
    if decay > 0:
        return first * (-decay * first).exp() if first * decay >= 1 else 1 / (decay * arb(1).exp())
    return arb("inf")


def general_mean_square(second: arb, length: int, t: fmpq, rest: arb) -> arb:
    """R_2 (S + B) / (L (1 - t)^2) + rest, the rest being (L M_4 P)^(1/2): (3)."""
    return second / (length * (1 - t) ** 2) + rest
