"""What follows from the singular values of a matrix: stable rank, entropy, effective rank.

For numbers x_1, ..., x_n >= 0 with sum T > 0 and p_i = x_i / T the entropy is H = -sum p_i log p_i, in nats, and the
effective rank e^H; x_i = sigma_i in O. Roy, M. Vetterli, The effective rank, EUSIPCO 2007, and x_i = sigma_i^2 where
the shares of the energy are meant. The stable rank is |M|_F^2 / sigma_1^2. All ranks lie between 1 and the rank.

For every a > 0

    H = log(T / a) - (1/T) sum x_i log(x_i / a),

and where log a is about the mean of log x_i with weights p_i, the sum is about 0: errors of T and of the x_i then enter
about as often as the derivatives of H say.
"""

from __future__ import annotations

from collections.abc import Sequence

from flint import arb


def entropy(shares: Sequence[arb], most: int) -> arb:
    """H for nonnegative numbers of which at most so many are not 0; not finite where T > 0 is not proved."""
    total = _sum(shares)
    if (total > 0) is not True:
        return arb.nan()
    middle = _log_mean(shares)
    near = entropy_formula(shares, total, middle)
    if near.is_finite() is not True:
        return near
    # 0 <= H <= log n.
    return near.nonnegative_part().min(arb(most).log())


def entropy_formula(shares: Sequence[arb], total: arb, middle: arb) -> arb:
    """log T - log a - (1/T) sum x_i (log x_i - log a), from log a = `middle`."""
    return total.log() - middle - _sum([times_log(share, middle) for share in shares]) / total


def times_log(share: arb, middle: arb) -> arb:
    """x (log x - log a) for x >= 0, where 0 log 0 = 0."""
    if (share > 0) is True:
        return share * (share.log() - middle)
    # From 0 it falls to -a/e at x = a/e, and then rises.
    largest, bottom = share.abs_upper(), (middle - 1).exp()
    if largest == 0:
        return arb(0)
    end = largest * (largest.log() - middle)
    lowest = end if (largest <= bottom) is True else -bottom
    return arb(0).union(end).union(lowest)


def effective_rank(entropy_in_nats: arb) -> arb:
    """e^H."""
    return entropy_in_nats.exp()


def stable_rank(energy: arb, norm: arb, most: int) -> arb:
    """|M|_F^2 / sigma_1^2, which is at least 1, and at most the rank; not finite where sigma_1 > 0 is not proved."""
    ratio = energy_ratio(energy, norm)
    return ratio.max(arb(1)).min(arb(most)) if ratio.is_finite() is True else ratio


def energy_ratio(energy: arb, norm: arb) -> arb:
    """|M|_F^2 / sigma_1^2."""
    return energy / (norm * norm)


def _log_mean(shares: Sequence[arb]) -> arb:
    """About sum p_i log p_i + log T; any number would do."""
    weight = moment = arb(0)
    for share in shares:
        middle = share.mid()
        if (middle > 0) is True:
            weight, moment = weight + middle, moment + middle * middle.log()
    return (moment / weight).mid()


def _sum(terms: Sequence[arb]) -> arb:
    total = arb(0)
    for term in terms:
        total += term
    return total
