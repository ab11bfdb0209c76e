"""Enclosures of the law of `equivalent_formulas`: its Stieltjes transform, tails, density, edges and moments.

The theorems that this rests on, all proved in `docs/claims/spectrum/equivalent-law.md`:

1.  For z in the upper half plane the quartic P(.; z) has exactly one root in the lower one, G(z). For real x it has at
    most one there, G(x + i0). A polynomial p of degree 4 has a root in the disc around w of radius 4 |p(w)/p'(w)|:
    where that disc lies in the lower half plane, G is in it, whatever guess w was.
2.  mu((x, inf)) = 2/pi Im Phi(G(x + i0)).
3.  The density of mu is at most 2 sqrt(u_0)/pi, its value at 0.
4.  h has one zero v in (0, 1), the right edge is K(sqrt(v/b)). The support has a gap exactly where lambda < 1 and the
    discriminant of h is positive; its ends are the values of K at the two zeros of h beyond 1, and mu has the mass
    lambda above it.

With x = beta^2 the ratio of the two parts of softmax's variance is rho(x) = alpha^2/beta^2 = (e^x - 1 - x)/x =
int_0^1 (e^(sx) - 1) ds, so that e^(x/2) - 1 <= rho(x) <= (e^x - 1)/2 (Jensen; a convex function below its chord) and
rho(x) >= x/2.

Softmax weights that are cut off: e^(beta g - beta^2/2), g a standard normal number, and at most tau.

With c = (log tau)/beta + beta/2, where the two are equal, Q(x) = P(g > x), and f(g) = min(e^(beta g - beta^2/2), tau),

    E f = Q(beta - c) + tau Q(c),    E g f = beta Q(beta - c),    E f^2 = e^(beta^2) Q(2 beta - c) + tau^2 Q(c) .

f/E f has the variance m and the part beta_tau g along g:

    m = E f^2/(E f)^2 - 1,    beta_tau = E g f/E f,    alpha_tau^2 = m - beta_tau^2,

with these in the place of e^(beta^2) - 1, beta and alpha^2 the law of `equivalent_formulas` is the truncated one. For d
tokens tau is chosen by tau^2 = d m(tau). As m' < 2 tau Q(c)/(E f)^2, and Q(c) falls and E f grows with tau,
t^2 - d m(t) grows for all t from a tau on at which d Q(c) <= (E f)^2: a zero of it there is the largest.

`docs/claims/spectrum/spectral-distance.md` has the proofs of what is said of these.

The limit law mu of the singular values of softmax attention, by its numbers: beta and lambda, or alpha^2 too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from flint import acb, acb_poly, arb, ctx, fmpq

from certattn.kernel.decide.obligation import Shared
from certattn.kernel.document.schema import Count, Field, Rational, Record, Rule, Values
from certattn.kernel.mathematics.balls import normal_tail
from certattn.kernel.mathematics.functions import root
from certattn.kernel.theorems.spectrum import equivalent_formulas as formulas

# A guess of a root is good to about 2^-32, less where others are near; each step of Newton's method doubles that.
_GUESS_BITS = 20
# How far from x its neighbours are looked for where the boundary value at x is not certified: 2^-(bits/k).
_NEIGHBOURS = (2, 3, 4, 6)


class EquivalentLaw:
    """Every law mu whose alpha^2, beta^2 and lambda, all positive, lie in the given balls."""

    def __init__(self, alpha2: arb, beta2: arb, lambda_: arb) -> None:
        self.numbers = formulas.LawNumbers(alpha2, beta2, lambda_)

    @classmethod
    def from_square(cls, beta2: fmpq, lambda_: fmpq) -> EquivalentLaw:
        """The law of softmax(beta S), from beta^2: alpha^2 = e^(beta^2) - 1 - beta^2."""
        square = arb(beta2)
        return cls(formulas.nonlinear_energy(square), square, arb(lambda_))

    @classmethod
    def truncated(cls, beta2: fmpq, lambda_: fmpq, tau: fmpq) -> EquivalentLaw:
        """The law of the numbers of `TruncatedWeights`; of NaN, of which nothing is proved, if they may not be > 0."""
        weights = TruncatedWeights(beta2, tau)
        alpha2, linear = weights.alpha2, weights.beta2
        if (alpha2 > 0) is not True or (linear > 0) is not True:
            alpha2 = linear = arb.nan()
        return cls(alpha2, linear, arb(lambda_))

    # -- edges

    @cached_property
    def right_edge(self) -> arb:
        """x_r, the largest point of the support; NaN where the precision is too low."""
        law = self.numbers
        slope = law.alpha2 / law.pole
        # About where h is 0, within a factor of 40; the signs of h there are looked at.
        below = (1 / (2 * slope + 12 * law.lambda_ + 4)).mid()
        # Beyond 1 there may be other zeros.
        above = (2 / slope.max(law.lambda_).max(arb(2))).mid().min(arb(1))
        return self._critical_value(zero_between(self._critical, below, above))

    @cached_property
    def gap(self) -> tuple[arb, arb] | None:
        """The ends of the gap of the support, the lower one first; None where the precision shows none."""
        law = self.numbers
        constant, linear, square, cube = law.critical()
        # Where h is least beyond 1; a guess, as its sign is looked at.
        least = ((root(square * square - 3 * cube * linear) - square) / (3 * cube)).mid()
        if not ((law.lambda_ < 1) is True and (law.discriminant() > 0) is True and (least > 1) is True):
            return None
        # All zeros of a polynomial are below 1 + the largest |coefficient / leading one| (Cauchy).
        last = (2 + (abs(constant).max(abs(linear)).max(abs(square)) / cube)).upper()
        first = zero_between(
            lambda v: -self._critical(v), *scale_of_change(lambda v: -self._critical(v), arb(1), least)
        )
        second = zero_between(self._critical, least, last)
        edges = self._critical_value(second), self._critical_value(first)
        return edges if all(edge.is_finite() is True for edge in edges) else None

    def piece_ends(self) -> list[arb]:
        """Exact numbers just beyond the ends of the pieces of the support, the right edge last; NaN if unknown."""
        inner = [] if self.gap is None else [self.gap[0].upper(), self.gap[1].lower()]
        return [*inner, self.right_edge.upper()]

    def _critical(self, v: arb) -> arb:
        """h(v)."""
        constant, linear, square, cube = self.numbers.critical()
        return ((cube * v + square) * v + linear) * v + constant

    def _critical_value(self, v: arb) -> arb:
        """K at the zero of K' that a ball of v = b w^2 holds, by the mean value theorem."""
        w = (v / self.numbers.pole).sqrt()
        middle = w.mid()
        return self.numbers.inverse(middle) + self.numbers.inverse_slope(w) * (w - middle)

    # -- the Stieltjes transform and its boundary values

    def stieltjes(self, z: acb) -> acb | None:
        """G(z), or G(x + i0) where z is exactly real; None where that is not certified.

        Where the imaginary part is not 0 all points of the ball must lie in the upper half plane. None for a real x may
        mean that G(x + i0) is real, as it is where the density is 0.
        """
        if (z.imag > 0) is not True and not (z.imag.is_zero() and z.real.is_finite()):
            return None
        coefficients = self.numbers.quartic(z)
        for guess in self._guesses(z, coefficients):
            around = _root_near(coefficients, guess)
            if around is not None and (around.imag < 0) is True:
                return around
        return None

    def _guesses(self, z: acb, coefficients: list[acb]) -> Iterator[acb]:
        """Numbers that may be near G(z): roots of the quartic, and where alpha is large the semicircle law's."""
        try:
            roots = acb_poly([acb(coefficient).mid() for coefficient in coefficients]).roots(maxprec=4 * ctx.prec)
            # A huge real root may have been found a little below the axis, which is farther than G is.
            yield from sorted((root.mid() for root in roots if (root.mid().imag < 0) is True), key=lambda r: r.imag)
        except ValueError:
            pass
        variance = self.numbers.variance
        root = (z * z - 4 * variance).mid().sqrt()
        yield ((z - (root if (root.imag > 0) is True else -root)) / (2 * variance)).mid()

    # -- tails and densities

    def tail(self, x: arb) -> arb:
        """mu((x, inf)), an enclosure that holds for every x of the ball."""
        if x.is_finite() is not True:
            return arb(0).union(arb(1))
        known = self._tail_outside(x)
        if known is not None:
            return known
        if x.is_exact():
            return self._tail(x)
        spread = self.density_bound * arb(x.rad())
        if (spread < arb(2) ** -(ctx.prec // 2)) is True:
            return self._tail(x.mid()) + arb(0, spread.upper())
        return self._tail(x.upper()).union(self._tail(x.lower()))

    def _tail(self, x: arb) -> arb:
        """The tail at an exact x."""
        known = self._tail_outside(x)
        if known is not None:
            return known
        found = self._tail_inside(x)
        return found if found is not None else self._tail_near(x)

    def _tail_outside(self, x: arb) -> arb | None:
        """Where every x of the ball is proved to lie outside of the inside of the support."""
        if (x <= 0) is True:
            return arb(1)
        if (x >= self.right_edge) is True:
            return arb(0)
        return arb(self.numbers.lambda_) if self._is_in_gap(x) else None

    def _is_in_gap(self, x: arb) -> bool:
        """Whether that is proved of every x of the ball."""
        return self.gap is not None and (x >= self.gap[0]) is True and (x <= self.gap[1]) is True

    def _tail_inside(self, x: arb) -> arb | None:
        """By the closed form."""
        boundary = self.stieltjes(acb(x))
        if boundary is None:
            return None
        potential = self.numbers.primitive(boundary)
        found = 2 * arb(potential.imag) / arb.pi()
        # Of huge numbers the ball may be wider than all that a tail can be.
        return found if found.is_finite() is True and (found.rad() < 1) is True else None

    def _tail_near(self, x: arb) -> arb:
        """By known tails, the bound of the density and monotonicity, as next to an edge."""
        bound = self.density_bound
        lower, upper = arb(0), arb(1)
        anchors = [(self.right_edge, arb(0))] if self.right_edge.is_finite() is True else []
        anchors += [(end, self.numbers.lambda_) for end in self.gap or ()]
        for place, tail in anchors:
            # No point beyond a place has a larger tail than the place, however far it is.
            before, behind = (x <= place) is True, (x >= place) is True
            lower = _larger(lower, tail if before else tail - bound * abs(x - place))
            upper = _smaller(upper, tail if behind else tail + bound * abs(x - place))
        for share in _NEIGHBOURS:
            step = x * arb(2) ** -(ctx.prec // share)
            found = [self._tail_inside(place.mid()) for place in (x + 2 * step, x - 2 * step)]
            if found[0] is not None:
                lower = _larger(lower, found[0])
            if found[1] is not None:
                upper = _smaller(upper, found[1])
            if None not in found:
                break
        return lower.union(upper)

    def density(self, x: arb) -> arb:
        """The density of mu at every x >= 0 of the ball; at 0 its limit from the right."""
        if self._is_in_gap(x) or (x < 0) is True or (x >= self.right_edge) is True:
            return arb(0)
        boundary = self.stieltjes(acb(x))
        if boundary is None or (x >= 0) is not True:
            return arb(0).union(self.density_bound)
        return -2 * boundary.imag / arb.pi()

    @cached_property
    def density_bound(self) -> arb:
        """sup of the density of mu, which is its value at 0: 2 sqrt(u_0)/pi."""
        return 2 * root(self.numbers.largest_square()) / arb.pi()


def _root_near(coefficients: list[acb], guess: acb) -> acb | None:
    """A square around a disc with a root of the quartic; None where Newton's method leads nowhere."""
    bits = _GUESS_BITS
    while bits < ctx.prec:
        value, slope = _at(coefficients, guess)
        guess = (guess - value / slope).mid()
        bits *= 2
    value, slope = _at(coefficients, guess)
    radius = 4 * abs(value / slope).upper()
    if radius.is_finite() is not True:
        return None
    return acb(arb(guess.real, radius), arb(guess.imag, radius))


def _at(coefficients: list[acb], w: acb) -> tuple[acb, acb]:
    """P(w) and P'(w), by Horner's rule."""
    value, slope = coefficients[-1], acb(0)
    for coefficient in reversed(coefficients[:-1]):
        slope = slope * w + value
        value = value * w + coefficient
    return value, slope


def _larger(bound: arb, other: arb) -> arb:
    """The larger of two lower bounds, each the lower end of a ball."""
    return bound.lower().max(other.lower()) if other.is_finite() is True else bound


def _smaller(bound: arb, other: arb) -> arb:
    """The smaller of two upper bounds, each the upper end of a ball."""
    return bound.upper().min(other.upper()) if other.is_finite() is True else bound


# -- weights that are cut off


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
        return self.second / (self.mean * self.mean) - 1

    @property
    def beta2(self) -> arb:
        """beta_tau^2."""
        root = self.slope / self.mean
        return root * root

    @property
    def alpha2(self) -> arb:
        """alpha_tau^2, which is positive, as f is not affine."""
        return self.variance - self.beta2

    def growth(self, tokens: int) -> tuple[arb, arb]:
        """d Q(c) and (E f)^2: where the first is no larger, t^2 - d m(t) grows for all t from this tau on."""
        return tokens * self.share_cut, self.mean * self.mean


# -- where the ratio of the two parts of softmax's variance reaches a number, and where the gap closes


def beta_at_ratio(ratio: arb) -> arb:
    """The beta > 0 with alpha^2/beta^2 = ratio > 0; NaN where the precision is too low."""
    growth = (1 + ratio).log()
    # Somewhat beyond the two bounds, so that the signs at them are proved.
    below = ((1 + 2 * ratio).log() * 3 / 4).mid()
    above = (3 * growth.min(ratio)).mid()
    square = zero_between(lambda x: formulas.energy_ratio(x) - ratio, below, above)
    return square.sqrt() if (square > 0) is True else arb.nan()


def beta_at_share(share: arb) -> arb:
    """The beta > 0 at which alpha^2/(alpha^2 + beta^2) is a number between 0 and 1."""
    return beta_at_ratio(formulas.ratio_of_share(share))


def critical_beta(lambda_: arb) -> arb:
    """beta_c, 0 < lambda < 1: the support of the law has a gap exactly for beta < beta_c.

    NaN where the precision is too low, or lambda is not between 0 and 1.
    """
    t = zero_between(lambda t: -formulas.place_of_double_root(t, lambda_), arb(0), arb(1))
    return beta_at_ratio(formulas.critical_ratio(t)) if (t > 0) is True and (t < 1) is True else arb.nan()


# -- zeros of real functions between two numbers, by bisection with proved signs


# Sizes up to 2 to this are gone through.
_EXPONENTS = 2**14


def zero_between(function: Callable[[arb], arb], below: arb, above: arb) -> arb:
    """A ball with a zero of a continuous function that is proved < 0 at `below` and > 0 at `above`, exact numbers.

    Either of them may be the larger one. As small as the working precision shows; NaN where the signs at the two are
    not proved. With signs proved at all ends, every function that the enclosures hold has such a zero.
    """
    if (function(below) < 0) is not True or (function(above) > 0) is not True:
        return arb.nan()
    for _ in range(ctx.prec + 8):
        middle = ((below + above) / 2).mid()
        value = function(middle)
        if (value < 0) is True:
            below = middle
        elif (value > 0) is True:
            above = middle
        else:
            # It may be the zero itself: come closer from both sides.
            near = ((below + middle) / 2).mid(), ((middle + above) / 2).mid()
            moved = [(function(near[0]) < 0) is True, (function(near[1]) > 0) is True]
            below, above = near[0] if moved[0] else below, near[1] if moved[1] else above
            if not any(moved):
                break
    return below.union(above)


def scale_of_change(function: Callable[[arb], arb], origin: arb, far: arb) -> tuple[arb, arb]:
    """Two numbers on the way from `origin` to `far`, the second at most twice as far from the origin, or (origin, far).

    Of a function that changes its sign once on the way, from < 0 to > 0, they are on both sides of that: bisection
    takes hundreds of steps to come from a large number to a change next to the origin, the exponents of its distance
    are gone through in a few. A guess: `zero_between` looks at the signs.
    """
    size = far - origin
    near, steps = 0, 2 * ctx.prec + _EXPONENTS
    while steps - near > 1:
        middle = (near + steps) // 2
        near, steps = (middle, steps) if (function(origin + size * arb(2) ** -middle) > 0) is True else (near, middle)
    return ((origin + size * arb(2) ** -steps).mid(), (origin + size * arb(2) ** -near).mid())


# -- as certificates state it

BETA = Field("beta", Rational(above=0), "the inverse temperature of softmax(beta S)")
LAMBDA = Field("lambda", Rational(above=0), "d_qk/d, the dimension of queries and keys over the number of tokens")
ALPHA2 = Field("alpha2", Rational(above=0), "alpha^2, the variance that is not linear in the scores")
BETA2 = Field("beta2", Rational(above=0), "beta^2, the variance that is")


@dataclass(frozen=True)
class SpectralLaw:
    """The law mu, exact. `alpha2` is None where alpha^2 = e^(beta^2) - 1 - beta^2; `beta` where only beta^2 is known.

    unit: where beta^2 and lambda are those of weights, their standard deviation. tau: where the weights of softmax are
    cut off at it, which changes what stands for alpha^2 and beta^2 in the law; else None.
    """

    beta: fmpq | None
    alpha2: fmpq | None
    beta2: fmpq
    lambda_: fmpq
    unit: fmpq | None = None
    tau: fmpq | None = None

    @cached_property
    def enclosed(self) -> Shared[EquivalentLaw]:
        """The same, made once for each precision."""
        return Shared(self.at_precision)

    def at_precision(self) -> EquivalentLaw:
        """Enclosures at the working precision."""
        if self.tau is not None:
            return EquivalentLaw.truncated(self.beta2, self.lambda_, self.tau)
        if self.alpha2 is None:
            return EquivalentLaw.from_square(self.beta2, self.lambda_)
        return EquivalentLaw(arb(self.alpha2), arb(self.beta2), arb(self.lambda_))

    @property
    def exact(self) -> formulas.LawNumbers[fmpq] | None:
        """Its numbers as rationals, where alpha^2 is one."""
        return None if self.alpha2 is None else formulas.LawNumbers(self.alpha2, self.beta2, self.lambda_)


def law_forms(by_beta: Sequence[Field[Any]] = (), by_alpha: Sequence[Field[Any]] = ()) -> dict[str, Record]:
    """The law by beta and lambda, or by alpha^2 too, and what stands beside these."""
    return {BETA.name: Record(BETA, LAMBDA, *by_beta), ALPHA2.name: Record(ALPHA2, BETA2, LAMBDA, *by_alpha)}


def read_law(form: str, values: Values, tau: fmpq | None = None) -> SpectralLaw:
    """By beta and lambda, or by alpha^2, beta^2 and lambda. Raises MalformedError."""
    if form != BETA.name:
        return SpectralLaw(None, values[ALPHA2], values[BETA2], values[LAMBDA], tau=tau)
    beta = values[BETA]
    if beta > formulas.LARGEST_BETA:
        raise values.node(BETA).malformed(f"a number of at most {formulas.LARGEST_BETA}")
    return SpectralLaw(beta, None, beta * beta, values[LAMBDA], tau=tau)


def moment_orders(largest: int) -> tuple[Field[int], Rule]:
    """The order of a moment, and that it is even and not too large."""
    order = Field("order", Count(2), f"2n, an even number up to {largest}")

    def even(item: Values) -> None:
        if item[order] % 2 != 0 or item[order] > largest:
            raise item.node(order).malformed(f"an even number from 2 to {largest}")

    return order, even
