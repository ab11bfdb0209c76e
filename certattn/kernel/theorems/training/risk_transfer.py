"""Theorem `risk-transfer`: training on prompts that are long enough ends with a risk as small as stated.

In-context linear regression (Boursier and Boyer 2026, sections 4 and 5) with covariance Sigma. Let R_L(A, b) be the
population risk 1/2 E (b sum_i y_i p_i - <w, x>)^2 over prompts of L tokens x_i ~ N(0, Sigma), y_i = <w, x_i>, with
w ~ N(0, I), a query x ~ N(0, Sigma) and p the softmax of the scores <x_i, A x>; and R that of infinite prompts. Both
are trained by gradient flow from the same start (A, b). A certificate asserts for every length from the given one on

    R_L <= risk at all times t >= time, so that lim R_L <= risk, while lim R = 0,

and it may assert that up to that time the two runs are no further apart than `tube` (theorem 4.3 there, with numbers).
Or N prompts are given, as numbers, and R_L is their loss 1/(2N) sum_n (b sum_i y_i p_i - t_n)^2.

Proof: the infinite-prompt flow is enclosed; bounds of |grad R_L - grad R| keep the other flow beside it; at the end R
and a bound of R_L - R say the rest, for R_L never grows. The flow on given prompts is enclosed beside a polygon
(mathematics/finite_prompts.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

from flint import arb, fmpq

from certattn.kernel.decide.obligation import NoBound, Obligation, Part, Shared
from certattn.kernel.decide.theorem import Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.schema import ByKey, Field, Rational, Record, Values
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.training.concrete_prompts import (
    REGRESSION_PROMPTS,
    StatedPrompts,
    read_regression_prompts,
)
from certattn.kernel.theorems.training.mathematics.context_losses import Loss, Trained
from certattn.kernel.theorems.training.mathematics.finite_prompts import (
    Distance,
    FinitePrompts,
    Leg,
    Piece,
    bound_of_risk,
    legs,
    risk_near,
    tube,
)
from certattn.kernel.theorems.training.mathematics.regression import Parameters, balls_around, exact_regression, flat
from certattn.kernel.theorems.training.regression_task import COVARIANCE, START, CountUpTo, hinted, read_task

LENGTH = Field("length", Rational(minimum=2), "the least length L of the prompts, an integer")
OF_LENGTHS = Record(COVARIANCE, START, LENGTH)
GIVEN = ByKey({"tokens": Record(COVARIANCE, START, *REGRESSION_PROMPTS), "length": OF_LENGTHS})

RISK = Field("risk", Rational(minimum=0), "bound of the risk R_L")
TIME = Field("time", Rational(above=0), "time from which it holds")
TUBE = Field("tube", Rational(above=0), "distance of the two runs up to that time, at most", required=False)
ASSERTS = Record(RISK, TIME, TUBE)

ORDER = Field("order", CountUpTo(2, 60), "order of the Taylor polynomials that enclose the flow", required=False)
PIECES = Field("pieces", CountUpTo(1, 10_000), "intervals into which the time is cut", required=False)
TRAVEL = Field("travel", Rational(above=0), "longest leg of the polygon beside a flow on given prompts", required=False)
WITNESS = Record(ORDER, PIECES, TRAVEL)

DEFAULT_ORDER = 20
DEFAULT_PIECES = 100
DEFAULT_TRAVEL = fmpq(1, 1000)

T = TypeVar("T")


class Followed(Generic[T]):
    """A run that is followed once per precision, as `Shared`; `last` is the one that was followed last, for words."""

    def __init__(self, follow: Callable[[], T]) -> None:
        self._follow = Shared(follow)
        self.last: T | None = None

    def __call__(self) -> T:
        self.last = self._follow()
        return self.last


@dataclass(frozen=True)
class StatedTransfer:
    """Sigma and (A, b) exactly, the sections, prompts where some are given, and what the witness suggests."""

    given: Values
    asserts: Values
    covariance: ExactMatrix
    start: Parameters
    prompts: StatedPrompts | None
    order: int
    pieces: int
    travel: fmpq

    @cached_property
    def twice_the_risk(self) -> fmpq:
        """2R over infinite prompts at the start."""
        found: fmpq = 2 * exact_regression(self.covariance).risk(self.start)
        return found

    @property
    def balanced_below(self) -> bool:
        """Whether |A|_F^2 < b^2 at the start, from where R tends to 0."""
        return bool(self.start.invariant() < 0)

    @property
    def falls_from_the_start(self) -> bool:
        """Whether |A|_F^2 < b^2 or 2R < tr Sigma at the start, from where R tends to 0."""
        return self.balanced_below or bool(self.twice_the_risk < self.covariance.trace())

    @property
    def known_at_the_start(self) -> bool:
        """Whether the start says if R tends to 0: where the flow of R does not move at all, that it does not."""
        gradient = exact_regression(self.covariance).gradient(self.start)
        return self.falls_from_the_start or bool(gradient.inner(gradient) == 0)

    def at_the_start(self) -> Obligation:
        """That R tends to 0."""
        if self.balanced_below:
            return Obligation("infinite", self.start.invariant(), "<", fmpq(0), Part.WITNESS)
        return Obligation("infinite", self.twice_the_risk, "<", self.covariance.trace(), Part.WITNESS)

    @cached_property
    def flows(self) -> Followed[Flows]:
        """Over prompts of a length and infinite ones."""
        return Followed(self._flows)

    def _flows(self) -> Flows:
        prompts, time = FinitePrompts(self.covariance, self.given[LENGTH]), self.asserts[TIME]
        pieces = list(tube(prompts, flat(balls_around(self.start)), time, self.order, self.pieces))
        return Flows(prompts, pieces[-1] if pieces else None, time)

    @cached_property
    def polygon(self) -> Followed[tuple[Loss, Leg]]:
        """Beside the flow of the loss of given prompts: its last leg."""
        return Followed(self._polygon)

    def _polygon(self) -> tuple[Loss, Leg]:
        assert self.prompts is not None
        loss, time = self.prompts.loss(), self.asserts[TIME]
        start = Trained.around(self.start.A, ExactMatrix.row_vector([self.start.b]))
        *_, last = legs(loss, start, time, time / self.pieces, self.travel)
        return loss, last


def read(certificate: Certificate) -> StatedTransfer:
    """Every dimension checked. Raises MalformedError."""
    reading, hints = certificate.reading, None
    form, given = GIVEN.read(certificate.given, reading)
    asserts = ASSERTS.read(certificate.asserts, reading)
    if certificate.witness is not None:
        hints = WITNESS.read(certificate.witness, reading)
    covariance, start = read_task(given)
    prompts = None
    if form == "tokens":
        if TUBE in asserts:
            raise asserts.node(TUBE).malformed("no tube: it is of all prompts of a length, not of given ones")
        prompts = read_regression_prompts(given, covariance.rows)
    elif given[LENGTH].q != 1:
        raise given.node(LENGTH).malformed("an integer >= 2", describe(given[LENGTH]))
    order, pieces = hinted(hints, ORDER, DEFAULT_ORDER), hinted(hints, PIECES, DEFAULT_PIECES)
    travel = hinted(hints, TRAVEL, DEFAULT_TRAVEL)
    return StatedTransfer(given, asserts, covariance, start, prompts, order, pieces, travel)


# -- what proves it


def obligations(stated: StatedTransfer) -> Iterator[Obligation]:
    return _of_lengths(stated) if stated.prompts is None else _of_prompts(stated)


def _of_prompts(stated: StatedTransfer) -> Iterator[Obligation]:
    run = stated.polygon
    path = Shared(lambda: _proved(run()[1].distance))
    yield stated.at_the_start()
    yield Obligation("path", lambda: path().reached, "<", lambda: path().bound, Part.WITNESS)
    # It encloses R_L at that time: what is not at most the stated risk is above it.
    yield Obligation("risk", lambda: risk_near(*run()), "<=", stated.asserts[RISK], needs=["path"])


def _of_lengths(stated: StatedTransfer) -> Iterator[Obligation]:
    asserts, run = stated.asserts, stated.flows
    if stated.known_at_the_start:
        yield stated.at_the_start()
    else:
        # By what is reached at the end, as far as the path there is proved; it is listed before that.
        trace = stated.covariance.trace()
        yield Obligation("infinite", lambda: run().twice_the_risk(), "<", trace, Part.WITNESS)
    path = Shared(lambda: run().path())
    yield Obligation("path", lambda: path().reached, "<", lambda: path().bound, Part.WITNESS)
    if TUBE in asserts:
        yield Obligation("tube", lambda: run().distance(), "<=", asserts[TUBE], Part.WITNESS, ["path"])
    yield Obligation("risk", lambda: run().bound(), "<=", asserts[RISK], Part.WITNESS, ["path"])


def _proved(distance: Distance) -> Distance:
    if distance.reached.is_finite() is not True:
        raise NoBound("no bound is found")
    return distance


@dataclass(frozen=True)
class Flows:
    """Both flows as far as they could be followed: `last` is the last piece, None where there is none at all."""

    prompts: FinitePrompts
    last: Piece | None
    time: fmpq

    @property
    def lost(self) -> bool:
        """Whether all pieces are closed, but the flow over infinite prompts is enclosed no longer."""
        return self.last is None or (self.last.distance.closed and self.last.last < self.time)

    def path(self) -> Distance:
        """The distance in the last piece that was tried: those before it are closed."""
        return Distance(arb.nan(), arb(0)) if self.last is None or self.lost else _proved(self.last.distance)

    @property
    def _end(self) -> Piece | None:
        """The last piece where it ends at the stated time and, like all before, is closed."""
        last = self.last
        return last if last is not None and last.distance.closed and last.last == self.time else None

    def twice_the_risk(self) -> arb:
        """2R over infinite prompts at the end."""
        if self.last is not None and self.last.distance.closed is not True:
            raise NoBound("it rests on the path, which is not proved")
        found: arb = 2 * self.prompts.field.risk(self._end.flow) if self._end is not None else arb.nan()
        return found

    def distance(self) -> arb:
        return self._end.distance.reached if self._end is not None else arb.nan()

    def bound(self) -> arb:
        """Of R_L at the end: of R, and of R_L - R."""
        return bound_of_risk(self.prompts, self._end.end) if self._end is not None else arb.nan()


TITLE = "training on long prompts ends with a small risk, and runs beside training on infinite ones"
THEOREM = Theorem("risk-transfer", TITLE, GIVEN, ASSERTS, WITNESS, read, obligations)
