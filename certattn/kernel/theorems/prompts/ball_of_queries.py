"""Every query of a ball at once: P(|T_L - T| > eps for some query z with |z - z0| <= R), Gaussian tokens, one length.

With x = m + A y, A A' = Gamma and y standard normal, a query acts by its tilt alpha = s A'U z, and
T_L - T = W (softmax mean of the y_i - alpha), W = V A. Unless some |y_i| > r, which has the chance L P(chi_d > r) at
most, only |y| <= r counts. A shell is the tilts of the ball with from <= |alpha| <= to. For h, k, lambda > 0 let

    f_(b,v)(y) = lambda e^<b,y> / G(|y|) (<v, W ((1 + s) y - b)> - eps),   G(|y|) = E e^<eta,y>,

eta uniform on a ball of radius h, and s(|y|) between 0 and h^2/(d + 2) such that over b = alpha + eta, and v = u + zeta
with zeta uniform on a ball of radius k, the mean is lambda e^<alpha,y> (<u, W (y - alpha)> - eps) for every alpha and
u. By Jensen's inequality over these small balls, and Markov's over the large ones that hold them all,

    P(<u, T_L - T> > eps for some u and some alpha of the shell) <= volumes e^(-gamma L)

where -gamma bounds the mean over b and v of E e^f - 1, and the volumes are those of the large balls in units of the
small ones. No net of queries is taken. The proof is on the page of `output-tail`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from flint import arb, fmpq

from certattn.kernel.decide.obligation import NoBound, Obligation, Part
from certattn.kernel.document.matrices import Vector
from certattn.kernel.document.schema import Field, Listing, Rational, Record, Values
from certattn.kernel.given.attention import SCALE, VALUE_WEIGHTS, read_scale, read_weights, weighted_forms
from certattn.kernel.mathematics.balls import normal_tail, scale_ball
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.laws import Gaussian
from certattn.kernel.mathematics.reals import describe, square
from certattn.kernel.theorems.prompts.random_prompts import LENGTH, TOKEN_LAW, RandomPrompt

CENTRE = Field("centre", Vector(), "centre z0 of the ball")
RADIUS = Field("radius", Rational(above=0), "its radius R in the Euclidean norm")
BALL = Field("queries", Record(CENTRE, RADIUS), "a ball of queries: every z with |z - centre| <= radius")
GIVEN = weighted_forms("law", BALL, SCALE, TOKEN_LAW, VALUE_WEIGHTS, LENGTH)

WITHIN = Field("within", Rational(above=0), "r: all tokens have |y| <= r, but rarely")
TILT_NORM = Field("tilt_norm", Rational(minimum=0), "at least the norm of U'Gamma U, in root: of z to A'U z")
VALUE_NORM = Field("value_norm", Rational(minimum=0), "at least the norm of V Gamma V', in root: of y to V A y")
TO = Field("to", Rational(above=0), "the largest |alpha| of the shell; it begins where the one before it ends")
TILTS = Field("tilts", Rational(above=0), "h, the radius over which tilts are averaged")
OUTPUTS = Field("outputs", Rational(above=0), "k, that over which directions of the output are")
LAMBDA = Field("lambda", Rational(above=0), "lambda in E e^f")
SHELLS = Field("shells", Listing(Record(TO, TILTS, OUTPUTS, LAMBDA)), "shells of tilts, from the inmost on")
OVER_BALL = Record(WITHIN, TILT_NORM, VALUE_NORM, SHELLS)

# Cells of the score over [0, r] and [-r, 0], and of what is perpendicular to it over [0, r].
CELLS_ABOVE, CELLS_BELOW, CELLS_ACROSS = 160, 40, 24
# Exponents beyond which a bound is useless.
MOST = 1000


@dataclass(frozen=True)
class BallOfQueries(RandomPrompt):
    """A random prompt at the centre of a ball of queries. It is `read_ball` that makes one, with what is given."""

    @property
    def ball(self) -> Values:
        """Its centre and radius, as they are stated."""
        assert self.given is not None
        return self.given[BALL]

    @property
    def radius(self) -> fmpq:
        return self.ball[RADIUS]


def read_ball(values: Values) -> BallOfQueries:
    """The random prompt with every query of a ball, shapes checked against each other. Raises MalformedError."""
    law, lengths, ball = values[TOKEN_LAW], values[LENGTH], values[BALL]
    weights = read_weights(values, law.dimension)
    ball[CENTRE].require_length(weights.query_dimension, "what U or Q acts on")
    base = ball[CENTRE].load() @ weights.bilinear().T
    scale = read_scale(values)
    return BallOfQueries(law, base, scale, weights, lengths.first, values, lengths.onwards)


@dataclass(frozen=True)
class OverBall:
    """The norm over a ball of queries, with what its witness says."""

    prompt: BallOfQueries
    eps: fmpq
    hint: Values

    @classmethod
    def read(cls, prompt: BallOfQueries, eps: fmpq, hint: Values) -> OverBall:
        """Raises MalformedError unless every shell ends farther out than the one before it."""
        ends = [shell[TO] for shell in hint[SHELLS]]
        for before, end in pairwise(ends):
            if end <= before:
                found = f"one that ends at {describe(end)} after one at {describe(before)}"
                raise hint.node(SHELLS).malformed("shells that each end farther out than the one before", found)
        return cls(prompt, eps, hint)

    @cached_property
    def covariance(self) -> ExactMatrix | None:
        law = self.prompt.law.law
        return ExactMatrix.rational(law.covariance) if isinstance(law, Gaussian) else None

    @property
    def centre(self) -> arb:
        """|alpha| at the ball's centre."""
        assert self.covariance is not None
        base = self.prompt.base
        return arb(square(self.prompt.scale) * (base @ self.covariance @ base.T).entry(0, 0)).sqrt()

    @property
    def reach(self) -> arb:
        """How far from it the other tilts are, at most."""
        return abs(scale_ball(self.prompt.scale)) * self.prompt.radius * self.hint[TILT_NORM]

    def conditions(self, name: str) -> Iterator[Obligation]:
        """What the bound rests on: the two norms, and that the shells hold every tilt of the ball."""
        if self.covariance is None:
            return
        maps = (self.prompt.weights.bilinear().T, TILT_NORM), (self.prompt.values(), VALUE_NORM)
        for matrix, field in maps:
            too_small = fmpq(0) if is_norm(self.hint[field], matrix, self.covariance) is True else fmpq(1)
            yield Obligation(f"{name}.{field.name}", too_small, "<=", fmpq(0), Part.WITNESS)
        last = self.hint[SHELLS][-1][TO]
        yield Obligation(f"{name}.{SHELLS.name}", lambda: self.centre + self.reach, "<=", last, Part.WITNESS)

    def bound(self) -> arb:
        """A bound of the probability, at the working precision. Raises NoBound."""
        prompt, within = self.prompt, self.hint[WITHIN]
        if self.covariance is None:
            raise NoBound(f"every query of a ball is for Gaussian tokens so far, not for kind: {prompt.law.kind}")
        if prompt.onwards:
            raise NoBound("every query of a ball is for one length, not for every length from one on")
        start = (self.centre - self.reach).nonnegative_part()
        total, setting = prompt.length * chi_tail(prompt.dimension, arb(within)), self.setting()
        for stated in self.hint[SHELLS]:
            shell = Shell(start, arb(stated[TO]), arb(stated[TILTS]), arb(stated[OUTPUTS]), arb(stated[LAMBDA]))
            exponent = -setting.rate(shell) * prompt.length
            if not exponent < MOST:
                raise NoBound(f"{stated.at.path} proves nothing; expected a smaller lambda, or another number within")
            total += setting.volumes(shell, self.reach) * exponent.exp()
            start = shell.to
        return total

    def setting(self) -> Setting:
        prompt = self.prompt
        sizes = (prompt.dimension, prompt.output_dimension)
        return Setting(*sizes, arb(self.eps), arb(self.hint[VALUE_NORM]), arb(self.hint[WITHIN]))


def is_norm(most: fmpq, matrix: ExactMatrix, covariance: ExactMatrix) -> bool:
    """Whether M Gamma M' <= most^2 I."""
    room = ExactMatrix.identity(matrix.rows).scaled(most**2) - matrix @ covariance @ matrix.T
    return room.is_positive_semidefinite()


# -- the bound, of numbers alone


@dataclass(frozen=True)
class Shell:
    """Tilts of a size between two, and how they are averaged."""

    start: arb
    to: arb
    tilts: arb
    outputs: arb
    slope: arb


@dataclass(frozen=True)
class Setting:
    """Dimensions d and d_v, the threshold, the norm of W and how far tokens reach."""

    dimension: int
    outputs: int
    eps: arb
    norm: arb
    within: arb

    def volumes(self, shell: Shell, reach: arb) -> arb:
        """Volumes of what all averages are taken over, in units of one of them."""
        d, h = self.dimension, shell.tilts
        annulus = (shell.to + h) ** d - (shell.start - h).nonnegative_part() ** d
        tilts = annulus.min((reach + h) ** d) / h**d
        return tilts * ((1 + shell.outputs) / shell.outputs) ** self.outputs

    def rate(self, shell: Shell) -> arb:
        """gamma. Raises NoBound where tokens that are cut off may matter, or exponentials are too large."""
        if not (shell.to + shell.tilts + self.within) ** 2 < MOST:
            raise NoBound(f"tilts or tokens reach so far that exponents go beyond {MOST}; expected smaller ones")
        return shell.slope * (shell.start**2 / 2).exp() * self.drift(shell) - self.spread(shell)

    def drift(self, shell: Shell) -> arb:
        """At most -E of <u, W (y - alpha)> - eps over |y| <= r, y of mean alpha."""
        d, room = self.dimension, self.within - shell.to
        if not room > 0:
            raise NoBound("tokens are cut off within the tilts; expected a larger number within")
        found = self.eps * (1 - chi_tail(d, room)) - self.norm * chi_mean(d) * chi_tail(d + 1, room)
        if not found > 0:
            raise NoBound("the tokens that are cut off may matter; expected a larger number within")
        return found

    def spread(self, shell: Shell) -> arb:
        """At least the mean over b and v of E [f^2 psi(f)], psi(x) = (e^x - 1 - x)/x^2, by cells of y."""
        total, low = arb(0), (shell.start - shell.tilts).nonnegative_part()
        high = shell.to + shell.tilts
        for count, sign, size in ((CELLS_ABOVE, 1, high), (CELLS_BELOW, -1, low)):
            step = self.within / count
            for near in range(count):
                ends = sorted((sign * near, sign * (near + 1)))
                left, right = (end * step for end in ends)
                # E e^(2 size g) over the cell, the size |b| being taken where it is largest.
                mass = (2 * size**2).exp() * (normal_tail(left - 2 * size) - normal_tail(right - 2 * size))
                farthest = _largest([abs(left - low), abs(left - high), abs(right - low), abs(right - high)])
                score = Score(near * step, (near + 1) * step, farthest, (size * right).exp())
                total += mass * self._given_score(shell, score)
        return shell.slope**2 * total

    def _given_score(self, shell: Shell, score: Score) -> arb:
        """The mean of (<v, W ((1 + s) y - b)> - eps)^2 psi(f) over what is perpendicular to b, for a cell of scores."""
        d, k = self.dimension, shell.outputs
        s = shell.tilts**2 / (d + 2)
        mean_square = self.norm**2 * (1 + k**2 * self.outputs / arb(self.outputs + 2))
        along = score.farthest + s * score.high

        def squared(across: arb) -> arb:
            """For the mean square of a coordinate that is perpendicular."""
            largest = (along**2).max((1 + s) ** 2 * across)
            return mean_square * largest + 2 * self.eps * mean_square.sqrt() * along + self.eps**2

        def height(across: arb) -> arb:
            """The largest f."""
            far = (score.farthest**2 + across**2).sqrt() + s * self.within
            largest = shell.slope * score.weight * (self.norm * (1 + k) * far - self.eps).nonnegative_part()
            if not largest < MOST:
                raise NoBound(f"an exponent f goes beyond {MOST}; expected a smaller lambda")
            return largest

        if d == 1:
            return psi(height(arb(0))) * squared(arb(0))
        most = height(self.within)
        if most < _LOW:
            return psi(most) * squared(arb(1))
        total, reached = arb(0), self.within**2 - score.low**2
        for (near, far), mass in self._across:
            if near**2 > reached:
                break
            total += mass * psi(height(far)) * squared(far**2 / (d - 1))
        return total

    @cached_property
    def _across(self) -> Sequence[tuple[tuple[arb, arb], arb]]:
        """Cells of the size of d - 1 normal numbers up to r, with their chances."""
        ends = [self.within * i / CELLS_ACROSS for i in range(CELLS_ACROSS + 1)]
        tails = [chi_tail(self.dimension - 1, end) for end in ends]
        return [((ends[i], ends[i + 1]), tails[i] - tails[i + 1]) for i in range(CELLS_ACROSS)]


@dataclass(frozen=True)
class Score:
    """A cell of scores g: the least and the largest |g|, the largest | g - |b| |, and the largest e^(|b| g)."""

    low: arb
    high: arb
    farthest: arb
    weight: arb


_LOW = fmpq(1, 4)


def psi(x: arb) -> arb:
    """(e^x - 1 - x)/x^2 for x >= 0, or a bound of it: at most 1/(2 (1 - x/3)) where x is small."""
    if x < _LOW:
        return 1 / (2 * (1 - x / 3))
    return (x.exp() - 1 - x) / x**2


def chi_tail(d: int, x: arb) -> arb:
    """P(|y| > x) for d independent standard normal numbers, x >= 0."""
    return (x**2 / 2).gamma_upper(arb(d) / 2, regularized=1)


def chi_mean(d: int) -> arb:
    """E |y|."""
    return arb(2).sqrt() * (arb(d + 1) / 2).gamma() / (arb(d) / 2).gamma()


def _largest(numbers: Sequence[arb]) -> arb:
    found = numbers[0]
    for number in numbers[1:]:
        found = found.max(number)
    return found
