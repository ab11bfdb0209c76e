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

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

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
        from certattn.kernel.theorems.prompts.small_balls import MOST, Setting, Shell, chi_tail

        prompt, within = self.prompt, self.hint[WITHIN]
        if self.covariance is None:
            raise NoBound(f"every query of a ball is for Gaussian tokens so far, not for kind: {prompt.law.kind}")
        if prompt.onwards:
            raise NoBound("every query of a ball is for one length, not for every length from one on")
        start = (self.centre - self.reach).nonnegative_part()
        sizes = (prompt.dimension, prompt.output_dimension)
        setting = Setting(*sizes, arb(self.eps), arb(self.hint[VALUE_NORM]), arb(within))
        total = prompt.length * chi_tail(prompt.dimension, arb(within))
        for stated in self.hint[SHELLS]:
            shell = Shell(start, arb(stated[TO]), arb(stated[TILTS]), arb(stated[OUTPUTS]), arb(stated[LAMBDA]))
            exponent = -setting.rate(shell) * prompt.length
            if not exponent < MOST:
                raise NoBound(f"{stated.at.path} proves nothing; expected a smaller lambda, or another number within")
            total += setting.volumes(shell, self.reach) * exponent.exp()
            start = shell.to
        return total


def is_norm(most: fmpq, matrix: ExactMatrix, covariance: ExactMatrix) -> bool:
    """Whether M Gamma M' <= most^2 I."""
    room = ExactMatrix.identity(matrix.rows).scaled(most**2) - matrix @ covariance @ matrix.T
    return room.is_positive_semidefinite()
