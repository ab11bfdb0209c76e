"""Means over a Gaussian z of functions that need the softmax weights' moments at the variance v = z'N z of the scores.

With f and g quadratic forms of z, and q and kappa as in `weight_growth`,

    E[q(v) f(z) + kappa(v) g(z)] = int_0^oo [q(v_0 + t) w_f(t) + kappa(v_0 + t) w_g(t)] dt,

w the densities of `score_variances`. With t = V(s) = 3/2 log(1 + e^s) this is an integral over the line, and the
integrand is analytic for |Im s| < pi/2. The trapezoid rule with step h is off by at most strip_error(alpha, h) times
what the integrand weighs on Im s = alpha < pi/2, and there

    |arg V'|, |arg V| <= alpha,   0 <= Im V <= 3/2 alpha,   Re V grows from 0 on,

so that, with f at most F = c_0 + b_0 t in size where t > 0, and also on the line but for a factor,

    |w_f(V) V'| ds <= G w_F(Re V) d Re V,
    G = e^(d (3/2 alpha)^(1/2) tan(alpha)^(3/2) / 8) cos(alpha)^(-1 - max(1, k/2)).

For 0 <= gamma <= 1 with H = E[F e^(gamma v)] finite, |q| <= Q e^(gamma Re v), |kappa| <= Q' e^(gamma Re v) there, the
integrand weighs at most G Q H (G Q' H). The same rule for e^(gamma v) F alone gives H up to strip_error G H, and what
the nodes that are taken leave of this bounds the others: q <= (L - 1)^-gamma e^(gamma v), and kappa <= q / 4.
`docs/claims/prompts/output-mean-square.md` has the proofs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from flint import arb, ctx, fmpq

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.concentrated_scores import concentrated_mean
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.lognormal_laplace import strip_error, within
from certattn.kernel.mathematics.query_averages import QueryAverage
from certattn.kernel.mathematics.score_variances import Density, Form, ScoreVariance
from certattn.kernel.mathematics.softmax_powers import MOST_VARIANCE
from certattn.kernel.mathematics.weight_growth import (
    density_growth,
    kept_share,
    thinned_collision,
    weights_at,
    weights_near,
)
from certattn.kernel.methods import method

# alpha, the factor of V, and the cells on which the line is looked at.
STRIP, SCALE, _CELLS = fmpq(5, 4), fmpq(3, 2), 64
# gamma is one of so many multiples of the largest that is admitted, or of 1.
_GROWTHS = 8
_FEWEST_BITS = 12
_MOST_NODES = 2_000
# Of a mean where the variance of the scores hardly varies, this is close.
_ENOUGH_BITS = 28
# Where nothing else is known, it is known well enough when it is off by no larger share.
_POOR = fmpq(1, 100)
# For messages: where the terms of a density become too many.
_MOST_RATIO = 400
# More bits cost too much: what is not decided then is not decided.
_MOST_BITS = 64


@dataclass(frozen=True)
class WeightAverage:
    """E[q f + kappa g] for prompts of `length` >= 2 tokens, f and g quadratic forms of the same Gaussian z."""

    length: int
    of_q: QueryAverage
    of_kappa: QueryAverage

    @method
    def value(self, most_bits: int = _MOST_BITS) -> arb:
        """The average, to about three quarters of so many bits, or of half the working precision.

        Not finite where the scores vary too differently along different directions of z.
        """
        bits = min(ctx.prec // 2, most_bits)
        if bits not in self._known:
            with working_precision(2 * _MOST_BITS):
                self._known[bits] = self._enclosed(bits)
        return self._known[bits]

    @cached_property
    def _known(self) -> dict[int, arb]:
        return {}

    def _enclosed(self, bits: int) -> arb:
        law = ScoreVariance(self.of_q)
        f, g = law.form(self.of_q), law.form(self.of_kappa)
        if law.rank == 0:
            q, kappa = weights_at(self.length, law.offset, 2 * bits)
            return q * f.constant + kappa * g.constant
        nearly = concentrated_mean(self.length, self.of_q, self.of_kappa, 2 * bits)
        if (nearly.rad() < abs(nearly) * arb(2) ** -min(bits * 3 // 4, _ENOUGH_BITS)) is True:
            return nearly
        found = self._by_rule(law, f, g, bits)
        if found.is_finite() is not True:
            return nearly if (nearly.rad() < abs(nearly) * _POOR) is True else arb.nan()
        return nearly if (nearly.rad() < found.rad()) is True else found

    def unknown(self) -> str:
        """Why no value is known."""
        ratio = int((1 / (1 - ScoreVariance(self.of_q).spread)).floor())
        if ratio < _MOST_RATIO // 4:
            return "the variance of the scores varies too little or too much for quadrature; state the query itself"
        return (
            f"the scores vary about {ratio} times as much along one direction of the queries as along another; "
            f"averages are enclosed up to about {_MOST_RATIO} times"
        )

    def _by_rule(self, law: ScoreVariance, f: Form, g: Form, bits: int) -> arb:
        # The average may be as small as q, which is at least 1/L.
        densities = law.densities([f, g], bits + self.length.bit_length())
        if densities is None:
            return arb.nan()
        return _Rule(self.length, law, self.of_q, (f, g), densities).value(bits)


@dataclass(frozen=True)
class _Node:
    """t, V'(s), the densities there, about what F weighs, and what the node adds to the average."""

    t: arb
    slope: arb
    densities: Sequence[arb]
    mass: arb
    size: arb


class _Rule:
    """The trapezoid rule, for one law of v and the densities weighted with 1, f and g."""

    def __init__(
        self, length: int, law: ScoreVariance, average: QueryAverage, forms: Sequence[Form], densities: list[Density]
    ) -> None:
        self._length, self._law, self._densities = length, law, densities
        self._sizes = [_size(form) for form in forms]
        zero = ExactMatrix.zero(average.N.rows, average.N.columns)
        self._moments = [
            QueryAverage(average.mean, average.covariance, fmpq(1), zero, average.N),
            QueryAverage(average.mean, average.covariance, -law.offset, average.N, average.N),
        ]

    @cached_property
    def _growths(self) -> list[fmpq]:
        """What gamma may be."""
        top = fmpq(1)
        while self._moments[0].admits(top) is not True:
            top /= 2
        return [top * k / _GROWTHS for k in range(_GROWTHS)]

    def _mean(self, k: int, gamma: fmpq) -> arb:
        """H for F = c_0 + b_0 t."""
        plain, weighed = (moment.exponential(gamma) for moment in self._moments)
        return self._sizes[k][0] * plain + self._sizes[k][1] * weighed

    def value(self, bits: int) -> arb:
        weighs, steps = self._weighs(), self._steps(bits)
        error = strip_error(arb(STRIP), fmpq(1, steps)) * weighs
        total, nodes = arb(0), self._nodes(steps, bits)
        if len(nodes) >= _MOST_NODES:
            return arb.nan()
        largest = max(node.size for node in nodes)
        for node in nodes:
            q, kappa = weights_near(self._length, self._law.offset + node.t, _enough(bits, node.size / largest))
            _, f, g = node.densities
            total += node.slope * (q * f + kappa * g) / steps
        off = arb(0)
        for k, share in enumerate((fmpq(1), fmpq(1, 4))):
            off += min(self._strip(k, gamma) for gamma in self._growths) * error
            off += min(self._left(k, gamma, nodes, steps, error) for gamma in self._growths) * share
        return total + within(off)

    def _weighs(self) -> arb:
        """G."""
        strip = arb(STRIP)
        growth = (arb(self._law.distance_squared * SCALE * STRIP) * strip.tan() ** 3).sqrt() / 8
        return growth.exp() / strip.cos() ** (1 + max(fmpq(1), fmpq(self._law.rank, 2)))

    def _strip(self, k: int, gamma: fmpq) -> arb:
        """Q H, or Q' H for k = 1: x' <= Re v + 3/2 alpha tan(alpha), and min(1, a) <= a^gamma."""
        strip, (density, share) = arb(STRIP), on_the_line()
        thinned = thinned_collision(self._length, share, SCALE * strip * strip.tan()) ** gamma
        ratio = density / share
        return thinned * (2 * ratio * ratio if k else ratio) * self._mean(k, gamma)

    def _left(self, k: int, gamma: fmpq, nodes: Sequence[_Node], steps: int, error: arb) -> arb:
        """What the nodes that are not taken add, with (L - 1)^-gamma e^(gamma v) F in the place of q f."""
        plain, weighed = self._sizes[k]
        taken = arb(0)
        for node in nodes:
            grown = (gamma * (self._law.offset + node.t)).exp()
            taken += node.slope * node.densities[0] * grown * (plain + weighed * node.t)
        left = self._mean(k, gamma) * (1 + within(error)) - taken / steps
        return left.abs_upper() / arb(self._length - 1) ** gamma

    def _steps(self, bits: int) -> int:
        """1/h: errors that are small beside the average, about."""
        q, _ = weights_at(self._length, min(self._law.offset + self._mean_square(), fmpq(MOST_VARIANCE)), _FEWEST_BITS)
        least = min(self._strip(0, gamma) for gamma in self._growths)
        nats = fmpq(7, 10) * bits * 3 / 4 + (self._weighs() * least / (q * self._mean(0, fmpq(0)))).log()
        return max(1, _ceiling(nats / (2 * arb.pi() * STRIP)))

    def _mean_square(self) -> fmpq:
        """E t."""
        return self._moments[1].plain()

    def _nodes(self, steps: int, bits: int) -> list[_Node]:
        """From the mean of t on in both directions, until they add next to nothing."""
        mean = self._mean_square() / SCALE
        start = _ceiling(arb(mean).expm1().log() * steps) if mean > 0 else 0
        found, least = [self._node(fmpq(start, steps))], arb(2) ** -(bits * 3 // 4)
        for side in (1, -1):
            j, largest = start, found[0].size
            while len(found) < _MOST_NODES:
                j += side
                node = self._node(fmpq(j, steps))
                found.append(node)
                largest = largest.max(node.size)
                # To the left q is small; that it grows from 1/L on is not used of what is left out there.
                if ((node.size if side > 0 else node.mass) < least * largest) is not False:
                    break
        return found

    def _node(self, s: fmpq) -> _Node:
        power = arb(s).exp()
        t, slope = SCALE * power.log1p(), SCALE * power / (1 + power)
        one, *others = self._densities
        densities = [one.at_least(t), *(density.at(t) for density in others)]
        weight = ((self._law.offset + t).exp() / (self._length - 1)).min(arb(1))
        mass = slope * densities[0] * (self._sizes[0][0] + self._sizes[0][1] * t)
        return _Node(t, slope, densities, mass, mass * weight)


def _size(form: Form) -> tuple[arb, arb]:
    """c_0 = |c| + |l| and b_0 = |B| + |l|, as 2 |l'y| <= |l| (1 + t)."""
    constant, linear, square = form.sizes
    return constant + linear, square + linear


def _enough(bits: int, share: arb) -> int:
    """Bits of q and kappa where they matter less."""
    lost = _ceiling(-share.log() * fmpq(19, 10)) if (share > 0) is True else bits
    return max(_FEWEST_BITS, min(bits, bits - lost))


@lru_cache(1)
def on_the_line() -> tuple[arb, arb]:
    """The largest c and the least p for v = v_0 + V on Im s = alpha.

    With y = Im V is Re V = 3/2 log(sin alpha / sin(alpha - 2/3 y)); along the line y grows and y / Re V falls.
    """
    c, p = arb(1), arb(1)
    with working_precision(64):
        strip, slope = arb(STRIP), arb(STRIP).tan()
        for k in range(1, _CELLS + 1):
            height = SCALE * STRIP * fmpq(k, _CELLS)
            growth = density_growth(slope, height)
            c, p = c.max(growth), p.min(kept_share(growth, height))
            if k < _CELLS:
                slope = height / (SCALE * (strip.sin() / (strip - height / SCALE).sin()).log())
        return arb(c.upper()), arb(p.lower())


def _ceiling(value: arb) -> int:
    """An integer that is about the ball's upper end, or above; 1 for an unbounded ball."""
    return int(value.upper().ceil().unique_fmpz() or 1) if value.is_finite() is True else 1
