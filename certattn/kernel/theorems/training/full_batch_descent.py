"""Theorem `full-batch-descent`: training on prompts that are drawn once, and used in every step, has a small risk.

In-context linear regression: tokens x_i ~ N(0, Sigma) with labels <w, x_i>, w ~ N(0, I), a query x ~ N(0, Sigma);
attention with the parameters (A, b) predicts b sum_i p_i <w, x_i> for <w, x>, p the softmax of <x_i, A x>, and
R_L(A, b) is half the mean square error over prompts of L tokens. Given are a start, a step eta and a number K of steps,
and how many prompts are drawn, N. Each is a query, a w and a sequence of tokens; of L tokens it has the first L.
Training takes K steps of gradient descent on the mean loss of these N prompts. A certificate asserts a `risk` and a
`probability`: for N prompts, and for any larger number,

    P(R_L <= risk after K steps, for every L from some length on) >= 1 - probability.

Proof: as L grows, the loss on a prompt tends to 1/2 <w, G g>^2, where Sigma = F F', x = F g, G = F (b F'A F - I). The
mean loss is then 1/2 <G, S G>, S the mean of N independent X X' with X = w x g, and E S = I. theta-bar is descent on
R = 1/2 |G|^2, and n_k the difference of both gradients at theta-bar_k. Let |S - I| <= omega, and for some a_k > 0 let
sum_k a_k |n_k|^2 <= 1. Then |theta_k - theta-bar_k| <= s_k with

    s_0 = 0,   s_(k+1)^2 = rho_k^2 s_k^2 + eta^2 / a_k,

rho_k the expansion of a step on 1/2 <G, S G> for every such S (`descent_tube`). The witness has omega and s_1, and the
checker takes a_k in proportion to 1 / (sigma_k rho_1 ... rho_k), sigma_k^2 / N = E|n_k|^2. By second or fourth moments,
with t = |X|^2, E t^i = m_i^2, m_i = d (d + 2) ... (d + 2i - 2), and ell >= |G'|, the probability of the contrary is at
most the sum of the smaller of

    sum_k a_k sigma_k^2 / N   and   (sum_k a_k (3 sigma_k^4 / N^2 + f_k / N^3)^(1/2))^2,
    f_k = (ell (9 (d + 4)^2 (d + 6)^2)^(1/4) |G| + |grad R|)^4,

and of the smaller of, with D = d^2,

    (m_2^2 - D) / (N omega^2)   and
    (((m_2^2 - D)^2 + 14 m_2^2 + 2 D^2) / N^2 + (m_4^2 - 4 m_3^2 + (4 + 2 D) m_2^2 - 3 D^2) / N^3) / omega^4.

From some step J on the run may have settled: in the ball of radius r about theta-bar_J, with m <= |G'^T y| / |y|, all
second derivatives of 1/2 <G, S G> at most Lam, eta Lam <= 1, c = (1 - omega) m^2 and u = 1 - eta Lam / 2, let

    s_J + (2 h / c)^(1/2) / u < r,   h = (1 + omega) R at most, where |theta_J - theta-bar_J| <= s_J.

Then the run stays in it, and R <= (1 - 2 eta u c)^(K - J) h / (1 - omega) at the end: it vanishes as K grows.

`docs/claims/training/full-batch-descent.md` has the proofs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from flint import arb, arb_mat, ctx, fmpq

from certattn.kernel.decide.obligation import NoBound, Obligation, Part, Shared
from certattn.kernel.decide.theorem import Theorem, sections
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.schema import CountUpTo, Field, Rational, Record, Values
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.functions import natural_power, root
from certattn.kernel.mathematics.spectrum import smallest_eigenvalue
from certattn.kernel.theorems.training import regression as task
from certattn.kernel.theorems.training.descent_tube import Point, Problem
from certattn.kernel.theorems.training.drawn_gradients import normal_moment
from certattn.kernel.theorems.training.stochastic_descent import (
    ASSERTS,
    MOST_PROMPTS,
    MOST_STEPS,
    PROBABILITY,
    RISK,
    STEP,
    STEPS,
)

PROMPTS = Field("prompts", CountUpTo(1, MOST_PROMPTS), "N: so many prompts are drawn, or more")
GIVEN = Record(task.COVARIANCE, task.START, STEP, STEPS, PROMPTS)

RADIUS = Field("radius", Rational(above=0), "s_1, the radius of the tube after the first step")
SPREAD = Field("spread", Rational(above=0), "omega, how far the second moments of the prompts may be from their mean")
AFTER = Field("after", CountUpTo(1, MOST_STEPS), "J, the last step of the tube")
WITHIN = Field("within", Rational(above=0), "r, the radius of the ball that the run stays in from there on")
SETTLED = Field("settled", Record(AFTER, WITHIN), "where the run has settled", required=False)
WITNESS = Record(RADIUS, SPREAD, SETTLED)
READ = sections(GIVEN, ASSERTS, WITNESS)

# Variances that are 0, or are not known to be more, count as this.
_TINY = fmpq(1, 2**100)


@dataclass(frozen=True)
class Noise:
    """Of the gradient on one infinitely long prompt: sigma^2, and its fourth central moment, at most."""

    square: arb
    fourth: arb


def noise_at(point: Point) -> Noise:
    """sigma^2 and f."""
    d, slope = point.problem.covariance.rows, point.problem.regression.gradient(point.at)
    length = slope.inner(slope)
    square = (point.long_noise - length).max(arb(_TINY))
    largest = point.steepness * point.error * root(arb(fourth_factor(d)))
    return Noise(square, natural_power(largest + root(length), 4))


def fourth_factor(d: int) -> int:
    """E|X|^4 <X, G>^4 <= (this times |G|^2)^2."""
    return 3 * (d + 4) * (d + 6)


def spread_square(d: int) -> int:
    """E|X X' - I|^2 = E (t^2 - 2 t + D)."""
    return normal_moment(d, 2) ** 2 - d**2


def spread_pairs(d: int) -> int:
    """E|Y|^2 E|Z|^2 + 2 E<Y, Z>^2 for independent Y and Z like X X' - I."""
    return spread_square(d) ** 2 + 14 * normal_moment(d, 2) ** 2 + 2 * d**4


def spread_fourth(d: int) -> int:
    """E|X X' - I|^4 = E (t^2 - 2 t + D)^2."""
    second, third, fourth = (normal_moment(d, k) ** 2 for k in (2, 3, 4))
    return fourth - 4 * third + (4 + 2 * d**2) * second - 3 * d**4


@dataclass(frozen=True)
class Reached:
    """After the last step: theta-bar, the radius of the tube, and what the probability of having left it depends on."""

    end: Point
    radius: arb
    spread: fmpq
    noises: Sequence[tuple[arb, Noise]]

    def risk(self) -> arb:
        """R in the tube."""
        return natural_power(self.end.error_within(self.radius), 2) / 2

    def chance(self, prompts: int) -> arb:
        """Of leaving the tube, with so many prompts or more."""
        N, d = fmpq(prompts), self.end.problem.covariance.rows
        square, fourth = arb(0), arb(0)
        for weight, noise in self.noises:
            square += weight * noise.square / N
            fourth += weight * root(3 * noise.square * noise.square / N**2 + noise.fourth / N**3)
        far = spread_square(d) / (N * self.spread**2)
        farther = (spread_pairs(d) / N**2 + spread_fourth(d) / N**3) / self.spread**4
        return square.min(fourth * fourth) + min(far, farther)


def next_square(square: arb, rho: arb, step: fmpq, weight: arb) -> arb:
    """s_(k+1)^2 from s_k^2: then rho s_k y^(1/2) + eta |n| <= s_(k+1) (y + a |n|^2)^(1/2)."""
    return rho * rho * square + step * step / weight


def follow(point: Point, step: fmpq, steps: int, width: fmpq, spread: fmpq) -> Reached:
    """The tube, of which s_1 is the width; not finite where no bound is found.

    Nothing is rounded on the way: all enclose the numbers of one tube, at whatever precision they are asked for.
    """
    square, growth, first = arb(0), arb(1), arb(0)
    noises: list[tuple[arb, Noise]] = []
    for k in range(steps):
        noise, rho = noise_at(point), arb(1)
        if k == 0:
            first = natural_power(step / arb(width), 2) * root(noise.square)
        else:
            rho = point.expansion(step, root(square), spread)
            growth *= rho
        # Any number above 0 would do.
        weight = first / (root(noise.square) * growth)
        noises.append((weight, noise))
        square = next_square(square, rho, step, weight)
        if square.is_finite() is not True or (weight > 0) is not True:
            return Reached(point, arb.nan(), spread, noises)
        point = point.after(step)
    return Reached(point, root(square), spread, noises)


def gentlest(point: Point, radius: arb) -> arb:
    """m: the root of the least eigenvalue of G' G'^T at the centre of the ball, less lam^(3/2) times its radius."""
    F, Sigma, b = point.problem.factor, point.problem.regression.covariance.balls, point.at.b
    square, inner, mean = Sigma * Sigma, F.transpose() * F, (F * point.scores).entries()
    each = [(i, j) for i in range(Sigma.nrows()) for j in range(Sigma.nrows())]
    rows = [
        [b * b * square[i, k] * inner[m, j] + x * y for (k, m), y in zip(each, mean, strict=True)]
        for (i, j), x in zip(each, mean, strict=True)
    ]
    return root(smallest_eigenvalue(arb_mat(rows), point.problem.bits)) - point.problem.bend * radius


@dataclass(frozen=True)
class Settled:
    """A ball about theta-bar that descent with this step does not leave once it is in the tube."""

    reached: Reached
    step: fmpq
    within: arb

    @cached_property
    def start(self) -> arb:
        """h."""
        return (1 + self.reached.spread) * self.reached.risk()

    @cached_property
    def stiffness(self) -> arb:
        """Lam."""
        return self.reached.end.stiffest(self.within, self.reached.spread)

    @cached_property
    def kept(self) -> arb:
        """u."""
        return 1 - self.step * self.stiffness / 2

    @cached_property
    def slope(self) -> arb:
        """c, with which |grad|^2 >= 2 c 1/2 <G, S G>. Raises NoBound."""
        least, left = gentlest(self.reached.end, self.within), 1 - self.reached.spread
        if (left > 0) is not True or (least > 0) is not True:
            raise NoBound("nothing bounds the gradient from below")
        return left * least * least

    def reach(self) -> arb:
        """How far from theta-bar the run comes."""
        return self.reached.radius + root(2 * self.start / self.slope) / self.kept

    def risk(self, steps: int) -> arb:
        """R after so many steps more."""
        share = (1 - 2 * self.step * self.kept * self.slope).nonnegative_part()
        return natural_power(share, steps) * self.start / (1 - self.reached.spread)


@dataclass(frozen=True)
class StatedDescent:
    """What is stated: Sigma and the start exactly."""

    given: Values
    asserts: Values
    covariance: ExactMatrix
    start: task.Parameters
    radius: fmpq
    spread: fmpq
    settled: Values | None

    def first(self) -> Point:
        """The start, at the working precision."""
        return Problem(self.covariance, None, ctx.prec).at(task.balls_around(self.start))

    def tube(self) -> Reached:
        """Up to the last step, or to where the run has settled, at the working precision. Raises NoBound."""
        steps = self.given[STEPS] if self.settled is None else self.settled[AFTER]
        found = follow(self.first(), self.given[STEP], steps, self.radius, self.spread)
        if found.radius.is_finite() is not True:
            raise NoBound("the tube has no bound")
        return found


def read(certificate: Certificate) -> StatedDescent:
    """Every dimension checked. Raises MalformedError."""
    found = READ(certificate)
    covariance, start = task.read_task(found.given)
    hint = found.hint
    return StatedDescent(found.given, found.asserts, covariance, start, hint[RADIUS], hint[SPREAD], hint.get(SETTLED))


def obligations(stated: StatedDescent) -> Iterator[Obligation]:
    tube = Shared[Reached](stated.tube)
    prompts, asserts = stated.given[PROMPTS], stated.asserts
    yield Obligation("tube", lambda: tube().chance(prompts), "<=", asserts[PROBABILITY], Part.WITNESS)
    # Below it at the limit is at most it from some length on.
    if stated.settled is None:
        yield Obligation("risk", lambda: tube().risk(), "<", asserts[RISK], Part.WITNESS)
        return
    step, steps = stated.given[STEP], stated.given[STEPS]
    after, within = stated.settled[AFTER], stated.settled[WITHIN]
    ball = Shared[Settled](lambda: Settled(tube(), step, arb(within)))
    yield Obligation("after", fmpq(after), "<=", fmpq(steps), Part.WITNESS)
    yield Obligation("gentle", lambda: step * ball().stiffness, "<=", fmpq(1), Part.WITNESS)
    yield Obligation("near", lambda: ball().reach(), "<", within, Part.WITNESS)
    left = steps - after
    needs = ["after", "gentle", "near"]
    yield Obligation("risk", lambda: ball().risk(left), "<", asserts[RISK], Part.WITNESS, needs=needs)


THEOREM = Theorem(
    name="full-batch-descent",
    title="training on prompts that are drawn once ends with a small risk, with a stated probability",
    given=GIVEN,
    asserts=ASSERTS,
    witness=WITNESS,
    read=read,
    obligations=obligations,
)
