"""The formulas of the joint regularisation path, generic in the number type.

Notation as in `label_margin` and `joint_path`: weights mu^_i on the support inputs, Gamma the label margin, r and R the
norms, E a bound of sum_i e^{-y_i} for the margins y_i = Y_i f(X_i) of a minimiser, and E0 = e^{r Gamma} E.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from flint import fmpq

from certattn.kernel.mathematics.functions import Functions, Number, exp_remainder


def exponential_sum(loss: str, margins: Iterable[Number], fn: Functions, zero: Number) -> Number:
    """A bound E of sum_i e^{-y_i} where sum_i l(y_i) is at most the sum of l over these margins.

    e^{-y} is l(y) for the exponential loss, whose sum is E. For the logistic one it is e^{l(y)} - 1, and
    sum (e^{l_i} - 1) <= e^{sum l_i} - 1 for l_i >= 0: E is prod (1 + e^{-y}) - 1, multiplied out without cancellation.
    """
    total = zero
    for margin in margins:
        power = fn.exp(-margin)
        total = total + power if loss == "exponential" else total + power + total * power
    return total


def slope_correction(loss: str, bound: Number) -> Number:
    """A bound of log(e^{-y} / -l'(y)) where e^{-y} <= bound: log(1 + e^{-y}) for the logistic loss."""
    return 0 * bound if loss == "exponential" else bound


def entropy(weights: Iterable[fmpq], fn: Functions, one: Number) -> Number:
    """-sum_i w_i log w_i over the positive weights; `one` is the 1 of the number type."""
    return -sum((w * fn.log(one * w) for w in weights if w > 0), 0 * one)


def deficit(log_e0: Number, weights: Iterable[fmpq], fn: Functions, one: Number) -> Number:
    """K with sum_i mu^_i y_i >= r Gamma - K, by Jensen: log E0 - H(mu^)."""
    return log_e0 - entropy(weights, fn, one)


def tilt(share: Mapping[int, fmpq], weights: Mapping[int, fmpq], log_e0: Number, fn: Functions, one: Number) -> Number:
    """A bound of sum_i Lambda_i (gamma_i - r Gamma) for probabilities Lambda = `share` on the support inputs.

    It holds where sum_i mu^_i gamma_i <= r Gamma and sum_i e^{-gamma_i} <= E: with theta = max Lambda_i / mu^_i and
    w = (theta mu^ - Lambda) / (theta - 1), Lambda = theta mu^ - (theta - 1) w, and by Jensen
    sum_i w_i gamma_i >= r Gamma + H(w) - log E0. So the bound is (theta - 1) (log E0 - H(w)).
    """
    theta = max(share.get(i, fmpq(0)) / weight for i, weight in weights.items())
    if theta == 1:
        return 0 * one
    rest = [(theta * weight - share.get(i, fmpq(0))) / (theta - 1) for i, weight in weights.items()]
    return (theta - 1) * (log_e0 - entropy(rest, fn, one))


def first_alignment(gamma: Number, lost: Number, moved: Number) -> Number:
    """c with <v, u> >= r c where <v, Gamma u - q> >= r (Gamma - lost) and |q| <= moved, |v| <= r."""
    return 1 - (lost + moved) / gamma


def raised(gap: Number, fn: Functions) -> Number:
    """e^G - 1: e^gamma times a bound of l(gamma - G) - l(gamma), for either loss."""
    return fn.exp(gap) - 1 if fn.is_large(gap) else gap * exp_remainder(1, gap, fn)


def sine(cosine: Number, fn: Functions) -> Number:
    """(1 - c^2)^(1/2): a bound of |v - <v, u> u| / r where <v, u> >= r c >= 0 and |v| <= r."""
    return fn.sqrt(1 - cosine * cosine)


def least_product(cosine: Number, along: Number, across: Number, fn: Functions) -> Number:
    """A lower bound of <v, a> / r, for <a, u> = along and |a - along u| = across: <v, u> / r is in [c, 1]."""
    return -fn.maximum(-along, -cosine * along) - sine(cosine, fn) * across


def least_share(required: Number, others: Number, chosen: Number) -> Number:
    """The least weight s of the chosen token where s chosen + (1 - s) others >= required > others."""
    return (required - others) / (chosen - others)


def log_odds(share: Number, fn: Functions) -> Number:
    """log(s / (1 - s)): of a token that weighs e^{-x} times the chosen one, and at most 1 - s, x is at least this
    where the chosen one weighs s or more."""
    return fn.log(share / (1 - share))
