"""Moments of a normal density on an interval that is brought to [-1, 1]:

    I_n(k, l) = int over [-1, 1] of y^n e^(-k y^2/2 + l y) dy,   k >= 0.

With J_j = I_2j(k, 0), the series of e^(l y) gives I_n = sum of l^m / m! J_((n + m)/2) over the m of the parity of n.
By parts J_j = (2 e^(-k/2) + k J_(j + 1)) / (2j + 1). All terms of a sum have one sign: nothing cancels, however far out
in a tail the interval is. `docs/claims/prompts/infinite-prompt-operator.md` has the proofs.
"""

from __future__ import annotations

from flint import arb, ctx

from certattn.kernel.methods import method

# Of k and of |l|, beyond which the sums are no longer worth the wait: a few terms for every unit. Laws beyond it are
# refused where they are read; a tilt adds to l.
_LARGEST = 1 << 15


@method
def truncated_normal_moments(k: arb, l: arb, top: int) -> list[arb]:  # noqa: E741 - the names of the formulas
    """I_0, ..., I_top; nan where k or |l| is too large, or has no bound."""
    if (k <= _LARGEST) is not True or (abs(l) <= _LARGEST) is not True:
        return [arb.nan()] * (top + 1)
    # Any number of terms from |l| on is sound; these leave about 2^(-precision) of the sum.
    terms = (3 * _ceiling(abs(l)) + ctx.prec) // 2 + 2
    even = _even_moments(k, terms + (top + 1) // 2)
    shares = [_shares(l, parity, terms) for parity in (0, 1)]
    return [_sum(shares[n % 2], even[(n + 1) // 2 :]) for n in range(top + 1)]


def _shares(l: arb, parity: int, terms: int) -> list[arb]:  # noqa: E741
    """l^m / m! for m = 2i + parity, i = 0..terms."""
    found = [l if parity else arb(1)]
    for m in range(parity, 2 * terms + parity, 2):
        found.append(found[-1] * l * l / ((m + 1) * (m + 2)))
    return found


def _sum(shares: list[arb], even: list[arb]) -> arb:
    """sum of shares_i even_i, of which the last and all beyond are together between 0 and twice the last."""
    *terms, last = (share * moment for share, moment in zip(shares, even, strict=False))
    return sum(terms, arb(0)) + last * arb(1, 1)


def _even_moments(k: arb, last: int) -> list[arb]:
    """J_0, ..., J_last, backwards: for j >= k it is edge <= (2j + 1) J_j <= 2 edge, and each step halves an error."""
    start, edge = max(last, _ceiling(k)) + ctx.prec, 2 * (-k / 2).exp()
    found = [edge * arb(3, 1) / (4 * start + 2)]
    for j in reversed(range(start)):
        found.append((edge + k * found[-1]) / (2 * j + 1))
    return found[::-1][: last + 1]


def _ceiling(size: arb) -> int:
    found = size.upper().ceil().unique_fmpz()
    assert found is not None
    return int(found)
