"""Every query of a ball at once: P(|T_L - T| > eps for some query z with |z - z0| <= R).

With Gamma = A A' a bound of the covariance of tokens at every tilt, x = E x + A y, a query acts by its tilt
alpha = s A'U z of y, and T_L - T = W (softmax mean of the y_i - tau(alpha)), W = V A. Gaussian tokens with |y| > r are
cut off: that there is one has the chance L P(chi_d > r) at most. A shell is the tilts of the ball with
from <= |alpha| <= to. For h, k, l, lambda > 0 let

    f_(b,v,c)(y) = lambda e^<b,y> / G(|y|) (<v, W y> - c),   G(|y|) = E e^<eta,y>,

eta uniform on a ball of radius h. Over b = alpha + eta, v = u + zeta with zeta uniform on a ball of radius k, and
c = eps + <v, W tau(alpha)> + xi with xi uniform on [-l, l], the mean is lambda e^<alpha,y> (<u, W (y - tau)> - eps) for
every alpha and u. By Jensen's inequality over these small sets, and Markov's over the large ones that hold them all,

    P(<u, T_L - T> > eps for some u and some alpha of the shell) <= volumes e^(-gamma L)

where -gamma bounds the mean over b, v and c of E e^f - 1, and the volumes are those of the large sets in units of the
small ones. It falls with L. No net of queries is taken. The proof is on the page of `output-tail`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from flint import arb, fmpq

from certattn.kernel.decide.obligation import NoBound, Obligation, Part
from certattn.kernel.document.matrices import Vector
from certattn.kernel.document.schema import Field, Listing, Rational, Record, Values
from certattn.kernel.given.attention import SCALE, VALUE_WEIGHTS, read_scale, read_weights, weighted_forms
from certattn.kernel.mathematics.balls import scale_ball
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.laws import Gaussian
from certattn.kernel.mathematics.reals import describe, square
from certattn.kernel.theorems.prompts.random_prompts import LENGTH, TOKEN_LAW, RandomPrompt

if TYPE_CHECKING:
    from certattn.kernel.mathematics.spreads import Spread

CENTRE = Field("centre", Vector(), "centre z0 of the ball")
RADIUS = Field("radius", Rational(above=0), "its radius R in the Euclidean norm")
BALL = Field("queries", Record(CENTRE, RADIUS), "a ball of queries: every z with |z - centre| <= radius")
GIVEN = weighted_forms("law", BALL, SCALE, TOKEN_LAW, VALUE_WEIGHTS, LENGTH)

WITHIN = Field("within", Rational(above=0), "r: Gaussian tokens have |y| <= r, but rarely", required=False)
TILT_NORM = Field("tilt_norm", Rational(minimum=0), "at least the norm of U'Gamma U, in root: of z to A'U z")
VALUE_NORM = Field("value_norm", Rational(above=0), "at least the norm of V Gamma V', in root: of y to V A y")
TO = Field("to", Rational(above=0), "the largest |alpha| of the shell; it begins where the one before it ends")
TILTS = Field("tilts", Rational(above=0), "h, the radius over which tilts are averaged")
OUTPUTS = Field("outputs", Rational(above=0), "k, that over which directions of the output are")
HEIGHTS = Field("heights", Rational(above=0), "l, within which numbers that the output is compared with are")
LAMBDA = Field("lambda", Rational(above=0), "lambda in E e^f")
SHELLS = Field("shells", Listing(Record(TO, TILTS, OUTPUTS, HEIGHTS, LAMBDA)), "shells of tilts, from the inmost on")
OVER_BALL = Record(WITHIN, TILT_NORM, VALUE_NORM, SHELLS)


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
        """Raises MalformedError unless shells end farther and farther out, and Gaussian tokens alone are cut off."""
        ends = [shell[TO] for shell in hint[SHELLS]]
        for before, end in pairwise(ends):
            if end <= before:
                found = f"one that ends at {describe(end)} after one at {describe(before)}"
                raise hint.node(SHELLS).malformed("shells that each end farther out than the one before", found)
        if (WITHIN in hint) is not isinstance(prompt.law.law, Gaussian):
            found = f"{'one' if WITHIN in hint else 'none'} for kind: {prompt.law.kind}"
            raise hint.at.malformed(f"a number {WITHIN.name} exactly for Gaussian tokens", found)
        return cls(prompt, eps, hint)

    @cached_property
    def spread(self) -> Spread | None:
        from certattn.kernel.mathematics.spreads import spread_of

        return spread_of(self.prompt.law.law)

    @property
    def centre(self) -> arb:
        """|alpha| at the ball's centre."""
        assert self.spread is not None
        base = self.prompt.base
        return arb(square(self.prompt.scale) * (base @ self.spread.covariance @ base.T).entry(0, 0)).sqrt()

    @property
    def reach(self) -> arb:
        """How far from it the other tilts are, at most."""
        return abs(scale_ball(self.prompt.scale)) * self.prompt.radius * self.hint[TILT_NORM]

    def conditions(self, name: str) -> Iterator[Obligation]:
        """What the bound rests on: the two norms, and that the shells hold every tilt of the ball."""
        if self.spread is None:
            return
        maps = (self.prompt.weights.bilinear().T, TILT_NORM), (self.prompt.values(), VALUE_NORM)
        for matrix, field in maps:
            is_bound = is_norm(self.hint[field], matrix, self.spread.covariance)
            yield Obligation(
                f"{name}.{field.name}", fmpq(0) if is_bound is True else fmpq(1), "<=", fmpq(0), Part.WITNESS
            )
        last = self.hint[SHELLS][-1][TO]
        yield Obligation(f"{name}.{SHELLS.name}", lambda: self.centre + self.reach, "<=", last, Part.WITNESS)

    def bound(self) -> arb:
        """A bound of the probability, at the working precision. Raises NoBound."""
        from certattn.kernel.theorems.prompts.small_balls import MOST, Setting, Shell, chi_tail
        from certattn.kernel.theorems.prompts.tilted_covariances import at_centre

        prompt, spread = self.prompt, self.spread
        if spread is None:
            raise NoBound("every query of a ball is not for mixtures with Gaussian parts")
        if is_constant(prompt.values(), spread.covariance):
            return arb(0)
        bounded = spread.squared_reach is not None
        within = arb(self.hint[WITHIN]) if spread.squared_reach is None else spread.squared_reach().sqrt()
        start = (self.centre - self.reach).nonnegative_part()
        tilts = min(prompt.dimension, prompt.weights.query_dimension)
        sizes = (prompt.dimension, tilts, prompt.output_dimension)
        centre = at_centre(prompt, self.centre, self.reach, within) if bounded else None
        setting = Setting(*sizes, arb(self.eps), arb(self.hint[VALUE_NORM]), within, bounded, centre)
        total = arb(0) if bounded else prompt.length * chi_tail(prompt.dimension, within)
        for stated in self.hint[SHELLS]:
            numbers = [arb(stated[field]) for field in (TILTS, OUTPUTS, HEIGHTS, LAMBDA)]
            least = spread.least_log_mgf(start)
            if centre is not None:
                least = least.max(centre.least)
            shell = Shell(start, arb(stated[TO]), least, *numbers)
            # The volume of an empty shell would be negative.
            if not shell.to > shell.start:
                raise NoBound(f"{stated.at.path} ends before the tilts of the ball begin; expected a larger to")
            exponent = -setting.rate(shell) * prompt.length
            if not exponent < MOST:
                raise NoBound(f"{stated.at.path} proves nothing; expected a smaller lambda, or another number within")
            if prompt.onwards and not bounded and not setting.holds_onwards(shell):
                raise NoBound("the bound may grow with the length; expected a larger number within, or one length")
            total += setting.volumes(shell, self.reach) * exponent.exp()
            start = shell.to
        return total


def is_norm(most: fmpq, matrix: ExactMatrix, covariance: ExactMatrix) -> bool:
    """Whether M Gamma M' <= most^2 I."""
    room = ExactMatrix.identity(matrix.rows).scaled(most**2) - matrix @ covariance @ matrix.T
    return room.is_positive_semidefinite()


def is_constant(values: ExactMatrix, covariance: ExactMatrix) -> bool:
    """Whether V Gamma V' = 0: outputs are V E x then, whatever the query."""
    return (values @ covariance @ values.T).is_zero()
