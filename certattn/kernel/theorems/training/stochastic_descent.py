"""Theorem `stochastic-descent`: training on prompts that are drawn ends with a small risk, with a high probability.

In-context linear regression: tokens x_i ~ N(0, Sigma) with labels <w, x_i>, w ~ N(0, I), a query x ~ N(0, Sigma);
attention with the parameters (A, b) predicts b sum_i p_i <w, x_i> for <w, x>, p the softmax of <x_i, A x>, and
R_L(A, b) is half the mean square error over prompts of L tokens. Given are a start, a step eta, and numbers K of steps
and B of prompts. Training takes K steps of gradient descent, each on the mean loss of B prompts of L tokens that are
drawn for it, independently of all others. A certificate asserts a `risk` and a `probability`: for every L >= `length`,

    P(R_L > risk after K steps) <= probability.

Nothing is drawn: this is known before training. Proof: a tube around descent on infinite prompts, which the run leaves
with at most that probability (`descent_tube`, `drawn_gradients`); the witness says how wide it is after the first step.
`docs/claims/training/stochastic-descent.md` has the proofs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flint import arb, ctx, fmpq

from certattn.kernel.decide.obligation import NoBound, Obligation, Part, Shared
from certattn.kernel.decide.theorem import Theorem, sections
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.schema import CountUpTo, Field, Rational, Record, Values
from certattn.kernel.given.bounds import Probability
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.training import regression as task
from certattn.kernel.theorems.training.descent_tube import Point, Problem, Tube, follow
from certattn.kernel.theorems.training.drawn_gradients import Profiles

MOST_TOKENS, MOST_STEPS, MOST_PROMPTS = 10**9, 1000, 10**15

LENGTH = Field("length", CountUpTo(2, MOST_TOKENS), "L_0: prompts have so many tokens, or more")
STEP = Field("step", Rational(above=0), "the step eta")
STEPS = Field("steps", CountUpTo(1, MOST_STEPS), "K, the number of steps")
BATCH = Field("batch", CountUpTo(1, MOST_PROMPTS), "B, the number of prompts that are drawn for every step")
GIVEN = Record(task.COVARIANCE, task.START, LENGTH, STEP, STEPS, BATCH)

RISK = Field("risk", Rational(above=0), "R_L after the last step is at most this")
PROBABILITY = Field("probability", Probability(), "delta, with which it may be larger")
ASSERTS = Record(RISK, PROBABILITY)

RADIUS = Field("radius", Rational(above=0), "s_1, the radius of the tube around its core after the first step")
WITNESS = Record(RADIUS)
READ = sections(GIVEN, ASSERTS, WITNESS)


@dataclass(frozen=True)
class StatedDescent:
    """What is stated: Sigma and the start exactly."""

    given: Values
    asserts: Values
    covariance: ExactMatrix
    start: task.Parameters
    radius: fmpq

    def first(self, length: int) -> Point:
        """The start, at the working precision, for prompts of so many tokens or more."""
        profiles = Profiles(self.covariance.rows, length)
        return Problem(self.covariance, profiles, ctx.prec).at(task.balls_around(self.start))

    def tube(self) -> Tube:
        """At the working precision. Raises NoBound."""
        first = self.first(self.given[LENGTH])
        found = follow(first, self.given[STEP], self.given[STEPS], self.given[BATCH], self.radius)
        if found.radius.is_finite() is not True:
            raise NoBound("the tube has no bound")
        return found


def read(certificate: Certificate) -> StatedDescent:
    """Every dimension checked. Raises MalformedError."""
    found = READ(certificate)
    covariance, start = task.read_task(found.given)
    return StatedDescent(found.given, found.asserts, covariance, start, found.hint[RADIUS])


def obligations(stated: StatedDescent) -> Iterator[Obligation]:
    tube, most = Shared[Tube](stated.tube), stated.asserts[PROBABILITY]

    def risk() -> arb:
        """In the tube of this precision, if that is likely enough: every precision rounds to a tube of its own."""
        return tube().risk() if (tube().probability <= most) is True else arb.nan()

    yield Obligation("tube", lambda: tube().probability, "<=", most, Part.WITNESS)
    yield Obligation("risk", Shared[arb](risk), "<=", stated.asserts[RISK], Part.WITNESS, needs=["tube"])


THEOREM = Theorem(
    name="stochastic-descent",
    title="training on drawn prompts ends with a small risk, with a stated probability",
    given=GIVEN,
    asserts=ASSERTS,
    witness=WITNESS,
    read=read,
    obligations=obligations,
)
