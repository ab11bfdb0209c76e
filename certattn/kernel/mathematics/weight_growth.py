"""How the moments of softmax weights depend on the variance of Gaussian scores.

q = E P_2 and kappa = E[P_3 - P_2^2], P_k = sum p_i^k, p the softmax weights of L independent Gaussian scores of the
variance v. Near v = 0 they are

    q = 1/L + v (1/L - 1/L^2) + r,         -13/24 q v^2 <= r <= 1/2 q v^2,
    kappa = v (1/L^2 - 1/L^3) + r',        -3/4 q v^2 <= r' <= 5/16 q v^2,

as -13/12 q <= q'' <= q and -3/2 q <= kappa'' <= 5/8 q, and q grows. Both continue to complex v = x + i y, x > 0,
and with

    c = (1 + y^2/x^2)^(1/4) e^(y^2/(8x)),   p = 1 - c |y| / 3 > 0,   x' = x + y^2/x,   N ~ Bin(L, p)

    |q(v)| <= (c/p) E q_N(x'),   |kappa(v)| <= 2 (c/p)^2 E q_N(x'),   E q_N(x') <= min(1, 2 e^x' / (p L)).

`docs/claims/training/risk-gap.md` has the proofs.
"""

from __future__ import annotations

from functools import lru_cache

from flint import arb, fmpq

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.functions import root
from certattn.kernel.mathematics.lognormal_laplace import within
from certattn.kernel.mathematics.softmax_powers import MOST_VARIANCE, PowerSums

# -d^2 q/dv^2 and d^2 q/dv^2 are at most these times q.
MOST_CONCAVE, MOST_CONVEX = fmpq(13, 12), fmpq(1)
# -d^2 kappa/dv^2 and d^2 kappa/dv^2 are at most these times q.
KAPPA_CONCAVE, KAPPA_CONVEX = fmpq(3, 2), fmpq(5, 8)
# |dq/dv| and |d kappa/dv| are at most this.
_MOST_STEEP = 50
_LEAST_VARIANCE = fmpq(1, 2**20)
# Provers ask for the same variances as checkers do.
_REMEMBERED = 2048


def density_growth(slope: arb, height: arb | fmpq) -> arb:
    """c = (1 + t^2)^(1/4) e^(t y / 8), t = y / x the slope of v = x + iy."""
    return root(root(1 + slope * slope)) * (slope * height / 8).exp()


def kept_share(growth: arb, height: arb | fmpq) -> arb:
    """p = 1 - c y / 3."""
    return 1 - growth * height / 3


def thinned_collision(length: int, share: arb, variance: arb) -> arb:
    """2 e^x' / (p L), an upper bound of E q_N(x')."""
    return 2 * variance.exp() / (share * length)


@lru_cache(_REMEMBERED)
def weights(length: int, variance: fmpq, bits: int) -> tuple[arb, arb]:
    """q and kappa, to about `bits` bits of q. kappa is at most a quarter."""
    powers = PowerSums(length, variance, 4, bits, block=2)
    with working_precision(powers.bits):
        if variance > MOST_VARIANCE:
            least, _ = weights(length, fmpq(MOST_VARIANCE), bits)
            return least.union(arb(1)), arb(0).union(arb(fmpq(1, 4)))
        return powers.mean(2), kappa(powers)


def weights_at(length: int, variance: fmpq, bits: int) -> tuple[arb, arb]:
    """The same, or next to 0, where quadrature takes long, by tangents."""
    return near_zero(length, variance) if variance < _LEAST_VARIANCE else weights(length, variance, bits)


def kappa(powers: PowerSums) -> arb:
    """E[P_3 - P_2^2]."""
    return kappa_of(powers.distinct(1, 2), powers.distinct(2, 2), powers.distinct(1, 1, 2))


def kappa_of(pairs: arb, squares: arb, triples: arb) -> arb:
    """E sum p_i^2 p_j - 2 E sum p_i^2 p_j^2 - E sum p_i^2 p_j p_k over different tokens.

    By sum p_i = 1 this is E[P_3 - P_2^2], with the transforms of few powers.
    """
    return pairs - 2 * squares - triples


def weights_near(length: int, variance: arb, bits: int) -> tuple[arb, arb]:
    """q and kappa at a variance in the ball, from those at a number in it."""
    mantissa, exponent = variance.mid().man_exp()
    middle = fmpq(mantissa) * fmpq(2) ** int(exponent)
    slack = within(_MOST_STEEP * variance.rad())
    near = (2 * arb(middle) ** 2 < arb(2) ** -(bits * 3 // 4)) is True
    q, kappa = near_zero(length, middle) if near else weights(length, middle, bits)
    return q + slack, kappa + slack


def near_zero(length: int, variance: fmpq) -> tuple[arb, arb]:
    """q and kappa by their tangents at 0; q <= 1 / (1 + (L - 1) e^-v)."""
    share = fmpq(1, length)
    most = 1 / (1 + (length - 1) * (-arb(variance)).exp())
    half = most * variance**2 / 2
    bent = (-MOST_CONCAVE * half).union(MOST_CONVEX * half)
    spread = (-KAPPA_CONCAVE * half).union(KAPPA_CONVEX * half)
    return collision_tangent(share, variance) + bent, spread_tangent(share, variance) + spread


def collision_tangent(share: fmpq, variance: fmpq) -> fmpq:
    """1/L + v (1/L - 1/L^2)."""
    return share + variance * (share - share**2)


def spread_tangent(share: fmpq, variance: fmpq) -> fmpq:
    """v (1/L^2 - 1/L^3)."""
    return variance * (share**2 - share**3)
