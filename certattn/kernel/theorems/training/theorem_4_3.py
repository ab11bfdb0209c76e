"""Theorem 4.3 of Boursier and Boyer with constants: training on long prompts stays near training on infinite ones.

A task draws a law of tokens, a query z and a loss l >= 0 of the output. Every law of tokens is centred and
sigma-sub-Gaussian in R^d, or the image of a stated law under an orthogonal matrix; queries have |z| <= r, or are
centred and rho-sub-Gaussian in R^k; the gradient of l is Lipschitz with `smoothness`. With T(z) = V tau(Uz), tau the
mean of the tilted law, T_L the same of L tokens, and

    R(U, V) = E l(T(z)),    R_L(U, V) = E l(T_L(z)),

the two gradient flows (or descents) from the same start, |U| <= u, |V| <= v, are within `distance` of each other up to
the time T, for every L >= L_0. D T and D^2 T are bounded, and so is what T_L and D T_L differ from T and D T
(`class_region`), by what is known of the tokens (`tilted_tokens`). The flow of R cannot go far, as its risk falls; on a
tube about it let the gradients differ by at most g, and R bend by no less than -b. Then the distance e grows by no more
than e' = b e + g. The proof is on the claim's page.
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
from certattn.kernel.given.token_laws import LAW
from certattn.kernel.mathematics.sub_gaussian import has_rational_moments, is_centred, mean_and_covariance
from certattn.kernel.theorems.training.class_region import Bounded, Numbers, Region, SubGaussian
from certattn.kernel.theorems.training.tilted_tokens import Tokens, of_class, of_law

DIMENSION = Field("dimension", Count(1), "dimension d of the tokens", required=False)
SIGMA = Field("sigma", Rational(above=0), "the laws of tokens are centred and sigma-sub-Gaussian", required=False)
TOKEN_LAW = Field(
    "law", LAW, "instead: a law of mean 0; those of tokens are its images under orthogonal matrices", required=False
)
RADIUS = Field("query_radius", Rational(above=0), "queries are no longer than this", required=False)
QUERY_DIMENSION = Field("query_dimension", Count(1), "dimension k of the queries", required=False)
QUERY_SIGMA = Field("query_sigma", Rational(above=0), "queries are centred and so sub-Gaussian", required=False)
CLASS = Field(
    "class",
    Record(
        DIMENSION, SIGMA, TOKEN_LAW, RADIUS, QUERY_DIMENSION, QUERY_SIGMA,
        rules=[
            some_of(SIGMA, TOKEN_LAW, none="neither sigma nor law"), at_most_one_of(SIGMA, TOKEN_LAW),
            at_most_one_of(DIMENSION, TOKEN_LAW), all_or_none(DIMENSION, SIGMA),
            some_of(RADIUS, QUERY_SIGMA, none="neither query_radius nor query_sigma"),
            at_most_one_of(RADIUS, QUERY_SIGMA),
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
        rules=[some_of(AT_ZERO, RISK, none="neither at_zero nor risk"), at_most_one_of(AT_ZERO, RISK)],
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
    rules=[
        some_of(TIME, STEP, none="neither time nor step"), at_most_one_of(TIME, STEP), all_or_none(STEP, STEPS)
    ],
)  # fmt: skip

DISTANCE = Field("distance", Rational(above=0), "the two runs are no further apart, in the Frobenius norm of (U, V)")
ASSERTS = Record(DISTANCE)

PIECES = Field("pieces", CountUpTo(1, 1000, "piece"), "into how many the time is cut")
THETA = Field("theta", Rational(above=0), "exponent of the length, at most 1; with query_sigma", required=False)
ETA = Field(
    "eta", Rational(above=0), "how much of the tokens' exponential moments is used; below 1; beside theta",
    required=False,
)  # fmt: skip
WITNESS = Record(PIECES, THETA, ETA, rules=[all_or_none(THETA, ETA)])


# -- the two runs


@dataclass(frozen=True)
class Run:
    """How far apart the runs are in the end, and how steep grad R is on the tube."""

    distance: arb
    steepest: arb


@dataclass(frozen=True)
class Training:
    """The sections of a certificate; `read` has seen that the witness is there."""

    stated: Sections

    def tokens(self) -> Tokens:
        """At the working precision. Raises NoBound."""
        about = self.stated.given[CLASS]
        if TOKEN_LAW in about:
            return of_law(about[TOKEN_LAW].law).tokens()
        return of_class(about[SIGMA], about[DIMENSION])

    @property
    def time(self) -> fmpq:
        given = self.stated.given
        found: fmpq = given[TIME] if TIME in given else given[STEP] * given[STEPS]
        return found

    def region(self, tokens: Tokens, beyond: arb) -> Region:
        """So far from the start."""
        about, start = self.stated.given[CLASS], self.stated.given[START]
        queries = (
            Bounded(about[RADIUS]) if RADIUS in about else SubGaussian(about[QUERY_SIGMA] ** 2, about[QUERY_DIMENSION])
        )
        return Region(queries, tokens, beyond + start[U_NORM], beyond + start[V_NORM])

    def root_risk(self, tokens: Tokens) -> arb:
        """sqrt R at the start: sqrt l is Lipschitz with sqrt(smoothness / 2)."""
        loss, start = self.stated.given[LOSS], self.region(tokens, arb(0))
        if RISK in loss:
            return arb(loss[RISK]).sqrt()
        return arb(loss[AT_ZERO]).sqrt() + start.V * (loss[SMOOTHNESS] / 2 * start.limit_square()).sqrt()

    def run(self) -> Run:
        given, pieces = self.stated.given, self.stated.hint[PIECES]
        smoothness, tube, piece = given[LOSS][SMOOTHNESS], self.stated.asserts[DISTANCE], self.time / pieces
        tokens = self.tokens()
        root = self.root_risk(tokens)
        # By how much the risk of descent falls is half of what the squares of its gradients add up to.
        reach, force = root * arb(2 if STEP in given else 1).sqrt(), root * arb(2 * smoothness).sqrt()
        travel = distance = arb(0)
        for j in range(1, pieces + 1):
            far = (reach * arb(piece * j).sqrt()).min(travel + reach * arb(piece).sqrt())
            travel = far.min(travel + piece * force * self.region(tokens, far).slope_square().sqrt())
            near = self.region(tokens, travel + tube)
            slope, bend = near.slope_square().sqrt(), near.bend()
            on_tube = force + smoothness * tube * slope
            steepest = on_tube * bend + smoothness * slope**2
            rate = steepest if given[LOSS][SHAPE] == "smooth" else on_tube * bend
            growth = (rate * piece).exp()
            distance = distance * growth + self.gap(near, on_tube, slope) * (growth - 1) / rate
        return Run(distance, steepest)

    def fall(self) -> arb:
        """What is at least 2 where, from the stated length on, the bound of the gap falls with the length."""
        found: arb = self.stated.hint[THETA] * (1 + arb(self.stated.given[LENGTH]).log())
        return found

    def gap(self, near: Region, force: arb, slope: arb) -> arb:
        """How much the gradients of R_L and R differ: |l'| of T_L times the error of DT, and |DT| times that of l'."""
        given, hint = self.stated.given, self.stated.hint
        proof = Numbers(given[LENGTH], (hint[THETA], hint[ETA]) if THETA in hint else None)
        tokens, V, smoothness = near.tokens, near.V, given[LOSS][SMOOTHNESS]
        mean, scatter = near.error_square(tokens.mean, 0, proof), near.error_square(tokens.scatter, 2, proof)
        # |C_hat - C|_F^2 <= |S|_F^2 + 2 |C| |tau_hat - tau|^2.
        spread = scatter + 2 * near.error_square(tokens.mean.times(tokens.spread), 2, proof)
        turned = (mean + V**2 * spread).sqrt()
        moved = smoothness * V * mean.sqrt()
        found = (force + moved) * turned + moved * slope
        if given[LOSS][SHAPE] != "quadratic":
            return found
        # Of errors that l' does not know of only the mean counts, and l'' is the same at T_L and at T.
        try:
            bias = near.bias_square(tokens.mean, 0, proof)
            turn = near.bias_square(tokens.scatter, 2, proof).sqrt() + near.error_fourth(tokens.mean, 2, proof).sqrt()
        except NoBound:
            return found
        biased = force * (bias + (V * turn) ** 2).sqrt() + smoothness * V * bias.sqrt() * slope
        return found.min(biased + moved * turned)


_read = sections(GIVEN, ASSERTS, WITNESS)


def read(certificate: Certificate) -> Training:
    """Raises MalformedError."""
    training = Training(_read(certificate))
    about, hint = training.stated.given[CLASS], training.stated.hint
    if (THETA in hint) is (RADIUS in about):
        raise hint.at.malformed("theta and eta with query_sigma, and only there")
    if TOKEN_LAW in about:
        law = about[TOKEN_LAW]
        if not has_rational_moments(law.law):
            raise law.node.malformed("a law whose mean is known exactly", "a truncated Gaussian")
        if is_centred(law.law) is not True:
            raise law.node.malformed("a law of mean 0", "one of another mean")
        if mean_and_covariance(law.law)[1].is_zero() is True:
            raise law.node.malformed("a law of more than one point")
    return training


def obligations(training: Training) -> Iterator[Obligation | NoProof]:
    given, hint = training.stated.given, training.stated.hint
    run, needs = Shared[Run](training.run), []
    if THETA in hint:
        if (hint[ETA] < 1) is not True:
            yield NoProof(ETA.name, "the bound is proved for eta < 1")
            return
        if (hint[THETA] <= 1) is not True:
            yield NoProof(THETA.name, "the bound is proved for exponents up to 1")
            return
        needs.append("length")
        yield Obligation("length", training.fall, ">=", fmpq(2), Part.WITNESS)
    if STEP in given:
        needs.append("step")
        yield Obligation("step", lambda: given[STEP] * run().steepest, "<=", fmpq(1), Part.WITNESS)
    yield Obligation(
        "distance", lambda: run().distance, "<=", training.stated.asserts[DISTANCE], Part.WITNESS, needs=needs
    )


THEOREM = Theorem(
    name="theorem-4-3",
    title="how near training on long prompts stays to training on infinite ones, for a law or every law of a class",
    given=GIVEN,
    asserts=ASSERTS,
    witness=WITNESS,
    read=read,
    obligations=obligations,
)
