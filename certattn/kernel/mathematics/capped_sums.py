"""Chernoff's bound for Gaussian tokens and their mixtures, with summands capped where they are unbounded.

For any event A about one token (and the part of the mixture that it comes from),

    P(sum Y_i > 0) <= 1 - (1 - P(A))^L + E[e^{slope Y}; not A]^L :

either some token is in A, or Markov's inequality holds for what is left. Here, for a part as below,
Y = w (mu + c g + sigma h) and A is where Y exceeds a cap B:

    sigma > 0:   A = { h > (B/w - mu - c g)/sigma };
    sigma = 0:   A = { first < g < last }, or empty. Any ends are allowed; they are chosen where
                 Y is about B.

Both numbers are integrals over g against the normal density. Their tails, cut off, are enclosed by what
bounds the integrand there. For slope * Y bounded by `height` on not A they are at most e^height Q(G).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flint import arb, fmpq

from certattn.kernel.mathematics.balls import normal_tail
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.laws import Atoms, Gaussian, Law, Vector, dot, leaves
from certattn.kernel.mathematics.quadrature import integral, tolerance_bits
from certattn.kernel.mathematics.reals import Real, Surd, square

# -- what one direction sees of a law
#
# Laws made of Gaussians, as the pair (score, output) that one direction sees: each part is plane.
#
# Under a part N(m, Gamma) of the law, with a tilt a, a direction v, weights w = exp(<a, x> - Lambda) and
# the tilted mean tau of the whole law,
#
#     w = e^{alpha + s g},   <v, x - tau> - eps = mu + c g + sigma h,   g and h independent standard normals,
#     alpha = <a, m> - Lambda,   mu = <v, m> - (<v, tau> + eps),
#     s^2 = a'Gamma a,   c = v'Gamma a / s,   sigma^2 = v'Gamma v - c^2,   c = 0 where s = 0.
#
# s^2, c^2 and sigma^2 are rational, so whether they vanish is decided exactly. An atom is a Gaussian of
# covariance 0.


@dataclass(frozen=True)
class Part:
    """A Gaussian part of a law: probability, mean, and what matters of its covariance, exactly."""

    weight: fmpq
    mean: Sequence[fmpq]
    score_variance: fmpq
    slope_squared: fmpq
    slope_sign: int
    rest_variance: fmpq

    @property
    def is_bounded_above(self) -> bool:
        """Whether Y is bounded above by exact conditions: no noise of its own, and c < 0 or s = 0."""
        return self.rest_variance == 0 and (self.slope_sign < 0 or self.score_variance == 0)


@dataclass(frozen=True)
class Plane:
    """The same numbers as balls, with those of the whole law; `flat_score` and `tied` say that s and sigma are 0."""

    alpha: arb
    mu: arb
    s: arb
    c: arb
    sigma: arb
    flat_score: bool
    tied: bool
    slope_sign: int


def gaussian_parts(law: Law[fmpq]) -> list[tuple[fmpq, Gaussian[fmpq]]] | None:
    """The law as a mixture of Gaussians, atoms among them, with probabilities; None for other laws."""
    zero, found = [[fmpq(0)] * law.dimension] * law.dimension, list[tuple[fmpq, Gaussian[fmpq]]]()
    for weight, part in leaves(law, fmpq(1)):
        if isinstance(part, Gaussian):
            found.append((weight, part))
        elif isinstance(part, Atoms):
            found += [(weight * w, Gaussian(y, zero)) for w, y in zip(part.weights, part.points, strict=True)]
        else:
            return None
    return found


def exact_part(weight: fmpq, law: Gaussian[fmpq], base: ExactMatrix, scale: Real, direction: ExactMatrix) -> Part:
    """The plane of one Gaussian for the tilt scale * base and a direction, both 1 x d."""
    covariance = ExactMatrix.rational(law.covariance)
    scored = base @ covariance
    along = (scored @ base.T).entry(0, 0)
    across = (scored @ direction.T).entry(0, 0)
    spread = (direction @ covariance @ direction.T).entry(0, 0)
    slope_squared = across * across / along if along != 0 else fmpq(0)
    sign = _sign(across) * (1 if isinstance(scale, Surd) else _sign(scale))
    return Part(weight, law.mean, square(scale) * along, slope_squared, sign, spread - slope_squared)


def _sign(value: fmpq) -> int:
    return int(value > 0) - int(value < 0)


def plane(part: Part, tilt: Vector, direction: Vector, log_mgf: arb, level: arb) -> Plane:
    """A part as balls; `log_mgf` is Lambda(a) of the whole law, and `level` its <v, tau> + eps."""
    centre = [arb(m) for m in part.mean]
    return Plane(
        dot(tilt, centre) - log_mgf,
        dot(direction, centre) - level,
        arb(part.score_variance).sqrt(),
        part.slope_sign * arb(part.slope_squared).sqrt(),
        arb(part.rest_variance).sqrt(),
        part.score_variance == 0,
        part.rest_variance == 0,
        part.slope_sign,
    )


# -- sums

# A ball, or a complex ball: the integrands are the same functions of both.
Ball = Any


@dataclass(frozen=True)
class Cap:
    """What is asked of one part: Chernoff's slope, the cap B (None for none), the precision."""

    slope: arb
    cap: arb | None
    bits: int


@dataclass(frozen=True)
class Capped:
    """P(A) and E[e^{slope Y}; not A] of one part, or of the whole law."""

    outside: arb
    inside: arb


# Numbers of which nothing is known.
_UNKNOWN = Capped(arb.nan(), arb.nan())


def density(g: Ball) -> Ball:
    """e^{-g^2/2} / sqrt(2 pi)."""
    return (-g * g / 2).exp() / (2 * arb.pi()).sqrt()


def capped(plane: Plane, asked: Cap) -> Capped:
    """P(A) and E[e^{slope Y}; not A] for one part."""
    if plane.tied:
        return _atom(plane, asked) if plane.flat_score else _tied(plane, asked)
    if asked.cap is None:
        raise ValueError("a part with noise of its own needs a cap")
    return _flat(plane, asked, asked.cap) if plane.flat_score else _noisy(plane, asked, asked.cap)


def capped_bound(whole: Capped, first: int, last: int) -> arb:
    """1 - (1 - P(A))^L + E[e^{slope Y}; not A]^L: at L = first = last, or where the mean is <= 1 between them."""
    return 1 - (1 - whole.outside) ** last + whole.inside**first


# -- no randomness, or none in the weights


def _atom(plane: Plane, asked: Cap) -> Capped:
    """s = sigma = 0: Y is one number. A is everything where it is proved to exceed the cap, else empty."""
    weight = plane.alpha.exp()
    if asked.cap is not None and weight * plane.mu > asked.cap:
        return Capped(arb(1), arb(0))
    return Capped(arb(0), (asked.slope * weight * plane.mu).exp())


def _flat(plane: Plane, asked: Cap, cap: arb) -> Capped:
    """s = 0 < sigma: Gaussian output of one weight, in closed form."""
    return Capped(exceeds_cap(plane, cap, arb(0)), exponential_below(plane, asked, cap, arb(0)))


# -- noise of its own


def exceeds_cap(plane: Plane, cap: arb, g: Ball) -> Ball:
    """P_h(A) at g: Q(h) for the end h = (B/w - mu - c g) / sigma of A."""
    weight = (plane.alpha + plane.s * g).exp()
    return normal_tail((cap / weight - plane.mu - plane.c * g) / plane.sigma)


@dataclass(frozen=True, slots=True)
class Exponents:
    """What e^{slope Y} at g is made of: slope Y = centre + spread h, h = `end` where A begins, k = spread - end."""

    centre: Ball
    spread: Ball
    end: Ball
    k: Ball


def exponents(plane: Plane, asked: Cap, cap: arb, g: Ball) -> Exponents:
    """Those of a part with noise of its own."""
    weight = (plane.alpha + plane.s * g).exp()
    mean = plane.mu + plane.c * g
    end = (cap / weight - mean) / plane.sigma
    steep = asked.slope * weight
    spread = steep * plane.sigma
    return Exponents(steep * mean, spread, end, spread - end)


def exponential_below(plane: Plane, asked: Cap, cap: arb, g: Ball) -> Ball:
    """E_h[e^{slope Y}; not A] at g, in the form that is the sharper one there.

    Where k > 1 both factors of the first form are extreme, and a wide ball makes nothing of them.
    """
    at = exponents(plane, asked, cap, g)
    if at.k.real > 1:
        return below_scaled(asked.slope * cap, at.end, at.k)
    return below_directly(at.centre, at.spread, at.k)


def below_directly(centre: Ball, spread: Ball, k: Ball) -> Ball:
    """e^{centre + spread^2/2} Q(k)."""
    return (centre + spread * spread / 2).exp() * normal_tail(k)


def below_scaled(height: arb, end: Ball, k: Ball) -> Ball:
    """e^{height - end^2/2} erfcx(k / sqrt 2) / 2, which is the same for height = slope B and Re k > 0."""
    return (height - end * end / 2).exp() * scaled_erfc(k * arb(2).rsqrt()) / 2


def scaled_erfc(z: Ball) -> Ball:
    """erfcx(z) = e^{z^2} erfc(z) for Re z > 0: a product where the ball is narrow, else its factors tear apart."""
    square = z * z
    if square.real.rad() < 1 and square.imag.rad() < 1:
        return square.exp() * z.erfc()
    return scaled_erfc_by_u(square)


def scaled_erfc_by_u(square: Ball) -> Ball:
    """U(1/2, 1/2, z^2) / sqrt(pi), which is erfcx(z) in the right half-plane only."""
    return square.hypgeom_u(arb(1) / 2, arb(1) / 2) / arb.pi().sqrt()


def _noisy(plane: Plane, asked: Cap, cap: arb) -> Capped:
    """s > 0, sigma > 0: slope Y <= slope B on not A."""
    height = asked.slope * cap
    far = _far(height, asked.bits)
    if far is None:
        return _UNKNOWN
    outside = integral(lambda g: exceeds_cap(plane, cap, g) * density(g), -far, far, asked.bits)
    inside = integral(lambda g: exponential_below(plane, asked, cap, g) * density(g), -far, far, asked.bits)
    rest = 2 * normal_tail(far)
    return Capped(outside + _up_to(rest), inside + _up_to(height.exp() * rest))


# -- no noise of its own


def _tied(plane: Plane, asked: Cap) -> Capped:
    """s > 0 = sigma: Y = f(g) = e^{alpha + s g} (mu + c g), and A an interval of g, or empty."""
    gap = None if asked.cap is None else cut(plane, asked.cap)
    height = asked.slope * (_supremum(plane) if gap is None else _highest_outside(plane, gap))
    far = _far(height, asked.bits)
    if far is None:
        return _UNKNOWN
    if gap is None:
        outside, kept = arb(0), [(-far, far)]
    else:
        outside, kept = normal_tail(gap.first), [(-far, gap.first)]
        if gap.last is not None:
            outside, kept = outside - normal_tail(gap.last), [*kept, (gap.last, far)]
    inside = _up_to(2 * height.exp() * normal_tail(far))
    for first, last in kept:
        ends = first.min(far).max(-far), last.min(far).max(-far)
        inside += integral(lambda g: (asked.slope * tied_summand(plane, g)).exp() * density(g), *ends, asked.bits)
    return Capped(outside, inside)


def tied_summand(plane: Plane, g: Ball) -> Ball:
    """f(g), which is Y."""
    return (plane.alpha + plane.s * g).exp() * (plane.mu + plane.c * g)


@dataclass(frozen=True)
class Gap:
    """The interval of g that A is: exact numbers, or no end."""

    first: arb
    last: arb | None


def cut(plane: Plane, cap: arb) -> Gap | None:
    """About where f exceeds the cap: f <= max(0, f(first)) before it and f <= max(0, f(last)) after it.

    For c >= 0 it has no end: f increases where it is positive. For c < 0 it holds the peak of f, which
    increases before and decreases after. None where f is proved to stay below the cap, or nearly so.
    """
    if plane.slope_sign == 0:
        upper = plane.mu.upper()
        return Gap((((cap / upper).log() - plane.alpha) / plane.s).mid(), None) if upper > 0 else None
    # With r = s/c and y = mu + c g, f = B says r y e^{r y} = r B e^{r mu - alpha}: Lambert's function.
    ratio = plane.s / plane.c
    z = ratio * cap * (ratio * plane.mu - plane.alpha).exp()
    if plane.slope_sign > 0:
        return Gap(crossing(plane, z.lambertw()), None)
    if not z * arb.const_e() > -1:
        return None
    first, last, top = crossing(plane, z.lambertw(-1)), crossing(plane, z.lambertw()), peak(plane)
    if not first <= top:
        return None
    if not last < _FARTHEST_END:
        return Gap(first, None)
    return Gap(first, last) if top <= last else None


# Ends of A farther out are taken in: no probability is lost, and f is hard to evaluate where mu + c g is about 0.
_FARTHEST_END = 64


def crossing(plane: Plane, root: arb) -> arb:
    """g where f(g) = B, about, from root = r y; not beyond the farthest end."""
    found: arb = ((root * plane.c / plane.s - plane.mu) / plane.c).mid().min(arb(_FARTHEST_END))
    return found


def _highest_outside(plane: Plane, gap: Gap) -> arb:
    """A bound of f outside A, at least 0."""
    top: arb = tied_summand(plane, gap.first).max(arb(0))
    return top if gap.last is None else top.max(tied_summand(plane, gap.last))


def peak(plane: Plane) -> arb:
    """Where f is largest for c < 0: g = -1/s - mu/c."""
    return -1 / plane.s - plane.mu / plane.c


def _supremum(plane: Plane) -> arb:
    """sup f where nothing is cut: its peak for c < 0, and 0 for c = 0, where mu <= 0 was proved."""
    return tied_summand(plane, peak(plane)) if plane.slope_sign < 0 else arb(0)


# -- tails

# Above this exponent of an integrand's bound a certificate is useless, and its integrals are a long way off.
MOST_HEIGHT = 1000


def _far(height: arb, bits: int) -> arb | None:
    """G with e^height Q(G) negligible: an integer, by Q(G) <= e^{-G^2/2}. None where `height` is out of reach."""
    if not height <= MOST_HEIGHT:
        return None
    return (2 * (height + tolerance_bits(bits) * arb(2).log())).nonnegative_part().sqrt().upper().ceil()


def _up_to(bound: arb) -> arb:
    """A ball of all numbers from 0 to `bound`."""
    return arb(0).union(bound)
