"""Theorem 4.3 of Boursier and Boyer for a class: training on long prompts stays near training on infinite ones.

A task draws a law of tokens, a query z and a loss l >= 0 of the output. Every law of tokens is centred and
sigma-sub-Gaussian in R^d; queries have |z| <= r, or are centred and rho-sub-Gaussian in R^k; the gradient of l is
Lipschitz with `smoothness`. With T(z) = V tau(Uz), tau the mean of the tilted law, T_L the same of L tokens, and

    R(U, V) = E l(T(z)),    R_L(U, V) = E l(T_L(z)),

the two gradient flows (or descents) from the same start, |U| <= u, |V| <= v, are within `distance` of each other up to
the time T, for every L >= L_0. D T and D^2 T are bounded (`class_region`), and so is what T_L and D T_L differ from T
and D T (`class_errors`). The flow of R cannot go far, as its risk falls; on a tube about it let the gradients differ by
at most g, and R bend by no less than -b. Then the distance e grows by no more than e' = b e + g. The proof is on the
claim's page.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flint import arb, fmpq

from certattn.kernel.decide.obligation import NoBound, NoProof, Obligation, Part, Shared
from certattn.kernel.decide.theorem import Sections, Theorem, sections
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.schema import (
    Choice,
    Count,
    CountUpTo,
    Field,
    Rational,
    Record,
    all_or_none,
    at_most_one_of,
    some_of,
)
from certattn.kernel.mathematics.class_errors import Covariance, Mean
from certattn.kernel.theorems.training.class_region import Bounded, Numbers, Region, Scatter, SubGaussian

DIMENSION = Field("dimension", Count(1), "dimension d of the tokens")
SIGMA = Field("sigma", Rational(above=0), "the laws of tokens are centred and sigma-sub-Gaussian")
RADIUS = Field("query_radius", Rational(above=0), "queries are no longer than this", required=False)
QUERY_DIMENSION = Field("query_dimension", Count(1), "dimension k of the queries", required=False)
QUERY_SIGMA = Field("query_sigma", Rational(above=0), "queries are centred and so sub-Gaussian", required=False)
CLASS = Field(
    "class",
    Record(
        DIMENSION, SIGMA, RADIUS, QUERY_DIMENSION, QUERY_SIGMA,
        rules=[
            some_of(RADIUS, QUERY_SIGMA, none="neither"), at_most_one_of(RADIUS, QUERY_SIGMA),
            all_or_none(QUERY_DIMENSION, QUERY_SIGMA),
        ],
    ),
    "the laws of tokens and of queries",
)  # fmt: skip
SMOOTHNESS = Field("smoothness", Rational(above=0), "losses have gradients that are Lipschitz with this")
SHAPE = Field(
    "shape", Choice(("smooth", "convex", "quadratic")), "whether losses are convex, or quadratic in the output"
)
AT_ZERO = Field("at_zero", Rational(minimum=0), "the mean loss of the output 0 is at most this", required=False)
RISK = Field("risk", Rational(minimum=0), "the risk over infinite prompts is at most this at the start", required=False)
LOSS = Field(
    "loss",
    Record(
        *(SMOOTHNESS, SHAPE, AT_ZERO, RISK),
        rules=[some_of(AT_ZERO, RISK, none="neither"), at_most_one_of(AT_ZERO, RISK)],
    ),
    "the losses: all that are so",
)
U_NORM = Field("U", Rational(minimum=0), "the operator norm of U is at most this at the start")
V_NORM = Field("V", Rational(minimum=0), "the operator norm of V is at most this at the start")
START = Field("start", Record(U_NORM, V_NORM), "norms of the start")
LENGTH = Field("length", Count(2), "L_0: prompts have so many tokens or more")
TIME = Field("time", Rational(above=0), "T: gradient flow up to this time", required=False)
STEP = Field("step", Rational(above=0), "the step of gradient descent", required=False)
STEPS = Field("steps", Count(1), "the number of its steps", required=False)
GIVEN = Record(
    CLASS, LOSS, START, LENGTH, TIME, STEP, STEPS,
    rules=[some_of(TIME, STEP, none="neither"), at_most_one_of(TIME, STEP), all_or_none(STEP, STEPS)],
)  # fmt: skip

DISTANCE = Field("distance", Rational(above=0), "the two runs are no further apart, in the Frobenius norm of (U, V)")
ASSERTS = Record(DISTANCE)

PIECES = Field("pieces", CountUpTo(1, 1000, "piece"), "into how many the time is cut")
FALL = Field("t", Rational(above=0), "by how much the mean of the weights may fall short of 1; below 1")
ETA = Field("eta", Rational(above=0), "how much of the tokens' exponential moments is used; below 1")
THETA = Field("theta", Rational(above=0), "exponent of the length, at most 1; with query_sigma", required=False)
WITNESS = Record(PIECES, FALL, ETA, THETA)


# -- the two runs


@dataclass(frozen=True)
class Run:
    """How far apart the runs are in the end; the largest norms on the tube, and how steep grad R is there."""

    distance: arb
    near: Region
    steepest: arb


@dataclass(frozen=True)
class Training:
    """The sections of a certificate; `read` has seen that the witness is there."""

    stated: Sections

    @property
    def time(self) -> fmpq:
        given = self.stated.given
        found: fmpq = given[TIME] if TIME in given else given[STEP] * given[STEPS]
        return found

    def region(self, beyond: arb) -> Region:
        """So far from the start."""
        about, start = self.stated.given[CLASS], self.stated.given[START]
        queries = (
            Bounded(about[RADIUS]) if RADIUS in about else SubGaussian(about[QUERY_SIGMA] ** 2, about[QUERY_DIMENSION])
        )
        return Region(queries, about[SIGMA], about[DIMENSION], beyond + start[U_NORM], beyond + start[V_NORM])

    def root_risk(self) -> arb:
        """sqrt R at the start: sqrt l is Lipschitz with sqrt(smoothness / 2)."""
        loss, start = self.stated.given[LOSS], self.region(arb(0))
        if RISK in loss:
            return arb(loss[RISK]).sqrt()
        return arb(loss[AT_ZERO]).sqrt() + start.V * (loss[SMOOTHNESS] / 2 * start.limit_square()).sqrt()

    def run(self) -> Run:
        given, pieces = self.stated.given, self.stated.hint[PIECES]
        smoothness, tube, piece = given[LOSS][SMOOTHNESS], self.stated.asserts[DISTANCE], self.time / pieces
        # By how much the risk of descent falls is half of what the squares of its gradients add up to.
        reach = self.root_risk() * arb(2 if STEP in given else 1).sqrt()
        force = self.root_risk() * arb(2 * smoothness).sqrt()
        travel = distance = arb(0)
        for j in range(1, pieces + 1):
            far = (reach * arb(piece * j).sqrt()).min(travel + reach * arb(piece).sqrt())
            travel = far.min(travel + piece * force * self.region(far).slope_square().sqrt())
            near = self.region(travel + tube)
            slope, bend = near.slope_square().sqrt(), near.bend()
            on_tube = force + smoothness * tube * slope
            steepest = on_tube * bend + smoothness * slope**2
            rate = steepest if given[LOSS][SHAPE] == "smooth" else on_tube * bend
            growth = (rate * piece).exp()
            distance = distance * growth + self.gap(near, on_tube, slope) * (growth - 1) / rate
        return Run(distance, near, steepest)

    def fall(self, near: Region) -> arb:
        """What is at least 2 where, from the stated length on, the bound of the gap falls with the length."""
        given, hint = self.stated.given, self.stated.hint
        if THETA in hint:
            return hint[THETA] * (1 + arb(given[LENGTH]).log())
        return near.shortfall(given[LENGTH], hint[FALL])

    def gap(self, near: Region, force: arb, slope: arb) -> arb:
        """How much the gradients of R_L and R differ: |l'| of T_L times the error of DT, and |DT| times that of l'."""
        given, hint = self.stated.given, self.stated.hint
        proof = Numbers(given[LENGTH], hint[FALL], hint[ETA], hint.get(THETA))
        variance, d, V = near.sigma**2, near.dimension, near.V
        tokens, smoothness = Mean(variance, fmpq(1), fmpq(d)), given[LOSS][SMOOTHNESS]
        mean = near.error_square(tokens, 0, proof)
        turned = (mean + V**2 * near.error_square(Covariance(variance, d), 2, proof)).sqrt()
        moved = smoothness * V * mean.sqrt()
        found = (force + moved) * turned + moved * slope
        if given[LOSS][SHAPE] != "quadratic":
            return found
        # Of errors that l' does not know of only the mean counts, and l'' is the same at T_L and at T.
        try:
            bias = near.bias_square(tokens, 0, proof)
            scatter = (
                near.bias_square(Scatter(variance, d), 2, proof).sqrt() + near.error_fourth(tokens, 2, proof).sqrt()
            )
        except NoBound:
            return found
        biased = force * (bias + (V * scatter) ** 2).sqrt() + smoothness * V * bias.sqrt() * slope
        return found.min(biased + moved * turned)


_read = sections(GIVEN, ASSERTS, WITNESS)


def read(certificate: Certificate) -> Training:
    """Raises MalformedError."""
    training = Training(_read(certificate))
    hint, is_bounded = training.stated.hint, RADIUS in training.stated.given[CLASS]
    if (THETA in hint) is is_bounded:
        raise hint.at.malformed("theta with query_sigma, and only there")
    return training


def obligations(training: Training) -> Iterator[Obligation | NoProof]:
    given, hint = training.stated.given, training.stated.hint
    for field, limit in ((FALL, "t < 1"), (ETA, "eta < 1")):
        if (hint[field] < 1) is not True:
            yield NoProof(field.name, f"the bound is proved for {limit}")
            return
    if THETA in hint and (hint[THETA] <= 1) is not True:
        yield NoProof(THETA.name, "the bound is proved for exponents up to 1")
        return
    run = Shared[Run](training.run)
    yield Obligation("length", lambda: training.fall(run().near), ">=", fmpq(2), Part.WITNESS)
    needs = ["length"]
    if STEP in given:
        needs.append("step")
        yield Obligation("step", lambda: given[STEP] * run().steepest, "<=", fmpq(1), Part.WITNESS)
    yield Obligation(
        "distance", lambda: run().distance, "<=", training.stated.asserts[DISTANCE], Part.WITNESS, needs=needs
    )


THEOREM = Theorem(
    name="theorem-4-3",
    title="how near training on long prompts stays to training on infinite ones, for every law of a class",
    given=GIVEN,
    asserts=ASSERTS,
    witness=WITNESS,
    read=read,
    obligations=obligations,
)
