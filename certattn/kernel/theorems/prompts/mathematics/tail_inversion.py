"""The probability that a sum of weighted Gaussian outputs is positive, from its characteristic function.

S = Y_1 + ... + Y_L, Y as in `capped_sums`: under each part of the law, with g and h independent standard normals,

    Y = w (mu + c g + sigma h),   w = e^(alpha + s g),   sigma > 0,
    phi(t) = E e^(itY) = sum over the parts of E e^(it w (mu + c g) - t^2 w^2 sigma^2 / 2).

The square wave sign(sin y) = 4/pi sum_(k odd) sin(k y)/k at y = D S/2 is the sign of S where |S| < 2 pi/D, so

    | P(S > 0) - 1/2 - 1/pi sum_(k>=0) Im phi(t_k)^L / (k + 1/2) | <= P(|S| >= 2 pi/D),     t_k = (k + 1/2) D,

for every D > 0. What the sum leaves out from k = K > 0 on is at most rho(t_K)^(L-1) E[1/(w sigma)] / (pi D K), with
rho(t) = E e^(-t^2 w^2 sigma^2/2) >= |phi(t)|, which falls, and e^(-y^2/2) <= 1/y. phi(t) is a trapezoid sum over g
with the step d: as |e^(-XA - X^2 B/2)| <= e^(A^2/2B) for X = t |w|, the integrand on the lines Im g = +-b is at most

    e^(b^2/2 + A(g)^2/2B) times the normal density,   A = sin(sb) (mu + c g) + cos(sb) c b,   B = cos(2sb) sigma^2 > 0,

of integral M = e^(b^2/2 + p^2/(2B(1-k))) / (1-k)^(1/2), p = sin(sb) mu + cos(sb) c b, k = sin(sb)^2 c^2/B < 1. So it is
off by at most 2 M / (e^(2 pi b/d) - 1), and by Q(nd) on either side where it ends at n d. The proofs stand in
`docs/claims/prompts/output-tail.md`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from flint import acb, arb

from certattn.kernel.mathematics.balls import normal_tail
from certattn.kernel.mathematics.capped_sums import Plane, density
from certattn.kernel.mathematics.lognormal_laplace import strip_error, within
from certattn.kernel.mathematics.quadrature import tolerance_bits

# No step across the strip is larger: what it loses grows with e^(b^2/2).
_WIDEST = 2
# More nodes than this are not worth the wait.
MOST_NODES = 5000


@dataclass(frozen=True)
class WeightedPart:
    """A part of the law with its probability; sigma > 0."""

    weight: arb
    plane: Plane

    @cached_property
    def half_width(self) -> arb:
        """b, with sin(sb)^2 = sigma^2 / (4 (c^2 + sigma^2)): cos(2sb) >= 1/2 and k <= 1/2. Any such b is sound."""
        most, at = arb(_WIDEST), self.plane
        if at.flat_score:
            return most
        sine = at.sigma / (2 * (at.c * at.c + at.sigma * at.sigma).sqrt())
        return (sine.asin() / at.s).min(most)

    @cached_property
    def size(self) -> arb:
        """M, of both lines."""
        b, at = self.half_width, self.plane
        sine, cosine, narrow = (at.s * b).sin(), (at.s * b).cos(), (2 * at.s * b).cos() * at.sigma * at.sigma
        p, k = sine * at.mu + cosine * at.c * b, (sine * at.c) ** 2 / narrow
        if not (narrow > 0 and k < 1):
            return arb.nan()
        return (b * b / 2 + p * p / (2 * narrow * (1 - k))).exp() / (1 - k).sqrt()

    def inverse_mean(self) -> arb:
        """E 1/(w sigma)."""
        at = self.plane
        return (at.s * at.s / 2 - at.alpha).exp() / at.sigma


@dataclass(frozen=True)
class Nodes:
    """A part's trapezoid sum: d times the density, t's factor w (mu + c g), and that of -t^2; and what it is off by."""

    shares: Sequence[arb]
    slopes: Sequence[arb]
    bends: Sequence[arb]
    error: arb

    def at(self, t: arb) -> acb:
        """phi(t) of the part."""
        square, total = -t * t, acb(0)
        for share, slope, bend in zip(self.shares, self.slopes, self.bends, strict=True):
            total += share * acb(square * bend, t * slope).exp()
        return total + acb(within(self.error), within(self.error))

    def modulus(self, t: arb) -> arb:
        """E e^(-t^2 w^2 sigma^2 / 2), at most."""
        square, total = -t * t, arb(0)
        for share, bend in zip(self.shares, self.bends, strict=True):
            total += share * (square * bend).exp()
        return total + self.error


def nodes_of(part: WeightedPart, bits: int) -> Nodes | None:
    """Nodes that enclose phi to about so many bits; None where there would be too many."""
    nats, at = arb(tolerance_bits(bits)) * arb(2).log(), part.plane
    far = (2 * nats).sqrt()
    b = part.half_width
    fine = (2 * arb.pi() * b / (nats + part.size.log())).mid()
    if at.flat_score:
        # One node: nothing depends on g.
        return Nodes([arb(1)], [at.alpha.exp() * at.mu], [(at.alpha.exp() * at.sigma) ** 2 / 2], arb(0))
    if not (fine > 0 and 2 * far / fine < MOST_NODES):
        return None
    ends = (far / fine).upper().ceil().unique_fmpz()
    if ends is None:
        return None
    count = int(ends)
    shares, slopes, bends = [], [], []
    for j in range(-count, count + 1):
        g = j * fine
        w = (at.alpha + at.s * g).exp()
        shares.append(fine * density(g))
        slopes.append(w * (at.mu + at.c * g))
        bends.append((w * at.sigma) ** 2 / 2)
    return Nodes(shares, slopes, bends, strip_error(b, fine) * part.size + 2 * normal_tail(count * fine))


def inverted(parts: Sequence[WeightedPart], length: int, step: arb, terms: int, bits: int) -> arb | None:
    """1/2 + 1/pi sum_(k<K) Im phi(t_k)^L / (k + 1/2), with what it leaves out. None where nodes would be too many."""
    found = [(part.weight, nodes_of(part, bits + length.bit_length())) for part in parts]
    total = arb(0)
    for k in range(terms):
        t, phi = (2 * k + 1) * step / 2, acb(0)
        for weight, nodes in found:
            if nodes is None:
                return None
            phi += weight * nodes.at(t)
        total += 2 * (phi**length).imag / (2 * k + 1)
    last, rho, inverse = (2 * terms + 1) * step / 2, arb(0), arb(0)
    for part, (weight, nodes) in zip(parts, found, strict=True):
        assert nodes is not None
        rho += weight * nodes.modulus(last)
        inverse += weight * part.inverse_mean()
    rest = rho.min(arb(1)) ** (length - 1) * inverse / (arb.pi() * step * terms)
    return arb(1) / 2 + total / arb.pi() + within(rest)
